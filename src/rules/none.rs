//! none: no broadcast. Identical shapes, rank included.
//!
//! Source: OpenVINO elementwise operations, `auto_broadcast="none"`.

use crate::error::{ArrayRole, BroadcastError, ErrorKind, with_copies};
use crate::plan::{BroadcastPlan, PlanPair};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{DimMax, Dimension};

/// The elementwise rule, for two operands.
#[inline]
pub(super) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
) -> Result<PlanPair<I, J>, BroadcastError> {
    if a.sizes() != b.sizes() {
        let shapes = [a.sizes(), b.sizes()];
        return Err(with_copies(shapes, |shapes| ErrorKind::ShapesDiffer {
            operands: [0, 1].map(ArrayRole::Operand),
            shapes,
        }));
    }
    let shape = a.clone();
    Ok((
        BroadcastPlan::right_aligned(Rule::None, a, shape.sizes())?,
        BroadcastPlan::right_aligned(Rule::None, b, shape.sizes())?,
    ))
}
