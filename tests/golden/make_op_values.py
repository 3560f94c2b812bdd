#!/usr/bin/env python3
"""Writes op_values.txt: what TensorFlow computes for the rows of tests/cases.

    bazel build //tests/cases:dump_cases && mkdir DIR && bazel-bin/tests/cases/dump_cases DIR
    python3 tests/golden/make_op_values.py DIR > tests/golden/op_values.txt

Each DIR/NAME.pb is a graph with nodes "x<i>" or "constant<i>" (Const) and the
node "case". Per row there is a line "case NAME", then a line per input ("in"),
output ("out") and gradient ("grad", of the floating and complex x<i>, of the
outputs times the weights below; "grad none" if TensorFlow gives None, no such
lines if it has no gradient for the op). Needs TensorFlow 2.
"""
import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def write_tensor(kind, value, out):
    value = np.asarray(value)
    if value.dtype.kind in "SOU":
        dtype, numbers = "string", [v.decode() if isinstance(v, bytes) else v for v in value.flat]
    else:
        dtype = NAMES.get(value.dtype.name, value.dtype.name)
        if value.dtype.kind == "c":
            parts = np.stack([value.real, value.imag], -1).reshape(-1)
        else:
            parts = value.reshape(-1)
        if value.dtype.kind in "iub":
            numbers = [str(int(v)) for v in parts]
        else:
            numbers = [repr(float(v)) for v in parts]
    shape = ",".join(map(str, value.shape)) or "-"
    out.append(" ".join([kind, dtype, shape] + numbers))


def weight(k, j):
    """CaseWeight in tests/cases/op_case.cc."""
    return ((7 * j + 3 * k + j // 11) % 13 - 4) / 8 + 0.0625


def weights_like(value, k):
    count = value.size * (2 if value.dtype.kind == "c" else 1)
    numbers = np.array([weight(k, j) for j in range(count)], np.float64)
    if value.dtype.kind == "c":
        numbers = numbers[0::2] + 1j * numbers[1::2]
    return numbers.reshape(value.shape).astype(value.dtype)


def is_continuous(dtype):
    return dtype.is_floating or dtype.is_complex


def run_case(path, name):
    out = ["case " + name]
    graph_def = tf1.GraphDef()
    with open(path, "rb") as f:
        graph_def.ParseFromString(f.read())
    with tf.Graph().as_default() as graph:
        tf1.import_graph_def(graph_def, name="")
        config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
        with tf1.Session(config=config) as session:
            nodes = [op for op in graph.get_operations() if re.match(r"(x|constant)\d+$", op.name)]
            nodes.sort(key=lambda op: int(re.sub(r"\D", "", op.name)))
            for op in nodes:
                write_tensor("in", session.run(op.outputs[0]), out)
            outputs = list(graph.get_operation_by_name("case").outputs)
            values = session.run(outputs)
            for value in values:
                write_tensor("out", value, out)
            ys = [y for y in outputs if is_continuous(y.dtype)]
            grad_ys = [
                tf.constant(weights_like(np.asarray(value), k))
                for k, (y, value) in enumerate(zip(outputs, values)) if is_continuous(y.dtype)
            ]
            xs = [op.outputs[0] for op in nodes if op.name[0] == "x" and is_continuous(op.outputs[0].dtype)]
            if ys and xs:
                grads = []
                try:
                    for gradient in tf1.gradients(ys, xs, grad_ys):
                        if gradient is None:
                            grads.append("grad none")
                        else:
                            write_tensor("grad", session.run(tf.convert_to_tensor(gradient)), grads)
                except LookupError:
                    return out
                except Exception as e:  # TensorFlow refuses some that we can do
                    print(f"{name}: no gradient: {e}", file=sys.stderr)
                    return out
                out += grads
    return out


def main():
    directory = sys.argv[1]
    print("# Written by make_op_values.py. Do not edit.")
    for file in sorted(os.listdir(directory)):
        name = file[:-len(".pb")]
        try:
            print("\n".join(run_case(os.path.join(directory, file), name)))
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {str(e)[:300]}", file=sys.stderr)


main()
