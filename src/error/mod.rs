//! [`BroadcastError`], and a constructor for each [`ErrorKind`] that more than one file returns.

mod draw;
mod draw_parts;
mod draw_plans;
mod fault;
mod kind;
mod role;

pub use fault::{AxesFault, PartialFault, PatternFault, SliceFault};
pub use kind::ErrorKind;
pub use role::{ArrayRole, IntegerRole};

use crate::partial::PartialShape;
use crate::rule::Rule;
use std::fmt;
use std::ops::Range;

/// Why a broadcast was refused, or an owned copy could not be made.
///
/// One pointer wide. [`kind`](Self::kind) has the shapes and the axis as fields, for programs.
/// `Display` draws the shapes as the rule aligns them, for people:
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
/// assert!(matches!(error.kind(), ErrorKind::SizeMismatch { input_axis: 0, .. }));
/// ```
///
/// A call that returns an error has written nothing and left nothing allocated.
// One pointer, so that a `Result` stays in registers on its way out of a rule. A `Result` with a
// wide error is returned through memory, which takes five times as long as making a view.
// An array of one, because `Box::new` aborts if the allocator refuses memory. A boxed slice comes
// from `Vec::try_reserve_exact`, which does not abort. `None`: the allocator refused the box.
#[derive(Clone, thiserror::Error)]
#[error("{}", self.kind())]
pub struct BroadcastError(Option<Box<[ErrorKind; 1]>>);

static NO_MEMORY_FOR_THE_ERROR: ErrorKind = ErrorKind::AllocationFailed {
    bytes: size_of::<ErrorKind>(),
};

impl BroadcastError {
    /// What is wrong, with its shapes and axes.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::error::AxesFault;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let error = array![1, 2].broadcast_explicit((2, 3), &[2]).unwrap_err();
    /// match error.kind() {
    ///     ErrorKind::InvalidAxes { axes, fault, .. } => {
    ///         assert_eq!((&axes[..], *fault), (&[2][..], AxesFault::OutOfRange(0)));
    ///     }
    ///     _ => unreachable!(),
    /// }
    /// ```
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        match &self.0 {
            Some(kind) => &kind[0],
            None => &NO_MEMORY_FOR_THE_ERROR,
        }
    }

    /// The same error with other names for the operands, which are numbered so far.
    #[cold]
    pub(crate) fn with_operands(mut self, name: impl Fn(usize) -> ArrayRole) -> Self {
        let arrays: &mut [ArrayRole] = match self.0.as_mut().map(|kind| &mut kind[0]) {
            Some(
                ErrorKind::OperandMismatch { operands, .. }
                | ErrorKind::ShapesDiffer { operands, .. }
                | ErrorKind::DimensionsRequired { operands, .. },
            ) => operands,
            Some(kind) => match input_of(kind) {
                Some(array) => std::slice::from_mut(array),
                None => &mut [],
            },
            None => &mut [],
        };
        for array in arrays {
            if let ArrayRole::Operand(position) = *array {
                *array = name(position);
            }
        }
        self
    }

    /// The error of a broadcast from the result of a sum to the array, in the words of the sum.
    #[cold]
    pub(crate) fn of_reduction(self, operation: &'static str) -> Self {
        let (target, input, axis) = match self.kind() {
            ErrorKind::SizeMismatch {
                input,
                target,
                input_axis,
                ..
            } => (input, target, Some(*input_axis)),
            ErrorKind::RankTooLarge { input, target, .. } => (input, target, None),
            _ => return self,
        };
        with_copies([input, target], |[input, target]| {
            ErrorKind::ReduceMismatch {
                operation,
                input,
                target,
                axis,
            }
        })
    }

    /// The same error, of an input with this name.
    #[cold]
    pub(crate) fn with_input(mut self, name: ArrayRole) -> Self {
        if let Some(array) = self.0.as_mut().and_then(|kind| input_of(&mut kind[0])) {
            *array = name;
        }
        self
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        let mut boxed = Vec::new();
        if boxed.try_reserve_exact(1).is_ok() {
            boxed.push(kind);
        }
        BroadcastError(boxed.into_boxed_slice().try_into().ok())
    }
}

impl PartialEq for BroadcastError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }
}

impl Eq for BroadcastError {}

impl fmt::Debug for BroadcastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.kind(), f)
    }
}

