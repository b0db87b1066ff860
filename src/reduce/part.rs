//! Parts of the terms of sums: tiles that keep whole blocks of the tree, and ranges of blocks.

use super::operands::Operands;
use super::operands::sealed::Elements;
use super::partial::{Node, PartialReduction, PartialSum, Piece};
use super::ranges::len;
use super::reduction::{Reduction, Sum};
use super::terms::Numbers;
use super::Accumulators;
use crate::engine::fold::BLOCK_TERMS;
use crate::engine::sums::Terms;
use crate::error::{
    ArrayRole, BroadcastError, check_shape, cuts_block, invalid_blocks, invalid_box, reserved,
};
use crate::plan::{AxisSource, BroadcastPlan, Tile};
use ndarray::{Array, ArrayRef, Dimension, IxDyn};
use num_traits::Zero;
use std::ops::Range;

/// # Parts of sums, to be merged
///
/// A worker sums a [`Part`] of the terms. Others sum the other parts, at any time and on any
/// machine. The [`PartialReduction`]s that they return are merged in any order, and the result is
/// bit-identical to one call on the whole array.
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// How many blocks the terms of each element of the gradient have, in the
    /// [documented tree](crate::GradientExt#the-order-of-summation): one for each 1024 terms begun.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// // [N, C, H, W] is summed to [C].
    /// let plan = BroadcastPlan::explicit(3, (10, 3, 16, 16), &[1])?;
    /// assert_eq!(plan.sum_blocks(), (10_usize * 16 * 16).div_ceil(1024));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn sum_blocks(&self) -> usize {
        self.sum_terms().div_ceil(BLOCK_TERMS)
    }

    /// How many terms each element of the gradient has.
    pub(super) fn sum_terms(&self) -> usize {
        let sizes = self.axis_sources().zip(self.output_shape());
        let summed = sizes.filter(|(source, _)| !matches!(source, AxisSource::Kept(_)));
        summed.map(|(_, &size)| size).product()
    }

    /// The part of all sums whose terms are inside a tile of this plan.
    ///
    /// The tile must not cut a block of the tree: its terms of each sum begin and end at multiples
    /// of 1024 terms, or at the end of the terms. A tile that has the full size of each summed axis
    /// never cuts a block.
    ///
    /// # Errors
    ///
    /// [`CutsBlock`](crate::ErrorKind::CutsBlock), with the nearest boundaries, if the tile has a
    /// part of a block; [`InvalidBox`](crate::ErrorKind::InvalidBox) if it is not inside the
    /// output; [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// ```
    /// use ndarray::{Array2, s};
    /// use ndarray_broadcast::{BroadcastPlan, PartialReduction, Sum};
    ///
    /// let dy = Array2::from_shape_fn((3000, 2), |(i, j)| 1. / (2 * i + j + 1) as f32);
    /// let plan = BroadcastPlan::numpy(2, (3000, 2))?;
    ///
    /// let mut sum = PartialReduction::new(&plan, Sum);
    /// for rows in [2048..3000, 0..1024, 1024..2048] {
    ///     let part = plan.part(&plan.tile(&[rows, 0..2])?)?;
    ///     let dy = part.tile().output().of(&dy)?;
    ///     sum.merge(part.gradient(&dy)?)?;
    /// }
    /// assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
    ///
    /// let error = plan.part(&plan.tile(&[0..1500, 0..2])?).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "\
    /// the box [0..1500, 0..2] cuts a block of 1024 terms
    ///   box      0..1500  0..2
    ///   output      3000     2
    ///                  ^ no block begins at 1500: the nearest boundaries are 1024 and 2048",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn part(&self, tile: &Tile<I, O>) -> Result<Part<I, O>, BroadcastError> {
        let (tile, ranges) = self.own_tile(tile)?;
        let runs = self.runs(&ranges, false)?;
        Ok(self.new_part(tile, Covered::Blocks(runs)))
    }

    /// The part with these blocks of the sums, for the elements of the gradient in the box `input`.
    /// There are [`sum_blocks`](Self::sum_blocks) blocks.
    ///
    /// [`Part::tile`] is the smallest tile that has these blocks. It may have terms of neighbouring
    /// blocks too, which are left out. So any plan with enough terms can be cut at any block, along
    /// whichever axes its arrays are stored.
    ///
    /// # Errors
    ///
    /// [`InvalidBox`](crate::ErrorKind::InvalidBox) if the box is not inside the input;
    /// [`InvalidBlocks`](crate::ErrorKind::InvalidBlocks) if there are no such blocks;
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// ```
    /// use ndarray::Array3;
    /// use ndarray_broadcast::{BroadcastPlan, PartialReduction, Sum};
    ///
    /// // 3500 terms, 7 * 7 for each image: no image begins where a block does.
    /// let term = |(n, c, i)| 1. / (n + 7 * c + i + 1) as f64;
    /// let dy = Array3::from_shape_fn((100, 5, 7 * 7), term);
    /// let plan = BroadcastPlan::explicit(5, (100, 5, 7 * 7), &[1])?;
    /// assert_eq!(plan.sum_blocks(), 5);
    ///
    /// let part = plan.part_of_blocks(&[0..5], 3..5)?;
    /// assert!(part.tile().output().ranges().eq([62..100, 0..5, 0..49]));
    /// let mut sum = part.gradient(&part.tile().output().of(&dy)?)?;
    /// let part = plan.part_of_blocks(&[0..5], 0..3)?;
    /// assert!(part.tile().output().ranges().eq([0..63, 0..5, 0..49]));
    /// sum.merge(part.gradient(&part.tile().output().of(&dy)?)?)?;
    /// assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
    ///
    /// let error = plan.part_of_blocks(&[0..5], 3..6).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the blocks 3..6 are not among the 5 blocks of terms that the sums of this plan have",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn part_of_blocks(
        &self,
        input: &[Range<usize>],
        blocks: Range<usize>,
    ) -> Result<Part<I, O>, BroadcastError> {
        let inside =
            |(range, &size): (&Range<usize>, _)| range.start <= range.end && range.end <= size;
        let shape = self.input_shape();
        if input.len() != shape.len() || !input.iter().zip(shape).all(inside) {
            return Err(invalid_box(shape, input));
        }
        if blocks.start > blocks.end || blocks.end > self.sum_blocks() {
            return Err(invalid_blocks(self.sum_blocks(), blocks));
        }
        let empty = blocks.is_empty() || input.iter().any(|range| range.is_empty());
        let total = self.sum_terms();
        let first = blocks.start * BLOCK_TERMS;
        let end = total.min(blocks.end * BLOCK_TERMS);
        // From the outermost axis on: the first axis on which the first and the last term differ
        // is cut, and those inside it are whole.
        let mut ranges = reserved(self.output_shape().len())?;
        let (mut inside, mut whole, mut first_of_tile) = (total, false, 0);
        for (source, &size) in self.axis_sources().zip(self.output_shape()) {
            if let AxisSource::Kept(axis) = source {
                ranges.push(input[axis].clone());
                continue;
            }
            if empty {
                ranges.push(0..0);
                continue;
            }
            inside /= size;
            let (from, to) = (first / inside % size, (end - 1) / inside % size);
            let range = if whole { 0..size } else { from..to + 1 };
            first_of_tile += range.start * inside;
            whole |= from != to;
            ranges.push(range);
        }
        let runs = match empty {
            true => BlockRuns::none(),
            false => BlockRuns {
                numbers: Numbers::from(first_of_tile),
                terms: first - first_of_tile..end - first_of_tile,
                run: end - first,
            },
        };
        Ok(self.new_part(self.tile(&ranges)?, Covered::Blocks(runs)))
    }

    /// As [`part`](Self::part), for any tile: it may cut blocks. **The result has other bits than
    /// that of the whole.** It depends on the tiles, but not on the order in which they are merged.
    ///
    /// Such parts can be merged with exact ones. [`PartialReduction::is_exact`] tells which a
    /// result is made of.
    ///
    /// A reduction that is not [commutative](Reduction::COMMUTATIVE), such as a
    /// [`Fold`](crate::Fold), combines terms in their order. Other terms may not lie between those
    /// of its part. So it takes a tile whose terms of each sum are neighbours in the order of all
    /// terms, or that cuts no block. For other tiles, the methods of the part return
    /// [`CutsBlock`](crate::ErrorKind::CutsBlock).
    ///
    /// # Errors
    ///
    /// [`InvalidBox`](crate::ErrorKind::InvalidBox) if the tile is not inside the output;
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// ```
    /// use ndarray::{Array1, arr0};
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let dy = Array1::from_iter(1..=2000);
    /// let plan = BroadcastPlan::numpy((), 2000)?;
    /// let mut sum = None;
    /// for range in [0..700, 700..2000] {
    ///     let part = plan.inexact_part(&plan.tile(&[range])?)?;
    ///     let found = part.gradient(&part.tile().output().of(&dy)?)?;
    ///     match &mut sum {
    ///         None => sum = Some(found),
    ///         Some(sum) => sum.merge(found)?,
    ///     }
    /// }
    /// let sum = sum.unwrap();
    /// assert!(!sum.is_exact());
    /// assert_eq!(sum.finish(&plan)?, arr0(2001 * 1000));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn inexact_part(&self, tile: &Tile<I, O>) -> Result<Part<I, O>, BroadcastError> {
        let (tile, ranges) = self.own_tile(tile)?;
        if tile.output().shape().contains(&0) {
            return Ok(self.new_part(tile, Covered::Blocks(BlockRuns::none())));
        }
        let boxed = self.summed_only(&ranges)?;
        Ok(self.new_part(tile, Covered::Box(boxed)))
    }

    fn new_part(&self, tile: Tile<I, O>, covered: Covered) -> Part<I, O> {
        Part {
            plan: self.clone(),
            tile,
            covered,
        }
    }

    /// The tile of this plan with the box of that one.
    fn own_tile(&self, tile: &Tile<I, O>) -> Result<OwnTile<I, O>, BroadcastError> {
        let output = tile.output();
        let mut ranges = reserved(output.shape().len())?;
        ranges.extend(output.ranges());
        Ok((self.tile(&ranges)?, ranges))
    }

    /// The entries of a list for the axes that are summed. The list has one for each output axis.
    pub(super) fn summed_only<T: Clone>(&self, list: &[T]) -> Result<Vec<T>, BroadcastError> {
        let mut summed = reserved(list.len())?;
        let axes = self.axis_sources().zip(list);
        let axes = axes.filter(|(source, _)| !matches!(source, AxisSource::Kept(_)));
        summed.extend(axes.map(|(_, entry)| entry.clone()));
        Ok(summed)
    }

    /// The sizes of the axes that are summed.
    pub(super) fn summed_shape(&self) -> Result<Vec<usize>, BroadcastError> {
        self.summed_only(self.output_shape())
    }

    /// The runs of whole blocks of a box of the output, in O(rank).
    fn runs(&self, ranges: &[Range<usize>], ordered: bool) -> Result<BlockRuns, BroadcastError> {
        if ranges.iter().any(|range| range.is_empty()) {
            return Ok(BlockRuns::none());
        }
        let boxed = self.summed_only(ranges)?;
        let (numbers, len) = (Numbers::of_box(&boxed, &self.summed_shape()?), len(&boxed));
        let run = numbers.run().unwrap_or(len);
        let total = self.sum_terms();
        let whole = |at: usize| at % BLOCK_TERMS == 0 || at == total;
        // The step of each outer loop is a multiple of the step of the loop inside it. So if the
        // first two runs are whole blocks, all are.
        for first_term in (0..len).step_by(run).take(2) {
            let number = numbers.of(first_term);
            if !whole(number) || !whole(number + run) {
                return Err(self.cut_block(ranges, ordered));
            }
        }
        Ok(BlockRuns {
            numbers,
            terms: 0..len,
            run,
        })
    }

    /// The error for a box that cuts a block.
    #[cold]
    fn cut_block(&self, ranges: &[Range<usize>], ordered: bool) -> BroadcastError {
        // The innermost of the axes that are summed and not whole is the one to cut elsewhere.
        let shape = self.output_shape();
        let (mut step, mut found) = (1, None);
        for (axis, source) in self.axis_sources().enumerate().rev() {
            if matches!(source, AxisSource::Kept(_)) {
                continue;
            }
            let range = &ranges[axis];
            match &mut found {
                None if *range == (0..shape[axis]) => {}
                None => found = Some((axis, step, 0, true)),
                // Where the runs of the outer axes begin, and whether each outer step is a multiple
                // of a block.
                Some((_, _, outer, aligned)) => {
                    *outer += range.start * step;
                    *aligned &= range.len() == 1 || step % BLOCK_TERMS == 0;
                }
            }
            step *= shape[axis];
        }
        let (axis, step, outer, aligned) = found.expect("a whole box cuts no block");
        let total = self.sum_terms();
        let keeps = |at: usize| {
            let number = outer + at * step;
            (aligned && number % BLOCK_TERMS == 0) || number == total
        };
        let Range { start, end } = ranges[axis];
        let boundary = match keeps(end) || (start > 0 && !keeps(start)) {
            true => start,
            false => end,
        };
        // Boundaries repeat after at most as many places as a block has terms.
        let below = (0..=boundary)
            .rev()
            .take(BLOCK_TERMS + 1)
            .find(|&at| keeps(at));
        let above = (boundary..=shape[axis])
            .take(BLOCK_TERMS + 1)
            .find(|&at| keeps(at));
        cuts_block(shape, ranges, axis, boundary, [below, above], ordered)
    }
}

