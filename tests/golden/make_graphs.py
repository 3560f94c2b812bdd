#!/usr/bin/env python3
"""Writes graphs/*.pb and graphs/*.pbtxt: GraphDefs as TensorFlow writes them, in the binary and the text form.

Run from anywhere, with the tensorflow package:

  python3 tests/golden/make_graphs.py

  attr_kinds    a node for every kind of attr value, lists (empty ones too), functions and shapes of unknown rank
  constants     every dtype as a Const, in each encoding that TensorFlow has for it
  functions     functions with attrs, control outputs, a gradient function, and functional If and While that call them
  training      a two-layer model in scopes, with gradients, an optimizer, devices, colocation and control edges
  while_v1      a loop inside a loop, of the version-1 primitives, with loop invariants, and its gradient
  cond_v1       a conditional inside a conditional, of the version-1 primitives
  unordered     nodes that stand before their inputs, as GraphDefs may
"""

import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
# pylint: disable=wrong-import-position
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.framework import graph_pb2
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import dtypes
from tensorflow.python.framework import function
from tensorflow.python.ops import control_flow_v2_toggles
# pylint: enable=wrong-import-position

v1 = tf.compat.v1
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'graphs')


def add_shape(shape, sizes):
    if sizes is None:
        shape.unknown_rank = True
        return
    for size in sizes:
        shape.dim.add(size=size)


def small_tensor(value):
    return tf.make_tensor_proto(value)


def attr_kinds():
    """An op that does not exist, since no op has them all."""
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = 1087
    graph_def.versions.min_consumer = 12
    graph_def.versions.bad_consumers.extend([3, 5])

    def add(name, fill):
        node = graph_def.node.add(name=name, op='AttrZoo')
        fill(node.attr['value'])

    add('string', lambda a: setattr(a, 's', b'bytes \x00\xff\n"quoted"'))
    add('string_empty', lambda a: setattr(a, 's', b''))
    add('int', lambda a: setattr(a, 'i', -2**63))
    add('int_zero', lambda a: setattr(a, 'i', 0))
    add('float', lambda a: setattr(a, 'f', 1.5))
    add('float_nan', lambda a: setattr(a, 'f', float('nan')))
    add('bool', lambda a: setattr(a, 'b', True))
    add('bool_false', lambda a: setattr(a, 'b', False))
    for number in types_pb2.DataType.values():
        # All but those with which TensorFlow itself can do next to nothing.
        if number % 100 not in (0, 26, 27, 28, 31, 32, 33):
            name = 'type_' + types_pb2.DataType.Name(number)[3:].lower()
            add(name, lambda a, number=number: setattr(a, 'type', number))
    add('shape', lambda a: add_shape(a.shape, [2, -1, 0]))
    add('shape_scalar', lambda a: add_shape(a.shape, []) or a.shape.SetInParent())
    add('shape_unknown', lambda a: add_shape(a.shape, None))
    add('tensor', lambda a: a.tensor.CopyFrom(small_tensor([[1.5, 2.5]])))

    def fill_function(f, name, depth):
        f.name = name
        f.attr['T'].type = types_pb2.DT_FLOAT
        f.attr['N'].i = depth
        f.attr['names'].list.s.extend([b'a', b'b'])
        if depth > 0:
            fill_function(f.attr['inner'].func, name + '_inner', depth - 1)

    add('func', lambda a: fill_function(a.func, 'f', 3))
    add('list_empty', lambda a: a.list.SetInParent())
    add('list_string', lambda a: a.list.s.extend([b'', b'one', b'\xfe']))
    add('list_int', lambda a: a.list.i.extend([0, -1, 2**40]))
    add('list_float', lambda a: a.list.f.extend([0.0, -0.0, 3.25, float('inf')]))
    add('list_bool', lambda a: a.list.b.extend([True, False]))
    add('list_type', lambda a: a.list.type.extend([types_pb2.DT_STRING, types_pb2.DT_FLOAT_REF]))

    def fill_shapes(a):
        add_shape(a.list.shape.add(), [1, 2])
        add_shape(a.list.shape.add(), None)
        add_shape(a.list.shape.add(), [])

    add('list_shape', fill_shapes)
    add('list_tensor', lambda a: a.list.tensor.extend([small_tensor(7), small_tensor([b'x', b'yz'])]))

    def fill_functions(a):
        fill_function(a.list.func.add(), 'g', 0)
        fill_function(a.list.func.add(), 'h', 1)

    add('list_func', fill_functions)
    add('placeholder', lambda a: setattr(a, 'placeholder', 'T'))
    add('not_set', lambda a: a.SetInParent())
    node = graph_def.node.add(name='typed', op='AttrZoo')
    node.experimental_type.type_id = 1
    node.experimental_debug_info.original_node_names.extend(['before', 'after'])
    node.attr['_output_shapes'].list.shape.add().dim.add(size=3)
    return graph_def


