#!/usr/bin/env python3
"""Writes shapes.txt: the output shapes that TensorFlow infers for the cases in shape_cases_*.txt.

Run from the top of the checkout, with the tensorflow package:

  python3 tests/golden/make_shapes.py

A case is a line with an op, its inputs in order and attrs:

  MatMul float[2,?] float[3,4] transpose_a=true
  Pack (float[2] float<unknown>) axis=-1
  Sum float[2,3] int32[1]=1 keep_dims=true

An input is a dtype with a shape, and =VALUE,VALUE… if it is a constant; a list argument stands in parentheses. Attrs
are numbers, true or false, dtypes (type:float), shapes (shape:[2,?]), integer lists (list:1,2), dtype lists
(types:float,int32) or other words, which are strings. Type and number attrs that inputs determine are left out.

shapes.txt has each case followed by "->" and one shape per output, or "error" where TensorFlow refuses. Where this
library means to infer something else, the case ends in "!! " and that; a comment above should say why.
"""

import glob
import os
import re
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf  # pylint: disable=wrong-import-position
from tensorflow.python.framework import op_def_library  # pylint: disable=wrong-import-position
from tensorflow.python.framework import op_def_registry  # pylint: disable=wrong-import-position

DTYPES = {'half': tf.float16, 'float': tf.float32, 'double': tf.float64}

def parse_dtype(name):
    return DTYPES.get(name) or tf.as_dtype(name)


def parse_shape(text):
    if text == '<unknown>':
        return tf.TensorShape(None)
    inner = text[1:-1]
    return tf.TensorShape([None if d == '?' else int(d) for d in inner.split(',')] if inner else [])


def parse_value(text, dtype):
    if dtype == tf.bool:
        return text == 'true'
    return complex(text) if dtype.is_complex else float(text) if dtype.is_floating else int(text)


def parse_input(text):
    dtype, shape, _, values = re.fullmatch(r'(\w+)(\[[^\]]*\]|<unknown>)(=(.*))?', text).groups()
    dtype, shape = parse_dtype(dtype), parse_shape(shape)
    if values is None:
        return tf.compat.v1.placeholder(dtype, shape)
    numbers = [parse_value(v, dtype) for v in values.split(',') if v]
    return tf.constant(numbers, dtype, shape)


def parse_attr(text):
    if text in ('true', 'false'):
        return text == 'true'
    for prefix, parse in (('type:', parse_dtype), ('shape:', parse_shape),
                          ('list:', lambda t: [int(i) for i in t.split(',') if i]),
                          ('types:', lambda t: [parse_dtype(i) for i in t.split(',') if i])):
        if text.startswith(prefix):
            return parse(text[len(prefix):])
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def default_of(attr):
    value = attr.default_value
    kind = value.WhichOneof('value')
    if kind == 'list':
        lists = value.list
        return list(lists.s or lists.i or lists.f or lists.b or lists.type or lists.shape)
    return tf.TensorShape(value.shape) if kind == 'shape' else getattr(value, kind)


def tokens_of(case):
    """The words of a case; those in parentheses as a list."""
    depth_list = None
    for word in re.findall(r'\(|\)|[^\s()]+', case):
        if word == '(':
            depth_list = []
        elif word == ')':
            yield depth_list
            depth_list = None
        elif depth_list is not None:
            depth_list.append(word)
        else:
            yield word


def infer(case):
    op, *words = tokens_of(case)
    op_def = op_def_registry.get(op)
    arguments = {}
    names = [arg.name for arg in op_def.input_arg]
    with tf.Graph().as_default():
        for word in words:
            if isinstance(word, list):
                arguments[names.pop(0)] = [parse_input(w) for w in word]
            elif re.match(r'\w+(\[|<)', word):
                arguments[names.pop(0)] = parse_input(word)
            else:
                name, value = word.split('=', 1)
                arguments[name] = parse_attr(value)
        if names:
            sys.exit(f'{case}: inputs {names} are missing')
        inferred = {a for arg in op_def.input_arg for a in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
        for attr in op_def.attr:
            if attr.HasField('default_value') and attr.name not in inferred:
                arguments.setdefault(attr.name, default_of(attr))
        try:
            _, _, operation, _ = op_def_library._apply_op_helper(op, **arguments)  # pylint: disable=protected-access
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            if os.environ.get('SHOW_ERRORS'):
                print(f'{case}: {error}')
            return 'error'
        texts = []
        for output in operation.outputs:
            if output.shape.rank is None:
                texts.append('<unknown>')
            else:
                texts.append('[' + ','.join('?' if d is None else str(d) for d in output.shape.as_list()) + ']')
        return ' '.join(texts)


def main():
    count = 0
    with open('tests/golden/shapes.txt', 'w', encoding='utf-8') as out:
        out.write('# Written by make_shapes.py. Do not edit.\n')
        for path in sorted(glob.glob('tests/golden/shape_cases_*.txt')):
            with open(path, encoding='utf-8') as cases:
                for line in cases:
                    line = line.strip()
                    if not line or line.startswith('#'):
                        continue
                    case, _, ours = line.partition('!!')
                    case, ours = case.strip(), ours.strip()
                    expected = infer(case)
                    if ours and ours == expected:
                        sys.exit(f'{path}: {line}: TensorFlow infers the same')
                    out.write(f'{case} -> {ours or expected}'.rstrip() + '\n')
                    count += 1
    print(f'{count} cases')


if __name__ == '__main__':
    main()
