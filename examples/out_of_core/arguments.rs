//! From the command line to what is command for.

use crate::command_line::{Failure, file, number, once, text};
use crate::rule::{RuleOptions, RuleTo, maximum, maximum_or_default, modes};
use crate::whole_file::is_dash;
use lexopt::prelude::*;
use std::path::PathBuf;

macro_rules! usage_lines {
    () => {
        "\
usage: out_of_core INPUT.npy --shape SIZES [--mode MODE] [--axes AXES] [--axis AXIS] --out FILE [--tiles N] [--tile K]
       out_of_core            (a demonstration)
       out_of_core --help"
    };
}

pub const USAGE: &str = usage_lines!();

pub const HELP: &str = concat!(
    "\
Broadcasts a .npy file to one that may be larger than memory: mapped into memory and written tile by tile.

",
    usage_lines!(),
    "

  --shape SIZES     the target shape: 2,3,4 or '(2, 3, 4)'; '' or '()' is that of a scalar
",
    modes!(),
    "  --axes AXES       1,3; explicit(1, 3) as MODE says the same
  --axis AXIS       1; pdpd(1) as MODE says the same
  --out FILE        the .npy file to write; its space is reserved first
  --tiles N         cut it into N tiles of as many elements, one more or less; 64 MiB each if not given
  --tile K          compute tile K of 0 to N - 1, and no other
  --restart         begin again: replace FILE and FILE.progress; no other process may be at work on them
  --no-map          write each tile from a buffer, without mapping FILE (so it is done where no space can be reserved)
  --max-bytes N     refuse to read more than N bytes of elements; 4294967296 if not given

FILE.progress names the job and says which tiles are done. The same command continues what was ended half-way, by
whatever; a file of another job is refused. Several processes may work on one FILE at the same time, each on tiles of its
own (--tile K): tiles are disjoint, so whatever hands out the numbers 0 to N - 1 can run them, in any order, and any of them
again. FILE gets its header, and so becomes a .npy file, when its last tile is done; FILE.progress may then be deleted.

INPUT has to fit into memory; - is standard input. Elements are f2, f4, f8, i1 to i8, u1 to u8 or b1, little- or big-endian, in
C or Fortran order; what is written is little-endian in C order.

Exit code 0 if it is done, 1 if a file or a shape does not allow it, 2 if the arguments are wrong. Nothing else may write or cut
FILE meanwhile: on most systems a process whose mapped file is cut is killed (SIGBUS).
"
);

#[derive(Debug)]
pub enum Command {
    Help,
    Demonstration,
    Broadcast(Request),
}

#[derive(Debug)]
pub struct Request {
    pub input: PathBuf,
    pub rule: RuleTo,
    pub out: PathBuf,
    pub tiles: Option<usize>,
    pub tile: Option<usize>,
    pub restart: bool,
    pub map: bool,
    /// No input is read that has more bytes.
    pub maximum: usize,
}

pub fn parse(mut parser: lexopt::Parser) -> Result<Command, Failure> {
    let mut any = false;
    let (mut input, mut out, mut tiles, mut tile) = (None, None, None, None);
    let (mut restart, mut no_map, mut bytes) = (None, None, None);
    let mut options = RuleOptions::default();
    while let Some(argument) = parser.next().map_err(Failure::usage)? {
        any = true;
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("mode") => options.mode(&mut parser)?,
            Long("shape") => options.shape(&mut parser)?,
            Long("axes") => options.axes(&mut parser)?,
            Long("axis") => options.axis(&mut parser)?,
            Long("out") => once("--out", &mut out, file("--out", &mut parser)?)?,
            Long("tiles") => once("--tiles", &mut tiles, count("--tiles", &mut parser)?)?,
            Long("tile") => once("--tile", &mut tile, count("--tile", &mut parser)?)?,
            Long("restart") => once("--restart", &mut restart, ())?,
            Long("no-map") => once("--no-map", &mut no_map, ())?,
            Long("max-bytes") => once("--max-bytes", &mut bytes, maximum(&mut parser)?)?,
            Value(path) => once("INPUT", &mut input, PathBuf::from(path))?,
            unknown => return Err(Failure::usage(unknown.unexpected())),
        }
    }
    if !any {
        return Ok(Command::Demonstration);
    }
    let input = input.ok_or_else(|| Failure::usage("INPUT.npy is missing"))?;
    let rule = options.rule_to()?;
    let out = out.ok_or_else(|| Failure::usage("--out is missing"))?;
    if is_dash(&out) {
        return Err(Failure::usage(
            "--out -: the tiles of a stream cannot be written in any order",
        ));
    }
    if tiles == Some(0) {
        return Err(Failure::usage("--tiles 0: there is at least one"));
    }
    Ok(Command::Broadcast(Request {
        input,
        rule,
        out,
        tiles,
        tile,
        restart: restart.is_some(),
        map: no_map.is_none(),
        maximum: maximum_or_default(bytes),
    }))
}

fn count(name: &str, parser: &mut lexopt::Parser) -> Result<usize, Failure> {
    number(name, &text(parser)?)
}
