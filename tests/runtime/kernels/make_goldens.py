#!/usr/bin/env python3
"""Writes goldens.txt: what TensorFlow's CPU kernels give for small inputs.

Run with a Python that has tensorflow-cpu; the tests only read the result. One
case is the lines

    case NAME OP TOLERANCE
    attr NAME KIND VALUE        one per attr of the NodeDef
    in DTYPE SHAPE VALUES       one per input; a shape is d0,d1,... or "-"
    out DTYPE SHAPE VALUES      one per output, or the one line "error"

Floating values are hexadecimal, complex ones RE;IM. TOLERANCE is relative to
the larger of 1 and the expected value where ABSOLUTE stands behind it, else to
the expected value.
"""

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
raw = tf.raw_ops
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTS = ["int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
TOLERANCE = {"float32": 2e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3,
             "complex64": 5e-6, "complex128": 1e-13}
nan, inf = float("nan"), float("inf")

out = open(sys.argv[1] if len(sys.argv) > 1 else "goldens.txt", "w")
config = tf1.ConfigProto(intra_op_parallelism_threads=1)
config.graph_options.optimizer_options.opt_level = -1
config.graph_options.rewrite_options.disable_meta_optimizer = True


def short_hex(v):
    return re.sub(r"\.?0+p", "p", float(v).hex())


def number(v, dtype):
    if dtype.is_complex:
        return short_hex(v.real) + ";" + short_hex(v.imag)
    if dtype.is_floating:
        return short_hex(v)
    if dtype == tf.bool:
        return str(int(v))
    if dtype == tf.string:
        return bytes(v).decode() or '""'
    return str(int(v))


def tensor(kind, value, dtype):
    value = np.asarray(value)
    shape = ",".join(map(str, value.shape)) or "-"
    return " ".join([kind, dtype.name, shape] + [number(v, dtype) for v in value.ravel()])


def case(op, tolerance=None, name=None, absolute=False, **kwargs):
    """Values that are (value, dtype) become inputs, lists of them list inputs, all others attrs."""
    with tf.Graph().as_default() as graph:
        feeds = {}

        def place(pair):
            value, dtype = pair
            dtype = tf.as_dtype(dtype)
            value = np.asarray(value).astype(dtype.as_numpy_dtype) if dtype != tf.string else np.asarray(value, object)
            holder = tf1.placeholder(dtype, value.shape)
            feeds[holder] = value
            return holder

        args = {}
        for key, value in kwargs.items():
            if isinstance(value, tuple):
                args[key] = place(value)
            elif isinstance(value, list) and value and isinstance(value[0], tuple):
                args[key] = [place(v) for v in value]
            else:
                args[key] = value
        lines = []
        try:
            result = getattr(raw, op)(**args)
            results = list(result) if isinstance(result, (list, tuple)) else [result]
            node = results[0].op.node_def
        except (ValueError, TypeError) as e:
            # Refused by shape inference already: not a kernel's case.
            print("skipped", op, str(e)[:100])
            return
        dtype = next(iter(feeds)).dtype
        if tolerance is None:
            tolerance = TOLERANCE.get(dtype.name, 0)
        lines.append("case %s %s %g%s" % (name or op, op, tolerance, " ABSOLUTE" if absolute else ""))
        for key in sorted(node.attr):
            if key.startswith("_"):
                continue
            attr = node.attr[key]
            which = attr.WhichOneof("value")
            value = getattr(attr, which)
            if which == "type":
                text = str(value)
            elif which == "b":
                text = str(int(value))
            elif which == "f":
                text = float(value).hex()
            elif which == "s":
                text = value.decode()
            elif which == "i":
                text = str(value)
            elif which == "shape":
                text = ",".join(str(d.size) for d in value.dim) or "-"
            else:
                raise ValueError(which)
            lines.append("attr %s %s %s" % (key, which, text))
        for holder in results[0].op.inputs:
            lines.append(tensor("in", feeds[next(h for h in feeds if h is holder)], holder.dtype))
        with tf1.Session(graph=graph, config=config) as session:
            try:
                values = session.run(results, feeds)
                lines += [tensor("out", v, r.dtype) for v, r in zip(values, results)]
            except tf.errors.InvalidArgumentError:
                lines.append("error")
            except (tf.errors.NotFoundError, tf.errors.UnimplementedError) as e:
                print("no kernel", op, dtype.name)
                return
    out.write("\n".join(lines) + "\n")


SPECIAL = [nan, inf, -inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-6, -1e-6, 3.25, -7.5, 12, -12, 87, -87,
           120.5, -0.99, 6.0, 6.5, 1000.0, 50000.0]


def unary():
    ops = ("Abs Sign Round Rint Floor Ceil Neg Square Sqrt Rsqrt Exp Expm1 Log Log1p Sin Cos Tan Tanh Sigmoid "
           "Reciprocal Inv Erf Erfc IsNan IsInf IsFinite").split()
    activations = "Relu Relu6 LeakyRelu Elu Selu Softplus Softsign".split()
    for dtype in FLOATS:
        values = [v for v in SPECIAL if dtype != "float16" or abs(v) < 1e4 or np.isinf(v) or np.isnan(v)]
        for op in ops:
            tolerance = TOLERANCE[dtype]
            x = values
            if op in ("Sin", "Cos", "Tan"):
                x = [v for v in values if not np.isinf(v) and abs(v) < 200 or np.isnan(v)]
            if op in ("Erf", "Erfc"):
                x = [v for v in values if not np.isinf(v)]  # NaN for double in TensorFlow
                tolerance = max(tolerance, 1e-6 if dtype != "float64" else 1e-13)
            if op == "Erfc" and dtype != "float64":
                x = [v for v in x if abs(v) < 3]
                tolerance = max(tolerance, 1e-5)
            if op == "Rint" and dtype in ("float16", "bfloat16"):
                continue  # no kernel, though the op allows it
            if op == "Expm1" and dtype in ("float16", "bfloat16"):
                x = [v for v in x if abs(v) > 0.1 or np.isnan(v) or v == 0]
            case(op, tolerance=tolerance, x=(x, dtype))
        for op in activations:
            x = [v for v in values if not (op == "Softsign" and np.isinf(v))]
            # In bfloat16 TensorFlow's Softplus is x from 3 upwards.
            tolerance = 0.02 if (op, dtype) == ("Softplus", "bfloat16") else None
            case(op, tolerance=tolerance, features=(x, dtype), absolute=op in ("Softplus", "Elu", "Selu"))
        case("LeakyRelu", features=(values, dtype), alpha=0.3)
    for dtype in INTS:
        x = [0, 1, 5, 6, 7, 100]
        if not dtype.startswith("u"):
            x += [-1, -7, -100, np.iinfo(dtype).min]
        for op in ["Abs", "Sign", "Neg", "Square"]:
            if op == "Square" or not dtype.startswith("u"):
                case(op, x=(x, dtype))
        case("Relu", features=(x, dtype))
        case("Relu6", features=(x, dtype))
    z = [1 + 2j, -0.5 + 0.25j, 3 - 4j, -2 - 1j, 0.1j, 0.3 + 0j]
    for dtype in COMPLEX:
        for op in ("Neg Square Sqrt Rsqrt Exp Expm1 Log Log1p Sin Cos Tan Tanh Sigmoid Reciprocal Sign").split():
            case(op, x=(z, dtype), absolute=True)
        case("Sign", x=([0j], dtype))
        case("Conj", input=(z, dtype))
        real = "float32" if dtype == "complex64" else "float64"
        for op in ("Real", "Imag"):
            case(op, input=(z, dtype), Tout=tf.as_dtype(real))
        case("Complex", real=([1, 2.5], real), imag=([3, -4], real), Tout=tf.as_dtype(dtype))
    case("LogicalNot", x=([True, False], "bool"))


A = [nan, 1, nan, inf, -inf, 0, 0, 1, -1, 5.5, -5.5, 5.5, -5.5, inf, 1, 0, 0, 7, 7.25, -3]
B = [1, nan, nan, inf, 1, 0, 2, 0, 0, 2, 2, -2, -2, 3, 2, nan, inf, 3, 0.5, 4]


def binary():
    plain = ("AddV2 Add Sub Mul Div RealDiv FloorDiv FloorMod DivNoNan MulNoNan Xdivy Xlogy Pow Maximum "
             "Minimum SquaredDifference Equal NotEqual Less LessEqual Greater GreaterEqual ApproximateEqual").split()
    for dtype in FLOATS:
        for op in plain:
            if dtype in ("float16", "bfloat16") and op in ("ApproximateEqual",):
                continue
            case(op, x=(A, dtype), y=(B, dtype))
        for op in ("ReluGrad Relu6Grad LeakyReluGrad SoftplusGrad SoftsignGrad").split():
            b = [v if not np.isinf(v) else 8.0 for v in B]
            case(op, gradients=(A, dtype), features=(b, dtype))
        for op in ("EluGrad", "SeluGrad"):
            # In half TensorFlow rounds after every step.
            case(op, tolerance=2e-3 if dtype == "float16" else None, gradients=(A, dtype),
                 outputs=([v if not np.isinf(v) else 8.0 for v in B], dtype))
        for op in ("TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad").split():
            case(op, y=([0.5, -0.25, 0.75, 2, -3], dtype), dy=([1, 2, -3, 0.5, 4], dtype))
    for dtype in INTS:
        a = [7, 100, 3, 0, 12]
        b = [2, 3, 5, 7, 1]
        if not dtype.startswith("u"):
            a += [-7, 7, -7, np.iinfo(dtype).min, np.iinfo(dtype).min, np.iinfo(dtype).max]
            b += [2, -2, -2, -1, 3, np.iinfo(dtype).min]
        else:
            a += [np.iinfo(dtype).max, 0]
            b += [np.iinfo(dtype).max, 1]
        for op in ("AddV2 Sub Mul Div FloorDiv FloorMod Maximum Minimum Equal NotEqual Less LessEqual Greater "
                   "GreaterEqual").split():
            case(op, x=(a, dtype), y=(b, dtype))
        for op in ("Div", "FloorDiv", "FloorMod"):
            case(op, name=op + "ByZero", x=([1, 2], dtype), y=([1, 0], dtype))
        case("ReluGrad", gradients=(a, dtype), features=(b, dtype))
        case("Relu6Grad", gradients=(a, dtype), features=(b, dtype))
        if not dtype.startswith("u"):
            case("Pow", x=([2, 3, -2, 0, 1, -1, 7], dtype), y=([5, 3, 3, 0, 5, 7, 100], dtype))
            case("Pow", name="PowNegative", x=([1], dtype), y=([-1], dtype))
    za = [1 + 2j, 3 - 1j, 0j, -2 + 0.5j]
    zb = [2 - 1j, 0j, 1 + 1j, 3 + 0j]
    zc = [2 - 1j, 1 + 0j, 1 + 1j, 3 + 0j]
    for dtype in COMPLEX:
        for op in ("AddV2 Sub Mul DivNoNan MulNoNan SquaredDifference Equal NotEqual").split():
            case(op, x=(za, dtype), y=(zb, dtype), absolute=True)
        for op in ("Div RealDiv Pow Xdivy Xlogy").split():
            case(op, x=(za, dtype), y=(zc, dtype), absolute=True)
        for op in ("TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad").split():
            case(op, y=(za[:2], dtype), dy=(zc[:2], dtype), absolute=True)
    for op in ("LogicalAnd", "LogicalOr"):
        case(op, x=([True, True, False, False], "bool"), y=([True, False, True, False], "bool"))
    for op in ("Equal", "NotEqual"):
        case(op, x=([True, False], "bool"), y=([True], "bool"))
        case(op, x=([b"a", b"bc"], "string"), y=(b"bc", "string"))
        case(op, x=([1, 2], "int32"), y=([1, 2, 3], "int32"), incompatible_shape_error=False)
    case("Add", x=([b"a", b"b"], "string"), y=(b"c", "string"))


def broadcasting():
    def values(shape):
        return (np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) * 0.75 - 2, "float32")

    for a, b in [([2, 3], [3]), ([2, 3], [2, 1]), ([2, 1], [1, 3]), ([], [2, 2]), ([2, 1, 3], [4, 1]), ([1], [2, 1, 1]),
                 ([2, 3, 1, 2], [3, 4, 1]), ([0, 3], [1, 3]), ([5, 1, 2, 1, 3], [1, 4, 1, 2, 3]), ([1, 1], [3])]:
        case("Sub", name="SubBroadcast", x=values(a), y=values(b))
        case("Less", name="LessBroadcast", x=values(a), y=values(b))
    c = (np.array([True, False, True]), "bool")
    case("SelectV2", condition=c, t=values([2, 3]), e=values([3]))
    case("SelectV2", condition=(True, "bool"), t=values([2, 3]), e=values([1]))
    case("SelectV2", condition=([[True], [False]], "bool"), t=values([3]), e=values([2, 1]))
    case("SelectV2", condition=([True, False], "bool"), t=([b"a"], "string"), e=([b"b"], "string"))
    for condition in ([True, False], True, [[True, False, True], [False, False, True]]):
        case("Select", condition=(condition, "bool"), x=values([2, 3]), y=(-np.ones([2, 3]), "float32"))