type OwnTile<I, O> = (Tile<I, O>, Vec<Range<usize>>);

/// Which of the terms of its tile a part has.
#[derive(Debug, Clone)]
enum Covered {
    /// Whole blocks.
    Blocks(BlockRuns),
    /// All, which are this box of the axes that are summed.
    Box(Vec<Range<usize>>),
}

/// Runs of whole blocks, all of the same length. No two runs are neighbours.
#[derive(Debug, Clone)]
struct BlockRuns {
    /// The numbers of the terms of the tile.
    numbers: Numbers,
    /// The positions of the terms of all runs among those of the tile.
    terms: Range<usize>,
    /// How many terms a run has.
    run: usize,
}

/// Blocks that follow each other. Their terms also follow each other in the tile.
struct BlockRun {
    /// The position of the first term among those of the tile.
    first_term: usize,
    blocks: Range<usize>,
}

impl BlockRuns {
    fn none() -> Self {
        BlockRuns {
            numbers: Numbers::from(0),
            terms: 0..0,
            run: 1,
        }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = BlockRun> + ExactSizeIterator {
        let firsts = self.terms.clone().step_by(self.run);
        firsts.map(|first_term| {
            let number = self.numbers.of(first_term);
            BlockRun {
                first_term,
                blocks: number / BLOCK_TERMS..(number + self.run).div_ceil(BLOCK_TERMS),
            }
        })
    }

    /// How many nodes all runs have, of a tree of `all` blocks.
    fn nodes(&self, all: usize) -> usize {
        let count = |run: BlockRun| Node::of(run.blocks, all).count();
        let mut runs = self.iter();
        let [first, second, last] = [runs.next(), runs.next(), runs.next_back()];
        let (Some(first), Some(second), Some(last)) = (first, second, last) else {
            return self.iter().map(count).sum();
        };
        // The nodes of a run depend on its position in a node that is at least as long. If it is
        // the same for all runs, only the last run may have other nodes: the tree ends there.
        let node = first.blocks.len().next_power_of_two();
        match (second.blocks.start - first.blocks.start) % node {
            0 => (runs.len() + 2) * count(first) + count(last),
            _ => self.iter().map(count).sum(),
        }
    }
}

/// The part of a gradient that one worker sums: some terms of some elements.
///
/// [`BroadcastPlan::part`], [`part_of_blocks`](BroadcastPlan::part_of_blocks) and
/// [`inexact_part`](BroadcastPlan::inexact_part) return it. Its methods are those of the plan, on
/// arrays of the shape of [`tile`](Self::tile)'s output, with a [`PartialReduction`] as the result.
///
/// ```
/// use ndarray::Array2;
/// use ndarray_broadcast::{BroadcastPlan, Max};
///
/// let x = Array2::from_shape_fn((2, 5000), |(i, j)| ((i + 1) * j) % 4999);
/// let plan = BroadcastPlan::numpy((2, 1), (2, 5000))?;
///
/// let largest = |blocks| {
///     let part = plan.part_of_blocks(&[0..2, 0..1], blocks)?;
///     part.reduce(&part.tile().output().of(&x)?, Max)
/// };
/// let mut max = largest(0..2)?;
/// max.merge(largest(2..5)?)?;
/// assert_eq!(max.finish(&plan)?, plan.reduce(&x, Max)?);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a part does nothing until it is applied to an array"]
pub struct Part<I: Dimension = IxDyn, O: Dimension = IxDyn> {
    plan: BroadcastPlan<I, O>,
    tile: Tile<I, O>,
    covered: Covered,
}

impl<I: Dimension, O: Dimension> Part<I, O> {
    /// The box of the output that the part reads, and the box of the gradient that it adds to.
    /// Example: [`BroadcastPlan::part`].
    pub fn tile(&self) -> &Tile<I, O> {
        &self.tile
    }

