"""Writes loops/*.pb: graphs with loops and branches, most of the version-1 primitives, and what TensorFlow computes.

  python make_loops.py        (TensorFlow 2.x, CPU)

Each graph takes placeholders with defaults, so it runs as it is. The tensors to fetch are the inputs of the nodes
fetch/0, fetch/1, ...; the constants expect/0, ... hold the values that TensorFlow's session gave.
"""
import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
v1.disable_v2_behavior()
v1.disable_control_flow_v2()

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'loops')
GRAPHS = []


def graph(build):
    GRAPHS.append(build)
    return build


def given(value, name, dtype=None):
    value = np.asarray(value, dtype or (np.float32 if np.asarray(value).dtype.kind == 'f' else np.int32))
    return v1.placeholder_with_default(tf.constant(value), value.shape, name=name)


@graph
def power():
    n, x = given(10, 'n'), given(1.0, 'x')
    return v1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 1.5), [0, x])


@graph
def no_trips():
    n, x = given(0, 'n'), given([1.0, 2.0], 'x')
    i, y = v1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 1.5), [0, x])
    return i, y, x * 2.0


@graph
def variables_change_places():
    n, x = given(7, 'n'), given([1.0, 2.0, 3.0], 'x')
    i, a, b, c, d = v1.while_loop(lambda i, a, b, c, d: i < n, lambda i, a, b, c, d: (i + 1, b, c, a, d),
                                  [0, x, x * 2.0, x * 3.0, x * 4.0])
    return i, a, b, c, d


@graph
def fibonacci():
    _, a, b = v1.while_loop(lambda i, a, b: i < given(20, 'n'), lambda i, a, b: (i + 1, b, a + b),
                            [0, tf.constant(0, tf.int64), tf.constant(1, tf.int64)])
    return a, b


@graph
def loops_in_loops():
    n, x = given(5, 'n'), given(0.3, 'x')

    def outer(i, v):
        def middle(j, u):
            _, w = v1.while_loop(lambda k, w: k < j, lambda k, w: (k + 1, w * 0.9 + x), [0, u])
            return j + 1, w
        _, u = v1.while_loop(lambda j, u: j < i, middle, [0, v], parallel_iterations=1)
        return i + 1, u + v
    return v1.while_loop(lambda i, v: i < n, outer, [0, x], parallel_iterations=32)


@graph
def branches_in_loops():
    n, x = given(9, 'n'), given(0.3, 'x')

    def body(i, v):
        u = v1.cond(i % 2 > 0, lambda: v * 0.5, lambda: v - v1.cond(v > 1.0, lambda: v * 0.25, lambda: x))
        return i + 1, u + 0.1 * tf.cast(i, tf.float32)
    return v1.while_loop(lambda i, v: i < n, body, [0, x])


@graph
def loops_in_branches():
    n, x = given(7, 'n'), given(0.3, 'x')

    def loop():
        return v1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 1.5 + x), [0, x])[1]
    return (v1.cond(n > 3, loop, lambda: x - 1.0), v1.cond(n <= 3, loop, lambda: x - 2.0))


@graph
def branches_in_branches():
    x = given([1.0, -2.0], 'x')
    results = []
    for p in [False, True]:
        for q in [False, True]:
            a, b = given(p, 'p%d%d' % (p, q), np.bool_), given(q, 'q%d%d' % (p, q), np.bool_)
            results.append(v1.cond(a, lambda: v1.cond(b, lambda: x + 1.0, lambda: x * 2.0),
                                   lambda: v1.cond(b, lambda: -x, lambda: tf.zeros_like(x))))
    return results


@graph
def case_of_many():
    i = given(2, 'i')
    return [v1.case([(tf.equal(i + d, k), lambda k=k: tf.constant(10 * k)) for k in range(4)],
                    default=lambda: tf.constant(-1)) for d in range(3)]


@graph
def growing_shapes():
    x = given([1.0], 'x')
    return [v1.while_loop(lambda v: tf.size(v) < 40, lambda v: (tf.concat([v, v * 0.5 + 1.0], 0),), [x],
                         shape_invariants=[tf.TensorShape([None])])]


@graph
def invariant_matrices():
    w = given(np.linspace(-0.5, 0.5, 16).reshape(4, 4), 'w')
    x = given(np.ones((2, 4)), 'x', np.float32)
    _, y = v1.while_loop(lambda i, v: i < 6, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, w)) + x), [0, x])
    return y, tf.reduce_sum(w)


@graph
def collatz():
    n = given(27, 'n')
    _, steps = v1.while_loop(
        lambda m, s: m > 1,
        lambda m, s: (v1.cond(tf.equal(m % 2, 0), lambda: m // 2, lambda: 3 * m + 1), s + 1), [n, 0])
    return [steps]


@graph
def loops_one_after_the_other():
    x = given(1.0, 'x')
    for _ in range(5):
        _, x = v1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 1.1), [0, x])
    return [x]


@graph
def unused_variables():
    n, x = given(4, 'n'), given(2.0, 'x')
    result = v1.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, a * 2.0, b + a), [0, x, x])
    return [result[2]]


