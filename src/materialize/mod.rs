//! Owned copies of any view, at the speed of the memory.
//!
//! | file | subject |
//! |---|---|
//! | `strategy` | which strategy a large copy takes |
//! | `axes` | the loops over both operands |
//! | `copy` | the safe interface of the kernels, and what runs a copy |
//! | `copy/operands` | both operands: the types that own the right to write |
//! | `copy/fill` | which rows and planes of a region are copied together |
//! | `copy/plane` | which kernel copies a plane |
//! | `copy/rows`, `splat`, `interleave` | kernels with plain stores |
//! | `copy/expand`, `transpose` | kernels with plain stores or streamed |
//! | `copy/repeat` | repetition, with plain stores or streamed |
//! | `copy/blocks` | streaming through a block |

mod axes;
mod copy;
mod strategy;

pub(crate) use copy::copy_into_uninit;

use crate::engine::inputs::Input;
use crate::engine::rows::{collect, overwrite};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use crate::operand::Operand;
use ndarray::{Array, ArrayRef, ArrayViewMut};
use sealed::CopyElement;
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
    fn materialize(&self) -> Result<Array<Self::Elem, Self::Dim>, BroadcastError>
    where
        Self::Elem: CopyElement,
    {
        copy::fresh(self.as_array())
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
    #[inline]
    fn materialize_into(
        &self,
        out: &mut ArrayRef<Self::Elem, Self::Dim>,
    ) -> Result<(), BroadcastError>
    where
        Self::Elem: CopyElement,
    {
        copy::into(out, self.as_array())
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
    ) -> Result<ArrayViewMut<'o, Self::Elem, Self::Dim>, BroadcastError>
    where
        Self::Elem: CopyElement,
    {
        copy::copy_into_uninit(out.view_mut(), self.as_array())
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
    fn materialize_cloned(&self) -> Result<Array<Self::Elem, Self::Dim>, BroadcastError>
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
    fn materialize_cloned_into(
        &self,
        out: &mut ArrayRef<Self::Elem, Self::Dim>,
    ) -> Result<(), BroadcastError>
    where
        Self::Elem: Clone + Send + Sync,
    {
        let from = self.as_array().view();
        check_shape(ArrayRole::Out, from.shape(), out.shape())?;
        overwrite(out, (Input::refs(&from),), Self::Elem::clone)
    }
}

impl<T: Operand + ?Sized> MaterializeExt for T {}
