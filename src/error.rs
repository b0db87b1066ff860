//! [`BroadcastError`]: what does not fit, with all that is needed to mend the call.

use crate::mode::Rule;
use crate::picture::{Picture, Place, Size, entries, list};
use std::collections::TryReserveError;
use std::fmt;

/// Why a broadcast was refused, or an owned copy could not be made.
///
/// Every variant carries the shapes and the place at fault as fields, so that a program can react, and its `Display`
/// draws them as the rule lines them up, so that a person can see:
///
/// ```
/// use ndarray::Array3;
/// use ndarray_broadcast::prelude::*;
///
/// let error = Array3::<f32>::zeros((3, 1, 5)).broadcast_numpy((4, 4, 5)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\
/// cannot broadcast [3, 1, 5] to [4, 4, 5] (numpy)
///   input    3  1  5
///   target   4  4  5
///            ^ 3 is neither 4 nor 1",
/// );
/// assert!(matches!(error, BroadcastError::SizeMismatch { input_axis: 0, .. }));
/// ```
///
/// Shapes are in elements per axis, outermost axis first. Nothing is written and nothing is left allocated when one of
/// these comes back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BroadcastError {
    /// The sizes of an input axis and of the target axis that feeds from it do not fit. [Example](crate::guide::numpy#errors).
    #[error("{}", fmt_with(|f| size_mismatch(f, *rule, input, target, mapping, *input_axis)))]
    #[non_exhaustive]
    SizeMismatch {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// For each input axis, the axis it is lined up with, counted in the longer of the two shapes.
        mapping: Box<[usize]>,
        /// The input axis at fault.
        input_axis: usize,
    },

    /// Two arrays that are broadcast with each other have an axis where both sizes differ and neither is 1. [Example](crate::guide::elementwise#numpy).
    #[error("{}", fmt_with(|f| operand_mismatch(f, *rule, *operands, shapes, mapping, *axis)))]
    #[non_exhaustive]
    OperandMismatch {
        /// The rule that was asked for.
        rule: Rule,
        /// Which of the operands disagree, counted from 0.
        operands: [usize; 2],
        /// Their shapes, in the same order.
        shapes: [Box<[usize]>; 2],
        /// For each axis of the shape with fewer axes (of the first, if they have as many), the axis of the common
        /// shape it is lined up with.
        mapping: Box<[usize]>,
        /// The axis at fault, counted in the shape with more axes.
        axis: usize,
    },

    /// Shapes that the rule `none` wants identical are not. [Example](crate::guide::elementwise#none).
    #[error("{}", fmt_with(|f| shapes_differ(f, shapes)))]
    #[non_exhaustive]
    ShapesDiffer {
        /// The two shapes.
        shapes: [Box<[usize]>; 2],
    },

    /// The input has more axes than the target. [Example](crate::guide::numpy#errors).
    #[error("{}", fmt_with(|f| rank_too_large(f, *rule, input, target)))]
    #[non_exhaustive]
    RankTooLarge {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input (of B, for `pdpd`).
        input: Box<[usize]>,
        /// The target shape (of A, for `pdpd`).
        target: Box<[usize]>,
    },

    /// A list of axes has not one entry for each input axis. [Example](crate::guide::explicit#errors).
    #[error("{}", fmt_with(|f| axes_length(f, *rule, input, target, axes)))]
    #[non_exhaustive]
    AxesLength {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input; for `xla`, of the operand with fewer axes.
        input: Box<[usize]>,
        /// The target shape; for `xla`, of the operand with more axes.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
    },

    /// A list of axes names an axis that the target does not have. [Example](crate::guide::explicit#errors).
    #[error("{}", fmt_with(|f| axis_out_of_range(f, *rule, input, target, axes, *position)))]
    #[non_exhaustive]
    AxisOutOfRange {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
        /// Where in `axes` the entry at fault stands.
        position: usize,
    },

    /// A list of axes that must increase does not, which would transpose the input. [Example](crate::guide::explicit#errors).
    #[error("{}", fmt_with(|f| axes_unsorted(f, *rule, input, target, axes, *position)))]
    #[non_exhaustive]
    AxesUnsorted {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
        /// Where in `axes` the entry stands that is smaller than the one before it.
        position: usize,
    },

    /// A list of axes names the same target axis twice. [Example](crate::guide::explicit#errors).
    #[error("{}", fmt_with(|f| axis_repeated(f, *rule, input, target, axes, *position)))]
    #[non_exhaustive]
    AxisRepeated {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
        /// Where in `axes` the entry stands that was there before.
        position: usize,
    },

    /// nGraph's rule: the target without its broadcast axes has another rank than the input. [Example](crate::guide::broadcast_axes#errors).
    #[error("{}", fmt_with(|f| broadcast_axes_rank(f, input, target, axes)))]
    #[non_exhaustive]
    BroadcastAxesRank {
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// The broadcast axes that were given.
        axes: Box<[usize]>,
    },

    /// PaddlePaddle's rule: the axis is below -1. [Example](crate::guide::elementwise#pdpd).
    #[error("{}", fmt_with(|f| pdpd_axis(f, input, target, *axis)))]
    #[non_exhaustive]
    PdpdAxis {
        /// Shape of B, the array that is broadcast.
        input: Box<[usize]>,
        /// Shape of A.
        target: Box<[usize]>,
        /// The axis that was given.
        axis: isize,
    },

    /// PaddlePaddle's rule: B, laid from the axis on and without its trailing 1s, reaches past the end of A. [Example](crate::guide::elementwise#pdpd).
    #[error("{}", fmt_with(|f| pdpd_overhang(f, input, target, *axis, *trimmed_rank)))]
    #[non_exhaustive]
    PdpdOverhang {
        /// Shape of B, the array that is broadcast.
        input: Box<[usize]>,
        /// Shape of A.
        target: Box<[usize]>,
        /// The axis of A that B's first axis is laid on.
        axis: usize,
        /// Rank of B without its trailing 1s.
        trimmed_rank: usize,
    },

    /// XLA's rule: the ranks differ and no broadcast dimensions say how they line up. [Example](crate::guide::elementwise#xla).
    #[error("{}", fmt_with(|f| dimensions_required(f, shapes)))]
    #[non_exhaustive]
    DimensionsRequired {
        /// The two shapes.
        shapes: [Box<[usize]>; 2],
    },

    /// XLA's rule: broadcast dimensions were given where there is nothing to say. [Example](crate::guide::elementwise#xla).
    #[error("{}", fmt_with(|f| dimensions_unexpected(f, shapes, dimensions)))]
    #[non_exhaustive]
    DimensionsUnexpected {
        /// The two shapes.
        shapes: [Box<[usize]>; 2],
        /// The broadcast dimensions that were given.
        dimensions: Box<[usize]>,
    },

    /// torch's rule: an axis that the input does not have was asked to keep its size. [Example](crate::guide::numpy#errors).
    #[error("{}", fmt_with(|f| keep_on_new_axis(f, input, target, *axis)))]
    #[non_exhaustive]
    KeepOnNewAxis {
        /// Shape of the input.
        input: Box<[usize]>,
        /// The size that was asked for; [`KEEP`](crate::KEEP) stands for torch's -1.
        target: Box<[usize]>,
        /// The new axis at fault.
        axis: usize,
    },

    /// An integer that stands for a size or an axis is negative, or does not fit `usize`. [Example](crate::guide::openvino#errors).
    #[error("{}", fmt_with(|f| invalid_integer(f, *role, *position, *value)))]
    #[non_exhaustive]
    InvalidInteger {
        /// What the integer stands for.
        role: IntegerRole,
        /// Where in its list it stands.
        position: usize,
        /// The integer.
        value: i128,
    },

    /// The sizes of the output multiply to more than `isize::MAX` elements, which no array can have, view or not. [Example](crate::guide::copies_and_gradients#errors).
    #[error(
        "the shape {} has more than isize::MAX elements: no array can have it, not even a view",
        list(shape)
    )]
    #[non_exhaustive]
    ShapeOverflow {
        /// The shape that was asked for.
        shape: Box<[usize]>,
    },

    /// An owned array of this shape would take more than `isize::MAX` bytes. [Example](crate::guide::copies_and_gradients#errors).
    #[error(
        "an owned array of shape {} with {element_size}-byte elements passes isize::MAX bytes; a view costs nothing",
        list(shape)
    )]
    #[non_exhaustive]
    OutputTooLarge {
        /// The shape that was asked for.
        shape: Box<[usize]>,
        /// Size of an element in bytes.
        element_size: usize,
    },

    /// The allocator refused. [Example](crate::guide::copies_and_gradients#errors).
    #[error("the allocator refused {bytes} bytes")]
    #[non_exhaustive]
    AllocationFailed {
        /// How many bytes were asked for.
        bytes: usize,
    },

    /// An array that a result is read from or written to has not the shape it must have. [Example](crate::guide::copies_and_gradients#errors).
    #[error("{}", fmt_with(|f| wrong_shape(f, *role, expected, found)))]
    #[non_exhaustive]
    WrongShape {
        /// Which array it is.
        role: ArrayRole,
        /// The shape it must have.
        expected: Box<[usize]>,
        /// The shape it has.
        found: Box<[usize]>,
    },

    /// OpenVINO's operator: `target_shape` or `axes_mapping` is a tensor of another rank than 1. [Example](crate::guide::openvino#errors).
    #[error(
        "OpenVINO Broadcast takes {} as a 1-D tensor, but its shape is {}",
        match role {
            IntegerRole::Size => "target_shape",
            IntegerRole::Axis => "axes_mapping",
        },
        list(shape)
    )]
    #[non_exhaustive]
    NotOneDimensional {
        /// What the tensor's integers stand for: sizes in `target_shape`, axes in `axes_mapping`.
        role: IntegerRole,
        /// Shape of the tensor.
        shape: Box<[usize]>,
    },

    /// A mode or rule has a name that none is known by. [Example](crate::guide::openvino#attributes-as-text).
    #[error("unknown {kind} {}: expected {expected}", quoted(name))]
    #[non_exhaustive]
    UnknownName {
        /// What was to be named.
        kind: &'static str,
        /// The text that was given.
        name: Box<str>,
        /// What it may be.
        expected: &'static str,
    },

    /// OpenVINO's operator: this version does not know the mode. [Example](crate::guide::openvino#errors).
    #[error("OpenVINO Broadcast-{version} has no mode \"{mode}\": {hint}")]
    #[non_exhaustive]
    ModeNotInVersion {
        /// The operator's version.
        version: u8,
        /// The mode that was asked for.
        mode: Rule,
        /// What to do about it.
        hint: &'static str,
    },

    /// OpenVINO's operator: the mode explicit was given no `axes_mapping`. [Example](crate::guide::openvino#errors).
    #[error(
        "OpenVINO Broadcast in mode \"explicit\" needs its third input, axes_mapping: one target axis for each input axis"
    )]
    #[non_exhaustive]
    AxesMappingMissing {},

    /// OpenVINO's operator: an `axes_mapping` was given to a mode that takes none. [Example](crate::guide::openvino#errors).
    #[error(
        "OpenVINO Broadcast in mode \"{mode}\" takes no third input, but axes_mapping was given: drop it, or use mode \"explicit\""
    )]
    #[non_exhaustive]
    AxesMappingUnexpected {
        /// The mode that was asked for.
        mode: Rule,
    },
}

