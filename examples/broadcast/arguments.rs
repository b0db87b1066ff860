//! From the command line to what is asked for.

use crate::command_line::{Failure, file, number, once, text};
use lexopt::prelude::*;
use ndarray_broadcast::{
    BroadcastError, BroadcastMode, ElementwiseRule, axes_from_integers, expand_shape_from_integers,
    shape_from_integers,
};
use std::path::PathBuf;
use std::str::FromStr;

macro_rules! usage {
    () => {
        "\
usage: broadcast INPUT.npy --shape SIZES [--mode MODE] [--axes AXES] [--axis AXIS] [--out FILE]
       broadcast INPUT.npy --with OTHER.npy [--mode MODE] [--axes AXES] [--axis AXIS] [--out FILE] [--out-with FILE]
       broadcast            (a tour of the rules)
       broadcast --help"
    };
}

pub const USAGE: &str = usage!();

pub const HELP: &str = concat!(
    "\
Broadcasts a .npy file by any rule: draws what the rule does, and writes the result as .npy.

",
    usage!(),
    "

  --shape SIZES     the target shape: 2,3,4 or '(2, 3, 4)'; '' or '()' is that of a scalar
  --mode MODE       how INPUT is broadcast to it; numpy if none is given
      numpy             right-aligned, sizes are equal or INPUT's is 1
      bidirectional     as numpy, and 1s of SIZES replicate too (ONNX Expand)
      explicit          axis i of INPUT feeds axis AXES[i] (OpenVINO)
      broadcast_axes    AXES are the new axes, the others are INPUT's (nGraph)
      in_dim            axis i of INPUT feeds axis AXES[i] (XLA BroadcastInDim)
      in_dim_permuting  the same, AXES in any order (StableHLO broadcast_in_dim)
      pdpd              INPUT is laid on SIZES from AXIS on; -1, the default, right-aligns (PaddlePaddle)
      expand            as numpy, and a size of -1 keeps INPUT's (torch)
      prepend           SIZES are put in front (XlaBuilder Broadcast)
  --with OTHER.npy  broadcast two arrays with each other instead, by one of these modes
      none              the shapes are identical
      numpy             right-aligned, sizes are equal or either is 1
      pdpd              OTHER is laid on INPUT from AXIS on
      xla               AXES are the axes of the larger that those of the smaller are lined up with
  --axes AXES       1,3; explicit(1, 3) as MODE says the same
  --axis AXIS       1; pdpd(1) as MODE says the same
  --out FILE        write INPUT's broadcast as .npy
  --out-with FILE   write OTHER's
  --max-bytes N     refuse to read or write more than N bytes of elements; 4294967296 if not given

A FILE of - is standard input or output; the report then goes to standard error. Elements are f2, f4, f8, i1 to i8, u1 to
u8 or b1, little- or big-endian, in C or Fortran order; what is written is little-endian in C order.

Exit code 0 if it is done, 1 if a file or a shape does not allow it, 2 if the arguments are wrong.
"
);

const DEFAULT_MAXIMUM: u64 = 4 << 30;

#[derive(Debug)]
pub enum Asked {
    Help,
    Tour,
    Broadcast(Request),
}

#[derive(Debug)]
pub struct Request {
    pub input: PathBuf,
    pub out: Option<PathBuf>,
    pub rule: Rule,
    /// No array is read or written that has more bytes.
    pub maximum: usize,
}

/// A rule and all that it takes.
#[derive(Debug)]
pub enum Rule {
    Mode(BroadcastMode, Vec<usize>),
    Prepend(Vec<usize>),
    With {
        other: PathBuf,
        rule: ElementwiseRule,
        out: Option<PathBuf>,
    },
}

pub fn parse(mut parser: lexopt::Parser) -> Result<Asked, Failure> {
    let mut any = false;
    let (mut input, mut mode, mut shape, mut axes, mut axis) = (None, None, None, None, None);
    let (mut out, mut other, mut out_with, mut maximum) = (None, None, None, None);
    while let Some(argument) = parser.next().map_err(Failure::usage)? {
        any = true;
        match argument {
            Short('h') | Long("help") => return Ok(Asked::Help),
            Long("mode") => once("--mode", &mut mode, text(&mut parser)?)?,
            Long("shape") => once("--shape", &mut shape, list("--shape", &text(&mut parser)?)?)?,
            Long("axes") => once("--axes", &mut axes, list("--axes", &text(&mut parser)?)?)?,
            Long("axis") => once("--axis", &mut axis, number("--axis", &text(&mut parser)?)?)?,
            Long("out") => once("--out", &mut out, file("--out", &mut parser)?)?,
            Long("with") => once("--with", &mut other, file("--with", &mut parser)?)?,
            Long("out-with") => once(
                "--out-with",
                &mut out_with,
                file("--out-with", &mut parser)?,
            )?,
            Long("max-bytes") => {
                let bytes = number::<u64>("--max-bytes", &text(&mut parser)?)?;
                once("--max-bytes", &mut maximum, bytes)?;
            }
            Value(path) => once("INPUT", &mut input, PathBuf::from(path))?,
            unknown => return Err(Failure::usage(unknown.unexpected())),
        }
    }
    if !any {
        return Ok(Asked::Tour);
    }
    let input = input.ok_or_else(|| Failure::usage("INPUT.npy is missing"))?;
    let mode = Named::new(mode.as_deref().unwrap_or("numpy"), axes, axis);
    let rule = match (other, shape) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage(
                "--with takes no --shape: the arrays have theirs",
            ));
        }
        (None, None) => return Err(Failure::usage("--shape or --with is missing")),
        (Some(other), None) => Rule::With {
            other,
            rule: mode.rule_with()?,
            out: out_with,
        },
        (None, Some(_)) if out_with.is_some() => {
            return Err(Failure::usage("--out-with is for the array of --with"));
        }
        (None, Some(shape)) => mode.rule_to(&shape)?,
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
    Ok(Asked::Broadcast(Request {
        input,
        out,
        rule,
        maximum: usize::try_from(maximum.unwrap_or(DEFAULT_MAXIMUM)).unwrap_or(usize::MAX),
    }))
}

