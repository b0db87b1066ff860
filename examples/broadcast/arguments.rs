//! Parses the command line.

use crate::command_line::{Failure, file, once};
use crate::rule::{RuleOptions, RuleTo, maximum, maximum_or_default, modes};
use lexopt::prelude::*;
use ndarray_broadcast::ElementwiseRule;
use std::path::PathBuf;
use std::str::FromStr;

macro_rules! usage {
    () => {
        "\
usage: broadcast INPUT.npy --shape SIZES [--mode MODE] [--axes AXES] [--axis AXIS]
                 [--out FILE] [--max-bytes N]
       broadcast INPUT.npy --with OTHER.npy [--mode MODE] [--axes AXES] [--axis AXIS]
                 [--out FILE] [--out-with FILE] [--max-bytes N]
       broadcast            (a tour of the rules)
       broadcast --help"
    };
}

pub const USAGE: &str = usage!();

pub const HELP: &str = concat!(
    "\
Broadcasts a .npy file by any rule, draws the rule's plan, and writes the result as .npy.

",
    usage!(),
    "

  INPUT.npy         the array to broadcast: a file of NumPy's format .npy, of any name
  --shape SIZES     the target shape: 2,3,4 or '(2, 3, 4)'; '' or '()' is the shape of a scalar
",
    modes!(),
    "  --with OTHER.npy  broadcast INPUT and OTHER to their common shape, by one of these modes
      none              the shapes are identical
      numpy             right-aligned; sizes are equal, or either is 1
      pdpd              OTHER's first axis is axis AXIS of INPUT
      paddle            the array with fewer axes begins at axis AXIS of the other (PaddlePaddle)
      xla               AXES[i] is the axis of the larger array for axis i of the smaller
  --axes AXES       1,3; the same as --mode 'explicit(1, 3)'
  --axis AXIS       1; the same as --mode 'pdpd(1)'
  --out FILE        write the broadcast INPUT as .npy
  --out-with FILE   write the broadcast OTHER as .npy
  --max-bytes N     refuse to read or write more than N bytes of elements; default 4294967296

The file - is standard input or output; if it is an output, the report goes to standard error.
Element types are f2, f4, f8, i1 to i8, u1 to u8 and b1, little- or big-endian, in C or Fortran
order. The output is little-endian, in C order.

Exit code 0 on success, 1 if a file or a shape is wrong, 2 if the arguments are wrong.
"
);

#[derive(Debug)]
pub enum Command {
    Help,
    Tour,
    Broadcast(Request),
}

#[derive(Debug)]
pub struct Request {
    pub input: PathBuf,
    pub out: Option<PathBuf>,
    pub rule: Rule,
    /// The largest array to read or write, in bytes.
    pub maximum: usize,
}

/// A rule and its arguments.
#[derive(Debug)]
pub enum Rule {
    To(RuleTo),
    With {
        other: PathBuf,
        rule: ElementwiseRule,
        out: Option<PathBuf>,
    },
}

pub fn parse(mut parser: lexopt::Parser) -> Result<Command, Failure> {
    let mut any = false;
    let (mut input, mut other, mut out, mut out_with) = (None, None, None, None);
    let (mut options, mut bytes) = (RuleOptions::default(), None);
    while let Some(argument) = parser.next().map_err(Failure::usage)? {
        any = true;
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("mode") => options.mode(&mut parser)?,
            Long("shape") => options.shape(&mut parser)?,
            Long("axes") => options.axes(&mut parser)?,
            Long("axis") => options.axis(&mut parser)?,
            Long("out") => once("--out", &mut out, file("--out", &mut parser)?)?,
            Long("with") => once("--with", &mut other, file("--with", &mut parser)?)?,
            Long("out-with") => once(
                "--out-with",
                &mut out_with,
                file("--out-with", &mut parser)?,
            )?,
            Long("max-bytes") => once("--max-bytes", &mut bytes, maximum(&mut parser)?)?,
            Value(path) => once("INPUT", &mut input, PathBuf::from(path))?,
            unknown => return Err(Failure::usage(unknown.unexpected())),
        }
    }
    if !any {
        return Ok(Command::Tour);
    }
    let input = input.ok_or_else(|| Failure::usage("INPUT.npy is missing"))?;
    let rule = match (other, options.shape.is_some()) {
        (Some(_), true) => {
            return Err(Failure::usage(
                "--with takes no --shape: the arrays have theirs",
            ));
        }
        (None, false) => return Err(Failure::usage("--shape or --with is missing")),
        (Some(other), false) => Rule::With {
            other,
            rule: rule_with(&options)?,
            out: out_with,
        },
        (None, true) if out_with.is_some() => {
            return Err(Failure::usage("--out-with is for the array of --with"));
        }
        (None, true) => Rule::To(options.rule_to()?),
    };
    if let Rule::With {
        other, out: with, ..
    } = &rule
    {
        if input.as_os_str() == "-" && other.as_os_str() == "-" {
            return Err(Failure::usage(
                "INPUT and --with cannot both be standard input",
            ));
        }
        if with.is_some() && *with == out {
            return Err(Failure::usage("--out and --out-with are the same"));
        }
    }
    Ok(Command::Broadcast(Request {
        input,
        out,
        rule,
        maximum: maximum_or_default(bytes),
    }))
}

fn rule_with(options: &RuleOptions) -> Result<ElementwiseRule, Failure> {
    let mut rule = ElementwiseRule::from_str(options.name()).map_err(Failure::usage)?;
    match &mut rule {
        ElementwiseRule::Xla {
            broadcast_dimensions,
        } => options.fill_axes(broadcast_dimensions)?,
        ElementwiseRule::Pdpd { axis } => options.fill_axis(axis)?,
        _ => options.expect_no_axes()?,
    }
    Ok(rule)
}