/// What an integer of a list stands for, in [`BroadcastError::InvalidInteger`] and
/// [`BroadcastError::NotOneDimensional`].
///
/// ```
/// use ndarray_broadcast::{BroadcastError, IntegerRole, axes_from_integers, shape_from_integers};
///
/// let role = |refused| match refused {
///     Err(BroadcastError::InvalidInteger { role, .. }) => Some(role),
///     _ => None,
/// };
/// assert_eq!(role(shape_from_integers(&[2, -1])), Some(IntegerRole::Size));
/// assert_eq!(role(axes_from_integers(&[-1])), Some(IntegerRole::Axis));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntegerRole {
    /// The size of an axis.
    Size,
    /// The index of an axis.
    Axis,
}

/// Which array has the wrong shape, in [`BroadcastError::WrongShape`].
///
/// ```
/// use ndarray::{Array1, Array2};
/// use ndarray_broadcast::{ArrayRole, BroadcastError, BroadcastPlan};
///
/// fn role<T>(refused: Result<T, BroadcastError>) -> Option<ArrayRole> {
///     match refused {
///         Err(BroadcastError::WrongShape { role, .. }) => Some(role),
///         _ => None,
///     }
/// }
///
/// let plan = BroadcastPlan::numpy(3, (2, 3))?;
/// let (mut three, four) = (Array1::<f32>::zeros(3), Array1::<f32>::zeros(4));
/// let (two_by_three, two_by_four) = (Array2::<f32>::zeros((2, 3)), Array2::<f32>::zeros((2, 4)));
/// assert_eq!(role(plan.view(&four)), Some(ArrayRole::Input));
/// assert_eq!(role(plan.gradient_into(&two_by_three, &mut four.clone())), Some(ArrayRole::Out));
/// assert_eq!(role(plan.gradient_into(&two_by_four, &mut three)), Some(ArrayRole::Cotangent));
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

