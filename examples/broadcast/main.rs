//! Broadcasts a `.npy` file by any rule: draws what the rule does, and writes the result as `.npy`.
//!
//! ```text
//! cargo run --release --example broadcast                  # a tour of the rules over the arrays in the repository
//! cargo run --release --example broadcast -- bias.npy --mode explicit --shape 8,3,32,32 --axes 1 --out out.npy
//! cargo run --release --example broadcast -- --help
//! ```
//!
//! Exit code 0 if it is done, 1 if a file or a shape does not allow it (stderr says why), 2 if the arguments are wrong.

mod arguments;
mod failure;
#[path = "../shared/npy.rs"]
mod npy;
mod run;
#[path = "../shared/tensor.rs"]
mod tensor;
mod tour;
mod write;

use arguments::{Asked, parse};
use failure::Failure;
use run::{Report, run};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = parse(lexopt::Parser::from_env()).and_then(|asked| match asked {
        Asked::Help => Report::default().print(arguments::HELP),
        Asked::Tour => tour::run(),
        Asked::Broadcast(request) => run(&request),
    });
    let (code, message) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(problem)) => (2, format!("{problem}\n\n{}", arguments::USAGE)),
        Err(Failure::Data(problem)) => (1, problem),
        Err(Failure::Closed) => return ExitCode::from(1),
    };
    // Nobody reads any longer if this fails, and so nobody is to be told.
    let _ = writeln!(std::io::stderr(), "error: {message}");
    ExitCode::from(code)
}
