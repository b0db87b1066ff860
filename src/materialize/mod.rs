//! Owned copies of any view, at the speed of the memory.

#[cfg(test)]
mod tests;

use crate::engine::copies::{self, Settings};
use crate::engine::inputs::Input;
use crate::engine::memory::array_of;
use crate::engine::rows::{collect, overwrite};
use crate::engine::threads::PARALLEL_FROM;
use crate::engine::tuning::{FEW_MAPPED, LARGE_ELEMENT};
use crate::error::{ArrayRole, Result, check_shape};
use crate::operand::Operand;
use ndarray::{Array, ArrayRef, ArrayView, ArrayViewMut, Dimension, Zip};
use sealed::CopyElement;
use std::iter::repeat_n;
use std::mem::MaybeUninit;

mod sealed {
    /// An element that is copied as its bytes are.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not `Copy + Send + Sync`: `materialize_cloned` and \
            `materialize_cloned_into` clone elements"
    )]
    pub trait CopyElement: Copy + Send + Sync {}

    #[diagnostic::do_not_recommend]
    impl<T: Copy + Send + Sync> CopyElement for T {}
}

/// Owned copies of any view: broadcast, transposed, strided or reversed.
///
/// For every `ArrayBase` and for `ArrayRef`. With the feature `rayon`, large copies use the threads
/// of the current rayon pool.
///
/// | method | the copy lies in | layout |
/// |---|---|---|
/// | [`materialize`](Self::materialize) | fresh memory | standard |
/// | [`materialize_into`](Self::materialize_into) | an array or view that exists | any |
/// | [`materialize_into_uninit`](Self::materialize_into_uninit) | memory that is not initialised yet | any |
/// | [`materialize_cloned`](Self::materialize_cloned) | fresh memory; elements need not be `Copy` | standard |
/// | [`materialize_cloned_into`](Self::materialize_cloned_into) | an array or view that exists; elements need not be `Copy` | any |
///
/// When to copy, and how to copy in pieces: [the guide](crate::guide::copies_and_gradients).
///
/// `CopyElement` in a signature stands for `Copy + Send + Sync`, and the private supertrait [for an
/// array](crate::BroadcastExt#reading-the-signatures). A `String` is cloned instead:
///
/// ```compile_fail,E0277
/// # use ndarray_broadcast::prelude::*;
/// let names = ndarray::array!["a".to_string(), "b".to_string()];
/// let copy = names.broadcast_numpy((2, 2))?.materialize()?; // materialize_cloned
/// # Ok::<(), BroadcastError>(())
/// ```
pub trait MaterializeExt: Operand {
    /// An owned copy in standard layout (row-major, contiguous).
    ///
    /// # Errors
    ///
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow) if the copy would have more than
    /// `isize::MAX` bytes,
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed) if there is no memory for it.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let bias = array![1., 2., 3.];
    /// let owned = bias.broadcast_explicit((2, 3, 2), &[1])?.materialize()?;
    /// assert_eq!(
    ///     owned,
    ///     array![[[1., 1.], [2., 2.], [3., 3.]], [[1., 1.], [2., 2.], [3., 3.]]]
    /// );
    /// assert!(owned.is_standard_layout());
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[doc(alias = "contiguous")]
    #[doc(alias = "ascontiguousarray")]
    #[doc(alias = "to_owned")]
    #[inline(always)]
    fn materialize(&self) -> Result<Array<Self::Elem, Self::Dim>>
    where
        Self::Elem: CopyElement,
    {
        fresh(self.as_array())
    }

    /// Copies into `out`: an array, or a mutable view with any strides.
    ///
    /// `out` cannot overlap the source: it is borrowed mutably while the source is borrowed. No two
    /// of its elements overlap, because ndarray has no mutable view with such strides.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if `out` has another shape than the source;
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed), only if more than 8 axes are
    /// longer than 1. It is then unchanged.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let row = array![1, 2, 3];
    /// let mut out = Array2::zeros((2, 3));
    /// row.broadcast_numpy((2, 3))?.materialize_into(&mut out)?;
    /// assert_eq!(out, array![[1, 2, 3], [1, 2, 3]]);
    ///
    /// // The last column, from below.
    /// row.slice(s![..2]).materialize_into(&mut out.slice_mut(s![..;-1, 2]))?;
    /// assert_eq!(out, array![[1, 2, 2], [1, 2, 1]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[doc(alias = "copyto")]
    #[doc(alias = "copy_")]
    #[doc(alias = "assign")]
    #[inline(always)]
    fn materialize_into(&self, out: &mut ArrayRef<Self::Elem, Self::Dim>) -> Result<()>
    where
        Self::Elem: CopyElement,
    {
        into(out, self.as_array())
    }

    /// Copies into memory that is not initialised yet, for example an arena or a memory map, and
    /// returns a view of the initialised elements.
    ///
    /// # Errors
    ///
    /// Those of [`materialize_into`](Self::materialize_into). Nothing is then initialised.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{ArrayViewMut, array};
    /// use ndarray_broadcast::prelude::*;
    /// use std::mem::MaybeUninit;
    ///
    /// let mut arena = [MaybeUninit::<i32>::uninit(); 6];
    /// let mut out = ArrayViewMut::from_shape((2, 3), &mut arena).unwrap();
    /// let filled = array![1, 2, 3]
    ///     .broadcast_numpy((2, 3))?
    ///     .materialize_into_uninit(&mut out)?;
    /// assert_eq!(filled, array![[1, 2, 3], [1, 2, 3]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[inline]
    fn materialize_into_uninit<'o>(
        &self,
        out: &'o mut ArrayRef<MaybeUninit<Self::Elem>, Self::Dim>,
    ) -> Result<ArrayViewMut<'o, Self::Elem, Self::Dim>>
    where
        Self::Elem: CopyElement,
    {
        copy_into_uninit(out.view_mut(), self.as_array())
    }

    /// [`materialize`](Self::materialize) for elements that are `Clone` and not `Copy`.
    ///
    /// `clone` is called once for each element of the copy, in no particular order, and with the
    /// feature `rayon` from several threads at a time. If it panics, the panic reaches the caller
    /// after the other threads have stopped; the clones that exist are dropped, once each.
    ///
    /// # Errors
    ///
    /// Those of [`materialize`](Self::materialize).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let words = array![String::from("a"), String::from("b")];
    /// let table = words.broadcast_numpy((2, 2))?.materialize_cloned()?;
    /// assert_eq!(table, array![["a", "b"], ["a", "b"]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[doc(alias = "clone")]
    fn materialize_cloned(&self) -> Result<Array<Self::Elem, Self::Dim>>
    where
        Self::Elem: Clone + Send + Sync,
    {
        let from = self.as_array().view();
        collect(from.raw_dim(), (Input::refs(&from),), Self::Elem::clone)
    }

    /// [`materialize_into`](Self::materialize_into) for elements that are `Clone` and not `Copy`.
    ///
    /// The old elements of `out` are dropped. If `clone` panics, the panic reaches the caller after
    /// the other threads have stopped; each element of `out` is its old value or a clone.
    ///
    /// # Errors
    ///
    /// Those of [`materialize_into`](Self::materialize_into).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let words = array![String::from("a"), String::from("b")];
    /// let mut table = Array2::default((2, 2));
    /// words.broadcast_explicit((2, 2), &[0])?.materialize_cloned_into(&mut table)?;
    /// assert_eq!(table, array![["a", "a"], ["b", "b"]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    fn materialize_cloned_into(&self, out: &mut ArrayRef<Self::Elem, Self::Dim>) -> Result<()>
    where
        Self::Elem: Clone + Send + Sync,
    {
        let from = self.as_array().view();
        check_shape(ArrayRole::Out, from.shape(), out.shape())?;
        overwrite(out, (Input::refs(&from),), Self::Elem::clone)
    }
}

