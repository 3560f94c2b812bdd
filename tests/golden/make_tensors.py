#!/usr/bin/env python3
"""Writes tensors/cases.txt: tensors of every dtype as TensorFlow encodes them, and the values it reads from them.

Run from the top of the checkout, with the tensorflow package:

  python3 tests/golden/make_tensors.py

A case is a line of five fields:

  NAME DTYPE SHAPE PROTO ELEMENTS

DTYPE is DataType's number. PROTO is the serialized TensorProto in hexadecimal. ELEMENTS are the elements as they lie
in memory, one after the other, in hexadecimal; of a string tensor, each string in hexadecimal, with commas between
them and "-" for an empty one. A tensor without elements has "-".

The name tells who made the message. "serialized_…": the SerializeTensor op, which writes tensor_content (and
string_val). "made_…": make_tensor_proto, which writes *_val for scalars and some types. "folded_…": the graph
optimizer, which writes one value where all are the same. "short_…", "full_…", "none_…", "content_…": this script,
for
forms that a writer may use. What is in them, in each case, is what TensorFlow's ParseTensor op says.
"""

import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
# pylint: disable=wrong-import-position
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework import dtypes
from tensorflow.python.grappler import tf_optimizer
# pylint: enable=wrong-import-position

OUTPUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tensors', 'cases.txt')

# Each dtype with the field its values go to and some of its values, the extremes among them.
FLOATS = [1.5, -2.0, 0.0, -0.0, float('inf'), float('nan')]
DTYPES = {
    dtypes.float32: ('float_val', FLOATS + [3.4028235e38, 1e-45]),
    dtypes.float64: ('double_val', FLOATS + [1.7976931348623157e308, 5e-324]),
    dtypes.half: ('half_val', FLOATS + [65504.0, 6e-8]),
    dtypes.bfloat16: ('half_val', FLOATS + [3.3895314e38, 1e-40]),
    dtypes.float8_e5m2: ('float8_val', FLOATS + [57344.0]),
    dtypes.float8_e4m3fn: ('float8_val', [1.5, -2.0, 0.0, -0.0, float('nan'), 448.0]),
    dtypes.int8: ('int_val', [1, -2, 0, 127, -128]),
    dtypes.int16: ('int_val', [1, -2, 0, 32767, -32768]),
    dtypes.int32: ('int_val', [1, -2, 0, 2**31 - 1, -2**31]),
    dtypes.int64: ('int64_val', [1, -2, 0, 2**63 - 1, -2**63]),
    dtypes.uint8: ('int_val', [1, 2, 0, 255]),
    dtypes.uint16: ('int_val', [1, 2, 0, 65535]),
    dtypes.uint32: ('uint32_val', [1, 2, 0, 2**32 - 1]),
    dtypes.uint64: ('uint64_val', [1, 2, 0, 2**64 - 1]),
    dtypes.int4: ('int_val', [1, -2, 0, 7, -8]),
    dtypes.uint4: ('int_val', [1, 2, 0, 15]),
    dtypes.bool: ('bool_val', [True, False, True, True]),
    dtypes.complex64: ('scomplex_val', [1.5 - 2j, -0.0 + 1e30j, 3 + 4j]),
    dtypes.complex128: ('dcomplex_val', [1.5 - 2j, -0.0 + 1e300j, 3 + 4j]),
    dtypes.qint8: ('int_val', [1, -2, 0, 127, -128]),
    dtypes.quint8: ('int_val', [1, 2, 0, 255]),
    dtypes.qint16: ('int_val', [1, -2, 0, 32767, -32768]),
    dtypes.quint16: ('int_val', [1, 2, 0, 65535]),
    dtypes.qint32: ('int_val', [1, -2, 0, 2**31 - 1, -2**31]),
    dtypes.string: ('string_val', [b'abc', b'', b'\x00\xff', b'x' * 40]),
}
# What arrays of quantized types are made of.
PLAIN = {
    dtypes.qint8: np.int8,
    dtypes.quint8: np.uint8,
    dtypes.qint16: np.int16,
    dtypes.quint16: np.uint16,
    dtypes.qint32: np.int32,
}


def new_proto(dtype, shape):
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def to_array(dtype, values):
    if dtype == dtypes.string:
        return np.array(values, dtype=object)
    return np.array(values, dtype=object).astype(PLAIN.get(dtype, dtype.as_numpy_dtype))


