//! Parses the command line.

use crate::command_line::{Failure, file, number, once, text};
use crate::default_out::default_out;
use lexopt::prelude::*;
use std::path::PathBuf;

macro_rules! usage {
    () => {
        "usage: image [INPUT.png] [--tile N] [--out DIR]
       image --help"
    };
}

pub const USAGE: &str = usage!();

pub const HELP: &str = concat!(
    "\
Normalises a picture, darkens its corners and arranges variants of it on a contact sheet.

",
    usage!(),
    "

  INPUT.png         a PNG of at most 16777216 pixels, or - for standard input; default: a picture
                    that the example draws. Transparency becomes white, 16 bits become 8, of an
                    animation the first frame is used.
  --tile N          the largest side of a picture on the sheet, in pixels: 1 to 512, default 160
  --out DIR         the directory of the four pictures, created if necessary; default
                    target/image if the current directory has a Cargo.toml, else required
      input.png         the input
      normalised.png    every channel with mean 0.5 and the same deviation
      vignette.png      the normalised picture with dark corners
      sheet.png         small copies of the vignette, in 3 exposures and 4 tints

Exit code 0 on success, 1 if a file is wrong, 2 if the arguments are wrong.
"
);

const LARGEST_TILE: usize = 512;

#[derive(Debug)]
pub struct Request {
    /// `None`: the picture that the example draws.
    pub input: Option<PathBuf>,
    /// The longest side of a picture on the sheet.
    pub tile: usize,
    pub out: PathBuf,
}

/// `None` for `--help`.
pub fn parse(mut parser: lexopt::Parser) -> Result<Option<Request>, Failure> {
    let (mut input, mut tile, mut out) = (None, None, None);
    while let Some(argument) = parser.next().map_err(Failure::usage)? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("tile") => {
                let pixels = number("--tile", &text(&mut parser)?)?;
                once("--tile", &mut tile, pixels)?;
            }
            Long("out") => once("--out", &mut out, file("--out", &mut parser)?)?,
            Value(path) => once("INPUT", &mut input, PathBuf::from(path))?,
            unknown => return Err(Failure::usage(unknown.unexpected())),
        }
    }
    let tile = tile.unwrap_or(160);
    if !(1..=LARGEST_TILE).contains(&tile) {
        return Err(Failure::usage(format!(
            "--tile is {tile}, not 1 to {LARGEST_TILE}"
        )));
    }
    let out = out.map_or_else(|| default_out("image"), Ok)?;
    Ok(Some(Request { input, tile, out }))
}
