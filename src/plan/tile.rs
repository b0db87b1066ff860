//! Pieces of a broadcast: the box of the input that feeds a box of the output, and the plan between
//! the two.

use super::BroadcastPlan;
use crate::error::{BoxFault, Result, invalid_box};
use crate::shape::{Sizes, by_axis};
use ndarray::{ArrayRef, ArrayView, ArrayViewMut, Axis, Dimension, IxDyn, Slice};
use smallvec::SmallVec;
use std::ops::Range;

/// A box of the output of a plan, the box of the input that feeds it, and the plan between the two.
/// [`Tile::new`](crate::distributed::Tile::new) and [`Tiles::new`](crate::distributed::Tiles::new)
/// return it.
///
/// With the feature `serde` it serialises, so that it can be sent to a worker.
///
/// ```
/// use ndarray::{Array2, array};
/// use ndarray_broadcast::{BroadcastError, BroadcastPlan};
/// use ndarray_broadcast::distributed::Tiles;
///
/// // The gradient of the whole is the sum of the gradients of the tiles.
/// let plan = BroadcastPlan::numpy((2, 1), (2, 3))?;
/// let cotangent = array![[1, 2, 3], [4, 5, 6]];
/// let mut gradient = Array2::zeros((2, 1));
/// for tile in Tiles::new(&plan, 8, 4) {
///     let cotangent = tile.output().of(&cotangent)?;
///     let mut gradient = tile.input().of_mut(&mut gradient)?;
///     tile.plan().gradient_accumulate(&cotangent, &mut gradient)?;
/// }
/// assert_eq!(gradient, array![[6], [15]]);
/// # Ok::<(), BroadcastError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tile<I: Dimension = IxDyn, O: Dimension = IxDyn> {
    pub(super) input: TileBox<I>,
    pub(super) output: TileBox<O>,
    pub(super) plan: BroadcastPlan<I, O>,
}

impl<I: Dimension, O: Dimension> Tile<I, O> {
    /// The box of the input that feeds a box of the output, and the plan between the two. The box
    /// has one range for each output axis.
    ///
    /// ```text
    /// output         2     3     4          box        0..1  1..3  0..4
    /// input                3     1          feeds it         1..3  0..1
    /// ```
    ///
    /// The slice of the whole view is the tile's view of the input's slice. So a worker that
    /// computes a part of the output needs only a part of the input. The gradient of the tile is
    /// the part that the box adds to the gradient of the whole.
    /// [`Part::new`](crate::distributed::Part::new) says whether a tile keeps whole blocks of sums;
    /// if so, the merged result is bit-identical to one call on the whole array.
    ///
    /// # Errors
    ///
    /// [`InvalidBox`](crate::ErrorKind::InvalidBox) if the ranges are not inside the output.
    ///
    /// ```
    /// use ndarray::{array, s};
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::distributed::Tile;
    ///
    /// let x = array![[1], [2], [3]];
    /// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
    /// let tile = Tile::new(&plan, &[0..1, 1..3, 0..4])?;
    /// assert!(tile.input().ranges().eq([1..3, 0..1]));
    /// assert_eq!(
    ///     tile.plan().view(&x.slice(s![1..3, 0..1]))?,
    ///     plan.view(&x)?.slice(s![0..1, 1..3, 0..4]),
    /// );
    /// assert_eq!(
    ///     Tile::new(&plan, &[0..1, 1..4, 0..4]).unwrap_err().to_string(),
    ///     "\
    /// the box [0..1, 1..4, 0..4] is not inside [2, 3, 4]
    ///   box     0..1  1..4  0..4
    ///   shape      2     3     4
    ///                    ^ 1..4 is not inside 0..3",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: interval arithmetic on the plan; partitioners such as XLA's GSPMD do the same.
    #[inline]
    pub fn new(plan: &BroadcastPlan<I, O>, ranges: &[Range<usize>]) -> Result<Self> {
        let (sizes, output_sizes) = (plan.input_shape(), plan.output_shape());
        check_inside(ranges.iter().cloned(), output_sizes)?;
        let fed = plan.output_axes();
        let output = TileBox::<O>::of_ranges(ranges.len(), |axis| ranges[axis].clone());
        let input =
            TileBox::<I>::of_ranges(sizes.len(), |axis| match output_sizes.get(fed[axis]) {
                Some(&size) if size == sizes[axis] => ranges[fed[axis]].clone(),
                // An axis that is stretched or dropped has size 1: all of it.
                _ => 0..1,
            });
        // Axes that are kept have the same range on both sides, and no axis has grown: no error.
        let (from, to) = (input.size.clone(), output.size.clone());
        let plan = BroadcastPlan::new(plan.rule, from, to, |axis| fed[axis])?;
        Ok(Tile {
            input,
            output,
            plan,
        })
    }

