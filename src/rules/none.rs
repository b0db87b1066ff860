//! none: no broadcast at all. Identical shapes, rank included.
//!
//! Source: OpenVINO elementwise operations, `auto_broadcast="none"`.

use super::numpy::to_target;
use crate::error::{BroadcastError, Refusal, boxed, refusal};
use crate::mode::Rule;
use crate::plan::PlanPair;
use ndarray::{DimMax, Dimension};

#[inline]
pub(crate) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
) -> Result<PlanPair<I, J>, Refusal> {
    if a.slice() != b.slice() {
        return Err(shapes_differ(a.slice(), b.slice()));
    }
    let shape = a.clone();
    Ok((
        to_target(Rule::None, a, shape.slice())?,
        to_target(Rule::None, b, shape.slice())?,
    ))
}

#[cold]
fn shapes_differ(a: &[usize], b: &[usize]) -> Refusal {
    refusal(|| {
        Ok(BroadcastError::ShapesDiffer {
            shapes: [boxed(a)?, boxed(b)?],
        })
    })
}