NUMBERS = [
    dtypes.float32, dtypes.float64, dtypes.half, dtypes.bfloat16, dtypes.int8, dtypes.int16, dtypes.int32,
    dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64, dtypes.complex64, dtypes.complex128,
    dtypes.bool, dtypes.float8_e5m2, dtypes.float8_e4m3fn, dtypes.int4, dtypes.uint4
]


def constants():
    graph = tf.Graph()
    with graph.as_default():
        for dtype in NUMBERS:
            values = np.array([1, 0, 1, 1, 0, 1]).reshape([2, 3]).astype(dtype.as_numpy_dtype)
            tf.constant(values, dtype=dtype, name=f'{dtype.name}_matrix')
            tf.constant(values[0, 0], dtype=dtype, name=f'{dtype.name}_scalar')
            tf.constant(values[:0], dtype=dtype, name=f'{dtype.name}_empty')
            tf.constant(values[0, 0], dtype=dtype, shape=[3, 3], name=f'{dtype.name}_splat')
        tf.constant([[b'one', b''], [b'\x00\xff', b'four' * 20]], name='string_matrix')
        tf.constant(b'scalar', name='string_scalar')
        tf.constant(b'again', shape=[5], name='string_splat')
        large = np.random.default_rng(0).integers(-128, 127, [70, 1000], dtype=np.int8)
        tf.constant(large, name='int8_large')
    graph_def = graph.as_graph_def()

    def add(name, dtype, shape, **fields):
        node = graph_def.node.add(name=name, op='Const')
        node.attr['dtype'].type = dtype
        tensor = node.attr['value'].tensor
        tensor.CopyFrom(tensor_pb2.TensorProto(dtype=dtype, **fields))
        add_shape(tensor.tensor_shape, shape)
        tensor.tensor_shape.SetInParent()

    # Forms that a writer may use: the last value fills the rest, and no value means zeros.
    add('float_short', types_pb2.DT_FLOAT, [4], float_val=[1.0, 2.0])
    add('float_none', types_pb2.DT_FLOAT, [4])
    add('half_short', types_pb2.DT_HALF, [3], half_val=[0x3c00, 0x4000])
    add('int8_short', types_pb2.DT_INT8, [2, 2], int_val=[-1, 2, -3])
    add('int64_short', types_pb2.DT_INT64, [2, 2], int64_val=[-1])
    add('complex64_short', types_pb2.DT_COMPLEX64, [3], scomplex_val=[1.0, 2.0])
    add('complex128_full', types_pb2.DT_COMPLEX128, [2], dcomplex_val=[1.0, 2.0, 3.0, 4.0])
    add('string_short', types_pb2.DT_STRING, [3], string_val=[b'a', b'b'])
    add('string_none', types_pb2.DT_STRING, [2])
    add('bool_full', types_pb2.DT_BOOL, [2], bool_val=[True, False])
    for name in ['qint8', 'quint8', 'qint16', 'quint16', 'qint32']:
        number = types_pb2.DataType.Value('DT_' + name.upper())
        add(f'{name}_full', number, [3], int_val=[1, 2, 3])
    return graph_def


