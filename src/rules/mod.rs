//! One file per rule. A rule sees shapes and attributes, never an array, and answers with a plan or with the error that
//! says which of its conditions does not hold. Its conditions stand in the order of its specification.

pub(crate) mod axes;
pub(crate) mod bidirectional;
pub(crate) mod broadcast_axes;
pub(crate) mod expand;
pub(crate) mod explicit;
pub(crate) mod in_dim;
pub(crate) mod none;
pub(crate) mod numpy;
pub(crate) mod pdpd;
pub(crate) mod prepend;
pub(crate) mod xla;

use crate::error::Refusal;
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::plan::{PlanPair, PlanTo};
use ndarray::{DimMax, Dimension};

/// The rule of a mode.
#[inline]
pub(crate) fn by_mode<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    mode: &BroadcastMode,
) -> Result<PlanTo<I, E>, Refusal> {
    match mode {
        BroadcastMode::Numpy => numpy::plan(input, target),
        BroadcastMode::Bidirectional => bidirectional::plan(input, target),
        BroadcastMode::Explicit { axes_mapping } => explicit::plan(input, target, axes_mapping),
        BroadcastMode::BroadcastAxes { broadcast_axes } => {
            broadcast_axes::plan(input, target, broadcast_axes)
        }
        BroadcastMode::InDim {
            broadcast_dimensions,
        } => in_dim::strict(input, target, broadcast_dimensions),
        BroadcastMode::InDimPermuting {
            broadcast_dimensions,
        } => in_dim::permuting(input, target, broadcast_dimensions),
        BroadcastMode::Expand => expand::plan(input, target),
        BroadcastMode::Pdpd { axis } => pdpd::plan(input, target, *axis),
    }
}

/// An elementwise rule, for two operands.
#[inline]
pub(crate) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
    rule: &ElementwiseRule,
) -> Result<PlanPair<I, J>, Refusal> {
    match rule {
        ElementwiseRule::None => none::pair(a, b),
        ElementwiseRule::Numpy => numpy::pair(a, b),
        ElementwiseRule::Pdpd { axis } => pdpd::pair(a, b, *axis),
        ElementwiseRule::Xla {
            broadcast_dimensions,
        } => xla::pair(a, b, broadcast_dimensions),
    }
}
