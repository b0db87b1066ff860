//! Writes a broadcast larger than memory: a memory-mapped `.npy` file, tile by tile.
//!
//! ```text
//! # A demonstration: 64 MiB in target/out_of_core in the folder of a cargo project, checked:
//! cargo run --release --example out_of_core
//! cargo run --release --example out_of_core -- bias.npy --mode explicit \
//!     --shape 4096,64,512,512 --axes 1 --out big.npy
//! cargo run --release --example out_of_core -- --help
//! ```
//!
//! After an interruption of any kind, the same command continues. `--tile K` writes one tile. Tiles
//! may be written in any order, by several processes at the same time.
//!
//! Exit code 0 on success, 1 if a file or a shape is wrong (stderr says why), 2 if the arguments
//! are wrong.

mod arguments;
#[path = "../shared/command_line.rs"]
mod command_line;
#[path = "../shared/default_out.rs"]
mod default_out;
mod demonstration;
mod job;
#[path = "../shared/npy.rs"]
mod npy;
#[path = "../shared/npy_file.rs"]
mod npy_file;
#[path = "../shared/npy_header.rs"]
mod npy_header;
mod out_file;
mod progress;
#[path = "../shared/rule.rs"]
mod rule;
mod run;
#[path = "../shared/tensor.rs"]
mod tensor;
#[path = "../shared/whole_file.rs"]
mod whole_file;

use arguments::{Command, parse};
use command_line::{Report, exit};
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = parse(lexopt::Parser::from_env()).and_then(|command| match command {
        Command::Help => Report::default().print(arguments::HELP),
        Command::Demonstration(folder) => demonstration::run(&folder),
        Command::Broadcast(request) => run::run(&request),
    });
    exit(done, arguments::USAGE)
}
