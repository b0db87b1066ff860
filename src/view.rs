//! Plan and array make a view. The one place where a rule's answer becomes a pointer.

use ndarray::{ArrayView, Axis, Dimension, RawArrayView, ShapeBuilder};

/// The view that a plan's parts describe: output axis `j` walks input axis `source[j]`, or stands still.
///
/// The caller has checked that `array` has the input shape that the parts were made for.
#[inline]
pub(crate) fn replicate<'a, A, I: Dimension, O: Dimension>(
    array: ArrayView<'a, A, I>,
    output: &O,
    source: &O,
) -> ArrayView<'a, A, O> {
    let (shape, strides) = (array.shape(), array.strides());
    let mut output_strides = O::zeros(output.ndim());
    let mut pointer = array.as_ptr();
    let mut reversed = false;
    // Nothing of an empty view is ever reached, and its pointer must not be moved.
    let empty = output.slice().contains(&0);
    for ((stride, &axis), &size) in output_strides
        .slice_mut()
        .iter_mut()
        .zip(source.slice())
        .zip(output.slice())
    {
        // An axis of one element is never walked; an axis of another size than the input's is replicated.
        if shape.get(axis) == Some(&size) && size > 1 && !empty {
            *stride = strides[axis].unsigned_abs();
            if strides[axis] < 0 {
                reversed = true;
                // To the lowest address: raw views start there and are turned round afterwards.
                // In bounds, as it is the address of the axis's last element, and so no overflow.
                pointer = pointer.wrapping_offset(strides[axis] * (size as isize - 1));
            }
        }
    }
    // SAFETY: this only makes the raw view. Its strides are not negative, as they are absolute values, and no offset
    // overflows `isize`, as each is one of `array` (see below), which is a valid array.
    let mut raw =
        unsafe { RawArrayView::from_shape_ptr(output.clone().strides(output_strides), pointer) };
    if reversed {
        for (column, &axis) in source.slice().iter().enumerate() {
            if shape.get(axis) == Some(&output[column]) && output[column] > 1 && strides[axis] < 0 {
                raw.invert_axis(Axis(column));
            }
        }
    }
    // SAFETY: every element of the view is an element of `array`, so it is aligned, initialised and lives for 'a, and it
    // is only read. A `BroadcastPlan` feeds an output axis from an input axis of the same size, which is walked with
    // the input's own stride, or it has stride 0 and stands at that axis's first element; no two output axes share an
    // input axis. So an output index reaches the element at an index of `array`. If `array` has an axis of size 0, that
    // axis feeds an output axis of size 0, as a plan stretches and leaves out axes of size 1 only: the view is empty.
    unsafe { raw.deref_into_view() }
}
