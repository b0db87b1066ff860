//! Runs OpenVINO models whose layers broadcast, and compares with OpenVINO's own output.
//!
//! ```text
//! cargo run --example openvino_ir                              # the models in tests/data/ir
//! cargo run --example openvino_ir -- tests/data/ir/chain.xml   # any others
//! ```
//!
//! Beside `NAME.xml` are `NAME.bin` (the constants), `NAME.in0.npy`, `NAME.in1.npy`, ... (what goes in) and `NAME.out.npy`
//! (what OpenVINO computed). Layers: `Broadcast` of every operation set, and `Add`, `Subtract`, `Multiply`, `Divide`,
//! `Maximum`, `Minimum` under `auto_broadcast` `none`, `numpy` and `pdpd`.
//!
//! Exit code 0 if every output is OpenVINO's, 1 if one is not or a file is broken (one line on stderr says how), 2 if the
//! arguments are wrong.

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