def entries(dtype, array):
    """What the *_val field holds for these elements."""
    flat = array.reshape(-1)
    if dtype in (dtypes.half, dtypes.bfloat16):
        return [int(bits) for bits in flat.view(np.uint16)]
    if dtype in (dtypes.complex64, dtypes.complex128):
        return [float(part) for value in flat for part in (value.real, value.imag)]
    if dtype == dtypes.bool:
        return [bool(value) for value in flat]
    if dtype == dtypes.string:
        return list(flat)
    if dtype.is_floating:
        return [float(value) for value in flat]
    return [int(value) for value in flat]


def proto_with_values(dtype, shape, array):
    proto = new_proto(dtype, shape)
    field = DTYPES[dtype][0]
    if field == 'float8_val':
        proto.float8_val = array.tobytes()
    else:
        getattr(proto, field).extend(entries(dtype, array))
    return proto


def varint(number):
    encoded = b''
    while number >= 0x80:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def proto_with_content(dtype, shape, array):
    proto = new_proto(dtype, shape)
    if dtype == dtypes.string:
        flat = list(array.reshape(-1))
        proto.tensor_content = b''.join(varint(len(s)) for s in flat) + b''.join(flat)
    else:
        proto.tensor_content = array.tobytes()
    return proto


def read(proto):
    """The array that TensorFlow reads from the message."""
    return tf.io.parse_tensor(proto.SerializeToString(), dtypes.as_dtype(proto.dtype)).numpy()


def fold(array):
    """The message that the optimizer writes for a constant it computed itself, or None if it computes none."""
    graph = tf.Graph()
    with graph.as_default():
        folded = tf.reshape(tf.constant(array), [2, -1])
        tf.compat.v1.add_to_collection('train_op', tf.identity(folded, name='result'))
        meta = tf.compat.v1.train.export_meta_graph(graph=graph)
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.min_graph_nodes = -1
    for node in tf_optimizer.OptimizeGraph(config, meta).node:
        if node.op == 'Const' and len(node.attr['value'].tensor.tensor_shape.dim) == 2:
            return node.attr['value'].tensor
    return None


def element_text(array):
    if array.dtype == object:
        return ','.join(element.hex() or '-' for element in array.reshape(-1)) or '-'
    if array.dtype == dtypes.int4.as_numpy_dtype:
        array = array.astype(np.int8)  # what the upper half of each byte holds is nobody's business
    return np.ascontiguousarray(array).tobytes().hex() or '-'


def main():
    lines = []
    left_out = []

    def add(name, make):
        try:
            proto = make()
            array = read(proto) if proto is not None else None
        except Exception as error:  # pylint: disable=broad-except
            left_out.append(f'{name}: {type(error).__name__}')
            return
        if proto is None:
            left_out.append(f'{name}: nothing to fold')
            return
        shape = '[' + ','.join(str(dim.size) for dim in proto.tensor_shape.dim) + ']'
        number = proto.dtype
        lines.append(f'{name} {number} {shape} {proto.SerializeToString().hex()} '
                     f'{element_text(np.asarray(array))}')

    for dtype, (_, values) in DTYPES.items():
        array = to_array(dtype, values)
        n = len(values)
        name = dtype.name

        def parse(proto, dtype=dtype):
            return tf.io.parse_tensor(proto.SerializeToString(), dtype)

        def serialize(proto, parse=parse):
            return tensor_pb2.TensorProto.FromString(tf.io.serialize_tensor(parse(proto)).numpy())

        full = proto_with_values(dtype, [n], array)
        scalar = proto_with_values(dtype, [], array[:1])
        add(f'serialized_{name}', lambda: serialize(full))
        add(f'serialized_{name}_scalar', lambda: serialize(scalar))
        add(f'serialized_{name}_empty', lambda: serialize(new_proto(dtype, [2, 0])))
        if dtype not in PLAIN:
            add(f'made_{name}', lambda: tf.make_tensor_proto(array))
            add(f'made_{name}_scalar', lambda: tf.make_tensor_proto(array[0]))
            add(f'made_{name}_splat', lambda: tf.make_tensor_proto(array[0], shape=[2, 3]))
            add(f'folded_{name}', lambda: fold(np.concatenate([array, array])))
            add(f'folded_{name}_splat', lambda: fold(np.full([10], array[1], dtype=array.dtype)))
        add(f'full_{name}', lambda: full)
        add(f'short_{name}', lambda: proto_with_values(dtype, [2, n], array))
        add(f'none_{name}', lambda: new_proto(dtype, [3]))
        add(f'content_{name}', lambda: proto_with_content(dtype, [1, n], array))

    with open(OUTPUT, 'w', encoding='ascii') as file:
        file.write('\n'.join(lines) + '\n')
    print(f'{len(lines)} cases; TensorFlow {tf.__version__} refused', file=sys.stderr)
    for line in left_out:
        print('  ' + line, file=sys.stderr)


if __name__ == '__main__':
    main()
