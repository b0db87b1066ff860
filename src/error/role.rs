//! What an array or an integer in an error stands for.

use std::fmt;

/// What an integer of a list stands for, in
/// [`ErrorKind::InvalidInteger`](crate::ErrorKind::InvalidInteger).
///
/// ```
/// use ndarray_broadcast::{BroadcastError, ErrorKind};
/// use ndarray_broadcast::error::IntegerRole;
/// use ndarray_broadcast::{
///     axes_from_integers, expand_shape_from_integers, shape_from_integers,
/// };
///
/// fn role(error: BroadcastError) -> Option<IntegerRole> {
///     match error.kind() {
///         ErrorKind::InvalidInteger { role, .. } => Some(*role),
///         _ => None,
///     }
/// }
///
/// assert_eq!(
///     role(shape_from_integers(&[2, -1]).unwrap_err()),
///     Some(IntegerRole::Size)
/// );
/// let error = expand_shape_from_integers(&[-2]).unwrap_err();
/// assert_eq!(role(error), Some(IntegerRole::SizeOrKeep));
/// assert_eq!(
///     role(axes_from_integers(&[3], 2).unwrap_err()),
///     Some(IntegerRole::AxisOf(2))
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntegerRole {
    /// The size of an axis.
    Size,
    /// The size of an axis, or -1 to keep the input's.
    SizeOrKeep,
    /// The index of an axis, from the front. [Example](crate::guide::openvino#errors).
    Axis,
    /// The index of an axis of an array of this rank, from the front or negative from the end.
    AxisOf(usize),
}

/// The array that an error is about, by the name that the caller uses.
///
/// `Display` writes the name that the documentation uses: `input`, `self`, `other`, `out`,
/// `second out`, `cotangent`, `array`. The arrays of a tuple, and those of functions that take two,
/// are `a`, `b`, `c` and so on. The arrays and shapes of a list are `input 0`, `input 1` and so on.
///
/// ```
/// use ndarray::{Array1, Array2};
/// use ndarray_broadcast::error::ArrayRole;
/// use ndarray_broadcast::prelude::*;
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
/// let (two_by_three, two_by_four) =
///     (Array2::<f32>::zeros((2, 3)), Array2::<f32>::zeros((2, 4)));
///
/// let error = plan.view(&four).unwrap_err();
/// assert_eq!(role(&error), Some(ArrayRole::Input));
/// let error = plan.gradient_into(&two_by_three, &mut four).unwrap_err();
/// assert_eq!(role(&error), Some(ArrayRole::Out));
/// let error = plan.gradient_into(&two_by_four, &mut three).unwrap_err();
/// assert_eq!(role(&error), Some(ArrayRole::Cotangent));
/// let error = plan.reduce(&two_by_four, Max).unwrap_err();
/// assert_eq!(role(&error), Some(ArrayRole::Reduced));
///
/// let (mut sum, mut product) = (three.clone(), four.clone());
/// let zipped = zip((&three, &three));
/// let error = zipped
///     .map_assign_into_two(&mut sum, &mut product, |(a, b)| (a + b, a * b))
///     .unwrap_err();
/// assert_eq!(role(&error), Some(ArrayRole::SecondOut));
///
/// fn operands(error: &BroadcastError) -> Option<[ArrayRole; 2]> {
///     match error.kind() {
///         ErrorKind::SizeMismatch { operands, .. } => Some(*operands),
///         _ => None,
///     }
/// }
///
/// let error = three.broadcast_with(&four).unwrap_err();
/// assert_eq!(operands(&error), Some([ArrayRole::Receiver, ArrayRole::Other]));
/// let error = zip((&three, &two_by_three, &four)).views().unwrap_err();
/// assert_eq!(
///     operands(&error),
///     Some([ArrayRole::Operand(0), ArrayRole::Operand(2)])
/// );
/// let error = broadcast_shapes(&[[3], [1], [4]]).unwrap_err();
/// assert_eq!(
///     operands(&error),
///     Some([ArrayRole::Listed(0), ArrayRole::Listed(2)])
/// );
/// assert_eq!(
///     [ArrayRole::Receiver, ArrayRole::Operand(2)].map(|role| role.to_string()),
///     ["self", "c"]
/// );
/// # Ok::<(), BroadcastError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArrayRole {
    /// The array that a plan is applied to.
    Input,
    /// The shape that an input is broadcast to. [Example](crate::guide::numpy#errors).
    Target,
    /// The result of a reduction to a shape. [Example](crate::ReduceExt::reduce_to_shape).
    Result,
    /// The output of the first of two plans in a row, which is the input of the second.
    /// [Example](crate::guide::plans#errors).
    FirstOutput,
    /// The array that a result is written into.
    Out,
    /// The second of two arrays that results are written into.
    SecondOut,
    /// The gradient with respect to the output of a broadcast.
    Cotangent,
    /// The array that is reduced.
    Reduced,
    /// The array that the method was called on: `self`.
    Receiver,
    /// The other array of a method that takes two.
    Other,
    /// An array of a tuple, or of a function that takes two, counted from 0.
    Operand(usize),
    /// An array or a shape of a list, counted from 0.
    Listed(usize),
}

impl fmt::Display for ArrayRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArrayRole::Input => "input",
            ArrayRole::Target => "target",
            ArrayRole::Result => "result",
            ArrayRole::FirstOutput => "output of the first plan",
            ArrayRole::Out => "out",
            ArrayRole::SecondOut => "second out",
            ArrayRole::Cotangent => "cotangent",
            ArrayRole::Reduced => "array",
            ArrayRole::Receiver => "self",
            ArrayRole::Other => "other",
            ArrayRole::Operand(position) => match ["a", "b", "c", "d", "e", "f"].get(*position) {
                Some(letter) => letter,
                None => return write!(f, "operand {position}"),
            },
            ArrayRole::Listed(position) => return write!(f, "input {position}"),
        })
    }
}