/// Names the input of an error by its place in a tuple, which a letter from `a` on says.
pub(crate) fn named(letter: &'static str) -> impl Fn(BroadcastError) -> BroadcastError {
    move |error| {
        let place = letter.bytes().next().map_or(0, |letter| letter - b'a');
        error.with_input(ArrayRole::Operand(place.into()))
    }
}

/// The error of this kind, with copies of the given lists.
///
/// Never aborts: if memory for the copies is refused, that is the error.
#[cold]
#[inline(never)]
pub(crate) fn with_copies<const N: usize>(
    lists: [&[usize]; N],
    kind: impl FnOnce([Box<[usize]>; N]) -> ErrorKind,
) -> BroadcastError {
    match copies(lists) {
        Ok(copies) => BroadcastError::new(kind(copies)),
        Err(error) => error,
    }
}

fn copies<const N: usize>(lists: [&[usize]; N]) -> Result<[Box<[usize]>; N], BroadcastError> {
    let mut copies = std::array::from_fn(|_| Box::default());
    for (copy, list) in copies.iter_mut().zip(lists) {
        *copy = copied(list)?;
    }
    Ok(copies)
}

/// A copy of a list.
///
/// # Errors
///
/// `AllocationFailed`.
pub(crate) fn copied<T: Clone>(values: &[T]) -> Result<Box<[T]>, BroadcastError> {
    let mut vec = reserved(values.len())?;
    vec.extend_from_slice(values);
    Ok(vec.into_boxed_slice())
}

/// Which array an error calls its input.
fn input_of(kind: &mut ErrorKind) -> Option<&mut ArrayRole> {
    match kind {
        ErrorKind::SizeMismatch { array, .. }
        | ErrorKind::RankTooLarge { array, .. }
        | ErrorKind::InvalidAxes { array, .. }
        | ErrorKind::PdpdAxis { array, .. }
        | ErrorKind::PdpdOverhang { array, .. } => Some(array),
        _ => None,
    }
}

/// An empty vector with room for `len` elements.
///
/// # Errors
///
/// `AllocationFailed`, with the number of bytes.
#[inline]
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>, BroadcastError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|_| allocation_failed(len.saturating_mul(size_of::<T>())))?;
    Ok(vec)
}

#[cold]
pub(crate) fn allocation_failed(bytes: usize) -> BroadcastError {
    BroadcastError::new(ErrorKind::AllocationFailed { bytes })
}

/// A reduction of terms of this shape, of which there are none, has no result for that.
#[cold]
pub(crate) fn empty_reduction(shape: &[usize], reduction: &'static str) -> BroadcastError {
    with_copies([shape], |[shape]| ErrorKind::EmptyReduction {
        shape,
        reduction,
    })
}

/// A reduction of terms of this shape, of which there are fewer than it needs.
#[cold]
pub(crate) fn too_few_terms(
    shape: &[usize],
    reduction: &'static str,
    terms: usize,
    least: usize,
) -> BroadcastError {
    with_copies([shape], |[shape]| ErrorKind::TooFewTerms {
        shape,
        reduction,
        terms,
        least,
    })
}

/// A slice does not hold an array of this shape and these strides.
#[cold]
pub(crate) fn invalid_slice(
    role: ArrayRole,
    shape: &[usize],
    strides: &[isize],
    len: usize,
    fault: SliceFault,
) -> BroadcastError {
    let strides = match copied(strides) {
        Ok(strides) => strides,
        Err(error) => return error,
    };
    with_copies([shape], |[shape]| ErrorKind::InvalidSlice {
        role,
        shape,
        strides,
        len,
        fault,
    })
}

/// The array in this role has the shape `found`.
#[cold]
pub(crate) fn wrong_shape(role: ArrayRole, expected: &[usize], found: &[usize]) -> BroadcastError {
    with_copies([expected, found], |[expected, found]| {
        ErrorKind::WrongShape {
            role,
            expected,
            found,
        }
    })
}

/// That an array has the expected shape.
#[inline]
pub(crate) fn check_shape(
    role: ArrayRole,
    expected: &[usize],
    found: &[usize],
) -> Result<(), BroadcastError> {
    match expected == found {
        true => Ok(()),
        false => Err(wrong_shape(role, expected, found)),
    }
}

