//! Runs one transformer block forward and backward, and compares the output, the loss and all
//! gradients with torch's. The block has layer norms, attention with a mask, grouped queries and a
//! rotary embedding, and a gated MLP.
//!
//! ```text
//! cargo run --release --example transformer
//! cargo run --release --example transformer -- --data examples/transformer/data/multi_query
//! cargo run --release --example transformer -- --help
//! ```
//!
//! Masks, tables of angles, scales and the heads that groups of queries share are broadcast by
//! views. Maps take up to six arrays; gradients are summed in the pass that computes their terms.
//! Matrix products are ndarray's.
//!
//! | file | has |
//! |---|---|
//! | `block.rs` | the whole block, its parameters and the loss |
//! | `layer_norm.rs`, `attention.rs`, `mlp.rs` | its layers, forward and backward |
//! | `rotary.rs`, `softmax.rs` | what attention needs |
//! | `products.rs` | the matrix products |
//! | `case.rs`, `compare.rs` | reading what torch computed, comparing with it |
//! | `record.py` | records what torch computes |
//!
//! Exit code 0 on success, 1 if a file is wrong or a result differs from torch's (stderr says why),
//! 2 if the arguments are wrong.

mod arguments;
mod attention;
mod block;
mod case;
// Its options with text or a number are not used here.
#[allow(dead_code)]
#[path = "../shared/command_line.rs"]
mod command_line;
mod compare;
mod layer_norm;
mod mlp;
#[path = "../shared/npy.rs"]
mod npy;
mod products;
mod rotary;
mod run;
mod softmax;
// Its macro and most of its element types are not used here.
#[allow(unused)]
#[path = "../shared/tensor.rs"]
mod tensor;

use arguments::parse;
use command_line::{Report, exit};
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = parse(lexopt::Parser::from_env()).and_then(|asked| match asked {
        None => Report::default().print(arguments::HELP),
        Some(request) => run::run(&request),
    });
    exit(done, arguments::USAGE)
}
