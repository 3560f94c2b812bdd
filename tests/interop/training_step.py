"""Times the first example's training step (784-256-128-10, batch 128, Adam) in TensorFlow and JAX and in Nabla.

usage: training_step.py TRAINING_BENCHMARK TRAIN_PB [THREADS]

Runs all in turn, several rounds, and prints the median milliseconds of each and the ratio to Nabla's. Needs tensorflow
and jax; no part of the ordinary tests.
"""
import os
import re
import statistics
import subprocess
import sys
import time

BINARY, GRAPH = sys.argv[1:3]
THREADS = int(sys.argv[3]) if len(sys.argv) > 3 else 2
ROUNDS, STEPS = 5, 200
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=%s' % ('true' if THREADS > 1 else 'false')
os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[:THREADS]))

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(THREADS)

SIZES = [784, 256, 128, 10]
rng = np.random.RandomState(0)
IMAGES = rng.randint(0, 256, (128, 28, 28)).astype(np.uint8)
LABELS = (np.arange(128) % 10).astype(np.int32)
WEIGHTS = [(rng.randn(m, n) * np.sqrt(2 / m)).astype(np.float32) for m, n in zip(SIZES, SIZES[1:])]
LR, B1, B2, EPS = 0.001, 0.9, 0.999, 1e-7


def tf_logits(images, params):
  x = tf.reshape(tf.cast(images, tf.float32) / 255.0, [-1, 784])
  for i, (w, b) in enumerate(params):
    x = tf.nn.bias_add(tf.matmul(x, w), b)
    if i < 2:
      x = tf.nn.relu(x)
  return x


def tf_loss(variables, images, labels):
  params = list(zip(variables[::2], variables[1::2]))
  loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf_logits(images, params)))
  return loss


def make_v1():
  graph = tf.Graph()
  with graph.as_default():
    images = tf.compat.v1.placeholder(tf.uint8, [None, 28, 28])
    labels = tf.compat.v1.placeholder(tf.int32, [None])
    variables = []
    for w in WEIGHTS:
      variables.append(tf.compat.v1.Variable(w, use_resource=True))
      variables.append(tf.compat.v1.Variable(np.zeros(w.shape[1], np.float32), use_resource=True))
    loss = tf_loss(variables, images, labels)
    train = tf.compat.v1.train.AdamOptimizer(LR, B1, B2, EPS).minimize(loss, var_list=variables)
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=THREADS, inter_op_parallelism_threads=THREADS)
    session = tf.compat.v1.Session(graph=graph, config=config)
    session.run(tf.compat.v1.global_variables_initializer())
    call = session.make_callable([loss, train], [images, labels])
  return lambda: call(IMAGES, LABELS)


def make_function():
  variables, m, v = [], [], []
  for w in WEIGHTS:
    for value in (w, np.zeros(w.shape[1], np.float32)):
      variables.append(tf.Variable(value))
      m.append(tf.Variable(np.zeros_like(value)))
      v.append(tf.Variable(np.zeros_like(value)))
  p1, p2 = tf.Variable(B1), tf.Variable(B2)

  @tf.function
  def step(images, labels):
    with tf.GradientTape() as tape:
      loss = tf_loss(variables, images, labels)
    for var, mm, vv, g in zip(variables, m, v, tape.gradient(loss, variables)):
      tf.raw_ops.ResourceApplyAdam(var=var.handle, m=mm.handle, v=vv.handle, beta1_power=p1, beta2_power=p2, lr=LR,
                                   beta1=B1, beta2=B2, epsilon=EPS, grad=g)
    p1.assign(p1 * B1)
    p2.assign(p2 * B2)
    return loss

  images, labels = tf.constant(IMAGES), tf.constant(LABELS)
  return lambda: step(images, labels).numpy()


def make_jax():
  params = [(jnp.array(w), jnp.zeros(w.shape[1])) for w in WEIGHTS]
  zeros = jax.tree_util.tree_map(jnp.zeros_like, params)

  def loss_of(params, images, labels):
    x = images.astype(jnp.float32).reshape(-1, 784) / 255.0
    for i, (w, b) in enumerate(params):
      x = x @ w + b
      if i < 2:
        x = jax.nn.relu(x)
    return -jnp.mean(jax.nn.log_softmax(x)[jnp.arange(x.shape[0]), labels])

  @jax.jit
  def step(state, images, labels):
    params, m, v, p1, p2 = state
    loss, grads = jax.value_and_grad(loss_of)(params, images, labels)
    m = jax.tree_util.tree_map(lambda m, g: m + (g - m) * (1 - B1), m, grads)
    v = jax.tree_util.tree_map(lambda v, g: v + (g * g - v) * (1 - B2), v, grads)
    rate = LR * jnp.sqrt(1 - p2) / (1 - p1)
    params = jax.tree_util.tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + EPS), params, m, v)
    return (params, m, v, p1 * B1, p2 * B2), loss

  step = jax.jit(step, donate_argnums=0)
  state = [(params, zeros, jax.tree_util.tree_map(jnp.zeros_like, params), jnp.float32(B1), jnp.float32(B2))]
  images, labels = jnp.array(IMAGES), jnp.array(LABELS)

  def run():
    state[0], loss = step(state[0], images, labels)
    loss.block_until_ready()
  return run


def time_python(run):
  start = time.perf_counter()
  for _ in range(STEPS):
    run()
  return (time.perf_counter() - start) / STEPS * 1e3


def time_nabla():
  out = subprocess.run([BINARY, GRAPH, '--benchmark_filter=Step/%d/' % THREADS, '--benchmark_min_time=0.5'],
                       capture_output=True, text=True, check=True).stdout
  return float(re.search(r'BM_TrainingStep/\S+\s+([\d.]+) ms', out).group(1))


steps = {'TensorFlow v1 session': make_v1(), 'TensorFlow tf.function': make_function(), 'JAX jit': make_jax()}
for run in steps.values():
  for _ in range(20):
    run()
times = {name: [] for name in ['Nabla'] + list(steps)}
for _ in range(ROUNDS):
  times['Nabla'].append(time_nabla())
  for name, run in steps.items():
    times[name].append(time_python(run))
nabla = statistics.median(times['Nabla'])
for name, values in times.items():
  print('%-24s %7.3f ms/step  %5.2f x Nabla' % (name, statistics.median(values), statistics.median(values) / nabla))
