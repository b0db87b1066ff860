//! The example programs, run as processes, and some of their modules. `cargo test` builds all example
//! programs of the workspace before it runs this one.

mod example;
mod npy_bytes;
#[path = "../../tests/common/process.rs"]
mod process;

// Modules that the examples share.
#[allow(dead_code)]
#[path = "../shared/command_line.rs"]
mod command_line;
#[path = "../shared/npy.rs"]
mod npy;
#[path = "../shared/tensor.rs"]
mod tensor;

// Modules of `openvino_ir`.
#[path = "../openvino_ir/attributes.rs"]
mod attributes;
#[path = "../openvino_ir/cli.rs"]
mod cli;
#[path = "../openvino_ir/compare.rs"]
mod compare;
#[path = "../openvino_ir/convert.rs"]
mod convert;
#[path = "../openvino_ir/elementwise.rs"]
mod elementwise;
#[path = "../openvino_ir/graph.rs"]
mod graph;
#[path = "../openvino_ir/infer.rs"]
mod infer;
#[path = "../openvino_ir/layers.rs"]
mod layers;
#[path = "../openvino_ir/model.rs"]
mod model;
#[path = "../openvino_ir/parse.rs"]
mod parse;
#[path = "../openvino_ir/reduce.rs"]
mod reduce;
#[path = "../openvino_ir/reshape.rs"]
mod reshape;
#[path = "../openvino_ir/run.rs"]
mod run;
#[path = "../openvino_ir/select.rs"]
mod select;
#[path = "../openvino_ir/shapes.rs"]
mod shapes;
#[path = "../openvino_ir/values.rs"]
mod values;
#[path = "../openvino_ir/weights.rs"]
mod weights;

// Modules of `train`.
#[path = "../train/check.rs"]
mod check;
#[allow(dead_code)]
#[path = "../train/network.rs"]
mod network;
#[allow(dead_code)]
#[path = "../train/random.rs"]
mod random;

// Modules of `transformer`.
#[path = "../transformer/attention.rs"]
mod attention;
#[path = "../transformer/block.rs"]
mod block;
#[path = "../transformer/layer_norm.rs"]
mod layer_norm;
#[path = "../transformer/mlp.rs"]
mod mlp;
#[path = "../transformer/products.rs"]
mod products;
#[path = "../transformer/rotary.rs"]
mod rotary;
#[path = "../transformer/softmax.rs"]
mod softmax;

// The tests of each example.
mod broadcast;
mod image;
mod openvino_ir;
mod out_of_core;
mod train;
mod transformer;
