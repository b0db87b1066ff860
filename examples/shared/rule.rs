//! Command-line options that choose a rule.

use crate::command_line::{Failure, number, once, text};
use lexopt::Parser;
use ndarray::IxDyn;
use ndarray_broadcast::{
    BroadcastError, BroadcastMode, BroadcastPlan, expand_shape_from_integers, shape_from_integers,
};
use std::str::FromStr;

const DEFAULT_MAXIMUM: u64 = 4 << 30;

/// The help text of `--mode`.
macro_rules! modes {
    () => {
        "  --mode MODE       the rule that broadcasts INPUT to SIZES; default numpy
      numpy             right-aligned; sizes are equal, or INPUT's is 1
      bidirectional     like numpy, and the 1s of SIZES replicate too (ONNX Expand)
      explicit          axis i of INPUT feeds axis AXES[i] (OpenVINO)
      broadcast_axes    AXES are the new axes, the other axes are INPUT's (nGraph)
      in_dim            axis i of INPUT feeds axis AXES[i] (XLA BroadcastInDim)
      in_dim_permuting  the same, AXES in any order (StableHLO broadcast_in_dim)
      pdpd              INPUT's first axis is AXIS; default -1: right-aligned (OpenVINO)
      expand            like numpy, and a size of -1 keeps INPUT's size (torch)
      prepend           SIZES are added in front of INPUT's (XlaBuilder Broadcast)
"
    };
}
pub(crate) use modes;

/// A rule for one array, and its target shape.
#[derive(Debug)]
pub enum RuleTo {
    Mode(BroadcastMode, Vec<usize>),
    Prepend(Vec<usize>),
}

impl RuleTo {
    pub fn plan(&self, input: &[usize]) -> Result<BroadcastPlan, BroadcastError> {
        match self {
            RuleTo::Mode(mode, shape) => BroadcastPlan::with_mode(IxDyn(input), &shape[..], mode),
            RuleTo::Prepend(sizes) => BroadcastPlan::prepend(IxDyn(input), &sizes[..]),
        }
    }
}

/// The values of `--mode`, `--shape`, `--axes` and `--axis`.
#[derive(Debug, Default, Clone)]
pub struct RuleOptions {
    mode: Option<String>,
    pub shape: Option<Vec<i64>>,
    axes: Option<Vec<i64>>,
    axis: Option<isize>,
}

impl RuleOptions {
    pub fn mode(&mut self, parser: &mut Parser) -> Result<(), Failure> {
        once("--mode", &mut self.mode, text(parser)?)
    }

    pub fn shape(&mut self, parser: &mut Parser) -> Result<(), Failure> {
        once("--shape", &mut self.shape, list("--shape", &text(parser)?)?)
    }

    pub fn axes(&mut self, parser: &mut Parser) -> Result<(), Failure> {
        once("--axes", &mut self.axes, list("--axes", &text(parser)?)?)
    }

    pub fn axis(&mut self, parser: &mut Parser) -> Result<(), Failure> {
        once("--axis", &mut self.axis, number("--axis", &text(parser)?)?)
    }

    /// The name of the mode.
    pub fn name(&self) -> &str {
        self.mode.as_deref().unwrap_or("numpy")
    }

    pub fn rule_to(&self) -> Result<RuleTo, Failure> {
        let sizes = self.shape.as_deref();
        let sizes = sizes.ok_or_else(|| Failure::usage("--shape is missing"))?;
        if self.name().trim().eq_ignore_ascii_case("prepend") {
            let sizes = shape_from_integers(sizes).map_err(of_option("--shape"))?;
            return self.expect_no_axes().map(|()| RuleTo::Prepend(sizes));
        }
        let mut mode = BroadcastMode::from_str(self.name()).map_err(|error| {
            Failure::usage(format!("{error}; the rule prepend takes the new sizes"))
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
            _ => self.expect_no_axes()?,
        }
        let shape = match mode {
            BroadcastMode::Expand => expand_shape_from_integers(sizes),
            _ => shape_from_integers(sizes),
        };
        Ok(RuleTo::Mode(mode, shape.map_err(of_option("--shape"))?))
    }

    pub fn expect_no_axes(&self) -> Result<(), Failure> {
        match (&self.axes, self.axis) {
            (None, None) => Ok(()),
            (Some(_), _) => Err(self.unexpected("--axes")),
            _ => Err(self.unexpected("--axis")),
        }
    }

    pub fn fill_axes(&self, axes: &mut Vec<usize>) -> Result<(), Failure> {
        match (&self.axes, self.axis) {
            (_, Some(_)) => Err(self.unexpected("--axis")),
            (Some(_), None) if self.name().contains('(') => Err(self.already_set("--axes")),
            (Some(given), None) => {
                *axes = axes_from_front(given)?;
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    pub fn fill_axis(&self, axis: &mut isize) -> Result<(), Failure> {
        match (&self.axes, self.axis) {
            (Some(_), _) => Err(self.unexpected("--axes")),
            (None, Some(_)) if self.name().contains('(') => Err(self.already_set("--axis")),
            (None, given) => {
                *axis = given.unwrap_or(*axis);
                Ok(())
            }
        }
    }

    fn unexpected(&self, option: &str) -> Failure {
        Failure::usage(format!("mode {:?} takes no {option}", self.name()))
    }

    fn already_set(&self, option: &str) -> Failure {
        Failure::usage(format!(
            "mode {:?} says already what {option} would",
            self.name()
        ))
    }
}

/// An error in the integers of an option, which it names.
fn of_option(name: &'static str) -> impl Fn(BroadcastError) -> Failure {
    move |error| Failure::Data(format!("{name}: {error}"))
}

/// Parses the value of `--max-bytes`.
pub fn maximum(parser: &mut Parser) -> Result<u64, Failure> {
    number("--max-bytes", &text(parser)?)
}

pub fn maximum_or_default(given: Option<u64>) -> usize {
    usize::try_from(given.unwrap_or(DEFAULT_MAXIMUM)).unwrap_or(usize::MAX)
}

/// Parses `2,3`, `(2, 3)`, `[2, 3]` or `(2,)`.
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

/// The axes, none of which may count from the end.
fn axes_from_front(given: &[i64]) -> Result<Vec<usize>, Failure> {
    let axis = |(entry, &axis): (usize, &i64)| {
        usize::try_from(axis).map_err(|_| {
            let why = "an axis must not be negative";
            Failure::Data(format!("--axes: entry {entry} is {axis}: {why}"))
        })
    };
    given.iter().enumerate().map(axis).collect()
}
