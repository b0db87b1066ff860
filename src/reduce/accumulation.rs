//! Accumulations as values: nodes of the tree, which merge with their neighbours.

use super::reduction::Reduction;
use crate::engine::kernel::BLOCK_TERMS;
use crate::engine::memory::array_of;
use crate::error::{PartsFault, Result, parts_mismatch, reserved};
use crate::plan::{AxisSource, BroadcastPlan};
use ndarray::{Array, Dimension};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{replace, swap};
use std::ops::Range;

/// The state of a reduction of which some blocks are reduced.
///
/// It holds the nodes of the [documented tree](crate::reduction#the-order-of-summation) that
/// these blocks form.
///
/// A [`Part`](crate::distributed::Part) returns it. Two merge if they belong to the same plan and
/// have no term in common. They need not be neighbours: a node without its sibling is kept until
/// the sibling is merged. When all parts are merged, [`finish`](Self::finish) gives the result of
/// [`reduce`](BroadcastPlan::reduce) or [`Zip::reduce`](crate::Zip::reduce) on the whole arrays,
/// bit for bit, for any parts and any order of merging.
///
/// It is small: for each element of the gradient at most two accumulators for each level of the
/// tree while blocks that follow each other are there, and one when all are. It can be sent: as
/// [bytes](Self::to_bytes). With the feature `serde`, it serialises as these bytes. It deserialises
/// if the reduction has a `Default`. A reduction that holds a value has none, as `Fold`, `Then`,
/// `Var`, `Std`, and those with `or`. Their bytes are read with [`from_bytes`](Self::from_bytes).
///
/// ```
/// use ndarray::Array2;
/// use ndarray_broadcast::BroadcastPlan;
/// use ndarray_broadcast::distributed::{Accumulation, Part, Tile};
/// use ndarray_broadcast::reduction::Sum;
///
/// let dy = Array2::from_shape_fn((4096, 3), |(i, j)| {
///     (i as f32 + 0.1) / (j as f32 + 0.3)
/// });
/// let plan = BroadcastPlan::numpy(3, (4096, 3))?;
///
/// // On each worker, whatever it takes: rows, columns, or both.
/// let mut sent = Vec::new();
/// for (rows, columns) in [(0..1024, 0..3), (1024..4096, 2..3), (1024..4096, 0..2)]
/// {
///     let part = Part::new(&plan, &Tile::new(&plan, &[rows, columns])?)?;
///     sent.push(part.reduce(&part.tile().output().of(&dy)?, Sum)?.to_bytes());
/// }
///
/// // Where the results arrive, in any order.
/// let mut sum = Accumulation::<f32, Sum>::new(&plan, Sum);
/// for bytes in sent.iter().rev() {
///     sum.merge(Accumulation::from_bytes(bytes, Sum)?)?;
/// }
/// assert!(sum.is_complete());
/// assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[must_use = "an accumulation is merged with others, and finished"]
pub struct Accumulation<T, R: Reduction<T>> {
    pub(super) reduction: R,
    /// Its rule does not matter.
    pub(super) plan: BroadcastPlan,
    pub(super) pieces: Pieces<R::Acc>,
    term: PhantomData<fn(T)>,
}

/// How many blocks the terms of each element of the gradient have, in the
/// [documented tree](crate::reduction#the-order-of-summation): in each slab, one for each 1024
/// terms begun.
///
/// ```
/// use ndarray_broadcast::BroadcastPlan;
/// use ndarray_broadcast::distributed::sum_blocks;
///
/// // [N, C, H, W] is summed to [C]. Images of 256 terms: all are one slab.
/// let plan = BroadcastPlan::explicit(3, (10, 3, 16, 16), &[1])?;
/// assert_eq!(sum_blocks(&plan), (10_usize * 16 * 16).div_ceil(1024));
/// // Each image is a slab.
/// let plan = BroadcastPlan::explicit(3, (10, 3, 56, 56), &[1])?;
/// assert_eq!(sum_blocks(&plan), 10 * (56_usize * 56).div_ceil(1024));
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[must_use]
pub fn sum_blocks<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>) -> usize {
    Tree::of(plan).all()
}

