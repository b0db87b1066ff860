//! Shared by the targets: shapes and memory layouts decoded from bytes.

#![allow(dead_code, unused_imports, unused_macros)]

use arbitrary::{Arbitrary, Result, Unstructured};
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn, Slice};

/// The most elements of an array that is allocated.
pub const MAX_ELEMENTS: usize = 1 << 14;

/// Whether an array of the shape may be allocated.
pub fn small(shape: &[usize]) -> bool {
    // ndarray panics if the sizes other than 0 multiply to too much.
    (shape.iter())
        .try_fold(1_usize, |n, &size| n.checked_mul(size.max(1)))
        .is_some_and(|n| n <= MAX_ELEMENTS)
}

/// A size: small, or any `usize`.
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

/// A list of axes, most of them below `rank`.
pub fn axes(bytes: &mut Unstructured<'_>, rank: usize) -> Result<Vec<usize>> {
    if bool::arbitrary(bytes)? {
        // A sorted set.
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

/// A shape of at most [`MAX_ELEMENTS`] elements.
pub fn small_shape(bytes: &mut Unstructured<'_>, highest_rank: usize) -> Result<Vec<usize>> {
    let mut left = MAX_ELEMENTS;
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

/// An input shape whose axes feed `output_axes` of `output`: each size is the output's or 1.
pub fn feeding(
    bytes: &mut Unstructured<'_>,
    output: &[usize],
    output_axes: impl Iterator<Item = usize>,
) -> Result<Vec<usize>> {
    output_axes
        .map(|output_axis| {
            Ok(match bytes.int_in_range(0..=2_u8)? {
                0 => 1,
                _ => output[output_axis],
            })
        })
        .collect()
}

/// A memory layout of a shape: the order of its axes, and for each axis the elements before, the
/// elements after, and the step.
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

    /// Axes in any order, of which at most one is sliced: for large shapes.
    pub fn nearly_dense(bytes: &mut Unstructured<'_>, rank: usize) -> Result<Self> {
        let mut layout = Self::arbitrary(bytes, rank)?;
        let cut = bytes.int_in_range(0..=rank)?;
        for (axis, cuts) in layout.cuts.iter_mut().enumerate() {
            if axis != cut {
                // Keep reversed axes: they take no more memory.
                *cuts = (0, 0, cuts.2.clamp(-1, 1));
            }
        }
        Ok(layout)
    }

    /// A buffer of which [`view`](Self::view) has the given shape.
    pub fn buffer<A: Clone>(&self, shape: &[usize], fill: impl FnMut(usize) -> A) -> ArrayD<A> {
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

    pub fn view<'a, A>(&self, buffer: &'a ArrayD<A>, shape: &[usize]) -> ArrayViewD<'a, A> {
        let mut view = buffer.view().permuted_axes(self.places());
        for (axis, &size) in shape.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), self.slice(axis, size));
        }
        view
    }

    pub fn view_mut<'a, A>(
        &self,
        buffer: &'a mut ArrayD<A>,
        shape: &[usize],
    ) -> ArrayViewMutD<'a, A> {
        let mut view = buffer.view_mut().permuted_axes(self.places());
        for (axis, &size) in shape.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), self.slice(axis, size));
        }
        view
    }
}

/// Implements `Arbitrary` for a type by a function, for `fuzz_target!`.
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
