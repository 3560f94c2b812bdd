#!/usr/bin/env python3
"""Writes array_goldens.txt: what TensorFlow's CPU kernels give for random small inputs of ops that move elements.

Run with a Python that has tensorflow-cpu; the tests only read the result, which has the format of goldens.txt (see
make_goldens.py). The random numbers are seeded, so a rerun writes the same file. Indices, masks and sizes are mostly
right and sometimes not: a case may end in "error".
"""

import os
import re
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'

import numpy as np  # pylint: disable=wrong-import-position
import tensorflow as tf  # pylint: disable=wrong-import-position

CASES_PER_OP = 40
DTYPES = [np.float32, np.float64, np.int32, np.int64, np.int8, np.uint8, np.int16, np.bool_, np.complex64, np.float16,
          np.object_]
SUMMED = [np.float32, np.float64, np.int32, np.int64, np.int8, np.complex64, np.float16]
rng = np.random.RandomState(20)


def pick(items):
    return items[rng.randint(len(items))]


def chance(p):
    return rng.rand() < p


def index_dtype():
    return pick([np.int32, np.int64])


def shape(least=0, most=4, size=4, empty=0.06):
    return tuple(0 if chance(empty) else rng.randint(1, size + 1) for _ in range(rng.randint(least, most + 1)))


def data(dims, dtype=None):
    dtype = dtype or pick(DTYPES)
    if dtype is np.object_:
        return np.array(['s%d' % i for i in rng.randint(0, 10, int(np.prod(dims)))], object).reshape(dims)
    if dtype is np.bool_:
        return rng.randint(0, 2, dims).astype(bool)
    values = rng.randint(0 if dtype is np.uint8 else -9, 10, dims)
    if np.dtype(dtype).kind == 'c':
        values = values + 1j * rng.randint(-9, 10, dims)
    return np.asarray(values).astype(dtype)


def ints(values, dtype=np.int32):
    return np.asarray(values, dtype=dtype)


def slice_arguments(dims):
    n = rng.randint(0, len(dims) + 3)

    def mask(p):
        return sum(1 << i for i in range(n) if chance(p))

    dtype = index_dtype()
    return dict(
        begin=ints(rng.randint(-6, 7, n), dtype), end=ints(rng.randint(-6, 7, n), dtype),
        strides=ints([pick([1, 1, 1, 2, 3, -1, -2]) if chance(0.98) else 0 for _ in range(n)], dtype),
        begin_mask=mask(0.3), end_mask=mask(0.3), new_axis_mask=mask(0.15), shrink_axis_mask=mask(0.15),
        ellipsis_mask=1 << rng.randint(n) if n and chance(0.3) else 0)


def strided_slice():
    dims = shape(1)
    return 'StridedSlice', dict(input=data(dims), **slice_arguments(dims))


def strided_slice_grad():
    dims = shape(1, empty=0.02)
    arguments = slice_arguments(dims)
    with tf.Graph().as_default():
        try:
            result = tf.raw_ops.StridedSlice(input=tf.zeros(dims), **arguments).shape
        except ValueError:
            result = (2,)
    return 'StridedSliceGrad', dict(shape=ints(dims, arguments['begin'].dtype), dy=data(result, pick(DTYPES[:-1])),
                                    **arguments)


def slice_box():
    dims = shape()
    dtype = index_dtype()
    begin = [rng.randint(0, d + 1) if chance(0.98) else d + 1 for d in dims]
    size = [-1 if chance(0.3) else rng.randint(0, max(1, d - b + 1)) for d, b in zip(dims, begin)]
    return 'Slice', dict(input=data(dims), begin=ints(begin, dtype), size=ints(size, dtype))


def transpose():
    dims = shape(0, 5)
    op = pick(['Transpose', 'Transpose', 'ConjugateTranspose'])
    perm = rng.permutation(len(dims))
    return op, dict(x=data(dims, pick(DTYPES[:-1])), perm=ints(perm, index_dtype()))


def pad():
    dims = shape(1)
    dtype = pick(DTYPES[:7])
    arguments = dict(input=data(dims, dtype), paddings=ints(rng.randint(0, 3, (len(dims), 2)) *
                                                           (rng.rand(len(dims), 1) < 0.6), index_dtype()))
    if chance(0.5):
        return 'Pad', arguments
    return 'PadV2', dict(constant_values=data((), dtype), **arguments)


def gather():
    dims = shape(1, empty=0.02)
    axis = rng.randint(len(dims))
    batch = rng.randint(axis + 1)
    bound = dims[axis]
    picked = dims[:batch] + shape(0, 2)
    indices = rng.randint(0, max(1, bound), picked)
    if chance(0.1) and indices.size:
        indices.flat[rng.randint(indices.size)] = pick([-1, bound, bound + 3])
    batch_dims = batch - len(picked) if batch and chance(0.3) else batch
    return 'GatherV2', dict(params=data(dims), indices=ints(indices, index_dtype()),
                            axis=ints(axis - (len(dims) if chance(0.3) else 0), index_dtype()), batch_dims=batch_dims)


