//! Rules with their attributes: [`BroadcastMode`] for one array and a target shape,
//! [`ElementwiseRule`] for two arrays.

use crate::error::{BroadcastError, allocation_failed, unknown_name};
use crate::rule::Rule;
use crate::text::{integer_or, integers, lower, split, write_axes, write_axis};
use std::fmt;
use std::str::FromStr;

/// How one array is broadcast to a target shape.
///
/// The text form is the field's spelling, with attributes in parentheses: `numpy`,
/// `bidirectional`, `explicit(1, 2)`, `broadcast_axes(0, 3)`, `in_dim(1)`,
/// `in_dim_permuting(2, 1)`, `expand`, `pdpd`, `pdpd(1)`. A bare `explicit`, `broadcast_axes` or
/// `in_dim` has an empty list. A bare `pdpd` has axis -1. Names are case-insensitive.
///
/// With the feature `serde` it serialises by the same names:
/// `{"explicit":{"axes_mapping":[1,2]}}` in JSON.
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
        /// For each input axis, the target axis that it feeds.
        axes_mapping: Vec<usize>,
    },
    /// [`broadcast_axes`](crate::BroadcastExt::broadcast_axes).
    BroadcastAxes {
        /// The target axes that the input does not have.
        broadcast_axes: Vec<usize>,
    },
    /// [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim).
    InDim {
        /// For each input axis, the target axis that it feeds.
        broadcast_dimensions: Vec<usize>,
    },
    /// [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting).
    InDimPermuting {
        /// For each input axis, the target axis that it feeds, in any order.
        broadcast_dimensions: Vec<usize>,
    },
    /// [`broadcast_expand`](crate::BroadcastExt::broadcast_expand).
    Expand,
    /// [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd).
    Pdpd {
        /// The target axis that the input's first axis is aligned with. -1 right-aligns.
        axis: isize,
    },
}

impl BroadcastMode {
    /// The name of the rule, without attributes.
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
            BroadcastMode::Pdpd { axis } => return write_axis(f, self.rule(), *axis, -1),
            BroadcastMode::Numpy | BroadcastMode::Bidirectional | BroadcastMode::Expand => &[],
        };
        write_axes(f, self.rule(), axes)
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
            integers(list)
                .map_err(allocation_failed)?
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
            Some("pdpd") => match integer_or(list, -1).map_err(allocation_failed)? {
                Some(axis) => Ok(BroadcastMode::Pdpd { axis }),
                None => Err(unknown("one axis: pdpd(1)")),
            },
            Some("none") => Err(unknown(
                "a mode of one array: \"none\" is OpenVINO's other spelling of explicit (its \
                 operator reads it), and an ElementwiseRule",
            )),
            _ => Err(unknown(
                "numpy, bidirectional, explicit(..), broadcast_axes(..), in_dim(..), \
                 in_dim_permuting(..), expand or pdpd(..)",
            )),
        }
    }
}

/// How two arrays are broadcast with each other.
///
/// The text form is the field's spelling, with attributes in parentheses: `none`, `numpy`, `pdpd`,
/// `pdpd(1)`, `xla`, `xla(0, 2)`. A bare `pdpd` has axis -1. A bare `xla` has no broadcast
/// dimensions. Names are case-insensitive.
///
/// With the feature `serde` it serialises by the same names: `{"pdpd":{"axis":1}}` in JSON.
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
    /// No broadcast: the shapes must be identical, rank included.
    /// [Examples](crate::guide::elementwise#none).
    None,
    /// Right-aligned; sizes are equal or either is 1. [Examples](crate::guide::elementwise#numpy).
    #[default]
    Numpy,
    /// Only `b` is broadcast. Its first axis is aligned with `axis` of `a`.
    /// [Examples](crate::guide::elementwise#pdpd).
    Pdpd {
        /// The axis of `a` that the first axis of `b` is aligned with. -1 right-aligns.
        axis: isize,
    },
    /// Dimensions align ranks that differ. Then sizes are equal, or either is 1.
    /// [Examples](crate::guide::elementwise#xla).
    Xla {
        /// For each axis of the operand with fewer axes, the axis of the other operand.
        broadcast_dimensions: Vec<usize>,
    },
}

impl ElementwiseRule {
    /// The name of the rule, without attributes.
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
            ElementwiseRule::Numpy => Rule::Numpy,
            ElementwiseRule::Pdpd { .. } => Rule::Pdpd,
            ElementwiseRule::Xla { .. } => Rule::Xla,
        }
    }
}

impl fmt::Display for ElementwiseRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementwiseRule::None | ElementwiseRule::Numpy => write!(f, "{}", self.rule()),
            ElementwiseRule::Pdpd { axis } => write_axis(f, self.rule(), *axis, -1),
            ElementwiseRule::Xla {
                broadcast_dimensions,
            } => write_axes(f, self.rule(), broadcast_dimensions),
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
            Some("pdpd") => match integer_or(list, -1).map_err(allocation_failed)? {
                Some(axis) => Ok(ElementwiseRule::Pdpd { axis }),
                None => Err(unknown("one axis: pdpd(1)")),
            },
            Some("xla") => match integers(list).map_err(allocation_failed)? {
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
