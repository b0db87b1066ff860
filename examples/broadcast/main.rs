//! Broadcasts a `.npy` file by any rule, draws the rule's plan, and writes the result as `.npy`.
//!
//! ```text
//! # A tour of the rules, on the arrays in data/:
//! cargo run --release --example broadcast
//! cargo run --release --example broadcast -- examples/broadcast/data/row.npy --mode explicit \
//!     --shape 8,3,32,32 --axes 1 --out target/channels.npy
//! cargo run --release --example broadcast -- --help
//! ```
//!
//! Exit code 0 on success, 1 if a file or a shape is wrong (stderr says why), 2 if the arguments
//! are wrong.

mod arguments;
#[path = "../shared/command_line.rs"]
mod command_line;
#[path = "../shared/npy.rs"]
mod npy;
#[path = "../shared/npy_file.rs"]
mod npy_file;
#[path = "../shared/npy_header.rs"]
mod npy_header;
#[path = "../shared/rule.rs"]
mod rule;
mod run;
#[path = "../shared/tensor.rs"]
mod tensor;
mod tour;
#[path = "../shared/whole_file.rs"]
mod whole_file;
mod write;

use arguments::{Command, parse};
use command_line::{Report, exit};
use run::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = parse(lexopt::Parser::from_env()).and_then(|command| match command {
        Command::Help => Report::default().print(arguments::HELP),
        Command::Tour => tour::run(),
        Command::Broadcast(request) => run(&request),
    });
    exit(done, arguments::USAGE)
}
