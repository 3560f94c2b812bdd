#!/usr/bin/env python3
"""Compares the time that a trip of `while (i < n) { i += 1; x *= a }` takes here and in TensorFlow's session.

Run by hand from the top of the checkout, with TensorFlow 2.x:

  bazel build //tools:nabla
  python3 tests/interop/loop_speed.py bazel-bin/tools/nabla

Both run the same GraphDef on one thread; the difference between many trips and few is divided by their number.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import tensorflow as tf  # pylint: disable=wrong-import-position

v1 = tf.compat.v1
v1.disable_v2_behavior()
v1.disable_control_flow_v2()

FEW, MANY = 10_000, 110_000


def build():
    n = v1.placeholder(tf.int32, [], 'n')
    a = v1.placeholder(tf.float32, [], 'a')
    return v1.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * a), [0, 1.0])[1]


def tensorflow_seconds(graph, fetch, trips):
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with v1.Session(graph=graph, config=config) as session:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            session.run(fetch, {'n:0': trips, 'a:0': 0.99999})
            times.append(time.perf_counter() - start)
        return min(times)


def nabla_seconds(tool, path, fetch, trips):
    times = []
    for _ in range(5):
        out = subprocess.run([tool, 'run', path, '--feed', f'n={trips}', '--feed', 'a=0.99999', '--fetch', fetch,
                              '--threads', '1', '--repeat', '5'], check=True, capture_output=True, text=True)
        match = re.search(r'fastest ([0-9.]+) (ns|us|ms|s)\b', out.stdout + out.stderr)
        scale = {'ns': 1e-9, 'us': 1e-6, 'ms': 1e-3, 's': 1.0}
        times.append(float(match.group(1)) * scale[match.group(2)])
    return min(times)


def main():
    graph = tf.Graph()
    with graph.as_default():
        fetch = build()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'loop.pb')
        with open(path, 'wb') as f:
            f.write(graph.as_graph_def().SerializeToString())
        per_trip = []
        for seconds in (lambda trips: tensorflow_seconds(graph, fetch, trips),
                        lambda trips: nabla_seconds(sys.argv[1], path, fetch.name, trips)):
            per_trip.append((seconds(MANY) - seconds(FEW)) / (MANY - FEW))
    print('TensorFlow %.3f us a trip, nabla %.3f us, ratio %.1f' %
          (per_trip[0] * 1e6, per_trip[1] * 1e6, per_trip[0] / per_trip[1]))


if __name__ == '__main__':
    main()
