//! Sizes and axes as graph files hold them: integers of any type, which may be negative.

use crate::error::{BroadcastError, ErrorKind, IntegerRole, Result, reserved};
use crate::shape::{KEEP, Sizes, dimension};
use ndarray::{ArrayBase, ArrayRef, Data, Dimension};
use ndarray::{Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn};

/// The integer types that sizes and axes come in: `i8` to `i64`, `u8` to `u64`, `isize`, `usize`.
///
/// An [`IntegerTensor`](crate::openvino::IntegerTensor) holds them, and an
/// [`AxisList`](crate::reduction::AxisList). Axes that are negative count from the end wherever a
/// method takes this type: in permutations, and where axes are inserted and removed. The trait is
/// sealed: a graph file holds no other types.
///
/// ```
/// use ndarray_broadcast::BroadcastPlan;
///
/// let plan = BroadcastPlan::numpy((2, 3), (4, 2, 3))?;
/// assert_eq!(plan.permuted(&[0_usize, 2, 1])?, plan.permuted(&[0_i8, -1, -2])?);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub trait ShapeInteger: Copy + sealed::Widen {}

mod sealed {
    use super::{Dimension, IntegerRole, Result, converted};

    pub trait Widen {
        /// The value, exactly.
        fn widen(self) -> i128;
    }

    pub trait Integers {
        /// The integers, exactly.
        ///
        /// # Errors
        ///
        /// `InvalidInteger` for a tensor of another rank than 1, `AllocationFailed`.
        fn integers(&self, role: IntegerRole) -> Result<Vec<i128>>;

        /// The integers as sizes or axes.
        ///
        /// # Errors
        ///
        /// `InvalidInteger`, `AllocationFailed`.
        fn read(&self, role: IntegerRole) -> Result<Vec<usize>> {
            converted(&self.integers(role)?, role)
        }
    }

    pub trait ExpandSizes {
        /// The sizes, with [`KEEP`](crate::KEEP) for -1. Their number fits `D`.
        ///
        /// # Errors
        ///
        /// `InvalidInteger`, `AllocationFailed`.
        fn expand_sizes<D: Dimension>(self) -> Result<D>;
    }
}

macro_rules! shape_integer {
    ($($t:ty)*) => {$(
        impl sealed::Widen for $t {
            #[inline(always)]
            fn widen(self) -> i128 {
                self as i128
            }
        }
        impl ShapeInteger for $t {}
    )*};
}

shape_integer!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// A target shape from the integers of a graph file: a list or a 1-D tensor.
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for a size that is negative or does not fit
/// `usize`, and for a tensor of another rank than 1.
///
/// # Example
///
/// ```
/// use ndarray::{array, ArrayD};
/// use ndarray_broadcast::prelude::*;
/// use ndarray_broadcast::shape_from_integers;
///
/// let shape = shape_from_integers(&[2_i64, 3])?;
/// assert_eq!(array![1, 2, 3].broadcast_numpy(shape)?.shape(), [2, 3]);
/// let tensor: ArrayD<i64> = array![2, 3].into_dyn();
/// assert_eq!(shape_from_integers(&tensor)?, [2, 3]);
///
/// let error = shape_from_integers(&[2_i64, -2]).unwrap_err();
/// assert_eq!(error.to_string(), "entry 1 is -2: a size must not be negative");
/// assert_eq!(
///     shape_from_integers(&array![[2, 3]]).unwrap_err().to_string(),
///     "sizes are of rank 1, but this tensor has the shape [1, 2]",
/// );
/// # Ok::<(), BroadcastError>(())
/// ```
pub fn shape_from_integers<T>(sizes: &T) -> Result<Vec<usize>>
where
    T: IntegerTensor + ?Sized,
{
    sizes.read(IntegerRole::Size)
}

