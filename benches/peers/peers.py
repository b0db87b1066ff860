#!/usr/bin/env python3
"""Serves one Python peer to compare.py, which is the program to run. src/main.rs has the protocol.

    python3 -m venv .venv
    .venv/bin/pip install numpy jax openvino onnx onnxruntime torch   # all, or numpy and some
    python3 compare.py --python .venv/bin/python

A peer that is not installed is left out. 'fresh' allocates its output and frees it in the call,
'into' writes into an existing buffer. Every result is checked before its call is timed.
"""
import argparse
import gc
import importlib
import json
import math
import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
try:
    import numpy as np
except ImportError as e:
    print(json.dumps({"missing": f"the Python peers need NumPy: {e}"}))
    sys.exit(1)

# The modules of each peer.
PEERS = {
    "numpy": ["numpy"],
    "torch": ["torch"],
    "jax": ["jax"],
    "openvino": ["openvino"],
    "onnxruntime": ["onnxruntime", "onnx"],
}
THREADS = 0  # 0: the peer's default


def burst(f, seconds):
    """The mean time of a call in ms, in a burst of at least 3 calls. Mirrors bench.rs."""
    f()
    calls, batch, start = 0, 1, time.perf_counter()
    while True:
        for _ in range(batch):
            f()
        calls += batch
        elapsed = time.perf_counter() - start
        if calls >= 3 and elapsed >= seconds:
            return elapsed * 1e3 / calls
        if elapsed < seconds / 8:
            batch *= 2


def source(case):
    n = math.prod(case["in"])
    x = np.array(1.5, np.float32)
    if case["in"]:
        x = np.arange(n, dtype=np.float32).reshape(case["in"])
    return x.T if case.get("transpose") else x


def aligned(shape, axes, rank):
    full = [1] * rank
    for i, a in enumerate(axes):
        full[a] = shape[i]
    return full


def sample(shape):
    """Up to 4096 indices of an array of this shape, including the first and the last."""
    if not shape:
        return ()
    flat = np.unique(np.linspace(0, math.prod(shape) - 1, 4096).astype(np.int64))
    return np.unravel_index(flat, shape)


def is_expected(expected, rtol):
    """A check of a result. It keeps a sample of what is expected."""
    shape, at = expected.shape, sample(expected.shape)
    want = expected[at]

    def check(got):
        got = np.asarray(got)
        return got.shape == shape and np.allclose(got[at], want, rtol=rtol, atol=0)

    return check


# Each operation first yields a function that checks a result as a NumPy array. Then it yields (how,
# the ways of doing the call, a function that converts the call's result to a NumPy array or None).
# The fastest way counts.


def materialize(case, peer):
    out = case["out"]
    x = source(case)
    xv = np.expand_dims(x, tuple(i for i in range(len(out)) if i not in case["axes"]))
    transpose = bool(case.get("transpose"))
    yield is_expected(np.broadcast_to(xv, out), 0)
    if peer == "numpy":
        yield "fresh", [lambda: np.broadcast_to(xv, out).copy()], None
        buf = np.zeros(out, np.float32)
        yield "into", [lambda: np.copyto(buf, xv)], lambda _: buf
    if peer == "torch":
        import torch

        t = torch.from_numpy(np.array(xv, order="K", copy=True))
        yield "fresh", [lambda: t.expand(out).contiguous()], None
        to = torch.zeros(out)
        yield "into", [lambda: to.copy_(t.expand(out))], None
    if peer == "jax" and case["in"]:  # a scalar's time is wrong: the call returns at once
        import jax
        import jax.numpy as jnp

        src = jnp.asarray(np.ascontiguousarray(x.T if transpose else x))
        f = jax.jit(lambda a: jax.lax.broadcast_in_dim(a.T if transpose else a, out, case["axes"]))
        yield "fresh", [lambda: f(src).block_until_ready()], None
    plain = case["in"] and not transpose  # these two take only a contiguous source
    if peer == "openvino" and plain:
        import openvino as ov
        import openvino.opset13 as op

        p = op.parameter(list(x.shape), dtype=np.float32)
        b = op.broadcast(p, np.array(out, np.int64), np.array(case["axes"], np.int64), "explicit")
        yield from openvino_into(ov, [p], b, [x], out)
    if peer == "onnxruntime" and not transpose:
        full = aligned(x.shape, case["axes"], len(out))
        inputs = {"x": x.reshape(full), "s": np.array(out, np.int64)}
        yield from onnxruntime_into("Expand", inputs, out, 13)


