//! Copies from slices to slices, for crates whose interface has no ndarray types.
#![forbid(unsafe_code)]

use crate::error::{ArrayRole, BroadcastError, ErrorKind, Result, SliceFault};
use crate::materialize::copy_into_uninit;
use crate::plan::BroadcastPlan;
use crate::shape::{Sizes, by_axis, elements};
use ndarray::{
    ArrayBase, ArrayView, ArrayViewMut, Axis, Dimension, RawData, ShapeBuilder, StrideShape,
};
use std::mem::MaybeUninit;

/// # Slices
///
/// For crates that keep ndarray out of their interface: elements are in slices, shapes and strides
/// are lists of integers, and the memory of the result is the caller's.
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// Copies the broadcast of `input` into `out`.
    ///
    /// `None` for strides is row-major order without gaps: the slice then has as many elements as
    /// the plan's input or output shape. Otherwise strides are counted in elements, one for each
    /// axis. A stride may be negative: a slice begins at the lowest address that its array reaches.
    /// Elements of `input` may overlap: a stride of 0 is an axis that is broadcast already. Those
    /// of `out` may not. A slice with strides may be longer than its array reaches; elements of
    /// `out` between the strides are not written.
    ///
    /// Large copies run in parallel, as [`materialize`](crate::MaterializeExt::materialize).
    ///
    /// # Errors
    ///
    /// [`InvalidSlice`](crate::ErrorKind::InvalidSlice) if a list of strides does not have one
    /// entry for each axis, if a slice is too short, or if elements of `out` may overlap. As for
    /// every mutable view of ndarray, each stride must step over all elements of the axes with
    /// shorter strides. [`AllocationFailed`](crate::ErrorKind::AllocationFailed), only if more than
    /// 8 axes are longer than 1. Nothing has been written then.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::{BroadcastError, BroadcastPlan};
    /// use std::mem::MaybeUninit;
    ///
    /// // No type of ndarray is in this signature.
    /// fn broadcast_to(
    ///     data: &[f32],
    ///     shape: &[usize],
    ///     target: &[usize],
    ///     out: &mut [MaybeUninit<f32>],
    /// ) -> Result<(), BroadcastError> {
    ///     BroadcastPlan::numpy(shape, target)?.copy_slice(data, None, out, None)
    /// }
    ///
    /// let mut arena = [const { MaybeUninit::uninit() }; 6];
    /// broadcast_to(&[1., 2.], &[2, 1], &[2, 3], &mut arena)?;
    /// // SAFETY: the call has written every element.
    /// let rows = arena.map(|element| unsafe { element.assume_init() });
    /// assert_eq!(rows, [1., 1., 1., 2., 2., 2.]);
    /// assert_eq!(
    ///     broadcast_to(&[1.], &[2, 1], &[2, 3], &mut arena).unwrap_err().to_string(),
    ///     "input is a slice of length 1, the shape [2, 1] needs 2",
    /// );
    ///
    /// // The row backwards, into the columns of a matrix in column-major order.
    /// let plan = BroadcastPlan::numpy(2, (3, 2))?;
    /// let mut out = [7; 6].map(MaybeUninit::new);
    /// plan.copy_slice(&[1, 2], Some(&[-1]), &mut out, Some(&[1, 3]))?;
    /// // SAFETY: all elements were initialised above.
    /// let out = out.map(|element| unsafe { element.assume_init() });
    /// assert_eq!(out, [2, 2, 2, 1, 1, 1]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// A slice that is initialised, `&mut [T]`, is written through a view of ndarray, without
    /// `unsafe`:
    ///
    /// ```
    /// use ndarray::{ArrayView, ArrayViewMut};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// fn broadcast_to(
    ///     data: &[f32],
    ///     shape: &[usize],
    ///     target: &[usize],
    ///     out: &mut [f32],
    /// ) -> Result<(), Box<dyn std::error::Error>> {
    ///     let plan = BroadcastPlan::numpy(shape, target)?;
    ///     let input = ArrayView::from_shape(plan.input_dim(), data)?;
    ///     let mut out = ArrayViewMut::from_shape(plan.output_dim(), out)?;
    ///     Ok(plan.view(input)?.materialize_into(&mut out)?)
    /// }
    ///
    /// let mut out = [0.; 6];
    /// broadcast_to(&[1., 2.], &[2, 1], &[2, 3], &mut out)?;
    /// assert_eq!(out, [1., 1., 1., 2., 2., 2.]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_slice<T: Copy + Send + Sync>(
        &self,
        input: &[T],
        input_strides: Option<&[isize]>,
        out: &mut [MaybeUninit<T>],
        out_strides: Option<&[isize]>,
    ) -> Result<()> {
        let strides = input_strides.unwrap_or(&[]);
        let refused = refused(ArrayRole::Input, self.input_shape(), strides, input.len());
        let layout = layout(self.input_dim(), input_strides, input.len()).map_err(&refused)?;
        let mut input = ArrayView::from_shape(layout, input)
            .map_err(|_| refused(SliceFault::Length(usize::MAX)))?;
        invert(&mut input, strides);

        let strides = out_strides.unwrap_or(&[]);
        let refused = self::refused(ArrayRole::Out, self.output_shape(), strides, out.len());
        let layout = self::layout(self.output_dim(), out_strides, out.len()).map_err(&refused)?;
        let mut out =
            ArrayViewMut::from_shape(layout, out).map_err(|_| refused(SliceFault::Overlap))?;
        invert(&mut out, strides);
        copy_into_uninit(out, &self.view(input)?).map(drop)
    }
}

