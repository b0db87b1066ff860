//! What an array or an integer in an error stands for.

use std::fmt;

/// What an integer of a list stands for, in
/// [`ErrorKind::InvalidInteger`](crate::ErrorKind::InvalidInteger) and
/// [`ErrorKind::NotOneDimensional`](crate::ErrorKind::NotOneDimensional).
///
/// ```
/// use ndarray_broadcast::{ErrorKind, IntegerRole, axes_from_integers, shape_from_integers};
///
/// let error = shape_from_integers(&[2, -1]).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::InvalidInteger { role: IntegerRole::Size, .. }));
/// let error = axes_from_integers(&[-1]).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::InvalidInteger { role: IntegerRole::Axis, .. }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntegerRole {
    /// The size of an axis.
    Size,
    /// The index of an axis.
    Axis,
}

/// Which array has the wrong shape, in [`ErrorKind::WrongShape`](crate::ErrorKind::WrongShape).
///
/// ```
/// use ndarray::{Array1, Array2};
/// use ndarray_broadcast::{ArrayRole, BroadcastError, BroadcastPlan, ErrorKind};
///
/// fn role(error: &BroadcastError) -> Option<ArrayRole> {
///     match error.kind() {
///         ErrorKind::WrongShape { role, .. } => Some(*role),
///         _ => None,
///     }
/// }
///
/// let plan = BroadcastPlan::numpy(3, (2, 3))?;
/// let (mut three, mut four) = (Array1::<f32>::zeros(3), Array1::<f32>::zeros(4));
/// let (two_by_three, two_by_four) = (Array2::<f32>::zeros((2, 3)), Array2::<f32>::zeros((2, 4)));
///
/// let error = plan.view(&four).unwrap_err();
/// assert_eq!(role(&error), Some(ArrayRole::Input));
/// let error = plan.gradient_into(&two_by_three, &mut four).unwrap_err();
/// assert_eq!(role(&error), Some(ArrayRole::Out));
/// let error = plan.gradient_into(&two_by_four, &mut three).unwrap_err();
/// assert_eq!(role(&error), Some(ArrayRole::Cotangent));
/// # Ok::<(), BroadcastError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArrayRole {
    /// The array that a plan is applied to.
    Input,
    /// The array that a result is written into.
    Out,
    /// The gradient with respect to the output of a broadcast.
    Cotangent,
}

impl fmt::Display for ArrayRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArrayRole::Input => "input",
            ArrayRole::Out => "out",
            ArrayRole::Cotangent => "cotangent",
        })
    }
}
