//! The door to maps: an output and its inputs, and a closure that is called for each position.
//!
//! The driver is given arrays, and checks that the inputs replicate to the output's shape. So every
//! offset of its loop nest is an element of its operand. Outside this file a map is safe:
//! [`collect`], [`overwrite`] and [`update`] call a closure with items of the inputs.

use super::inputs::{AndPlaces, Input, Inputs, map};
use super::maps::To;
use super::memory::uninit_in_order;
use super::tuning::FEW_ELEMENTS;
use crate::error::{ArrayRole, Result, check_shape};
use ndarray::{Array, ArrayRef, Dimension};
use std::mem::{MaybeUninit, forget, needs_drop};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Calls `op` with each element of `x` and the elements of the inputs.
///
/// # Errors
///
/// `WrongShape`, `AllocationFailed`; no element has changed then.
#[inline]
pub(crate) fn update<X: Send, D: Dimension, I: Inputs>(
    x: &mut ArrayRef<X, D>,
    inputs: I,
    op: impl Fn(&mut X, I::Items) + Sync,
) -> Result<()> {
    map(x, &inputs, op, To::Existing)?;
    Ok(())
}

/// Replaces each element of `out`, to which the inputs replicate, by what `f` returns for the
/// elements of the inputs. The old elements are dropped.
///
/// # Errors
///
/// `WrongShape`, `AllocationFailed`; no element has changed then.
#[inline]
pub(crate) fn overwrite<C: Send, D: Dimension, I: Inputs>(
    out: &mut ArrayRef<C, D>,
    inputs: I,
    f: impl Fn(I::Items) -> C + Sync,
) -> Result<()> {
    update(out, inputs, |x, items| *x = f(items))
}

/// A new array of what `f` returns for the elements of the inputs, in their common order. If `f`
/// panics, the elements that exist are dropped.
///
/// # Errors
///
/// `WrongShape` if the inputs do not replicate to `dim`; `ShapeOverflow`, `AllocationFailed`.
#[inline]
pub(crate) fn collect<C: Send, D: Dimension, I: Inputs>(
    dim: D,
    inputs: I,
    f: impl Fn(I::Items) -> C + Sync,
) -> Result<Array<C, D>> {
    let out = uninit_output(dim, &inputs)?;
    fill(out, inputs, f)
}

/// A new array of the shape of the inputs, in their common order, whose elements are not
/// initialised yet.
///
/// # Errors
///
/// `ShapeOverflow`, `AllocationFailed`.
#[inline(always)]
fn uninit_output<C, D: Dimension, I: Inputs>(
    dim: D,
    inputs: &I,
) -> Result<Array<MaybeUninit<C>, D>> {
    uninit_in_order(dim, inputs.operands::<true>().as_ref())
}

/// `out`, filled with what `f` returns for the elements of the inputs. Its elements lie side by
/// side.
#[inline]
fn fill<C: Send, D: Dimension, I: Inputs>(
    mut out: Array<MaybeUninit<C>, D>,
    inputs: I,
    f: impl Fn(I::Items) -> C + Sync,
) -> Result<Array<C, D>> {
    let count = match needs_drop::<C>() {
        true => fill_counted(&mut out, &inputs, f)?,
        false => map(
            &mut out,
            &inputs,
            |x, items| _ = x.write(f(items)),
            To::Fresh,
        )?,
    };
    assert_eq!(count, out.len(), "elements were left out");
    // SAFETY: the closure was called for so many positions, each of them once, and wrote the
    // element: `maps::map`. A panic does not get here.
    Ok(unsafe { out.assume_init() })
}

