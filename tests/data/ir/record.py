"""Writes the models of the layers beside Broadcast and their outputs: `python record.py`.

Needs the packages openvino 2026.4.1 and numpy. The models in `check` are not run: their declared
shapes are compared with the inferred ones.
"""

import re
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset1, opset13 as op

FOLDER = Path(__file__).parent
RANDOM = np.random.default_rng(46)
# Small whole numbers, so that sums are exact in any order.
FLOATS = lambda *shape: RANDOM.integers(-9, 9, shape).astype(np.float32)


def parameter(shape, element_type=np.float32):
    return op.parameter(ov.PartialShape(shape), element_type)


def model_of(name, results, parameters):
    """A model whose names do not depend on what was built before."""
    model = ov.Model(results, parameters, name)
    for position, node in enumerate(model.get_ordered_ops()):
        if re.search(r"_\d+$", node.get_friendly_name()):
            node.set_friendly_name(f"{node.get_type_name()}_{position}")
    return model


def save(name, result, parameters):
    model = model_of(name, result if isinstance(result, list) else [result], parameters)
    ov.save_model(model, FOLDER / f"{name}.xml", compress_to_fp16=False)
    return model


def record(name, result, edit=(), **inputs):
    """`inputs` are the parameters' names in order; each is a pair of parameter and array. `edit`
    are texts of the file to replace."""
    parameters = [parameter for parameter, _ in inputs.values()]
    arrays = [array for _, array in inputs.values()]
    for key, parameter in zip(inputs, parameters):
        parameter.set_friendly_name(key)
    model = save(name, result, parameters)
    precise = {"INFERENCE_PRECISION_HINT": "f32"}
    if edit:
        path = FOLDER / f"{name}.xml"
        text = path.read_text()
        for old, new in edit:
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text)
        model = ov.Core().read_model(path)
    if any(parameter.get_partial_shape().rank.is_dynamic for parameter in parameters):
        # OpenVINO runs no model whose ranks are unknown.
        model.reshape({n: list(array.shape) for n, array in enumerate(arrays)})
    output = ov.Core().compile_model(model, "CPU", precise)(arrays)[0]
    for position, array in enumerate(arrays):
        np.save(FOLDER / f"{name}.in{position}.npy", array)
    np.save(FOLDER / f"{name}.out.npy", output)


def select():
    a, b = parameter([-1, 3]), parameter([-1, 1])
    mask = op.greater(a, b)
    record("select", op.select(mask, a, np.float32(0)), a=(a, FLOATS(4, 3)), b=(b, FLOATS(4, 1)))
    mask, a, b = parameter([3], bool), parameter([2, 3, 4]), parameter([3, 4])
    layer = op.select(op.unsqueeze(mask, np.array([1])), a, b)
    # Python cannot set the axis of pdpd.
    pdpd = 'auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="-1"'
    mask = (mask, np.array([True, False, True]))
    inputs = {"mask": mask, "a": (a, FLOATS(2, 3, 4)), "b": (b, FLOATS(3, 4))}
    record("select_pdpd", layer, edit=[('auto_broadcast="numpy"', pdpd)], **inputs)


def prelu():
    a, slope = parameter([2, 3, 3]), parameter([3])
    slopes = (slope, np.array([2, 4, 8], np.float32))
    record("prelu_channels", op.prelu(a, slope), a=(a, FLOATS(2, 3, 3)), slope=slopes)
    a, slope = parameter([-1, 2, 3]), parameter([1, -1, 3])
    slopes = (slope, np.array([[[2, 4, 8]]], np.float32))
    record("prelu_numpy", op.prelu(a, slope), a=(a, FLOATS(2, 2, 3)), slope=slopes)


def reductions():
    for kind, axes, keep in [
        ("sum", [1], True),
        ("mean", [-1, 0], False),
        ("prod", [2], False),
        ("max", [0], True),
        ("min", [0, 2], False),
        ("l1", [1, 2], True),
        ("l2", [-2], False),
    ]:
        a = parameter([2, -1, 4])
        layer = getattr(op, f"reduce_{kind}")(a, np.array(axes, np.int64), keep)
        values = FLOATS(2, 4, 4)
        if kind == "l2":
            values = np.tile(np.array([1, -1, 1, 1], np.float32)[:, None], (2, 1, 4)) * 3
        record(f"reduce_{kind}", layer, a=(a, values))
    for kind, axes, keep in [("logical_and", -1, False), ("logical_or", 0, True)]:
        a = parameter([-1, 3], bool)
        layer = getattr(op, f"reduce_{kind}")(a, np.array(axes, np.int32), keep)
        record(f"reduce_{kind}", layer, a=(a, RANDOM.random((2, 3)) < 0.7))
    a = parameter([2, 3], np.int32)
    layer = op.reduce_sum(a, np.array([0, 1]), False)
    record("reduce_sum_i32", layer, a=(a, RANDOM.integers(-99, 99, (2, 3)).astype(np.int32)))