def functions():
    graph = tf.Graph()
    with graph.as_default():

        @function.Defun(tf.float32, tf.float32, func_name='CubeGrad')
        def cube_grad(x, dy):
            return 3.0 * x * x * dy

        @function.Defun(tf.float32, func_name='Cube', grad_func=cube_grad)
        def cube(x):
            with tf.control_dependencies([v1.assert_greater(x, -1e9, name='bound')]):
                return x * x * x

        x = v1.placeholder(tf.float32, [], name='x')
        y = cube(x)
        v1.gradients(y, x, name='gradients')

        @tf.function(autograph=False)
        def scale(t):
            v1.Print(t, [t], 'effect')
            return t * 2.0

        control_flow_v2_toggles.enable_control_flow_v2()
        z = tf.cond(x > 0.0, lambda: scale(x), lambda: -x)
        _, w = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, scale(v) + z), [0, x])
        tf.identity(w, name='result')
    return graph.as_graph_def()


def training():
    graph = tf.Graph()
    with graph.as_default():
        images = v1.placeholder(tf.float32, [None, 6], name='images')
        labels = v1.placeholder(tf.int64, [None], name='labels')
        rate = v1.placeholder_with_default(np.float32(0.1), [], name='rate')
        hidden = images
        for layer, width in enumerate([5, 3]):
            with v1.variable_scope(f'layer{layer}'), tf.device('/device:CPU:0'):
                kernel = v1.get_variable('kernel', [hidden.shape[1], width], use_resource=layer == 0)
                bias = v1.get_variable('bias', [width], initializer=v1.zeros_initializer(), use_resource=layer == 0)
                hidden = tf.nn.bias_add(tf.matmul(hidden, kernel), bias)
                if layer == 0:
                    hidden = tf.nn.relu(hidden)
        with v1.name_scope('loss'):
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=hidden))
        step = v1.train.create_global_step()
        optimizer = v1.train.AdamOptimizer(rate)
        gradients = optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
        train = optimizer.apply_gradients(gradients, global_step=step, name='train')
        with tf.control_dependencies([train]), v1.colocate_with(loss):
            tf.identity(loss, name='after')
        v1.global_variables_initializer()
    return graph.as_graph_def(add_shapes=True)


def while_v1():
    graph = tf.Graph()
    with graph.as_default():
        control_flow_v2_toggles.disable_control_flow_v2()
        limit = v1.placeholder(tf.int32, [], name='limit')
        x = v1.placeholder(tf.float32, [2], name='x')

        def outer(i, v):
            _, inner = v1.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, u * x), [0, v], name='inner')
            return i + 1, inner + 1.0

        _, y = v1.while_loop(lambda i, v: i < limit, outer, [0, x], name='outer', parallel_iterations=4)
        v1.gradients(tf.reduce_sum(y), x)
        tf.identity(y, name='y')
    return graph.as_graph_def()


def cond_v1():
    graph = tf.Graph()
    with graph.as_default():
        control_flow_v2_toggles.disable_control_flow_v2()
        p = v1.placeholder(tf.bool, [], name='p')
        q = v1.placeholder(tf.bool, [], name='q')
        x = v1.placeholder(tf.float32, [3], name='x')
        y = v1.cond(p, lambda: v1.cond(q, lambda: x + 1.0, lambda: x * 2.0, name='inner'), lambda: -x, name='outer')
        tf.identity(y, name='y')
    return graph.as_graph_def()


def unordered():
    graph_def = cond_v1()
    result = graph_pb2.GraphDef(versions=graph_def.versions)
    result.node.extend(reversed(graph_def.node))
    return result


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for make in [attr_kinds, constants, functions, training, while_v1, cond_v1, unordered]:
        name = make.__name__
        graph_def = make()
        # What follows a graph around in files: the superseded version field, and where its nodes were made.
        if name == 'cond_v1':
            graph_def.version = 21
            graph_def.debug_info.files.append('model.py')
        print(f'{name}: {len(graph_def.node)} nodes, {len(graph_def.library.function)} functions', file=sys.stderr)
        with open(os.path.join(FOLDER, name + '.pb'), 'wb') as file:
            file.write(graph_def.SerializeToString(deterministic=True))
        if name == 'training':
            continue  # long, and nothing in it that the other texts don't have
        if name == 'constants':
            del graph_def.node[[n.name for n in graph_def.node].index('int8_large')]
        with open(os.path.join(FOLDER, name + '.pbtxt'), 'w', encoding='utf-8') as file:
            file.write(text_format.MessageToString(graph_def))


if __name__ == '__main__':
    main()