def casts():
    x = [0, 1, -1, 1.9, -1.9, 100.5, 127, 300, -129, 1e5, 3e9]
    types = FLOATS + INTS + COMPLEX + ["bool"]
    for source in ("float32", "float64"):
        for target in types:
            if target in ("int8", "int16", "uint8", "uint16"):
                values = [v for v in x if 0 <= v <= 127]  # beyond, TensorFlow's kernels disagree with each other
            elif target == "uint32":
                values = [v for v in x if v >= 0] + [-1]
            elif target in ("int32", "int64", "uint64"):
                values = x + [nan, inf, -inf, 1e30]
            else:
                values = x + [nan, inf]
            case("Cast", x=(values, source), DstT=tf.as_dtype(target))
    for source in ("float16", "bfloat16", "complex64"):
        for target in types:
            case("Cast", x=([0, 1, 2.5, 100], source), DstT=tf.as_dtype(target))
    for source in INTS:
        for target in types:
            lo, hi = np.iinfo(source).min, np.iinfo(source).max
            case("Cast", x=([0, 1, 100, lo, hi], source), DstT=tf.as_dtype(target))
    for target in types:
        case("Cast", x=([True, False], "bool"), DstT=tf.as_dtype(target))
    for source, target in [("float64", "float32"), ("float32", "float16"), ("float32", "bfloat16")]:
        case("Cast", name="CastTruncate", x=([0.1, 1 / 3, -1 / 3, 1.99999, 0.5], source), DstT=tf.as_dtype(target),
             Truncate=True, tolerance=0)
    case("Bitcast", input=([1, 70000], "int32"), type=tf.int16)
    case("Bitcast", input=([[1, 2], [3, 4]], "int16"), type=tf.int32)
    case("Bitcast", input=([1.5, -2.0], "float32"), type=tf.uint32)


