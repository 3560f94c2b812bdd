#!/usr/bin/env python3
"""Writes op_defs.txt: the interfaces that TensorFlow declares for the ops in ops/.

Run from the top of the checkout, with the tensorflow package:

  python3 tests/golden/make_op_defs.py

Every quoted word in ops/*_ops.cc that TensorFlow knows as an op is taken. An op is
a line with its name and flags, followed by one line per input, output and attr:

  MatMul
    in a: T
    out product: T
    attr transpose_a: bool = false
    attr T: type in [bfloat16, ...]
"""

import glob
import os
import re

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf  # pylint: disable=wrong-import-position
from tensorflow.python.framework import op_def_registry  # pylint: disable=wrong-import-position

NAMES = {tf.float16: 'half', tf.float32: 'float', tf.float64: 'double'}


def dtype_name(number):
    dtype = tf.as_dtype(number)
    name = NAMES.get(dtype.base_dtype, dtype.base_dtype.name)
    return f'{name}_ref' if dtype._is_ref_dtype else name  # pylint: disable=protected-access


def quoted(text):
    return '"' + text.decode('unicode_escape').encode('unicode_escape').decode() + '"'


def shape_text(shape):
    if shape.unknown_rank:
        return '<unknown>'
    return '[' + ','.join('?' if d.size < 0 else str(d.size) for d in shape.dim) + ']'


def value_text(value):
    kind = value.WhichOneof('value')
    if kind == 'list':
        lists = value.list
        items = ([quoted(s) for s in lists.s] + [str(i) for i in lists.i] + [f'{f:.9g}' for f in lists.f] +
                 [str(b).lower() for b in lists.b] + [dtype_name(t) for t in lists.type] +
                 [shape_text(s) for s in lists.shape] + ['func' for _ in lists.func])
        return '[' + ', '.join(items) + ']'
    return {
        's': lambda: quoted(value.s),
        'i': lambda: str(value.i),
        'f': lambda: f'{value.f:.9g}',
        'b': lambda: str(value.b).lower(),
        'type': lambda: dtype_name(value.type),
        'shape': lambda: shape_text(value.shape),
        'func': lambda: f'func "{value.func.name}"',
    }[kind]()


def allowed_text(value):
    """The allowed values, sorted: their order means nothing, and TensorFlow repeats some."""
    lists = value.list
    if lists.type:
        return '[' + ', '.join(dtype_name(t) for t in sorted(set(lists.type))) + ']'
    return '[' + ', '.join(sorted(quoted(s) for s in set(lists.s))) + ']'


def arg_text(arg):
    text = arg.type_list_attr or arg.type_attr or dtype_name(arg.type)
    if arg.number_attr:
        text = f'{arg.number_attr} * {text}'
    if arg.is_ref:
        text = f'Ref({text})'
    return f'{arg.name}: {text}'


def op_lines(op):
    flags = [flag for flag, on in (('stateful', op.is_stateful), ('commutative', op.is_commutative),
                                   ('allows_uninitialized_input', op.allows_uninitialized_input)) if on]
    yield ' '.join([op.name] + flags)
    for arg in op.input_arg:
        yield '  in ' + arg_text(arg)
    for arg in op.output_arg:
        yield '  out ' + arg_text(arg)
    for attr in sorted(op.attr, key=lambda a: a.name):
        text = f'  attr {attr.name}: {attr.type}'
        if attr.has_minimum:
            text += f' >= {attr.minimum}'
        if attr.HasField('allowed_values'):
            text += ' in ' + allowed_text(attr.allowed_values)
        if attr.HasField('default_value'):
            text += ' = ' + value_text(attr.default_value)
        yield text


def main():
    words = set()
    for path in glob.glob('ops/*_ops.cc'):
        with open(path, encoding='utf-8') as source:
            text = source.read()
            words.update(re.findall(r'"(\w+)"', text))
            # The optimizers' rules have a dense and a sparse form.
            if '"ResourceApply"' in text:
                words.update(form + word for form in ('ResourceApply', 'ResourceSparseApply') for word in set(words))
            # Control flow has a second set of ops, for references.
            if '"Ref"' in text:
                words.update('Ref' + word for word in ('Enter', 'Exit', 'Merge', 'NextIteration', 'Switch'))
    ops = [op for op in (op_def_registry.get(word) for word in sorted(words)) if op is not None]
    with open('tests/golden/op_defs.txt', 'w', encoding='utf-8') as out:
        out.write('# Written by make_op_defs.py. Do not edit.\n')
        for op in ops:
            out.write('\n'.join(op_lines(op)) + '\n')
    print(f'{len(ops)} ops')


if __name__ == '__main__':
    main()
