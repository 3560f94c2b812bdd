#!/usr/bin/env python3
"""Compares the time that a trip of `while (i < n) { i += 1; x *= a }` takes here and in TensorFlow's session: alone,
with the gradient that TensorFlow appends, and with the one that `nabla grad` appends.

Run by hand from the top of the checkout, with TensorFlow 2.x:

  bazel build //tools:nabla
  python3 tests/interop/loop_speed.py bazel-bin/tools/nabla

Both run the same GraphDefs on one thread, turn about; the difference between many trips and few is divided by their
number.
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

TOOL = sys.argv[1]
FEW, MANY = 10_000, 60_000
ROUNDS = 5


def write_graphs(folder):
    """Of each graph: what it is, its file, and what to fetch."""
    graphs = []

    def write(what, graph, fetch):
        path = os.path.join(folder, '%d.pb' % len(graphs))
        with open(path, 'wb') as f:
            f.write(graph.as_graph_def().SerializeToString())
        graphs.append((what, path, fetch.name))
    with tf.Graph().as_default() as graph:
        n = v1.placeholder(tf.int32, [], 'n')
        a = v1.placeholder(tf.float32, [], 'a')
        y = v1.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * a), [0, 1.0])[1]
        write('the loop', graph, y)
        write("with TensorFlow's gradient", graph, v1.gradients(y, [a])[0])
    path = os.path.join(folder, 'nabla.pb')
    out = subprocess.run([TOOL, 'grad', graphs[0][1], '--ys', y.name, '--xs', 'a', '--out', path], check=True,
                         capture_output=True, text=True).stdout
    graphs.append(("with nabla's gradient", path, out.split(' -> ')[1].strip()))
    return graphs


def tensorflow_run(path, fetch):
    graph_def = v1.GraphDef()
    with open(path, 'rb') as f:
        graph_def.ParseFromString(f.read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name='')
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    session = v1.Session(graph=graph, config=config)

    def seconds(trips):
        start = time.perf_counter()
        session.run(fetch, {'n:0': trips, 'a:0': 0.99999})
        return time.perf_counter() - start
    return seconds


def nabla_run(path, fetch):
    def seconds(trips):
        err = subprocess.run([TOOL, 'run', path, '--feed', f'n={trips}', '--feed', 'a=0.99999', '--fetch', fetch,
                              '--threads', '1', '--repeat', '5'], check=True, capture_output=True, text=True).stderr
        return float(re.search(r'fastest ([0-9.]+) ms', err).group(1)) * 1e-3
    return seconds


def main():
    with tempfile.TemporaryDirectory() as folder:
        for what, path, fetch in write_graphs(folder):
            runs = [tensorflow_run(path, fetch), nabla_run(path, fetch)]
            fastest = [[float('inf')] * 2 for _ in runs]
            for _ in range(ROUNDS):
                for run, best in zip(runs, fastest):
                    for i, trips in enumerate((FEW, MANY)):
                        best[i] = min(best[i], run(trips))
            theirs, ours = [(many - few) / (MANY - FEW) * 1e6 for few, many in fastest]
            print('%s: TensorFlow %.3f us a trip, nabla %.3f us, ratio %.1f' % (what, theirs, ours, theirs / ours))


if __name__ == '__main__':
    main()
