//! One file per rule, and here the choice of a rule by its mode.
//!
//! A rule sees shapes and attributes, never an array. It returns a plan, or the error for the first
//! of its conditions that does not hold. The conditions stand in the order of its specification.

mod axes;
mod bidirectional;
mod broadcast_axes;
mod expand;
mod explicit;
mod in_dim;
mod infer;
mod named;
mod none;
pub(crate) mod numpy;
mod pdpd;
mod prepend;
mod xla;

pub(crate) use infer::infer_explicit;

use crate::error::BroadcastError;
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::plan::{BroadcastPlan, PlanPair, PlanTo};
use ndarray::{DimMax, Dimension, IntoDimension};
use std::borrow::Borrow;

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_to_mode`](crate::BroadcastExt::broadcast_to_mode), from shapes
    /// alone.
    ///
    /// # Errors
    ///
    /// Those of the mode's own constructor, such as [`numpy`](Self::numpy) and
    /// [`explicit`](Self::explicit). For a named pattern:
    /// [`InvalidPattern`](crate::ErrorKind::InvalidPattern),
    /// [`RankTooLarge`](crate::ErrorKind::RankTooLarge),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::{BroadcastMode, BroadcastPlan};
    ///
    /// let mode: BroadcastMode = "explicit(1)".parse()?;
    /// let plan = BroadcastPlan::with_mode(3, (2, 3, 4, 5), &mode)?;
    /// assert_eq!(plan.output_shape(), [2, 3, 4, 5]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline]
    pub fn with_mode<D: IntoDimension<Dim = I>, E: IntoDimension>(
        input: D,
        target: E,
        mode: impl Borrow<BroadcastMode>,
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        I: DimMax<E::Dim>,
    {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        match mode.borrow() {
            BroadcastMode::Numpy => Self::numpy(input, target),
            BroadcastMode::Bidirectional => Self::bidirectional(input, target),
            BroadcastMode::Explicit { axes_mapping } => Self::explicit(input, target, axes_mapping),
            BroadcastMode::BroadcastAxes { broadcast_axes } => {
                Self::with_broadcast_axes(input, target, broadcast_axes)
            }
            BroadcastMode::InDim {
                broadcast_dimensions,
            } => Self::in_dim(input, target, broadcast_dimensions),
            BroadcastMode::InDimPermuting {
                broadcast_dimensions,
            } => Self::in_dim_permuting(input, target, broadcast_dimensions),
            BroadcastMode::Expand => Self::expand(input, target),
            BroadcastMode::Pdpd { axis } => Self::pdpd(input, target, *axis),
            BroadcastMode::Named { pattern } => named::to_target(input, &target, pattern),
        }
    }

    /// The plans that take two shapes to their common shape under an elementwise rule.
    ///
    /// ```text
    /// a           8  1  6  1
    /// b              7  1  5
    ///            -----------
    /// outputs     8  7  6  5   (numpy)
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the rule: see [`broadcast_pair`](crate::broadcast_pair).
    ///
    /// ```
    /// use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
    ///
    /// let xla = ElementwiseRule::Xla { broadcast_dimensions: vec![0] };
    /// let (a, b) = BroadcastPlan::pair(4, (1, 2), xla)?;
    /// assert_eq!(a.output_shape(), [4, 2]);
    /// assert_eq!(b.output_shape(), [4, 2]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: that of the rule, as in [`broadcast_pair`](crate::broadcast_pair).
    #[inline]
    pub fn pair<D: IntoDimension<Dim = I>, E: IntoDimension>(
        a: D,
        b: E,
        rule: impl Borrow<ElementwiseRule>,
    ) -> Result<PlanPair<I, E::Dim>, BroadcastError>
    where
        I: DimMax<E::Dim>,
    {
        let (a, b) = (a.into_dimension(), b.into_dimension());
        match rule.borrow() {
            ElementwiseRule::None => none::pair(a, b),
            ElementwiseRule::Numpy => numpy::pair(a, b),
            ElementwiseRule::Pdpd { axis } => pdpd::pair(a, b, *axis),
            ElementwiseRule::Xla {
                broadcast_dimensions,
            } => xla::pair(a, b, broadcast_dimensions),
        }
    }
}
