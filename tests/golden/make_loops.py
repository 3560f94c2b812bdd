"""Writes loops/*.pb: graphs with loops and branches of the version-1 primitives, and what TensorFlow computes.

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
