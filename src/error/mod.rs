//! [`BroadcastError`], and a constructor for each [`ErrorKind`] that more than one file returns.

mod draw;
mod fault;
mod kind;
mod role;

pub use fault::{AxesFault, BoxFault, OperatorFault, PartsFault, PatternFault, SliceFault};
pub use kind::ErrorKind;
pub use role::{ArrayRole, IntegerRole};

use crate::partial::PartialShape;
pub use crate::rule::Relation;
use crate::rule::Rule;
use num_traits::AsPrimitive;
use std::fmt;
use std::ops::Range;

/// Why a broadcast was refused, or an owned copy could not be made.
///
/// One pointer wide. [`kind`](Self::kind) has the shapes and the axis as fields, for programs.
/// `Display` draws the shapes as the rule aligns them, for people. `Debug` does too, as `unwrap`
/// prints it. `{:#}` is one line without the picture, for logs:
///
/// ```
/// use ndarray::Array3;
/// use ndarray_broadcast::prelude::*;
///
/// let error =
///     Array3::<f32>::zeros((3, 1, 5)).broadcast_numpy((4, 4, 5)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\
/// cannot broadcast [3, 1, 5] to [4, 4, 5] (numpy)
///   input    3  1  5
///   target   4  4  5
///            ^ 3 is neither 4 nor 1",
/// );
/// assert_eq!(format!("{error:?}"), error.to_string());
/// assert_eq!(
///     format!("{error:#}"),
///     "cannot broadcast [3, 1, 5] to [4, 4, 5] (numpy): 3 is neither 4 nor 1",
/// );
/// assert!(matches!(error.kind(), ErrorKind::SizeMismatch { axis: 0, .. }));
/// ```
///
/// A call that returns an error has written nothing and left nothing allocated.
// One pointer, so that a `Result` stays in registers on its way out of a rule. A `Result` with a
// wide error is returned through memory, which takes five times as long as making a view.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub struct BroadcastError(Box<ErrorKind>);

impl BroadcastError {
    /// What is wrong, with its shapes and axes.
    ///
    /// Beside `use ndarray::*;` the name `ErrorKind` of the prelude is ambiguous: add
    /// `use ndarray_broadcast::ErrorKind;`.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::error::AxesFault;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let error = array![1, 2].broadcast_explicit((2, 3), &[2]).unwrap_err();
    /// match error.kind() {
    ///     ErrorKind::InvalidAxes { axes, fault, .. } => {
    ///         assert_eq!((&axes[..], fault), (&[2][..], &AxesFault::OutOfRange(0)));
    ///     }
    ///     _ => unreachable!(),
    /// }
    /// ```
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        BroadcastError(Box::new(kind))
    }

    /// The same error with other names for its two arrays, by their numbers: input and target are 0
    /// and 1.
    #[cold]
    pub(crate) fn renamed(mut self, name: impl Fn(usize) -> ArrayRole) -> Self {
        if let ErrorKind::SizeMismatch { operands, .. }
        | ErrorKind::RankMismatch { operands, .. }
        | ErrorKind::InvalidAxes { operands, .. } = &mut *self.0
        {
            *operands = operands.map(|role| match role {
                ArrayRole::Input => name(0),
                ArrayRole::Target => name(1),
                ArrayRole::Operand(position) => name(position),
                role => role,
            });
        }
        self
    }
}

impl fmt::Display for BroadcastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        // The first line is the call, the last one what is wrong with it, behind a mark.
        match (text.split_once('\n'), text.rsplit_once('\n')) {
            (Some((call, _)), Some((_, why))) if f.alternate() => {
                write!(f, "{call}: {}", why.trim_start_matches([' ', '^']))
            }
            _ => f.write_str(&text),
        }
    }
}

/// The picture, as `unwrap` prints `Debug`. `dbg!` prints it too, by `{:#?}`.
impl fmt::Debug for BroadcastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The result of a call that may refuse its arguments.
pub(crate) type Result<T, E = BroadcastError> = std::result::Result<T, E>;

/// Why a rule does not accept two shapes. In a box, as [`BroadcastError`] is.
pub(crate) enum Mismatch {
    /// The ranks do not fit.
    Ranks,
    /// Under this relation, the sizes of this axis do not fit. The axis is counted in the longer
    /// shape, whose axes are listed for each axis of the shorter one.
    Sizes(Relation, usize, Box<[usize]>),
    /// What was asked for, the axes that were given, and what is wrong with them.
    Axes(&'static str, Box<[i128]>, AxesFault),
    /// The rule has an error of its own.
    Other(BroadcastError),
}

impl From<BroadcastError> for Box<Mismatch> {
    fn from(error: BroadcastError) -> Self {
        Mismatch::Other(error).into()
    }
}

impl Mismatch {
    /// `output_axis_of` gives the axis of the longer shape for each axis of the shorter one. It is
    /// called by reference, so that this function is compiled once and not for each rule and pair
    /// of ranks.
    #[cold]
    pub(crate) fn sizes(
        relation: Relation,
        axis: usize,
        rank: usize,
        output_axis_of: &dyn Fn(usize) -> usize,
    ) -> Box<Self> {
        let mapping = (0..rank).map(output_axis_of).collect();
        Mismatch::Sizes(relation, axis, mapping).into()
    }

