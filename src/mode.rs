//! Rules with their attributes: [`BroadcastMode`] for one array and a target shape,
//! [`ElementwiseRule`] for two arrays.

use crate::error::{BroadcastError, Result};
use crate::pattern::AxisPattern;
use crate::rule::Rule;
use crate::text::{self, axes, axis, bare, with_axes};
use std::fmt;
use std::str::FromStr;

/// How one array is broadcast to a target shape.
///
/// The text form is the field's spelling, with attributes in parentheses: `numpy`,
/// `bidirectional`, `explicit(1, 2)`, `broadcast_axes(0, 3)`, `in_dim(1)`,
/// `in_dim_permuting(2, 1)`, `expand`, `pdpd`, `pdpd(1)`, and `c -> n c h w` for axes by name. A
/// bare `explicit`, `broadcast_axes` or `in_dim` has an empty list. A bare `pdpd` has axis -1.
/// Names of modes are case-insensitive.
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
    serde(rename_all = "snake_case", deny_unknown_fields)
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
        /// A bare `pdpd` is axis -1.
        axis: isize,
    },
    /// Axes by name: [`AxisPattern::plan`](crate::named::AxisPattern::plan), where the target shape
    /// gives the sizes. The target must have at least as many axes as the input. The pattern has no
    /// groups of several axes, nor of `...`.
    Named {
        /// The names of the axes of the input and of the target.
        pattern: AxisPattern,
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
            BroadcastMode::Named { .. } => Rule::Named,
        }
    }

    /// The list of axes. Empty if the mode has none.
    pub(crate) fn axes(&self) -> &[usize] {
        match self {
            Self::Explicit { axes_mapping } => axes_mapping,
            Self::BroadcastAxes { broadcast_axes } => broadcast_axes,
            Self::InDim {
                broadcast_dimensions,
            }
            | Self::InDimPermuting {
                broadcast_dimensions,
            } => broadcast_dimensions,
            _ => &[],
        }
    }
}

impl fmt::Display for BroadcastMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pdpd { axis } if *axis != -1 => f.pad(&format!("pdpd({axis})")),
            Self::Named { pattern } => pattern.fmt(f),
            _ => f.pad(&with_axes(self.rule(), self.axes())),
        }
    }
}

impl FromStr for BroadcastMode {
    type Err = BroadcastError;

    fn from_str(text: &str) -> Result<Self> {
        if text.contains("->") {
            return text.parse().map(|pattern| Self::Named { pattern });
        }
        let expected = "expected axes as integers that fit usize: explicit(1, 2)";
        let axes = |list: &str| axes(list, expected);
        text::parse("broadcast mode", text, |name, list| match name {
            "numpy" => bare(list, Self::Numpy, "numpy takes no axes"),
            "bidirectional" => bare(list, Self::Bidirectional, "bidirectional takes no axes"),
            "explicit" => axes(list).map(|axes_mapping| Self::Explicit { axes_mapping }),
            "broadcast_axes" => {
                axes(list).map(|broadcast_axes| Self::BroadcastAxes { broadcast_axes })
            }
            "in_dim" => axes(list).map(|broadcast_dimensions| Self::InDim {
                broadcast_dimensions,
            }),
            "in_dim_permuting" => axes(list).map(|broadcast_dimensions| Self::InDimPermuting {
                broadcast_dimensions,
            }),
            "expand" => bare(list, Self::Expand, "expand takes no axes"),
            "pdpd" => axis(list, Ok(-1)).map(|axis| Self::Pdpd { axis }),
            "none" => {
                Err("use explicit(..); only openvino::Mode and ElementwiseRule have the name none")
            }
            "prepend" => Err("not a mode, as it takes sizes and no target: use broadcast_prepend"),
            _ => Err(
                "expected numpy, bidirectional, explicit(..), broadcast_axes(..), in_dim(..), \
                 in_dim_permuting(..), expand, pdpd(..) or names: c -> n c h w",
            ),
        })
    }
}