def reductions():
    rng = np.random.RandomState(1)
    shapes = [([], [[]]), ([7], [[0], []]), ([3, 4], [[0], [1], [0, 1], [-1]]), ([2, 3, 4], [[0, 2], [1], [2], [0, 1]]),
              ([2, 3, 2, 3], [[0, 2], [1, 3], [0, 3], [1, 2]]), ([3, 0], [[1], [0]]), ([0, 2], [[0], [0, 1]]),
              ([2, 1, 3], [[1], [0, 1]])]
    for dtype in ["float32", "float64", "int32", "int64", "float16", "bfloat16", "complex64", "uint8", "int8"]:
        for shape, axes in shapes if dtype in ("float32", "int32") else shapes[3:4]:
            for axis in axes:
                for keep in (False, True):
                    x = (rng.uniform(-3, 3, shape) * (1 if dtype.startswith(("f", "b", "c")) else 3)).astype(np.float64)
                    if dtype == "uint8":
                        x = np.abs(x)
                    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
                        if dtype == "complex64" and op in ("Max", "Min"):
                            continue
                        if keep and op != "Sum":
                            continue
                        case(op, input=(x, dtype), axis=(axis, "int32"), keep_dims=keep, absolute=True,
                             tolerance={"float16": 4e-3, "bfloat16": 4e-2}.get(dtype))
    case("Max", input=([[1, nan, 3], [nan, 1, 2]], "float32"), axis=([0], "int32"))
    case("Min", input=([[1, nan, 3], [4, 1, 2]], "float32"), axis=([1], "int32"))
    case("Mean", name="MeanTruncates", input=([1, 2, 4, -9, -9], "int32"), axis=([0], "int64"))
    case("Sum", name="SumWraps", input=([100, 100, 100], "int8"), axis=([0], "int32"))
    case("Sum", name="SumAxisRange", input=([[1.0]], "float32"), axis=([2], "int32"))
    case("Sum", name="SumAxisTwice", input=([[1.0]], "float32"), axis=([0, -2], "int32"))
    for op in ("All", "Any"):
        for axis in ([0], [1], [0, 1], []):
            case(op, input=([[True, False, True], [True, True, True]], "bool"), axis=(axis, "int32"))
        case(op, input=(np.zeros([0, 2]), "bool"), axis=([0], "int32"))
    for op in ("ArgMax", "ArgMin"):
        for dtype in ["float32", "float64", "int32", "uint8", "float16"]:
            x = [[1, 5, 5, 2], [7, 0, 3, 7]]
            for dimension in (0, 1, -1):
                case(op, input=(x, dtype), dimension=(dimension, "int32"))
        case(op, input=([1, nan, 3, -inf], "float32"), dimension=(0, "int64"), output_type=tf.int32)
        case(op, input=(np.zeros([0, 2]), "float32"), dimension=(0, "int32"))
        case(op, input=([False, True], "bool"), dimension=(0, "int32"))
    for op in ("Cumsum", "Cumprod"):
        for exclusive in (False, True):
            for reverse in (False, True):
                for axis in (0, 1, -1):
                    case(op, x=(rng.uniform(1, 2, [2, 3, 2]), "float32"), axis=(axis, "int32"), exclusive=exclusive,
                         reverse=reverse)
        case(op, x=([1, 2, 3], "int32"), axis=(0, "int32"))
    for dtype in ("float32", "int32", "float16", "complex64", "bfloat16"):
        case("AddN", inputs=[([1, 2, 3], dtype), ([4, 5, 6], dtype), ([7, 8, 9], dtype)])
        case("AddN", inputs=[([1, 2, 3], dtype)])
    for dtype in FLOATS:
        case("L2Loss", t=([[1, 2], [3, 4.5]], dtype))


