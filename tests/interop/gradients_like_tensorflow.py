"""Compares the gradients that `nabla grad` appends with TensorFlow's, op family by op family.

TensorFlow builds each small graph below with static and with unknown shapes, and writes it as a GraphDef. `nabla grad`
differentiates it once and then the result again; `nabla run` computes the values. They must be what tf.gradients gives,
and what TensorFlow computes when it imports the graphs that Nabla wrote; a gradient that is none here must be none
there.

Run by hand, in a virtual environment with tensorflow (or tensorflow-cpu) and numpy:

    python tests/interop/gradients_like_tensorflow.py bazel-bin/tools/nabla [CASE...]

Prints a line for each difference and a count; exit status 1 if there were any.
"""

import os
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
raw = tf.raw_ops
f32, f64, c128 = np.float32, np.float64, np.complex128

CASES = []  # (name, build, inputs, options)


def case(name, build, *inputs, **options):
    """build: from one tensor per input to a tensor or a list of them. Only floating and complex inputs are xs.

    Options: second=False leaves out the second order; differs="why" expects a difference that is meant.
    """
    CASES.append((name, build, inputs, options))


class Values:
    """Random inputs, the same ones in every run."""

    def __init__(self):
        self.random = np.random.default_rng(7)

    def normal(self, *shape):
        return self.random.normal(size=shape)

    def positive(self, *shape):
        return self.random.uniform(0.5, 2.0, size=shape)

    def unit(self, *shape):
        return self.random.uniform(-0.8, 0.8, size=shape)

    def complex(self, *shape):
        return self.normal(*shape) + 1j * self.normal(*shape)


V = Values()
N, P, U, C = V.normal, V.positive, V.unit, V.complex


def i32(values):
    return np.array(values, np.int32)


def unary_cases():
    real = {
        "Abs": N, "Cos": N, "Elu": N, "Erf": N, "Erfc": N, "Exp": N, "Expm1": N, "Log": P, "Log1p": P, "Neg": N,
        "Reciprocal": P, "Relu": N, "Relu6": lambda *s: 4 * N(*s), "Rsqrt": P, "Selu": N, "Sigmoid": N, "Sign": N,
        "Sin": N, "Softplus": N, "Softsign": N, "Sqrt": P, "Square": N, "Tan": U, "Tanh": N, "Floor": N, "Ceil": N,
        "Round": N, "Rint": N, "Inv": P,
    }
    for op, values in real.items():
        key = "features" if op in ("Elu", "Relu", "Relu6", "Selu", "Softplus", "Softsign") else "x"
        case(op, lambda x, op=op, key=key: getattr(raw, op)(**{key: x}), values(3, 4))
    case("LeakyRelu", lambda x: raw.LeakyRelu(features=x, alpha=0.3), N(3, 4))
    case("Scalar", lambda x: raw.Tanh(x=x * x), N())
    case("EmptyUnary", lambda x: raw.Tanh(x=x), N(0, 3))
    for op in ("Cos", "Exp", "Expm1", "Log", "Log1p", "Neg", "Reciprocal", "Rsqrt", "Sigmoid", "Sin", "Sqrt", "Square",
               "Tan", "Tanh", "Inv", "Sign"):
        case("Complex" + op, lambda x, op=op: getattr(raw, op)(x=x), C(2, 3) + 1.5)
    case("Conj", lambda x: tf.math.conj(x) * x, C(2, 3))
    case("RealImag", lambda x: tf.math.real(x * x) * tf.math.imag(x), C(2, 3))
    case("MakeComplex", lambda x, y: tf.complex(x, y) * tf.complex(y, x), N(2, 3), N(3))
    case("CastFloat", lambda x: tf.cast(tf.cast(x, tf.float32) * 2, tf.float64), N(3))
    case("CastComplex", lambda x: tf.cast(x, tf.complex128) * (1 + 2j), N(3))
    case("CastComplexToReal", lambda x: tf.cast(x * x, tf.float64), C(3))
    case("CastInt", lambda x: tf.cast(tf.cast(x, tf.int32), tf.float64) * x, N(3))