    /// How many accumulators a [`PartialReduction`] of this part has for each element of the tile's
    /// input: what a worker sends.
    ///
    /// The time is constant if the part is one run of blocks, or if its runs begin at multiples of
    /// their length, rounded up to a power of two. Otherwise it grows with the number of runs. Of
    /// an [`inexact_part`](BroadcastPlan::inexact_part) it is 1; a reduction that is not
    /// commutative may have more.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy((), 100 * 1024)?;
    /// assert_eq!(plan.part_of_blocks(&[], 0..100)?.nodes(), 1);
    /// assert_eq!(plan.part_of_blocks(&[], 0..64)?.nodes(), 1);
    /// // 1, 2..4, 4..8, 8..16, 16..32, 32..48, 48..50
    /// assert_eq!(plan.part_of_blocks(&[], 1..50)?.nodes(), 7);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn nodes(&self) -> usize {
        match &self.covered {
            Covered::Blocks(runs) => runs.nodes(self.plan.sum_blocks()),
            Covered::Box(_) => 1,
        }
    }

    /// Sums this part's terms of [`BroadcastPlan::gradient`]. Example: [`BroadcastPlan::part`].
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if the cotangent does not have the shape of
    /// the tile's output; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if the addition does, as that of integers where overflow checks are on.
    pub fn gradient<A>(&self, cotangent: &ArrayRef<A, O>) -> Result<PartialSum<A>, BroadcastError>
    where
        A: Copy + Zero + Send + Sync,
    {
        let plan = self.tile.plan();
        check_shape(ArrayRole::Cotangent, plan.output_shape(), cotangent.shape())?;
        self.collect(Sum, |_, terms| {
            let to = Accumulators(plan.input_dim(), terms.clone());
            plan.reduce_array(cotangent, &Sum, None, to)
        })
    }

