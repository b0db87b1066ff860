//! Sizes and axes as graph files hold them: integers of any type, which may be negative.

use crate::error::{BroadcastError, ErrorKind, IntegerRole, reserved};
use crate::shape::KEEP;
use ndarray::{ArrayBase, ArrayRef, Data, Dimension};

/// A value for integers that `usize` does not have, as for [`convert`].
type Special<'f> = &'f dyn Fn(i128) -> Option<usize>;

/// The integer types that sizes and axes come in: `i8` to `i64`, `u8` to `u64`, `isize`, `usize`.
///
/// [`shape_from_integers`], [`axes_from_integers`] and [`expand_shape_from_integers`] take them.
/// The trait is sealed: a graph file holds no other types.
pub trait ShapeInteger: Copy + sealed::Widen {}

mod sealed {
    use super::{BroadcastError, IntegerRole, Special};

    pub trait Widen {
        /// The value, exactly.
        fn widen(self) -> i128;
    }

    pub trait Integers {
        /// The integers as sizes or axes.
        fn read(
            &self,
            role: IntegerRole,
            special: Special<'_>,
        ) -> Result<Vec<usize>, BroadcastError>;
    }
}

macro_rules! shape_integer {
    ($($t:ty)*) => {$(
        impl sealed::Widen for $t {
            fn widen(self) -> i128 {
                self as i128
            }
        }
        impl ShapeInteger for $t {}
    )*};
}

shape_integer!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// A target shape from the integers of a graph file.
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for a size that is negative or does not fit
/// `usize`.
///
/// # Example
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
/// use ndarray_broadcast::shape_from_integers;
///
/// let shape = shape_from_integers(&[2_i64, 3])?;
/// assert_eq!(array![1, 2, 3].broadcast_numpy(shape)?.shape(), [2, 3]);
/// let error = shape_from_integers(&[2_i64, -1]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "entry 1 is -1: a size must not be negative; \
///      broadcast_expand with KEEP keeps the input's size",
/// );
/// # Ok::<(), BroadcastError>(())
/// ```
pub fn shape_from_integers<T: ShapeInteger>(sizes: &[T]) -> Result<Vec<usize>, BroadcastError> {
    convert(sizes.iter().copied(), IntegerRole::Size, |_| None)
}

/// A size for [`broadcast_expand`](crate::BroadcastExt::broadcast_expand) from integers as torch
/// takes them: -1 becomes [`KEEP`].
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for a size below -1, and for one of
/// `usize::MAX` or more: `usize::MAX` is [`KEEP`], which only -1 stands for.
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
pub fn expand_shape_from_integers<T: ShapeInteger>(
    sizes: &[T],
) -> Result<Vec<usize>, BroadcastError> {
    convert(sizes.iter().copied(), IntegerRole::SizeOrKeep, |value| {
        (value == -1).then_some(KEEP)
    })
}

/// Axes from the integers of a graph file.
///
/// A negative axis is an error, because its meaning depends on a rank. Where the format counts
/// negative axes from the end, as ONNX does, add the rank to them first.
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for an axis that is negative or does not
/// fit `usize`.
///
/// # Example
///
/// ```
/// use ndarray_broadcast::axes_from_integers;
///
/// assert_eq!(axes_from_integers(&[1_u8, 2])?, [1, 2]);
/// let error = axes_from_integers(&[-1]).unwrap_err();
/// assert_eq!(error.to_string(), "entry 0 is -1: an axis must not be negative");
///
/// // ONNX: axes = [0, -1] of a tensor of rank 4.
/// let (axes, rank) = ([0_i64, -1], 4);
/// let axes = axes.map(|axis| if axis < 0 { axis + rank } else { axis });
/// assert_eq!(axes_from_integers(&axes)?, [0, 3]);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub fn axes_from_integers<T: ShapeInteger>(axes: &[T]) -> Result<Vec<usize>, BroadcastError> {
    convert(axes.iter().copied(), IntegerRole::Axis, |_| None)
}