def binary_cases():
    pairs = {"same": ((3, 4), (3, 4)), "row": ((3, 4), (4,)), "scalar": ((3, 4), ()), "both": ((3, 1), (1, 4)),
             "one": ((1, 1), (2, 3)), "high": ((4,), (2, 3, 4)), "empty": ((0, 4), (1, 4)),
              "leading": ((3, 1, 2), (4, 1))}
    for op in ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "SquaredDifference", "Pow"):
        for kind, (a, b) in pairs.items():
            values = P if op == "Pow" else N
            case(f"{op}_{kind}", lambda x, y, op=op: getattr(raw, op)(x=x, y=y), values(*a), values(*b))
    for op in ("DivNoNan", "FloorMod", "FloorDiv", "MulNoNan", "Xdivy", "Xlogy"):
        case(op, lambda x, y, op=op: getattr(raw, op)(x=x, y=y), P(3, 4), P(3, 1))
    case("DivNoNanZero", lambda x, y: raw.DivNoNan(x=x, y=y), N(3), np.array([0., 1., 2.]))
    case("MulNoNanZero", lambda x, y: raw.MulNoNan(x=x, y=y), N(3), np.array([0., 1., 2.]))
    case("PowNegativeBase", lambda x: tf.pow(x, tf.constant(3.0, tf.float64)), N(4))
    case("PowZeroBase", lambda x, y: tf.pow(x, y), np.array([0., 1., 2.]), np.array([2., 0., 1.]), second=False)
    case("XlogyZero", lambda x, y: raw.Xlogy(x=x, y=y), np.array([0., 1., 2.]), P(3))
    case("MaximumTies", lambda x, y: raw.Maximum(x=x, y=y), np.array([1., 2., 3.]), np.array([1., 3., 2.]))
    case("SameOperand", lambda x: x * x + x / x - tf.maximum(x, x), P(3, 1))
    case("OuterSelf", lambda x: x * tf.transpose(x), N(3, 1))
    for op in ("Add", "Sub", "Mul", "RealDiv", "Pow", "SquaredDifference"):
        case("Complex" + op, lambda x, y, op=op: getattr(raw, op)(x=x, y=y), C(2, 3) + 2, C(3) + 2)
    case("Select", lambda x, y: raw.Select(condition=x < y, x=x, y=y), N(3, 4), N(3, 4))
    case("SelectVector", lambda x, y: raw.Select(condition=tf.constant([True, False, True]), x=x, y=y),
         N(3, 4), N(3, 4))
    case("SelectV2", lambda x, y: raw.SelectV2(condition=tf.reduce_sum(x) < y, t=x, e=y), N(3, 1), N(4))
    case("SelectV2Scalar", lambda x, y: raw.SelectV2(condition=[[True, False]], t=x, e=y), N(), N(3, 1))
    case("AddN", lambda x, y: tf.add_n([x, y, x * y]), N(3), N(3))
    case("AccumulateNV2", lambda x, y: raw.AccumulateNV2(inputs=[x, y, x], shape=[3]), N(3), N(3))
    case("LerpChain", lambda x, y, t: x + t * (y - x) ** 2, N(2, 3), N(3), N())


def matmul_cases():
    for ta in (False, True):
        for tb in (False, True):
            a, b = ((4, 2) if ta else (2, 4)), ((3, 4) if tb else (4, 3))
            case(f"MatMul_{ta:d}{tb:d}", lambda x, y, ta=ta, tb=tb: raw.MatMul(
                a=x, b=y, transpose_a=ta, transpose_b=tb),
                 N(*a), N(*b))
            case(f"ComplexMatMul_{ta:d}{tb:d}",
                 lambda x, y, ta=ta, tb=tb: raw.MatMul(a=x, b=y, transpose_a=ta, transpose_b=tb), C(*a), C(*b))
            for op in ("BatchMatMul", "BatchMatMulV2"):
                case(f"{op}_{ta:d}{tb:d}", lambda x, y, ta=ta, tb=tb, op=op: getattr(raw, op)(
                    x=x, y=y, adj_x=ta, adj_y=tb),
                     C(2, *a), C(2, *b))
    case("BatchBroadcast", lambda x, y: raw.BatchMatMulV2(x=x, y=y), N(3, 1, 2, 4), N(5, 4, 3))
    case("BatchBroadcastAdj", lambda x, y: raw.BatchMatMulV2(x=x, y=y, adj_x=True, adj_y=True), N(4, 2), N(2, 3, 4))
    case("BatchBroadcastOnes", lambda x, y: raw.BatchMatMulV2(x=x, y=y), N(1, 1, 2), N(3, 2, 1))
    case("MatMulEmpty", lambda x, y: raw.MatMul(a=x, b=y), N(2, 0), N(0, 3))
    case("BatchSelf", lambda x: raw.BatchMatMulV2(x=x, y=x, adj_y=True), N(2, 3, 3))
    case("MatMulSelf", lambda x: raw.MatMul(a=x, b=x), N(3, 3))