/// Copies what an error shows without ever aborting: if even that memory is refused, the refusal is the error.
pub(crate) fn boxed(values: &[usize]) -> Result<Box<[usize]>, BroadcastError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(values.len())
        .map_err(|_| allocation_failed(size_of_val(values)))?;
    vec.extend_from_slice(values);
    Ok(vec.into_boxed_slice())
}

/// Copies a name for an error message, as [`boxed`] copies a shape.
pub(crate) fn boxed_str(text: &str) -> Result<Box<str>, BroadcastError> {
    let mut string = String::new();
    string
        .try_reserve_exact(text.len())
        .map_err(|_: TryReserveError| allocation_failed(text.len()))?;
    string.push_str(text);
    Ok(string.into_boxed_str())
}

pub(crate) fn allocation_failed(bytes: usize) -> BroadcastError {
    BroadcastError::AllocationFailed { bytes }
}

/// Either way it is an error: the one that was built, or the one that kept it from being built.
pub(crate) fn either(result: Result<BroadcastError, BroadcastError>) -> BroadcastError {
    match result {
        Ok(error) | Err(error) => error,
    }
}

/// A [`BroadcastError`] on its way out of a rule, one pointer wide. None: there was not even the memory for the box.
///
/// A `Result` whose error has many words is handed on through memory, and with it, where all is well, the plan or the view:
/// that took five times as long as making the view.
pub(crate) struct Refusal(Option<Box<[BroadcastError; 1]>>);