/// A mode's name with what `--axes` and `--axis` add to it.
struct Named<'a> {
    name: &'a str,
    axes: Option<Vec<i64>>,
    axis: Option<isize>,
}

impl<'a> Named<'a> {
    fn new(name: &'a str, axes: Option<Vec<i64>>, axis: Option<isize>) -> Self {
        Named { name, axes, axis }
    }

    fn rule_to(self, sizes: &[i64]) -> Result<Rule, Failure> {
        if self.name.trim().eq_ignore_ascii_case("prepend") {
            let sizes = shape_from_integers(sizes).map_err(Failure::data)?;
            return self.takes_none().map(|()| Rule::Prepend(sizes));
        }
        let mut mode = BroadcastMode::from_str(self.name).map_err(|error| match error {
            BroadcastError::UnknownName {
                kind,
                name,
                expected,
                ..
            } => Failure::usage(format!(
                "unknown {kind} {name:?}: expected prepend, {expected}"
            )),
            error => Failure::usage(error),
        })?;
        match &mut mode {
            BroadcastMode::Explicit { axes_mapping: axes }
            | BroadcastMode::BroadcastAxes {
                broadcast_axes: axes,
            }
            | BroadcastMode::InDim {
                broadcast_dimensions: axes,
            }
            | BroadcastMode::InDimPermuting {
                broadcast_dimensions: axes,
            } => {
                self.fill_axes(axes)?;
            }
            BroadcastMode::Pdpd { axis } => self.fill_axis(axis)?,
            _ => self.takes_none()?,
        }
        let shape = match mode {
            BroadcastMode::Expand => expand_shape_from_integers(sizes),
            _ => shape_from_integers(sizes),
        };
        Ok(Rule::Mode(mode, shape.map_err(Failure::data)?))
    }

    fn rule_with(self) -> Result<ElementwiseRule, Failure> {
        let mut rule = ElementwiseRule::from_str(self.name).map_err(Failure::usage)?;
        match &mut rule {
            ElementwiseRule::Xla {
                broadcast_dimensions,
            } => self.fill_axes(broadcast_dimensions)?,
            ElementwiseRule::Pdpd { axis } => self.fill_axis(axis)?,
            _ => self.takes_none()?,
        }
        Ok(rule)
    }

    fn takes_none(self) -> Result<(), Failure> {
        match (&self.axes, self.axis) {
            (None, None) => Ok(()),
            (Some(_), _) => Err(self.refuses("--axes")),
            _ => Err(self.refuses("--axis")),
        }
    }

    fn fill_axes(self, axes: &mut Vec<usize>) -> Result<(), Failure> {
        match (&self.axes, self.axis) {
            (_, Some(_)) => Err(self.refuses("--axis")),
            (Some(_), None) if self.name.contains('(') => Err(self.has("--axes")),
            (Some(given), None) => {
                *axes = axes_from_integers(given).map_err(Failure::data)?;
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    fn fill_axis(self, axis: &mut isize) -> Result<(), Failure> {
        match (&self.axes, self.axis) {
            (Some(_), _) => Err(self.refuses("--axes")),
            (None, Some(_)) if self.name.contains('(') => Err(self.has("--axis")),
            (None, given) => {
                *axis = given.unwrap_or(*axis);
                Ok(())
            }
        }
    }

    fn refuses(&self, option: &str) -> Failure {
        Failure::usage(format!("mode {:?} takes no {option}", self.name))
    }

    fn has(&self, option: &str) -> Failure {
        Failure::usage(format!(
            "mode {:?} says already what {option} would",
            self.name
        ))
    }
}

/// `2,3`, `(2, 3)`, `[2, 3]`, `(2,)`.
fn list(name: &str, text: &str) -> Result<Vec<i64>, Failure> {
    let inner = text.trim();
    let bare = |open, close| inner.strip_prefix(open)?.strip_suffix(close);
    let inner = bare('(', ')')
        .or_else(|| bare('[', ']'))
        .unwrap_or(inner)
        .trim();
    if inner.is_empty() {
        return Ok(Vec::new());
    }
    (inner.strip_suffix(',').unwrap_or(inner).split(','))
        .map(|entry| {
            (entry.trim().parse()).map_err(|_| {
                let entry = entry.trim();
                Failure::usage(format!(
                    "{name} is a list like 2,3,4, and {entry:?} is no integer of 64 bits"
                ))
            })
        })
        .collect()
}