def reduction_cases():
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        for axis, keep in (([0], False), ([1], False), ([-1], True), ([0, 2], False), ([-1, 0], True), ([], False),
                           ([0, 1, 2], False), (1, False), ([-2], False)):
            case(f"{op}_{axis}_{keep:d}",
                 lambda x, op=op, axis=axis, keep=keep: getattr(raw, op)(
                     input=x, axis=tf.constant(axis, tf.int32), keep_dims=keep), N(2, 3, 4))
        case(f"{op}_axis64", lambda x, op=op: getattr(raw, op)(input=x, axis=tf.constant([-1, 0], tf.int64)),
             N(2, 3, 4))
        case(f"{op}_fed_axis", lambda x, a, op=op: getattr(raw, op)(input=x, axis=a), N(2, 3, 4), i32([-1, 1]))
        case(f"{op}_scalar", lambda x, op=op: getattr(raw, op)(input=x, axis=tf.constant([], tf.int32)), N())
        if op not in ("Max", "Min"):
            case(f"{op}_empty", lambda x, op=op: getattr(raw, op)(input=x, axis=[0]), N(0, 3))
        case(f"{op}_empty_kept", lambda x, op=op: getattr(raw, op)(input=x, axis=[1]), N(0, 3))
    for op in ("Sum", "Mean"):
        case("Complex" + op, lambda x, op=op: getattr(raw, op)(input=x, axis=[1]), C(2, 3))
    # In TensorFlow the second derivative of Prod goes through that of Cumprod.
    case("ComplexProd", lambda x: raw.Prod(input=x, axis=[1]), C(2, 3),
         differs="TensorFlow's gradient of Cumprod does not conjugate")
    case("ProdZeros", lambda x: raw.Prod(input=x, axis=[1]), np.array([[0., 2., 3.], [0., 0., 5.], [1., 2., 3.]]),
         differs="TensorFlow's gradient of Cumprod is wrong where an element is zero")
    case("MaxTies", lambda x: raw.Max(input=x, axis=[0]), np.array([[1., 2.], [1., 3.], [0., 3.]]))
    case("L2Loss", lambda x: raw.L2Loss(t=x), N(2, 3))
    for reverse in (False, True):
        for exclusive in (False, True):
            case(f"Cumsum_{reverse:d}{exclusive:d}",
                 lambda x, r=reverse, e=exclusive: raw.Cumsum(x=x, axis=-1, reverse=r, exclusive=e), N(2, 3))
            case(f"Cumprod_{reverse:d}{exclusive:d}",
                 lambda x, r=reverse, e=exclusive: raw.Cumprod(x=x, axis=0, reverse=r, exclusive=e), N(3, 2))
    case("LogSumExp", lambda x: tf.reduce_logsumexp(x, axis=1), N(2, 3))
    case("Std", lambda x: tf.math.reduce_std(x, axis=-1, keepdims=True), N(2, 3))
    case("Norm", lambda x: tf.norm(x), N(2, 3))