KINDS = {"u8": "uint8", "i64": "int64", "f16": "float16", "f64": "float64"}
PRODUCTS = {"product2": 2, "product3": 3}
NAN = ["nansum", "nanmean"]
REDUCTIONS = ["sum", "mean", "max", "argmax", "var", "logsumexp", *NAN, "count", "l2", *PRODUCTS]


def memory_order(case, operand=1):
    """The axes of an operand in the order of memory."""
    layout, axes = case.get("layout"), list(range(len(case["a"])))
    is_fortran = layout == "F" or layout == "mixed" and operand == 0
    return layout if isinstance(layout, list) else axes[::-1] if is_fortran else axes


def placed(a, case, operand=1):
    """A copy of an array in the case's layout for an operand."""
    if case.get("layout") == "reversed":
        return np.ascontiguousarray(a[..., ::-1])[..., ::-1]
    order = memory_order(case, operand)
    return np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order))


def operands(case, kind):
    """The arrays of a call: values from 1, of which the sum of two fits. f16 has those exactly."""
    call, a = case["call"], case["a"]
    b = case.get("b", a)
    shapes = [a] * PRODUCTS.get(call, 1)
    shapes += {"add": [b], "sub": [b], "mul": [b], "muladd": [b, b]}.get(call, [])
    random = np.random.default_rng(0)
    most = 128 if kind == "uint8" else 2049
    arrays = [random.integers(1, most, s, np.int16).astype(kind) for s in shapes]
    if call in NAN:
        arrays[0].flat[3::10] = np.nan
    return [placed(array, case, operand) for operand, array in enumerate(arrays)]


def expected(case, arrays, out):
    """The result of a call on NumPy arrays, in f64 or i64, and its tolerance."""
    call, kind, a = case["call"], arrays[0].dtype, arrays[0]
    if call == "copy":
        return np.broadcast_to(a.transpose(case.get("permute", range(a.ndim))), out), 0
    axes = tuple(case.get("axes", ()))
    wide = np.int64 if kind.kind in "iu" else np.float64
    if call in REDUCTIONS:
        terms = math.prod(case["a"][i] for i in axes)
        error = {"float64": 1e-12, "float32": min(1e-2, 1e-6 + terms * 6e-8), "float16": 1e-3}
        error = error.get(kind.name, 1e-15)
    if call in PRODUCTS:
        return np.asarray(math.prod(v.astype(wide) for v in arrays).sum(axes)), error
    if call == "mean":
        return np.asarray(a.mean(axes, dtype=np.float64)), error
    if call == "sum":
        return np.asarray(a.sum(axes, dtype=wide)), error
    if call == "count":
        return np.asarray(np.count_nonzero(a, axes)), 0
    if call in ["var", "logsumexp", "l2", *NAN]:
        f = numpy_calls(np, call, axes, a.ndim, wide)[0]
        return np.asarray(f(a.astype(wide))), error
    if call in REDUCTIONS:
        return np.asarray(a.max(axes) if call == "max" else a.argmax(*axes)), 0
    if call == "muladd":
        return arrays[0] * arrays[1] + arrays[2], 1e-6
    return {"add": np.add, "sub": np.subtract, "mul": np.multiply}[call](*arrays), 0