impl From<BroadcastError> for Refusal {
    #[cold]
    fn from(error: BroadcastError) -> Self {
        let mut boxed = Vec::new();
        if boxed.try_reserve_exact(1).is_ok() {
            boxed.push(error);
        }
        Refusal(boxed.into_boxed_slice().try_into().ok())
    }
}

impl From<Refusal> for BroadcastError {
    #[inline(always)]
    fn from(refusal: Refusal) -> Self {
        unboxed(refusal).0
    }
}

/// The error. The `u64` beside it keeps the compiler from having it written right into the caller's `Result`, which would
/// thereby have to stay in memory.
#[cold]
#[inline(never)]
fn unboxed(refusal: Refusal) -> (BroadcastError, u64) {
    let error = match refusal.0 {
        Some(boxed) => {
            let [error] = *boxed;
            error
        }
        None => BroadcastError::AllocationFailed {
            bytes: size_of::<BroadcastError>(),
        },
    };
    (error, 0)
}

/// Refuses a broadcast, with the error that is built or with the one that kept it from being built.
#[cold]
#[inline(never)]
pub(crate) fn refusal(error: impl FnOnce() -> Result<BroadcastError, BroadcastError>) -> Refusal {
    Refusal::from(either(error()))
}

/// Builds the error for an array that has not the shape it must have.
#[cold]
pub(crate) fn wrong_shape_error(
    role: ArrayRole,
    expected: &[usize],
    found: &[usize],
) -> BroadcastError {
    either((|| {
        Ok(BroadcastError::WrongShape {
            role,
            expected: boxed(expected)?,
            found: boxed(found)?,
        })
    })())
}