    /// The plan from the box of the input to the box of the output. It has the rule of the whole.
    /// Example: [`Tile::new`](crate::distributed::Tile::new).
    pub fn plan(&self) -> &BroadcastPlan<I, O> {
        &self.plan
    }

    /// The box of the input. Example: [`TileBox`].
    #[must_use]
    pub fn input(&self) -> TileBox<I> {
        self.input.clone()
    }

    /// The box of the output. Example: [`TileBox`].
    #[must_use]
    pub fn output(&self) -> TileBox<O> {
        self.output.clone()
    }
}

/// A box of an array: one range for each axis.
///
/// ```
/// use ndarray::{array, s};
/// use ndarray_broadcast::BroadcastPlan;
/// use ndarray_broadcast::distributed::Tile;
///
/// let mut out = array![[0, 0, 0], [0, 0, 0]];
/// let plan = BroadcastPlan::numpy(3, (2, 3))?;
/// let tile = Tile::new(&plan, &[1..2, 0..2])?;
/// assert!(tile.input().ranges().eq([0..2]));
/// assert!(tile.output().ranges().eq([1..2, 0..2]));
///
/// let x = array![7, 8, 9];
/// let (x, mut part) = (tile.input().of(&x)?, tile.output().of_mut(&mut out)?);
/// part.assign(&tile.plan().view(&x)?);
/// assert_eq!(out, array![[0, 0, 0], [7, 8, 0]]);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TileBox<D = IxDyn> {
    pub(super) start: D,
    pub(super) size: D,
}

impl<D: Dimension> TileBox<D> {
    #[inline(always)]
    fn of_ranges(rank: usize, range_of: impl Fn(usize) -> Range<usize>) -> Self {
        TileBox {
            start: by_axis(rank, |axis| range_of(axis).start),
            size: by_axis(rank, |axis| range_of(axis).len()),
        }
    }

    /// The range of each axis, as `slice` takes them. Example: [`TileBox`].
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + '_ {
        let ends = self.start.sizes().iter().zip(self.size.sizes());
        ends.map(|(&start, &size)| start..start + size)
    }

    /// The sizes of the box.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::distributed::Tile;
    ///
    /// let tile = Tile::new(&BroadcastPlan::numpy(3, (2, 3))?, &[1..2, 0..2])?;
    /// assert_eq!(tile.output().shape(), [1, 2]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.size.sizes()
    }

    /// The box of an array, as a view. Example: [`TileBox`].
    ///
    /// # Errors
    ///
    /// [`InvalidBox`](crate::ErrorKind::InvalidBox) if it is not inside the array.
    pub fn of<'a, A>(&self, array: &'a ArrayRef<A, D>) -> Result<ArrayView<'a, A, D>> {
        check_inside(self.ranges(), array.shape())?;
        Ok(array.slice_each_axis(|axis| self.slice(axis.axis)))
    }

    /// The box of an array, as a view to write to. Example: [`TileBox`].
    ///
    /// # Errors
    ///
    /// [`InvalidBox`](crate::ErrorKind::InvalidBox) if it is not inside the array.
    pub fn of_mut<'a, A>(&self, array: &'a mut ArrayRef<A, D>) -> Result<ArrayViewMut<'a, A, D>> {
        check_inside(self.ranges(), array.shape())?;
        Ok(array.slice_each_axis_mut(|axis| self.slice(axis.axis)))
    }

    fn slice(&self, Axis(axis): Axis) -> Slice {
        Slice::from(self.start[axis]..self.start[axis] + self.size[axis])
    }
}

