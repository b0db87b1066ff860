//! Applies a plan to an array: the only place where a plan becomes a pointer.

use crate::error::{ArrayRole, PatternFault, Result, wrong_shape};
use crate::operand::IntoView;
use crate::partial::PartialShape;
use crate::pattern::AxisPattern;
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::shape::{Sizes, by_axis};
use ndarray::{ArrayView, ArrayViewD, Axis, IxDyn, RawArrayView, ShapeBuilder};
use ndarray::{DimMax, Dimension, IntoDimension};

/// The view that an array of dimension `D` gives when it is broadcast to a shape `E`.
///
/// ```
/// use ndarray::{Array1, Ix1};
/// use ndarray_broadcast::Broadcasted;
/// use ndarray_broadcast::prelude::*;
///
/// type Shape = (usize, usize, usize, usize);
///
/// fn per_channel(
///     bias: &Array1<f32>,
///     shape: Shape,
/// ) -> Result<Broadcasted<'_, f32, Ix1, Shape>, BroadcastError> {
///     bias.broadcast_explicit(shape, &[1])
/// }
///
/// assert_eq!(per_channel(&Array1::zeros(3), (2, 3, 4, 4))?.shape(), [2, 3, 4, 4]);
/// # Ok::<(), BroadcastError>(())
/// ```
pub type Broadcasted<'a, A, D, E> =
    ArrayView<'a, A, <D as DimMax<<E as IntoDimension>::Dim>>::Output>;

/// # Apply the plan
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// The array as a view of the output's shape, with stride 0 on every replicated axis. Takes
    /// O(rank) time and copies no element.
    ///
    /// Takes a reference to an array, or a view by value. The result of a view lives as long as
    /// the view's array.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if the array does not have the plan's input
    /// shape.
    ///
    /// ```
    /// use ndarray::{ArrayView1, ArrayView3, Axis, arr1, array};
    /// use ndarray_broadcast::{BroadcastError, BroadcastPlan};
    ///
    /// let plan = BroadcastPlan::explicit(2, (2, 3), &[0])?;
    /// assert_eq!(plan.view(&array![1, 2])?, array![[1, 1, 1], [2, 2, 2]]);
    /// assert!(plan.view(&array![1, 2, 3]).is_err());
    ///
    /// fn over_rows(
    ///     a: ArrayView1<'_, f32>,
    /// ) -> Result<ArrayView3<'_, f32>, BroadcastError> {
    ///     let column = a.insert_axis(Axis(1));
    ///     BroadcastPlan::numpy(column.raw_dim(), (2, a.len(), 4))?.view(column)
    /// }
    ///
    /// assert_eq!(over_rows(arr1(&[1., 2., 3.]).view())?.strides(), [0, 1, 0]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    // Always inlined, as are the rules. Then static shapes and strides stay in registers, and a
    // view costs as much as with ndarray's own `broadcast`. Through memory it costs five to ten
    // times that.
    #[inline(always)]
    pub fn view<'a, T: IntoView<'a, Dim = I>>(
        &self,
        array: T,
    ) -> Result<ArrayView<'a, T::Elem, O>> {
        let array = array.into_view();
        if !array.shape().iter().eq(self.input_shape()) {
            // Copies, as in `BroadcastPlan::new`.
            let (expected, found) = (self.input_dim(), array.raw_dim());
            let expected = PartialShape::known(expected);
            return Err(wrong_shape(ArrayRole::Input, expected, found.sizes()));
        }
        // An axis of size 0 or 1 may have any stride, which is never used.
        let mut sizes_and_strides = array.shape().iter().zip(array.strides());
        let is_reversed = sizes_and_strides.any(|(&size, &stride)| size > 1 && stride < 0);
        let rank = self.output_shape().len();
        let sizes_and_strides = array.shape().iter().zip(array.strides());
        let inputs = self.output_axes().iter().zip(sizes_and_strides);
        let inputs = inputs.filter(|(_, (size, _))| **size > 1);
        let strides: O = if I::NDIM.is_some() && O::NDIM.is_some() {
            // With few axes of known number a search stays in registers.
            by_axis(rank, |output_axis| {
                (inputs.clone())
                    .find(|(fed, _)| **fed == output_axis)
                    .map_or(0, |(_, (_, &stride))| stride as usize)
            })
        } else {
            let mut strides = O::zeros(rank);
            inputs.for_each(|(&fed, (_, &stride))| strides[fed] = stride as usize);
            strides
        };
        if is_reversed {
            let layout = &mut (array.as_ptr(), self.output_dim(), strides.clone());
            // SAFETY: as below.
            return Ok(unsafe { signed_view(layout) }.0);
        }
        let layout = self.output_dim().strides(strides);
        // SAFETY: `from_shape_ptr` wants a pointer that is not null: it is that of `array`. It
        // wants no negative stride, and there is none. It wants no offset and no number of elements
        // above `isize::MAX`: an axis with a stride other than 0 has the size and the stride of an
        // axis of `array`, and `BroadcastPlan::new` has checked that the output's sizes multiply to
        // at most `isize::MAX`.
        let raw = unsafe { RawArrayView::from_shape_ptr(layout, array.as_ptr()) };
        // SAFETY: every output index reaches an element of `array`, which lives for 'a and is only
        // read. An output axis with a stride other than 0 is fed by an input axis that is longer
        // than 1. `BroadcastPlan::new` has checked that both have the same size, in the plan's
        // input shape, and that shape is the array's, as checked above. An input axis feeds one
        // output axis only, so no input index is exceeded. The other output axes do not move the
        // pointer. If an axis of `array` has size 0, it feeds an output axis of size 0, and the
        // view has no elements.
        Ok(unsafe { raw.deref_into_view() })
    }
}