/// The sizes of the shape, other than 0, multiply to more than `isize::MAX`.
#[cold]
pub(crate) fn shape_overflow(shape: &[usize]) -> BroadcastError {
    with_copies([shape], |[shape]| ErrorKind::ShapeOverflow { shape })
}

/// An owned array of this shape has more than `isize::MAX` bytes.
#[cold]
pub(crate) fn output_too_large(shape: &[usize], element_size: usize) -> BroadcastError {
    with_copies([shape], |[shape]| ErrorKind::OutputTooLarge {
        shape,
        element_size,
    })
}

/// The input has more axes than the target.
#[cold]
pub(crate) fn rank_too_large(rule: Rule, input: &[usize], target: &[usize]) -> BroadcastError {
    with_copies([input, target], |[input, target]| ErrorKind::RankTooLarge {
        rule,
        array: ArrayRole::Input,
        input,
        target,
    })
}

/// The size of an input axis does not fit. `output_axis_of` gives the output axis of each input
/// axis. It is called by reference, so that this function is compiled once and not for each rule
/// and pair of ranks.
#[cold]
pub(crate) fn size_mismatch(
    rule: Rule,
    [input, target]: [&[usize]; 2],
    input_axis: usize,
    output_axis_of: &dyn Fn(usize) -> usize,
) -> BroadcastError {
    with_copies([input, target, input], |[input, target, mut mapping]| {
        fill_mapping(&mut mapping, output_axis_of);
        ErrorKind::SizeMismatch {
            rule,
            array: ArrayRole::Input,
            input,
            target,
            mapping,
            input_axis,
        }
    })
}

/// Two shapes do not fit on `axis`, counted in the longer one. `output_axis_of` gives the axis of
/// the longer shape for each axis of the shorter one.
#[cold]
pub(crate) fn operand_mismatch(
    rule: Rule,
    operands: [ArrayRole; 2],
    [a, b]: [&[usize]; 2],
    axis: usize,
    output_axis_of: &dyn Fn(usize) -> usize,
) -> BroadcastError {
    let short = if a.len() <= b.len() { a } else { b };
    with_copies([a, b, short], |[a, b, mut mapping]| {
        fill_mapping(&mut mapping, output_axis_of);
        ErrorKind::OperandMismatch {
            rule,
            operands,
            shapes: [a, b],
            mapping,
            axis,
        }
    })
}

fn fill_mapping(mapping: &mut [usize], output_axis_of: &dyn Fn(usize) -> usize) {
    for (axis, entry) in mapping.iter_mut().enumerate() {
        *entry = output_axis_of(axis);
    }
}

/// The output of the first plan is not the input of the second.
#[cold]
pub(crate) fn plans_do_not_meet(output: &[usize], input: &[usize]) -> BroadcastError {
    with_copies([output, input], |[output, input]| {
        ErrorKind::PlansDoNotMeet { output, input }
    })
}

/// The list does not name every axis of the shape once.
#[cold]
pub(crate) fn not_a_permutation(shape: &[usize], axes: &[usize]) -> BroadcastError {
    let mut seen = match reserved(shape.len()) {
        Ok(seen) => seen,
        Err(error) => return error,
    };
    seen.resize(shape.len(), false);
    let mut fault = AxesFault::Length;
    if axes.len() == shape.len() {
        for (at, &axis) in axes.iter().enumerate() {
            match seen.get_mut(axis) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => fault = AxesFault::Repeated(at),
                None => fault = AxesFault::OutOfRange(at),
            }
            if fault != AxesFault::Length {
                break;
            }
        }
    }
    with_copies([shape, axes], |[shape, axes]| ErrorKind::NotAPermutation {
        shape,
        axes,
        fault,
    })
}

/// There is no such axis to remove or to reduce, or none can be inserted there.
#[cold]
pub(crate) fn invalid_axis(
    shape: &[usize],
    axis: usize,
    operation: &'static str,
) -> BroadcastError {
    with_copies([shape], |[shape]| ErrorKind::InvalidAxis {
        shape,
        axis,
        operation,
    })
}

/// The ranges are not inside the shape.
#[cold]
pub(crate) fn invalid_box(shape: &[usize], ranges: &[Range<usize>]) -> BroadcastError {
    let ranges = match copied(ranges) {
        Ok(ranges) => ranges,
        Err(error) => return error,
    };
    with_copies([shape], |[shape]| ErrorKind::InvalidBox { shape, ranges })
}

