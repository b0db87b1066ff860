"""Records ONNX's own tests of the operators that broadcast or reduce in nodes.json beside this
file: `python record.py`, with the package `onnx`.

A case is [name, operator, attributes, inputs, output]. A tensor is [type, shape, values]: values
are in row-major order, those of bool are digits, and numbers that JSON does not have are strings.
Cases that are left out stand below their reason.
"""

import json
import math
import pathlib
import warnings

import numpy as np
import onnx
from onnx.backend.test.case import node

OPERATORS = set(
    "Add Sub Mul Div Pow Mod BitShift BitwiseAnd BitwiseOr BitwiseXor And Or Xor Equal Greater "
    "GreaterOrEqual Less LessOrEqual Max Min Mean Sum Where PRelu Expand ArgMax ArgMin".split()
)
EXPANDED = "another case, with its operator replaced by the operators that define it"


def number(value):
    if isinstance(value, np.floating):
        # The shortest decimal that is rounded to the value. Halves are read as they are.
        value = float(value) if value.dtype == np.float16 else float(str(value))
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, str) else int(value)


def tensor(array):
    kind = "string" if array.dtype == object else str(array.dtype)
    values = [number(value) for value in array.ravel()]
    return [kind, array.shape, "".join(map(str, values)) if kind == "bool" else values]


def attribute(value):
    value = onnx.helper.get_attribute_value(value)
    return value.decode() if isinstance(value, bytes) else value


def record(case):
    (of_case,) = case.model.graph.node
    ((inputs, (output,)),) = case.data_sets
    attributes = {value.name: attribute(value) for value in of_case.attribute}
    inputs = [tensor(value) for value in inputs]
    return [case.name, of_case.op_type, attributes, inputs, tensor(output)]


def main():
    warnings.simplefilter("ignore")
    np.random.seed(14)
    cases, left_out, expanded = [], {EXPANDED: []}, "_expanded"
    for case in node.collect_testcases(None):
        operator = case.model.graph.node[0].op_type
        if case.name.endswith(expanded):
            # The case itself precedes it.
            if any(case.name.removesuffix(expanded) == name for name, *_ in cases):
                left_out[EXPANDED].append(case.name)
        elif operator in OPERATORS or operator.startswith("Reduce"):
            cases.append(record(case))
    compact = {"separators": (",", ":")}
    lines = ",\n".join(json.dumps(case, **compact) for case in cases)
    version, left_out = json.dumps(f"onnx {onnx.__version__}"), json.dumps(left_out, indent=0)
    path = pathlib.Path(__file__).with_name("nodes.json")
    path.write_text(f'{{"from": {version}, "cases": [\n{lines}\n], "left_out": {left_out}}}\n')


main()
