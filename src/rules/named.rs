//! named: a pattern names the axes of input and output. Axes of one name have one size, none is
//! stretched. Output axes that the input lacks are new.
//!
//! Source: einops `repeat` (without parentheses and ellipsis), and for two arrays xarray's
//! broadcasting by dimension name. einops and xarray do not stretch axes of size 1 either.

use crate::error::{BroadcastError, PatternFault, copied_text, rank_too_large};
use crate::pattern::{AxisPattern, NameList};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{DimMax, Dimension, IntoDimension, IxDyn};
use smallvec::SmallVec;
use std::collections::HashMap;

impl AxisPattern {
    /// The plan of one array. The sizes of new axes are given by name.
    ///
    /// ```text
    /// input    h w           2  3
    /// output   w copies h    3  4  2
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidPattern`](crate::ErrorKind::InvalidPattern) if the pattern has another number of
    /// input axes than the input; if a new axis has no size; if an axis has two sizes; if a size is
    /// given for an axis that the pattern does not have.
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// ```
    /// use ndarray_broadcast::named::AxisPattern;
    ///
    /// let pattern: AxisPattern = "c -> n c h w".parse()?;
    /// let plan = pattern.plan(3, &[("n", 2), ("h", 4), ("w", 5)])?;
    /// assert_eq!(
    ///     plan.to_string(),
    ///     "\
    /// [3] -> [2, 3, 4, 5] (named)
    ///   input       3
    ///   output   2  3  4  5
    ///            +     +  +
    ///   + added",
    /// );
    /// assert_eq!(
    ///     pattern.plan(3, &[("n", 2), ("h", 4)]).unwrap_err().to_string(),
    ///     "\
    /// the shapes do not fit the axis pattern
    ///   c -> n c h w
    ///              ^ \"w\" is new: its size is needed",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: einops `repeat`.
    #[doc(alias = "repeat")]
    #[doc(alias = "einops")]
    pub fn plan<E: IntoDimension>(
        &self,
        shape: E,
        sizes: &[(&str, usize)],
    ) -> Result<BroadcastPlan<E::Dim>, BroadcastError> {
        self.plans([shape], sizes).map(|[plan]| plan)
    }
}

impl<const N: usize> AxisPattern<N> {
    /// The plans of arrays whose axes have names. Axes of one name are one axis of the output. The
    /// sizes of axes that no array has are given by name.
    ///
    /// Shapes of different ranks are slices or `IxDyn`.
    ///
    /// # Errors
    ///
    /// As [`plan`](AxisPattern::plan).
    ///
    /// ```
    /// use ndarray_broadcast::AxisSource::{Added, Kept};
    /// use ndarray_broadcast::named::AxisPattern;
    ///
    /// let pattern: AxisPattern<2> = "x y, y z".parse()?;
    /// let [a, b] = pattern.plans([(2, 3), (3, 4)], &[])?;
    /// assert_eq!(a.output_shape(), [2, 3, 4]);
    /// assert!(a.axis_sources().eq([Kept(0), Kept(1), Added]));
    /// assert!(b.axis_sources().eq([Added, Kept(0), Kept(1)]));
    /// assert_eq!(
    ///     pattern.plans([(2, 3), (5, 4)], &[]).unwrap_err().to_string(),
    ///     "\
    /// the shapes do not fit the axis pattern
    ///   x y, y z -> x y z
    ///        ^ \"y\" has the sizes 5 and 3",
    /// );
    ///
    /// // As many as six arrays.
    /// let outer: AxisPattern<3> = "i, j, k".parse()?;
    /// let [_, _, c] = outer.plans([2, 3, 4], &[])?;
    /// assert!(c.axis_sources().eq([Added, Added, Kept(0)]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: xarray, broadcasting by dimension name.
    #[doc(alias = "xarray")]
    pub fn plans<E: IntoDimension>(
        &self,
        shapes: [E; N],
        sizes: &[(&str, usize)],
    ) -> Result<[BroadcastPlan<E::Dim>; N], BroadcastError> {
        let shapes = shapes.map(IntoDimension::into_dimension);
        let output = output_shape(self, shapes.each_ref().map(|shape| shape.sizes()), sizes)?;
        let mut failed = None;
        let mut lists = self.operands.iter();
        let plans = shapes.map(|shape| {
            let plan = of_operand(shape, lists.next()?, &output);
            plan.map_err(|error| failed = Some(error)).ok()
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(plans.map(|plan| plan.expect("no plan has failed"))),
        }
    }
}

/// The plan to a target that gives the sizes.
pub(super) fn to_target<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: &E,
    pattern: &AxisPattern,
) -> Result<PlanTo<I, E>, BroadcastError> {
    let (list, output) = (&pattern.operands[0], &pattern.output);
    check_rank(pattern, list, input.sizes())?;
    check_rank(pattern, output, target.sizes())?;
    if input.ndim() > target.ndim() {
        return Err(rank_too_large(Rule::Named, input.sizes(), target.sizes()));
    }
    for (name, &found) in output.names.iter().zip(target.sizes()) {
        if name.size.is_some_and(|size| size != found) {
            let sizes = [name.size.unwrap_or(found), found];
            return Err(pattern.error(name.at, PatternFault::SizesDiffer(sizes)));
        }
    }
    check_sizes(pattern, list, input.sizes(), target.sizes())?;
    of_operand(input, list, target)
}

