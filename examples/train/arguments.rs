//! Parses the command line.

use crate::command_line::{Failure, file, number, once, text};
use crate::default_out::default_out;
use lexopt::prelude::*;
use std::path::PathBuf;

macro_rules! usage {
    () => {
        "usage: train [--data FILE.csv] [--hidden N] [--epochs N] [--rate R] [--seed N]
             [--out FILE.svg]
       train --help"
    };
}

pub const USAGE: &str = usage!();

pub const HELP: &str = concat!(
    "\
Trains a classifier with one hidden layer, and plots its loss.

",
    usage!(),
    "

  --data FILE.csv   a table, in a file of any name: names in the first line, the class in the last
                    column, numbers in the others; - for standard input; default: the wines in the
                    repository. One row in five is used for testing.
  --hidden N        the units of the hidden layer: 1 to 1024, default 8
  --epochs N        the steps of gradient descent, each over all rows: 1 to 100000, default 200
  --rate R          the learning rate: more than 0, default 0.2
  --seed N          the seed of the initial weights and of the test rows; default 1
  --out FILE.svg    the file of the plot; - for standard output, and the report then goes to
                    standard error; default target/train/loss.svg if the current directory has a
                    Cargo.toml, else required

Before training, it compares all gradients with finite differences.

Exit code 0 on success, 1 if a file or a gradient is wrong, 2 if the arguments are wrong.
"
);

const LARGEST_HIDDEN: usize = 1024;
const MOST_EPOCHS: usize = 100_000;

#[derive(Debug)]
pub struct Request {
    /// `None`: the wines in the repository.
    pub data: Option<PathBuf>,
    pub hidden: usize,
    pub epochs: usize,
    pub rate: f64,
    pub seed: u64,
    /// The file of the plot.
    pub out: PathBuf,
    /// Whether the folder of the plot is created if necessary.
    pub create_folder: bool,
}

/// `None` for `--help`.
pub fn parse(mut parser: lexopt::Parser) -> Result<Option<Request>, Failure> {
    let (mut data, mut hidden, mut epochs) = (None, None, None);
    let (mut rate, mut seed, mut out) = (None, None, None);
    while let Some(argument) = parser.next().map_err(Failure::usage)? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("data") => once("--data", &mut data, file("--data", &mut parser)?)?,
            Long("out") => once("--out", &mut out, file("--out", &mut parser)?)?,
            Long("hidden") => {
                let units = count("--hidden", LARGEST_HIDDEN, &text(&mut parser)?)?;
                once("--hidden", &mut hidden, units)?;
            }
            Long("epochs") => {
                let steps = count("--epochs", MOST_EPOCHS, &text(&mut parser)?)?;
                once("--epochs", &mut epochs, steps)?;
            }
            Long("rate") => once(
                "--rate",
                &mut rate,
                positive("--rate", &text(&mut parser)?)?,
            )?,
            Long("seed") => once("--seed", &mut seed, number("--seed", &text(&mut parser)?)?)?,
            unknown => return Err(Failure::usage(unknown.unexpected())),
        }
    }
    let create_folder = out.is_none();
    let out = match out {
        Some(path) => path,
        None => default_out("train")?.join("loss.svg"),
    };
    Ok(Some(Request {
        data,
        hidden: hidden.unwrap_or(8),
        epochs: epochs.unwrap_or(200),
        rate: rate.unwrap_or(0.2),
        seed: seed.unwrap_or(1),
        out,
        create_folder,
    }))
}

fn count(name: &str, most: usize, text: &str) -> Result<usize, Failure> {
    let count = number(name, text)?;
    match (1..=most).contains(&count) {
        true => Ok(count),
        false => Err(Failure::usage(format!(
            "{name} is {count}, not 1 to {most}"
        ))),
    }
}

fn positive(name: &str, text: &str) -> Result<f64, Failure> {
    (text.trim().parse().ok())
        .filter(|value: &f64| value.is_finite() && *value > 0.)
        .ok_or_else(|| Failure::usage(format!("{name}: {text:?} is no number above 0")))
}
