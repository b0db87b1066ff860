//! What a reduction reads and writes: its target, its terms, and the strides of its operands.

use super::super::kernel::{BLOCK_TERMS, LANES, OPERANDS, Steps};
use super::super::nest::{LoopAxis, LoopNest};
use super::super::pack::Operand;
use std::ops::Range;

/// Strides of a loop, in bytes: what decides the order of the loops, those of the operands, and of
/// the results.
pub(super) const STRIDES: usize = OPERANDS + 2;

pub(super) type Axis = LoopAxis<STRIDES>;
pub(super) type Nest = LoopNest<STRIDES>;

/// Which terms of each sum are reduced.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Positions in the order of the axes that are summed.
    pub(crate) range: Range<usize>,
    /// Whether as many other terms may be reduced instead, if the order of the terms does not
    /// matter. Ranges that do not overlap still have different terms.
    pub(crate) may_move: bool,
    /// The number of position 0 among all terms; wraps.
    pub(crate) number: usize,
    /// How many terms a slab of the tree has. The range is of one slab, or whole slabs.
    pub(crate) slab: usize,
}

/// In the list of axes of [`reduce`]: the axis is summed.
pub(crate) const SUMMED: usize = usize::MAX;

/// How many terms a slab of the tree has: those of as few of the last summed axes as have a block
/// of terms together, or of all. `becomes` is the list of axes of [`reduce`].
pub(crate) fn slab_terms(becomes: &[usize], shape: &[usize]) -> usize {
    let axes = becomes.iter().zip(shape).rev();
    let mut summed = axes.filter(|&(&axis, _)| axis == SUMMED);
    let mut slab = 1;
    while let (..BLOCK_TERMS, Some((_, size))) = (slab, summed.next()) {
        slab *= size;
    }
    slab
}

/// A bit for each input that is not much smaller than the largest one. Smaller ones stay in a
/// cache. A single input needs no bit.
pub(super) fn large(inputs: &[Operand<'_>]) -> usize {
    if inputs.len() == 1 {
        return 0;
    }
    let elements = |input: &Operand<'_>| input.shape.iter().product::<usize>();
    let most = inputs.iter().map(elements).max().unwrap_or(0);
    let mut bits = 0;
    for (number, input) in inputs.iter().enumerate() {
        bits |= usize::from(elements(input) >= most / LANES) << number;
    }
    bits
}

/// The strides of one axis of `rank`.
///
/// The nearest of those inputs for which there is a bit in `together` decides the order of the
/// loops, and then the sum of all: so neighbouring positions have whole lines of memory of each of
/// these. Without a bit, the sum does. The input that decides, or else the furthest, is walked
/// forwards.
#[inline(never)]
pub(super) fn strides(
    inputs: &[Operand<'_>],
    together: usize,
    axis: usize,
    rank: usize,
    place: isize,
) -> [isize; STRIDES] {
    let mut strides = [0; STRIDES];
    let (mut sum, mut longest, mut nearest) = (0_isize, 0_isize, 0_isize);
    for (operand, input) in inputs.iter().enumerate() {
        let stride = (input.stride(axis, rank)).wrapping_mul(input.size as isize);
        strides[1 + operand] = stride;
        let distance = stride.unsigned_abs();
        sum = sum.wrapping_add(stride.wrapping_abs());
        if distance > longest.unsigned_abs() {
            longest = stride;
        }
        let nearer = nearest == 0 || distance < nearest.unsigned_abs();
        if together >> operand & 1 == 1 && distance > 0 && nearer {
            nearest = stride;
        }
    }
    let forwards = if nearest == 0 { longest } else { nearest };
    let sum = if forwards < 0 {
        sum.wrapping_neg()
    } else {
        sum
    };
    if together != 0 && nearest == 0 {
        nearest = sum;
    }
    // Both in one number, as far as there is room.
    let most = (1_isize << (isize::BITS / 2)) - 1;
    strides[0] = match nearest.clamp(-most / 2, most / 2) {
        0 => sum,
        nearest => nearest * (most + 1) + sum.clamp(-most, most),
    };
    strides[STRIDES - 1] = place;
    strides
}

/// How many bytes of the inputs `terms` terms of each column are computed of. An input whose
/// strides are all 0 is not counted, but each term is: as one byte at least.
pub(super) fn bytes_of(inputs: &[Operand<'_>], kept: &Nest, summed: &Nest, terms: usize) -> usize {
    let moves = |operand: usize| {
        let mut axes = kept.axes().iter().chain(summed.axes());
        axes.any(|axis| axis.strides[1 + operand] != 0)
    };
    let sizes = inputs.iter().enumerate();
    let term: usize = sizes
        .filter(|&(i, _)| moves(i))
        .map(|(_, input)| input.size)
        .sum();
    kept.len().saturating_mul(terms).saturating_mul(term.max(1))
}

/// The steps of the operands.
pub(super) fn steps(strides: [isize; STRIDES]) -> Steps {
    std::array::from_fn(|operand| strides[1 + operand])
}

/// What a loop over the terms or columns of an operand is for the inner loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Read where it lies.
    Contiguous,
    /// One element, which is written out [`LANES`] or [`LEAF`] times.
    Repeated,
    /// Gathered.
    Strided,
}

/// What a loop is for an operand.
pub(super) fn form(inputs: &[Operand<'_>], axis: &Axis, operand: usize) -> Form {
    // Elements of size 0 are contiguous, whatever their strides.
    match axis.strides[1 + operand] {
        _ if axis.size == 1 => Form::Contiguous,
        0 if inputs[operand].size > 0 => Form::Repeated,
        stride if stride == inputs[operand].size as isize => Form::Contiguous,
        _ => Form::Strided,
    }
}

/// What a loop is for all operands together: read in place if it is for all of them, gathered if it
/// is for one.
#[inline(never)]
pub(super) fn form_of_all(inputs: &[Operand<'_>], axis: &Axis) -> Form {
    let forms = (0..inputs.len()).map(|operand| form(inputs, axis, operand));
    forms.max().unwrap_or(Form::Contiguous)
}
