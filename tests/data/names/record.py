"""Records einops' answers in einops.json: `python record.py`.

The program is einops 0.8.2 on torch, whose `repeat` and `reshape` copy only where they must. An
answer has the output's shape and data, and for each layout of the input whether the output is a
view of it: `c` (row-major), `f` (column-major) and `gaps` (every other element of a larger array,
along each axis).
"""

import json
import pathlib
import random

import einops
import torch

NAMES = ["a", "b", "c", "d"]
FIXED = [
    ("(h w) c -> h w c", [6, 2], {"h": 2}),
    ("b (h w) c -> b h w c", [2, 6, 2], {"h": 2}),
    ("h w -> (h w)", [2, 3], {}),
    ("h w -> (h 2) w", [2, 3], {}),
    ("h w -> (h 2) (w 2)", [2, 3], {}),
    ("h w -> (2 h) w", [2, 3], {}),
    ("h w -> h w (x y)", [2, 3], {"x": 2, "y": 2}),
    ("(h w) -> h w", [7], {"h": 2}),
    ("(h w) -> h w", [7], {"h": 2, "w": 3}),
    ("(h w) -> h w", [6], {"h": 2, "w": 3}),
    ("(h w) -> h w", [6], {}),
    ("(h w) -> (h w)", [6], {"h": 2}),
    ("(h w) -> (w h)", [6], {"h": 2}),
    ("h -> (h)", [3], {}),
    ("(h) -> h", [3], {}),
    ("(h 1) -> h", [3], {}),
    ("h -> (h 1)", [3], {}),
    ("h -> (1 h 1)", [3], {}),
    ("... -> (...)", [2, 3], {}),
    ("... -> (...)", [], {}),
    ("... c -> (... c)", [2, 2, 3], {}),
    ("b ... c -> b (...) c", [2, 2, 3, 2], {}),
    ("b ... -> (b 2) ...", [1, 2], {}),
    ("(...) -> ...", [4], {}),
    ("b c (h k) (w l) -> b (c k l) h w", [1, 2, 4, 2], {"k": 2, "l": 2}),
    ("(h w) -> w h", [0], {"h": 2}),
    ("h w -> (h w)", [0, 3], {}),
    ("(h w) -> h w", [4], {"h": 0}),
    ("(h w) -> h w", [4, 1], {"h": 2}),
    ("(h w) -> h w", [4], {"h": 2, "x": 2}),
    ("((h) w) -> h w", [4], {"h": 2}),
    ("(h w -> h w", [4], {"h": 2}),
    ("h -> (h (2))", [4], {}),
]


def grouped(names, chance):
    """The names as a list of axes, some of them in groups."""
    axes = []
    for name in names:
        if axes and random.random() < chance:
            axes[-1].append(name)
        else:
            axes.append([name])
    return axes, " ".join(
        f"({' '.join(axis)})" if len(axis) > 1 or random.random() < 0.1 else axis[0]
        for axis in axes
    )


def case():
    names = random.sample(NAMES, random.randint(1, 4))
    size_of = {name: random.choice((1, 2, 2, 3)) for name in names}
    left = names + ["1"] * (random.random() < 0.15)
    if random.random() < 0.4:
        random.shuffle(left)
    axes, left = grouped(left, 0.4)
    shape, given = [], {}
    for axis in axes:
        size, free = 1, random.randrange(len(axis))
        for at, name in enumerate(axis):
            size *= size_of.get(name, 1)
            if name in size_of and len(axis) > 1 and (at != free or random.random() < 0.1):
                given[name] = size_of[name]
        shape.append(size + (random.random() < 0.04))
    new = random.sample(["x", "y"], random.choice((0, 0, 1, 1, 2)))
    given |= {name: random.choice((1, 2, 3)) for name in new}
    right = names + new + random.choice(([], [], ["2"], ["1"]))
    if random.random() < 0.6:
        right = names + new
    else:
        random.shuffle(right)
    if random.random() < 0.05 and given:
        given.pop(random.choice(list(given)))
    return f"{left} -> {grouped(right, 0.45)[1]}", shape, given


def layouts(shape):
    count = torch.Size(shape).numel()
    c = torch.arange(count).reshape(shape)
    f = torch.empty(shape[::-1], dtype=c.dtype).permute(list(range(len(shape)))[::-1])
    every_other = (slice(None, None, 2),) * len(shape)
    gaps = torch.zeros([2 * size for size in shape], dtype=c.dtype)[every_other]
    for other in (f, gaps):
        other.copy_(c)
    return {"c": c, "f": f, "gaps": gaps}


def answer(pattern, shape, sizes):
    views = {}
    for layout, x in layouts(shape).items():
        try:
            out = einops.repeat(x, pattern, **sizes)
        except (einops.EinopsError, ZeroDivisionError):
            return {"ok": False}
        views[layout] = out.data_ptr() == x.data_ptr()
    return {"ok": True, "shape": list(out.shape), "data": out.reshape(-1).tolist(), "views": views}


random.seed(46)
cases, seen = [], set()
for pattern, shape, sizes in FIXED + [case() for _ in range(800)]:
    expect = answer(pattern, shape, sizes)
    key = (pattern, tuple(shape), tuple(sorted(sizes.items())))
    if key not in seen and len(expect.get("data", ())) <= 48:
        seen.add(key)
        cases.append({"pattern": pattern, "shape": shape, "sizes": sizes, "expect": expect})
cases = cases[:300]
lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
file = pathlib.Path(__file__).with_name("einops.json")
file.write_text(f'{{"peer": "einops {einops.__version__}", "cases": [\n{lines}\n]}}\n')
ok = [case["expect"] for case in cases if case["expect"]["ok"]]
print(len(cases), len(ok), {l: sum(e["views"][l] for e in ok) for l in ("c", "f", "gaps")})
