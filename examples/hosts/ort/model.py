"""Writes model.onnx: y = the mean of x over H and W; x is [N, C, H, W], y is [N, C]."""

import pathlib

import onnx
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "C", "H", "W"])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "C"])
axes = helper.make_tensor("axes", TensorProto.INT64, [2], [2, 3])
mean = helper.make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=0)
graph = helper.make_graph([mean], "means", [x], [y], [axes])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, pathlib.Path(__file__).with_name("model.onnx"))
