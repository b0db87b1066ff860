//! [`BroadcastExt`]: each rule as one chained method.

use crate::co_broadcast::broadcast_pair;
use crate::error::{ArrayRole, Result};
use crate::integer::ExpandShape;
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::operand::Operand;
use crate::pattern::AxisPattern;
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::view::Broadcasted;
use ndarray::{ArrayView, ArrayViewD, DimAdd, DimMax, IntoDimension};
use std::borrow::Borrow;

/// Broadcasts an array to a shape by any rule, as a view.
///
/// For every `ArrayBase` (owned arrays, views, `ArcArray`, `CowArray`) and for `ArrayRef`, of any
/// element type, layout and rank. `shape` is anything that ndarray takes as a shape: a tuple, an
/// array, a slice, a `Vec`, an `IxDyn`. A `Vec` is passed by value or as a slice, and integers that
/// are not `usize` by [`shape_from_integers`](crate::shape_from_integers); otherwise the compiler
/// says that `DimMax` is not satisfied. The result has a static rank if input and shape have one.
/// No element is copied: a replicated axis has stride 0. With static ranks nothing is allocated,
/// but for a list of more than 6 broadcast axes, and for a named pattern with `...` or more than 4
/// names.
///
/// | method | alignment | replicates | output |
/// |---|---|---|---|
/// | [`broadcast_numpy`](Self::broadcast_numpy) | right-aligned | input's 1s | `shape` |
/// | [`broadcast_bidirectional`](Self::broadcast_bidirectional) | right-aligned | 1s of either | may exceed `shape` |
/// | [`broadcast_explicit`](Self::broadcast_explicit) | by mapping, increasing | input's 1s | `shape` |
/// | [`broadcast_axes`](Self::broadcast_axes) | by the set of new axes | nothing else | `shape` |
/// | [`broadcast_in_dim`](Self::broadcast_in_dim) | by mapping, increasing | input's 1s | `shape` |
/// | [`broadcast_in_dim_permuting`](Self::broadcast_in_dim_permuting) | by mapping, any order | input's 1s | `shape` |
/// | [`broadcast_pdpd`](Self::broadcast_pdpd) | from `axis` on | input's 1s | `shape` |
/// | [`broadcast_prepend`](Self::broadcast_prepend) | new axes in front | nothing else | `sizes` + input |
/// | [`broadcast_expand`](Self::broadcast_expand) | right-aligned, -1 keeps the size | input's 1s | `size` |
/// | [`broadcast_named`](Self::broadcast_named) | by the names of axes | nothing else | as the pattern says |
/// | [`broadcast_to_mode`](Self::broadcast_to_mode) | by the mode | | |
/// | [`broadcast_with`](Self::broadcast_with) | two arrays, right-aligned | 1s of either | common shape |
/// | [`broadcast_with_rule`](Self::broadcast_with_rule) | two arrays, by the rule | | common shape |
///
/// [The guide](crate::guide) says which rule to use when, with the examples of the specifications.
///
/// Modes and rules are taken by value or by reference. Where an axis of size 1 replicates, it does
/// so to any size, 0 included, and a size of 0 matches only 0 or 1. The views borrow from `self`.
/// To broadcast a view and keep its own lifetime, pass it to the [plan](BroadcastPlan::view).
///
/// # Reading the signatures
///
/// The supertrait `Operand` is private: it stands for "an array or a view, of any kind", and no
/// other types can have these methods. `Self::Elem` is the type of the elements, and `Self::Dim`
/// the dimension type of the array. [`Broadcasted`] is a view whose rank is the larger of both
/// ranks. The bound `DimMax` holds for all dimension types of ndarray; in a generic function,
/// [write it](crate::guide::types#generic-functions).
///
/// # What the compiler refuses
///
/// A view that outlives its array:
///
/// ```compile_fail,E0597
/// # use ndarray_broadcast::prelude::*;
/// let view = {
///     let row = ndarray::array![1, 2, 3];
///     row.broadcast_numpy((2, 3))?
/// };
/// assert_eq!(view[[1, 2]], 3);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// A change to the array while a view of it is in use, and a write to a view, whose elements alias:
///
/// ```compile_fail,E0502
/// # use ndarray_broadcast::prelude::*;
/// let mut row = ndarray::array![1, 2, 3];
/// let view = row.broadcast_numpy((2, 3))?;
/// row[0] = 4;
/// assert_eq!(view[[1, 0]], 1);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// ```compile_fail,E0594
/// # use ndarray_broadcast::prelude::*;
/// let row = ndarray::array![1, 2, 3];
/// let mut view = row.broadcast_numpy((2, 3))?;
/// view[[0, 0]] = 4;
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// A result of another static rank than input and shape have:
///
/// ```compile_fail,E0308
/// # use ndarray_broadcast::prelude::*;
/// let row = ndarray::array![1, 2, 3];
/// let view: ndarray::ArrayView3<i32> = row.broadcast_numpy((2, 3))?;
/// # Ok::<(), BroadcastError>(())
/// ```
pub trait BroadcastExt: Operand {
    /// Broadcasts to `shape` by the rule that `mode` names, with the mode's attributes.
    ///
    /// The output's shape is `shape`, with two exceptions. Under `bidirectional` it may be larger.
    /// Under `expand` each [`KEEP`](crate::KEEP) is replaced by the input's size.
    ///
    /// # Errors
    ///
    /// Those of the mode's own method. A [named](BroadcastMode::Named) pattern whose output has
    /// fewer axes than the input is [`RankMismatch`](crate::ErrorKind::RankMismatch) here.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let bias = array![10, 20];
    /// let mode: BroadcastMode = "explicit(0)".parse()?;
    /// let view = bias.broadcast_to_mode((2, 3), &mode)?;
    /// assert_eq!(view, array![[10, 10, 10], [20, 20, 20]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: OpenVINO's attribute `mode`; for each mode, the source of its own method.
    #[inline]
    fn broadcast_to_mode<E: IntoDimension>(
        &self,
        shape: E,
        mode: impl Borrow<BroadcastMode>,
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        BroadcastPlan::with_mode(self.as_array().raw_dim(), shape, mode)?.view(self)
    }

