"""Writes loop_gradients/*.pb: functions with loops and conditionals, and their gradients as TensorFlow computes them.

  python make_loop_gradients.py        (TensorFlow 2.x, CPU)

The files hold the functions alone, without gradient nodes: some of the version-1 primitives (v1_*), some of While, If
and Case with functions (v2_*). y is the node "y", its arguments the placeholders with defaults "x/0", "x/1", …; the
constants "expect/y" and "expect/0", … hold the value and the gradients.
"""
import os

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
v1.disable_eager_execution()

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'loop_gradients')
GRAPHS = []


def graph(*arguments):
    def add(build):
        GRAPHS.append((build, arguments))
        return build
    return add


VECTOR = np.array([0.3, -0.7, 1.1])
ROWS = np.linspace(-0.8, 0.9, 12).reshape(4, 3)
WEIGHTS = np.linspace(-0.6, 0.5, 9).reshape(3, 3)
total = tf.reduce_sum


def loop(n, body, x, **kw):
    return v1.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, body(i, v)), [0, x], **kw)[1]


@graph(VECTOR)
def power(x):
    return total(loop(4, lambda i, v: v * x, x))


@graph(VECTOR)
def no_trips(x):
    return total(loop(0, lambda i, v: v * x, x) * x)


@graph(VECTOR, 0.4)
def sine(x, a):
    return total(loop(5, lambda i, v: tf.sin(v * a) + v, x))


@graph(ROWS, WEIGHTS)
def matrix_product(h, w):
    return total(loop(3, lambda i, v: tf.tanh(tf.matmul(v, w)), h))


@graph(1.1)
def trips_by_value(x):
    return v1.while_loop(lambda v: v < 100.0, lambda v: (v * v + 0.5 * x,), [x])


@graph(VECTOR)
def several_variables(x):
    _, a, b, c = v1.while_loop(lambda i, a, b, c: i < 4, lambda i, a, b, c: (i + 1, b * x, a + c, tf.sin(a)),
                               [0, x, x * 2.0, x * x])
    return total(a * b + c)


@graph(VECTOR)
def nested(x):
    return total(loop(3, lambda i, v: loop(i + 1, lambda j, w: tf.sin(w) * x + v, v), x))


@graph(0.8)
def nested_in_three(x):
    return loop(2, lambda i, u: loop(2, lambda j, v: loop(2, lambda k, w: tf.sin(w) + u * v, v), u), x)


@graph(0.8)
def nested_in_five(x):
    def nest(depth, u):
        return loop(2, lambda i, v: nest(depth - 1, v) + 0.1 * u, u) if depth > 0 else tf.sin(u) * x
    return nest(5, x)


@graph(VECTOR)
def conditionals_between_loops(x):
    def inner(i, j, v):
        return tf.cond(tf.equal(i, j), lambda: loop(2, lambda k, w: tf.sin(w) * x, v), lambda: v + x)

    def middle(i, u):
        return tf.cond(i > 0, lambda: loop(2, lambda j, v: inner(i, j, v), u), lambda: u * x)
    return total(loop(3, middle, x))


@graph(VECTOR)
def conditional(x):
    return total(tf.cond(total(x) > 0.0, lambda: tf.sin(x) * x, lambda: x)) * tf.cond(
        total(x) < 0.0, lambda: total(x), lambda: x[0] * 3.0)


@graph(VECTOR)
def conditional_in_loop(x):
    return total(loop(5, lambda i, v: tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(v) * x, lambda: v + x * x), x))


@graph(VECTOR)
def loop_in_conditional(x):
    return total(tf.cond(total(x) > 0.0, lambda: loop(3, lambda i, v: v * tf.cos(x), x), lambda: x))


@graph(VECTOR)
def conditionals_in_conditionals(x):
    y = tf.exp(x)
    return total(tf.cond(x[0] > 0.0, lambda: tf.cond(x[1] > 0.0, lambda: y, lambda: y * x), lambda: x))


@graph(VECTOR)
def cases(x):
    branches = [lambda: tf.sin(x), lambda: x * x, lambda: tf.exp(x) * x]
    return sum(total(tf.switch_case(tf.constant(i), branches)) * (i + 1.0) for i in (0, 1, 2, 7))


@graph(VECTOR)
def growing_shapes(x):
    return total(tf.sin(loop(3, lambda i, v: tf.concat([v * 1.1, x], 0), x,
                             shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])))


@graph(ROWS)
def gathered_rows(x):
    return total(tf.sin(loop(4, lambda i, v: v * 0.5 + tf.gather(x, [3 - i, 0]), tf.ones([2, 3], x.dtype))))


@graph(ROWS)
def tensor_array_read(x):
    rows = tf.TensorArray(x.dtype, 4).unstack(x)
    return total(loop(4, lambda i, v: tf.sin(v + rows.read(i)), x[0]))


@graph(VECTOR)
def tensor_array_written(x):
    _, ta = v1.while_loop(lambda i, ta: i < 4, lambda i, ta: (i + 1, ta.write(i, tf.sin(x * tf.cast(i + 1, x.dtype)))),
                          [0, tf.TensorArray(x.dtype, 4)])
    return total(ta.stack() * np.arange(12.0).reshape(4, 3))


@graph(ROWS, WEIGHTS)
def recurrent(x, w):
    states = tf.scan(lambda h, e: tf.tanh(tf.linalg.matvec(w, h) + e), x, initializer=tf.zeros([3], x.dtype))
    return total(states * states)


@graph(ROWS, WEIGHTS)
def gated_recurrent(x, w):
    def cell(h, e):
        z = tf.sigmoid(tf.linalg.matvec(w, h) + e)
        c = tf.tanh(tf.linalg.matvec(w, h * z) - e)
        return (1.0 - z) * h + z * c
    return total(tf.scan(cell, x, initializer=tf.ones([3], x.dtype))[-1])


@graph(ROWS)
def mapped(x):
    return total(tf.map_fn(lambda row: tf.sin(row) * total(row), x))


@graph(ROWS)
def folded(x):
    return total(tf.foldl(lambda a, row: a * row + tf.cos(row), x, initializer=tf.ones([3], x.dtype)))


@graph(VECTOR)
def stopped(x):
    return total(loop(3, lambda i, v: v * x + tf.stop_gradient(tf.sin(v)), x))


def write(name, build, arguments, functional):
    (v1.enable_control_flow_v2 if functional else v1.disable_control_flow_v2)()

    def make():
        xs = [v1.placeholder_with_default(tf.constant(a, tf.float64), np.shape(a), name='x/%d' % i)
              for i, a in enumerate(arguments)]
        return xs, tf.identity(build(*xs), name='y')

    with tf.Graph().as_default(), v1.Session() as session:
        xs, y = make()
        grads = [tf.convert_to_tensor(g) for g in v1.gradients(y, xs)]
        values = session.run([y] + grads)
    with tf.Graph().as_default() as g:
        make()
        tf.constant(values[0], name='expect/y')
        for i, value in enumerate(values[1:]):
            tf.constant(value, name='expect/%d' % i)
        with open(os.path.join(OUT, name + '.pb'), 'wb') as f:
            f.write(g.as_graph_def(add_shapes=False).SerializeToString(deterministic=True))
    print(name, values[0])


def main():
    os.makedirs(OUT, exist_ok=True)
    for build, arguments in GRAPHS:
        for form in ('v1', 'v2'):
            try:
                write(form + '_' + build.__name__, build, arguments, form == 'v2')
            except Exception as error:
                print(form, build.__name__, 'FAILED', str(error)[:300])


if __name__ == '__main__':
    main()
