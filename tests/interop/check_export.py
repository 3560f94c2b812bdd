#!/usr/bin/env python3
"""Loads GraphDefs that Nabla wrote into TensorFlow, which thereby checks every op, attr, dtype, shape and edge.

Run by hand, with the tensorflow package:

  python3 tests/interop/check_export.py FILE.pb|FILE.pbtxt ... [--against ORIGINAL.pb]

For each file: parses it, imports it into a graph, and, with --against, compares what TensorFlow makes of it with what
it makes of another file (of one graph before and after a trip through Nabla, say): the same nodes, inputs, devices and
attrs, and bit-identical constants. Exit status 1 if anything is refused or different.
"""

import argparse
import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
# pylint: disable=wrong-import-position
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
# pylint: enable=wrong-import-position


def read(path):
    with open(path, 'rb') as file:
        content = file.read()
    graph_def = tf.compat.v1.GraphDef()
    if path.endswith('.pbtxt'):
        text_format.Parse(content.decode(), graph_def)
    else:
        graph_def.ParseFromString(content)
    return graph_def


def load(graph_def):
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name='')
    return graph


def attr_text(value):
    """The value in a form in which equal values are equal, whatever their encoding."""
    if value.HasField('tensor'):
        if value.tensor.dtype in (tf.resource.as_datatype_enum, tf.variant.as_datatype_enum):
            return value.tensor.SerializeToString(deterministic=True)
        array = np.asarray(tf.io.parse_tensor(value.tensor.SerializeToString(), value.tensor.dtype).numpy())
        content = array.tolist() if array.dtype == object else np.ascontiguousarray(array).tobytes()
        return (value.tensor.dtype, array.shape, content)
    return value.SerializeToString(deterministic=True)


def describe(graph):
    return {
        node.name: (node.op, sorted(i for i in node.input if i.startswith('^')),
                    [i for i in node.input if not i.startswith('^')], node.device,
                    {name: attr_text(value) for name, value in node.attr.items()})
        for node in graph.as_graph_def().node
    }


def differences(ours, theirs):
    for name in sorted(set(ours) | set(theirs)):
        if name not in ours or name not in theirs:
            yield f'node {name} is only in {"the original" if name not in ours else "the export"}'
        elif ours[name] != theirs[name]:
            for what, a, b in zip(('op', 'control inputs', 'inputs', 'device', 'attrs'), ours[name], theirs[name]):
                if what == 'attrs' and a != b:
                    what = 'attrs ' + ', '.join(sorted(k for k in set(a) | set(b) if a.get(k) != b.get(k)))
                if a != b:
                    yield f'node {name}: other {what}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('files', nargs='+')
    parser.add_argument('--against')
    args = parser.parse_args()
    failed = False
    for path in args.files:
        try:
            graph = load(read(path))
        except Exception as error:  # pylint: disable=broad-except
            print(f'{path}: REFUSED: {error}')
            failed = True
            continue
        print(f'{path}: loaded, {len(graph.get_operations())} nodes')
        if args.against:
            found = list(differences(describe(graph), describe(load(read(args.against)))))
            for line in found[:20]:
                print('  ' + line)
            failed = failed or bool(found)
            print(f'  {len(found)} differences from {args.against}')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
