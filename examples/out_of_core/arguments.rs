//! Parses the command line.

use crate::command_line::{Failure, file, number, once, text};
use crate::default_out::default_out;
use crate::rule::{RuleOptions, RuleTo, maximum, maximum_or_default, modes};
use crate::whole_file::is_dash;
use lexopt::prelude::*;
use std::path::PathBuf;

macro_rules! usage_lines {
    () => {
        "\
usage: out_of_core INPUT.npy --shape SIZES [--mode MODE] [--axes AXES] [--axis AXIS] --out FILE
                   [--tile-bytes N] [--tile K] [--restart] [--no-map] [--max-bytes N]
       out_of_core [--out DIR]            (a demonstration)
       out_of_core --help"
    };
}

pub const USAGE: &str = usage_lines!();

pub const HELP: &str = concat!(
    "\
Broadcasts a .npy file to one that may be larger than memory. The output is memory-mapped and
written tile by tile.

",
    usage_lines!(),
    "

  --shape SIZES     the target shape: 2,3,4 or '(2, 3, 4)'; '' or '()' is the shape of a scalar
",
    modes!(),
    "  --axes AXES       1,3; the same as --mode 'explicit(1, 3)'
  --axis AXIS       1; the same as --mode 'pdpd(1)'
  --out FILE        the .npy file to write; its disk space is reserved first
  --out DIR         without other arguments: where the demonstration writes demo_bias.npy and 64 MiB
                    to demo_big.npy, created if necessary; default target/out_of_core if the current
                    directory has a Cargo.toml, else required
  --tile-bytes N    divide the output into tiles of at most N bytes, or of one element; default
                    67108864
  --tile K          write only tile K, counted from 0 in the order of the file
  --restart         start again: replace FILE and FILE.progress, which no other process may use
  --no-map          write each tile from a buffer, without mapping FILE; this is also what happens
                    where disk space cannot be reserved, and on big-endian processors
  --max-bytes N     refuse to read more than N bytes of elements; default 4294967296

FILE.progress holds the job's description and which tiles are done. After an interruption of any
kind, the same command continues. The file of another job is an error. Several processes may write
one FILE at the same time, each its own tiles (--tile K). Tiles are disjoint: they may run in any
order, on any scheduler, and more than once. When its last tile is done, FILE gets its header and
so becomes a .npy file. FILE.progress may then be deleted.

INPUT must fit into memory; - is standard input. Element types are f2, f4, f8, i1 to i8, u1 to u8
and b1, little- or big-endian, in C or Fortran order. The output is little-endian, in C order.

Exit code 0 on success, 1 if a file or a shape is wrong, 2 if the arguments are wrong. Nothing else
may write or truncate FILE meanwhile: most systems kill a process whose mapped file is truncated
(SIGBUS).
"
);

#[derive(Debug)]
pub enum Command {
    Help,
    /// In this folder.
    Demonstration(PathBuf),
    Broadcast(Request),
}

#[derive(Debug)]
pub struct Request {
    pub input: PathBuf,
    pub rule: RuleTo,
    pub out: PathBuf,
    pub tile_bytes: Option<usize>,
    pub tile: Option<usize>,
    pub restart: bool,
    pub map: bool,
    /// The largest input to read, in bytes.
    pub maximum: usize,
}

pub fn parse(mut parser: lexopt::Parser) -> Result<Command, Failure> {
    let mut demonstration = true;
    let (mut input, mut out, mut tile_bytes, mut tile) = (None, None, None, None);
    let (mut restart, mut no_map, mut bytes) = (None, None, None);
    let mut options = RuleOptions::default();
    while let Some(argument) = parser.next().map_err(Failure::usage)? {
        demonstration &= matches!(argument, Long("out"));
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("mode") => options.mode(&mut parser)?,
            Long("shape") => options.shape(&mut parser)?,
            Long("axes") => options.axes(&mut parser)?,
            Long("axis") => options.axis(&mut parser)?,
            Long("out") => once("--out", &mut out, file("--out", &mut parser)?)?,
            Long("tile-bytes") => {
                let bytes = count("--tile-bytes", &mut parser)?;
                once("--tile-bytes", &mut tile_bytes, bytes)?;
            }
            Long("tile") => once("--tile", &mut tile, count("--tile", &mut parser)?)?,
            Long("restart") => once("--restart", &mut restart, ())?,
            Long("no-map") => once("--no-map", &mut no_map, ())?,
            Long("max-bytes") => once("--max-bytes", &mut bytes, maximum(&mut parser)?)?,
            Value(path) => once("INPUT", &mut input, PathBuf::from(path))?,
            unknown => return Err(Failure::usage(unknown.unexpected())),
        }
    }
    if demonstration {
        let folder = out.map_or_else(|| default_out("out_of_core"), Ok)?;
        return Ok(Command::Demonstration(folder));
    }
    let input = input.ok_or_else(|| Failure::usage("INPUT.npy is missing"))?;
    let rule = options.rule_to()?;
    let out = out.ok_or_else(|| Failure::usage("--out is missing"))?;
    if is_dash(&out) {
        return Err(Failure::usage(
            "--out -: a stream cannot be written in tiles",
        ));
    }
    if tile_bytes == Some(0) {
        return Err(Failure::usage(
            "--tile-bytes 0: a tile has at least one element",
        ));
    }
    Ok(Command::Broadcast(Request {
        input,
        rule,
        out,
        tile_bytes,
        tile,
        restart: restart.is_some(),
        map: no_map.is_none(),
        maximum: maximum_or_default(bytes),
    }))
}

fn count(name: &str, parser: &mut lexopt::Parser) -> Result<usize, Failure> {
    number(name, &text(parser)?)
}
