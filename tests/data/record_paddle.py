"""Records PaddlePaddle's answers in conformance/elementwise_paddle.json: `python record_paddle.py`.

The program is paddle 3.3.1 on a CPU. Where an operand reaches past the end of the other one, it
writes past the end of its list of sizes. So each case runs in a process of its own.
"""

import itertools
import json
import multiprocessing
import os
import pathlib
import random
import re
import warnings

warnings.simplefilter("ignore")

import numpy as np
import paddle

SECONDS = 20
OPERATIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum}
OVERHANG = "the operand of smaller rank reaches past the end of the other one"
EMPTY = "an operand is empty, and the axis is below -1"


def overhangs(a, b, axis):
    small, rank = sorted((len(a), len(b)))
    return a != b and 0 <= axis < rank < axis + small


def pairs(rank_a, rank_b, axis):
    """Two pairs of shapes that mostly fit, and one whose sizes are independent."""
    small, rank = sorted((rank_a, rank_b))
    start = rank - small
    if small < rank and axis != -1:
        start = axis if axis >= 0 else max(axis + rank, 0)
    for fits in (True, True, False):
        large = [random.choice((0, 1, 2, 3)) if random.random() < 0.6 else 2 for _ in range(rank)]
        low = [random.choice((0, 1, 2, 3)) for _ in range(small)]
        for at in range(small):
            if fits and start + at < rank:
                low[at] = large[start + at]
                shape = random.choice((large, low, None))
                if shape is not None and random.random() < 0.5:
                    shape[at + (start if shape is large else 0)] = 1
            elif fits:
                low[at] = 1
        yield (tuple(low), tuple(large)) if rank_a < rank_b else (tuple(large), tuple(low))


def run(a, b, op, axis, pipe):
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    a, b = paddle.to_tensor(a), paddle.to_tensor(b)
    try:
        out = getattr(paddle._legacy_C_ops, f"elementwise_{op}")(a, b, "axis", axis).numpy()
        pipe.send({"ok": True, "shape": list(out.shape), "data": out.ravel().tolist()})
    except Exception as error:
        why = re.search(r"Error: (.*)|\(\w+\) (.*)", str(error))
        pipe.send({"ok": False, "why": (why[1] or why[2]).split(" (at ")[0] if why else ""})


def answer(*call):
    """The program's answer, or how it ended."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=run, args=(*call, theirs))
    process.start()
    theirs.close()
    try:
        result = ours.recv() if ours.poll(SECONDS) else None
    except EOFError:
        result = None
    process.join(SECONDS)
    if process.exitcode is None:
        process.kill()
        return "hangs"
    return result if process.exitcode == 0 else "crashes"


def main():
    random.seed(33)
    calls = {}
    for rank_a, rank_b, axis in itertools.product(range(5), range(5), range(-3, 5)):
        for a, b in pairs(rank_a, rank_b, axis):
            calls.setdefault((a, b, axis))
    lines = []
    for number, ((a, b, axis), op) in enumerate(zip(calls, itertools.cycle(OPERATIONS))):
        left = np.arange(np.prod(a, dtype=int)).reshape(a)
        right = 100 * np.arange(1, 1 + np.prod(b, dtype=int)).reshape(b)
        found = answer(left, right, op, axis)
        case = {
            "id": f"p-elementwise_paddle-{number:03}",
            "rule": "elementwise_paddle",
            "dtype": "i64",
            "input_shape": a,
            "input": "iota",
            "args": {"op": op, "rhs_shape": b, "rhs": right.ravel().tolist(), "axis": axis},
        }
        note = None
        if overhangs(a, b, axis) and (type(found) is str or found["ok"]):
            note = OVERHANG
        elif a != b and axis < -1 and 0 in a + b and type(found) is dict and found["ok"]:
            note = EMPTY
        assert note or type(found) is dict, (a, b, axis, found)
        if note:
            case |= {"tag": "disputed", "expect": {"ok": False}}
            case |= {"disputed": True, "peer": found, "note": note}
        else:
            case |= {"tag": "ok" if found["ok"] else "error", "expect": found}
        lines.append("  " + json.dumps(case, separators=(",", ":")))
    head = {
        "rule": "elementwise_paddle",
        "set": "public",
        "peer": f"PaddlePaddle {paddle.__version__} (CPU), elementwise_add, _sub, _mul and _max "
        "with the attribute axis",
        "count": len(lines),
    }
    text = "{\n" + "".join(f" {json.dumps(k)}: {json.dumps(v)},\n" for k, v in head.items())
    text += ' "cases": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    file = pathlib.Path(__file__).parent / "conformance" / "elementwise_paddle.json"
    file.write_text(text)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main()
