//! Shapes: their sizes, and how many elements they have.

use ndarray::Dimension;

/// In a target of [`BroadcastMode::Expand`](crate::BroadcastMode::Expand): the axis keeps the size
/// that it has in the input. It is -1 cast to `usize`.
/// [`broadcast_expand`](crate::BroadcastExt::broadcast_expand) takes -1 itself, too.
#[doc(alias = "-1")]
pub const KEEP: usize = usize::MAX;

/// The sizes of a dimension, as a slice.
///
/// The sizes of a dimension are contiguous in memory. So `expect` never panics, and the compiler
/// removes its check.
pub(crate) trait Sizes: Dimension {
    #[inline(always)]
    fn sizes(&self) -> &[usize] {
        self.as_array_view()
            .to_slice()
            .expect("sizes are contiguous")
    }

    #[inline(always)]
    fn sizes_mut(&mut self) -> &mut [usize] {
        self.as_array_view_mut()
            .into_slice()
            .expect("sizes are contiguous")
    }
}

impl<D: Dimension> Sizes for D {}

/// A dimension of these sizes. Their number must fit `D`.
#[inline]
pub(crate) fn dimension<D: Dimension>(sizes: &[usize]) -> D {
    by_axis(sizes.len(), |axis| sizes[axis])
}

/// A dimension of this rank, with a size for each axis. The rank must fit `D`.
#[inline(always)]
pub(crate) fn by_axis<D: Dimension>(rank: usize, size_of: impl Fn(usize) -> usize) -> D {
    let mut dimension = D::zeros(rank);
    // By index: for `sizes_mut`, ndarray computes the strides of a view.
    for axis in 0..dimension.ndim() {
        dimension[axis] = size_of(axis);
    }
    dimension
}

/// How many elements a shape has. `None` if its sizes other than 0 multiply to more than
/// `isize::MAX`.
///
/// ndarray demands this of empty shapes too, because it computes offsets axis by axis.
#[inline]
pub(crate) fn elements(shape: &[usize]) -> Option<usize> {
    let mut product = 1_usize;
    let mut empty = false;
    for &size in shape {
        empty |= size == 0;
        product = product.checked_mul(size.max(1))?;
    }
    isize::try_from(product).ok()?;
    Some(if empty { 0 } else { product })
}

/// Whether an array of shape `from` replicates to `to`: axes are aligned from the right, and each
/// is as long as that of `to`, or 1.
#[inline]
pub(crate) fn replicates(from: &[usize], to: &[usize]) -> bool {
    let more = to.len().checked_sub(from.len());
    more.is_some_and(|more| {
        let mut sizes = from.iter().zip(&to[more..]);
        sizes.all(|(from, to)| from == to || *from == 1)
    })
}
