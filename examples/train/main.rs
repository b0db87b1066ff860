//! Trains a small network to tell three wines apart by their chemistry, and plots how it learns. Every bias, scale and
//! normalisation is a broadcast; every gradient of one is the sum that goes back through it.
//!
//! ```text
//! cargo run --release --example train                           # the wines in the repository; draws target/train/loss.svg
//! cargo run --release --example train -- --data flowers.csv --hidden 16 --plot flowers.svg
//! cargo run --release --example train -- --help
//! ```
//!
//! What to copy is in `network.rs`; `table.rs` reads and normalises the data, `wine.md` says where they come from.
//!
//! Exit code 0 if it is done, 1 if a file does not allow it or a gradient is wrong (stderr says why), 2 if the arguments are
//! wrong.

mod arguments;
mod check;
#[path = "../shared/command_line.rs"]
mod command_line;
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
