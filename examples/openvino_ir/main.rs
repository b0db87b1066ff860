//! Runs OpenVINO models with broadcasting layers, and compares the output with OpenVINO's. Checks
//! the shapes that any OpenVINO model declares.
//!
//! ```text
//! cargo run --example openvino_ir                              # the models in tests/data/ir
//! cargo run --example openvino_ir -- tests/data/ir/chain.xml   # models of your own
//! cargo run --example openvino_ir -- --check MODEL.xml         # any model
//! ```
//!
//! A model that runs is `NAME.xml`, `NAME.bin` (the constants), `NAME.in0.npy`, `NAME.in1.npy`, ...
//! (the inputs) and `NAME.out.npy` (OpenVINO's output). `--help` lists the layers that it may have.
//!
//! Exit code 0 if every output equals OpenVINO's or no shape differs, 1 if one differs or a file is
//! wrong (one line on stderr says why), 2 if the arguments are wrong.

mod attributes;

mod cli;
mod compare;
mod convert;
mod elementwise;
mod graph;
mod infer;
mod layers;
mod model;
#[path = "../shared/npy.rs"]
mod npy;
mod parse;
mod reduce;
mod reshape;
mod run;
mod select;
mod shapes;
#[path = "../shared/tensor.rs"]
mod tensor;
mod values;
mod weights;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let (out, err) = (std::io::stdout(), std::io::stderr());
    ExitCode::from(cli::run(&arguments, &mut out.lock(), &mut err.lock()))
}
