//! What a rule sees and says: of two shapes, whose sizes are known or known in part, it says which
//! axes are aligned, and how the sizes of aligned axes are related. From that follow plans and
//! partial shapes.
//!
//! Under every rule the size of an output axis depends only on the axes that are aligned with it,
//! and axes of different columns do not restrict each other. So the smallest box of partial shapes
//! is found axis by axis, too. Symbols are compared within a column only.

use crate::error::{ArrayRole, Mismatch, Result, shape_overflow};
use crate::partial::{PartialShape, PartialSize, PartialSizes};
use crate::plan::BroadcastPlan;
use crate::rule::{Relation, Rule};
use crate::shape::{Sizes, dimension, elements};
use ndarray::{Dimension, IntoDimension};
use smallvec::SmallVec;

/// A rank that is not known: larger than every rank.
pub(super) const UNKNOWN_RANK: usize = usize::MAX;

/// Two shapes: input and target, or two operands.
pub(super) struct Shapes<'a, S> {
    /// The ranks. One that is not known is [`UNKNOWN_RANK`].
    pub(super) ranks: [usize; 2],
    /// The sizes. There are none if the rank is not known.
    pub(super) first: &'a [S],
    /// A rule may set the sizes of a target.
    pub(super) second: &'a mut [S],
}

/// What a rule says of two shapes.
pub(super) type Aligned<'a> = Result<(Relation, Axes<'a>), Box<Mismatch>>;

/// The axis of the other shape that each axis of the shape of smaller rank (of the first, if they
/// are equal) is aligned with. Past the end of the other shape, the axis is aligned with a 1. The
/// output has the rank of the other shape.
#[derive(Clone, Copy)]
pub(super) enum Axes<'a> {
    /// This axis and those after it.
    From(usize),
    Listed(&'a [usize]),
}

/// Static ranks are at most 6.
pub(super) type FewAxes = SmallVec<[usize; 6]>;

impl Axes<'_> {
    #[inline(always)]
    fn of(self, axis: usize) -> usize {
        match self {
            Axes::From(first) => first.saturating_add(axis),
            Axes::Listed(axes) => axes[axis],
        }
    }
}

/// [`plan`] by a rule that looks at the sizes.
#[inline(always)]
pub(super) fn plan_by_sizes<'a, I: Dimension, E: Dimension, O: Dimension>(
    rule: Rule,
    input: impl IntoDimension<Dim = I>,
    target: impl IntoDimension<Dim = E>,
    align: impl FnOnce(Shapes<'_, usize>) -> Aligned<'a>,
) -> Result<BroadcastPlan<I, O>> {
    let (input, mut target) = (input.into_dimension(), target.into_dimension());
    let aligned = align(Shapes {
        ranks: [input.ndim(), target.ndim()],
        first: input.sizes(),
        second: target.sizes_mut(),
    });
    plan(rule, input, target, |_| aligned)
}

/// The plan from an input to its target, as a rule aligns their ranks. The output's rank must fit
/// `O`.
#[inline(always)]
pub(super) fn plan<'a, I: Dimension, E: Dimension, O: Dimension>(
    rule: Rule,
    input: impl IntoDimension<Dim = I>,
    target: impl IntoDimension<Dim = E>,
    align: impl FnOnce([usize; 2]) -> Aligned<'a>,
) -> Result<BroadcastPlan<I, O>> {
    let (input, target) = (input.into_dimension(), target.into_dimension());
    let aligned = align([input.ndim(), target.ndim()]);
    // Errors take copies of the shapes and of the axes. The shapes themselves, and with them the
    // plan, then stay in registers where ranks are static.
    let (relation, axes) =
        aligned.map_err(|why| why.of_known(rule, input.clone().sizes(), target.clone().sizes()))?;
    let output_axis_of = move |axis| axes.of(axis);
    // The plan checks this relation.
    if relation == Relation::Stretch {
        let output = dimension(target.sizes());
        return BroadcastPlan::new(rule, input, output, output_axis_of);
    }
    let is_small = input.ndim() <= target.ndim();
    let (small, large) = match is_small {
        true => (input.sizes(), target.sizes()),
        false => (target.sizes(), input.sizes()),
    };
    let mut output: O = dimension(large);
    if let Err(axis) = relation.relate(small, &mut output, large.len(), output_axis_of) {
        let (input, target, axis_of) = (input.clone(), target.clone(), output_axis_of);
        let rank = input.ndim().min(target.ndim());
        let why = Mismatch::sizes(relation, axis, rank, &axis_of);
        return Err(why.of_known(rule, input.sizes(), target.sizes()));
    }
    let axis_of = move |axis| if is_small { axes.of(axis) } else { axis };
    BroadcastPlan::new(rule, input, output, axis_of)
}

/// The smallest box that holds every possible output of two shapes, as a rule aligns them.
///
/// A shape of unknown rank is taken to have the given one, with any sizes. Where there is none, the
/// output's rank is unknown.
pub(super) fn infer<'a>(
    rule: Rule,
    operands: [ArrayRole; 2],
    shapes: [&PartialShape; 2],
    ranks: [Option<usize>; 2],
    align: impl FnOnce(Shapes<'_, PartialSize>) -> Aligned<'a>,
) -> Result<PartialShape> {
    let refused = |why: Box<Mismatch>| why.of(rule, operands, shapes.map(PartialShape::clone));
    let mut sizes = [0, 1].map(|at: usize| sizes_of(shapes[at], ranks[at]));
    let ranks = sizes.each_ref();
    let ranks = ranks.map(|sizes| sizes.as_ref().map_or(UNKNOWN_RANK, SmallVec::len));
    let [first, second] = sizes.each_mut().map(|sizes| match sizes {
        Some(sizes) => &mut sizes[..],
        None => &mut [],
    });
    let aligned = align(Shapes {
        ranks,
        first,
        second,
    });
    let (relation, axes) = aligned.map_err(refused)?;
    let [Some(mut small), Some(mut output)] = sizes else {
        return unknown(shapes);
    };
    if small.len() > output.len() {
        std::mem::swap(&mut small, &mut output);
    }
    let (rank, axis_of) = (output.len(), |axis| axes.of(axis));
    let related = relation.relate(&small, &mut output[..], rank, axis_of);
    related.map_err(|axis| refused(Mismatch::sizes(relation, axis, small.len(), &axis_of)))?;
    checked(output)
}

/// The sizes of a shape. Those of a shape of unknown rank are any, if a rank is given for it.
pub(super) fn sizes_of(shape: &PartialShape, rank: Option<usize>) -> Option<PartialSizes> {
    match shape.sizes() {
        Some(sizes) => Some(PartialSizes::from_slice(sizes)),
        None => rank.map(|rank| PartialSizes::from_elem(PartialSize::ANY, rank)),
    }
}

/// A shape of which nothing is known, unless no array has one of `shapes`.
pub(crate) fn unknown<const N: usize>(shapes: [&PartialShape; N]) -> Result<PartialShape> {
    for sizes in shapes.into_iter().filter_map(PartialShape::sizes) {
        checked(PartialSizes::from_slice(sizes))?;
    }
    Ok(PartialShape::UNKNOWN)
}

/// The shape of these sizes, unless it has too many elements even if every size is the smallest
/// possible.
pub(super) fn checked(sizes: PartialSizes) -> Result<PartialShape> {
    let smallest: SmallVec<[usize; 4]> = sizes.iter().map(|size| size.min()).collect();
    match elements(&smallest) {
        Some(_) => Ok(PartialShape::new(sizes)),
        None => Err(shape_overflow(&smallest, None)),
    }
}