/// Builds the error for a shape of more than `isize::MAX` elements.
#[cold]
pub(crate) fn shape_overflow(shape: &[usize]) -> BroadcastError {
    either((|| {
        Ok(BroadcastError::ShapeOverflow {
            shape: boxed(shape)?,
        })
    })())
}

/// Builds the error for an owned array of more than `isize::MAX` bytes.
#[cold]
pub(crate) fn output_too_large(shape: &[usize], element_size: usize) -> BroadcastError {
    either((|| {
        Ok(BroadcastError::OutputTooLarge {
            shape: boxed(shape)?,
            element_size,
        })
    })())
}

fn fmt_with<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result>(draw: F) -> impl fmt::Display {
    struct With<F>(F);
    impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for With<F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }
    With(draw)
}

/// A name in quotes; of a text too long to be one, the beginning.
fn quoted(name: &str) -> impl fmt::Display {
    /// Longer than any name, short enough for a line.
    const SHOWN: usize = 64;
    fmt_with(move |f| match name.char_indices().nth(SHOWN) {
        None => write!(f, "{name:?}"),
        Some((end, _)) => write!(f, "{:?}... {} bytes", &name[..end], name.len()),
    })
}

fn cannot(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    input: &[usize],
    target: &[usize],
) -> fmt::Result {
    match rule {
        Rule::Pdpd => write!(
            f,
            "cannot broadcast B {} to A {} ({rule})",
            list(input),
            list(target)
        ),
        _ => write!(
            f,
            "cannot broadcast {} to {} ({rule})",
            list(input),
            list(target)
        ),
    }
}

fn cannot_pair(f: &mut fmt::Formatter<'_>, rule: Rule, shapes: &[Box<[usize]>; 2]) -> fmt::Result {
    write!(
        f,
        "cannot broadcast {} with {} ({rule})",
        list(&shapes[0]),
        list(&shapes[1])
    )
}

/// What the rule calls its two shapes.
fn labels(rule: Rule) -> [&'static str; 2] {
    match rule {
        Rule::Pdpd => ["B", "A"],
        _ => ["input", "target"],
    }
}

/// What the rule calls its list of axes.
fn axes_name(rule: Rule) -> &'static str {
    match rule {
        Rule::BroadcastAxes => "broadcast axes",
        Rule::InDim | Rule::InDimPermuting | Rule::Xla => "broadcast dimensions",
        _ => "axes mapping",
    }
}

