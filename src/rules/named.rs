//! named: a pattern names the axes of input and output. Axes of one name have one size, none is
//! stretched. Output axes that the input lacks are new.
//!
//! Source: einops `repeat` (the view of a pattern splits and merges axes), and for two arrays
//! xarray's broadcasting by dimension name. einops and xarray do not stretch axes of size 1 either.

use super::alignment::{Aligned, Axes, FewAxes, Shapes};
use crate::error::{Mismatch, PatternFault, Result};
use crate::partial::Size;
use crate::pattern::{AxisPattern, ELLIPSIS, Name, NameList};
use crate::plan::BroadcastPlan;
use crate::rule::{Relation, Rule};
use crate::shape::Sizes;
use ndarray::{Dimension, IntoDimension, IxDyn};
use smallvec::SmallVec;

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
    /// [`InvalidPattern`](crate::ErrorKind::InvalidPattern) if the pattern has groups of several
    /// axes or of `...`, which [`view`](Self::view) takes, or another number of input axes than the
    /// input; if a new axis has no size; if an axis has two sizes; if a size is given for an axis
    /// that the pattern does not have. [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
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
    ) -> Result<BroadcastPlan<E::Dim>> {
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
    ) -> Result<[BroadcastPlan<E::Dim>; N]> {
        let shapes = shapes.map(IntoDimension::into_dimension);
        let ranks = shapes.each_ref().map(|shape| Some(shape.ndim()));
        let (pattern, _) = self.of_ranks(ranks)?;
        for (list, shape) in pattern.operands.iter().zip(&shapes) {
            pattern.check_rank(list, shape.ndim())?;
        }
        pattern.plans_of_names(shapes, sizes)
    }

    /// The plans of arrays that have an axis for each name.
    pub(crate) fn plans_of_names<I: Dimension>(
        &self,
        shapes: [I; N],
        sizes: &[(&str, usize)],
    ) -> Result<[BroadcastPlan<I>; N]> {
        let known = shapes.each_ref().map(|shape| shape.sizes());
        let known = output_sizes(self, known, sizes, None)?;
        let mut output = IxDyn::zeros(known.len());
        let names = self.output.names.iter();
        for ((size, known), name) in output.sizes_mut().iter_mut().zip(known).zip(names) {
            *size = known.ok_or_else(|| self.error(name.at, PatternFault::SizeMissing))?;
        }
        let plan = |(shape, list): (I, &NameList)| {
            let output_axis_of = |axis: usize| list.names[axis].output_axis;
            BroadcastPlan::new(Rule::Named, shape, output.clone(), output_axis_of)
        };
        let plans = shapes.into_iter().zip(&self.operands).map(plan);
        let plans: SmallVec<[_; 6]> = plans.collect::<Result<_, _>>()?;
        let mut plans = plans.into_iter();
        Ok(std::array::from_fn(|_| plans.next().expect("one for each")))
    }
}

/// The rule of the mode: a target gives the sizes. The axes that are fed are written into `fed`.
pub(super) fn to_target<'a, S: Size>(
    shapes: Shapes<'_, S>,
    pattern: &AxisPattern,
    fed: &'a mut FewAxes,
) -> Aligned<'a> {
    let (input, target) = (shapes.first, shapes.second);
    let (pattern, _) = pattern.of_ranks([Some(input.len())])?;
    let list = &pattern.operands[0];
    pattern.check_rank(list, input.len())?;
    pattern.check_rank(&pattern.output, target.len())?;
    if input.len() > target.len() {
        return Err(Mismatch::Ranks.into());
    }
    let output = output_sizes(&pattern, [input], &[], Some(target))?;
    for (size, known) in target.iter_mut().zip(output) {
        *size = known.unwrap_or(*size);
    }
    fed.extend(list.names.iter().map(|name| name.output_axis));
    Ok((Relation::Equal, Axes::Listed(fed)))
}

/// The sizes of the output, as far as they are known.
type Known<S> = SmallVec<[Option<S>; 4]>;

/// The sizes of the output. Each is that of the target, an integer of the pattern, given, or that
/// of an operand. The operands have an axis for each name.
pub(super) fn output_sizes<S: Size, const N: usize>(
    pattern: &AxisPattern<N>,
    shapes: [&[S]; N],
    sizes: &[(&str, usize)],
    target: Option<&[S]>,
) -> Result<Known<S>> {
    let names = &pattern.output.names;
    let mut output: Known<S> = match target {
        Some(target) => target.iter().copied().map(Some).collect(),
        None => SmallVec::from_elem(None, names.len()),
    };
    let mut axes: SmallVec<[(&str, usize); 8]> = SmallVec::new();
    for (axis, name) in names.iter().enumerate() {
        match name.size {
            Some(size) => set(pattern, name, &mut output[axis], size.into())?,
            // A caller has no size for an axis of `...`.
            None if name.text.starts_with(ELLIPSIS) => {}
            None => axes.push((&*name.text, axis)),
        }
    }
    axes.sort_unstable();
    for &(given, size) in sizes {
        let Ok(at) = axes.binary_search_by_key(&given, |&(name, _)| name) else {
            return Err(pattern.error(0, PatternFault::SizeUnknown(given.into())));
        };
        let axis = axes[at].1;
        set(pattern, &names[axis], &mut output[axis], size.into())?;
    }
    for (list, shape) in pattern.operands.iter().zip(shapes) {
        for (name, &size) in list.names.iter().zip(shape) {
            // An axis that is dropped has size 1.
            let mut dropped = Some(S::from(1));
            let known = output.get_mut(name.output_axis).unwrap_or(&mut dropped);
            set(pattern, name, known, size)?;
        }
    }
    Ok(output)
}

/// Sets the size of an axis.
///
/// # Errors
///
/// `InvalidPattern` with both sizes, if it has another.
fn set<S: Size, const N: usize>(
    pattern: &AxisPattern<N>,
    name: &Name,
    known: &mut Option<S>,
    size: S,
) -> Result<()> {
    let other = known.unwrap_or(size);
    let differ = || PatternFault::SizesDiffer([size.into(), other.into()]);
    let both = other.and(size);
    *known = Some(both.ok_or_else(|| pattern.error(name.at, differ()))?);
    Ok(())
}