def shapes():
    a, like = parameter([-1, 1]), parameter([-1, "2..7", -1])
    layer = op.broadcast(a, op.shape_of(like, output_type="i32"))
    record("broadcast_to_shape_of", layer, a=(a, FLOATS(3, 1)), like=(like, FLOATS(2, 3, 4)))
    a = parameter([3, -1])
    sizes = op.convert(op.convert(op.shape_of(a), "f32"), "i64")
    target = op.squeeze(op.unsqueeze(sizes, np.array([0])), np.array([0]))
    layer = op.broadcast(op.constant(np.float32(7)), target)
    record("broadcast_to_converted", layer, a=(a, FLOATS(3, 2)))
    a, constant = parameter([-1, 3]), op.constant(FLOATS(1, 3, 2))
    reshaped = op.reshape(constant, np.array([-1, 0]), True)
    layer = op.add(op.unsqueeze(a, np.array([-2])), op.unsqueeze(reshaped, np.array([0])))
    record("reshape", layer, a=(a, FLOATS(2, 3)))
    a = op.parameter(ov.PartialShape.dynamic(), np.float32)
    layer = op.subtract(op.squeeze(a, np.array([0])), op.constant(FLOATS(3)))
    record("unknown_rank", layer, a=(a, FLOATS(1, 2, 3)))


def converts():
    a = parameter([-1])
    values = np.array([-2.75, -0.5, 0, 0.5, 100.25, 7], np.float32)
    record("convert_to_i32", op.convert(a, "i32"), a=(a, values))
    a = parameter([-1], np.int64)
    record("convert_to_f16", op.convert(a, "f16"), a=(a, np.array([-3, 0, 2049, 7])))
    a = parameter([-1], bool)
    record("convert_of_bool", op.convert(a, "u8"), a=(a, np.array([True, False])))


def comparisons():
    a, b = parameter([-1, 2]), parameter([2])
    inside = op.logical_and(op.less_equal(a, b), op.not_equal(a, np.float32(1)))
    outside = op.logical_xor(inside, op.greater_equal(a, np.float32(3)))
    values = np.array([[1, 2], [3, 4], [0, -5]], np.float32)
    record("comparisons", outside, a=(a, values), b=(b, np.array([2, 3], np.float32)))
    a, b = parameter([2, 1]), parameter([1, 3])
    layer = op.squared_difference(a, b)
    record("squared_difference", layer, a=(a, FLOATS(2, 1)), b=(b, FLOATS(1, 3)))


def checks():
    # Every elementwise layer, of partly known shapes.
    a, b = parameter([-1, 1, "2..5"], np.int32), parameter(["3..", "1..4"], np.int32)
    p, q = parameter([-1, 4], bool), parameter([1], bool)
    x, y, z = parameter([-1, 3, 1]), parameter([3, -1]), parameter([-1, 2])
    integers = "add subtract multiply divide maximum minimum mod floor_mod squared_difference"
    integers += " power equal not_equal greater greater_equal less less_equal"
    integers += " bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift"
    layers = [getattr(ov.opset15, name)(a, b) for name in integers.split()]
    layers += [getattr(op, f"logical_{name}")(p, q) for name in ("and", "or", "xor")]
    layers += [
        op.select(p, op.constant(np.ones((1, 1), np.float32)), y),
        op.fake_quantize(x, np.float32(0), np.ones((3, 1), np.float32), x, np.float32(1), 16),
        op.matmul(x, y, True, False),
        op.matmul(x, parameter_of(y), False, True),
        op.reduce_max(x, op.shape_of(z), True),
        op.reduce_max(x, op.shape_of(z), False),
    ]
    save("check/elementwise", layers, [a, b, p, q, x, y, z])

    # Values that follow from shapes.
    x = parameter([-1, 3, -1, 5])
    shape = op.shape_of(x)
    entry = lambda at: op.gather(shape, np.array([at]), np.int64(0))
    target = op.concat([entry(0), op.multiply(entry(1), np.array([2])), entry(-1)], 0)
    start, end, stride = (np.array([at]) for at in (1, 4, 2))
    part = op.strided_slice(shape, start, end, stride, [0], [0])
    reverse = op.slice(shape, np.array([-1]), np.array([-3]), np.array([-1]))
    one = op.constant(np.float32(1))
    expanded = op.select(op.equal(target, np.int64(6)), np.int64(1), op.abs(target))
    layers = [op.broadcast(one, value) for value in (target, part, reverse, expanded)]
    layers.append(op.broadcast(one, op.reduce_prod(part, np.array([0]), True)))
    layers.append(op.broadcast(np.ones(3, np.float32), shape, np.array([1]), "explicit"))
    layers.append(op.broadcast(np.ones((1, 3, 1, 1), np.float32), shape, None, "bidirectional"))
    layers.append(opset1.broadcast(np.ones((5,), np.float32), shape))
    save("check/values", layers, [x])

    # Bodies of If and Loop.
    condition, x, y = parameter([], bool), parameter([-1, 3]), parameter([1, 3])
    layer = op.if_op(condition)
    for add_body, function in [("set_then_body", op.add), ("set_else_body", op.multiply)]:
        a, b = parameter([-1, 3]), parameter([1, 3])
        result = op.result(function(a, b))
        getattr(layer, add_body)(model_of("body", [result], [a, b]))
        bodies = (a, b, result) if add_body == "set_then_body" else bodies + (a, b, result)
    layer.set_input(x.output(0), bodies[0], bodies[3])
    layer.set_input(y.output(0), bodies[1], bodies[4])
    output = layer.set_output(bodies[2], bodies[5])
    save("check/bodies", [op.result(op.add(output, y))], [condition, x, y])


def parameter_of(y):
    """A matrix that depends on `y`."""
    return op.reshape(y, np.array([3, -1, 1]), False)


(FOLDER / "check").mkdir(exist_ok=True)
for step in (select, prelu, reductions, shapes, converts, comparisons, checks):
    step()
