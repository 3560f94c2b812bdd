#!/usr/bin/env python3
"""Writes training.txt: three steps of each optimizer, as TensorFlow does them.

    python3 tests/golden/make_training.py > tests/golden/training.txt

    case NAME OP DTYPE
    attr NAME VALUE                  of bool attrs
    var DIMS VALUES                  a variable's first value, one line per resource input
    input NAME DTYPE DIMS VALUES     the other inputs of the next step
    step                             runs it
    after VALUES                     a variable's value then, one line per resource input

DIMS are d0,d1,... or "-" for a scalar.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
NAMES = {"float32": "float", "float64": "double", "float16": "half"}
SHAPE = [5, 3]
INDICES = [[0, 3], [3, 1, 3, 4], [2]]


def numbers(value):
    value = np.asarray(value)
    if value.dtype.kind == "i":
        return [str(v) for v in value.ravel()]
    return [repr(float(v)) for v in value.ravel()]


def dims(value):
    return ",".join(map(str, np.shape(value))) or "-"


def case(op, slots, scalars, grad_name="grad", sparse=None, dtype=tf.float64, variant=None, **attrs):
    rng = np.random.RandomState(1)
    np_dtype = dtype.as_numpy_dtype
    name = "_".join([op, NAMES.get(dtype.name, dtype.name)] + [k for k, v in attrs.items() if v] +
                    (["not_" + k for k, v in attrs.items() if not v]) + ([sparse.name] if sparse else []) +
                    ([variant] if variant else []))
    print("case", name, op, NAMES.get(dtype.name, dtype.name))
    for key, value in attrs.items():
        print("attr", key, int(value))
    with tf.Graph().as_default(), tf1.Session() as session:
        handles, values = [], []
        for i, slot in enumerate(slots):
            first = (rng.uniform(0.1, 1, SHAPE) if i else rng.uniform(-1, 1, SHAPE)).astype(np_dtype)
            handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=SHAPE, shared_name=slot)
            session.run(tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(first)))
            handles.append(handle)
            print("var", dims(first), *numbers(first))
        for step in range(3):
            kwargs = dict(zip(slots, handles))
            inputs = {}
            for key, value in scalars.items():
                if key.startswith("beta") and key.endswith("_power"):
                    value = value**(step + 1)
                inputs[key] = np.array(value, np_dtype)
            shape = [len(INDICES[step]), SHAPE[1]] if sparse else SHAPE
            inputs[grad_name] = rng.uniform(-1, 1, shape).astype(np_dtype)
            if sparse:
                inputs["indices"] = np.array(INDICES[step], sparse.as_numpy_dtype)
            for key, value in inputs.items():
                value = np.asarray(value)
                print("input", key, NAMES.get(value.dtype.name, value.dtype.name), dims(value), *numbers(value))
                kwargs[key] = tf.constant(value)
            session.run(getattr(tf.raw_ops, op)(**kwargs, **attrs))
            print("step")
            for handle in handles:
                print("after", *numbers(session.run(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype))))


print("# Written by make_training.py. Do not edit.")
adam = dict(beta1_power=0.9, beta2_power=0.999, lr=0.01, beta1=0.9, beta2=0.999, epsilon=1e-7)
for dtype in [tf.float64, tf.float32, tf.float16, tf.bfloat16]:
    case("ResourceApplyGradientDescent", ["var"], {"alpha": 0.1}, grad_name="delta", dtype=dtype)
    for nesterov in [False, True]:
        for kind in ["Momentum", "KerasMomentum"]:
            scalars = {"lr": 0.1, "momentum": 0.9}
            case("ResourceApply" + kind, ["var", "accum"], scalars, dtype=dtype, use_nesterov=nesterov)
            for index in [tf.int32, tf.int64]:
                case("ResourceSparseApply" + kind, ["var", "accum"], scalars, sparse=index, dtype=dtype,
                     use_nesterov=nesterov)
        case("ResourceApplyAdam", ["var", "m", "v"], {**adam, "epsilon": 0.01}, dtype=dtype, use_nesterov=nesterov)
    for update in [True, False]:
        case("ResourceApplyAdagrad", ["var", "accum"], {"lr": 0.1}, dtype=dtype, update_slots=update)
        case("ResourceSparseApplyAdagrad", ["var", "accum"], {"lr": 0.1}, sparse=tf.int32, dtype=dtype,
             update_slots=update)


def both(rule, slots, scalars, sparse=True, **attrs):
    """The dense op in double and float, and the sparse one in double."""
    for dtype in [tf.float64, tf.float32]:
        case("ResourceApply" + rule, slots, scalars, dtype=dtype, **attrs)
    if sparse:
        case("ResourceSparseApply" + rule, slots, scalars, sparse=tf.int64, **attrs)


proximal = {"alpha": 0.1, "l1": 0.3, "l2": 0.2}
case("ResourceApplyProximalGradientDescent", ["var"], proximal, grad_name="delta")
case("ResourceSparseApplyProximalGradientDescent", ["var"], proximal, sparse=tf.int32)
both("ProximalAdagrad", ["var", "accum"], {"lr": 0.1, "l1": 0.3, "l2": 0.2})
for update in [True, False]:
    both("AdagradV2", ["var", "accum"], {"lr": 0.1, "epsilon": 0.01}, update_slots=update)
both("Adadelta", ["var", "accum", "accum_update"], {"lr": 0.5, "rho": 0.9, "epsilon": 1e-3})
rms = {"lr": 0.1, "rho": 0.9, "momentum": 0.8, "epsilon": 1e-3}
both("RMSProp", ["var", "ms", "mom"], rms)
both("CenteredRMSProp", ["var", "mg", "ms", "mom"], {**rms, "epsilon": 2})
both("AdamWithAmsgrad", ["var", "m", "v", "vhat"], {**adam, "epsilon": 0.01}, sparse=False)
both("AdaMax", ["var", "m", "v"], {k: v for k, v in adam.items() if k != "beta2_power"}, sparse=False)
for scaled in [False, True]:
    for power in [-0.5, -0.3]:
        ftrl = {"lr": 0.1, "l1": 0.5, "l2": 0.2, "lr_power": power}
        attrs = {"multiply_linear_by_lr": scaled, "variant": str(-power).replace(".", "_")}
        both("Ftrl", ["var", "accum", "linear"], ftrl, **attrs)
        both("FtrlV2", ["var", "accum", "linear"], {**ftrl, "l2_shrinkage": 0.3}, **attrs)
for dtype in [tf.float16, tf.bfloat16]:
    case("ResourceApplyRMSProp", ["var", "ms", "mom"], rms, dtype=dtype)
    case("ResourceSparseApplyAdadelta", ["var", "accum", "accum_update"], {"lr": 0.5, "rho": 0.9, "epsilon": 1e-3},
         sparse=tf.int32, dtype=dtype)