def tuples(dims, outer):
    # At least one index in a tuple: TensorFlow does not take empty ones everywhere.
    depth = rng.randint(1, len(dims) + 1)
    indices = np.stack([rng.randint(0, max(1, dims[i]), outer) for i in range(depth)], -1)
    if chance(0.1) and indices.size:
        indices.flat[rng.randint(indices.size)] = pick([-1, 99])
    return indices, tuple(outer) + tuple(dims[depth:])


def gather_nd():
    dims = shape(1, empty=0)
    indices, _ = tuples(dims, shape(0, 2))
    return 'GatherNd', dict(params=data(dims), indices=ints(indices, index_dtype()))


def scatter_nd():
    dims = shape(1, empty=0)
    indices, result = tuples(dims, shape(1, 2))
    dtype = index_dtype()
    return 'ScatterNd', dict(indices=ints(indices, dtype), updates=data(result, pick(SUMMED + [np.bool_])),
                             shape=ints(dims, dtype))


def tensor_scatter():
    dims = shape(1, empty=0)
    indices, result = tuples(dims, shape(1, 2))
    dtype = pick(SUMMED)
    op = pick(['TensorScatterUpdate', 'TensorScatterAdd', 'TensorScatterSub'])
    return op, dict(tensor=data(dims, dtype), indices=ints(indices, index_dtype()), updates=data(result, dtype))


def segment_sum():
    dims = shape(1, 3, empty=0)
    count = rng.randint(1, 5)
    segments = rng.randint(-1, count, dims[:rng.randint(0, len(dims) + 1)])
    if chance(0.1) and segments.size:
        segments.flat[0] = count
    return 'UnsortedSegmentSum', dict(data=data(dims, pick(SUMMED)), segment_ids=ints(segments, index_dtype()),
                                      num_segments=ints(count))


def concat():
    dims = list(shape(1))
    axis = rng.randint(len(dims))
    dtype = pick(DTYPES)
    values = []
    for _ in range(rng.randint(2, 5)):
        part = list(dims)
        part[axis] = rng.randint(0, 4)
        values.append(data(part, dtype))
    axis -= len(dims) if chance(0.3) else 0
    if chance(0.3):
        return 'Concat', dict(concat_dim=ints(axis), values=values)
    return 'ConcatV2', dict(values=values, axis=ints(axis, index_dtype()))


def concat_offset():
    dims = list(shape(1))
    axis = rng.randint(len(dims))
    shapes = []
    for _ in range(rng.randint(2, 5)):
        part = list(dims)
        part[axis] = rng.randint(0, 4)
        if chance(0.05):
            part[rng.randint(len(dims))] += 1
        shapes.append(ints(part))
    return 'ConcatOffset', dict(concat_dim=ints(axis - (len(dims) if chance(0.3) else 0)), shape=shapes)


def pack_or_unpack():
    dims = shape(1, 3, empty=0)
    axis = rng.randint(-len(dims), len(dims))
    if chance(0.5):
        return 'Unpack', dict(value=data(dims), num=dims[axis], axis=axis)
    dtype = pick(DTYPES)
    return 'Pack', dict(values=[data(dims, dtype) for _ in range(rng.randint(1, 4))], axis=axis)


def split():
    count = rng.randint(1, 4)
    dims = list(shape(1, 3))
    axis = rng.randint(len(dims))
    if chance(0.5):
        dims[axis] = count * rng.randint(0, 4)
        return 'Split', dict(axis=ints(axis - (len(dims) if chance(0.3) else 0)), value=data(dims), num_split=count)
    sizes = rng.randint(0, 4, count)
    dims[axis] = sizes.sum()
    if chance(0.5):
        sizes[rng.randint(count)] = -1 if chance(0.7) or count == 1 else 9
    return 'SplitV', dict(value=data(dims), size_splits=ints(sizes, index_dtype()), axis=ints(axis), num_split=count)


def repeat():
    dims = shape(0, 3)
    if chance(0.5):
        return 'Tile', dict(input=data(dims, pick([np.float32, np.int32, np.bool_, np.object_])),
                            multiples=ints(rng.randint(0 if chance(0.1) else 1, 4, len(dims)), index_dtype()))
    part = [d if chance(0.6) else 1 for d in dims][rng.randint(len(dims) + 1) if chance(0.5) else 0:]
    return 'BroadcastTo', dict(input=data(part, pick([np.float32, np.int32, np.bool_])),
                               shape=ints(dims, index_dtype()))


def broadcast_arguments():
    dims = shape(0, 5, 3)
    pair = []
    for _ in range(2):
        part = [d if chance(0.6) else 1 for d in dims]
        pair.append(part[rng.randint(len(dims) + 1) if chance(0.4) else 0:])
    if chance(0.1) and pair[0]:
        pair[0][0] += 1
    dtype = index_dtype()
    return pick(['BroadcastArgs', 'BroadcastGradientArgs']), dict(s0=ints(pair[0], dtype), s1=ints(pair[1], dtype))


