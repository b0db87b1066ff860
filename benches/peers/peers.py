#!/usr/bin/env python3
"""Times the Python peers on cases.json.

Prints one JSON line for each (op, scale, case, peer, how): the median and the minimum in ms.

    python3 -m venv .venv
    .venv/bin/pip install numpy jax openvino onnx onnxruntime torch   # all, or numpy and some
    .venv/bin/python peers.py [--ops materialize,...] [--scales small,mid,big]
                              [--peers numpy,torch,...] [--cases ...]

A peer that is not installed is left out. 'fresh' allocates its output, 'into' writes into an
existing buffer. Freeing a fresh output is not timed, except at the small scale, where calls are
timed in batches. Every result is checked before its time is reported.

With --serve, requests come on standard input, one JSON object {"op", "scale", "case", "reps"} a
line. After the rows of each comes {"done": true}. compare.py runs one such process for each peer.
"""
import argparse
import gc
import importlib
import json
import math
import os
import pathlib
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
REPS = {"small": 201, "mid": 1001, "big": 9}
BATCH = {"small": 32, "mid": 1, "big": 1}
BUDGET = 2.0  # seconds for one measurement; a slower call gets fewer repetitions, at least 3
THREADS = 0  # 0: the peer's default


def timed(f, scale, reps):
    batch = BATCH[scale]
    r = f()
    del r
    samples, end = [], time.perf_counter() + BUDGET
    for i in range(reps or REPS[scale]):
        if i >= 3 and time.perf_counter() > end:
            break
        t = time.perf_counter()
        for _ in range(batch):
            r = f()
        samples.append((time.perf_counter() - t) / batch)
        del r
    samples.sort()
    return samples[len(samples) // 2] * 1e3, samples[0] * 1e3


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
    at = sample(expected.shape)
    want = expected[at]

    def check(got):
        got = np.asarray(got)
        return got.shape == expected.shape and np.allclose(got[at], want, rtol=rtol, atol=0)

    return check


# Each operation first yields a function that checks a result as a NumPy array. Then it yields (how,
# the call to time, a function that converts the call's result to a NumPy array or None).


def materialize(case, peer):
    out = case["out"]
    x = source(case)
    xv = np.expand_dims(x, tuple(i for i in range(len(out)) if i not in case["axes"]))
    transpose = bool(case.get("transpose"))
    yield is_expected(np.broadcast_to(xv, out), 0)
    if peer == "numpy":
        yield "fresh", lambda: np.broadcast_to(xv, out).copy(), None
        buf = np.zeros(out, np.float32)
        yield "into", lambda: np.copyto(buf, xv), lambda _: buf
    if peer == "torch":
        import torch

        t = torch.from_numpy(np.array(xv, order="K", copy=True))
        yield "fresh", lambda: t.expand(out).contiguous(), None
        to = torch.zeros(out)
        yield "into", lambda: to.copy_(t.expand(out)), None
    if peer == "jax" and case["in"]:  # a scalar's time is wrong: the call returns at once
        import jax
        import jax.numpy as jnp

        src = jnp.asarray(np.ascontiguousarray(x.T if transpose else x))
        f = jax.jit(lambda a: jax.lax.broadcast_in_dim(a.T if transpose else a, out, case["axes"]))
        yield "fresh", lambda: f(src).block_until_ready(), None
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


def elementwise_add(case, peer):
    a = np.random.default_rng(0).random(case["a"], np.float32)
    b = np.random.default_rng(1).random(case["b"], np.float32)
    b = b.reshape(aligned(case["b"], case["b_axes"], len(case["a"])))
    shape = np.broadcast_shapes(a.shape, b.shape)
    at = sample(shape)
    want = np.broadcast_to(a, shape)[at] + np.broadcast_to(b, shape)[at]
    same = lambda got: got.shape == shape and np.array_equal(got[at], want)
    yield lambda got: same(np.asarray(got))
    if peer == "numpy":
        yield "fresh", lambda: a + b, None
        buf = np.zeros(shape, np.float32)
        yield "into", lambda: np.add(a, b, out=buf), None
    if peer == "torch":
        import torch

        ta, tb = torch.from_numpy(a), torch.from_numpy(b)
        yield "fresh", lambda: ta + tb, None
        to = torch.zeros(tuple(shape))
        yield "into", lambda: torch.add(ta, tb, out=to), None
    if peer == "jax":
        import jax
        import jax.numpy as jnp

        ja, jb = jnp.asarray(a), jnp.asarray(b)
        f = jax.jit(lambda x, y: x + y)
        yield "fresh", lambda: f(ja, jb).block_until_ready(), None
    if peer == "openvino":
        import openvino as ov
        import openvino.opset13 as op

        ps = [op.parameter(list(v.shape), dtype=np.float32) for v in (a, b)]
        yield from openvino_into(ov, ps, op.add(*ps), [a, b], shape)
    if peer == "onnxruntime":
        yield from onnxruntime_into("Add", {"a": a, "b": b}, shape, 14)


def gradient_sum(case, peer):
    x = np.random.default_rng(0).random(case["in"], np.float32)
    axes = tuple(case["sum"])
    # The error of a plain float32 sum is about 1e-3 here. That of a wrong axis is much larger.
    yield is_expected(np.asarray(x.sum(axes, dtype=np.float64)), 1e-2)
    if peer == "numpy":
        yield "fresh", lambda: x.sum(axes), None
    if peer == "torch":
        import torch

        t = torch.from_numpy(x)
        yield "fresh", lambda: t.sum(axes), None
    if peer == "jax":
        import jax
        import jax.numpy as jnp

        j = jnp.asarray(x)
        f = jax.jit(lambda v: v.sum(axes))
        yield "fresh", lambda: f(j).block_until_ready(), None
    shape = [n for i, n in enumerate(case["in"]) if i not in axes]
    if peer == "openvino":
        import openvino as ov
        import openvino.opset13 as op

        p = op.parameter(list(x.shape), dtype=np.float32)
        sums = op.reduce_sum(p, np.array(axes, np.int64), False)
        yield from openvino_into(ov, [p], sums, [x], shape)
    if peer == "onnxruntime":
        inputs = {"x": x, "axes": np.array(axes, np.int64)}
        yield from onnxruntime_into("ReduceSum", inputs, shape, 13, keepdims=0)


def models(case, peer):
    call, kind = case["call"], {"u8": "uint8", "i64": "int64", "f64": "float64"}
    kind = kind.get(case.get("type"), "float32")
    made = lambda shape: (np.arange(math.prod(shape)) % 13 + 1).astype(kind).reshape(shape)
    arrays = [made(case[name]) for name in ("a", "b") if name in case]
    axes, order = tuple(case.get("axes", ())), case.get("permute", list(range(len(case["a"]))))
    out = case.get("out") or [case["a"][i] for i in order]
    total = np.int64 if kind == "uint8" else kind  # sums of u8 are kept in i64

    def calls(module):
        """The calls of NumPy, and of JAX, which has NumPy's names. NumPy's take `out`."""
        return {
            "add": module.add,
            "sub": module.subtract,
            "mul": module.multiply,
            "sum": lambda a, **to: module.sum(a, axes, dtype=total, keepdims=True, **to),
            "max": lambda a, **to: module.max(a, axes, keepdims=True, **to),
        }

    if call == "copy":
        fresh = lambda a: np.broadcast_to(a.transpose(order), out).copy()
        into = lambda a, out: np.copyto(out, a.transpose(order))
    else:
        fresh = into = calls(np)[call]
    expected = fresh(*arrays)
    yield is_expected(expected, 1e-2 if call == "sum" else 0)
    if peer == "numpy":
        yield "fresh", lambda: fresh(*arrays), None
        to = np.zeros_like(expected)
        yield "into", lambda: into(*arrays, out=to), lambda _: to
    if peer == "torch":
        import torch

        if call == "copy":
            kept = torch.contiguous_format  # a copy, even if the source is contiguous
            fresh = lambda a: a.permute(order).expand(out).clone(memory_format=kept)
            into = lambda a, out: out.copy_(a.permute(order))
        else:
            fresh = into = {
                "add": torch.add,
                "sub": torch.sub,
                "mul": torch.mul,
                "sum": lambda a, **to: torch.sum(a, axes, keepdim=True, **to),
                "max": lambda a, **to: torch.amax(a, axes, keepdim=True, **to),
            }[call]
        tensors = [torch.from_numpy(a) for a in arrays]
        yield "fresh", lambda: fresh(*tensors), None
        to = torch.from_numpy(np.zeros_like(expected))
        yield "into", lambda: into(*tensors, out=to), None
    if peer == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp

        copy = lambda a: jnp.broadcast_to(a.transpose(order), out)
        f = jax.jit(copy if call == "copy" else calls(jnp)[call])
        sources = [jnp.asarray(a) for a in arrays]
        yield "fresh", lambda: f(*sources).block_until_ready(), None


OPS = {
    "materialize": materialize,
    "elementwise_add": elementwise_add,
    "gradient_sum": gradient_sum,
    "models": models,
}


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
    yield "into", lambda: request.infer(share_inputs=True, share_outputs=True), lambda _: to.data


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
    yield "into", lambda: s.run_with_iobinding(io), lambda _: y.numpy()


def rows(op, scale, case, peer, reps):
    steps = OPS[op](case, peer)
    check = next(steps)
    for how, f, array in steps:
        row = {"op": op, "scale": scale, "case": case["name"], "peer": peer, "how": how}
        got = f()
        right = check(array(got) if array else got)
        del got
        if not right:
            yield {**row, "error": "wrong result"}
            continue
        med, low = timed(f, scale, reps)
        yield {**row, "median_ms": round(med, 6), "min_ms": round(low, 6)}


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


def serve(cases, peer):
    for line in sys.stdin:
        q = json.loads(line)
        case = next(c for c in cases[q["op"]][q["scale"]] if c["name"] == q["case"])
        try:
            for row in rows(q["op"], q["scale"], case, peer, q.get("reps")):
                say(row)
        except Exception as e:
            say({**q, "peer": peer, "error": f"{type(e).__name__}: {e}"})
        release(peer)
        say({"done": True})


def main():
    global THREADS
    raw = argparse.RawDescriptionHelpFormatter
    p = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    p.add_argument("--ops", default=",".join(OPS))
    p.add_argument("--scales", default="small,mid,big")
    p.add_argument("--peers", default=",".join(PEERS))
    p.add_argument("--cases", default="")
    add = lambda name, text, **kind: p.add_argument(name, help=text, **kind)
    add("--reps", "repetitions of each call; default: by scale", type=int)
    add("--threads", "threads of each peer; default: the peer's own", type=int, default=0)
    add("--serve", "one peer; requests come on standard input", action="store_true")
    a = p.parse_args()
    THREADS = a.threads
    cases = json.loads((pathlib.Path(__file__).parent / "cases.json").read_text())
    only = [c for c in a.cases.split(",") if c]
    for peer in a.peers.split(","):
        found, why = version(peer)
        if a.serve or why:
            say({"peer": peer, "version": found} if found else {"peer": peer, "missing": why})
        if not found:
            continue
        if a.serve:
            return serve(cases, peer)
        for op in a.ops.split(","):
            for scale in (s for s in cases[op] if s in a.scales.split(",")):
                for case in cases[op][scale]:
                    if not only or case["name"] in only:
                        for row in rows(op, scale, case, peer, a.reps):
                            say(row)
                        release(peer)


if __name__ == "__main__":
    main()
