"""Compares whole gradient graphs of `nabla grad` with those of tf.gradients: the numbers, and how many nodes they take.

TensorFlow builds each model below and writes it as a GraphDef, without and with its own gradients. `nabla grad`
differentiates the former. TensorFlow then loads what Nabla wrote and computes both sets of gradients from the same
values; they must agree. The table counts the nodes that each added: all, and without constants.

Run by hand, in a virtual environment with tensorflow (or tensorflow-cpu) and numpy:

    python tests/interop/gradient_models.py bazel-bin/tools/nabla [MODEL...]

Exit status 1 if numbers differ, or if the quickstart's gradients have more nodes than TensorFlow's.
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
v1.disable_eager_execution()

MODELS = []


def model(build):
    """build: from a Feeder to (loss, xs)."""
    MODELS.append((build.__name__, build))
    return build


class Feeder:
    """Makes placeholders and the values that they are fed."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)
        self.values = {}

    def floats(self, name, shape, static=True, scale=1.0):
        return self.feed(name, (self.rng.randn(*shape) * scale).astype(np.float32), static)

    def ints(self, name, high, shape, static=True, dtype=np.int32):
        return self.feed(name, self.rng.randint(0, high, shape).astype(dtype), static)

    def feed(self, name, value, static=True):
        shape = list(value.shape)
        if not static:
            shape[0] = None
        self.values[name] = value
        return v1.placeholder(value.dtype, shape, name=name)

    def dense(self, x, name, inputs, outputs, activation=None):
        w = self.floats(name + "_w", (inputs, outputs), scale=inputs ** -0.5)
        b = self.floats(name + "_b", (outputs,))
        y = tf.nn.bias_add(tf.matmul(x, w), b)
        return (activation(y) if activation else y), [w, b]


def mlp(feeder, static):
    """The network of examples/fashion_mnist.cc."""
    images = feeder.ints("images", 256, (32, 28, 28), static, np.uint8)
    labels = feeder.ints("labels", 10, (32,), static)
    x, xs = tf.reshape(tf.cast(images, tf.float32) / 255.0, [-1, 784]), []
    sizes = [784, 256, 128, 10]
    for i, (m, n) in enumerate(zip(sizes, sizes[1:])):
        x, parameters = feeder.dense(x, "layer%d" % i, m, n, tf.nn.relu if i < 2 else None)
        xs += parameters
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)), xs


@model
def quickstart(feeder):
    return mlp(feeder, static=False)


@model
def quickstart_static(feeder):
    return mlp(feeder, static=True)


@model
def logistic_regression(feeder):
    x, t = feeder.floats("x", (64, 20)), feeder.floats("t", (64, 1))
    w, b = feeder.floats("w", (20, 1)), feeder.floats("b", (1,))
    z = tf.matmul(x, w) + b
    loss = tf.reduce_mean(tf.maximum(z, 0.0) - z * t + tf.math.log1p(tf.exp(-tf.abs(z))))
    return loss + 0.01 * tf.reduce_sum(w * w), [w, b]


@model
def normalised_mlp(feeder):
    """Dense layers with the arithmetic of batch normalisation between them."""
    x, xs = feeder.floats("x", (32, 16)), []
    for i in range(6):
        x, parameters = feeder.dense(x, "layer%d" % i, 16, 16)
        mean = tf.reduce_mean(x, axis=0, keepdims=True)
        variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=0, keepdims=True)
        gamma, beta = feeder.floats("gamma%d" % i, (16,)), feeder.floats("beta%d" % i, (16,))
        x = tf.nn.elu((x - mean) * tf.math.rsqrt(variance + 1e-3) * gamma + beta)
        xs += parameters + [gamma, beta]
    return tf.reduce_mean(tf.square(x)), xs


@model
def attention(feeder):
    batch, length, heads, size = 2, 5, 3, 4
    width = heads * size
    x, xs = feeder.floats("x", (batch, length, width)), []

    def project(value, name):
        w = feeder.floats(name, (width, width), scale=width ** -0.5)
        xs.append(w)
        return tf.reshape(tf.matmul(tf.reshape(value, [-1, width]), w), [batch, length, width])

    def split(value):
        return tf.transpose(tf.reshape(value, [batch, length, heads, size]), [0, 2, 1, 3])

    q, k, v = (split(project(x, name)) for name in ("q", "k", "v"))
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * size ** -0.5)
    mixed = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [batch, length, width])
    y = x + project(mixed, "o")
    mean = tf.reduce_mean(y, axis=-1, keepdims=True)
    y = (y - mean) * tf.math.rsqrt(tf.reduce_mean(tf.square(y - mean), axis=-1, keepdims=True) + 1e-5)
    return tf.reduce_sum(tf.tanh(y) * x), xs + [x]


@model
def embedding(feeder):
    """The mean of a bag of embeddings into a classifier; the table's gradient is sparse."""
    ids, labels = feeder.ints("ids", 1000, (16, 7)), feeder.ints("labels", 5, (16,))
    table = feeder.floats("table", (1000, 8))
    bag = tf.reduce_mean(tf.gather(table, ids), axis=1)
    hidden, first = feeder.dense(bag, "hidden", 8, 16, tf.tanh)
    logits, second = feeder.dense(hidden, "logits", 16, 5)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, [table] + first + second