fn size_mismatch(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    input: &[usize],
    target: &[usize],
    mapping: &[usize],
    input_axis: usize,
) -> fmt::Result {
    cannot(f, rule, input, target)?;
    let rank = input.len().max(target.len());
    let column = mapping.get(input_axis).copied().unwrap_or(0);
    let [input_label, target_label] = labels(rule);
    let target_start = rank - target.len();
    let picture = Picture::new(
        rank,
        (input_label, input, Place::Mapped(mapping)),
        (target_label, target, Place::From(target_start)),
    );
    picture.rows(f, column)?;
    picture.caret(f, column)?;
    let found = input.get(input_axis).copied().unwrap_or(0);
    let wanted = column
        .checked_sub(target_start)
        .and_then(|axis| target.get(axis))
        .copied()
        .unwrap_or(1);
    let (shown, is_one) = (Size(wanted), wanted == 1);
    match rule {
        Rule::Bidirectional => write!(f, "{found} and {shown} differ and neither is 1"),
        Rule::BroadcastAxes => write!(
            f,
            "{found} is not {shown} (only the broadcast axes replicate)"
        ),
        _ if is_one => write!(f, "{found} is not 1"),
        _ => write!(f, "{found} is neither {shown} nor 1"),
    }
}

fn operand_mismatch(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    operands: [usize; 2],
    shapes: &[Box<[usize]>; 2],
    mapping: &[usize],
    axis: usize,
) -> fmt::Result {
    cannot_pair(f, rule, shapes)?;
    let place = |this: usize| {
        let other = 1 - this;
        match shapes[this].len().cmp(&shapes[other].len()) {
            std::cmp::Ordering::Less => Place::Mapped(mapping),
            _ => Place::From(0),
        }
    };
    let rank = shapes[0].len().max(shapes[1].len());
    let rows = |first, second| {
        Picture::new(
            rank,
            (first, &shapes[0], place(0)),
            (second, &shapes[1], place(1)),
        )
    };
    let draw = |f: &mut fmt::Formatter<'_>, picture: Picture<'_>| {
        picture.rows(f, axis)?;
        picture.caret(f, axis)?;
        let size = |this: usize| picture.size(this, axis).unwrap_or(1);
        write!(f, "{} and {} differ and neither is 1", size(0), size(1))
    };
    match operands {
        [0, 1] => draw(f, rows("a", "b")),
        [i, j] => draw(f, rows(&format!("input {i}"), &format!("input {j}"))),
    }
}

fn shapes_differ(f: &mut fmt::Formatter<'_>, shapes: &[Box<[usize]>; 2]) -> fmt::Result {
    cannot_pair(f, Rule::None, shapes)?;
    let [a, b] = shapes;
    let picture = Picture::new(
        a.len().max(b.len()),
        ("a", a, Place::From(0)),
        ("b", b, Place::From(0)),
    );
    if a.len() != b.len() {
        picture.rows(f, 0)?;
        return write!(
            f,
            "\n  ranks {} and {} differ; this rule wants identical shapes",
            a.len(),
            b.len()
        );
    }
    let axis = (0..a.len()).find(|&axis| a[axis] != b[axis]).unwrap_or(0);
    picture.rows(f, axis)?;
    picture.caret(f, axis)?;
    write!(
        f,
        "{} is not {}; this rule wants identical shapes",
        a[axis], b[axis]
    )
}

fn rank_too_large(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    input: &[usize],
    target: &[usize],
) -> fmt::Result {
    cannot(f, rule, input, target)?;
    let [input_label, target_label] = labels(rule);
    Picture::right_aligned([input_label, target_label], input, target).rows(f, 0)?;
    write!(
        f,
        "\n  {input_label} has {}, {target_label} only {}: this rule never drops an axis, not even one of size 1",
        axes_count(input.len()),
        target.len(),
    )
}

fn axes_count(rank: usize) -> impl fmt::Display {
    fmt_with(move |f| write!(f, "{rank} {}", if rank == 1 { "axis" } else { "axes" }))
}