def array_cases():
    case("Reshape", lambda x: tf.reshape(x, [4, -1]) ** 2, N(2, 6))
    case("ReshapeEmpty", lambda x: tf.reshape(x, [0, 5]) ** 2, N(0, 3))
    case("ExpandDims", lambda x: tf.expand_dims(x, -2) ** 2, N(2, 3))
    case("Squeeze", lambda x: tf.squeeze(x) ** 2, N(1, 3, 1))
    case("SqueezeAxis", lambda x: tf.squeeze(x, [-1]) ** 2, N(1, 3, 1))
    case("Transpose", lambda x: tf.transpose(x, [2, 0, 1]) ** 2, N(2, 3, 4))
    case("TransposeFed", lambda x, p: tf.transpose(x, p) ** 2, N(2, 3, 4), i32([1, 2, 0]))
    case("ConjugateTranspose", lambda x: raw.ConjugateTranspose(x=x, perm=[1, 0]) ** 2, C(2, 3))
    case("Tile", lambda x: tf.tile(x, [2, 1, 3]) ** 2, N(2, 3, 1))
    case("Tile64", lambda x: tf.tile(x, tf.constant([1, 2], tf.int64)) ** 2, N(2, 3))
    case("TileFed", lambda x, m: tf.tile(x, m) ** 2, N(2, 3), i32([2, 2]))
    case("TileZero", lambda x: tf.tile(x, [0, 2]) ** 2, N(2, 3))
    case("TileScalar", lambda x: tf.tile(x, tf.zeros([0], tf.int32)) ** 2, N())
    case("Fill", lambda x: tf.fill([2, 3], x) ** 2, N())
    case("BroadcastTo", lambda x: tf.broadcast_to(x, [2, 3, 4]) ** 2, N(3, 1))
    case("BroadcastToFed", lambda x, s: tf.broadcast_to(x, s) ** 2, N(3, 1), i32([2, 3, 4]))
    case("BroadcastToScalar", lambda x: tf.broadcast_to(x, [2]) ** 2, N())
    for axis in (0, 1, -1):
        shapes = [(2, 3), (4, 3)] if axis == 0 else [(2, 3), (2, 1)]
        case(f"ConcatV2_{axis}", lambda x, y, axis=axis: tf.concat([x, y, x], axis) ** 2, *[N(*s) for s in shapes])
    case("ConcatV2Fed", lambda x, y, a: raw.ConcatV2(values=[x, y], axis=a) ** 2, N(2, 3), N(2, 1), i32(-1))
    case("ConcatOne", lambda x: raw.ConcatV2(values=[x * x, x], axis=0), N(2, 3))
    case("ConcatEmpty", lambda x, y: raw.ConcatV2(values=[x, y], axis=0) ** 2, N(0, 3), N(2, 3))
    case("Concat", lambda x, y: raw.Concat(concat_dim=1, values=[x, y]) ** 2, N(2, 3), N(2, 1))
    case("Pack", lambda x, y: tf.stack([x, y], axis=-1) ** 2, N(2, 3), N(2, 3))
    case("Unpack", lambda x: tf.unstack(x, 3, axis=-1)[1] ** 2, N(2, 3))
    case("UnpackAll", lambda x: [t ** 3 for t in tf.unstack(x, 2)], N(2, 3))
    case("Split", lambda x: tf.split(x, 3, axis=-1)[2] ** 2, N(2, 6))
    case("SplitV", lambda x: [t ** 2 for t in tf.split(x, [1, 3, 2], axis=1)[:2]], N(2, 6))
    case("SplitVUnknown", lambda x: tf.split(x, [1, -1, 2], axis=-1)[1] ** 2, N(2, 6))
    case("Slice", lambda x: tf.slice(x, [1, 0], [2, -1]) ** 2, N(4, 3))
    case("Slice64", lambda x: tf.slice(x, tf.constant([1, 0], tf.int64), tf.constant([2, -1], tf.int64)) ** 2, N(4, 3))
    case("SliceFed", lambda x, b: tf.slice(x, b, [2, -1]) ** 2, N(4, 3), i32([1, 1]))
    case("StridedSlice", lambda x: x[1:, ::-2, tf.newaxis, 0] ** 2, N(4, 5, 2))
    case("StridedSliceEllipsis", lambda x: x[..., -1] ** 2, N(4, 5, 2))
    case("StridedSliceFed", lambda x, i: x[i] ** 2, N(4, 5), i32(2))
    case("Pad", lambda x: tf.pad(x, [[1, 2], [0, 3]]) ** 2, N(2, 3))
    case("Pad64", lambda x: tf.pad(x, tf.constant([[1, 2], [0, 3]], tf.int64)) ** 2, N(2, 3))
    case("PadV2", lambda x, v: raw.PadV2(input=x, paddings=[[1, 2], [0, 3]], constant_values=v) ** 2, N(2, 3), N(),
         differs="TensorFlow has none for the padding value")
    case("PadFed", lambda x, p: tf.pad(x, p) ** 2, N(2, 3), i32([[1, 0], [0, 1]]))
    case("ReverseV2", lambda x: tf.reverse(x, [-1, 0]) ** 2, N(2, 3))
    case("ReverseNone", lambda x: tf.reverse(x, tf.zeros([0], tf.int32)) ** 2, N(2, 3))
    case("Identity", lambda x: tf.identity(x) * 2, N(2, 3))
    case("IdentityN", lambda x, y: raw.IdentityN(input=[x, tf.shape(x), x * y])[2], N(2, 3), N(3))
    case("StopGradient", lambda x: tf.stop_gradient(x) * x, N(2, 3))
    case("CheckNumerics", lambda x: tf.debugging.check_numerics(x * x, "bad"), N(2, 3))
    case("EnsureShape", lambda x: tf.ensure_shape(x, [2, None]) ** 2, N(2, 3))
    case("PlaceholderWithDefault", lambda x: v1.placeholder_with_default(x * x, [2, 3]) * x, N(2, 3))
    case("ZerosLike", lambda x: tf.zeros_like(x) + x * tf.ones_like(x), N(2, 3))
    case("Bitcast", lambda x: tf.bitcast(tf.bitcast(x, tf.int64), tf.float64) + x, N(3))