/// A node of the tree: its first block and the end of its blocks. In a slab it has `2^n` blocks, or
/// fewer at the end of the slab; otherwise it has `2^n` slabs, or fewer at the end of the tree.
pub(super) type Node = (usize, usize);

/// The tree of a plan: of slabs, and in each of blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    /// Terms of a slab, at least one.
    pub(super) slab: usize,
    /// Blocks of a slab.
    pub(super) blocks: usize,
    slabs: usize,
}

impl Tree {
    pub(super) fn of<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>) -> Self {
        let slab = plan.slab_terms().max(1);
        Tree {
            slab,
            blocks: slab.div_ceil(BLOCK_TERMS),
            slabs: plan.sum_terms() / slab,
        }
    }

    /// How many blocks there are.
    pub(super) fn all(&self) -> usize {
        self.slabs * self.blocks
    }

    /// Which place in its block a term has, by its number.
    pub(super) fn in_block(&self, number: usize) -> usize {
        number % self.slab % BLOCK_TERMS
    }

    /// The block of a term, or all blocks if there is no such term.
    pub(super) fn block_at(&self, number: usize) -> usize {
        number / self.slab * self.blocks + number % self.slab / BLOCK_TERMS
    }

    /// The terms of these blocks.
    pub(super) fn terms_of(&self, (start, end): (usize, usize)) -> Range<usize> {
        let first =
            |block: usize| block / self.blocks * self.slab + block % self.blocks * BLOCK_TERMS;
        first(start)..first(end)
    }

    /// The tree that a node of these blocks is in: the number of its first block, how many blocks
    /// its leaves have, and how many leaves there are.
    fn tree_with(&self, (start, end): Node) -> [usize; 3] {
        let in_slab = start % self.blocks;
        match in_slab == 0 && end - start >= self.blocks {
            true => [0, self.blocks, self.slabs],
            false => [start - in_slab, 1, self.blocks],
        }
    }

    /// The other half of the node's parent; `None` for the root.
    pub(super) fn sibling(&self, node: Node) -> Option<Node> {
        let [first, size, all] = self.tree_with(node);
        let leaves = ((node.0 - first) / size, (node.1 - first) / size);
        let (start, end) = sibling(leaves, all)?;
        Some((first + start * size, first + end * size))
    }

    /// The largest nodes that together are these blocks.
    pub(super) fn nodes_of(self, blocks: Range<usize>) -> impl Iterator<Item = Node> {
        let mut start = blocks.start;
        std::iter::from_fn(move || {
            if start >= self.all() {
                return None;
            }
            // Whole slabs, if the first of these blocks is the first of a slab.
            let whole = self.tree_with((start, start - start % self.blocks + self.blocks));
            let in_slab = self.tree_with((start, start));
            let end_in = |[first, size, all]: [usize; 3]| {
                // A node begins at a multiple of its size.
                let at = (start - first) / size;
                let sizes = (0..=at.trailing_zeros().min(usize::BITS - 1)).map(|bits| 1 << bits);
                let ends = sizes.rev().map(|leaves| all.min(at.saturating_add(leaves)));
                let mut ends = ends.map(|end| first + end * size);
                ends.find(|&end| start < end && end <= blocks.end)
            };
            let node = (start, end_in(whole).or_else(|| end_in(in_slab))?);
            start = node.1;
            Some(node)
        })
    }
}

/// Nodes by their first element, each with an accumulator for each of some elements of the gradient
/// that follow each other in row-major order. Nodes of the same first element have the same
/// elements; others have no element in common. No two nodes of an element have a block in common,
/// and no two are the halves of another node.
pub(super) type Pieces<A> = BTreeMap<(usize, Node), Vec<A>>;

