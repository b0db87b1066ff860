//! Parts of the terms of sums: tiles that keep whole blocks of the tree, and ranges of blocks.

use super::accumulation::{Accumulation, Pieces, Tree, insert, part_of};
use super::reduction::Reduction;
use crate::engine::kernel::BLOCK_TERMS;
use crate::engine::reduce::Call;
use crate::engine::sums::Terms;
use crate::error::{ArrayRole, BoxFault, BroadcastError, Result, invalid_box, reserved};
use crate::plan::{AxisSource, BroadcastPlan, Tile, check_inside};
use ndarray::{ArrayRef, Dimension, IxDyn};
use std::ops::Range;

/// The part of a reduction that one worker computes: some terms of some elements.
///
/// Others compute the other parts, at any time and on any machine. [`reduce`](Self::reduce), or
/// [`Zip::reduce_part`](crate::Zip::reduce_part) for a map, takes arrays of the shape of
/// [`tile`](Self::tile)'s output and returns an [`Accumulation`]. The accumulations are merged in
/// any order, and the result is bit-identical to one call on the whole array.
///
/// ```
/// use ndarray::Array2;
/// use ndarray_broadcast::BroadcastPlan;
/// use ndarray_broadcast::reduction::Max;
/// use ndarray_broadcast::distributed::Part;
///
/// let x = Array2::from_shape_fn((2, 5000), |(i, j)| ((i + 1) * j) % 4999);
/// let plan = BroadcastPlan::numpy((2, 1), (2, 5000))?;
///
/// let largest = |blocks| {
///     let part = Part::of_blocks(&plan, &[0..2, 0..1], blocks)?;
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
    pub(super) plan: BroadcastPlan<I, O>,
    tile: Tile<I, O>,
    /// The positions of its terms among those of the tile.
    terms: Range<usize>,
    /// The length of each run: whole blocks that follow each other. No two runs do.
    run: usize,
}