/// A target shape for [`BroadcastMode::Expand`](crate::BroadcastMode::Expand) from integers as
/// torch takes them: -1 becomes [`KEEP`].
///
/// [`broadcast_expand`](crate::BroadcastExt::broadcast_expand) takes such integers as they are.
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for a size below -1, for one that does not
/// fit `usize`, and for a tensor of another rank than 1.
///
/// # Example
///
/// ```
/// use ndarray_broadcast::{KEEP, expand_shape_from_integers};
///
/// assert_eq!(expand_shape_from_integers(&[4, -1])?, [4, KEEP]);
/// assert_eq!(
///     expand_shape_from_integers(&[4, -2]).unwrap_err().to_string(),
///     "entry 1 is -2: a size must not be negative, \
///      except for -1, which keeps the input's size",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub fn expand_shape_from_integers<T>(sizes: &T) -> Result<Vec<usize>>
where
    T: IntegerTensor + ?Sized,
{
    sizes.read(IntegerRole::SizeOrKeep)
}

/// The sizes that [`broadcast_expand`](crate::BroadcastExt::broadcast_expand) takes: integers of
/// any type, -1 included.
///
/// -1 keeps the size that the axis has in the input. So does [`KEEP`], which is -1 cast to `usize`,
/// and any other integer of that value: 4294967295 on targets of 32 bits. No array has such a size.
/// What the sizes are decides whether the rank is static:
///
/// | sizes | rank |
/// |---|---|
/// | an integer | 1 |
/// | a tuple, `[T; N]` or `&[T; N]` of up to six integers, a dimension such as `Ix2` | static |
/// | `&[T]`, `Vec<T>`, `&Vec<T>`, `IxDyn`, a reference to an array of rank 1 | dynamic |
///
/// The integers of a tuple may have different types: `(-1, width)` is one of `i32` and `usize`. The
/// trait is sealed. A function that is generic over a dimension `D` needs the bound
/// `D: ExpandShape<Dim = D>`.
///
/// ```
/// use ndarray::{Array2, ArrayD, array};
/// use ndarray_broadcast::prelude::*;
///
/// let column = Array2::<f32>::ones((2, 1));
/// let width = column.len() + 1;
/// assert_eq!(column.broadcast_expand((-1, width))?.dim(), (2, 3));
/// assert_eq!(column.broadcast_expand([4, -1, 3])?.dim(), (4, 2, 3));
///
/// let sizes: ArrayD<i64> = array![-1, 3].into_dyn(); // of a model file
/// assert_eq!(column.broadcast_expand(&sizes)?.shape(), [2, 3]);
/// assert_eq!(
///     column.broadcast_expand((-1, -2)).unwrap_err().to_string(),
///     "entry 1 is -2: a size must not be negative, \
///      except for -1, which keeps the input's size",
/// );
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// A size that is no integer:
///
/// ```compile_fail,E0277
/// # use ndarray_broadcast::prelude::*;
/// let view = ndarray::array![[1], [2]].broadcast_expand((-1., 3))?;
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: torch `Tensor.expand`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape for `broadcast_expand`",
    note = "pass an integer, a tuple or an array of up to six integers, a slice, a `Vec`, a \
            dimension or a reference to an `Array1`; -1 keeps the input's size"
)]
pub trait ExpandShape: sealed::ExpandSizes {
    /// The dimension type of the shape.
    type Dim: Dimension;
}

