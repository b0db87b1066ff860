#!/usr/bin/env python3
"""Records the strides of new arrays of NumPy's elementwise operations: order_k.txt.

    python3 tests/data/order_k.py >tests/data/order_k.txt

Each line has a shape, the order of the axes of two arrays in memory, outermost first, the axes that
the second array replicates, and the strides of the sum, in elements.
"""
import itertools
import numpy as np


def laid_out(shape, order, replicated):
    sizes = [1 if axis in replicated else size for axis, size in enumerate(shape)]
    memory = np.zeros([sizes[axis] for axis in order], np.float32)
    return np.broadcast_to(memory.transpose(np.argsort(order)), shape)


def text(numbers):
    return ",".join(map(str, numbers)) or "-"


for shape in [(3, 4), (1, 4), (4, 3, 5), (2, 1, 3), (3, 4, 2, 5)]:
    axes = range(len(shape))
    masks = [set(c) for n in axes for c in itertools.combinations(axes, n)]
    for mask in masks if len(shape) < 4 else [set(), {0, 2}]:
        for a, b in itertools.product(itertools.permutations(axes), repeat=2):
            total = laid_out(shape, a, set()) + laid_out(shape, b, mask)
            strides = [stride // 4 for stride in total.strides]
            print(*map(text, [shape, a, b, sorted(mask), strides]))
