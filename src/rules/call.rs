//! What a rule is run on: two shapes whose sizes are known, or known in part.
//!
//! A rule finds from ranks and attributes which axes are aligned, and says how the sizes of aligned
//! axes are related. It is written once, for every [`Call`]. Under every rule the size of an output
//! axis depends only on the axes that are aligned with it, and axes of different columns do not
//! restrict each other. So the smallest box of partial shapes is found axis by axis, too.

use crate::error::{ArrayRole, Refused, Result, shape_overflow};
use crate::partial::{PartialShape, PartialSize, PartialSizes, Size};
use crate::plan::BroadcastPlan;
use crate::rule::{Relation, Rule};
use crate::shape::{Sizes, dimension, elements};
use ndarray::{Dimension, IntoDimension};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// A rank that is not known: larger than every rank.
pub(super) const UNKNOWN_RANK: usize = usize::MAX;

/// Two shapes: input and target, or two operands.
pub(super) trait Call: Sized {
    type Size: Size;
    /// What follows from a rule that accepts the shapes.
    type Output;

    /// The ranks. One that is not known is [`UNKNOWN_RANK`].
    #[inline(always)]
    fn ranks(&self) -> [usize; 2] {
        self.sizes().map(<[_]>::len)
    }

    /// The sizes. There are none if the rank is not known.
    fn sizes(&self) -> [&[Self::Size]; 2];

    /// The sizes of a target, which a mode may set. There are none for two operands.
    #[inline(always)]
    fn target_mut(&mut self) -> &mut [Self::Size] {
        &mut []
    }

    /// For errors: a copy of the shapes. The shapes themselves, and with them the plan, then stay
    /// in registers where ranks are static.
    fn refused(&self) -> Refused;

    /// The output. Axis `i` of the shape of smaller rank (of the first, if they are equal) is
    /// aligned with axis `output_axis_of(i)` of the other one; past its end, with a 1. The output
    /// has the rank of the other one.
    ///
    /// # Errors
    ///
    /// `SizeMismatch`, `ShapeOverflow`.
    fn related(
        self,
        relation: Relation,
        output_axis_of: impl Fn(usize) -> usize,
    ) -> Result<Self::Output>;
}

/// An input and its target, both known. The output is the plan, whose output's rank must fit `O`.
#[derive(Clone)]
pub(super) struct ToTarget<I, E, O> {
    rule: Rule,
    input: I,
    target: E,
    output: PhantomData<O>,
}

impl<I: Dimension, E: Dimension, O: Dimension> ToTarget<I, E, O> {
    #[inline(always)]
    pub(super) fn new(
        rule: Rule,
        input: impl IntoDimension<Dim = I>,
        target: impl IntoDimension<Dim = E>,
    ) -> Self {
        ToTarget {
            rule,
            input: input.into_dimension(),
            target: target.into_dimension(),
            output: PhantomData,
        }
    }
}

impl<I: Dimension, E: Dimension, O: Dimension> Call for ToTarget<I, E, O> {
    type Size = usize;
    type Output = BroadcastPlan<I, O>;

    #[inline(always)]
    fn sizes(&self) -> [&[usize]; 2] {
        [self.input.sizes(), self.target.sizes()]
    }

    #[inline(always)]
    fn target_mut(&mut self) -> &mut [usize] {
        self.target.sizes_mut()
    }

    #[inline(always)]
    fn refused(&self) -> Refused {
        let operands = [ArrayRole::Input, ArrayRole::Target];
        Refused::known(self.rule, operands, self.clone().sizes())
    }

    #[inline(always)]
    fn related(
        self,
        relation: Relation,
        output_axis_of: impl Fn(usize) -> usize,
    ) -> Result<Self::Output> {
        // The plan checks this relation.
        if relation == Relation::Stretch {
            let output = dimension(self.target.sizes());
            return BroadcastPlan::new(self.rule, self.input, output, output_axis_of);
        }
        let is_small = self.input.ndim() <= self.target.ndim();
        let (small, large) = match is_small {
            true => (self.input.sizes(), self.target.sizes()),
            false => (self.target.sizes(), self.input.sizes()),
        };
        let mut output: O = dimension(large);
        if let Err(axis) = relation.relate(small, output.sizes_mut(), &output_axis_of) {
            return Err(self.refused().sizes(relation, axis, &output_axis_of));
        }
        let axis_of = |axis| if is_small { output_axis_of(axis) } else { axis };
        BroadcastPlan::new(self.rule, self.input, output, axis_of)
    }
}

/// Two shapes that are known in part. The output is the smallest box that holds every possible one.
pub(super) struct Partial<'a> {
    rule: Rule,
    operands: [ArrayRole; 2],
    shapes: [&'a PartialShape; 2],
    sizes: [Option<PartialSizes>; 2],
}

impl<'a> Partial<'a> {
    /// A shape of unknown rank is taken to have the given one, with any sizes. Where there is none,
    /// the output's rank is unknown.
    pub(super) fn new(
        rule: Rule,
        operands: [ArrayRole; 2],
        shapes: [&'a PartialShape; 2],
        ranks: [Option<usize>; 2],
    ) -> Self {
        let sizes = [0, 1].map(|at: usize| match shapes[at].sizes() {
            Some(sizes) => Some(PartialSizes::from_slice(sizes)),
            None => ranks[at].map(|rank| PartialSizes::from_elem(PartialSize::ANY, rank)),
        });
        Partial {
            rule,
            operands,
            shapes,
            sizes,
        }
    }
}

impl Call for Partial<'_> {
    type Size = PartialSize;
    type Output = PartialShape;

    fn ranks(&self) -> [usize; 2] {
        let sizes = self.sizes.each_ref();
        sizes.map(|sizes| sizes.as_ref().map_or(UNKNOWN_RANK, SmallVec::len))
    }

    fn sizes(&self) -> [&[PartialSize]; 2] {
        let sizes = self.sizes.each_ref();
        sizes.map(|sizes| sizes.as_deref().unwrap_or(&[]))
    }

    fn target_mut(&mut self) -> &mut [PartialSize] {
        self.sizes[1].as_deref_mut().unwrap_or(&mut [])
    }

    fn refused(&self) -> Refused {
        Refused {
            rule: self.rule,
            operands: self.operands,
            shapes: self.shapes.map(PartialShape::clone),
        }
    }

    fn related(
        mut self,
        relation: Relation,
        output_axis_of: impl Fn(usize) -> usize,
    ) -> Result<PartialShape> {
        let [Some(mut small), Some(mut output)] = std::mem::take(&mut self.sizes) else {
            return unknown(self.shapes);
        };
        if small.len() > output.len() {
            std::mem::swap(&mut small, &mut output);
        }
        match relation.relate(&small, &mut output, &output_axis_of) {
            Ok(()) => checked(output),
            Err(axis) => Err(self.refused().sizes(relation, axis, &output_axis_of)),
        }
    }
}

/// A shape of which nothing is known, unless no array has one of `shapes`.
pub(super) fn unknown<const N: usize>(shapes: [&PartialShape; N]) -> Result<PartialShape> {
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