@graph
def gradient_of_branches():
    x = given(3.0, 'x')
    y = v1.cond(x > 0.0, lambda: x * x * x, lambda: -x)
    z = v1.cond(x < 0.0, lambda: x * x * x, lambda: tf.exp(x))
    return v1.gradients(y, x) + v1.gradients(z, x)


@graph
def differentiated_loop():
    n, x, w = given(4, 'n'), given([0.5, -0.3], 'x'), given(0.7, 'w')
    _, y = v1.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v * w) + x), [0, x])
    return [y] + v1.gradients(tf.reduce_sum(y * y), [x, w])


@graph
def differentiated_loop_in_loop():
    x, w = given([0.5, -0.3], 'x'), given(0.7, 'w')

    def outer(i, v):
        _, u = v1.while_loop(lambda j, u: j <= i, lambda j, u: (j + 1, tf.sin(u * w) + x * v), [0, v])
        return i + 1, u * 0.9
    _, y = v1.while_loop(lambda i, v: i < given(3, 'n'), outer, [0, x])
    return [y] + v1.gradients(tf.reduce_sum(y), [x, w])


@graph
def differentiated_branch_in_loop():
    x, w = given([0.5, -0.3], 'x'), given(0.7, 'w')

    def body(i, v):
        u = v1.cond(tf.equal(i % 3, 1), lambda: tf.exp(v * w), lambda: v1.cond(i > 2, lambda: v * v, lambda: v - w))
        return i + 1, u * 0.5
    _, y = v1.while_loop(lambda i, v: i < given(6, 'n'), body, [0, x])
    return [y] + v1.gradients(tf.reduce_sum(y), [x, w])


@graph
def differentiated_loop_in_branch():
    x, w = given([0.5, -0.3], 'x'), given(0.7, 'w')

    def loop():
        return v1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(v * w)), [0, x])[1]
    y = v1.cond(given(True, 'p', np.bool_), loop, lambda: x * w)
    z = v1.cond(given(False, 'q', np.bool_), loop, lambda: x * w)
    return [y, z] + v1.gradients(tf.reduce_sum(y * z), [x, w])


@graph
def array_written_and_stacked():
    n, x = given(5, 'n'), given([1.0, 2.0], 'x')
    array = v1.TensorArray(tf.float32, size=n)
    _, array = v1.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))),
                             [0, array])
    return [array.stack(), array.size()]


@graph
def array_that_grows():
    x = given([1.0, 2.0], 'x')
    array = v1.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=False)
    _, array = v1.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, x + tf.cast(i, tf.float32))),
                             [0, array])
    return [array.concat(), array.size()]


@graph
def array_split_and_gathered():
    x = given(np.arange(12.0).reshape(6, 2), 'x')
    split = v1.TensorArray(tf.float32, size=3, infer_shape=False, clear_after_read=False).split(x, [1, 2, 3])
    unstacked = v1.TensorArray(tf.float32, size=6, clear_after_read=False).unstack(x)
    return [split.read(1), split.concat(), unstacked.gather([4, 0]), unstacked.read(5)]


@graph
def differentiated_arrays():
    x, w = given(np.arange(6.0).reshape(3, 2) / 10.0, 'x'), given(0.7, 'w')
    inputs = v1.TensorArray(tf.float32, size=3).unstack(x)
    outputs = v1.TensorArray(tf.float32, size=3)

    def body(i, state, out):
        state = tf.tanh(state * w + inputs.read(i))
        return i + 1, state, out.write(i, state * 2.0)
    _, state, outputs = v1.while_loop(lambda i, s, o: i < 3, body, [0, tf.zeros([2]), outputs])
    y = outputs.stack()
    return [y, state] + v1.gradients(tf.reduce_sum(y * y) + tf.reduce_sum(state), [x, w])


@graph
def gradients_of_arrays():
    """Of what is split, concatenated, unstacked, gathered, scattered and read twice."""
    x = given(np.arange(12.0).reshape(6, 2) / 10.0, 'x')
    split = v1.TensorArray(tf.float32, size=3, infer_shape=False, clear_after_read=False).split(x * x, [1, 2, 3])
    unstacked = v1.TensorArray(tf.float32, size=6, clear_after_read=False).unstack(tf.sin(x))
    scattered = v1.TensorArray(tf.float32, size=6).scatter([1, 0, 3, 2, 5, 4], x)
    ys = [split.concat() * x, split.read(1), unstacked.gather([4, 0]), unstacked.read(4) * unstacked.read(5),
          tf.exp(scattered.stack())]
    return ys + v1.gradients(ys, x)


@graph
def map_and_fold():
    x, w = given(np.arange(6.0).reshape(3, 2) / 10.0, 'x'), given(0.7, 'w')
    y = tf.map_fn(lambda row: tf.sin(row) * w, x)
    z = tf.foldl(lambda a, row: a * w + row, x)
    u = tf.scan(lambda a, row: tf.tanh(a + row * w), x)
    return [y, z, u] + v1.gradients([y, z, u], [x, w])


