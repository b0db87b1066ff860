//! Trains a small network to classify three wines by their chemical analysis, and plots its loss.
//! Every bias, scale and normalisation is a broadcast. The gradient of each is a sum.
//!
//! ```text
//! # The wines in the repository; draws target/train/loss.svg in the folder of a cargo project:
//! cargo run --release --example train
//! cargo run --release --example train -- --data flowers.csv --hidden 16 --out flowers.svg
//! cargo run --release --example train -- --help
//! ```
//!
//! `network.rs` has the broadcasts and gradients. `table.rs` reads and normalises the data.
//! `wine.md` names the source of the data.
//!
//! Exit code 0 on success, 1 if a file or a gradient is wrong (stderr says why), 2 if the arguments
//! are wrong.

mod arguments;
mod check;
#[path = "../shared/command_line.rs"]
mod command_line;
#[path = "../shared/default_out.rs"]
mod default_out;
mod network;
mod plot;
mod random;
#[path = "../shared/read_bytes.rs"]
mod read_bytes;
mod run;
mod table;
#[path = "../shared/whole_file.rs"]
mod whole_file;

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