/// The error of a slice that does not hold an array of this shape and these strides.
fn refused(
    role: ArrayRole,
    shape: &[usize],
    strides: &[isize],
    len: usize,
) -> impl Fn(SliceFault) -> BroadcastError {
    move |fault| {
        BroadcastError::new(ErrorKind::InvalidSlice {
            role,
            shape: shape.into(),
            strides: strides.into(),
            len,
            fault,
        })
    }
}

/// The layout of an array in a slice of this length, with the absolute values of the strides.
/// Without strides, it is standard layout of the whole slice.
fn layout<D: Dimension>(
    shape: D,
    strides: Option<&[isize]>,
    len: usize,
) -> Result<StrideShape<D>, SliceFault> {
    let sizes = shape.sizes();
    let Some(strides) = strides else {
        return match elements(sizes) {
            Some(elements) if elements == len => Ok(shape.into()),
            needed => Err(SliceFault::Length(needed.unwrap_or(usize::MAX))),
        };
    };
    if strides.len() != sizes.len() {
        return Err(SliceFault::Rank);
    }
    let reach = |reach: usize, (&size, stride): (&usize, &isize)| {
        reach.checked_add((size - 1).checked_mul(stride.unsigned_abs())?)
    };
    let is_empty = sizes.contains(&0);
    let needed = match is_empty {
        true => Some(0),
        false => sizes.iter().zip(strides).try_fold(1, reach),
    };
    // No array of ndarray has a larger offset, not even one of elements without bytes.
    let needed = needed.filter(|&needed| isize::try_from(needed.saturating_sub(1)).is_ok());
    if needed.is_none_or(|needed| needed > len) {
        return Err(SliceFault::Length(needed.unwrap_or(usize::MAX)));
    }
    let strides: D = by_axis(sizes.len(), |axis| match sizes[axis] {
        2.. if !is_empty => strides[axis].unsigned_abs(),
        // The stride is never used, and may be any number.
        _ => 0,
    });
    Ok(shape.strides(strides))
}

/// Reverses the axes whose stride is negative. An axis whose stride is never used has the stride 0
/// in `array`, so that to reverse it changes nothing.
fn invert<S: RawData, D: Dimension>(array: &mut ArrayBase<S, D>, strides: &[isize]) {
    for (axis, &stride) in strides.iter().enumerate() {
        if stride < 0 {
            array.invert_axis(Axis(axis));
        }
    }
}