/// The keys of nodes whose first elements are these.
fn keys(elements: Range<usize>) -> Range<(usize, Node)> {
    // No node ends at 0.
    (elements.start, (0, 0))..(elements.end, (0, 0))
}

/// The other half of the node's parent; `None` for the root. The tree has `all` leaves.
fn sibling((start, end): Node, all: usize) -> Option<Node> {
    let before = |size| Some((start - size, start));
    match end - start {
        _ if (start, end) == (0, all) => None,
        // At the end, some nodes have no right sibling, and the same blocks as their parent. The
        // largest of them has a left sibling.
        _ if end == all => before(1 << start.trailing_zeros()),
        size if start & size != 0 => before(size),
        size => Some((end, all.min(end + size))),
    }
}

/// Adds a node that has no block in common with the others of its elements. Combines it with its
/// sibling as long as the sibling is there.
pub(super) fn insert<T, R: Reduction<T>>(
    pieces: &mut Pieces<R::Acc>,
    (first, mut node): (usize, Node),
    mut values: Vec<R::Acc>,
    tree: Tree,
    reduction: &R,
) {
    while let Some(half) = tree.sibling(node) {
        let Some(mut right) = pieces.remove(&(first, half)) else {
            break;
        };
        if half < node {
            swap(&mut values, &mut right);
        }
        node = (node.0.min(half.0), node.1.max(half.1));
        for (a, &b) in values.iter_mut().zip(&right) {
            *a = reduction.combine(*a, b);
        }
    }
    pieces.insert((first, node), values);
}

/// Blocks that a node has in common with others of its first element.
pub(super) fn common_blocks<A>(
    pieces: &Pieces<A>,
    (first, node): (usize, Node),
) -> Option<(usize, usize)> {
    let mut before_end = pieces.range((first, (0, 0))..(first, (node.1, 0)));
    let (&(_, (start, end)), _) = before_end.next_back()?;
    let both = (start.max(node.0), end.min(node.1));
    (both.0 < both.1).then_some(both)
}

/// A part of the elements of the nodes of a first element. Its own first element is `to`.
///
/// # Errors
///
/// `AllocationFailed`.
pub(super) fn part_of<A: Copy>(
    pieces: &Pieces<A>,
    first: usize,
    part: Range<usize>,
    to: usize,
) -> Result<Pieces<A>> {
    let nodes = pieces.range(keys(first..first + 1));
    let copies = nodes.map(|(&(_, node), values)| {
        let mut copy = reserved(part.len())?;
        copy.extend_from_slice(&values[part.clone()]);
        Ok(((to, node), copy))
    });
    copies.collect()
}

/// The elements of the pieces whose first elements are in a range: in increasing order, and those
/// of one first element once.
fn elements_of<A>(
    pieces: &Pieces<A>,
    mut within: Range<usize>,
) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let (&(first, _), values) = pieces.range(keys(within.clone())).next()?;
        within.start = first + 1;
        Some(first..first + values.len())
    })
}

/// Cuts the pieces that have elements on both sides of an end of one of these ranges, which are in
/// increasing order.
///
/// # Errors
///
/// `AllocationFailed`. The pieces have the same nodes then, too.
fn cut<A: Copy>(pieces: &mut Pieces<A>, ranges: &[Range<usize>]) -> Result<()> {
    let places = ranges.iter().flat_map(|range| [range.start, range.end]);
    let mut places = places.peekable();
    while let Some(&place) = places.peek() {
        let before = pieces.range(keys(0..place)).next_back();
        let Some((first, end)) = before
            .map(|(&(first, _), values)| (first, first + values.len()))
            .filter(|&(_, end)| place < end)
        else {
            places.next();
            continue;
        };
        // Everything is copied, once: a vector that is cut short keeps its memory.
        let (mut start, mut parts) = (first, Pieces::new());
        while start < end {
            let to = places.next_if(|&to| to < end).unwrap_or(end);
            if start < to {
                parts.extend(part_of(pieces, first, start - first..to - first, start)?);
                start = to;
            }
        }
        pieces.extend(parts);
    }
    Ok(())
}

