#!/usr/bin/env python3
"""Writes functions/*.pb and functions/expected.txt: graphs with calls of functions, and what TensorFlow computes.

    python3 tests/golden/make_functions.py

Lines of expected.txt:

    graph NAME                        functions/NAME.pb
    init NODE,NODE                    targets to run first
    feed NAME DTYPE DIMS VALUES       of all that follows
    value TENSOR DIMS VALUES          what the tensor is then
    grad Y X DIMS VALUES              the gradient of the sum of Y with regard to X, dense; "none" for none
    second Y X DIMS VALUES            that of the sum of that gradient

DIMS are d0,d1,... or "-" for a scalar.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function

tf1 = tf.compat.v1
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions")
LINES = []
RNG = np.random.RandomState(5)


def numbers(value):
    return ",".join(map(str, np.shape(value))) or "-", " ".join(repr(float(v)) for v in np.asarray(value).ravel())


def placeholder(name, shape, dtype=tf.float64):
    return tf1.placeholder(dtype, shape, name=name)


def case(name, build, feeds, fetches, grads=(), second=(), init=()):
    """build() makes the graph; grads and second are pairs of tensor names (y, x)."""
    with tf.Graph().as_default() as graph:
        build()
    graph_def = graph.as_graph_def()
    with open(os.path.join(FOLDER, name + ".pb"), "wb") as file:
        file.write(graph_def.SerializeToString(deterministic=True))
    LINES.append(f"graph {name}")
    if init:
        LINES.append("init " + ",".join(init))
    for key, value in feeds.items():
        dims, text = numbers(value)
        LINES.append(f"feed {key} {value.dtype.name.replace('float64', 'double').replace('float32', 'float')} {dims} {text}")
    # The gradients from the graph that was built: an imported one has forgotten what Python knew of its functions.
    with graph.as_default():
        tensor = lambda name: graph.get_tensor_by_name(name + ":0" if ":" not in name else name)
        results = [(f"value {fetch}", tensor(fetch)) for fetch in fetches]
        for y, x in grads:
            results.append((f"grad {y} {x}", tf.gradients(tensor(y), tensor(x))[0]))
        for y, x in second:
            results.append((f"second {y} {x}", tf.gradients(tf.gradients(tensor(y), tensor(x))[0], tensor(x))[0]))
        feed_dict = {tensor(k): v for k, v in feeds.items()}
        for label, result in results:
            if result is None:
                LINES.append(f"{label} none")
                continue
            with tf1.Session() as session:
                if init:
                    session.run([graph.get_operation_by_name(n) for n in init])
                value = session.run(tf.convert_to_tensor(result), feed_dict)
            dims, text = numbers(value)
            LINES.append(f"{label} {dims} {text}")


def nested():
    """tf.function in tf.function, both with captured tensors; the inner one called twice."""
    x, w, b = placeholder("x", [2, 3]), placeholder("w", [3, 3]), placeholder("b", [3])

    @tf.function
    def inner(t):
        return tf.tanh(tf.matmul(t, w) + b)

    @tf.function
    def outer(t):
        return inner(inner(t)) * tf.reduce_sum(w)

    tf.identity(outer(x * x), name="y")


def several_results():
    """Several results, an integer one, one that is an argument, and one that depends on nothing."""
    x, n = placeholder("x", [4]), placeholder("n", [4], tf.int64)

    @tf.function
    def f(t, i):
        return tf.exp(t), i + 1, t, tf.constant([1.0, 2.0], tf.float64)

    e, i, t, c = f(x, n)
    tf.identity(e * tf.cast(i, tf.float64) + 3.0 * t, name="y")
    tf.identity(i, name="i")
    tf.reduce_sum(c, name="c")


def sparse():
    """An embedding that is captured, and one that is an argument."""
    table, ids = placeholder("table", [5, 2]), placeholder("ids", [3], tf.int64)

    @tf.function
    def look_up(t, i):
        return tf.gather(t, i) * tf.gather(table, i + 1)

    tf.identity(look_up(table * 2.0, ids), name="y")


def unknown_shapes():
    """Shapes that only a run knows, broadcast in the function."""
    x, b = placeholder("x", None), placeholder("b", None)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float64), tf.TensorSpec(None, tf.float64)])
    def f(t, u):
        return tf.sqrt(t + u) * u

    tf.identity(f(x, b), name="y")


def variables():
    """Reads and writes of a variable, which follow each other in the function and from call to call."""
    v = tf1.get_variable("v", initializer=np.array([1.0, 2.0]), use_resource=True)
    x = placeholder("x", [2])

    @tf.function
    def f(t):
        before = v.read_value()
        v.assign_add(t)
        after = v.read_value()
        v.assign(v.read_value() * 2.0)
        return before * after * t

    y = f(x)
    with tf.control_dependencies([y]):
        z = f(x)
    with tf.control_dependencies([z]):
        tf.identity(v.read_value(), name="last")
    tf.identity(y + z, name="y")


def no_results():
    """A function that is called for its effect."""
    v = tf1.get_variable("v", initializer=np.array(1.0), use_resource=True)
    x = placeholder("x", [])

    @tf.function
    def f(t):
        v.assign_add(t)

    f(x)
    call = [op for op in tf1.get_default_graph().get_operations() if op.type == "StatefulPartitionedCall"]
    with tf.control_dependencies(call):
        tf.identity(v.read_value(), name="y")


def tensorflow_gradient():
    """The gradient of a call as TensorFlow builds it: a call of another function, of which the forward call changes."""
    x, w = placeholder("x", [2, 3]), placeholder("w", [3, 2])

    @tf.function
    def f(t):
        return tf.sigmoid(tf.matmul(t, w)) ** 2

    y = f(x)
    tf.identity(y, name="y")
    dx, dw = tf.gradients(y, [x, w])
    tf.identity(dx, name="dx")
    tf.identity(dw, name="dw")


def defun():
    """Functions of the first version: the op is the function. With SymbolicGradient nodes."""
    x, y = placeholder("x", [3]), placeholder("y", [3])

    @function.Defun(tf.float64, tf.float64, func_name="Inner")
    def inner(a, b):
        return tf.sin(a) * b

    @function.Defun(tf.float64, tf.float64, func_name="Outer")
    def outer(a, b):
        return inner(a, b) + inner(b, a * a), a - b

    p, q = outer(x, y)
    tf.identity(p * q, name="z")
    dx, dy = tf.gradients(p * q, [x, y])
    tf.identity(dx, name="dx")
    tf.identity(dy, name="dy")
    tf.identity(outer(x, x)[0], name="same")
    tf.identity(tf.gradients(outer(x, x)[0], x)[0], name="dsame")


def defun_gradient():
    """A function with a gradient function of its own, which is three times the true one, so that it shows."""
    x = placeholder("x", [3])

    @function.Defun(tf.float64, tf.float64, func_name="CubeGrad")
    def cube_grad(a, dy):
        return 9.0 * a * a * dy

    @function.Defun(tf.float64, func_name="Cube", grad_func=cube_grad)
    def cube(a):
        return a * a * a

    @function.Defun(tf.float64, func_name="CubeAndSquare")
    def around(a):
        return cube(a) + a * a

    tf.identity(cube(x), name="y")
    tf.identity(around(x), name="z")
    tf.identity(tf.gradients(cube(x), x)[0], name="dy")
    tf.identity(tf.gradients(around(x), x)[0], name="dz")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    n = RNG.normal
    case("nested", nested, {"x": n(size=(2, 3)), "w": n(size=(3, 3)), "b": n(size=3)}, ["y"],
         [("y", "x"), ("y", "w"), ("y", "b")], [("y", "x"), ("y", "w")])
    case("several_results", several_results, {"x": n(size=4), "n": np.array([1, 2, 3, 4])}, ["y", "i", "c"],
         [("y", "x"), ("y", "n"), ("c", "x")], [("y", "x")])
    case("sparse", sparse, {"table": n(size=(5, 2)), "ids": np.array([3, 0, 3])}, ["y"], [("y", "table")],
         [("y", "table")])
    case("unknown_shapes", unknown_shapes, {"x": np.abs(n(size=(2, 3))), "b": np.abs(n(size=3))}, ["y"],
         [("y", "x"), ("y", "b")], [("y", "b")])
    case("variables", variables, {"x": np.array([3.0, 5.0])}, ["y", "last"], [("y", "x")], init=["v/Assign"])
    case("no_results", no_results, {"x": np.array(4.0)}, ["y"], init=["v/Assign"])
    case("tensorflow_gradient", tensorflow_gradient, {"x": n(size=(2, 3)), "w": n(size=(3, 2))}, ["y", "dx", "dw"],
         [("y", "x"), ("y", "w"), ("dx", "x"), ("dw", "x")])
    case("defun", defun, {"x": n(size=3), "y": n(size=3)}, ["z", "dx", "dy", "same", "dsame"],
         [("z", "x"), ("z", "y"), ("same", "x")])
    case("defun_gradient", defun_gradient, {"x": n(size=3)}, ["y", "z", "dy", "dz"], [("y", "x"), ("z", "x")])
    with open(os.path.join(FOLDER, "expected.txt"), "w") as file:
        file.write("# Written by make_functions.py with TensorFlow " + tf.__version__ + ".\n" + "\n".join(LINES) + "\n")
    print(len(LINES), "lines")


if __name__ == "__main__":
    main()
