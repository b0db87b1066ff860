//! What the targets have in common: shapes and memory layouts out of bytes.

#![allow(dead_code)]

use arbitrary::{Arbitrary, Result, Unstructured};
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn, Slice};

/// Elements of an array that is really made, at most.
pub const MOST_ELEMENTS: usize = 1 << 14;

/// Whether an array of the shape may be made.
pub fn small(shape: &[usize]) -> bool {
    // ndarray itself refuses shapes whose sizes other than 0 multiply to too much.
    (shape.iter())
        .try_fold(1_usize, |n, &size| n.checked_mul(size.max(1)))
        .is_some_and(|n| n <= MOST_ELEMENTS)
}

/// A size: small, or anything at all.
pub fn size(bytes: &mut Unstructured<'_>) -> Result<usize> {
    Ok(match bytes.int_in_range(0..=15_u8)? {
        small @ 0..=11 => usize::from(small % 6),
        12 => usize::MAX,
        13 => isize::MAX as usize,
        14 => usize::from(u8::arbitrary(bytes)?),
        _ => usize::arbitrary(bytes)?,
    })
}

/// A list of sizes or axes.
pub fn sizes(bytes: &mut Unstructured<'_>, longest: usize) -> Result<Vec<usize>> {
    let length = bytes.int_in_range(0..=longest)?;
    (0..length).map(|_| size(bytes)).collect()
}

/// A list of axes that mostly are axes of such a rank.
pub fn axes(bytes: &mut Unstructured<'_>, rank: usize) -> Result<Vec<usize>> {
    if bool::arbitrary(bytes)? {
        // A set, in order.
        let set = u8::arbitrary(bytes)?;
        return Ok((0..rank)
            .filter(|axis| set >> (axis % 8) & 1 == 1)
            .collect());
    }
    let length = bytes.int_in_range(0..=8_usize)?;
    (0..length)
        .map(|_| match bytes.int_in_range(0..=9_u8)? {
            0 => size(bytes),
            near => Ok(usize::from(near) % (rank + 1)),
        })
        .collect()
}

/// A shape of few elements.
pub fn small_shape(bytes: &mut Unstructured<'_>, highest_rank: usize) -> Result<Vec<usize>> {
    let mut left = MOST_ELEMENTS;
    let rank = bytes.int_in_range(0..=highest_rank)?;
    let mut shape = Vec::with_capacity(rank);
    for _ in 0..rank {
        let size = match bytes.int_in_range(0..=9_u8)? {
            small @ 0..=6 => usize::from(small),
            7 => 1,
            8 => usize::from(u8::arbitrary(bytes)?),
            _ => usize::from(u16::arbitrary(bytes)? % 4100),
        };
        let size = size.min(left);
        left /= size.max(1);
        shape.push(size);
    }
    Ok(shape)
}

/// A shape that broadcasts to `output` when its axes stand where `columns` says: sizes are its own or 1.
pub fn feeding(
    bytes: &mut Unstructured<'_>,
    output: &[usize],
    columns: impl Iterator<Item = usize>,
) -> Result<Vec<usize>> {
    columns
        .map(|column| {
            Ok(match bytes.int_in_range(0..=2_u8)? {
                0 => 1,
                _ => output[column],
            })
        })
        .collect()
}

/// How a shape lies in memory: the order of its axes, and for each one the elements before, after, and the step.
#[derive(Debug, Clone)]
pub struct Layout {
    order: Vec<usize>,
    cuts: Vec<(usize, usize, isize)>,
}

impl Layout {
    pub fn arbitrary(bytes: &mut Unstructured<'_>, rank: usize) -> Result<Self> {
        let mut order: Vec<usize> = (0..rank).collect();
        for i in (1..rank).rev() {
            if bool::arbitrary(bytes)? {
                order.swap(i, bytes.int_in_range(0..=i)?);
            }
        }
        let mut cuts = Vec::with_capacity(rank);
        for _ in 0..rank {
            cuts.push(match bytes.int_in_range(0..=7_u8)? {
                0 => (1, 2, 1),
                1 => (0, 0, -1),
                2 => (0, 1, 2),
                3 => (2, 0, -3),
                _ => (0, 0, 1),
            });
        }
        Ok(Layout { order, cuts })
    }

    /// Axes in any order, of which one at most is cut: for large shapes.
    pub fn nearly_dense(bytes: &mut Unstructured<'_>, rank: usize) -> Result<Self> {
        let mut layout = Self::arbitrary(bytes, rank)?;
        let cut = bytes.int_in_range(0..=rank)?;
        for (axis, cuts) in layout.cuts.iter_mut().enumerate() {
            if axis != cut {
                // Reversed axes stay so, as they take no more memory.
                *cuts = (0, 0, cuts.2.clamp(-1, 1));
            }
        }
        Ok(layout)
    }

    /// An array of which [`seen`](Self::seen) is a part of the given shape.
    pub fn whole<A: Clone>(&self, shape: &[usize], fill: impl FnMut(usize) -> A) -> ArrayD<A> {
        let sizes: Vec<usize> = (self.order.iter())
            .map(|&axis| {
                let (before, after, step) = self.cuts[axis];
                before + shape[axis].max(1).saturating_sub(1) * step.unsigned_abs() + 1 + after
            })
            .collect();
        let count = sizes.iter().product();
        ArrayD::from_shape_vec(IxDyn(&sizes), (0..count).map(fill).collect()).unwrap()
    }

    fn slice(&self, axis: usize, size: usize) -> Slice {
        let (before, _, step) = self.cuts[axis];
        let end = match size {
            0 => before,
            _ => before + (size - 1) * step.unsigned_abs() + 1,
        };
        Slice::new(before as isize, Some(end as isize), step)
    }

    fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.order.len()];
        for (place, &axis) in self.order.iter().enumerate() {
            places[axis] = place;
        }
        places
    }

    pub fn seen<'a, A>(&self, whole: &'a ArrayD<A>, shape: &[usize]) -> ArrayViewD<'a, A> {
        let mut view = whole.view().permuted_axes(self.places());
        for (axis, &size) in shape.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), self.slice(axis, size));
        }
        view
    }

    pub fn seen_mut<'a, A>(
        &self,
        whole: &'a mut ArrayD<A>,
        shape: &[usize],
    ) -> ArrayViewMutD<'a, A> {
        let mut view = whole.view_mut().permuted_axes(self.places());
        for (axis, &size) in shape.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), self.slice(axis, size));
        }
        view
    }
}

/// A generated value as a type that `fuzz_target!` takes.
macro_rules! arbitrary_by {
    ($type:ty, $generate:expr) => {
        impl<'a> arbitrary::Arbitrary<'a> for $type {
            fn arbitrary(bytes: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
                $generate(bytes)
            }
        }
    };
}
pub(crate) use arbitrary_by;