impl<T, R: Reduction<T>> Accumulation<T, R> {
    /// The reduction of no terms yet. Example: [`Accumulation`].
    pub fn new<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>, reduction: R) -> Self {
        Self::of(plan, reduction, Pieces::new())
    }

    /// The reduction of the terms that these pieces have.
    pub(super) fn of<I: Dimension, O: Dimension>(
        plan: &BroadcastPlan<I, O>,
        reduction: R,
        pieces: Pieces<R::Acc>,
    ) -> Self {
        Accumulation {
            reduction,
            plan: plan.clone().into_dyn(),
            pieces,
            term: PhantomData,
        }
    }

    /// Adds the terms of another part. Elements of the result that follow each other in row-major
    /// order and have the same parts are kept together.
    ///
    /// # Errors
    ///
    /// [`PartsMismatch`](crate::ErrorKind::PartsMismatch) if the other belongs to a plan of other
    /// shapes or axes, or if both have the same term;
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). On an error, `self` has the terms
    /// that it had.
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on. Some terms may be lost then.
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::distributed::Part;
    /// use ndarray_broadcast::reduction::Sum;
    ///
    /// let dy = Array1::from_elem(3000, 1.);
    /// let plan = BroadcastPlan::numpy(1, 3000)?;
    /// let sum_of = |blocks| {
    ///     let part = Part::of_blocks(&plan, &[0..1], blocks)?;
    ///     part.reduce(&part.tile().output().of(&dy)?, Sum)
    /// };
    /// let mut sum = sum_of(1..3)?;
    /// assert_eq!(
    ///     sum.merge(sum_of(0..2)?).unwrap_err().to_string(),
    ///     "two parts have the terms 1024..2048 of the element [0] of the result",
    /// );
    /// assert_eq!(
    ///     sum.finish(&plan).unwrap_err().to_string(),
    ///     "the terms 0..1024 of the element [0] of the result are missing",
    /// );
    /// sum.merge(sum_of(0..1)?)?;
    /// assert_eq!(sum.finish(&plan)?, arr1(&[3000.]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.check_plan(&other.plan)?;
        let tree = Tree::of(&self.plan);
        let mut pieces = other.pieces;
        // After this, pieces of both have the same elements, or none in common.
        let theirs: Vec<_> = elements_of(&pieces, 0..usize::MAX).collect();
        cut(&mut self.pieces, &theirs)?;
        let inside = |elements| elements_of(&self.pieces, elements);
        let ours: Vec<_> = theirs.into_iter().flat_map(inside).collect();
        cut(&mut pieces, &ours)?;
        for &key in pieces.keys() {
            if let Some(blocks) = common_blocks(&self.pieces, key) {
                let (index, terms) = (self.index(key.0), tree.terms_of(blocks));
                return Err(parts_mismatch(PartsFault::Overlap { index, terms }));
            }
        }
        for (key, values) in pieces {
            insert(&mut self.pieces, key, values, tree, &self.reduction);
        }
        Ok(())
    }

    /// Whether all terms of all elements are there: then [`finish`](Self::finish) does not return
    /// [`PartsMismatch`](crate::ErrorKind::PartsMismatch). Example: [`Accumulation`].
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.first_missing().is_none()
    }

    /// The result of the whole, of the input's shape and rank, in standard layout.
    ///
    /// # Errors
    ///
    /// [`PartsMismatch`](crate::ErrorKind::PartsMismatch), with the first terms that are missing,
    /// or if the plan has other shapes or axes;
    /// [`TooFewTerms`](crate::ErrorKind::TooFewTerms) if the reduction has no result for so few;
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). Example: [`merge`](Self::merge).
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operations do.
    pub fn finish<I: Dimension, O: Dimension>(
        &self,
        plan: &BroadcastPlan<I, O>,
    ) -> Result<Array<R::Out, I>> {
        self.check_plan(plan)?;
        if let Some((element, terms)) = self.first_missing() {
            let index = self.index(element);
            return Err(parts_mismatch(PartsFault::Incomplete { index, terms }));
        }
        let terms = plan.sum_terms();
        if !plan.has_terms(terms, &self.reduction)? {
            return plan.results_of_none(R::NAME, &|| self.reduction.of_none());
        }
        array_of(plan.input_dim(), |out| {
            for accs in self.pieces.values() {
                out.extend(accs.iter().map(|&acc| self.reduction.finish(acc, terms)));
            }
        })
    }

    /// The first element of the result that is not complete, and the first of its terms that are
    /// missing.
    fn first_missing(&self) -> Option<(usize, Range<usize>)> {
        let tree = Tree::of(&self.plan);
        let all = tree.all();
        let count: usize = self.plan.input_shape().iter().product();
        let mut element = 0;
        while element < count && all > 0 {
            let (mut end, nodes) = (0, self.pieces.range(keys(element..element + 1)));
            let begins = nodes.map(|(&(_, node), _)| node).chain([(all, all)]);
            let mut gaps = begins.map(|(start, next)| (replace(&mut end, next), start));
            if let Some(blocks) = gaps.find(|(end, start)| end < start) {
                return Some((element, tree.terms_of(blocks)));
            }
            // All blocks are one node.
            element += self.pieces[&(element, (0, all))].len();
        }
        None
    }

    /// The index of an element of the result, by its number in row-major order.
    fn index(&self, mut element: usize) -> Box<[usize]> {
        let mut index: Box<[usize]> = self.plan.input_shape().into();
        for at in index.iter_mut().rev() {
            (*at, element) = (element % *at, element / *at);
        }
        index
    }

    fn check_plan<I: Dimension, O: Dimension>(&self, plan: &BroadcastPlan<I, O>) -> Result<()> {
        let ours = &self.plan;
        let same = ours.input_shape() == plan.input_shape()
            && ours.output_shape() == plan.output_shape()
            && ours.output_axes() == plan.output_axes();
        match same {
            true => Ok(()),
            false => Err(parts_mismatch(PartsFault::OtherReduction {
                first: Self::name(ours).into(),
                second: Self::name(plan).into(),
            })),
        }
    }

    /// What an error shows of a plan and the reduction.
    fn name<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>) -> String {
        let sources = plan.axis_sources().map(AxisSource::input_axis);
        let name = |source: Option<usize>| source.map_or("+".into(), |axis| axis.to_string());
        let by: Vec<String> = sources.map(name).collect();
        let (input, output, by) = (plan.input_shape(), plan.output_shape(), by.join(" "));
        format!("{} of {output:?} to {input:?} by ({by})", shown(R::NAME))
    }
}

/// What an error shows of the name of a reduction.
pub(super) fn shown(name: &str) -> &str {
    match name {
        "" => "a reduction without a name",
        name => name,
    }
}

impl<T, R: Reduction<T> + Clone> Clone for Accumulation<T, R> {
    fn clone(&self) -> Self {
        Accumulation {
            reduction: self.reduction.clone(),
            plan: self.plan.clone(),
            pieces: self.pieces.clone(),
            term: PhantomData,
        }
    }
}

impl<T, R: Reduction<T>> fmt::Debug for Accumulation<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = self.pieces.iter();
        let mut ranges: Vec<_> = pieces.map(|((at, _), accs)| *at..at + accs.len()).collect();
        ranges.dedup();
        f.debug_struct("Accumulation")
            .field("of", &Self::name(&self.plan))
            .field("elements", &ranges)
            .field("complete", &self.is_complete())
            .finish_non_exhaustive()
    }
}