/// That a box, given by the range of each axis, is inside an array of this shape.
pub(crate) fn check_inside(
    ranges: impl ExactSizeIterator<Item = Range<usize>> + Clone,
    shape: &[usize],
) -> Result<()> {
    let fits = |(Range { start, end }, &size): (Range<usize>, &usize)| start <= end && end <= size;
    if ranges.len() == shape.len() && ranges.clone().zip(shape).all(fits) {
        return Ok(());
    }
    let ranges = Vec::from_iter(ranges);
    Err(invalid_box(shape, &ranges, BoxFault::Outside))
}

/// The tiles of a plan in C order of the output: see
/// [`Tiles::new`](crate::distributed::Tiles::new).
#[derive(Debug, Clone)]
pub struct Tiles<'p, I: Dimension, O: Dimension> {
    plan: &'p BroadcastPlan<I, O>,
    /// The size of a tile that is not at the far end of an axis.
    size: O,
    /// Of the tiles that are left.
    numbers: Range<usize>,
}

impl<'p, I: Dimension, O: Dimension> Tiles<'p, I, O> {
    /// The tiles of the output in C order, each of at most `max_bytes` where an element has
    /// `element_size` bytes. Together they cover the output once.
    ///
    /// A tile is whole in its inner axes, cut along one axis, and of size 1 in the outer axes: its
    /// elements are consecutive in an output of standard layout. It has at least one element, even
    /// if that has more bytes. An empty output has no tiles.
    ///
    /// The boxes depend only on the output shape and the two numbers. So plans with the same output
    /// shape can be walked together: those of a [`pair`](BroadcastPlan::pair), or of any number of
    /// operands.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
    /// use ndarray_broadcast::distributed::Tiles;
    ///
    /// let (a, b) = (array![[1], [2]], array![10, 20, 30]);
    /// let (plan_a, plan_b) = BroadcastPlan::pair((2, 1), 3, ElementwiseRule::Numpy)?;
    /// let mut sums = Vec::new();
    /// for (a_tile, b_tile) in Tiles::new(&plan_a, 8, 4).zip(Tiles::new(&plan_b, 8, 4))
    /// {
    ///     assert_eq!(a_tile.output(), b_tile.output());
    ///     let (a, b) = (a_tile.input().of(&a)?, b_tile.input().of(&b)?);
    ///     sums.extend(&a_tile.plan().view(&a)? + &b_tile.plan().view(&b)?);
    /// }
    /// assert_eq!(sums, [11, 21, 31, 12, 22, 32]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn new(plan: &'p BroadcastPlan<I, O>, max_bytes: usize, element_size: usize) -> Self {
        let mut room = (max_bytes.checked_div(element_size).unwrap_or(usize::MAX)).max(1);
        let mut tile = plan.output_dim();
        // Few enough: there are no more tiles than elements.
        let mut count = 1;
        for size in tile.sizes_mut().iter_mut().rev() {
            let full = *size;
            *size = full.min(room);
            count *= full.div_ceil((*size).max(1));
            // An axis that is cut leaves no room for more than 1 in the axes outside it.
            room = if *size < full { 1 } else { room / full.max(1) };
        }
        Tiles {
            plan,
            size: tile,
            numbers: 0..count,
        }
    }
}

impl<I: Dimension, O: Dimension> Iterator for Tiles<'_, I, O> {
    type Item = Tile<I, O>;

    fn next(&mut self) -> Option<Tile<I, O>> {
        let mut number = self.numbers.next()?;
        let whole = self.plan.output_shape().iter().map(|&size| 0..size);
        let mut ranges: SmallVec<[Range<usize>; 6]> = whole.collect();
        for (range, &size) in ranges.iter_mut().zip(self.size.sizes()).rev() {
            let (end, count) = (range.end, range.end.div_ceil(size));
            let start = number % count * size;
            *range = start..end.min(start + size);
            number /= count;
        }
        Some(Tile::new(self.plan, &ranges).expect("the box is inside the output"))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl<I: Dimension, O: Dimension> ExactSizeIterator for Tiles<'_, I, O> {}
