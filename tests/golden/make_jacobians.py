#!/usr/bin/env python3
"""Writes jacobians.txt: Jacobians and Hessians of a few models in double, as JAX and TensorFlow compute them.

    python3 tests/golden/make_jacobians.py > tests/golden/jacobians.txt

    NAME DIMS VALUES     (d0,d1,... or "-" for a scalar)

JAX computes the values in reverse mode; TensorFlow's GradientTape, and JAX in forward mode, must agree.
tests/gradients/jacobian_golden_test.cc builds the same models: waves(n, k) are sin(k + 1), sin(k + 2), ...
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

jax.config.update("jax_enable_x64", True)


def waves(k, *shape):
    return np.sin(k + 1.0 + np.arange(np.prod(shape))).reshape(shape)


def print_value(name, value):
    value = np.asarray(value)
    dims = ",".join(map(str, value.shape)) or "-"
    print(name, dims, *(repr(float(v)) for v in value.ravel()))


def check(name, value, *others):
    for other in others:
        np.testing.assert_allclose(value, other, rtol=1e-11, atol=1e-13, err_msg=name)
    print_value(name, value)


def tf_jacobian(f, x, batch=False):
    with tf.GradientTape() as tape:
        x = tf.constant(x)
        tape.watch(x)
        y = f(x)
    return (tape.batch_jacobian if batch else tape.jacobian)(y, x).numpy()


def tf_hessian(f, x):
    with tf.GradientTape() as outer:
        x = tf.constant(x)
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        gradient = inner.gradient(y, x)
    return outer.jacobian(gradient, x).numpy()


print("# Written by make_jacobians.py. Do not edit.")


# A network with two hidden layers, of a batch: softmax(relu(tanh(x W1 + b1) W2) W3).
def network(xp, softmax, relu):
    w1, b1, w2, w3 = waves(0, 4, 5), waves(3, 5), waves(7, 5, 6), waves(11, 6, 3)
    return lambda x: softmax(xp.matmul(relu(xp.matmul(xp.tanh(xp.matmul(x, w1) + b1), w2)), w3))


x = waves(1, 2, 4)
jax_network = network(jnp, jax.nn.softmax, jax.nn.relu)
tf_network = network(tf, tf.nn.softmax, tf.nn.relu)
check("network", jax.jacrev(jax_network)(x), jax.jacfwd(jax_network)(x), tf_jacobian(tf_network, x))
check("network_batch", jax.vmap(jax.jacrev(lambda row: jax_network(row[None])[0]))(x),
      tf_jacobian(tf_network, x, batch=True))

# The Hessian of logistic regression by its weights.
features, labels = waves(2, 6, 3), np.array([0.0, 1, 1, 0, 1, 0])


def jax_loss(w):
    logits = jnp.matmul(features, w)
    return jnp.mean(jax.nn.softplus(logits) - labels * logits) + 0.05 * jnp.sum(w * w)


def tf_loss(w):
    logits = tf.linalg.matvec(features, w)
    return tf.reduce_mean(tf.nn.softplus(logits) - labels * logits) + 0.05 * tf.reduce_sum(w * w)


w = waves(5, 3)
check("logistic_hessian", jax.hessian(jax_loss)(w), tf_hessian(tf_loss, w))


# Attention of a sequence on itself, by the sequence: batched products, a softmax, and a normalisation.
def attention(xp, softmax, transpose, mean, rsqrt):
    wq, wk = waves(0, 3, 4), waves(4, 3, 4)

    def f(x):
        scores = xp.matmul(xp.matmul(x, wq), transpose(xp.matmul(x, wk))) / 2.0
        y = xp.matmul(softmax(scores), x)
        centred = y - mean(y)
        return centred * rsqrt(mean(centred * centred) + 1e-3)

    return f


jax_attention = attention(jnp, jax.nn.softmax, lambda t: jnp.swapaxes(t, -1, -2),
                          lambda t: jnp.mean(t, -1, keepdims=True), jax.lax.rsqrt)
tf_attention = attention(tf, tf.nn.softmax, tf.linalg.matrix_transpose,
                         lambda t: tf.reduce_mean(t, -1, keepdims=True), tf.math.rsqrt)
x = waves(8, 2, 4, 3)
check("attention_batch", jax.vmap(jax.jacrev(jax_attention))(x),
      tf_jacobian(tf_attention, x, batch=True))

# J t of the network, for x alone.
x = waves(1, 2, 4)
check("network_jvp", jax.jvp(jax_network, (x,), (waves(20, 2, 4),))[1])


# Rosenbrock's valley: the Hessian, and the third derivatives, its Jacobian.
def valley(x):
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


at = np.array([-1.2, 1.0])
check("valley_hessian", jax.hessian(valley)(at), tf_hessian(valley, at))
check("valley_third", jax.jacfwd(jax.hessian(valley))(at))