/// The view from this element on with this shape and these strides, which may be negative, as those
/// of raw views must not be. A view of the memory in its own order is reversed.
///
/// # Safety
///
/// Every index reaches an element of an array that lives for 'a and is only read. The sizes, those
/// of 0 counted as 1, multiply to at most `isize::MAX`. Axes of size 0 and 1 have a stride of 0.
// Takes a reference to copies, and the `u64` makes the result wider than a register. Both keep the
// caller's own values in registers.
#[cold]
#[inline(never)]
unsafe fn signed_view<'a, A, D: Dimension>(
    (first, shape, strides): &mut (*const A, D, D),
) -> (ArrayView<'a, A, D>, u64) {
    let mut forward = strides.clone();
    for (stride, &size) in forward.sizes_mut().iter_mut().zip(shape.sizes()) {
        let signed = *stride as isize;
        if signed < 0 {
            *first = first.wrapping_offset(signed * (size - 1) as isize);
            *stride = signed.unsigned_abs();
        }
    }
    // SAFETY: the pointer is that of the element at the lowest address, and so is not null. No
    // stride is negative. No offset exceeds `isize::MAX`, as every index reaches an element of the
    // array, and the number of elements does not either.
    let raw = unsafe { RawArrayView::from_shape_ptr(shape.clone().strides(forward), *first) };
    // SAFETY: every index reaches an element of the array, which lives for 'a and is only read.
    let mut view = unsafe { raw.deref_into_view() };
    for (axis, &stride) in strides.sizes().iter().enumerate() {
        if (stride as isize) < 0 {
            view.invert_axis(Axis(axis));
        }
    }
    (view, 0)
}

/// The new shape of an empty array is empty, too, and has no more than `isize::MAX` elements if its
/// sizes of 0 count as 1: that of the plan has not.
const EMPTY: &str = "an empty array has any shape that is empty";