def cell(inputs, units):
    """A recurrent cell by hand, as the layers that TensorFlow 1 had made it."""
    w = given(np.sin(np.arange((inputs + units) * units)).reshape(-1, units) * 0.5, 'w')
    return w, lambda v, s: tf.tanh(tf.matmul(tf.concat([v, s], 1), w))


@graph
def dynamic_rnn():
    """Time-major, with sequence lengths: finished rows keep their state and give zeros."""
    x = given(np.cos(np.arange(24.0)).reshape(4, 2, 3), 'x')
    lengths = given([4, 2], 'lengths')
    w, step = cell(3, 5)
    inputs = v1.TensorArray(tf.float32, size=4).unstack(x)
    outputs = v1.TensorArray(tf.float32, size=4, element_shape=[2, 5])

    def body(t, h, out):
        new = step(inputs.read(t), h)
        going = tf.expand_dims(t < lengths, 1)
        new = tf.where(tf.broadcast_to(going, [2, 5]), new, h)
        masked = tf.where(tf.broadcast_to(going, [2, 5]), new, tf.zeros_like(new))
        return t + 1, new, out.write(t, masked)
    _, h, outputs = v1.while_loop(lambda t, h, o: t < 4, body, [0, tf.zeros([2, 5]), outputs], parallel_iterations=32)
    y = outputs.stack()
    return [y, h] + v1.gradients(tf.reduce_sum(y * y) + tf.reduce_sum(h), [x, w])


@graph
def training_steps():
    """A recurrent network trained by gradient descent for three steps, each a loop and its gradient."""
    x = given(np.cos(np.arange(24.0)).reshape(4, 2, 3), 'x')
    w, _ = cell(3, 5)
    losses = []
    v = w
    for _ in range(3):
        inputs = v1.TensorArray(tf.float32, size=4).unstack(x)
        use = v
        _, h = v1.while_loop(
            lambda t, h: t < 4,
            lambda t, h: (t + 1, tf.tanh(tf.matmul(tf.concat([inputs.read(t), h], 1), use))), [0, tf.zeros([2, 5])])
        loss = tf.reduce_mean(tf.square(h - 0.5))
        losses.append(loss)
        v = v - 0.5 * v1.gradients(loss, use)[0]
    return losses + [v]


@graph
def raw_stack():
    x = given([1.0, 2.0], 'x')
    handle = tf.raw_ops.StackV2(max_size=-1, elem_type=tf.float32)
    pushed = []
    for k in range(3):
        with tf.control_dependencies(pushed[-1:]):
            pushed.append(tf.raw_ops.StackPushV2(handle=handle, elem=x * (k + 1.0)))
    with tf.control_dependencies(pushed):
        first = tf.raw_ops.StackPopV2(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([first]):
        second = tf.raw_ops.StackPopV2(handle=handle, elem_type=tf.float32)
    return [first, second]


@graph
def effects_in_functions():
    """A function called for its effects, with While and If inside: each step depends on those before it."""
    n = given(5, 'n')
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name='effects')

    def read():
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    def change(factor, term):
        tf.raw_ops.AssignVariableOp(resource=handle, value=read() * factor + term)
        return 0

    @tf.function
    def steps(n):
        change(0.0, 1.0)

        def body(i):
            change(2.0, tf.cast(i, tf.float32))
            tf.cond(tf.equal(i % 2, 0), lambda: change(1.0, 10.0), lambda: change(-1.0, 0.5))
            change(1.0, 0.25)
            return i + 1
        v1.while_loop(lambda i: i < n, body, [0])
        middle = read()
        tf.switch_case(n % 3, [lambda: change(1.0, 1.0), lambda: change(1.0, 2.0), lambda: change(3.0, 0.0)])
        return middle, read()

    start = tf.raw_ops.AssignVariableOp(resource=handle, value=0.0)
    with tf.control_dependencies([start]):
        first = steps(n)
    with tf.control_dependencies(first):
        second = steps(n + 1)
    return [*first, *second]


def main():
    only = sys.argv[1:]
    os.makedirs(OUT, exist_ok=True)
    for build in GRAPHS:
        if only and build.__name__ not in only:
            continue
        v1.set_random_seed(7)
        g = tf.Graph()
        with g.as_default():
            fetches = list(build())
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                values = session.run(fetches)
            for i, (fetch, value) in enumerate(zip(fetches, values)):
                tf.identity(fetch, name='fetch/%d' % i)
                tf.constant(value, fetch.dtype, name='expect/%d' % i)
        graph_def = g.as_graph_def(add_shapes=False)
        with open(os.path.join(OUT, build.__name__ + '.pb'), 'wb') as f:
            f.write(graph_def.SerializeToString(deterministic=True))
        print(build.__name__, [np.asarray(v).tolist() for v in values])


if __name__ == '__main__':
    main()
