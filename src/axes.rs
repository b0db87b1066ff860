//! Axes that may be counted from the end: those of reductions, permutations and new axes.

use crate::error::{ArrayRole, AxesFault, BroadcastError, Mismatch, Result};
use crate::integer::{ShapeInteger, axis_of};
use crate::partial::{PartialShape, Size};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{Axis, Dimension, IxDyn};

/// The axes that a reduction is over: one axis, or a list.
///
/// Entries are any [`ShapeInteger`](crate::openvino::ShapeInteger). Negative ones count from the
/// end: -1 is the last axis. No axis is listed twice. What the list is decides whether the result
/// of [`reduce_axes`](crate::ReduceExt::reduce_axes) has a static rank:
///
/// | axes | rank of the result |
/// |---|---|
/// | an integer, an [`Axis`] | one less than the array's |
/// | `[T; N]`, `&[T; N]`, for `N` up to 6 | `N` less than the array's |
/// | `&[T]`, `Vec<T>`, `&Vec<T>` | dynamic |
///
/// An empty list reduces no axis: each element is a result of its own. It needs a type:
/// `[0_usize; 0]`. The trait is sealed.
///
/// ```
/// use ndarray::{Array0, Array1, Array3, ArrayD, Axis};
/// use ndarray_broadcast::prelude::*;
///
/// let x = Array3::<f32>::ones((2, 3, 4));
/// let sums: Array1<f32> = x.reduce_axes([0, -1], Sum)?;
/// assert_eq!(sums.to_vec(), [8., 8., 8.]);
/// let all: Array0<f32> = x.reduce_axes(&[0, 1, 2], Sum)?;
/// assert_eq!(all.into_scalar(), 24.);
/// assert_eq!(x.reduce_axes(-1, Sum)?, x.reduce_axes(Axis(2), Sum)?);
///
/// let axes: Vec<i64> = vec![0, -1]; // of a model file
/// let sums: ArrayD<f32> = x.reduce_axes(&axes, Sum)?;
/// assert_eq!(sums.shape(), [3]);
/// assert_eq!(x.reduce_axes([0_usize; 0], Sum)?, x);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy's `axis`; the axes of ONNX `Reduce*`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an axis or a list of axes",
    note = "pass an integer, an `Axis`, an array of up to six integers, a slice or a `Vec`"
)]
pub trait AxisList: sealed::List {
    /// The dimension type of a result that lacks these axes of an array of dimension `D`.
    type Remaining<D: Dimension>: Dimension;
}

mod sealed {
    use crate::integer::ShapeInteger;

    pub trait List {
        type Integer: ShapeInteger;

        fn list(&self) -> &[Self::Integer];
    }
}

/// Implements [`AxisList`] for a type of list, by how it becomes a slice.
macro_rules! axis_list {
    ([$($generics:tt)*] $list:ty, $integer:ty, $remaining:ty, |$self:ident| $slice:expr) => {
        impl<$($generics)*> sealed::List for $list {
            type Integer = $integer;

            #[inline]
            fn list(&self) -> &[$integer] {
                let $self = self;
                $slice
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> AxisList for $list {
            type Remaining<D: Dimension> = $remaining;
        }
    };
}

type Less<D> = <D as Dimension>::Smaller;

axis_list!([T: ShapeInteger] T, T, Less<D>, |axis| std::slice::from_ref(axis));
axis_list!([] Axis, usize, Less<D>, |axis| std::slice::from_ref(&axis.0));
axis_list!([T: ShapeInteger] &[T], T, IxDyn, |axes| axes);
axis_list!([T: ShapeInteger] Vec<T>, T, IxDyn, |axes| axes);
axis_list!([T: ShapeInteger] &Vec<T>, T, IxDyn, |axes| axes);

/// Implements [`AxisList`] for arrays.
macro_rules! arrays {
    ($($n:literal $remaining:ty;)*) => {$(
        axis_list!([T: ShapeInteger] [T; $n], T, $remaining, |axes| axes);
        axis_list!([T: ShapeInteger] &[T; $n], T, $remaining, |axes| *axes);
    )*};
}

arrays! {
    0 D;
    1 Less<D>;
    2 Less<Less<D>>;
    3 Less<Less<Less<D>>>;
    4 Less<Less<Less<Less<D>>>>;
    5 Less<Less<Less<Less<Less<D>>>>>;
    6 Less<Less<Less<Less<Less<Less<D>>>>>>;
}

/// For each axis of an array of this rank: one more than its position in the list, or 0 if it is
/// not listed.
///
/// # Errors
///
/// `InvalidAxes` of this operation and shape, for an entry that is not an axis, or that is one for
/// the second time.
#[inline(always)]
pub(crate) fn positions<D: Dimension, T: ShapeInteger, S: Size>(
    operation: &'static str,
    shape: &[S],
    axes: &[T],
) -> Result<D> {
    let rank = shape.len();
    let mut positions = D::zeros(rank);
    for (at, &entry) in axes.iter().enumerate() {
        let fault = match axis_of(entry.widen(), rank) {
            Some(axis) => match std::mem::replace(&mut positions.sizes_mut()[axis], at + 1) {
                0 => continue,
                _ => AxesFault::Repeated(at),
            },
            None => AxesFault::OutOfRange(at),
        };
        return Err(invalid_axes(operation, shape, axes, fault));
    }
    Ok(positions)
}

/// The axes do not fit an operation on an array of this shape.
#[cold]
pub(crate) fn invalid_axes<T: ShapeInteger, S: Size>(
    operation: &'static str,
    shape: &[S],
    axes: &[T],
    fault: AxesFault,
) -> BroadcastError {
    let axes = axes.iter().map(|axis| axis.widen()).collect();
    let shapes = [shape; 2].map(|shape| PartialShape::new(shape.iter().copied()));
    Mismatch::Axes(operation, axes, fault).of(Rule::Composed, [ArrayRole::Input; 2], shapes)
}