/// Implements [`ExpandShape`] for a type of shape, by how it becomes a dimension.
macro_rules! expand_shape {
    ([$($generics:tt)*] $shape:ty, $dim:ty, |$given:pat_param| $sizes:expr) => {
        impl<$($generics)*> sealed::ExpandSizes for $shape {
            #[inline(always)]
            fn expand_sizes<D: Dimension>(self) -> Result<D> {
                let $given = self;
                $sizes
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> ExpandShape for $shape {
            type Dim = $dim;
        }
    };
}

expand_shape!([T: ShapeInteger] T, Ix1, |size| widened_sizes([size.widen()]));
expand_shape!([T: ShapeInteger] &[T], IxDyn, |sizes| listed_sizes(sizes));
expand_shape!([T: ShapeInteger] &Vec<T>, IxDyn, |sizes| listed_sizes(sizes));
expand_shape!([T: ShapeInteger] Vec<T>, IxDyn, |sizes| listed_sizes(&sizes));
expand_shape!([T: ShapeInteger, S: Data<Elem = T>, N: Dimension] &ArrayBase<S, N>, IxDyn, |sizes| {
    listed_sizes(sizes)
});
expand_shape!([] IxDyn, IxDyn, |dim| Ok(dimension(dim.sizes())));

/// Implements [`ExpandShape`] for tuples, arrays and dimensions of each rank.
macro_rules! static_expand_shapes {
    ($($dim:ty: $rank:literal $($size:ident $T:ident)*;)*) => {$(
        expand_shape!([$($T: ShapeInteger),*] ($($T,)*), $dim, |($($size,)*)| {
            widened_sizes([$($size.widen()),*])
        });
        expand_shape!([T: ShapeInteger] [T; $rank], $dim, |sizes| {
            widened_sizes(sizes.map(sealed::Widen::widen))
        });
        expand_shape!([T: ShapeInteger] &[T; $rank], $dim, |&sizes| {
            widened_sizes(sizes.map(sealed::Widen::widen))
        });
        expand_shape!([] $dim, $dim, |dim| Ok(dimension(dim.sizes())));
    )*};
}

static_expand_shapes! {
    Ix0: 0;
    Ix1: 1 a A;
    Ix2: 2 a A b B;
    Ix3: 3 a A b B c C;
    Ix4: 4 a A b B c C d G;
    Ix5: 5 a A b B c C d G e E;
    Ix6: 6 a A b B c C d G e E f F;
}

/// The sizes of an [`ExpandShape`] that is a list or a tensor.
fn listed_sizes<D: Dimension>(sizes: &(impl IntegerTensor + ?Sized)) -> Result<D> {
    Ok(dimension(&sizes.read(IntegerRole::SizeOrKeep)?))
}

/// The sizes of an [`ExpandShape`] of static rank.
#[inline(always)]
fn widened_sizes<D: Dimension, const N: usize>(sizes: [i128; N]) -> Result<D> {
    let mut dim = D::zeros(N);
    convert(&sizes, IntegerRole::SizeOrKeep, dim.sizes_mut())?;
    Ok(dim)
}

/// Axes of an array of this rank from the integers of a graph file: a list or a 1-D tensor.
///
/// Negative axes count from the end, as in ONNX and NumPy: -1 is the last one. Reductions and
/// permutations take such integers as they are. `axes_mapping`, `broadcast_axes` and
/// `broadcast_dimensions` are axes from the front; their specifications know no negative ones.
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for an axis that is not in `-rank..rank`,
/// and for a tensor of another rank than 1.
///
/// # Example
///
/// ```
/// use ndarray_broadcast::axes_from_integers;
///
/// assert_eq!(axes_from_integers(&[1_u8, 2], 3)?, [1, 2]);
/// assert_eq!(axes_from_integers(&[0_i64, -1], 4)?, [0, 3]);
/// assert_eq!(
///     axes_from_integers(&[0, -5], 4).unwrap_err().to_string(),
///     "entry 1 is -5: axes of an array of rank 4 are -4 to 3",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub fn axes_from_integers<T>(axes: &T, rank: usize) -> Result<Vec<usize>>
where
    T: IntegerTensor + ?Sized,
{
    axes.read(IntegerRole::AxisOf(rank))
}

/// An input that holds sizes or axes: a 1-D tensor of any integer type.
///
/// For `[T; N]`, `Vec<T>`, `&[T]`, and every ndarray array or view, where `T` is any
/// [`ShapeInteger`]: `i8` to `i64`, `u8` to `u64`, `isize`, `usize`. An array may have any
/// dimension type. If its rank is not 1, the call returns an error. The trait is sealed and works
/// as `dyn`: a `Box<dyn IntegerTensor>` holds tensors of any integer type. Where a method takes
/// `&dyn IntegerTensor`, a slice `sizes: &[i64]` is passed as `&sizes`. Where it takes an `Option`
/// of that, `axes: Option<Vec<i64>>` is passed as `axes.as_ref().map(|axes| axes as _)`.
///
/// [`shape_from_integers`], [`axes_from_integers`] and [`expand_shape_from_integers`] take it, and
/// the operators of [`openvino`](crate::openvino) and [`onnx`](crate::onnx).
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::openvino::{Broadcast, IntegerTensor};
///
/// let shapes: [Box<dyn IntegerTensor>; 3] = [
///     Box::new([2_i64, 3]),
///     Box::new(vec![2_u8, 3]),
///     Box::new(array![2, 3].into_dyn()),
/// ];
/// let axes: Option<Vec<i64>> = None;
/// let axes = axes.as_ref().map(|axes| axes as _);
/// for shape in &shapes {
///     assert_eq!(Broadcast::v3().infer_shape((2, 1), shape, axes)?, [2, 3]);
/// }
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub trait IntegerTensor: sealed::Integers {}

impl<T: sealed::Integers + ?Sized> IntegerTensor for T {}

impl<T: ShapeInteger> sealed::Integers for [T] {
    fn integers(&self, _: IntegerRole) -> Result<Vec<i128>> {
        widened(self.iter().copied())
    }
}

impl<T: ShapeInteger, D: Dimension> sealed::Integers for ArrayRef<T, D> {
    fn integers(&self, role: IntegerRole) -> Result<Vec<i128>> {
        if self.ndim() != 1 {
            return Err(BroadcastError::new(ErrorKind::InvalidInteger {
                role,
                shape: self.shape().into(),
                entry: None,
            }));
        }
        widened(self.iter().copied())
    }
}

/// Implements [`sealed::Integers`] for what is borrowed as another tensor.
macro_rules! borrowed_tensors {
    ($([$($generics:tt)*] $tensor:ty as $borrowed:ty;)*) => {$(
        impl<$($generics)*> sealed::Integers for $tensor {
            fn integers(&self, role: IntegerRole) -> Result<Vec<i128>> {
                let borrowed: &$borrowed = self;
                borrowed.integers(role)
            }
        }
    )*};
}

borrowed_tensors! {
    [T: ShapeInteger, const N: usize] [T; N] as [T];
    [T: ShapeInteger] Vec<T> as [T];
    [T: ShapeInteger, S: Data<Elem = T>, D: Dimension] ArrayBase<S, D> as ArrayRef<T, D>;
    [T: sealed::Integers + ?Sized] &T as T;
    [T: sealed::Integers + ?Sized] Box<T> as T;
}

/// The integers, exactly.
fn widened<T: ShapeInteger>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<i128>> {
    let mut widened = reserved(values.len())?;
    widened.extend(values.map(sealed::Widen::widen));
    Ok(widened)
}

/// The integers as sizes or axes.
pub(crate) fn converted(values: &[i128], role: IntegerRole) -> Result<Vec<usize>> {
    let mut converted = reserved(values.len())?;
    converted.resize(values.len(), 0);
    convert(values, role, &mut converted)?;
    Ok(converted)
}

/// Writes the integers as sizes or axes. There is one place for each.
#[inline(always)]
fn convert(values: &[i128], role: IntegerRole, out: &mut [usize]) -> Result<()> {
    for (position, (&value, out)) in values.iter().zip(out).enumerate() {
        let number = match role {
            IntegerRole::SizeOrKeep if value == -1 => Some(KEEP),
            IntegerRole::AxisOf(rank) => axis_of(value, rank),
            _ => usize::try_from(value).ok(),
        };
        *out = number.ok_or_else(|| {
            BroadcastError::new(ErrorKind::InvalidInteger {
                role,
                shape: [values.len()].into(),
                entry: Some((position, value)),
            })
        })?;
    }
    Ok(())
}

/// The axis of an array of this rank. Negative ones count from the end. `None` if there is none.
#[inline(always)]
pub(crate) fn axis_of(axis: i128, rank: usize) -> Option<usize> {
    let from_front = if axis < 0 { axis + rank as i128 } else { axis };
    usize::try_from(from_front).ok().filter(|&axis| axis < rank)
}