def reverse():
    dims = shape(1)
    axes = [d - (len(dims) if chance(0.3) else 0) for d in range(len(dims)) if chance(0.5)]
    return 'ReverseV2', dict(tensor=data(dims), axis=ints(axes, index_dtype()))


def where():
    dims = shape(1, 5)
    return 'Where', dict(condition=data(dims, pick([np.bool_, np.float32, np.int8, np.complex64]))
                         * (rng.rand(*dims) < 0.5))


def unique():
    if chance(0.5):
        return 'Unique', dict(x=data(shape(1, 1, 20), pick([np.float32, np.int32, np.int64, np.object_, np.int8])))
    dims = list(shape(1, 3, 3))
    axis = rng.randint(len(dims))
    dims[axis] = rng.randint(1, 9)
    return 'UniqueV2', dict(x=data(dims, np.int32) % 2, axis=ints([axis], index_dtype()))


def one_hot():
    dims = shape(0, 3)
    depth = rng.randint(0, 5)
    dtype = pick([np.float32, np.int32, np.object_])
    return 'OneHot', dict(indices=ints(rng.randint(-1, depth + 1, dims), index_dtype()), depth=ints(depth),
                          on_value=data((), dtype), off_value=data((), dtype), axis=rng.randint(-1, len(dims) + 1))


def reshape():
    dims = shape()
    target = list(rng.permutation(dims)) if chance(0.8) else list(shape(0, 3))
    if target and chance(0.5):
        target[rng.randint(len(target))] = -1
    return 'Reshape', dict(tensor=data(dims), shape=ints(target, index_dtype()))


def step_range():
    dtype = pick([np.float32, np.float64, np.int32, np.int64])
    start, limit = rng.randint(-9, 10, 2)
    delta = pick([1, 2, 3, -1, -2]) * (pick([0.1, 0.3, 0.7]) if np.dtype(dtype).kind == 'f' else 1)
    return 'Range', dict(start=ints(start, dtype), limit=ints(limit, dtype), delta=ints(delta, dtype))


GENERATORS = [
    strided_slice, strided_slice, strided_slice, strided_slice_grad, strided_slice_grad, slice_box, transpose, pad,
    gather, gather, gather_nd, scatter_nd, tensor_scatter, segment_sum, concat, concat_offset, pack_or_unpack, split,
    repeat, broadcast_arguments, reverse, where, unique, one_hot, reshape, step_range
]


def short_hex(value):
    return re.sub(r'\.?0+p', 'p', float(value).hex())


def number(value, dtype):
    if dtype.is_complex:
        return short_hex(value.real) + ';' + short_hex(value.imag)
    if dtype.is_floating:
        return short_hex(value)
    if dtype == tf.string:
        return value if isinstance(value, str) else value.decode() or '""'
    return str(int(value))


def tensor(kind, value, dtype):
    value = np.asarray(value)
    dims = ','.join(map(str, value.shape)) or '-'
    return ' '.join([kind, dtype.name, dims] + [number(v, dtype) for v in value.ravel()])


def attr_lines(node):
    for key in sorted(node.attr):
        attr = node.attr[key]
        kind = attr.WhichOneof('value')
        value = getattr(attr, kind)
        text = value.decode() if kind == 's' else str(int(value))
        if not key.startswith('_') and text:
            yield f'attr {key} {kind} {text}'


def run(op, arguments):
    """The lines of a case; none if TensorFlow has no kernel for it, or refuses already to build it."""
    with tf.Graph().as_default() as graph:
        feeds = {}

        def place(value):
            if isinstance(value, list):
                return [place(v) for v in value]
            if not isinstance(value, np.ndarray):
                return value
            holder = tf.compat.v1.placeholder(tf.string if value.dtype == object else value.dtype, value.shape)
            feeds[holder.name] = value
            return holder

        try:
            result = getattr(tf.raw_ops, op)(**{key: place(value) for key, value in arguments.items()})
        except ValueError:
            return []
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        node = results[0].op
        lines = [f'case {op} {op} 0'] + list(attr_lines(node.node_def))
        lines += [tensor('in', feeds[i.name], i.dtype) for i in node.inputs]
        with tf.compat.v1.Session(graph=graph) as session:
            try:
                values = session.run(results, feeds)
                return lines + [tensor('out', v, r.dtype) for v, r in zip(values, results)]
            except tf.errors.InvalidArgumentError:
                return lines + ['error']
            except (tf.errors.NotFoundError, tf.errors.UnimplementedError):
                return []


def main():
    count = 0
    with open(sys.argv[1] if len(sys.argv) > 1 else 'array_goldens.txt', 'w', encoding='utf-8') as out:
        for generator in GENERATORS:
            for _ in range(CASES_PER_OP):
                op, arguments = generator()
                lines = run(op, arguments)
                count += bool(lines)
                out.writelines(line + '\n' for line in lines)
    print(f'{count} cases')


if __name__ == '__main__':
    main()