def numpy_calls(np, call, axes, rank, total):
    """The ways of NumPy's call, and of JAX's, which has NumPy's names. NumPy's take `out`."""
    letters = "ijklm"[:rank]
    kept = "".join(c for i, c in enumerate(letters) if i not in axes)
    product = lambda *v: math.prod(v[1:], start=v[0])
    einsum = lambda *v, **to: np.einsum(",".join([letters] * len(v)) + "->" + kept, *v, **to)
    product_sum = lambda *v, **to: np.sum(product(*v), axes, **to)

    def muladd(x, a, b, out=None):
        return x * a + b if out is None else np.add(np.multiply(x, a, out=out), b, out=out)

    def logsumexp(a, **to):
        largest = np.max(a, axes, keepdims=True)
        sums = np.sum(np.exp(a - largest), axes)
        return np.add(np.log(sums), np.squeeze(largest, axes), **to)

    def count(a, out=None):
        result = np.count_nonzero(a, axes)
        return result if out is None else np.copyto(out, result)

    return {
        "add": [np.add],
        "sub": [np.subtract],
        "mul": [np.multiply],
        "muladd": [muladd],
        "sum": [lambda a, **to: np.sum(a, axes, dtype=total, **to)],
        "mean": [lambda a, **to: np.mean(a, axes, **to)],
        "max": [lambda a, **to: np.max(a, axes, **to)],
        "argmax": [lambda a, **to: np.argmax(a, *axes, **to)],
        "var": [lambda a, **to: np.var(a, axes, **to)],
        "logsumexp": [logsumexp],
        "nansum": [lambda a, **to: np.nansum(a, axes, **to)],
        "nanmean": [lambda a, **to: np.nanmean(a, axes, **to)],
        "count": [count],
        "l2": [lambda a, **to: np.sqrt(np.sum(a * a, axes), **to)],
    }.get(call, [einsum, product_sum])


def torch_calls(torch, call, axes, rank):
    """The ways of torch's call: (fresh, into)."""
    letters = "ijklm"[:rank]
    kept = "".join(c for i, c in enumerate(letters) if i not in axes)
    product = lambda v: math.prod(v[1:], start=v[0])
    einsum = lambda *v: torch.einsum(",".join([letters] * len(v)) + "->" + kept, *v)
    product_sum = lambda *v, **to: torch.sum(product(v), axes, **to)
    addcmul = lambda x, a, b, **to: torch.addcmul(b, x, a, **to)

    def muladd(x, a, b, out=None):
        return torch.mul(x, a, out=out).add_(b)

    both = lambda *ways: (ways, ways)
    count = lambda a: torch.count_nonzero(a, axes)
    return {
        "add": both(torch.add),
        "sub": both(torch.sub),
        "mul": both(torch.mul),
        "muladd": both(addcmul, muladd),
        "sum": both(lambda a, **to: torch.sum(a, axes, **to)),
        "mean": both(lambda a, **to: torch.mean(a, axes, **to)),
        "max": both(lambda a, **to: torch.amax(a, axes, **to)),
        "argmax": both(lambda a, **to: torch.argmax(a, *axes, **to)),
        "var": both(lambda a, **to: torch.var(a, axes, correction=0, **to)),
        "logsumexp": both(lambda a, **to: torch.logsumexp(a, axes, **to)),
        "nansum": both(lambda a, **to: torch.nansum(a, axes, **to)),
        "nanmean": both(lambda a, **to: torch.nanmean(a, axes, **to)),
        "count": ([count], [lambda a, out: out.copy_(count(a))]),
        "l2": both(lambda a, **to: torch.linalg.vector_norm(a, 2, axes, **to)),
    }.get(call, ([einsum, product_sum], [product_sum]))


