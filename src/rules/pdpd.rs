//! pdpd: B, without its trailing 1s, is aligned with A from an axis of A on. A never grows.
//!
//! Source: PaddlePaddle's elementwise operations (`axis`), as OpenVINO's broadcast rules specify
//! them. OpenVINO's code differs from the specification for trailing 1s of B past A's end and for
//! a size of 0 in A. Here the specification holds.

use crate::error::{ArrayRole, BroadcastError, ErrorKind, rank_too_large, with_copies};
use crate::plan::{BroadcastPlan, PlanPair, PlanTo};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{DimMax, Dimension, IntoDimension};

/// The plan from B to A's shape.
#[inline(always)]
fn aligned_from<I: Dimension, J: Dimension, O: Dimension>(
    b: J,
    a: &I,
    axis: isize,
) -> Result<BroadcastPlan<J, O>, BroadcastError> {
    if axis < -1 {
        let (b, a) = (b.clone(), a.clone());
        return Err(with_copies([b.sizes(), a.sizes()], |[input, target]| {
            ErrorKind::PdpdAxis {
                array: ArrayRole::Input,
                input,
                target,
                axis,
            }
        }));
    }
    let Some(right_aligned) = a.ndim().checked_sub(b.ndim()) else {
        return Err(rank_too_large(Rule::Pdpd, b.sizes(), a.sizes()));
    };
    let axis = usize::try_from(axis).unwrap_or(right_aligned);
    let mut trimmed_rank = 0;
    for (axis, &size) in b.sizes().iter().enumerate() {
        if size != 1 {
            trimmed_rank = axis + 1;
        }
    }
    if axis.saturating_add(trimmed_rank) > a.ndim() {
        let (b, a) = (b.clone(), a.clone());
        return Err(with_copies([b.sizes(), a.sizes()], |[input, target]| {
            ErrorKind::PdpdOverhang {
                array: ArrayRole::Input,
                input,
                target,
                axis,
                trimmed_rank,
            }
        }));
    }
    // Trailing 1s past A's end feed nothing.
    BroadcastPlan::new(Rule::Pdpd, b, a.sizes(), move |i| axis.saturating_add(i))
}

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd), from shapes alone:
    /// `input` is the shape of B, `target` that of A.
    ///
    /// # Errors
    ///
    /// [`PdpdAxis`](crate::ErrorKind::PdpdAxis) if the axis is below -1;
    /// [`RankTooLarge`](crate::ErrorKind::RankTooLarge);
    /// [`PdpdOverhang`](crate::ErrorKind::PdpdOverhang) if B reaches past the end of A;
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::pdpd((3, 4), (2, 3, 4, 5), 1)?;
    /// assert_eq!(plan.output_shape(), [2, 3, 4, 5]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn pdpd<D, E>(input: D, target: E, axis: isize) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        aligned_from(input.into_dimension(), &target.into_dimension(), axis)
    }
}

/// The elementwise rule, for two operands.
#[inline]
pub(super) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
    axis: isize,
) -> Result<PlanPair<I, J>, BroadcastError> {
    let b = aligned_from(b, &a, axis).map_err(|e| e.with_input(ArrayRole::Operand(1)))?;
    let target = a.clone();
    let a = BroadcastPlan::right_aligned(Rule::Pdpd, a, target.sizes())?;
    Ok((a, b))
}