/// [`collect`] with a closure that may fail. Of all errors, the one of the element that comes first
/// in memory is returned.
///
/// # Errors
///
/// As for [`collect`].
pub(crate) fn try_collect<C: Copy + Send, E: Send, D: Dimension, I: Inputs>(
    dim: D,
    inputs: I,
    f: impl Fn(I::Items) -> Result<C, E> + Sync,
) -> Result<Result<Array<C, D>, E>> {
    let mut out: Array<MaybeUninit<C>, D> = uninit_output(dim, &inputs)?;
    let failed = Mutex::new(None);
    let op = |x: &mut MaybeUninit<C>, items: I::Items| match f(items) {
        Ok(value) => _ = x.write(value),
        Err(error) => {
            let place = ptr::from_mut(x).addr();
            let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
            let later = match *first {
                Some((at, _)) if at <= place => Some((place, error)),
                _ => first.replace((place, error)),
            };
            // The error is the caller's: what its `Drop` does must not wait for this lock.
            drop(first);
            drop(later);
        }
    };
    let count = map(&mut out, &inputs, op, To::Fresh)?;
    assert_eq!(count, out.len(), "elements were left out");
    if let Some((_, error)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Ok(Err(error));
    }
    // SAFETY: the closure was called for so many positions, each of them once, and never failed: it
    // wrote each element. A panic does not get here.
    Ok(Ok(unsafe { out.assume_init() }))
}

/// Two new arrays of the two values that `f` returns for the items of the inputs, in the common
/// order of these.
///
/// # Errors
///
/// `WrongShape` if the inputs do not replicate to `dim`; `ShapeOverflow`, `AllocationFailed`.
pub(crate) fn collect_two<C: Copy + Send, E: Copy + Send, D: Dimension, I: Inputs>(
    dim: D,
    inputs: I,
    f: impl Fn(I::Items) -> (C, E) + Sync,
) -> Result<(Array<C, D>, Array<E, D>)> {
    let mut second = uninit_output(dim.clone(), &inputs)?;
    let first = uninit_output(dim, &inputs)?;
    // SAFETY: `fill` is given an output of the same shape, and maps once.
    let places = unsafe { Input::places(&mut second) };
    let both = AndPlaces(inputs, places);
    let first = fill(first, both, |(items, place)| {
        let (c, e) = f(items);
        place.write(e);
        c
    })?;
    // SAFETY: `fill` has called the closure for every index, with the items at that index. The
    // place is one of them. A panic does not get here.
    Ok((first, unsafe { second.assume_init() }))
}

/// [`overwrite`] of two outputs, by the two values that `f` returns.
///
/// # Errors
///
/// As for [`overwrite`]; `WrongShape` if the outputs have different shapes.
pub(crate) fn overwrite_two<C: Send, E: Send, D: Dimension, I: Inputs>(
    first: &mut ArrayRef<C, D>,
    second: &mut ArrayRef<E, D>,
    inputs: I,
    f: impl Fn(I::Items) -> (C, E) + Sync,
) -> Result<()> {
    // A smaller second output would replicate, and threads would write one place.
    check_shape(ArrayRole::SecondOut, first.shape(), second.shape())?;
    // SAFETY: the shapes are equal, and `overwrite` maps once.
    let places = unsafe { Input::places(second) };
    let both = AndPlaces(inputs, places);
    overwrite(first, both, |(items, place)| {
        let (c, e) = f(items);
        *place = e;
        c
    })
}

/// The most chunks of an output whose elements have drop glue. Each has a count of its initialised
/// elements; this many counts fit on the stack.
const COUNTED_CHUNKS: usize = 64;

/// Fills `out`, whose elements lie side by side, in chunks, and counts the elements of each. If `f`
/// panics, the counted elements are dropped.
fn fill_counted<C: Send, D: Dimension, I: Inputs>(
    out: &mut Array<MaybeUninit<C>, D>,
    inputs: &I,
    f: impl Fn(I::Items) -> C + Sync,
) -> Result<usize> {
    let chunk = out.len().div_ceil(COUNTED_CHUNKS).max(FEW_ELEMENTS);
    // From the array itself: a pointer from a borrowed slice must not be used after a write through
    // the array's pointer.
    let elements = out.as_mut_ptr();
    let side_by_side = out.as_slice_memory_order().map(<[_]>::as_ptr);
    assert!(
        side_by_side == Some(elements.cast_const()),
        "there are gaps"
    );
    let initialised = Initialised {
        first: elements.cast::<C>(),
        chunk,
        counts: [const { AtomicUsize::new(0) }; COUNTED_CHUNKS],
    };
    let (counts, first) = (&initialised.counts, elements.addr());
    let op = |x: &mut MaybeUninit<C>, items: I::Items| {
        let value = f(items);
        // The elements of a chunk are written in order, by one thread: the driver sorts axes by
        // the strides of the output, which has no gaps. Elements of size 0 are all in the first
        // chunk, whichever threads write them.
        let position = (ptr::from_mut(x).addr() - first).checked_div(size_of::<C>());
        let count = &counts[position.unwrap_or(0) / chunk];
        x.write(value);
        // Relaxed: whoever reads the counts waits for this thread first.
        count.fetch_add(1, Ordering::Relaxed);
    };
    let count = map(out, inputs, op, To::Ordered { chunk })?;
    // From here on the elements belong to the output.
    forget(initialised);
    Ok(count)
}

