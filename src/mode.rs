//! The rules by name: [`BroadcastMode`] takes one array to a target shape, [`ElementwiseRule`] arrays to each other's,
//! and [`Rule`] is the bare name of either, as errors and plans carry it.

use crate::error::{BroadcastError, allocation_failed, boxed_str, either};
use std::fmt;
use std::str::FromStr;

/// The name of a rule, without its attributes: what [`BroadcastMode::rule`], [`ElementwiseRule::rule`],
/// [`BroadcastPlan::rule`](crate::BroadcastPlan::rule) and errors say. With the feature `serde` it serialises, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Rule {
    /// [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy): NumPy's `broadcast_to`; OpenVINO Broadcast, mode numpy.
    Numpy,
    /// [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional): OpenVINO Broadcast-3, mode bidirectional; ONNX Expand.
    Bidirectional,
    /// [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit): OpenVINO Broadcast, mode explicit.
    Explicit,
    /// [`broadcast_axes`](crate::BroadcastExt::broadcast_axes): nGraph Broadcast with broadcast axes.
    BroadcastAxes,
    /// [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim): XLA BroadcastInDim.
    InDim,
    /// [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting): StableHLO broadcast_in_dim, whose dimensions may permute.
    InDimPermuting,
    /// [`broadcast_prepend`](crate::BroadcastExt::broadcast_prepend): XlaBuilder Broadcast, sizes put in front.
    Prepend,
    /// [`broadcast_expand`](crate::BroadcastExt::broadcast_expand): torch `expand`; numpy, where -1 keeps an axis.
    Expand,
    /// [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd), and the elementwise [rule](crate::guide::elementwise#pdpd): PaddlePaddle's; OpenVINO's pdpd.
    Pdpd,
    /// The elementwise [rule](crate::guide::elementwise#none) without any broadcast: identical shapes.
    None,
    /// NumPy's elementwise [rule](crate::guide::elementwise#numpy), for arrays with each other.
    Elementwise,
    /// XLA's elementwise [rule](crate::guide::elementwise#xla), for two operands.
    Xla,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Numpy | Rule::Elementwise => "numpy",
            Rule::Bidirectional => "bidirectional",
            Rule::Explicit => "explicit",
            Rule::BroadcastAxes => "broadcast_axes",
            Rule::InDim => "in_dim",
            Rule::InDimPermuting => "in_dim_permuting",
            Rule::Prepend => "prepend",
            Rule::Expand => "expand",
            Rule::Pdpd => "pdpd",
            Rule::None => "none",
            Rule::Xla => "xla",
        })
    }
}

/// How one array is broadcast to a target shape.
///
/// The text form is the field's spelling, attributes in parentheses: `numpy`, `bidirectional`, `explicit(1, 2)`,
/// `broadcast_axes(0, 3)`, `in_dim(1)`, `in_dim_permuting(2, 1)`, `expand`, `pdpd`, `pdpd(1)`. A bare `explicit`,
/// `broadcast_axes` or `in_dim` has an empty list; a bare `pdpd` has axis -1. Names are case-insensitive.
/// With the feature `serde` it serialises by the same names, `{"explicit":{"axes_mapping":[1,2]}}` in JSON.
///
/// ```
/// use ndarray_broadcast::BroadcastMode;
///
/// assert_eq!(BroadcastMode::default(), BroadcastMode::Numpy);
/// let mode: BroadcastMode = "explicit(1, 2)".parse()?;
/// assert_eq!(mode, BroadcastMode::Explicit { axes_mapping: vec![1, 2] });
/// assert_eq!(mode.to_string(), "explicit(1, 2)");
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum BroadcastMode {
    /// [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy).
    #[default]
    Numpy,
    /// [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional).
    Bidirectional,
    /// [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit).
    Explicit {
        /// For each input axis, the target axis it feeds.
        axes_mapping: Vec<usize>,
    },
    /// [`broadcast_axes`](crate::BroadcastExt::broadcast_axes).
    BroadcastAxes {
        /// The target axes that the input does not have.
        broadcast_axes: Vec<usize>,
    },
    /// [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim).
    InDim {
        /// For each input axis, the target axis it feeds.
        broadcast_dimensions: Vec<usize>,
    },
    /// [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting).
    InDimPermuting {
        /// For each input axis, the target axis it feeds, in any order.
        broadcast_dimensions: Vec<usize>,
    },
    /// [`broadcast_expand`](crate::BroadcastExt::broadcast_expand).
    Expand,
    /// [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd).
    Pdpd {
        /// The target axis that the input's first axis is laid on; -1 right-aligns.
        axis: isize,
    },
}