def gather_cases():
    case("GatherV2", lambda x: tf.gather(x, [0, 2, 0]) ** 2, N(3, 4))
    case("GatherV2Scalar", lambda x: tf.gather(x, 1) ** 2, N(3, 4))
    case("GatherV2Matrix", lambda x: tf.gather(x, [[0, 2], [1, 1]]) ** 2, N(3, 4))
    case("GatherV2Axis1", lambda x: tf.gather(x, [0, 2, 0], axis=1) ** 2, N(3, 4))
    case("GatherV2AxisNegative", lambda x: tf.gather(x, [[0, 2], [1, 0]], axis=-1) ** 2, N(3, 4))
    case("GatherV2Middle", lambda x: tf.gather(x, [[0, 2], [1, 0]], axis=1) ** 2, N(2, 3, 4))
    case("GatherV2Batch", lambda x: raw.GatherV2(params=x, indices=[[0, 2], [1, 1]], axis=1, batch_dims=1) ** 2,
         N(2, 3, 4))
    case("GatherV2BatchAxis2", lambda x: raw.GatherV2(params=x, indices=[[0, 2], [1, 1]], axis=2, batch_dims=1) ** 2,
         N(2, 3, 4))
    case("GatherV2BatchAxis0", lambda x: raw.GatherV2(params=x, indices=[0, 2], axis=-1, batch_dims=-1) ** 2, N(2, 3))
    case("GatherFed", lambda x, i: tf.gather(x, i) ** 2, N(3, 4), i32([[0, 1]]))
    case("GatherFedAxis", lambda x, i, a: tf.gather(x, i, axis=a) ** 2, N(3, 4), i32([0, 1]), i32(1))
    case("Gather", lambda x: raw.Gather(params=x, indices=[0, 2, 0]) ** 2, N(3, 4))
    case("GatherTwice", lambda x: tf.gather(x, [0, 2]) * tf.gather(x, tf.constant([1, 1], tf.int64)), N(3, 4))
    case("GatherAndDense", lambda x: [tf.gather(x, [0, 2]) ** 2, x ** 3], N(3, 4))
    case("GatherEmpty", lambda x: tf.gather(x, tf.zeros([0], tf.int32)) ** 2, N(3, 4))
    case("GatherThroughReshape", lambda x: tf.gather(tf.reshape(x * x, [6, 2]), [0, 5, 0]), N(3, 4))
    case("GatherNd", lambda x: tf.gather_nd(x, [[0, 1], [2, 3], [0, 1]]) ** 2, N(3, 4))
    case("GatherNdRows", lambda x: tf.gather_nd(x, [[0], [2]]) ** 2, N(3, 4))
    case("ScatterNd", lambda u: tf.scatter_nd([[0], [2], [0]], u, [4, 2]) ** 2, N(3, 2))
    case("TensorScatterAdd", lambda x, u: tf.tensor_scatter_nd_add(x, [[0], [2]], u) ** 2, N(3, 2), N(2, 2))
    case("TensorScatterSub", lambda x, u: tf.tensor_scatter_nd_sub(x, [[0], [2]], u) ** 2, N(3, 2), N(2, 2))
    case("TensorScatterUpdate", lambda x, u: tf.tensor_scatter_nd_update(x, [[0], [2]], u) ** 2, N(3, 2), N(2, 2))
    case("UnsortedSegmentSum", lambda x: tf.math.unsorted_segment_sum(x, [1, 0, -1, 1], 3) ** 2, N(4, 2))
    case("UnsortedSegmentSumMatrix", lambda x: tf.math.unsorted_segment_sum(x, [[1, 0], [-1, 1]], 3) ** 2, N(2, 2, 3))
    case("OneHot", lambda a, b: tf.one_hot([0, 2], 3, on_value=a, off_value=b) ** 2, N(), N())
    case("Where", lambda x: tf.gather_nd(x, tf.where(x > 0)) ** 2, N(3, 4))


