//! paddle: the operand of smaller rank is aligned with the other one from an axis on. Axes of size
//! 1 of each replicate.
//!
//! Source: PaddlePaddle 3.3.1, elementwise operations with the attribute `axis`, as the program
//! runs. It aligns equal ranks axis by axis, and takes only the axes -1 and 0 for them; shapes that
//! are identical it adds whatever the axis is. Where the smaller operand, its trailing 1s included,
//! reaches past the end of the other, Paddle writes past its list of sizes: an error here.

use super::alignment::{Aligned, Axes, Shapes};
use crate::error::{AxesFault, Mismatch};
use crate::partial::Size;
use crate::rule::Relation;

/// The elementwise rule, for two operands.
#[inline(always)]
pub(super) fn aligned_from<S: Size>(shapes: Shapes<'_, S>, axis: isize) -> Aligned<'static> {
    let [a, b] = shapes.ranks;
    let (small, rank) = (a.min(b), a.max(b));
    let mut sizes = shapes.first.iter().zip(&*shapes.second);
    let mut may_be_identical = || sizes.all(|(&a, &b)| a.and(b).is_some());
    if small == rank && !matches!(axis, -1 | 0) && may_be_identical() {
        return Ok((Relation::Equal, Axes::From(0)));
    }
    let start = match axis {
        -1 => Some(rank - small),
        // Also for two scalars, which have no axis 0.
        0 => Some(0),
        axis => usize::try_from(axis).ok().filter(|&axis| axis < rank),
    };
    let fault = match start {
        None => AxesFault::OutOfRange(0),
        Some(start) if start > rank - small => AxesFault::Overhang,
        Some(start) => return Ok((Relation::Common, Axes::From(start))),
    };
    Err(Mismatch::axes(&[axis], fault))
}
