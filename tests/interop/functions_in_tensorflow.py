#!/usr/bin/env python3
"""Calls of functions go both ways: TensorFlow runs what Nabla wrote, and what `nabla grad` made of its own graphs.

Run by hand, in a virtual environment with tensorflow (or tensorflow-cpu):

    python tests/interop/functions_in_tensorflow.py bazel-bin/examples/functions bazel-bin/tools/nabla

1. The graph that examples/functions writes, calls and gradients: each tensor that the program prints must have the same
   numbers in TensorFlow's session.
2. The graphs of tests/golden/functions, to which `nabla grad` appends gradients: TensorFlow, given the result, must
   compute what its own gradients gave (tests/golden/functions/expected.txt).

Prints a line for each tensor; exit status 1 for any difference.
"""
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "functions")
FAILURES = []


def compare(label, got, expected):
    error = np.max(np.abs(np.asarray(got).ravel() - np.asarray(expected).ravel()), initial=0)
    print(f"{label}: largest difference {error:.1e}")
    if not error < 1e-9 or np.size(got) != np.size(expected):
        FAILURES.append(label)


def load(path):
    graph_def = tf1.GraphDef()
    with open(path, "rb") as file:
        graph_def.ParseFromString(file.read())
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return graph


def tensor_name(name):
    return name if ":" in name else name + ":0"


def check_example(program, folder):
    path = os.path.join(folder, "functions.pb")
    printed = subprocess.run([program, path], check=True, capture_output=True, text=True).stdout
    graph = load(path)
    expected = {line.split()[0]: [float(v) for v in line.split()[1:]] for line in printed.splitlines()}
    feeds = {"x:0": [[0.5, -1], [2, 0.25]], "w:0": [[1, -0.5], [0.75, 2]]}
    with tf1.Session(graph=graph) as session:
        session.run(graph.get_operation_by_name("init"))
        for name, got in zip(expected, session.run(list(map(tensor_name, expected)), feeds)):
            compare(f"example {name}", got, expected[name])


def golden_graphs():
    graphs = []
    for line in open(os.path.join(GOLDEN, "expected.txt")):
        words = line.split()
        if words[0] == "graph":
            graphs.append({"name": words[1], "init": [], "feeds": {}, "grads": []})
        elif words[0] == "init":
            graphs[-1]["init"] = words[1].split(",")
        elif words[0] == "feed":
            shape = [] if words[3] == "-" else [int(d) for d in words[3].split(",")]
            graphs[-1]["feeds"][words[1]] = np.array([float(v) for v in words[4:]]).reshape(shape)
        elif words[0] == "grad" and words[3] != "none":
            graphs[-1]["grads"].append((words[1], words[2], [float(v) for v in words[4:]]))
    return graphs


def check_golden(nabla, folder):
    for golden in golden_graphs():
        for y, x, expected in golden["grads"]:
            label = f"{golden['name']} d{y}/d{x}"
            path = os.path.join(folder, f"{golden['name']}_{y}_{x}.pb")
            source = os.path.join(GOLDEN, golden["name"] + ".pb")
            said = subprocess.run([nabla, "grad", source, "--ys", y, "--xs", x, "--out", path], check=True,
                                  capture_output=True, text=True).stdout
            where = said.split("->")[1].strip()
            if where.startswith("none"):
                # A gradient that is none here may be zeros there: TensorFlow asks no function whether it depends.
                compare(label + " (none)", np.zeros(len(expected)), expected)
                continue
            graph = load(path)
            with tf1.Session(graph=graph) as session:
                for node in golden["init"]:
                    session.run(graph.get_operation_by_name(node))
                feeds = {tensor_name(k): v for k, v in golden["feeds"].items()}
                if where.startswith("slices"):
                    parts = dict(part.split("=") for part in where.split()[1:])
                    values, indices, shape = session.run(
                        [tensor_name(parts[k]) for k in ("values", "indices", "dense_shape")], feeds)
                    got = np.zeros(shape)
                    np.add.at(got, indices, values)
                else:
                    got = session.run(tensor_name(where), feeds)
            compare(label, got, expected)


def main():
    program, nabla = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        check_example(os.path.abspath(program), folder)
        check_golden(os.path.abspath(nabla), folder)
    print("FAILED: " + ", ".join(FAILURES) if FAILURES else "all the same")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