    /// Broadcasts to `shape` as NumPy's `broadcast_to`: right-aligned, size-1 axes replicate.
    ///
    /// ```text
    /// input         3  1
    /// shape      2  3  4
    ///            ----------
    /// output     2  3  4
    /// ```
    ///
    /// The rank of the input is at most that of `shape`. Each of its sizes equals the size in
    /// `shape` or is 1. A 1 in `shape` does not replicate: for that there is
    /// [`broadcast_bidirectional`](Self::broadcast_bidirectional).
    ///
    /// # Errors
    ///
    /// [`RankMismatch`](crate::ErrorKind::RankMismatch),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let column = array![[1], [2]];
    /// assert_eq!(column.broadcast_numpy((2, 3))?, array![[1, 1, 1], [2, 2, 2]]);
    /// assert!(column.broadcast_numpy((1, 3)).is_err());
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy `broadcast_to`; OpenVINO Broadcast-1 and -3, mode `numpy`.
    #[doc(alias = "broadcast_to")]
    #[doc(alias = "unidirectional")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_numpy<E: IntoDimension>(
        &self,
        shape: E,
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        BroadcastPlan::numpy(self.as_array().raw_dim(), shape)?.view(self)
    }

    /// Broadcasts together with `shape`: right-aligned, size-1 axes replicate on either side.
    ///
    /// ```text
    /// input     16  1  1
    /// shape   1  1 50 50
    ///         -------------
    /// output  1 16 50 50
    /// ```
    ///
    /// The output may be larger than `shape`, in size and in rank: `[5]` to `[1]` is `[5]`, and
    /// `[3, 4]` to `[]` is `[3, 4]`.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::Array3;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let scale = Array3::<f32>::ones((16, 1, 1));
    /// assert_eq!(
    ///     scale.broadcast_bidirectional((1, 1, 50, 50))?.shape(),
    ///     [1, 16, 50, 50]
    /// );
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: OpenVINO Broadcast-3, mode `bidirectional`; ONNX Expand-13.
    #[doc(alias = "Expand")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_bidirectional<E: IntoDimension>(
        &self,
        shape: E,
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        BroadcastPlan::bidirectional(self.as_array().raw_dim(), shape)?.view(self)
    }

    /// Broadcasts to `shape`. Input axis `i` feeds axis `axes_mapping[i]` of it.
    ///
    /// ```text
    /// input             3
    /// axes_mapping     [1]
    /// shape         2   3   4   5
    /// ```
    ///
    /// `axes_mapping` has one entry for each input axis, strictly increasing. Each input size
    /// equals the one it feeds or is 1.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let bias = array![1., 2., 3.];
    /// let view = bias.broadcast_explicit((2, 3, 4, 5), &[1])?;
    /// assert_eq!(view.strides(), [0, 1, 0, 0]);
    /// assert_eq!(view[[1, 2, 3, 4]], 3.);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: OpenVINO Broadcast-1 and -3, mode `explicit`.
    #[doc(alias = "expand_dims")]
    #[doc(alias = "unsqueeze")]
    #[doc(alias = "newaxis")]
    #[doc(alias = "repeat_interleave")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_explicit<E: IntoDimension>(
        &self,
        shape: E,
        axes_mapping: &[usize],
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        BroadcastPlan::explicit(self.as_array().raw_dim(), shape, axes_mapping)?.view(self)
    }

    /// Broadcasts to `shape`. The axes `broadcast_axes` of it are new, the others are the input's.
    ///
    /// ```text
    /// shape            2  3  4
    /// broadcast_axes  {0,    2}
    /// input               3
    /// ```
    ///
    /// `broadcast_axes` is a set: order and repetition do not matter, and the empty set is the
    /// identity. The input's shape equals `shape` without these axes, exactly: no size-1 axis
    /// replicates.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let row = array![1, 2, 3];
    /// assert_eq!(row.broadcast_axes((2, 3), &[0])?, array![[1, 2, 3], [1, 2, 3]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: nGraph v0 `op::Broadcast`.
    #[doc(alias = "AxisSet")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_axes<E: IntoDimension>(
        &self,
        shape: E,
        broadcast_axes: &[usize],
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        BroadcastPlan::with_broadcast_axes(self.as_array().raw_dim(), shape, broadcast_axes)?
            .view(self)
    }

    /// Broadcasts to `shape`. Input axis `i` feeds axis `broadcast_dimensions[i]` of it.
    ///
    /// `broadcast_dimensions` has one entry for each input axis, strictly increasing. In any order:
    /// [`broadcast_in_dim_permuting`](Self::broadcast_in_dim_permuting). Each input size equals the
    /// one it feeds or is 1.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let a = array![1, 2];
    /// assert_eq!(a.broadcast_in_dim((2, 3), &[0])?, array![[1, 1, 1], [2, 2, 2]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: XLA `BroadcastInDim`, as XlaBuilder checks it.
    #[doc(alias = "BroadcastInDim")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_in_dim<E: IntoDimension>(
        &self,
        shape: E,
        broadcast_dimensions: &[usize],
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        let dim = self.as_array().raw_dim();
        BroadcastPlan::increasing(Rule::InDim, dim, shape, broadcast_dimensions)?.view(self)
    }

    /// [`broadcast_in_dim`](Self::broadcast_in_dim) with `broadcast_dimensions` in any order, which
    /// transposes.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// The example of the StableHLO specification:
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let operand = array![[1, 2, 3]];
    /// let view = operand.broadcast_in_dim_permuting((2, 3, 2), &[2, 1])?;
    /// assert_eq!(view, array![[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [3, 3]]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: StableHLO `broadcast_in_dim`.
    #[doc(alias = "stablehlo")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_in_dim_permuting<E: IntoDimension>(
        &self,
        shape: E,
        broadcast_dimensions: &[usize],
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        BroadcastPlan::in_dim_permuting(self.as_array().raw_dim(), shape, broadcast_dimensions)?
            .view(self)
    }

    /// Broadcasts to `shape` as OpenVINO broadcasts B of a PaddlePaddle operation: aligned with
    /// `shape` from `axis` on.
    ///
    /// ```text
    /// shape  (A)   2  3  4  5
    /// input  (B)      3  4        axis = 1
    /// ```
    ///
    /// `axis` is an axis of `shape`, or -1 to right-align. Trailing 1s of the input are ignored,
    /// other 1s replicate. The output's shape is always `shape`.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) for an axis below -1 and where the input
    /// reaches past the end of `shape`, [`RankMismatch`](crate::ErrorKind::RankMismatch),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let b = Array2::<f32>::ones((3, 4));
    /// assert_eq!(b.broadcast_pdpd((2, 3, 4, 5), 1)?.strides(), [0, 4, 1, 0]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: OpenVINO's broadcast rules, PDPD.
    /// `BroadcastPlan::pair` takes both shapes.
    #[doc(alias = "elementwise_add")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_pdpd<E: IntoDimension>(
        &self,
        shape: E,
        axis: isize,
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        BroadcastPlan::pdpd(self.as_array().raw_dim(), shape, axis)?.view(self)
    }

    /// Broadcasts to `size` as [`broadcast_numpy`](Self::broadcast_numpy), but -1 keeps the size of
    /// an axis that the input has.
    ///
    /// `size` is an [`ExpandShape`]: a shape of integers of any type. In a shape of `usize`, -1 is
    /// [`KEEP`](crate::KEEP).
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch), also for a new axis that has no size to
    /// keep; [`RankMismatch`](crate::ErrorKind::RankMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow);
    /// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for a size below -1.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let column = array![[1], [2]];
    /// assert_eq!(column.broadcast_expand((-1, 3))?, array![[1, 1, 1], [2, 2, 2]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: torch `Tensor.expand`.
    #[doc(alias = "expand")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_expand<E: ExpandShape>(
        &self,
        size: E,
    ) -> Result<Broadcasted<'_, Self::Elem, Self::Dim, E::Dim>>
    where
        Self::Dim: DimMax<E::Dim>,
    {
        BroadcastPlan::expand(self.as_array().raw_dim(), size)?.view(self)
    }

    /// Puts new axes of the given `sizes` in front of the input's axes.
    ///
    /// ```text
    /// sizes   2  3
    /// input         4
    ///         -------
    /// output  2  3  4
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let row = array![1, 2];
    /// assert_eq!(row.broadcast_prepend(3)?, array![[1, 2], [1, 2], [1, 2]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: `XlaBuilder::Broadcast(operand, broadcast_sizes)`.
    #[doc(alias = "tile")]
    #[doc(alias = "broadcast")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn broadcast_prepend<E: IntoDimension>(
        &self,
        sizes: E,
    ) -> Result<ArrayView<'_, Self::Elem, <E::Dim as DimAdd<Self::Dim>>::Output>>
    where
        E::Dim: DimAdd<Self::Dim>,
    {
        BroadcastPlan::prepend(self.as_array().raw_dim(), sizes)?.view(self)
    }

    /// Broadcasts by the names of the axes: `pattern` has those of the input and of the output.
    ///
    /// ```text
    /// pattern   h  w -> h  w  c
    /// input     2  3
    /// sizes                   4
    ///           ---------------
    /// output            2  3  4
    /// ```
    ///
    /// `sizes` has the new axes. Names in parentheses are one axis of the array: `(h w) -> h w`
    /// splits it, `h w -> (h w)` merges two, if no copy is needed. A pattern that is used often is
    /// parsed once, as an [`AxisPattern`], whose [`view`](AxisPattern::view) this is.
    ///
    /// # Errors
    ///
    /// [`InvalidPattern`](crate::ErrorKind::InvalidPattern) if the pattern is not valid, or does
    /// not fit the input or the sizes, or if it needs a copy: the error names the calls;
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let grey = array![[1, 2, 3], [4, 5, 6]];
    /// let image = grey.broadcast_named("h w -> c h w", &[("c", 4)])?;
    /// assert_eq!(image.shape(), [4, 2, 3]);
    /// assert_eq!(grey.broadcast_named("h w -> w h", &[])?, grey.t().into_dyn());
    /// assert_eq!(grey.broadcast_named("h w -> 4 (h w)", &[])?.shape(), [4, 6]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: einops `repeat` and `rearrange`.
    fn broadcast_named(
        &self,
        pattern: &str,
        sizes: &[(&str, usize)],
    ) -> Result<ArrayViewD<'_, Self::Elem>> {
        let pattern: AxisPattern = pattern.parse()?;
        pattern.view(self.as_array(), sizes)
    }

    /// Broadcasts two arrays with each other by NumPy's rule: views of their common shape.
    ///
    /// The element types may differ. More arrays: [`zip`](crate::zip),
    /// [`broadcast_arrays`](crate::broadcast_arrays).
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (column, row) = (array![[1], [2]], array![0.5, 0.25]);
    /// let (a, b) = column.broadcast_with(&row)?;
    /// assert_eq!(a, array![[1, 1], [2, 2]]);
    /// assert_eq!(b, array![[0.5, 0.25], [0.5, 0.25]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy `broadcast_arrays`.
    #[doc(alias = "broadcast_like")]
    #[doc(alias = "expand_as")]
    #[inline]
    fn broadcast_with<'a, 'b, T: BroadcastExt + ?Sized>(
        &'a self,
        other: &'b T,
    ) -> Result<(
        Broadcasted<'a, Self::Elem, Self::Dim, T::Dim>,
        Broadcasted<'b, T::Elem, Self::Dim, T::Dim>,
    )>
    where
        Self::Dim: DimMax<T::Dim>,
    {
        self.broadcast_with_rule(other, ElementwiseRule::Numpy)
    }

    /// Broadcasts two arrays with each other under `rule`: views of their common shape.
    ///
    /// The element types may differ. [`broadcast_pair`] has the conditions of each rule.
    ///
    /// # Errors
    ///
    /// Those of the rule: see [`broadcast_pair`].
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array3, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (images, scale) = (Array3::<f32>::zeros((2, 3, 4)), array![1, 2, 3]);
    /// let (x, scale) =
    ///     images.broadcast_with_rule(&scale, ElementwiseRule::channel(1))?;
    /// assert_eq!((x.strides(), scale.strides()), (&[12, 4, 1][..], &[0, 1, 0][..]));
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: that of the rule, as in [`broadcast_pair`].
    #[doc(alias = "broadcast_dimensions")]
    #[inline]
    fn broadcast_with_rule<'a, 'b, T: BroadcastExt + ?Sized>(
        &'a self,
        other: &'b T,
        rule: impl Borrow<ElementwiseRule>,
    ) -> Result<(
        Broadcasted<'a, Self::Elem, Self::Dim, T::Dim>,
        Broadcasted<'b, T::Elem, Self::Dim, T::Dim>,
    )>
    where
        Self::Dim: DimMax<T::Dim>,
    {
        broadcast_pair(self.as_array(), other.as_array(), rule).map_err(|error| {
            error.renamed(|position| [ArrayRole::Receiver, ArrayRole::Other][position])
        })
    }
}

impl<T: Operand + ?Sized> BroadcastExt for T {}