impl AxisPattern {
    /// The array as a view by the names of its axes, in O(n log n) time for n names.
    ///
    /// A group on the left splits an axis; all sizes of its names but one are in `sizes`. A group
    /// on the right merges axes. They must be adjacent in memory, in this order, or be replicated
    /// alike, or all but one have size 1. [`plan`](Self::plan) is for patterns without groups.
    ///
    /// ```text
    /// pattern   (h  w) c -> h  w  c
    /// input       12   3
    /// sizes      2
    ///           -------------------
    /// output                2  6  3
    /// ```
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan). Also
    /// [`InvalidPattern`](crate::ErrorKind::InvalidPattern) if the sizes of a group do not divide
    /// that of its axis, and if axes can be merged in a copy only. The error names the calls that
    /// copy.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::named::AxisPattern;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let split: AxisPattern = "(h w) -> w h".parse()?;
    /// let (x, sizes) = (array![0, 1, 2, 3, 4, 5], [("h", 2)]);
    /// let columns = split.view(&x, &sizes)?;
    /// assert_eq!(columns, array![[0, 3], [1, 4], [2, 5]].into_dyn());
    ///
    /// // Each element three times: of the replicas of one only, no axis can be made.
    /// let repeat = "x -> (x 3)".parse::<AxisPattern>()?;
    /// assert_eq!(
    ///     repeat.view(&array![1, 2], &[]).unwrap_err().to_string(),
    ///     "\
    /// no view fits the axis pattern
    ///   x -> (x 3)
    ///        ^ \"(x 3)\" needs a copy: leave out the parentheses on the right, \
    ///          materialize, then into_shape_with_order([6])",
    /// );
    /// let copy = array![1, 2].broadcast_named("x -> x 3", &[])?.materialize()?;
    /// assert_eq!(
    ///     copy.into_shape_with_order([6]),
    ///     Ok(array![1, 1, 1, 2, 2, 2])
    /// );
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: einops `repeat` and `rearrange`, which copy where they must.
    pub fn view<'a, T: IntoView<'a>>(
        &self,
        array: T,
        sizes: &[(&str, usize)],
    ) -> Result<ArrayViewD<'a, T::Elem>> {
        let array = array.into_view().into_dyn();
        let pattern = self.expanded([Some(array.ndim())])?;
        let pattern = pattern.as_deref().unwrap_or(self);
        let split_sizes = pattern.split_sizes(array.shape(), sizes)?;
        let [plan] = pattern.plans_of_names([IxDyn(&split_sizes.concat())], sizes)?;
        let mut view = plan.view(split(array, &split_sizes))?;

        let mut sizes = view.shape().iter();
        let merged = |names: &[_]| sizes.by_ref().take(names.len()).product();
        let shape: Vec<usize> = pattern.output.axes().map(merged).collect();
        if view.is_empty() {
            return Ok(view.into_shape_with_order(shape).expect(EMPTY));
        }
        // The axes of a group are merged into its last one. The others then have size 1.
        let rank = shape.len();
        let mut output_axes = Vec::new();
        for (at, names) in pattern.output.axes().enumerate() {
            let first = output_axes.len();
            let last = first + names.len() - 1;
            for axis in (first..last).rev() {
                // ndarray multiplies these. The product may overflow if elements have size 0, or if
                // `usize` has 32 bits.
                let (len, stride) = (view.len_of(Axis(last)), view.stride_of(Axis(last)));
                let is_small = (len as isize).checked_mul(stride).is_some();
                let may_merge = is_small || view.len_of(Axis(axis)) == 1;
                if !may_merge || !view.merge_axes(Axis(axis), Axis(last)) {
                    let fault = PatternFault::NeedsCopy(shape.into());
                    return Err(pattern.error(names[0].at - 1, fault));
                }
            }
            output_axes.resize(last, rank);
            output_axes.push(at);
        }
        let (merged, shape) = (view.raw_dim(), IxDyn(&shape));
        BroadcastPlan::new(Rule::Named, merged, shape, |axis| output_axes[axis])?.view(view)
    }
}

/// The array with each axis split into axes of these sizes, which multiply to its size.
fn split<'a, A>(array: ArrayViewD<'a, A>, sizes: &[Vec<usize>]) -> ArrayViewD<'a, A> {
    assert_eq!(sizes.len(), array.ndim(), "the sizes of all axes");
    let shape = IxDyn(&sizes.concat());
    if array.is_empty() {
        return array.into_shape_with_order(shape).expect(EMPTY);
    }
    // From the last axis to the first.
    let mut strides = Vec::new();
    for (axis, sizes) in array.axes().rev().zip(sizes.iter().rev()) {
        let mut inside = 1_usize;
        for &size in sizes.iter().rev() {
            // With the right sizes it is at most the offset of the last element of the axis.
            let stride = axis.stride.wrapping_mul(inside as isize);
            strides.push(if size == 1 { 0 } else { stride as usize });
            inside = inside.checked_mul(size).expect("the sizes of an axis");
        }
        assert_eq!(inside, axis.len, "the sizes of an axis");
    }
    strides.reverse();
    // SAFETY: the indices of the parts of an axis, in row-major order, reach the elements that the
    // index of the axis reaches, as their sizes multiply to its size, which the assertion above has
    // checked. So there are as many elements as in `array`.
    unsafe { signed_view(&mut (array.as_ptr(), shape, IxDyn(&strides))) }.0
}