def call(case, peer):
    call, kind = case["call"], KINDS.get(case.get("type"), "float32")
    axes, rank = tuple(case.get("axes", ())), len(case["a"])
    order = case.get("permute", list(range(rank)))
    out = case.get("out") or [case["a"][i] for i in order]
    arrays = operands(case, kind)
    want, error = expected(case, arrays, out)
    shape = want.shape
    yield is_expected(want, error)
    total = np.int64 if kind == "uint8" else kind  # sums of u8 are kept in i64
    to_kind = {"sum": total, "argmax": np.int64, "count": np.int64}
    to_kind["mean"] = "float64" if kind == "int64" else kind
    to = np.zeros(shape, to_kind.get(call, kind))
    if call not in REDUCTIONS and call != "copy":
        to = placed(to, case)
    del want

    if peer == "numpy":
        if call == "copy":
            fresh = [lambda a: np.broadcast_to(a.transpose(order), out).copy()]
            into = [lambda a, out: np.copyto(out, a.transpose(order))]
        else:
            fresh = into = numpy_calls(np, call, axes, rank, total)
        yield "fresh", [lambda f=f: f(*arrays) for f in fresh], None
        yield "into", [lambda f=f: f(*arrays, out=to) for f in into], lambda _: to
    # torch has no negative strides, and no mean of integers.
    if peer == "torch" and case.get("layout") != "reversed":
        import torch

        if call == "copy":
            kept = torch.contiguous_format  # a copy, even if the source is contiguous
            fresh = [lambda a: a.permute(order).expand(out).clone(memory_format=kept)]
            into = [lambda a, out: out.copy_(a.permute(order))]
        else:
            fresh, into = torch_calls(torch, call, axes, rank)
        tensors = [torch.from_numpy(a) for a in arrays]
        yield "fresh", [lambda f=f: f(*tensors) for f in fresh], None
        target = torch.from_numpy(to)
        yield "into", [lambda f=f: f(*tensors, out=target) for f in into], lambda _: to
    # JAX has only standard layout. A reduction starts from a view of it, which costs nothing.
    if peer == "jax" and (call in REDUCTIONS or "layout" not in case):
        import jax

        jax.config.update("jax_enable_x64", np.dtype(kind).itemsize == 8 or kind == "uint8")
        import jax.numpy as jnp

        if call == "copy":
            calls = [lambda a: jnp.broadcast_to(a.transpose(order), out)]
        else:
            calls = numpy_calls(jnp, call, axes, rank, total)
        orders = [memory_order(case, operand) for operand in range(len(arrays))]
        if case.get("layout") == "reversed":
            sources = [jnp.asarray(np.ascontiguousarray(a[..., ::-1])) for a in arrays]
            view = lambda a, _: a[..., ::-1]
        else:
            sources = [jnp.asarray(a.transpose(order)) for a, order in zip(arrays, orders)]
            view = lambda a, order: a.transpose([order.index(i) for i in range(rank)])
        jits = [jax.jit(lambda *v, f=f: f(*map(view, v, orders))) for f in calls]
        yield "fresh", [lambda f=f: f(*sources).block_until_ready() for f in jits], None
    # These two are measured with f32 in standard layout, for what is one node of a graph.
    nodes = ["Add", "Subtract", "Multiply", "ReduceSum", "ReduceMean", "ReduceMax"]
    known = dict(zip(["add", "sub", "mul", "sum", "mean", "max"], nodes))
    if call not in known or kind != "float32" or "layout" in case:
        return
    if peer == "openvino":
        import openvino as ov
        import openvino.opset13 as op

        ps = [op.parameter(list(v.shape), dtype=np.float32) for v in arrays]
        by_name = {"sum": op.reduce_sum, "mean": op.reduce_mean, "max": op.reduce_max}
        by_name |= {"add": op.add, "sub": op.subtract, "mul": op.multiply}
        rest = [np.array(axes, np.int64), False] if axes else []
        yield from openvino_into(ov, ps, by_name[call](*ps, *rest), arrays, shape)
    if peer == "onnxruntime":
        node = {"sub": "Sub", "mul": "Mul"}.get(call, known[call])
        inputs, more = dict(zip("ab", arrays)), {}
        if axes:
            inputs["axes"], more = np.array(axes, np.int64), {"keepdims": 0}
        yield from onnxruntime_into(node, inputs, shape, 18, **more)