/// The plan of one operand, whose axes have the sizes that they have in the output.
fn of_operand<I: Dimension, O: Dimension>(
    input: I,
    list: &NameList,
    output: &impl Dimension,
) -> Result<BroadcastPlan<I, O>, BroadcastError> {
    let output_axis_of = |axis: usize| list.names[axis].output_axis;
    BroadcastPlan::new(Rule::Named, input, output.sizes(), output_axis_of)
}

/// More sizes than this are looked up in a table.
const MANY_SIZES: usize = 32;

/// The output's shape. Each size is an integer of the pattern, that of an operand, or given.
fn output_shape<const N: usize>(
    pattern: &AxisPattern<N>,
    shapes: [&[usize]; N],
    sizes: &[(&str, usize)],
) -> Result<IxDyn, BroadcastError> {
    let names = &pattern.output.names;
    let mut known: SmallVec<[Option<usize>; 4]> = names.iter().map(|name| name.size).collect();
    let new_names = || {
        let new = names
            .iter()
            .enumerate()
            .filter(|(_, name)| name.size.is_none());
        new.map(|(axis, name)| (pattern.name(name), axis))
    };
    // For few sizes no table is allocated.
    let table: Option<HashMap<_, _>> = (sizes.len() > MANY_SIZES).then(|| new_names().collect());
    let axis_of = |given: &str| match &table {
        Some(table) => table.get(given).copied(),
        None => new_names()
            .find(|&(name, _)| name == given)
            .map(|(_, axis)| axis),
    };
    for &(given, size) in sizes {
        let Some(axis) = axis_of(given) else {
            let fault = PatternFault::SizeUnknown(copied_text(given)?);
            return Err(pattern.error(0, fault));
        };
        set(&mut known[axis], size)
            .map_err(|sizes| pattern.error(names[axis].at, PatternFault::SizesDiffer(sizes)))?;
    }
    for (list, shape) in pattern.operands.iter().zip(shapes) {
        check_rank(pattern, list, shape)?;
        for (name, &size) in list.names.iter().zip(shape) {
            // An axis that is dropped has size 1.
            let mut dropped = Some(1);
            let known = known.get_mut(name.output_axis).unwrap_or(&mut dropped);
            set(known, size)
                .map_err(|sizes| pattern.error(name.at, PatternFault::SizesDiffer(sizes)))?;
        }
    }
    let mut output = IxDyn::zeros(names.len());
    for ((size, known), name) in output.sizes_mut().iter_mut().zip(known).zip(names) {
        *size = known.ok_or_else(|| pattern.error(name.at, PatternFault::SizeMissing))?;
    }
    Ok(output)
}

/// Sets a size that is not known yet.
///
/// # Errors
///
/// Both sizes, if it has another.
fn set(known: &mut Option<usize>, size: usize) -> Result<(), [usize; 2]> {
    match *known.get_or_insert(size) {
        known if known != size => Err([size, known]),
        _ => Ok(()),
    }
}

/// The shape has as many axes as the list.
fn check_rank<const N: usize>(
    pattern: &AxisPattern<N>,
    list: &NameList,
    shape: &[usize],
) -> Result<(), BroadcastError> {
    let (names, rank) = (list.names.len(), shape.len());
    match names == rank {
        true => Ok(()),
        false => Err(pattern.error(list.at, PatternFault::Rank { names, rank })),
    }
}

/// Each axis of an operand has the size that it has in the output. A 1 of the pattern has size 1.
fn check_sizes<const N: usize>(
    pattern: &AxisPattern<N>,
    list: &NameList,
    shape: &[usize],
    output: &[usize],
) -> Result<(), BroadcastError> {
    for (name, &size) in list.names.iter().zip(shape) {
        let wanted = output.get(name.output_axis).copied().unwrap_or(1);
        if size != wanted {
            let fault = PatternFault::SizesDiffer([size, wanted]);
            return Err(pattern.error(name.at, fault));
        }
    }
    Ok(())
}
