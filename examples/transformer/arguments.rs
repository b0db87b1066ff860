//! Parses the command line.

use crate::command_line::{Failure, file, once};
use lexopt::prelude::*;
use std::path::PathBuf;

macro_rules! usage {
    () => {
        "usage: transformer [--data FOLDER]
       transformer --help"
    };
}

pub const USAGE: &str = usage!();

pub const HELP: &str = concat!(
    "\
Runs one transformer block forward and backward, and compares it with torch.

",
    usage!(),
    "

  --data FOLDER   one recorded block, a file NAME.npy for each tensor, as record.py beside the
                  example's source writes them; default: each one in the repository

It prints the largest difference to torch of the output, the loss, and the gradient of the input and
of each parameter. The tolerance is relative to the largest entry of the tensor.

Exit code 0 on success, 1 if a file is wrong or a difference is above the tolerance, 2 if the
arguments are wrong.
"
);

#[derive(Debug)]
pub struct Request {
    /// `None`: the folders in the repository.
    pub data: Option<PathBuf>,
}

/// `None` for `--help`.
pub fn parse(mut parser: lexopt::Parser) -> Result<Option<Request>, Failure> {
    let mut data = None;
    while let Some(argument) = parser.next().map_err(Failure::usage)? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("data") => once("--data", &mut data, file("--data", &mut parser)?)?,
            unknown => return Err(Failure::usage(unknown.unexpected())),
        }
    }
    Ok(Some(Request { data }))
}