@model
def recurrent(feeder):
    """A gated cell, eight steps unrolled."""
    size = 6
    sequence = feeder.floats("sequence", (8, 4, size))
    h = c = feeder.floats("start", (4, size))
    w, b = feeder.floats("w", (2 * size, 4 * size), scale=0.3), feeder.floats("b", (4 * size,))
    for step in tf.unstack(sequence):
        i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([step, h], 1), w), b), 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    return tf.reduce_mean(tf.square(h)), [w, b, sequence]


@model
def residual(feeder):
    """Skip connections, concatenated and padded features, a maximum over them."""
    x, xs = feeder.floats("x", (8, 10)), []
    for i in range(4):
        y, parameters = feeder.dense(x, "layer%d" % i, 10, 10, tf.nn.softplus)
        x, xs = x + y, xs + parameters
    features = tf.concat([x, tf.pad(x[:, 2:8], [[0, 0], [1, 1]])], axis=1)
    return tf.reduce_sum(tf.reduce_max(features, axis=1) + tf.reduce_prod(x[:, :3], axis=1)), xs


@model
def two_towers(feeder):
    """Two sparse tables whose gathered rows are normalised and compared."""
    users, items = feeder.floats("users", (50, 6)), feeder.floats("items", (80, 6))
    user_ids, item_ids = feeder.ints("user_ids", 50, (12,)), feeder.ints("item_ids", 80, (12,), dtype=np.int64)
    rows = [tf.gather(users, user_ids), tf.gather(2.0 * items, item_ids)]
    rows = [row * tf.math.rsqrt(tf.reduce_sum(tf.square(row), axis=1, keepdims=True) + 1e-6) for row in rows]
    scores = tf.matmul(rows[0], rows[1], transpose_b=True)
    matches = tf.reduce_sum(tf.nn.log_softmax(scores) * np.eye(12, dtype=np.float32), axis=1)
    return -tf.reduce_mean(matches), [users, items]


@model
def variables(feeder):
    """Resource variables, one of them gathered from."""
    with v1.variable_scope("", use_resource=True):
        table = v1.get_variable("table", initializer=feeder.rng.randn(40, 5).astype(np.float32))
        w = v1.get_variable("w", initializer=feeder.rng.randn(5, 3).astype(np.float32))
    v1.global_variables_initializer()
    ids = feeder.ints("ids", 40, (6, 2))
    y = tf.matmul(tf.reduce_sum(tf.nn.embedding_lookup(table, ids), axis=1), w)
    return tf.reduce_sum(tf.sigmoid(y)) + 0.1 * tf.reduce_sum(tf.square(w)), [table.handle, w.handle]


def densify(values, indices, shape):
    dense = np.zeros(shape, values.dtype)
    np.add.at(dense, indices, values)
    return dense


def fetch(session, gradient, feeds):
    if isinstance(gradient, tf.IndexedSlices):
        return densify(*session.run([gradient.values, gradient.indices, gradient.dense_shape], feeds))
    return session.run(gradient, feeds)


def initialise(session):
    try:
        session.run(session.graph.get_operation_by_name("init"))
    except KeyError:
        pass


def from_nabla(nabla, graph_def, loss, xs, feeds):
    """The gradients' values, as TensorFlow computes them from Nabla's graph, and that graph's nodes."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = folder + "/forward.pb", folder + "/gradients.pb"
        with open(source, "wb") as file:
            file.write(graph_def.SerializeToString())
        output = subprocess.run(
            [nabla, "grad", source, "--ys", loss, "--xs", ",".join(xs), "--out", target],
            check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        result = v1.GraphDef()
        with open(target, "rb") as file:
            result.ParseFromString(file.read())
    values = []
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(result, name="")
        initialise(session)
        for line in output.splitlines():
            found = line.split(" -> ", 1)[1]
            slices = re.match(r"slices values=(\S+) indices=(\S+) dense_shape=(\S+)", found)
            if slices:
                values.append(densify(*session.run(list(slices.groups()), feeds)))
            else:
                values.append(session.run(found, feeds))
    return values, result.node


def counts(nodes, forward):
    added = [node for node in nodes if node.name not in forward]
    return len(added), sum(node.op != "Const" for node in added)


def main():
    nabla, wanted = sys.argv[1], sys.argv[2:]
    failed = False
    print("%-22s %9s %9s | %21s" % ("", "all nodes", "", "without constants"))
    print("%-22s %9s %9s | %10s %10s   largest difference" % ("model", "TF", "Nabla", "TF", "Nabla"))
    for name, build in MODELS:
        if wanted and name not in wanted:
            continue
        feeder = Feeder(7)
        with tf.Graph().as_default() as graph:
            loss, xs = build(feeder)
            forward = graph.as_graph_def()
            gradients = tf.gradients(loss, xs)
            feeds = {key + ":0": value for key, value in feeder.values.items()}
            with v1.Session(graph=graph) as session:
                initialise(session)
                expected = [fetch(session, gradient, feeds) for gradient in gradients]
            theirs = counts(graph.as_graph_def().node, {node.name for node in forward.node})
        values, nodes = from_nabla(nabla, forward, loss.name, [x.name for x in xs], feeds)
        ours = counts(nodes, {node.name for node in forward.node})
        worst = max(np.max(np.abs(a - b) / (1e-3 + np.abs(b))) for a, b in zip(values, expected))
        bad = worst > 1e-3 or (name.startswith("quickstart") and ours[0] > theirs[0])
        failed |= bad
        print("%-22s %9d %9d | %10d %10d   %.1e%s" %
              (name, theirs[0], ours[0], theirs[1], ours[1], worst, "  FAILED" if bad else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