def openvino_into(ov, parameters, result, inputs, out):
    core = ov.Core()
    if THREADS:
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": THREADS})
    request = core.compile_model(ov.Model([result], parameters), "CPU").create_infer_request()
    ins = [ov.Tensor(np.ascontiguousarray(v)) for v in inputs]
    buf = np.zeros(out, np.float32)
    to = ov.Tensor(buf)
    for i, t in enumerate(ins):
        request.set_input_tensor(i, t)
    request.set_output_tensor(to)
    infer = lambda: request.infer(share_inputs=True, share_outputs=True)
    yield "into", [infer], lambda _: to.data


def onnxruntime_into(node, inputs, out, opset, **attributes):
    import onnxruntime as ort
    from onnx import TensorProto, helper

    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
    g = helper.make_graph(
        [helper.make_node(node, list(inputs), ["y"], **attributes)],
        "g",
        [
            helper.make_tensor_value_info(k, kinds[v.dtype], list(v.shape))
            for k, v in inputs.items()
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, list(out))],
    )
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)])
    m.ir_version = 9
    options = ort.SessionOptions()
    if THREADS:
        options.intra_op_num_threads = THREADS
    s = ort.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
    io = s.io_binding()
    value = ort.OrtValue.ortvalue_from_numpy
    values = {k: value(np.ascontiguousarray(v)) for k, v in inputs.items()}
    for k, v in values.items():
        io.bind_ortvalue_input(k, v)
    y = value(np.zeros(out, np.float32))
    io.bind_ortvalue_output("y", y)
    yield "into", [lambda: s.run_with_iobinding(io)], lambda _: y.numpy()


def measure(op, case, peer):
    """Serves the calls of a case, one after the other."""
    steps = (materialize if op == "materialize" else call)(case, peer)
    check = next(steps)
    for how, ways, array in steps:
        if not all(check(array(r) if array else r) for r in (f() for f in ways)):
            say({"how": how, "error": "wrong result"})
            continue
        say({"how": how})
        while ms := json.loads(sys.stdin.readline()).get("burst"):
            say({"times": [burst(f, ms / 1e3) for f in ways]})


def release(peer):
    """Frees the memory of the last case, so that an idle process takes none from the others."""
    if peer == "jax":
        import jax

        jax.clear_caches()
    gc.collect()


def version(peer):
    """The peer's version, or the reason why it is not available."""
    try:
        modules = [importlib.import_module(m) for m in PEERS[peer]]
    except Exception as e:
        return None, f"{type(e).__name__}: {e}"
    if peer == "torch" and THREADS:
        modules[0].set_num_threads(THREADS)
    # The first large block freed sets the threshold above which glibc returns memory to the kernel.
    # With 31 MiB, every peer reuses its pages at the mid scale, whatever ran before. main.rs does
    # the same.
    np.empty(31 << 20, np.uint8)
    return modules[0].__version__.split("-")[0], None


def say(row):
    print(json.dumps(row), flush=True)


def main():
    global THREADS
    p = argparse.ArgumentParser()
    p.add_argument("peer", choices=PEERS)
    p.add_argument("--threads", help="default: the peer's own", type=int, default=0)
    a = p.parse_args()
    THREADS = a.threads
    found, why = version(a.peer)
    say({"version": found} if found else {"missing": why})
    while found and (line := sys.stdin.readline()):
        q = json.loads(line)
        try:
            measure(q["op"], q["case"], a.peer)
        except Exception as e:
            say({"error": f"{type(e).__name__}: {e}"})
        release(a.peer)
        say({"done": True})


if __name__ == "__main__":
    main()