def matrices():
    rng = np.random.RandomState(2)
    for dtype in FLOATS + COMPLEX + ["int32", "int64"]:
        def m(*shape):
            x = rng.uniform(-3, 3, shape)
            if dtype.startswith("complex"):
                x = x + 1j * rng.uniform(-3, 3, shape)
            return (x, dtype)

        loose = {"float16": 5e-3, "bfloat16": 4e-2}.get(dtype)
        for ta in (False, True):
            for tb in (False, True):
                case("MatMul", a=m(*((4, 3) if ta else (3, 4))), b=m(*((5, 4) if tb else (4, 5))), transpose_a=ta,
                     transpose_b=tb, absolute=True, tolerance=loose)
                case("BatchMatMulV2", x=m(*((2, 4, 3) if ta else (2, 3, 4))), y=m(*((5, 4) if tb else (4, 5))),
                     adj_x=ta, adj_y=tb, absolute=True, tolerance=loose)
        case("BatchMatMulV2", x=m(3, 1, 2, 2), y=m(2, 2, 3), absolute=True, tolerance=loose)
        case("BatchMatMul", x=m(2, 2, 2), y=m(2, 2, 1), absolute=True, tolerance=loose)
        case("MatMul", a=m(2, 0), b=m(0, 3))
        case("MatMul", a=m(0, 2), b=m(2, 3))


