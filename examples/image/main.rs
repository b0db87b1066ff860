//! Normalises a PNG, darkens its corners and arranges variants of it on a contact sheet: three
//! broadcasts, four pictures.
//!
//! ```text
//! # A picture that it draws, written to target/image in the folder of a cargo project:
//! cargo run --release --example image
//! cargo run --release --example image -- photo.png --out dir
//! cargo run --release --example image -- --help
//! ```
//!
//! `steps.rs` has the broadcasts; `draw.rs` has more of them.
//!
//! Exit code 0 on success, 1 if a file is wrong (stderr says why), 2 if the arguments are wrong.

mod arguments;
#[path = "../shared/command_line.rs"]
mod command_line;
#[path = "../shared/default_out.rs"]
mod default_out;
mod draw;
mod files;
#[path = "../shared/read_bytes.rs"]
mod read_bytes;
mod run;
mod steps;
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
