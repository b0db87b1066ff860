//! One file per rule, and here the choice of a rule by its mode. `in_dim` is in the file of
//! `explicit`, as it is the same rule.
//!
//! A rule sees shapes and attributes, never an array. It is one function, which runs on sizes that
//! are known or known in part ([`call`]): from the ranks and attributes it finds which axes are
//! aligned, then names the relation of aligned sizes. Or it returns the error for the first of its
//! conditions that does not hold. The conditions stand in the order of its specification.

mod axes;
mod bidirectional;
mod broadcast_axes;
mod call;
mod expand;
mod explicit;
mod infer;
mod mapping;
mod named;
mod none;
mod numpy;
mod paddle;
mod pdpd;
mod prepend;
mod xla;

pub(crate) use mapping::infer_explicit;

use crate::error::{ArrayRole, BroadcastError, Result};
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::plan::{BroadcastPlan, PlanPair, PlanTo};
use crate::rule::{Relation, Rule};
use axes::{increasing, unique};
use call::{Call, ToTarget};
use ndarray::{DimMax, Dimension, IntoDimension};
use std::borrow::Borrow;

impl BroadcastMode {
    /// Runs the rule.
    #[inline]
    fn run<C: Call>(&self, call: C) -> Result<C::Output> {
        match self {
            Self::Numpy => numpy::right_aligned(call, Relation::Stretch),
            Self::Bidirectional => numpy::right_aligned(call, Relation::Common),
            Self::Explicit { .. } | Self::InDim { .. } => {
                explicit::mapped(call, self.axes(), increasing)
            }
            Self::BroadcastAxes { .. } => broadcast_axes::added(call, self.axes()),
            Self::InDimPermuting { .. } => explicit::mapped(call, self.axes(), unique),
            Self::Expand => expand::kept(call),
            Self::Pdpd { axis } => pdpd::aligned_from(call, *axis),
            Self::Named { pattern } => named::to_target(call, pattern),
        }
    }
}

impl ElementwiseRule {
    /// Runs the rule. Under `pdpd`, the first shape is that of `b`.
    #[inline]
    fn run<C: Call>(&self, call: C) -> Result<C::Output> {
        match self {
            Self::None => none::identical(call),
            Self::Numpy => numpy::right_aligned(call, Relation::Common),
            Self::Pdpd { axis } => pdpd::aligned_from(call, *axis),
            Self::Paddle { axis } => paddle::aligned_from(call, *axis),
            Self::Xla {
                broadcast_dimensions,
            } => xla::in_dimensions(call, broadcast_dimensions),
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
        mode.run(ToTarget::new(mode.rule(), input, target))
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
        let number = |error: BroadcastError, input: usize| {
            error.renamed(|role| match role {
                ArrayRole::Input => ArrayRole::Operand(input),
                _ => ArrayRole::Operand(1 - input),
            })
        };
        if name == Rule::Pdpd {
            let to_a = ToTarget::new(name, b, a.clone());
            let plan_b = rule.run(to_a).map_err(|error| number(error, 1))?;
            let plan_a = BroadcastPlan::new(name, a, plan_b.output_dim(), |axis| axis)?;
            return Ok((plan_a, plan_b));
        }
        // The other rules treat both alike: each plan is that to the other shape.
        let to_b = ToTarget::new(name, a.clone(), b.clone());
        let plan_a = rule.run(to_b).map_err(|error| number(error, 0))?;
        Ok((plan_a, rule.run(ToTarget::new(name, b, a))?))
    }
}
