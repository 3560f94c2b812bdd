"""Runs gradients of loops and conditionals that Nabla made in TensorFlow.

    bazel build //tests/interop:export_control_flow
    mkdir -p /tmp/control_flow && bazel-bin/tests/interop/export_control_flow /tmp/control_flow
    python tests/interop/check_control_flow.py /tmp/control_flow

Each graph holds a function with its derivatives of first, second and (for one argument) third order. TensorFlow's
session computes them, and they are compared with differences of the order before. Needs tensorflow-cpu.
"""

import glob
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf


def check(path):
    graph_def = tf.compat.v1.GraphDef()
    with open(path, "rb") as f:
        graph_def.ParseFromString(f.read())
    with open(path[:-3] + ".txt") as f:
        at = [np.array([float(v) for v in line.split()]) for line in f if line.strip()]
    names = {node.name for node in graph_def.node}
    worst = 0.0
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.compat.v1.Session() as session:
            run = lambda fetch, xs: session.run(fetch, {f"x{i}:0": x for i, x in enumerate(xs)})
            of = "y:0"
            for order in ("first", "second", "third"):
                if order + "0" not in names:
                    break
                for i, x in enumerate(at):
                    symbolic = run(f"{order}{i}:0", at)
                    for j in range(len(x)):
                        def moved(by):
                            step = np.zeros_like(x)
                            step[j] = by
                            return run(of, [v + step if k == i else v for k, v in enumerate(at)])
                        h = 2e-4
                        numeric = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
                        worst = max(worst, abs(symbolic[j] - numeric) / max(1.0, abs(numeric)))
                of = f"direction_{order}:0"
    return worst


failed = 0
paths = sorted(glob.glob(os.path.join(sys.argv[1], "*.pb")))
for path in paths:
    name = os.path.basename(path)[:-3]
    try:
        worst = check(path)
        verdict = "ok" if worst < 2e-7 else f"differs by {worst:.3g}"
    except Exception as error:  # what TensorFlow refuses
        verdict = "refused: " + str(error).splitlines()[0][:300]
    if verdict != "ok":
        failed += 1
        print(f"{name}: {verdict}")
print(f"{len(paths) - failed} of {len(paths)} graphs have the same numbers in TensorFlow")
sys.exit(failed != 0)
