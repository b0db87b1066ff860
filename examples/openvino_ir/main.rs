//! Runs OpenVINO models with broadcasting layers, and compares the output with OpenVINO's.
//!
//! ```text
//! cargo run --example openvino_ir                              # the models in tests/data/ir
//! cargo run --example openvino_ir -- tests/data/ir/chain.xml   # models of your own
//! ```
//!
//! A model is `NAME.xml`, `NAME.bin` (the constants), `NAME.in0.npy`, `NAME.in1.npy`, ... (the
//! inputs) and `NAME.out.npy` (OpenVINO's output). Supported layers: `Broadcast` of every operation
//! set, and `Add`, `Subtract`, `Multiply`, `Divide`, `Maximum`, `Minimum` under `auto_broadcast`
//! `none`, `numpy` and `pdpd`.
//!
//! Exit code 0 if every output equals OpenVINO's, 1 if one differs or a file is wrong (one line on
//! stderr says why), 2 if the arguments are wrong.

mod cli;
mod compare;
mod model;
#[path = "../shared/npy.rs"]
mod npy;
mod run;
#[path = "../shared/tensor.rs"]
mod tensor;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let (out, err) = (std::io::stdout(), std::io::stderr());
    ExitCode::from(cli::run(&arguments, &mut out.lock(), &mut err.lock()))
}