impl<T: Operand + ?Sized> MaterializeExt for T {}

/// A copy of `from` in standard layout.
// Always inlined, as is `materialize`. Then the shape and the strides of a small broadcast array
// stay in registers: 4 by 4 `f32` of a row take 35 ns, and 48 ns if they go through memory (an
// Intel Xeon). For that, calls are given views of their own, and the copy is not returned as it
// comes from the engine. A processor waits where it loads 16 bytes that it has just stored as two
// times 8.
#[inline(always)]
fn fresh<A: Copy + Send + Sync, D: Dimension>(from: &ArrayRef<A, D>) -> Result<Array<A, D>> {
    let slice = short_slice(from);
    if slice.is_none() && !is_few(from) {
        let copy = copies::fresh(&from.view())?;
        return Ok(copy);
    }
    array_of(from.raw_dim(), |copy| match slice {
        Some(elements) => copy.extend_from_slice(elements),
        None => extend_by_rows(copy, from.view()),
    })
}

/// Whether an array has so few elements that calling the engine takes longer than copying them. Not
/// of large ones: copies by value have some of them on the stack.
#[inline]
fn is_few<A, D: Dimension>(array: &ArrayRef<A, D>) -> bool {
    D::NDIM.is_some() && size_of::<A>() < LARGE_ELEMENT && array.len() <= FEW_MAPPED
}