def neural():
    rng = np.random.RandomState(3)
    for dtype in FLOATS:
        loose = {"float16": 4e-3, "bfloat16": 3e-2}.get(dtype)
        x = rng.uniform(-5, 5, [4, 7])
        labels = rng.uniform(0, 1, [4, 7])
        labels /= labels.sum(axis=1, keepdims=True)
        for op in ("Softmax", "LogSoftmax"):
            case(op, logits=(x, dtype), absolute=True, tolerance=loose)
            case(op, logits=(rng.uniform(-5, 5, [2, 2, 3]), dtype), absolute=True, tolerance=loose)
            case(op, logits=([[-inf, 1, 2]], dtype), absolute=True, tolerance=loose)
        case("SoftmaxCrossEntropyWithLogits", features=(x, dtype), labels=(labels, dtype), absolute=True,
             tolerance=loose)
        case("SoftmaxCrossEntropyWithLogits", features=(x, dtype), labels=(labels[:1], dtype), absolute=True,
             tolerance=loose)
        case("SoftmaxCrossEntropyWithLogits", features=(x[:, :1], dtype), labels=(labels, dtype), absolute=True,
             tolerance=loose)
        for index in ("int32", "int64"):
            case("SparseSoftmaxCrossEntropyWithLogits", features=(x, dtype), labels=([0, 6, 3, 1], index),
                 absolute=True, tolerance=loose)
        case("SparseSoftmaxCrossEntropyWithLogits", name="LabelOutOfRange", features=(x, dtype),
             labels=([0, 7, 3, 1], "int32"))
        case("SparseSoftmaxCrossEntropyWithLogits", name="LabelNegative", features=(x, dtype),
             labels=([0, -1, 3, 1], "int32"))
    for dtype in ["float32", "float64", "int32", "float16", "complex64"]:
        for shape in ([2, 3], [2, 3, 4], [2, 3, 2, 2], [2, 3, 1, 2, 2]):
            x = rng.uniform(-3, 3, shape)
            case("BiasAdd", value=(x, dtype), bias=(rng.uniform(-9, 9, shape[-1:]), dtype), absolute=True)
            case("BiasAdd", value=(x, dtype), bias=(rng.uniform(-9, 9, shape[1:2]), dtype), data_format="NCHW",
                 absolute=True)
            if dtype != "complex64":
                case("BiasAddGrad", out_backprop=(x, dtype), absolute=True,
                     tolerance=5e-3 if dtype == "float16" else None)
                case("BiasAddGrad", out_backprop=(x, dtype), data_format="NCHW", absolute=True,
                     tolerance=5e-3 if dtype == "float16" else None)
        case("BiasAddV1", value=(x, dtype), bias=([1, 2], dtype), absolute=True)
    p = [[1, 2, 3, 3], [nan, 1, 2, 3], [inf, 1, 2, 3], [3, 3, 3, 3], [1, nan, 3, 4], [4, 1, 3, 4]]
    for k in (0, 1, 2, 3, 5, -1):
        for target in (0, 2, 4, -1):
            case("InTopKV2", predictions=(p, "float32"), targets=([target] * 6, "int32"), k=(k, "int32"))
        case("InTopK", predictions=(p, "float32"), targets=([2] * 6, "int64"), k=k)


unary()
binary()
broadcasting()
casts()
reductions()
matrices()
neural()
out.close()