impl BroadcastMode {
    /// The bare name.
    ///
    /// ```
    /// use ndarray_broadcast::{BroadcastMode, Rule};
    ///
    /// assert_eq!(BroadcastMode::Pdpd { axis: 1 }.rule(), Rule::Pdpd);
    /// ```
    #[must_use]
    pub fn rule(&self) -> Rule {
        match self {
            BroadcastMode::Numpy => Rule::Numpy,
            BroadcastMode::Bidirectional => Rule::Bidirectional,
            BroadcastMode::Explicit { .. } => Rule::Explicit,
            BroadcastMode::BroadcastAxes { .. } => Rule::BroadcastAxes,
            BroadcastMode::InDim { .. } => Rule::InDim,
            BroadcastMode::InDimPermuting { .. } => Rule::InDimPermuting,
            BroadcastMode::Expand => Rule::Expand,
            BroadcastMode::Pdpd { .. } => Rule::Pdpd,
        }
    }
}

impl fmt::Display for BroadcastMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: &[usize] = match self {
            BroadcastMode::Explicit { axes_mapping } => axes_mapping,
            BroadcastMode::BroadcastAxes { broadcast_axes } => broadcast_axes,
            BroadcastMode::InDim {
                broadcast_dimensions,
            }
            | BroadcastMode::InDimPermuting {
                broadcast_dimensions,
            } => broadcast_dimensions,
            BroadcastMode::Pdpd { axis } => return named_axis(f, self.rule(), *axis),
            BroadcastMode::Numpy | BroadcastMode::Bidirectional | BroadcastMode::Expand => &[],
        };
        named_axes(f, self.rule(), axes)
    }
}

impl FromStr for BroadcastMode {
    type Err = BroadcastError;

    fn from_str(text: &str) -> Result<Self, BroadcastError> {
        let unknown = |expected| unknown_name("broadcast mode", text, expected);
        let Some((name, list)) = split(text) else {
            return Err(unknown(
                "a name, then integers in parentheses if it takes any: explicit(1, 2)",
            ));
        };
        let axes = || {
            integers::<usize>(list)?
                .ok_or_else(|| unknown("axes as non-negative integers: explicit(1, 2)"))
        };
        let bare = |mode| match list {
            "" => Ok(mode),
            _ => Err(unknown("no axes: this mode takes none")),
        };
        match lower(name, &mut [0; 24]) {
            Some("numpy") => bare(BroadcastMode::Numpy),
            Some("bidirectional") => bare(BroadcastMode::Bidirectional),
            Some("explicit") => Ok(BroadcastMode::Explicit {
                axes_mapping: axes()?,
            }),
            Some("broadcast_axes") => Ok(BroadcastMode::BroadcastAxes {
                broadcast_axes: axes()?,
            }),
            Some("in_dim") => Ok(BroadcastMode::InDim {
                broadcast_dimensions: axes()?,
            }),
            Some("in_dim_permuting") => Ok(BroadcastMode::InDimPermuting {
                broadcast_dimensions: axes()?,
            }),
            Some("expand") => bare(BroadcastMode::Expand),
            Some("pdpd") => match pdpd_axis(list)? {
                Some(axis) => Ok(BroadcastMode::Pdpd { axis }),
                None => Err(unknown("one axis: pdpd(1)")),
            },
            Some("none") => Err(unknown(
                "a mode of one array: \"none\" is OpenVINO's other spelling of explicit (its operator reads it), and \
                 an ElementwiseRule",
            )),
            _ => Err(unknown(
                "numpy, bidirectional, explicit(..), broadcast_axes(..), in_dim(..), in_dim_permuting(..), expand \
                 or pdpd(..)",
            )),
        }
    }
}

/// How two arrays are broadcast with each other.
///
/// The text form is the field's spelling, attributes in parentheses: `none`, `numpy`, `pdpd`, `pdpd(1)`, `xla`,
/// `xla(0, 2)`. A bare `pdpd` has axis -1, a bare `xla` has no broadcast dimensions. Names are case-insensitive.
/// With the feature `serde` it serialises by the same names, `{"pdpd":{"axis":1}}` in JSON.
///
/// ```
/// use ndarray_broadcast::ElementwiseRule;
///
/// assert_eq!(ElementwiseRule::default(), ElementwiseRule::Numpy);
/// assert_eq!("pdpd(1)".parse(), Ok(ElementwiseRule::Pdpd { axis: 1 }));
/// assert_eq!(ElementwiseRule::None.to_string(), "none");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum ElementwiseRule {
    /// No broadcast: the shapes must be identical, rank included. [Examples](crate::guide::elementwise#none).
    None,
    /// Right-aligned; sizes are equal or either is 1. [Examples](crate::guide::elementwise#numpy).
    #[default]
    Numpy,
    /// Only `b` is broadcast, its first axis laid on `axis` of `a`. [Examples](crate::guide::elementwise#pdpd).
    Pdpd {
        /// The axis of `a` that the first axis of `b` is laid on; -1 right-aligns.
        axis: isize,
    },
    /// Ranks that differ are lined up by dimensions, then sizes are equal or either is 1.
    /// [Examples](crate::guide::elementwise#xla).
    Xla {
        /// For each axis of the operand with fewer axes, the axis of the other it is lined up with.
        broadcast_dimensions: Vec<usize>,
    },
}

