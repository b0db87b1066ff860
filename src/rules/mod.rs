//! One file per rule, and here the choice of a rule by its mode. `in_dim` is in the file of
//! `explicit`, as it is the same rule. The elementwise rule `none` is in the file of `numpy`, as it
//! is the same alignment under another relation.
//!
//! A rule sees shapes and attributes, never an array. It is one function, which runs on sizes that
//! are known or known in part: from the ranks and attributes it finds which axes are aligned, and
//! names the relation of aligned sizes ([`alignment`]). Or it returns the first of its conditions
//! that does not hold. The conditions stand in the order of its specification.

mod alignment;
mod axes;
mod bidirectional;
mod broadcast_axes;
mod expand;
mod explicit;
mod infer;
mod mapping;
mod named;
mod numpy;
mod paddle;
mod pdpd;
mod prepend;
mod xla;

pub(crate) use alignment::unknown;
pub(crate) use mapping::infer_explicit;

use crate::error::{ArrayRole, Result};
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::partial::Size;
use crate::plan::{BroadcastPlan, PlanPair, PlanTo};
use crate::rule::{Relation, Rule};
use alignment::{Aligned, FewAxes, Shapes};
use axes::{increasing, unique};
use ndarray::{DimMax, Dimension, IntoDimension};
use std::borrow::Borrow;

impl BroadcastMode {
    /// Runs the rule, which may put axes into `found`.
    #[inline]
    fn align<'a, S: Size>(&'a self, shapes: Shapes<'_, S>, found: &'a mut FewAxes) -> Aligned<'a> {
        let ranks = shapes.ranks;
        match self {
            Self::Numpy => numpy::right_aligned(ranks, Relation::Stretch),
            Self::Bidirectional => numpy::right_aligned(ranks, Relation::Common),
            Self::Explicit { .. } | Self::InDim { .. } => {
                explicit::mapped(ranks, self.axes(), increasing)
            }
            Self::BroadcastAxes { .. } => broadcast_axes::added(ranks, self.axes(), found),
            Self::InDimPermuting { .. } => explicit::mapped(ranks, self.axes(), unique),
            Self::Expand => expand::kept(shapes),
            Self::Pdpd { axis } => pdpd::aligned_from(shapes, *axis),
            Self::Named { pattern } => named::to_target(shapes, pattern, found),
        }
    }
}

impl ElementwiseRule {
    /// Runs the rule. Under `pdpd`, the first shape is that of `b`.
    #[inline(always)]
    fn align<S: Size>(&self, shapes: Shapes<'_, S>) -> Aligned<'_> {
        match self {
            Self::None => numpy::right_aligned(shapes.ranks, Relation::Equal),
            Self::Numpy => numpy::right_aligned(shapes.ranks, Relation::Common),
            Self::Pdpd { axis } => pdpd::aligned_from(shapes, *axis),
            Self::Paddle { axis } => paddle::aligned_from(shapes, *axis),
            Self::Xla {
                broadcast_dimensions,
            } => xla::in_dimensions(shapes.ranks, broadcast_dimensions),
        }
    }
}

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_to_mode`](crate::BroadcastExt::broadcast_to_mode), from shapes
    /// alone.
    ///
    /// # Errors
    ///
    /// Those of the mode's own constructor, such as [`numpy`](Self::numpy) and
    /// [`explicit`](Self::explicit). For a named pattern:
    /// [`InvalidPattern`](crate::ErrorKind::InvalidPattern),
    /// [`RankMismatch`](crate::ErrorKind::RankMismatch),
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
    ) -> Result<PlanTo<I, E::Dim>>
    where
        I: DimMax<E::Dim>,
    {
        let mode = mode.borrow();
        let found = &mut FewAxes::new();
        alignment::plan_by_sizes(mode.rule(), input, target, |shapes| {
            mode.align(shapes, found)
        })
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
    ) -> Result<PlanPair<I, E::Dim>>
    where
        I: DimMax<E::Dim>,
    {
        let rule = rule.borrow();
        let (name, a, b) = (rule.rule(), a.into_dimension(), b.into_dimension());
        if name == Rule::Pdpd {
            let plan_b = alignment::plan_by_sizes(name, b, a.clone(), |shapes| rule.align(shapes));
            let plan_b: BroadcastPlan<E::Dim, _> =
                plan_b.map_err(|error| error.renamed(|at| ArrayRole::Operand(1 - at)))?;
            let plan_a = BroadcastPlan::new(name, a, plan_b.output_dim(), |axis| axis)?;
            return Ok((plan_a, plan_b));
        }
        // The other rules treat both alike: each plan is that to the other shape.
        let plan_a =
            alignment::plan_by_sizes(name, a.clone(), b.clone(), |shapes| rule.align(shapes));
        let plan_a = plan_a.map_err(|error| error.renamed(ArrayRole::Operand))?;
        let plan_b = alignment::plan_by_sizes(name, b, a, |shapes| rule.align(shapes))?;
        Ok((plan_a, plan_b))
    }
}