/// How many elements of each chunk of an array without gaps are initialised. Drops them when
/// it is dropped.
struct Initialised<C> {
    first: *mut C,
    chunk: usize,
    counts: [AtomicUsize; COUNTED_CHUNKS],
}

impl<C> Drop for Initialised<C> {
    fn drop(&mut self) {
        for (index, count) in self.counts.iter_mut().enumerate() {
            let count = *count.get_mut();
            if count == 0 {
                continue;
            }
            let first = self.first.wrapping_add(index * self.chunk);
            let elements = ptr::slice_from_raw_parts_mut(first, count);
            // SAFETY: the first `count` elements of the chunk are initialised: the driver maps the
            // positions of a chunk in the order of memory, `To::Ordered`, on one thread.
            // Nothing else drops them, as the output holds `MaybeUninit`. All threads have stopped.
            unsafe { ptr::drop_in_place(elements) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tuning::LARGE_ELEMENT;
    use ndarray::{Array1, Array2, Array3, ArrayD, IxDyn, ShapeBuilder, Slice};

    /// An array of the shape whose strides are reversed, doubled or permuted, as the number says.
    fn laid_out(shape: &[usize], number: usize) -> ArrayD<u32> {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        axes.rotate_left(number % shape.len().max(1));
        let larger: Vec<usize> = axes.iter().map(|&axis| 2 * shape[axis]).collect();
        let count = larger.iter().product::<usize>() as u32;
        let values = Array1::from_iter((0..count).map(|i| i * 7 + number as u32));
        let values = values.into_shape_with_order(IxDyn(&larger)).unwrap();
        let mut back = vec![0; axes.len()];
        for (place, &axis) in axes.iter().enumerate() {
            back[axis] = place;
        }
        let step = if number % 2 == 0 { 2 } else { -2 };
        let mut array = values.permuted_axes(back);
        array.slice_each_axis_inplace(|_| Slice::new(0, None, step));
        array
    }

    #[test]
    fn maps_of_every_layout_are_as_index_by_index() {
        for shape in [
            &[][..],
            &[0],
            &[1],
            &[33],
            &[5, 300],
            &[300, 5],
            &[900, 3],
            &[40, 40],
            &[3, 35, 36],
            &[3, 3000],
        ] {
            for number in 0..6 {
                let (a, b) = (laid_out(shape, number), laid_out(shape, number / 2));
                let expected = ArrayD::from_shape_fn(IxDyn(shape), |i| a[&i].wrapping_sub(b[&i]));
                let inputs = || (Input::values(&a), Input::values(&b));
                let f = |(a, b): (u32, u32)| a.wrapping_sub(b);
                assert_eq!(collect(IxDyn(shape), inputs(), f).unwrap(), expected);
                let boxed = collect(IxDyn(shape), inputs(), |items| Box::new(f(items))).unwrap();
                assert_eq!(boxed.map(|value| **value), expected);
                let (a_view, b_view) = (a.view(), b.view());
                let refs = (Input::refs(&a_view), Input::refs(&b_view));
                let by_ref = collect(IxDyn(shape), refs, |(a, b)| a.wrapping_sub(*b));
                assert_eq!(by_ref.unwrap(), expected);
                let two = collect_two(IxDyn(shape), inputs(), |items| {
                    (f(items), u64::from(items.0))
                });
                assert_eq!(two.unwrap(), (expected.clone(), a.mapv(u64::from)));
                let marked = collect_two(IxDyn(shape), inputs(), |items| ((), f(items))).unwrap();
                assert_eq!(marked.1, expected);
                let mut out = laid_out(shape, number + 1);
                overwrite(&mut out, inputs(), f).unwrap();
                assert_eq!(out, expected);
                let (mut out, mut second) = (laid_out(shape, number + 1), laid_out(shape, number));
                // SAFETY: the shapes are equal, and `overwrite` maps once.
                let second_places = unsafe { Input::places(&mut second) };
                let places = (second_places, Input::values(&a), Input::values(&b));
                let write = |(place, a, b): (&mut u32, u32, u32)| {
                    *place = a;
                    f((a, b))
                };
                overwrite(&mut out, places, write).unwrap();
                assert_eq!((out, &second), (expected, &a));
                let mut out = laid_out(shape, number + 2);
                let sum = &out + &a;
                update(&mut out, (Input::values(&a),), |x, a| *x += a).unwrap();
                assert_eq!(out, sum);
            }
        }
    }

    #[test]
    fn chunks_of_long_rows_are_mapped_once_however_slow_the_closure() {
        // On both sides of one chunk, of narrow vectors and of the most bytes without a nest. The
        // outer axes make one loop, or not; some chunks end within the last but one axis.
        for shape in [
            &[31, 32][..],
            &[32, 32],
            &[2, 3, 17, 40],
            &[64, 64],
            &[64, 65],
            &[7, 13, 50],
            &[2, 3, 25, 40],
            &[10, 60, 20],
            &[3, 2, 70, 30],
            &[40, 5, 20],
            &[300, 1, 16],
            &[3, 1, 6000],
            &[6000, 1],
            &[128, 128],
            &[129, 128],
        ] {
            let a = ArrayD::from_shape_fn(IxDyn(shape), |i| {
                i.as_array_view()
                    .iter()
                    .fold(7_u32, |sum, &i| sum * 31 + i as u32)
            });
            let row = a.index_axis(ndarray::Axis(0), 0);
            let row = row.broadcast(IxDyn(shape)).unwrap();
            let expected = ndarray::Zip::from(&a)
                .and(&row)
                .map_collect(|a, b| a.wrapping_sub(*b));
            for slow in [false, true] {
                let f = |(a, b): (u32, u32)| {
                    // More than 20 us a chunk, so that chunks are shared.
                    (0..if slow { 20 } else { 0 }).for_each(|i| {
                        std::hint::black_box(i);
                    });
                    a.wrapping_sub(b)
                };
                let inputs = || (Input::values(&a), Input::values(&row));
                let what = (shape, slow);
                assert_eq!(
                    collect(IxDyn(shape), inputs(), f).unwrap(),
                    expected,
                    "{what:?}"
                );
                let mut out = a.clone();
                overwrite(&mut out, inputs(), f).unwrap();
                assert_eq!(out, expected, "{what:?}");
                // If an element were mapped twice, `b` would be subtracted twice.
                let mut out = a.clone();
                update(&mut out, (Input::values(&row),), |x, b| *x = f((*x, b))).unwrap();
                assert_eq!(out, expected, "{what:?}");
            }
        }
    }

    /// A packed row is used again only below itself, not for the columns after it.
    #[test]
    fn replicated_rows_that_are_packed_are_as_index_by_index() {
        // Rows of one part, and rows of several, many of them in a chunk.
        for (rows, columns) in [(3, 20_000), (300, 401)] {
            let numbers = Array1::from_iter((0..2 * columns as u32).map(|i| [i; 12]));
            let apart = numbers.slice(ndarray::s![..; 2]);
            let column = Array2::from_shape_fn((rows, 1), |(i, _)| i as u32 * 100_000);
            let (a, b) = (
                apart.broadcast((rows, columns)).unwrap(),
                column.broadcast((rows, columns)).unwrap(),
            );
            let inputs = (Input::values(&a), Input::values(&b));
            let found = collect(a.raw_dim(), inputs, |(a, b)| {
                a[0] ^ a[11] ^ a[5].wrapping_add(b)
            });
            let expected = Array2::from_shape_fn((rows, columns), |(i, j)| {
                (2 * j as u32).wrapping_add(i as u32 * 100_000)
            });
            assert_eq!(found.unwrap(), expected, "{rows} {columns}");
        }
    }

    /// Maps of a matrix of elements of one size and a row of elements of another.
    #[track_caller]
    fn check_sizes<const A: usize, const B: usize>() {
        for shape in [[2, 3], [5, 33], [40, 70], [70, 40], [3, 1100]] {
            let numbered = |i: usize, j: usize| (i * 1103 + j * 7) as u32;
            let a = Array2::from_shape_fn(shape, |(i, j)| [numbered(i, j) as u8; A]);
            let fortran = Array2::from_shape_fn(shape.f(), |(i, j)| [numbered(i, j) as u8; A]);
            let row = Array1::from_shape_fn(shape[1], |j| [(numbered(3, j) >> 3) as u8; B]);
            let row = row.broadcast(shape).unwrap();
            let element = |a: [u8; A], b: [u8; B]| [a[0] ^ b[B - 1], a[A - 1].wrapping_add(b[0])];
            let expected = Array2::from_shape_fn(shape, |at| element(a[at], row[at]));
            for a in [a.view(), fortran.view()] {
                let what = format!("{A} and {B} bytes, {shape:?}, {:?}", a.strides());
                let inputs = || (Input::values(&a), Input::values(&row));
                let found = collect(a.raw_dim(), inputs(), |(a, b)| element(a, b)).unwrap();
                assert_eq!(found, expected, "{what}");
                let mut out = Array2::from_elem(shape, [0; 2]);
                overwrite(&mut out, inputs(), |(a, b)| element(a, b)).unwrap();
                assert_eq!(out, expected, "{what}");
                let mut large = Array2::from_elem(shape, [1; LARGE_ELEMENT]);
                let write = |out: &mut [u8; LARGE_ELEMENT], (a, b)| {
                    let [first, last] = element(a, b);
                    (out[0], out[LARGE_ELEMENT - 1]) = (first, last);
                };
                update(&mut large, inputs(), write).unwrap();
                let ends = large.map(|out| [out[0], out[LARGE_ELEMENT - 1]]);
                assert_eq!(ends, expected, "{what}");
            }
        }
    }

    #[test]
    fn small_and_large_elements_are_mapped_together() {
        const SMALL: usize = LARGE_ELEMENT - 1;
        check_sizes::<SMALL, SMALL>();
        check_sizes::<LARGE_ELEMENT, SMALL>();
        check_sizes::<SMALL, LARGE_ELEMENT>();
        check_sizes::<LARGE_ELEMENT, LARGE_ELEMENT>();
        check_sizes::<1, LARGE_ELEMENT>();
        check_sizes::<{ LARGE_ELEMENT + 1 }, 4>();
    }

    #[test]
    fn inputs_of_another_shape_are_refused() {
        let (a, b) = (Array2::<u8>::zeros((3, 4)), Array2::<u8>::zeros((4, 3)));
        let mut out = Array2::<u8>::zeros((3, 4));
        let inputs = || (Input::values(&a), Input::values(&b));
        assert!(collect(a.raw_dim(), inputs(), |(a, b)| a + b).is_err());
        assert!(overwrite(&mut out, inputs(), |(a, b)| a + b).is_err());
        assert!(update(&mut out, inputs(), |x, (a, b)| *x = a + b).is_err());
        let mut row = Array2::<u8>::zeros((1, 4));
        let two = overwrite_two(&mut out, &mut row, (Input::values(&a),), |a| (a, a));
        assert!(two.is_err());
        let c = Array3::<u8>::zeros((3, 4, 1));
        assert!(update(&mut out, (Input::values(&c),), |x, c| *x = c).is_err());
        let crossed = Array3::<u8>::zeros((2, 3, 4)).reversed_axes();
        assert!(collect(a.raw_dim(), (Input::values(&crossed),), |c| c).is_err());
    }
}
