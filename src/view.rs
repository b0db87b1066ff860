//! Plan and array make a view. The one place where a rule's answer becomes a pointer.

use ndarray::{ArrayView, Axis, Dimension, RawArrayView, ShapeBuilder};

/// The view that a plan's parts describe: output axis `feeds[i]` walks input axis `i`, or stands still if that has size 1;
/// so does an output axis that none feeds.
///
/// The caller has checked that `array` has the input shape that the parts were made for.
// Inlined whatever it takes, as are the rules of static ranks: then shapes and strides never leave the registers, and a
// view costs what ndarray's own `broadcast` does. Through memory it costs five to ten times that.
#[inline(always)]
pub(crate) fn replicate<'a, A, I: Dimension, O: Dimension>(
    array: ArrayView<'a, A, I>,
    output: O,
    feeds: &I,
) -> ArrayView<'a, A, O> {
    if array.strides().iter().any(|&stride| stride < 0) {
        let mut reversed = (array.clone(), output.clone(), feeds.clone());
        return replicate_reversed(&mut reversed).0;
    }
    let mut strides = O::zeros(output.ndim());
    for (column, stride) in strides.slice_mut().iter_mut().enumerate() {
        let mut fed = feeds.slice().iter().zip(array.shape()).zip(array.strides());
        *stride = fed
            .find(|((axis, size), _)| **axis == column && **size != 1)
            .map_or(0, |(_, &stride)| stride as usize);
    }
    // SAFETY: this only makes the raw view. The pointer is that of `array`, so not null. The strides are not negative, as
    // none of `array` is. No offset overflows `isize`: each axis that is walked is an axis of `array`, a valid array, with its
    // size and its stride. The sizes multiply to `isize::MAX` at most, as in every `BroadcastPlan`.
    let raw = unsafe { RawArrayView::from_shape_ptr(output.strides(strides), array.as_ptr()) };
    // SAFETY: every element of the view is an element of `array`, so it is aligned, initialised and lives for 'a, and it
    // is only read. An output axis is walked with the stride of an input axis that feeds it and has the same size, as
    // `BroadcastPlan::new` has checked of every input axis whose size is not 1, or it has stride 0 and stands at the first
    // element; an input axis feeds one output axis only. So an output index reaches the element at an index of `array`. If `array` has an axis of size 0, that one feeds an
    // output axis of size 0: the view is empty.
    unsafe { raw.deref_into_view() }
}

/// [`replicate`] for an array with negative strides, which raw views must not have: the array is turned round along
/// those axes, and then the view is. What goes in and out keeps the caller's own values in registers: copies that may be
/// written to, and a result that is more than the view.
#[cold]
#[inline(never)]
fn replicate_reversed<'a, A, I: Dimension, O: Dimension>(
    (array, output, feeds): &mut (ArrayView<'a, A, I>, O, I),
) -> (ArrayView<'a, A, O>, u64) {
    let signed = array.clone();
    for (axis, &stride) in signed.strides().iter().enumerate() {
        if stride < 0 {
            array.invert_axis(Axis(axis));
        }
    }
    let mut view = replicate(array.clone(), output.clone(), feeds);
    for (&column, &stride) in feeds.slice().iter().zip(signed.strides()) {
        if stride < 0 && column < view.ndim() && view.strides()[column] > 0 {
            view.invert_axis(Axis(column));
        }
    }
    (view, 0)
}