def nn_cases():
    case("BiasAdd", lambda x, b: raw.BiasAdd(value=x, bias=b) ** 2, N(2, 3), N(3))
    case("BiasAdd4", lambda x, b: raw.BiasAdd(value=x, bias=b) ** 2, N(2, 2, 2, 3), N(3))
    case("BiasAddNCHW", lambda x, b: raw.BiasAdd(value=x, bias=b, data_format="NCHW") ** 2, N(2, 3, 2, 2), N(3))
    case("BiasAddV1", lambda x, b: raw.BiasAddV1(value=x, bias=b) ** 2, N(2, 3), N(3))
    case("BiasAddGrad", lambda x: raw.BiasAddGrad(out_backprop=x) ** 2, N(2, 3))
    case("BiasAddGradNCHW", lambda x: raw.BiasAddGrad(out_backprop=x, data_format="NCHW") ** 2, N(2, 3, 2, 2))
    case("Softmax", lambda x: tf.nn.softmax(x), N(2, 3))
    case("Softmax3", lambda x: raw.Softmax(logits=x), N(2, 2, 3))
    case("LogSoftmax", lambda x: tf.nn.log_softmax(x), N(2, 3))
    case("SoftmaxAxis", lambda x: tf.nn.softmax(x, axis=0), N(2, 3))
    labels = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    case("SoftmaxXent", lambda x, l: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=l)[0], N(2, 3), labels,
         differs="TensorFlow leaves out how the second output depends on the labels")
    case("SoftmaxXentBackprop", lambda x, l: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=l)[1],
         N(2, 3), labels,
         differs="TensorFlow leaves out how the second output depends on the labels")
    case("SoftmaxXentBoth", lambda x, l: list(raw.SoftmaxCrossEntropyWithLogits(features=x, labels=l)), N(2, 3), labels,
         differs="TensorFlow leaves out how the second output depends on the labels")
    case("SoftmaxXentBroadcast", lambda x, l: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=l)[0],
         N(2, 3), labels[:1],
         differs="TensorFlow does not sum over what was broadcast")
    case("SparseXent", lambda x: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=[2, 0])[0], N(2, 3))
    case("SparseXentFed", lambda x, l: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=l)[0],
         N(2, 3), i32([1, 1]))
    case("SparseXentBackprop", lambda x: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=[2, 0])[1], N(2, 3))
    case("SigmoidXent", lambda x, l: tf.nn.sigmoid_cross_entropy_with_logits(labels=l, logits=x), N(2, 3), U(2, 3))
    case("Gelu", lambda x: tf.nn.gelu(x, approximate=False), N(2, 3))
    case("LayerNorm", lambda x, g: (x - tf.reduce_mean(x, -1, keepdims=True)) * g * tf.math.rsqrt(
        tf.math.reduce_variance(x, -1, keepdims=True) + 1e-3), N(2, 3), N(3))
    case("Attention", lambda q, k, v: tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), v), N(2, 3, 4),
         N(2, 5, 4), N(2, 5, 2))
    case("Mlp", lambda x, w, b: tf.nn.relu(tf.matmul(x, w) + b), N(4, 3), N(3, 5), N(5))
    case("Unconnected", lambda x, y: x * 2, N(2), N(2))
    for op, y in (("ReluGrad", "features"), ("Relu6Grad", "features"), ("LeakyReluGrad", "features"),
                  ("EluGrad", "outputs"), ("SeluGrad", "outputs"), ("SoftplusGrad", "features")):
        case(op, lambda d, x, op=op, y=y: getattr(raw, op)(gradients=d, **{y: x}), N(3, 4), N(3, 4))
    for op in ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"):
        case(op, lambda y, dy, op=op: getattr(raw, op)(y=y, dy=dy), P(3, 4), N(3, 4))
        case("Complex" + op, lambda y, dy, op=op: getattr(raw, op)(y=y, dy=dy), C(3, 4), C(3, 4))


