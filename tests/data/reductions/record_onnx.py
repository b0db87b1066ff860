"""Records the cases of ONNX's own tests of reductions in onnx.json beside this file: `python
record_onnx.py`, with the package `onnx`.

A case is [name, operator, shape, axes, last, terms, answer's shape, answer]. `last` says whether of
equal terms the last is meant. Numbers that JSON does not have are strings.
"""

import json
import math
import pathlib
import warnings

import numpy as np
import onnx
from onnx.backend.test.case import node


def number(value):
    value = value.item()
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def main():
    warnings.simplefilter("ignore")
    np.random.seed(14)
    cases = []
    for case in node.collect_testcases(None):
        operator = case.model.graph.node[0].op_type
        if case.name.endswith("_expanded") or not operator.startswith(("Reduce", "ArgM")):
            continue
        attributes = {a.name: a.i for a in case.model.graph.node[0].attribute}
        inputs, (answer,) = case.data_sets[0]
        terms = inputs[0]
        if operator.startswith("Arg"):
            axes = [attributes.get("axis", 0)]
        else:
            axes = list(inputs[1]) if len(inputs) > 1 else []
            if not axes and not attributes.get("noop_with_empty_axes", 0):
                axes = range(terms.ndim)
        axes = sorted(int(axis) % terms.ndim for axis in axes)
        cases.append([
            case.name.removeprefix("test_"),
            operator,
            terms.shape,
            axes,
            bool(attributes.get("select_last_index", 0)),
            [number(value) for value in terms.ravel()],
            answer.shape,
            [number(value) for value in answer.ravel()],
        ])
    lines = ",\n".join(json.dumps(case) for case in cases)
    heading = json.dumps(f"onnx {onnx.__version__}")
    path = pathlib.Path(__file__).with_name("onnx.json")
    path.write_text(f'{{"from": {heading}, "cases": [\n{lines}\n]}}\n')


main()
