#!/usr/bin/env python3
"""Writes optimizers.txt: 20 steps of each optimizer on a small model, and learning rates, as TensorFlow does them.

    python3 tests/golden/make_optimizers.py > tests/golden/optimizers.txt

    x|target|w|b|table VALUES        the model's constants and its variables' first values
    ids STEP VALUES                  the rows of the table that a step uses
    optimizer NAME DTYPE             what follows is of this one
    after STEP VALUES                w, b and table then
    schedule NAME STEP VALUE         a learning rate

The model: loss = mean((x w + b + table[ids] - target)^2), with x [4,3], w [3,2], b [2], table [6,2].
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
train = tf1.train
STEPS = 20
rng = np.random.RandomState(7)
draw = lambda *shape: np.round(rng.uniform(-1, 1, shape) * 64) / 64
X, TARGET, W, B, TABLE = draw(4, 3), draw(4, 2), draw(3, 2), draw(2), draw(6, 2)
IDS = rng.randint(0, 5, (STEPS, 4))  # row 5 is never used


def numbers(*values):
    return " ".join("%.9g" % v for value in values for v in np.asarray(value).ravel())


def loss_of(w, b, table, ids, dtype):
    x, target = tf.constant(X, dtype), tf.constant(TARGET, dtype)
    return tf.reduce_mean(tf.square(tf.matmul(x, w) + b + tf.gather(table, ids) - target))


def print_step(step, values):
    print("after", step, numbers(*values))


def with_graph(name, make, dtype):
    with tf.Graph().as_default(), tf1.Session() as session:
        variables = [tf1.get_variable(n, initializer=tf.constant(v, dtype), use_resource=True)
                     for n, v in (("w", W), ("b", B), ("table", TABLE))]
        ids = tf1.placeholder(tf.int32, [4])
        step_op = make().minimize(loss_of(*variables, ids, dtype))
        session.run(tf1.global_variables_initializer())
        print("optimizer", name, "double" if dtype == tf.float64 else "float")
        for step in range(STEPS):
            session.run(step_op, {ids: IDS[step]})
            if dtype == tf.float64 or step == STEPS - 1:
                print_step(step, session.run(variables))


def with_keras(name, make, dtype):
    variables = [tf.Variable(tf.constant(v, dtype)) for v in (W, B, TABLE)]
    optimizer = make()
    print("optimizer", name, "double" if dtype == tf.float64 else "float")
    for step in range(STEPS):
        with tf.GradientTape() as tape:
            loss = loss_of(*variables, IDS[step], dtype)
        # Made dense, which adds up the rows that occur twice: left to itself, Keras squares their gradients one by one.
        grads = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
        optimizer.apply_gradients(zip(grads, variables))
        print_step(step, [v.numpy() for v in variables])


print("# Written by make_optimizers.py. Do not edit.")
for label, value in (("x", X), ("target", TARGET), ("w", W), ("b", B), ("table", TABLE)):
    print(label, numbers(value))
for i, row in enumerate(IDS):
    print("ids", i, *row)
for kind in [tf.float64, tf.float32]:
    with_graph("GradientDescent", lambda: train.GradientDescentOptimizer(0.3), kind)
    with_graph("Momentum", lambda: train.MomentumOptimizer(0.1, 0.9), kind)
    with_graph("Nesterov", lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), kind)
    with_graph("Adagrad", lambda: train.AdagradOptimizer(0.2), kind)
    with_graph("Adadelta", lambda: train.AdadeltaOptimizer(5.0, rho=0.9, epsilon=1e-4), kind)
    with_graph("RMSProp", lambda: train.RMSPropOptimizer(0.05), kind)
    with_graph("RMSPropMomentum", lambda: train.RMSPropOptimizer(0.02, decay=0.8, momentum=0.5, epsilon=1e-3), kind)
    with_graph("RMSPropCentered", lambda: train.RMSPropOptimizer(0.05, momentum=0.3, centered=True), kind)
    with_graph("Adam", lambda: train.AdamOptimizer(0.05), kind)
    with_graph("AdamBetas", lambda: train.AdamOptimizer(0.05, beta1=0.8, beta2=0.95, epsilon=0.01), kind)
    with_graph("Ftrl", lambda: train.FtrlOptimizer(0.3), kind)
    with_graph("FtrlPenalties", lambda: train.FtrlOptimizer(
        0.3, learning_rate_power=-0.4, l1_regularization_strength=0.01, l2_regularization_strength=0.02,
        l2_shrinkage_regularization_strength=0.03), kind)
keras = tf.keras.optimizers
with_keras("AdamW", lambda: keras.AdamW(), tf.float32)
with_keras("Adamax", lambda: keras.Adamax(), tf.float32)
# Keras takes powers of betas rounded to float, but 1 - beta of those that are not, which shows in the sixth digit of a
# step. For the comparison in double these betas are floats.
betas = {"beta_1": 0.875, "beta_2": 0.9921875}
with_keras("AdamWBetas", lambda: keras.AdamW(0.05, weight_decay=0.1, **betas), tf.float64)
with_keras("AdamaxBetas", lambda: keras.Adamax(0.05, **betas), tf.float64)

SCHEDULES = {
    "ExponentialDecay": lambda s: train.exponential_decay(0.1, s, 10, 0.7),
    "ExponentialDecayStaircase": lambda s: train.exponential_decay(0.1, s, 10, 0.7, staircase=True),
    "InverseTimeDecay": lambda s: train.inverse_time_decay(0.1, s, 10, 0.5),
    "InverseTimeDecayStaircase": lambda s: train.inverse_time_decay(0.1, s, 10, 0.5, staircase=True),
    "PolynomialDecay": lambda s: train.polynomial_decay(0.1, s, 30),
    "PolynomialDecayCycle": lambda s: train.polynomial_decay(0.1, s, 30, 0.01, power=2.0, cycle=True),
    "CosineDecay": lambda s: train.cosine_decay(0.1, s, 40, alpha=0.1),
    "CosineDecayRestarts": lambda s: train.cosine_decay_restarts(0.1, s, 15, t_mul=2.0, m_mul=0.8, alpha=0.1),
    "CosineDecayRestartsEqual": lambda s: train.cosine_decay_restarts(0.1, s, 15, t_mul=1.0, m_mul=0.8),
    "PiecewiseConstant": lambda s: train.piecewise_constant(s, [10, 25], [0.1, 0.05, 0.01]),
}
with tf.Graph().as_default(), tf1.Session() as sess:
    at = tf1.placeholder(tf.int64, [])
    for key, schedule in SCHEDULES.items():
        rate = schedule(at)
        for step in [0, 1, 7, 10, 11, 14, 20, 25, 26, 40, 41, 100]:
            print("schedule", key, step, numbers(sess.run(rate, {at: step})))