/// The heading of every error about a list of axes: both shapes, and the list under the input it belongs to.
fn axes_heading(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    position: Option<usize>,
) -> fmt::Result {
    cannot(f, rule, input, target)?;
    let name = axes_name(rule);
    let rank = input.len().max(axes.len());
    // nGraph's axes name axes of the target; every other list has one entry for each input axis.
    let above = if rule == Rule::BroadcastAxes {
        ("target", target)
    } else {
        ("input", input)
    };
    let rank = if rule == Rule::BroadcastAxes {
        target.len().max(axes.len())
    } else {
        rank
    };
    let picture = Picture::new(
        rank,
        (above.0, above.1, Place::From(0)),
        (name, axes, Place::From(0)),
    );
    picture.rows(f, position.unwrap_or(0))?;
    match position {
        Some(position) => picture.caret(f, position),
        None => f.write_str("\n  "),
    }
}

fn axes_length(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
) -> fmt::Result {
    axes_heading(f, rule, input, target, axes, None)?;
    let entries = if axes.len() == 1 { "entry" } else { "entries" };
    write!(
        f,
        "{} {entries} for {}: say for each input axis which target axis it feeds",
        axes.len(),
        axes_count(input.len()),
    )
}

fn axis_out_of_range(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    position: usize,
) -> fmt::Result {
    axes_heading(f, rule, input, target, axes, Some(position))?;
    let axis = axes.get(position).copied().unwrap_or(0);
    let axis = Size(axis);
    match target.len() {
        0 => write!(f, "the target is a scalar and has no axis {axis}"),
        1 => write!(f, "the target has no axis {axis}: its only axis is 0"),
        rank => write!(
            f,
            "the target has no axis {axis}: its axes are 0 to {}",
            rank - 1
        ),
    }
}

fn axes_unsorted(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    position: usize,
) -> fmt::Result {
    axes_heading(f, rule, input, target, axes, Some(position))?;
    let at = |p: usize| axes.get(p).copied().unwrap_or(0);
    write!(
        f,
        "{} after {}: axes must increase, a broadcast does not transpose{}",
        at(position),
        at(position.saturating_sub(1)),
        if rule == Rule::InDim {
            "; broadcast_in_dim_permuting does"
        } else {
            ""
        },
    )
}

fn axis_repeated(
    f: &mut fmt::Formatter<'_>,
    rule: Rule,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
    position: usize,
) -> fmt::Result {
    axes_heading(f, rule, input, target, axes, Some(position))?;
    write!(
        f,
        "axis {} is there already: each target axis feeds from one input axis",
        axes.get(position).unwrap_or(&0)
    )
}

fn broadcast_axes_rank(
    f: &mut fmt::Formatter<'_>,
    input: &[usize],
    target: &[usize],
    axes: &[usize],
) -> fmt::Result {
    cannot(f, Rule::BroadcastAxes, input, target)?;
    let added = (0..target.len()).filter(|axis| axes.contains(axis)).count();
    Picture::right_aligned(["input", "target"], input, target).rows(f, 0)?;
    write!(
        f,
        "\n  broadcast axes {} leave {} of the target's {}, the input has {}",
        list(axes),
        target.len() - added,
        target.len(),
        input.len(),
    )
}

fn pdpd_axis(
    f: &mut fmt::Formatter<'_>,
    input: &[usize],
    target: &[usize],
    axis: isize,
) -> fmt::Result {
    cannot(f, Rule::Pdpd, input, target)?;
    write!(
        f,
        "\n  axis {axis}: it is -1 (right-align B) or the axis of A that B's first axis is laid on"
    )
}