/// The sums of a plan have `count` blocks.
#[cold]
pub(crate) fn invalid_blocks(count: usize, blocks: Range<usize>) -> BroadcastError {
    BroadcastError::new(ErrorKind::InvalidBlocks { count, blocks })
}

/// The box has a part of a block of terms. It cuts `axis` at `boundary`.
#[cold]
pub(crate) fn cuts_block(
    shape: &[usize],
    ranges: &[Range<usize>],
    axis: usize,
    boundary: usize,
    nearest: [Option<usize>; 2],
) -> BroadcastError {
    let ranges = match copied(ranges) {
        Ok(ranges) => ranges,
        Err(error) => return error,
    };
    with_copies([shape], |[shape]| ErrorKind::CutsBlock {
        shape,
        ranges,
        axis,
        boundary,
        nearest,
    })
}

/// Two accumulations do not belong together.
#[cold]
pub(crate) fn other_reduction(first: &str, second: &str) -> BroadcastError {
    match (copied_text(first), copied_text(second)) {
        (Ok(first), Ok(second)) => BroadcastError::new(ErrorKind::OtherReduction { first, second }),
        (Err(error), _) | (_, Err(error)) => error,
    }
}

/// Two parts of a reduction have these terms.
#[cold]
pub(crate) fn overlap(ranges: &[Range<usize>], terms: Range<usize>) -> BroadcastError {
    match copied(ranges) {
        Ok(ranges) => BroadcastError::new(ErrorKind::Overlap { ranges, terms }),
        Err(error) => error,
    }
}

/// These terms of an element of a reduction are missing.
#[cold]
pub(crate) fn incomplete(index: &[usize], terms: Range<usize>) -> BroadcastError {
    with_copies([index], |[index]| ErrorKind::Incomplete { index, terms })
}

/// Bytes are no accumulation.
#[cold]
pub(crate) fn invalid_bytes(fault: &'static str) -> BroadcastError {
    BroadcastError::new(ErrorKind::InvalidBytes { fault })
}

/// The shape is not within what is known of it.
#[cold]
pub(crate) fn shape_not_possible(known: &PartialShape, found: &[usize]) -> BroadcastError {
    with_copies([found], |[found]| ErrorKind::NotPossible {
        known: known.clone(),
        found,
    })
}

/// The pattern is not valid at this byte, or does not fit the shapes.
#[cold]
pub(crate) fn invalid_pattern(
    pattern: &str,
    position: usize,
    fault: PatternFault,
) -> BroadcastError {
    match copied_text(pattern) {
        Ok(pattern) => BroadcastError::new(ErrorKind::InvalidPattern {
            pattern,
            position,
            fault,
        }),
        Err(error) => error,
    }
}

/// A copy of a text.
///
/// # Errors
///
/// `AllocationFailed`.
pub(crate) fn copied_text(text: &str) -> Result<Box<str>, BroadcastError> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())
        .map_err(|_| allocation_failed(text.len()))?;
    copy.push_str(text);
    Ok(copy.into_boxed_str())
}

/// A name that nothing has.
#[cold]
pub(crate) fn unknown_name(
    kind: &'static str,
    name: &str,
    expected: &'static str,
) -> BroadcastError {
    match copied_text(name) {
        Ok(name) => BroadcastError::new(ErrorKind::UnknownName {
            kind,
            name,
            expected,
        }),
        Err(error) => error,
    }
}

/// A text that is not the text form of a mode or rule.
#[cold]
pub(crate) fn invalid_text(kind: &'static str, text: &str, fault: &'static str) -> BroadcastError {
    match copied_text(text) {
        Ok(text) => BroadcastError::new(ErrorKind::InvalidText { kind, text, fault }),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_pointer_wide() {
        assert_eq!(size_of::<BroadcastError>(), size_of::<*const ErrorKind>());
    }

    #[test]
    fn error_without_memory_is_a_failed_allocation() {
        let error = BroadcastError(None);
        assert_eq!(error, allocation_failed(size_of::<ErrorKind>()));
        let text = format!("the allocator refused {} bytes", size_of::<ErrorKind>());
        assert_eq!(error.to_string(), text);
    }
}