/// An input that holds sizes or axes: a 1-D tensor of any integer type.
///
/// For `[T; N]`, `Vec<T>`, `&[T]`, and every ndarray array or view, where `T` is any
/// [`ShapeInteger`]: `i8` to `i64`, `u8` to `u64`, `isize`, `usize`. An array may have any
/// dimension type. If its rank is not 1, the call returns an error. The trait is sealed and works
/// as `dyn`: a `Box<dyn IntegerTensor>` holds tensors of any integer type. A slice `sizes: &[i64]`
/// is passed as `&sizes`.
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
/// for shape in &shapes {
///     assert_eq!(Broadcast::v3().infer_shape((2, 1), shape, None)?, [2, 3]);
/// }
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub trait IntegerTensor: sealed::Integers {}

impl<T: sealed::Integers + ?Sized> IntegerTensor for T {}

impl<T: ShapeInteger> sealed::Integers for [T] {
    fn read(&self, role: IntegerRole, special: Special<'_>) -> Result<Vec<usize>, BroadcastError> {
        convert(self.iter().copied(), role, special)
    }
}

impl<T: ShapeInteger, const N: usize> sealed::Integers for [T; N] {
    fn read(&self, role: IntegerRole, special: Special<'_>) -> Result<Vec<usize>, BroadcastError> {
        self.as_slice().read(role, special)
    }
}

impl<T: ShapeInteger> sealed::Integers for Vec<T> {
    fn read(&self, role: IntegerRole, special: Special<'_>) -> Result<Vec<usize>, BroadcastError> {
        self.as_slice().read(role, special)
    }
}

impl<T: ShapeInteger, D: Dimension> sealed::Integers for ArrayRef<T, D> {
    fn read(&self, role: IntegerRole, special: Special<'_>) -> Result<Vec<usize>, BroadcastError> {
        if self.ndim() != 1 {
            return Err(BroadcastError::new(ErrorKind::InvalidInteger {
                role,
                shape: self.shape().into(),
                entry: None,
            }));
        }
        convert(self.iter().copied(), role, special)
    }
}

impl<T: ShapeInteger, S: Data<Elem = T>, D: Dimension> sealed::Integers for ArrayBase<S, D> {
    fn read(&self, role: IntegerRole, special: Special<'_>) -> Result<Vec<usize>, BroadcastError> {
        let array: &ArrayRef<T, D> = self;
        array.read(role, special)
    }
}

impl<T: sealed::Integers + ?Sized> sealed::Integers for &T {
    fn read(&self, role: IntegerRole, special: Special<'_>) -> Result<Vec<usize>, BroadcastError> {
        (**self).read(role, special)
    }
}

impl<T: sealed::Integers + ?Sized> sealed::Integers for Box<T> {
    fn read(&self, role: IntegerRole, special: Special<'_>) -> Result<Vec<usize>, BroadcastError> {
        (**self).read(role, special)
    }
}

/// The integers as sizes or axes. `special` may give a value to integers that `usize` does not
/// have.
pub(crate) fn convert<T: ShapeInteger>(
    values: impl ExactSizeIterator<Item = T>,
    role: IntegerRole,
    special: impl Fn(i128) -> Option<usize>,
) -> Result<Vec<usize>, BroadcastError> {
    let count = values.len();
    let mut converted = reserved(count)?;
    for (position, value) in values.map(sealed::Widen::widen).enumerate() {
        // A size equal to `KEEP` would keep the input's.
        let is_allowed = |&size: &usize| role != IntegerRole::SizeOrKeep || size != KEEP;
        let as_usize = || usize::try_from(value).ok().filter(is_allowed);
        let Some(size) = special(value).or_else(as_usize) else {
            return Err(BroadcastError::new(ErrorKind::InvalidInteger {
                role,
                shape: [count].into(),
                entry: Some((position, value)),
            }));
        };
        converted.push(size);
    }
    Ok(converted)
}
