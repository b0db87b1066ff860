"""Records NumPy's answers to reductions in numpy.json beside this file: `python record.py`.

A case is [operation, type, shape, axes, terms, answer]. Axes are kept as size 1. Numbers that JSON
does not have are strings. The answer to a reduction that NumPy refuses is "error".
"""

import itertools
import json
import math
import pathlib
import random
import warnings

import numpy as np

SHAPES = [(), (1,), (5,), (17,), (0,), (2, 3), (3, 0), (0, 2), (4, 1, 3), (2, 3, 4), (2, 0, 3), (2, 2, 3, 2)]
OPERATIONS = {
    "sum": np.sum,
    "product": np.prod,
    "max": np.max,
    "min": np.min,
    "nanmax": np.nanmax,
    "nanmin": np.nanmin,
    "mean": np.mean,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "all": np.all,
    "any": np.any,
}


def number(value):
    value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return "-0.0" if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0 else value


def reduced(operation, terms, axes):
    """The answer, whose reduced axes have size 1."""
    if operation in ("argmax", "argmin"):
        # NumPy takes one axis: the axes as one, in their order.
        kept = [axis for axis in range(terms.ndim) if axis not in axes]
        together = terms.transpose(kept + list(axes))
        together = together.reshape([terms.shape[axis] for axis in kept] + [math.prod(terms.shape[axis] for axis in axes)])
        return OPERATIONS[operation](together, axis=-1)
    return OPERATIONS[operation](terms, axis=tuple(axes), keepdims=True)


def main():
    random.seed(14)
    warnings.simplefilter("ignore")
    cases = []
    for shape in SHAPES:
        for count in range(len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                for operation in OPERATIONS:
                    types = ["bool"] if operation in ("all", "any") else ["float64", "int64"]
                    if operation in ("nanmax", "nanmin", "mean"):
                        types.remove("int64")
                    for kind in random.sample(types, 1):
                        # Few values, so that there are ties. Their sums and products are exact.
                        values = [-2, -1, 0, 1, 2, 3]
                        if kind == "bool":
                            values = [False, True, True] if operation == "all" else [False, False, True]
                        elif kind != "int64":
                            values += [-0.0, 0.5]
                            if operation not in ("sum", "product", "mean"):
                                values += [math.nan, math.inf, -math.inf]
                            elif random.random() < 0.3:
                                values += [math.nan]
                        size = math.prod(shape)
                        terms = np.array([random.choice(values) for _ in range(size)], kind).reshape(shape)
                        try:
                            answer = [number(value) for value in np.ravel(reduced(operation, terms, axes))]
                        except ValueError:
                            answer = "error"
                        terms = [number(value) for value in terms.ravel()]
                        cases.append([operation, kind, shape, axes, terms, answer])
    lines = ",\n".join(json.dumps(case) for case in cases)
    heading = json.dumps(f"NumPy {np.__version__}")
    path = pathlib.Path(__file__).with_name("numpy.json")
    path.write_text(f'{{"from": {heading}, "cases": [\n{lines}\n]}}\n')


main()