    /// The axes do not fit a broadcast.
    #[cold]
    pub(crate) fn axes<T: AsPrimitive<i128>>(axes: &[T], fault: AxesFault) -> Box<Self> {
        let axes = axes.iter().map(|axis| axis.as_()).collect();
        Mismatch::Axes("broadcast", axes, fault).into()
    }

    /// The error for an input and a target that are known.
    #[cold]
    #[inline(never)]
    pub(crate) fn of_known(self, rule: Rule, input: &[usize], target: &[usize]) -> BroadcastError {
        let operands = [ArrayRole::Input, ArrayRole::Target];
        self.of(rule, operands, [input, target].map(PartialShape::known))
    }

    /// The error for these shapes.
    #[cold]
    pub(crate) fn of(
        self,
        rule: Rule,
        operands: [ArrayRole; 2],
        shapes: [PartialShape; 2],
    ) -> BroadcastError {
        BroadcastError::new(match self {
            Mismatch::Ranks => ErrorKind::RankMismatch {
                rule,
                operands,
                shapes,
            },
            Mismatch::Sizes(relation, axis, mapping) => ErrorKind::SizeMismatch {
                rule,
                operands,
                shapes,
                relation,
                mapping,
                axis,
            },
            Mismatch::Axes(operation, axes, fault) => ErrorKind::InvalidAxes {
                operation,
                rule,
                operands,
                shapes,
                axes,
                fault,
            },
            Mismatch::Other(error) => return error,
        })
    }
}

/// An empty vector with room for `len` elements.
///
/// # Errors
///
/// `AllocationFailed`, with the number of bytes.
#[inline]
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|_| allocation_failed(len.saturating_mul(size_of::<T>())))?;
    Ok(vec)
}

#[cold]
pub(crate) fn allocation_failed(bytes: usize) -> BroadcastError {
    BroadcastError::new(ErrorKind::AllocationFailed { bytes })
}

/// A reduction of terms of this shape, of which there are fewer than it needs.
#[cold]
pub(crate) fn too_few_terms(
    shape: &[usize],
    reduction: &'static str,
    [terms, least]: [usize; 2],
) -> BroadcastError {
    BroadcastError::new(ErrorKind::TooFewTerms {
        shape: shape.into(),
        reduction,
        terms,
        least,
    })
}

/// The array in this role has the shape `found`.
#[cold]
pub(crate) fn wrong_shape(
    role: ArrayRole,
    expected: PartialShape,
    found: &[usize],
) -> BroadcastError {
    let found = found.into();
    BroadcastError::new(ErrorKind::WrongShape {
        role,
        expected,
        found,
    })
}

/// That an array has the expected shape.
#[inline]
pub(crate) fn check_shape(role: ArrayRole, expected: &[usize], found: &[usize]) -> Result<()> {
    // Size by size: static shapes then stay in registers.
    match expected.iter().eq(found) {
        true => Ok(()),
        false => Err(wrong_shape(role, PartialShape::known(expected), found)),
    }
}

/// That an array may have the shape, by what is known of it.
pub(crate) fn check_possible(
    role: ArrayRole,
    expected: &PartialShape,
    found: &[usize],
) -> Result<()> {
    match expected.contains(found) {
        true => Ok(()),
        // Each size is possible by itself: two sizes of one symbol differ.
        false if expected.is_within_bounds(found) => {
            let expected = expected.with_symbols_of(expected.pairs(found));
            Err(wrong_shape(role, expected, found))
        }
        false => Err(wrong_shape(role, expected.clone(), found)),
    }
}

/// The shape has too many elements, or too many bytes if elements of this size are owned.
#[cold]
pub(crate) fn shape_overflow(shape: &[usize], element_size: Option<usize>) -> BroadcastError {
    let shape = shape.into();
    BroadcastError::new(ErrorKind::ShapeOverflow {
        shape,
        element_size,
    })
}

/// A box does not fit a shape.
#[cold]
pub(crate) fn invalid_box(
    shape: &[usize],
    ranges: &[Range<usize>],
    fault: BoxFault,
) -> BroadcastError {
    let (shape, ranges) = (shape.into(), ranges.into());
    BroadcastError::new(ErrorKind::InvalidBox {
        shape,
        ranges,
        fault,
    })
}

/// Parts of a reduction do not fit together.
#[cold]
pub(crate) fn parts_mismatch(fault: PartsFault) -> BroadcastError {
    BroadcastError::new(ErrorKind::PartsMismatch { fault })
}

/// Bytes are no accumulation.
#[cold]
pub(crate) fn invalid_bytes(fault: &'static str) -> BroadcastError {
    BroadcastError::new(ErrorKind::InvalidBytes { fault })
}

/// The pattern is not valid at this byte, or does not fit the shapes.
#[cold]
pub(crate) fn invalid_pattern(
    pattern: &str,
    position: usize,
    fault: PatternFault,
) -> BroadcastError {
    BroadcastError::new(ErrorKind::InvalidPattern {
        pattern: pattern.into(),
        position,
        fault,
    })
}

/// A text is not the text form of a mode or rule.
#[cold]
pub(crate) fn invalid_text(kind: &'static str, text: &str, fault: &'static str) -> BroadcastError {
    let text = text.into();
    BroadcastError::new(ErrorKind::InvalidText { kind, text, fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_pointer_wide() {
        assert_eq!(size_of::<BroadcastError>(), size_of::<*const ErrorKind>());
    }
}