    /// Sums this part's terms of [`BroadcastPlan::gradient_of`].
    ///
    /// # Errors
    ///
    /// [`RankTooLarge`](crate::ErrorKind::RankTooLarge),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch) if an array does not broadcast to the shape
    /// of the tile's output; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if `f` or the addition does, as that of integers where overflow checks are on.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let x = Array2::from_shape_fn((2048, 3), |(i, j)| (i * j) as f64);
    /// let dy = x.mapv(f64::sin);
    /// let plan = BroadcastPlan::numpy(3, (2048, 3))?;
    /// let half = |rows| {
    ///     let part = plan.part(&plan.tile(&[rows, 0..3])?)?;
    ///     let output = part.tile().output();
    ///     part.gradient_of((&output.of(&dy)?, &output.of(&x)?), |(dy, x)| dy * x)
    /// };
    /// let mut sum = half(1024..2048)?;
    /// sum.merge(half(0..1024)?)?;
    /// assert_eq!(sum.finish(&plan)?, plan.gradient_of((&dy, &x), |(dy, x)| dy * x)?);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn gradient_of<X, A, F>(&self, arrays: X, f: F) -> Result<PartialSum<A>, BroadcastError>
    where
        X: Operands<O>,
        A: Copy + Zero + Send + Sync,
        F: for<'e> Fn(<X as Elements<'e>>::Refs) -> A + Sync,
    {
        self.reduce_of(arrays, Sum, f)
    }

    /// Reduces this part's terms of [`BroadcastPlan::reduce`]. Example: [`Part`].
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if the array does not have the shape of the
    /// tile's output; [`CutsBlock`](crate::ErrorKind::CutsBlock) if the reduction is not
    /// commutative and the part is [inexact](BroadcastPlan::inexact_part), cuts a block and has
    /// terms that are not neighbours; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    pub fn reduce<T, R>(
        &self,
        array: &ArrayRef<T, O>,
        reduction: R,
    ) -> Result<PartialReduction<T, R>, BroadcastError>
    where
        T: Copy + Sync,
        R: Reduction<T>,
    {
        let shape = self.tile.plan().output_shape();
        check_shape(ArrayRole::Reduced, shape, array.shape())?;
        self.reduce_of((array,), reduction, |(&value,)| value)
    }

    /// Reduces this part's terms of [`BroadcastPlan::reduce_of`]. Example of the arrays:
    /// [`gradient_of`](Self::gradient_of).
    ///
    /// # Errors
    ///
    /// Those of [`gradient_of`](Self::gradient_of); [`CutsBlock`](crate::ErrorKind::CutsBlock) as
    /// [`reduce`](Self::reduce).
    ///
    /// # Panics
    ///
    /// Only if `f` or the reduction's own operation does, as sums of integers where overflow checks
    /// are on.
    pub fn reduce_of<X, T, R, F>(
        &self,
        arrays: X,
        reduction: R,
        f: F,
    ) -> Result<PartialReduction<T, R>, BroadcastError>
    where
        X: Operands<O>,
        R: Reduction<T>,
        F: for<'e> Fn(<X as Elements<'e>>::Refs) -> T + Sync,
    {
        let plan = self.tile.plan();
        self.collect(reduction, |reduction, terms| {
            let to = Accumulators(plan.input_dim(), terms.clone());
            arrays.reduce(plan, reduction, &f, None, to)
        })
    }

    /// Collects what `reduce` makes of each range of terms that is a node of the tree.
    fn collect<T, R: Reduction<T>>(
        &self,
        reduction: R,
        reduce: impl Fn(&R, &Terms) -> Result<Array<R::Acc, I>, BroadcastError>,
    ) -> Result<PartialReduction<T, R>, BroadcastError> {
        let input = self.tile.input();
        let mut piece = Piece::of_nothing(input.ranges().collect());
        let (total, all_blocks) = (self.plan.sum_terms(), self.plan.sum_blocks());
        let shape = self.plan.summed_shape()?;
        let in_order;
        let covered = match &self.covered {
            // Terms of other parts lie between those of the box. Only nodes keep their order.
            Covered::Box(ranges)
                if !R::COMMUTATIVE && Numbers::of_box(ranges, &shape).neighbours().is_none() =>
            {
                let ranges: Vec<_> = self.tile.output().ranges().collect();
                in_order = Covered::Blocks(self.plan.runs(&ranges, true)?);
                &in_order
            }
            covered => covered,
        };
        match covered {
            Covered::Blocks(runs) => {
                for run in runs.iter() {
                    for node in Node::of(run.blocks.clone(), all_blocks) {
                        let blocks = node.blocks(all_blocks);
                        let at = run.first_term + (blocks.start - run.blocks.start) * BLOCK_TERMS;
                        let number = blocks.start * BLOCK_TERMS;
                        let len = total.min(blocks.end * BLOCK_TERMS) - number;
                        let terms = Terms {
                            range: at..at + len,
                            number: number.wrapping_sub(at),
                        };
                        let values = reduce(&reduction, &terms)?.into_dyn();
                        let combine = |a, b| reduction.combine(a, b);
                        piece.insert(node, values, all_blocks, &combine);
                    }
                }
            }
            Covered::Box(ranges) => {
                let terms = Terms {
                    range: 0..len(ranges),
                    number: 0,
                };
                let values = reduce(&reduction, &terms)?.into_dyn();
                piece.insert_box(ranges.clone(), values);
            }
        }
        Ok(PartialReduction::of_piece(&self.plan, reduction, piece))
    }
}

