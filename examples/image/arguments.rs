//! From the command line to what is asked for.

use crate::command_line::{Failure, file, number, once, text};
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
Normalises a picture, darkens its corners and lays variants of it out as a contact sheet.

",
    usage!(),
    "

  INPUT.png         a PNG of at most 16777216 pixels, - for standard input; a picture that the example draws if none is given.
                    Transparent parts are laid on white; 16 bits become 8; of an animation the first picture is taken.
  --tile N          how many pixels long the longer side of a picture on the sheet may be: 1 to 512, 160 if not given
  --out DIR         where the four pictures go, target/image if not given; it is made if it is not there
      input.png         what went in
      normalised.png    every channel with mean 0.5 and the same deviation
      vignette.png      that with dark corners
      sheet.png         that, small, 3 exposures of 4 tints

Exit code 0 if it is done, 1 if a file does not allow it, 2 if the arguments are wrong.
"
);

const LARGEST_TILE: usize = 512;

#[derive(Debug)]
pub struct Request {
    /// None: the picture that the example draws.
    pub input: Option<PathBuf>,
    /// The longer side of a picture on the sheet, at most.
    pub tile: usize,
    pub out: PathBuf,
}

/// None: help is asked for.
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
    let out = out.unwrap_or_else(|| PathBuf::from("target/image"));
    let tile = tile.unwrap_or(160);
    if !(1..=LARGEST_TILE).contains(&tile) {
        return Err(Failure::usage(format!(
            "--tile is {tile}, not 1 to {LARGEST_TILE}"
        )));
    }
    Ok(Some(Request { input, tile, out }))
}
