//! [`Rule`]: the names of the rules, and [`Relation`]: how they relate sizes.

use crate::partial::Size;
use std::fmt;
use std::ops::IndexMut;

/// The name of a rule, without its attributes.
///
/// [`BroadcastPlan::rule`](crate::BroadcastPlan::rule),
/// [`BroadcastMode::rule`](crate::BroadcastMode::rule),
/// [`ElementwiseRule::rule`](crate::ElementwiseRule::rule) and errors give it. With the feature
/// `serde` it serialises, as its text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Rule {
    /// NumPy's `broadcast_to`, OpenVINO's mode `numpy`:
    /// [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy). Between arrays, NumPy's
    /// [elementwise rule](crate::guide::elementwise#numpy).
    Numpy,
    /// OpenVINO's mode `bidirectional`, ONNX Expand:
    /// [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional).
    Bidirectional,
    /// OpenVINO's mode `explicit`: [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit).
    Explicit,
    /// nGraph's Broadcast: [`broadcast_axes`](crate::BroadcastExt::broadcast_axes).
    BroadcastAxes,
    /// XLA's BroadcastInDim: [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim).
    InDim,
    /// StableHLO's broadcast_in_dim, whose dimensions may permute:
    /// [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting).
    InDimPermuting,
    /// XlaBuilder's Broadcast: [`broadcast_prepend`](crate::BroadcastExt::broadcast_prepend).
    Prepend,
    /// torch's `expand`: [`broadcast_expand`](crate::BroadcastExt::broadcast_expand).
    Expand,
    /// OpenVINO's `pdpd`, for imported PaddlePaddle models:
    /// [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd). Between arrays, the
    /// [elementwise rule](crate::guide::elementwise#pdpd) of the same name.
    Pdpd,
    /// The [elementwise rule](crate::guide::elementwise#none) that accepts identical shapes only.
    None,
    /// XLA's [elementwise rule](crate::guide::elementwise#xla).
    Xla,
    /// PaddlePaddle's own [elementwise rule](crate::guide::elementwise#paddle).
    Paddle,
    /// Axes by name, as einops' `repeat`: [`plan`](crate::named::AxisPattern::plan).
    Named,
    /// No rule: the plan was [made of other plans](crate::guide::plans), whose rules it combines.
    Composed,
}

/// The name of the variant in the field's spelling, which serde's `snake_case` is too: `in_dim`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        f.pad(&name)
    }
}

/// How a rule relates the sizes of two aligned axes, in
/// [`ErrorKind::SizeMismatch`](crate::ErrorKind::SizeMismatch).
///
/// ```
/// use ndarray_broadcast::error::Relation;
/// use ndarray_broadcast::{BroadcastPlan, ElementwiseRule, ErrorKind};
///
/// let error = BroadcastPlan::pair(3, 2, ElementwiseRule::Numpy).unwrap_err();
/// assert!(matches!(
///     error.kind(),
///     ErrorKind::SizeMismatch { relation: Relation::Common, .. }
/// ));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// They are equal. [Example](crate::guide::elementwise#none).
    Equal,
    /// They are equal, or the first is 1. [Example](crate::guide::numpy#errors).
    Stretch,
    /// They are equal, or either is 1. The size of the output is the one that is not 1, never the
    /// larger one: 1 with 0 gives 0.
    Common,
}

impl Relation {
    /// The size of the output. `None` if the two do not fit.
    ///
    /// Of sizes known in part, it is the smallest interval that holds every possible one.
    #[inline(always)]
    pub(crate) fn output<S: Size>(self, first: S, second: S) -> Option<S> {
        match (self, first.may_be(1), second.may_be(1)) {
            _ if first.is_same(second) => first.and(second),
            (Relation::Stretch, true, _) | (Relation::Common, true, false) => Some(second),
            (Relation::Common, false, true) => Some(first),
            (Relation::Common, true, true) => first.either(second),
            _ => first.and(second),
        }
    }

    /// Gives `output`, of `rank` axes, the sizes that `small` has in common with it. Axis `i` of
    /// `small` is aligned with axis `output_axis_of(i)`; past the end of `output`, with a 1.
    ///
    /// # Errors
    ///
    /// The first output axis whose sizes do not fit.
    #[inline(always)]
    pub(crate) fn relate<S: Size>(
        self,
        small: &[S],
        output: &mut (impl IndexMut<usize, Output = S> + ?Sized),
        rank: usize,
        output_axis_of: impl Fn(usize) -> usize,
    ) -> Result<(), usize> {
        for (axis, &size) in small.iter().enumerate() {
            let at = output_axis_of(axis);
            if at < rank {
                output[at] = self.output(size, output[at]).ok_or(at)?;
            } else if !size.may_be(1) {
                return Err(at);
            }
        }
        Ok(())
    }
}