/// Appends the elements of `from` in the order of the axes.
#[inline(never)]
fn extend_by_rows<A: Copy, D: Dimension>(copy: &mut Vec<A>, from: ArrayView<A, D>) {
    // Going from one row to the next takes as long as two or three elements.
    if from.shape().last().is_some_and(|&size| size < 4) {
        return from.iter().for_each(|&element| copy.push(element));
    }
    for row in from.rows() {
        match (row.as_slice(), row.strides()) {
            (Some(row), _) => copy.extend_from_slice(row),
            (None, [0]) => copy.extend(repeat_n(row[0], row.len())),
            (None, _) => copy.extend((0..row.len()).map(|index| row[index])),
        }
    }
}

/// The elements in standard layout, if they are so few that one thread copies them.
#[inline]
fn short_slice<A, D: Dimension>(array: &ArrayRef<A, D>) -> Option<&[A]> {
    let elements = array.as_slice()?;
    (size_of_val(elements) < PARALLEL_FROM).then_some(elements)
}

/// Copies `from` into `out` and returns a view of the elements, now initialised.
#[inline]
pub(crate) fn copy_into_uninit<'o, A: Copy + Send + Sync, D: Dimension>(
    out: ArrayViewMut<'o, MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
) -> Result<ArrayViewMut<'o, A, D>> {
    copies::into_uninit(out, from, |bytes| Settings::of(bytes, false))
}

/// Copies `from` into `out`.
// Always inlined, and given a view of its own, as `fresh` is. But if the rank is dynamic, a view
// may allocate memory for its shape, and the process is aborted if there is none.
#[inline(always)]
fn into<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<A, D>,
    from: &ArrayRef<A, D>,
) -> Result<()> {
    match D::NDIM {
        Some(_) => into_shape(out, &from.view()),
        None => into_shape(out, from),
    }
}

#[inline(always)]
fn into_shape<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<A, D>,
    from: &ArrayRef<A, D>,
) -> Result<()> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    if let (Some(from), Some(to)) = (short_slice(from), out.as_slice_mut()) {
        to.copy_from_slice(from);
        return Ok(());
    }
    if is_few(from) {
        assign_by_rows(out, from.view());
        return Ok(());
    }
    copies::into(out, from, |bytes| Settings::of(bytes, false))
}

/// Copies the elements of `from` into an array of its shape.
#[inline(never)]
fn assign_by_rows<A: Copy, D: Dimension>(out: &mut ArrayRef<A, D>, from: ArrayView<A, D>) {
    let rows = Zip::from(out.rows_mut()).and(from.rows());
    rows.for_each(|mut to, from| match (from.first(), from.strides()) {
        (Some(&element), [0]) => to.fill(element),
        _ => Zip::from(to).and(from).for_each(|to, from| *to = *from),
    });
}