fn pdpd_overhang(
    f: &mut fmt::Formatter<'_>,
    input: &[usize],
    target: &[usize],
    axis: usize,
    trimmed_rank: usize,
) -> fmt::Result {
    cannot(f, Rule::Pdpd, input, target)?;
    let trimmed = &input[..trimmed_rank.min(input.len())];
    // An axis far out would be a picture of blanks.
    if let Some(rank) = axis
        .checked_add(trimmed.len())
        .filter(|&rank| rank <= target.len().saturating_add(8))
    {
        let picture = Picture::new(
            rank.max(target.len()),
            ("B", trimmed, Place::From(axis)),
            ("A", target, Place::From(0)),
        );
        picture.rows(f, axis)?;
    }
    write!(
        f,
        "\n  laid on axis {axis}, B{} has {} but A has {}",
        if trimmed.len() < input.len() {
            " without its trailing 1s"
        } else {
            ""
        },
        fmt_with(|f| write!(f, "{} to fill", axes_count(trimmed.len()))),
        fmt_with(|f| match target.len().checked_sub(axis) {
            Some(left) => write!(f, "{left} left from there"),
            None => write!(f, "only {}", axes_count(target.len())),
        }),
    )
}

fn dimensions_required(f: &mut fmt::Formatter<'_>, shapes: &[Box<[usize]>; 2]) -> fmt::Result {
    cannot_pair(f, Rule::Xla, shapes)?;
    let [a, b] = shapes;
    Picture::new(
        a.len().max(b.len()),
        ("a", a, Place::From(0)),
        ("b", b, Place::From(0)),
    )
    .rows(f, 0)?;
    let (small, large) = (a.len().min(b.len()), a.len().max(b.len()));
    write!(
        f,
        "\n  ranks {} and {} differ and XLA never guesses: pass broadcast_dimensions, {} of the axes 0 to {} in \
         increasing order (NumPy's alignment is {})",
        a.len(),
        b.len(),
        small,
        large.saturating_sub(1),
        entries(large - small..large),
    )
}

fn dimensions_unexpected(
    f: &mut fmt::Formatter<'_>,
    shapes: &[Box<[usize]>; 2],
    dimensions: &[usize],
) -> fmt::Result {
    cannot_pair(f, Rule::Xla, shapes)?;
    let why = if shapes.iter().any(|shape| shape.is_empty()) {
        "a scalar needs no broadcast_dimensions: pass []"
    } else {
        "equal ranks need no broadcast_dimensions: pass [] or the identity"
    };
    write!(f, "\n  broadcast dimensions {}: {why}", list(dimensions))
}

fn keep_on_new_axis(
    f: &mut fmt::Formatter<'_>,
    input: &[usize],
    target: &[usize],
    axis: usize,
) -> fmt::Result {
    cannot(f, Rule::Expand, input, target)?;
    let picture = Picture::right_aligned(["input", "size"], input, target);
    picture.rows(f, axis)?;
    picture.caret(f, axis)?;
    f.write_str("-1 keeps an input's size, but this axis is new: give it a size")
}

fn invalid_integer(
    f: &mut fmt::Formatter<'_>,
    role: IntegerRole,
    position: usize,
    value: i128,
) -> fmt::Result {
    let what = match role {
        IntegerRole::Size => "a size",
        IntegerRole::Axis => "an axis",
    };
    let why = if value < 0 {
        "must not be negative"
    } else {
        "must fit usize"
    };
    write!(f, "entry {position} is {value}: {what} {why}")
}

fn wrong_shape(
    f: &mut fmt::Formatter<'_>,
    role: ArrayRole,
    expected: &[usize],
    found: &[usize],
) -> fmt::Result {
    write!(
        f,
        "{role} has shape {}, expected {}",
        list(found),
        list(expected)
    )?;
    let picture = Picture::new(
        expected.len().max(found.len()),
        ("found", found, Place::From(0)),
        ("expected", expected, Place::From(0)),
    );
    let at_fault = expected.iter().zip(found).position(|(a, b)| a != b);
    match at_fault {
        _ if expected.len() != found.len() => {
            picture.rows(f, 0)?;
            write!(f, "\n  ranks {} and {} differ", found.len(), expected.len())
        }
        Some(axis) => {
            picture.rows(f, axis)?;
            picture.caret(f, axis)?;
            write!(f, "{} is not {}", found[axis], expected[axis])
        }
        None => Ok(()),
    }
}
