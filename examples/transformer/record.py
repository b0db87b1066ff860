"""Records one transformer block in `data` beside this file, forward and backward: `python
record.py`, with the package `torch`. The recorded files are those of torch 2.15.0 on the CPU.

Each folder of `data` is a case. `NAME.npy` is an input or a parameter, in `f64`, or the mask
`keep`, in `bool`. `out.npy` and `loss.npy` are results. `d_NAME.npy` is the gradient of the loss
with respect to `NAME`. block.rs and the files of its layers name the shapes.
"""

import math
import pathlib
import shutil

import numpy as np
import torch
import torch.nn.functional as F

SEED = 14
EPSILON = 1e-5
BASE = 10000.0

# For each sequence one character for each token: 1 is kept, 0 is padding. The first is kept.
CASES = {
    "grouped_query": dict(
        keep=["1111111", "1111100"], model=16, heads=2, group=2, head=4, hidden=24
    ),
    "multi_query": dict(
        keep=["11111", "10110", "10000"], model=12, heads=1, group=3, head=6, hidden=10
    ),
}


def rotary(x):
    """Rotates each pair of `x[.., j]` and `x[.., j + D / 2]`; `x` is [B, T, heads, D]."""
    tokens, half = x.shape[1], x.shape[3] // 2
    frequency = BASE ** -(torch.arange(half, dtype=torch.float64) / half)
    angle = torch.outer(torch.arange(tokens, dtype=torch.float64), frequency)
    angle = torch.cat([angle, angle], -1)[:, None, :]
    x1, x2 = x.split(half, -1)
    return x * angle.cos() + torch.cat([-x2, x1], -1) * angle.sin()


def block(p, keep):
    """The output of the block, [B, T, M]."""
    x = p["x"]
    batch, tokens, model = x.shape
    n = F.layer_norm(x, [model], p["scale_1"], p["shift_1"], EPSILON)
    q = rotary(torch.tensordot(n, p["w_q"], 1).flatten(2, 3))
    k = rotary(torch.tensordot(n, p["w_k"], 1))
    v = torch.tensordot(n, p["w_v"], 1)
    mask = keep[:, None, None, :] & torch.ones(tokens, tokens, dtype=torch.bool).tril()
    q, k, v = (a.transpose(1, 2) for a in (q, k, v))
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    attended = attended.transpose(1, 2).flatten(2)
    x = x + attended @ p["w_o"].flatten(0, 2)
    n = F.layer_norm(x, [model], p["scale_2"], p["shift_2"], EPSILON)
    return x + (F.silu(n @ p["w_gate"]) * (n @ p["w_up"])) @ p["w_down"]


def record(folder, keep, model, heads, group, head, hidden):
    keep = torch.tensor([[token == "1" for token in row] for row in keep])

    def normal(*shape, mean=0.0, deviation=1.0):
        return mean + deviation * torch.randn(*shape, dtype=torch.float64)

    def weight(*shape, inputs):
        return normal(*shape, deviation=1 / math.sqrt(inputs))

    p = {
        "x": normal(*keep.shape, model, mean=0.5, deviation=2.0),
        "scale_1": normal(model, mean=1.0, deviation=0.3),
        "shift_1": normal(model, deviation=0.3),
        "w_q": weight(model, heads, group, head, inputs=model),
        "w_k": weight(model, heads, head, inputs=model),
        "w_v": weight(model, heads, head, inputs=model),
        "w_o": weight(heads, group, head, model, inputs=heads * group * head),
        "scale_2": normal(model, mean=1.0, deviation=0.3),
        "shift_2": normal(model, deviation=0.3),
        "w_gate": weight(model, hidden, inputs=model),
        "w_up": weight(model, hidden, inputs=model),
        "w_down": weight(hidden, model, inputs=hidden),
    }
    target = normal(*p["x"].shape)
    for tensor in p.values():
        tensor.requires_grad_()
    out = block(p, keep)
    loss = ((out - target)[keep] ** 2).mean()
    loss.backward()

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arrays = dict(p, keep=keep, target=target, out=out, loss=loss)
    arrays.update((f"d_{name}", tensor.grad) for name, tensor in p.items())
    for name, tensor in arrays.items():
        np.save(folder / f"{name}.npy", np.asarray(tensor.detach().numpy(), order="C"))


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    for name, case in CASES.items():
        record(pathlib.Path(__file__).with_name("data") / name, **case)


main()