/// How two arrays are broadcast with each other.
///
/// The text form is the field's spelling, with attributes in parentheses: `none`, `numpy`, `pdpd`,
/// `pdpd(1)`, `paddle(1)`, `xla`, `xla(0, 2)`. A bare `pdpd` or `paddle` has axis -1. A bare `xla`
/// has no broadcast dimensions. Names are case-insensitive.
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
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
#[doc(alias = "auto_broadcast")]
#[doc(alias = "AutoBroadcastSpec")]
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
    /// The operand of smaller rank, whichever it is, is aligned with the other one from `axis` on.
    /// Then sizes are equal, or either is 1. [Examples](crate::guide::elementwise#paddle).
    Paddle {
        /// The axis of the operand of larger rank that the first axis of the other one is aligned
        /// with. -1 right-aligns.
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
    /// The rule [`Pdpd`](Self::Pdpd): the first axis of `b` is aligned with `axis` of `a`. -1
    /// right-aligns.
    ///
    /// ```
    /// use ndarray_broadcast::ElementwiseRule;
    ///
    /// assert_eq!(ElementwiseRule::pdpd(1), ElementwiseRule::Pdpd { axis: 1 });
    /// ```
    #[must_use]
    pub fn pdpd(axis: isize) -> Self {
        ElementwiseRule::Pdpd { axis }
    }

    /// The rule [`Paddle`](Self::Paddle): the first axis of the operand of smaller rank is aligned
    /// with `axis` of the other one. -1 right-aligns.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (x, y) = (array![[1, 2, 3], [4, 5, 6]], array![10, 20]);
    /// let sum = zip(broadcast_pair(&x, &y, ElementwiseRule::paddle(0))?)
    ///     .map_collect(|(x, y)| x + y)?;
    /// assert_eq!(sum, array![[11, 12, 13], [24, 25, 26]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[must_use]
    pub fn paddle(axis: isize) -> Self {
        ElementwiseRule::Paddle { axis }
    }

    /// The rule [`Xla`](Self::Xla): for each axis of the operand with fewer axes, the axis of the
    /// other operand. Empty for operands of equal ranks.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (a, b) = (array![1, 2], array![[1, 2, 3], [4, 5, 6]]);
    /// let (a, b) = broadcast_pair(&a, &b, ElementwiseRule::xla(&[0]))?;
    /// assert_eq!(&a * &b, array![[1, 2, 3], [8, 10, 12]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[must_use]
    pub fn xla(broadcast_dimensions: &[usize]) -> Self {
        ElementwiseRule::Xla {
            broadcast_dimensions: broadcast_dimensions.to_vec(),
        }
    }

    /// The rule for an operand `b` that has one value for each channel, where the channels are
    /// `axis` of `a`: `b` is aligned with `a` from this axis on. Short for [`Pdpd`](Self::Pdpd).
    ///
    /// ```text
    /// a   N  C  H  W
    /// b      C           channel(1)
    /// ```
    ///
    /// ```
    /// use ndarray::{Array4, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (nchw, nhwc) =
    ///     (Array4::<f32>::ones((2, 3, 4, 4)), Array4::<f32>::ones((2, 4, 4, 3)));
    /// let scale = array![1., 2., 3.];
    /// let scaled = zip(broadcast_pair(&nchw, &scale, ElementwiseRule::channel(1))?)
    ///     .map_collect(|(x, s)| x * s)?;
    /// assert_eq!(scaled[[0, 2, 0, 0]], 3.);
    /// let scaled = zip(broadcast_pair(&nhwc, &scale, ElementwiseRule::channel(3))?)
    ///     .map_collect(|(x, s)| x * s)?;
    /// assert_eq!(scaled[[0, 0, 0, 2]], 3.);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[doc(alias = "bias")]
    #[must_use]
    pub fn channel(axis: usize) -> Self {
        // An axis that does not fit is out of range for every array.
        let axis = isize::try_from(axis).unwrap_or(isize::MAX);
        ElementwiseRule::Pdpd { axis }
    }

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
            ElementwiseRule::Paddle { .. } => Rule::Paddle,
            ElementwiseRule::Xla { .. } => Rule::Xla,
        }
    }
}

impl fmt::Display for ElementwiseRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.rule();
        match self {
            Self::Pdpd { axis } | Self::Paddle { axis } if *axis != -1 => {
                f.pad(&format!("{rule}({axis})"))
            }
            Self::Xla {
                broadcast_dimensions,
            } => f.pad(&with_axes(rule, broadcast_dimensions)),
            _ => rule.fmt(f),
        }
    }
}

impl FromStr for ElementwiseRule {
    type Err = BroadcastError;

    fn from_str(text: &str) -> Result<Self> {
        let expected = "expected broadcast dimensions as integers that fit usize: xla(0, 2)";
        text::parse("elementwise rule", text, |name, list| match name {
            "none" => bare(list, Self::None, "none takes no axes"),
            "numpy" => bare(list, Self::Numpy, "numpy takes no axes"),
            "pdpd" => axis(list, Ok(-1)).map(Self::pdpd),
            "paddle" => axis(list, Ok(-1)).map(Self::paddle),
            "xla" => axes(list, expected).map(|axes| Self::xla(&axes)),
            _ => Err("expected none, numpy, pdpd(..), paddle(..) or xla(..)"),
        })
    }
}