for add_cases in (unary_cases, binary_cases, matmul_cases, reduction_cases, array_cases, gather_cases, nn_cases):
    add_cases()


CONFIG = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True


class Different(Exception):
    pass


class Comparison:
    def __init__(self, nabla, folder):
        self.nabla = nabla
        self.folder = folder

    def call(self, *arguments):
        done = subprocess.run([self.nabla, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise Different(f"nabla {arguments[0]}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def grad(self, graph_in, graph_out, ys, xs, grad_ys, scope):
        """The gradients' tensor names; None where there is none."""
        text = self.call("grad", graph_in, "--ys", ",".join(ys), "--xs", ",".join(xs), "--grad-ys", ",".join(grad_ys),
                         "--out", graph_out, "--name", scope)
        result = []
        for line in text.splitlines():
            gradient = line.split(" -> ")[1]
            slices = re.match(r"slices values=(\S+) indices=(\S+) dense_shape=(\S+)", gradient)
            result.append(slices.groups() if slices else None if gradient.startswith("none") else gradient)
        return result

    def run(self, graph, feeds, fetches):
        names = sorted({name for fetch in fetches for name in (fetch if isinstance(fetch, tuple) else [fetch])})
        arguments = ["run", graph, "--fetch", ",".join(names), "--out", self.folder, "--threads", "1"]
        for i, (name, value) in enumerate(feeds.items()):
            np.save(f"{self.folder}/feed{i}.npy", value)
            arguments += ["--feed", f"{name}=@{self.folder}/feed{i}.npy"]
        self.call(*arguments)
        values = {n: np.load(self.folder + "/" + n.replace("/", "_").replace(":", "_") + ".npy") for n in names}
        return [densify([values[n] for n in f]) if isinstance(f, tuple) else values[f] for f in fetches]

    def compare(self, name, build, inputs, options, shape_of):
        with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=CONFIG) as session:
            fed = {}
            tensors = []
            for i, value in enumerate(inputs):
                value = np.asarray(value)
                tensors.append(v1.placeholder(value.dtype, shape_of(value), name=f"x{i}"))
                fed[tensors[-1]] = value
            xs = [x for x in tensors if x.dtype.is_floating or x.dtype.is_complex]
            ys = build(*tensors)
            ys = [tf.identity(y) for y in (ys if isinstance(ys, (list, tuple)) else [ys])]
            if not all(y.dtype.is_floating or y.dtype.is_complex for y in ys):
                ys = [tf.cast(y, tf.float64) for y in ys]
            random = np.random.default_rng(1)
            y_values = session.run(ys, fed)

            def cotangents(values, prefix):
                made = []
                for i, value in enumerate(values):
                    like = random.normal(size=value.shape).astype(value.dtype)
                    if np.iscomplexobj(value):
                        like = like + 1j * random.normal(size=value.shape)
                    made.append(v1.placeholder(value.dtype, shape_of(value), name=f"{prefix}{i}"))
                    fed[made[-1]] = np.asarray(like, value.dtype)
                return made

            grad_ys = cotangents(y_values, "dy")
            weights = cotangents([fed[x] for x in xs], "w")
            graph_def = graph.as_graph_def()
            first = tf.gradients(ys, xs, grad_ys)
            first = [None if g is None else tf.convert_to_tensor(g) for g in first]
            known = [i for i, g in enumerate(first) if g is not None]
            want = session.run([first[i] for i in known], fed)
            second = None
            second_xs = xs + grad_ys
            if known and options.get("second", True):
                try:
                    second = tf.gradients([first[i] for i in known], second_xs, [weights[i] for i in known])
                except (LookupError, NotImplementedError):  # TensorFlow has no second derivative
                    second = None
            if second is not None:
                second = [None if g is None else tf.convert_to_tensor(g) for g in second]
                known2 = [i for i, g in enumerate(second) if g is not None]
                want2 = session.run([second[i] for i in known2], fed)

        path = f"{self.folder}/graph.pb"
        with open(path, "wb") as file:
            file.write(graph_def.SerializeToString())
        names = lambda ts: [t.name for t in ts]
        orders = [(self.grad(path, path, names(ys), names(xs), names(grad_ys), "gradients"), known, want)]
        problems = self.compare_none(orders[0][0], known, want)
        first_names = [orders[0][0][i] for i in known]
        if not problems and second is not None and all(isinstance(n, str) for n in first_names):  # slices cannot be ys
            got = self.grad(path, path, first_names, names(second_xs), [weights[i].name for i in known], "gradients_1")
            problems = self.compare_none(got, known2, want2)
            orders.append((got, known2, want2))
        expected = {got[i]: want[known.index(i)] for got, known, want in orders for i in known if got[i] is not None}
        fetches = list(expected)
        if fetches:
            feeds = {t.name: v for t, v in fed.items()}
            ours, theirs = self.run(path, feeds, fetches), self.run_in_tensorflow(path, feeds, fetches)
            for fetch, value, other in zip(fetches, ours, theirs):
                problems += differences(str(fetch), value, expected[fetch])
                problems += differences(f"{fetch} in TensorFlow", other, expected[fetch])
        if problems:
            raise Different("; ".join(problems))
        return len(orders)

    def compare_none(self, names, known, want):
        problems = []
        for i, name in enumerate(names):
            if name is not None and i not in known:
                problems.append(f"x{i} is none in TensorFlow only")
            elif name is None and i in known:
                problems.append(f"x{i} is none here only, there "
                                + ("not zero" if np.any(want[known.index(i)]) else "zero"))
        return problems

    def run_in_tensorflow(self, path, feeds, fetches):
        graph_def = v1.GraphDef()
        with open(path, "rb") as file:
            graph_def.ParseFromString(file.read())
        with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=CONFIG) as session:
            try:
                tf.import_graph_def(graph_def, name="")
                return [densify(v) if isinstance(v, (tuple, list)) else v for v in session.run(fetches, feeds)]
            except (ValueError, tf.errors.OpError) as error:
                raise Different("TensorFlow refuses our graph: " + str(error).split("\n")[0])


def densify(slices):
    values, indices, shape = slices
    dense = np.zeros(shape, values.dtype)
    np.add.at(dense, indices, values)
    return dense


def differences(what, got, expected):
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return [f"{what} is {got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}"]
    tolerance = 1e-5 if got.dtype in (f32, np.complex64) else 1e-9
    if not np.allclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        return [f"{what} is {got.ravel()[:6]}, expected {expected.ravel()[:6]}"]
    return []


SHAPES = {
    "static": lambda value: value.shape,
    "unknown dims": lambda value: [None] * value.ndim,
    "unknown rank": lambda value: None,
    "first dim unknown": lambda value: [None] + list(value.shape[1:]) if value.ndim else [],
}


def main():
    chosen = sys.argv[2:]
    compared = graphs = 0
    failed, unknown = [], set()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(sys.argv[1], folder)
        for kind, shape_of in SHAPES.items():
            for name, build, inputs, options in CASES:
                if chosen and name not in chosen:
                    continue
                try:
                    compared += comparison.compare(name, build, inputs, options, shape_of)
                    graphs += 1
                except Different as difference:
                    if "unknown op" in str(difference):
                        unknown.add(name)
                        continue
                    if "differs" in options:
                        print(f"{name} ({kind}) differs as expected: {options['differs']}", flush=True)
                        continue
                    failed.append(name)
                    print(f"{name} ({kind}): {difference}", flush=True)
                except (ValueError, TypeError, LookupError, tf.errors.OpError) as error:
                    print(f"{name} ({kind}): not compared, TensorFlow refuses: {str(error).splitlines()[0][:150]}",
                          flush=True)
    if unknown:
        print("not compared, with ops that Nabla does not know: " + ", ".join(sorted(unknown)))
    print(f"{graphs} graphs with {compared} derivatives agree; {len(failed)} graphs of {len(set(failed))} cases differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
