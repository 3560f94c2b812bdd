#!/usr/bin/env python3
"""Times the network of gru_benchmark, 100 steps of 128 gated units on a batch of 32, forward and backward, in
TensorFlow (version-1 session and tf.function), in JAX (lax.scan under jit) and here.

usage: gru_step.py GRU_BENCHMARK [THREADS]

Needs tensorflow and jax; run by hand. Prints the median milliseconds of each and the ratio to ours.
"""
import os
import re
import statistics
import subprocess
import sys
import time

BINARY = sys.argv[1]
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=%s' % ('true' if THREADS > 1 else 'false')
os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[:THREADS]))

import jax  # pylint: disable=wrong-import-position
import jax.numpy as jnp  # pylint: disable=wrong-import-position
import numpy as np  # pylint: disable=wrong-import-position
import tensorflow as tf  # pylint: disable=wrong-import-position

tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(THREADS)
STEPS, BATCH, UNITS = 100, 32, 128
ROUNDS, RUNS = 5, 5


def waves(shape, scale):
    return (scale * np.sin(np.arange(np.prod(shape)) % 9973)).astype(np.float32).reshape(shape)


X, H = waves((STEPS, BATCH, UNITS), 1.0), waves((BATCH, UNITS), 0.1)
GATES, CANDIDATE = waves((2 * UNITS, 2 * UNITS), 0.1), waves((2 * UNITS, UNITS), 0.1)


def step(h, x, gates, candidate, m):
    """One step, in the functions of TensorFlow or JAX."""
    r, u = m['split'](m['sigmoid'](m['matmul'](m['concat']([x, h], 1), gates)))
    c = m['tanh'](m['matmul'](m['concat']([x, r * h], 1), candidate))
    return c + u * (h - c)


TF = {'split': lambda v: tf.split(v, 2, 1), 'sigmoid': tf.sigmoid, 'matmul': tf.matmul, 'concat': tf.concat,
      'tanh': tf.tanh}
JAX = {'split': lambda v: jnp.split(v, 2, 1), 'sigmoid': jax.nn.sigmoid, 'matmul': jnp.matmul,
       'concat': jnp.concatenate, 'tanh': jnp.tanh}


def tf_loss(x, h, gates, candidate):
    outputs = tf.TensorArray(tf.float32, STEPS)
    inputs = tf.TensorArray(tf.float32, STEPS).unstack(x)

    def body(t, state, out):
        state = step(state, inputs.read(t), gates, candidate, TF)
        return t + 1, state, out.write(t, state)
    outputs = tf.while_loop(lambda t, s, o: t < STEPS, body, [0, h, outputs])[2]
    return tf.reduce_sum(outputs.stack() ** 2)


def session_run():
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        feeds = [v1.placeholder(tf.float32, v.shape) for v in (X, H, GATES, CANDIDATE)]
        loss = tf_loss(*feeds)
        grads = v1.gradients(loss, feeds[2:])
        session = v1.Session(config=v1.ConfigProto(intra_op_parallelism_threads=THREADS,
                                                   inter_op_parallelism_threads=THREADS))
        values = dict(zip(feeds, (X, H, GATES, CANDIDATE)))
        return lambda: session.run([loss] + grads, values)[0]


def function_run():
    tf.compat.v1.enable_control_flow_v2()

    @tf.function
    def run(x, h, gates, candidate):
        with tf.GradientTape() as tape:
            tape.watch([gates, candidate])
            loss = tf_loss(x, h, gates, candidate)
        return [loss] + tape.gradient(loss, [gates, candidate])
    args = [tf.constant(v) for v in (X, H, GATES, CANDIDATE)]
    return lambda: [v.numpy() for v in run(*args)][0]


def jax_run():
    def loss(gates, candidate, x, h):
        def body(state, row):
            state = step(state, row, gates, candidate, JAX)
            return state, state
        return jnp.sum(jax.lax.scan(body, h, x)[1] ** 2)
    run = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    return lambda: jax.block_until_ready(run(GATES, CANDIDATE, X, H))[0]


def nabla_ms():
    out = subprocess.run([BINARY, '--benchmark_filter=BM_Gru/%d/1/' % THREADS, '--benchmark_min_time=0.5'], check=True,
                         capture_output=True, text=True).stdout
    return float(re.search(r'BM_Gru\S* +([0-9.]+) ms', out).group(1))


def main():
    peers = {'session': session_run(), 'tf.function': function_run(), 'jax': jax_run()}
    times = {name: [] for name in list(peers) + ['nabla']}
    for name, run in peers.items():
        print(name, 'loss', float(run()))
    for _ in range(ROUNDS):
        for name, run in peers.items():
            for _ in range(RUNS):
                start = time.perf_counter()
                run()
                times[name].append((time.perf_counter() - start) * 1e3)
        times['nabla'].append(nabla_ms())
    ours = statistics.median(times['nabla'])
    for name, values in times.items():
        median = statistics.median(values)
        print('%-12s %8.2f ms  %.2f' % (name, median, median / ours))


if __name__ == '__main__':
    main()