impl ElementwiseRule {
    /// The bare name.
    ///
    /// ```
    /// use ndarray_broadcast::{ElementwiseRule, Rule};
    ///
    /// assert_eq!(ElementwiseRule::None.rule(), Rule::None);
    /// ```
    #[must_use]
    pub fn rule(&self) -> Rule {
        match self {
            ElementwiseRule::None => Rule::None,
            ElementwiseRule::Numpy => Rule::Elementwise,
            ElementwiseRule::Pdpd { .. } => Rule::Pdpd,
            ElementwiseRule::Xla { .. } => Rule::Xla,
        }
    }
}

impl fmt::Display for ElementwiseRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementwiseRule::None | ElementwiseRule::Numpy => named_axes(f, self.rule(), &[]),
            ElementwiseRule::Pdpd { axis } => named_axis(f, self.rule(), *axis),
            ElementwiseRule::Xla {
                broadcast_dimensions,
            } => named_axes(f, self.rule(), broadcast_dimensions),
        }
    }
}

impl FromStr for ElementwiseRule {
    type Err = BroadcastError;

    fn from_str(text: &str) -> Result<Self, BroadcastError> {
        let unknown = |expected| unknown_name("elementwise rule", text, expected);
        let Some((name, list)) = split(text) else {
            return Err(unknown(
                "a name, then integers in parentheses if it takes any: pdpd(1)",
            ));
        };
        match lower(name, &mut [0; 24]) {
            Some("none") if list.is_empty() => Ok(ElementwiseRule::None),
            Some("numpy") if list.is_empty() => Ok(ElementwiseRule::Numpy),
            Some("none" | "numpy") => Err(unknown("no axes: this rule takes none")),
            Some("pdpd") => match pdpd_axis(list)? {
                Some(axis) => Ok(ElementwiseRule::Pdpd { axis }),
                None => Err(unknown("one axis: pdpd(1)")),
            },
            Some("xla") => match integers(list)? {
                Some(broadcast_dimensions) => Ok(ElementwiseRule::Xla {
                    broadcast_dimensions,
                }),
                None => Err(unknown(
                    "broadcast dimensions as non-negative integers: xla(0, 2)",
                )),
            },
            _ => Err(unknown("none, numpy, pdpd(..) or xla(..)")),
        }
    }
}

pub(crate) fn unknown_name(
    kind: &'static str,
    name: &str,
    expected: &'static str,
) -> BroadcastError {
    either((|| {
        Ok(BroadcastError::UnknownName {
            kind,
            name: boxed_str(name)?,
            expected,
        })
    })())
}

fn named_axes(f: &mut fmt::Formatter<'_>, rule: Rule, axes: &[usize]) -> fmt::Result {
    write!(f, "{rule}")?;
    for (position, axis) in axes.iter().enumerate() {
        write!(f, "{}{axis}", if position == 0 { "(" } else { ", " })?;
    }
    f.write_str(if axes.is_empty() { "" } else { ")" })
}

fn named_axis(f: &mut fmt::Formatter<'_>, rule: Rule, axis: isize) -> fmt::Result {
    match axis {
        -1 => write!(f, "{rule}"),
        _ => write!(f, "{rule}({axis})"),
    }
}

/// `explicit(1, 2)` as `explicit` and `1, 2`; a bare name has an empty list.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    match text.trim().split_once('(') {
        None => Some((text.trim(), "")),
        Some((name, rest)) => Some((name.trim(), rest.strip_suffix(')')?.trim())),
    }
}

/// A name in lower case, without allocating; longer than any that is known, it is none of them.
pub(crate) fn lower<'a>(name: &str, buffer: &'a mut [u8; 24]) -> Option<&'a str> {
    let buffer = buffer.get_mut(..name.len())?;
    buffer.copy_from_slice(name.as_bytes());
    buffer.make_ascii_lowercase();
    std::str::from_utf8(buffer).ok()
}

/// The entries of a list; `None` if one of them is no such integer.
///
/// # Errors
///
/// `AllocationFailed`.
pub(crate) fn integers<T: FromStr>(list: &str) -> Result<Option<Vec<T>>, BroadcastError> {
    let mut integers = Vec::new();
    if list.is_empty() {
        return Ok(Some(integers));
    }
    let count = list.split(',').count();
    integers
        .try_reserve_exact(count)
        .map_err(|_| allocation_failed(count.saturating_mul(size_of::<T>())))?;
    for entry in list.split(',') {
        match entry.trim().parse() {
            Ok(integer) => integers.push(integer),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(integers))
}

fn pdpd_axis(list: &str) -> Result<Option<isize>, BroadcastError> {
    Ok(match integers(list)?.as_deref() {
        Some([]) => Some(-1),
        Some([axis]) => Some(*axis),
        _ => None,
    })
}