impl<I: Dimension, O: Dimension> Part<I, O> {
    /// The part of all sums whose terms are inside a tile of this plan.
    ///
    /// The tile must not cut a block of the tree: its terms of each sum begin and end at multiples
    /// of 1024 terms of a slab, or at the end of a slab. A tile that has the full size of each
    /// summed axis never cuts a block.
    ///
    /// # Errors
    ///
    /// [`InvalidBox`](crate::ErrorKind::InvalidBox), with the nearest boundaries, if the tile has a
    /// part of a block; [`InvalidBox`](crate::ErrorKind::InvalidBox) if it is not inside the
    /// output; [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// ```
    /// use ndarray::{Array2, s};
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::distributed::{Accumulation, Part, Tile};
    /// use ndarray_broadcast::reduction::Sum;
    ///
    /// let dy = Array2::from_shape_fn((3000, 2), |(i, j)| 1. / (2 * i + j + 1) as f32);
    /// let plan = BroadcastPlan::numpy(2, (3000, 2))?;
    ///
    /// let mut sum = Accumulation::new(&plan, Sum);
    /// for rows in [2048..3000, 0..1024, 1024..2048] {
    ///     let part = Part::new(&plan, &Tile::new(&plan, &[rows, 0..2])?)?;
    ///     let dy = part.tile().output().of(&dy)?;
    ///     sum.merge(part.reduce(&dy, Sum)?)?;
    /// }
    /// assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
    ///
    /// let error = Part::new(&plan, &Tile::new(&plan, &[0..1500, 0..2])?).unwrap_err();
    /// assert_eq!(
    /// error.to_string(),
    /// "\
    /// the box [0..1500, 0..2] cuts a block of 1024 terms
    ///   box     0..1500  0..2
    ///   shape      3000     2
    ///                 ^ no block begins at 1500, but at 1024 and 2048",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn new(plan: &BroadcastPlan<I, O>, tile: &Tile<I, O>) -> Result<Self> {
        let (output, tree) = (tile.output(), Tree::of(plan));
        let mut ranges = reserved(output.shape().len())?;
        ranges.extend(output.ranges());
        let mut part = Part::of_nothing(plan, &ranges)?;
        if output.shape().contains(&0) {
            return Ok(part);
        }
        part.terms = 0..part.tile.plan().sum_terms();
        // A run ends where the innermost axis that is summed and not whole is cut.
        let mut cut = None;
        for (axis, source) in plan.axis_sources().enumerate().rev() {
            if !matches!(source, AxisSource::Kept(_)) && cut.is_none() {
                part.run *= ranges[axis].len();
                cut = (ranges[axis].len() < plan.output_shape()[axis]).then_some(axis);
            }
        }
        // The step of each outer axis is a multiple of the step of the axis inside it. So if the
        // first two runs are whole blocks, all are.
        let runs = part.terms.clone().step_by(part.run).take(2);
        let numbers = runs.map(|at| part.number(at));
        let mut ends = numbers.flat_map(|number| [number, number + part.run]);
        match cut {
            Some(axis) if !ends.all(|number| tree.in_block(number) == 0) => {
                Err(part.cut_block(&ranges, axis))
            }
            _ => Ok(part),
        }
    }

    /// The part with these blocks of the sums, for the elements of the gradient in the box `input`.
    /// There are [`sum_blocks`](crate::distributed::sum_blocks) blocks.
    ///
    /// [`Part::tile`] is the smallest tile that has these blocks. It may have terms of neighbouring
    /// blocks too, which are left out. So any plan with enough terms can be cut at any block, along
    /// whichever axes its arrays are stored.
    ///
    /// # Errors
    ///
    /// [`InvalidBox`](crate::ErrorKind::InvalidBox) if the box is not inside the input;
    /// [`InvalidBox`](crate::ErrorKind::InvalidBox) if there are no such blocks;
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// ```
    /// use ndarray::Array3;
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::distributed::{Accumulation, Part, sum_blocks};
    /// use ndarray_broadcast::reduction::Sum;
    ///
    /// // 3500 terms, 7 * 7 for each image: no image begins where a block does.
    /// let term = |(n, c, i)| 1. / (n + 7 * c + i + 1) as f64;
    /// let dy = Array3::from_shape_fn((100, 5, 7 * 7), term);
    /// let plan = BroadcastPlan::explicit(5, (100, 5, 7 * 7), &[1])?;
    /// assert_eq!(sum_blocks(&plan), 5);
    ///
    /// let part = Part::of_blocks(&plan, &[0..5], 3..5)?;
    /// assert!(part.tile().output().ranges().eq([62..100, 0..5, 0..49]));
    /// let mut sum = part.reduce(&part.tile().output().of(&dy)?, Sum)?;
    /// let part = Part::of_blocks(&plan, &[0..5], 0..3)?;
    /// assert!(part.tile().output().ranges().eq([0..63, 0..5, 0..49]));
    /// sum.merge(part.reduce(&part.tile().output().of(&dy)?, Sum)?)?;
    /// assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
    ///
    /// let error = Part::of_blocks(&plan, &[0..5], 3..6).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the sums of this plan have 5 blocks of terms, not [3..6]",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn of_blocks(
        plan: &BroadcastPlan<I, O>,
        input: &[Range<usize>],
        blocks: Range<usize>,
    ) -> Result<Self> {
        check_inside(input.iter().cloned(), plan.input_shape())?;
        let tree = Tree::of(plan);
        if blocks.start > blocks.end || blocks.end > tree.all() {
            return Err(invalid_box(&[tree.all()], &[blocks], BoxFault::Blocks));
        }
        let empty = blocks.is_empty() || input.iter().any(|range| range.is_empty());
        let terms = tree.terms_of((blocks.start, blocks.end));
        // From the outermost axis on: the first axis on which the first and the last term differ
        // is cut, and those inside it are whole.
        let mut ranges = reserved(plan.output_shape().len())?;
        let (mut inside, mut whole) = (plan.sum_terms(), false);
        for (source, &size) in plan.axis_sources().zip(plan.output_shape()) {
            ranges.push(match source {
                AxisSource::Kept(axis) => input[axis].clone(),
                _ if empty => 0..0,
                _ if whole => 0..size,
                _ => {
                    inside /= size;
                    let (first, last) = (terms.start / inside, (terms.end - 1) / inside);
                    whole = first != last;
                    first % size..last % size + 1
                }
            });
        }
        let mut part = Part::of_nothing(plan, &ranges)?;
        if !empty {
            let first = part.number(0);
            part.terms = terms.start - first..terms.end - first;
            part.run = part.terms.len();
        }
        Ok(part)
    }

    /// The part with no terms of a tile.
    fn of_nothing(plan: &BroadcastPlan<I, O>, ranges: &[Range<usize>]) -> Result<Self> {
        Ok(Part {
            plan: plan.clone(),
            tile: Tile::new(plan, ranges)?,
            terms: 0..0,
            run: 1,
        })
    }

    /// The box of the output that the part reads, and the box of the gradient that it adds to.
    /// Example: [`Part::new`](crate::distributed::Part::new).
    pub fn tile(&self) -> &Tile<I, O> {
        &self.tile
    }

    /// How many accumulators an [`Accumulation`] of this part has for each element of the tile's
    /// input: what a worker sends.
    ///
    /// The time is constant if the part is one run of blocks, or if its runs begin at multiples of
    /// their length, rounded up to a power of two. Otherwise it grows with the number of runs.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::distributed::Part;
    ///
    /// let plan = BroadcastPlan::numpy((), 100 * 1024)?;
    /// assert_eq!(Part::of_blocks(&plan, &[], 0..100)?.nodes(), 1);
    /// assert_eq!(Part::of_blocks(&plan, &[], 0..64)?.nodes(), 1);
    /// // 1, 2..4, 4..8, 8..16, 16..32, 32..48, 48..50
    /// assert_eq!(Part::of_blocks(&plan, &[], 1..50)?.nodes(), 7);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn nodes(&self) -> usize {
        let tree = Tree::of(&self.plan);
        let count = |(_, blocks)| tree.nodes_of(blocks).count();
        let mut runs = self.runs();
        match [runs.next(), runs.next(), runs.next_back()] {
            // The nodes of a run of whole slabs depend on its position in a node that is at least
            // as long. If it is the same for all runs, only the last run may have other nodes: the
            // tree ends there. Of shorter runs each is in a slab of its own, at the same place.
            [Some(first), Some(second), Some(last)]
                if (second.1.start - first.1.start) / tree.blocks
                    % (first.1.len() / tree.blocks).next_power_of_two()
                    == 0 =>
            {
                (runs.len() + 2) * count(first) + count(last)
            }
            _ => self.runs().map(count).sum(),
        }
    }

    /// The error for a part whose box `ranges` cuts a block. `axis` is the one to cut elsewhere.
    #[cold]
    fn cut_block(&self, ranges: &[Range<usize>], axis: usize) -> BroadcastError {
        let (shape, tree) = (self.plan.output_shape(), Tree::of(&self.plan));
        let Range { start, end } = ranges[axis];
        let (first, step) = (self.number(0), self.run / (end - start));
        // Whether each run begins at the same distance from the beginning of a block.
        let next = self.terms.clone().nth(self.run);
        let aligned = next.is_none_or(|at| tree.in_block(self.number(at)) == tree.in_block(first));
        let keeps = |at: usize| {
            let number = first - start * step + at * step;
            (aligned && tree.in_block(number) == 0) || number == self.plan.sum_terms()
        };
        let boundary = match keeps(end) || (start > 0 && !keeps(start)) {
            true => start,
            false => end,
        };
        // If blocks can begin along this axis, one begins within so many places.
        let mut below = (0..=boundary).rev().take(BLOCK_TERMS);
        let mut above = (boundary..=shape[axis]).take(BLOCK_TERMS);
        let nearest = [below.find(|&at| keeps(at)), above.find(|&at| keeps(at))];
        let fault = BoxFault::CutsBlock {
            axis,
            boundary,
            nearest,
        };
        invalid_box(shape, ranges, fault)
    }

    /// The number of a term among all terms, by its position in the tile, which has terms.
    fn number(&self, position: usize) -> usize {
        let (mut number, mut inside) = (0, self.tile.plan().sum_terms());
        let output = self.tile.output();
        let axes = output.ranges().zip(self.plan.output_shape());
        for ((range, size), source) in axes.zip(self.plan.axis_sources()) {
            if !matches!(source, AxisSource::Kept(_)) {
                inside /= range.len();
                number = number * size + range.start + position / inside % range.len();
            }
        }
        number
    }

    /// The position of the first term of each run in the tile, and the run's blocks.
    fn runs(&self) -> impl DoubleEndedIterator<Item = (usize, Range<usize>)> + ExactSizeIterator {
        let tree = Tree::of(&self.plan);
        let blocks = move |number| tree.block_at(number)..tree.block_at(number + self.run);
        let positions = self.terms.clone().step_by(self.run);
        positions.map(move |at| (at, blocks(self.number(at))))
    }

    /// Reduces this part's terms of [`BroadcastPlan::reduce`]. Example: [`Part`].
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if the array does not have the shape of the
    /// tile's output; [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    pub fn reduce<T, R>(&self, array: &ArrayRef<T, O>, reduction: R) -> Result<Accumulation<T, R>>
    where
        T: Copy + Sync,
        R: Reduction<T>,
    {
        let plan = self.tile.plan();
        let pieces = plan.reduce_array(ArrayRole::Reduced, array, &reduction, |call| {
            self.pieces(&call)
        })?;
        Ok(Accumulation::of(&self.plan, reduction, pieces))
    }

    /// The nodes of the tree that this part has, of a reduction of arrays of the tile's shape.
    pub(super) fn pieces<T, R: Reduction<T>>(
        &self,
        call: &Call<'_, T, R>,
    ) -> Result<Pieces<R::Acc>> {
        let mut of_tile = Pieces::new();
        let tree = Tree::of(&self.plan);
        for (position, run) in self.runs() {
            let first = tree.terms_of((run.start, run.end)).start;
            for node in tree.nodes_of(run) {
                let numbers = tree.terms_of(node);
                let at = position + (numbers.start - first);
                let terms = Terms {
                    range: at..at + numbers.len(),
                    may_move: false,
                    number: numbers.start.wrapping_sub(at),
                    slab: tree.slab,
                };
                let values = call.accumulators(self.tile.plan().input_dim(), terms)?;
                let values = values.into_raw_vec_and_offset().0;
                insert(&mut of_tile, (0, node), values, tree, call.reduction);
            }
        }
        if of_tile.is_empty() {
            return Ok(of_tile);
        }
        // The elements of the tile that follow each other in the whole gradient.
        let (mut firsts, mut len) = (vec![0], 1);
        let input = self.tile.input();
        let ranges = input.ranges().zip(self.plan.input_shape());
        // There may be very many axes of size 1.
        for (range, &size) in ranges.filter(|&(_, &size)| size != 1) {
            if range.len() < size {
                let mut all = reserved(firsts.len() * len)?;
                all.extend(firsts.iter().flat_map(|&at| at..at + len));
                (firsts, len) = (all, 1);
            }
            len *= range.len();
            firsts
                .iter_mut()
                .for_each(|at| *at = *at * size + range.start);
        }
        let mut pieces = Pieces::new();
        for (number, first) in firsts.into_iter().enumerate() {
            let elements = number * len..(number + 1) * len;
            pieces.extend(part_of(&of_tile, 0, elements, first)?);
        }
        Ok(pieces)
    }
}
