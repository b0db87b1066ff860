//! Allocation: vectors and arrays, and huge pages behind large ones.

use super::pack::Operand;
#[cfg(all(target_os = "linux", not(miri)))]
use super::tuning::HUGE_PAGE;
use super::tuning::{HUGE_PAGES_FROM, INLINE_AXES};
use crate::error::{Result, allocation_failed, reserved, shape_overflow};
use crate::shape::{Sizes, elements, replicates};
use ndarray::{Array, Dimension, ShapeBuilder};
use smallvec::SmallVec;
use std::mem::MaybeUninit;

/// How many elements a fresh array of `shape` has.
///
/// # Errors
///
/// `ShapeOverflow` if it has more than `isize::MAX` bytes.
#[inline]
pub(crate) fn output_len<A>(shape: &[usize]) -> Result<usize> {
    elements(shape)
        .filter(|len| {
            let bytes = len.checked_mul(size_of::<A>());
            bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok())
        })
        .ok_or_else(|| shape_overflow(shape, Some(size_of::<A>())))
}

/// An array in standard layout whose elements are not initialised yet, on huge pages if it is
/// large.
///
/// # Errors
///
/// `ShapeOverflow`, `AllocationFailed`.
#[inline]
pub(crate) fn uninit_array<A, D: Dimension>(dim: D) -> Result<Array<MaybeUninit<A>, D>> {
    let vec = uninit_vec(dim.sizes())?;
    // SAFETY: the vector has as many elements as `dim`, which are at most `isize::MAX`.
    Ok(unsafe { Array::from_shape_vec_unchecked(dim, vec) })
}

/// [`uninit_array`] whose axes are ordered in memory as those of arrays that replicate to it. See
/// [`common_order`].
///
/// # Errors
///
/// `ShapeOverflow`, `AllocationFailed`.
#[inline(always)]
pub(crate) fn uninit_in_order<A, D: Dimension>(
    dim: D,
    operands: &[Operand<'_>],
) -> Result<Array<MaybeUninit<A>, D>> {
    let vec = uninit_vec(dim.sizes())?;
    let mut strides = dim.clone();
    if !common_order(dim.sizes(), operands, strides.sizes_mut())? {
        // SAFETY: the vector has as many elements as `dim`, which are at most `isize::MAX`.
        return Ok(unsafe { Array::from_shape_vec_unchecked(dim, vec) });
    }
    // SAFETY: as above; the strides are those of nested loops over the axes that are longer than 1,
    // and no index moves along the others.
    Ok(unsafe { Array::from_shape_vec_unchecked(dim.strides(strides), vec) })
}

/// Elements of an array of this shape, at most `isize::MAX`, which are not initialised yet.
#[inline]
fn uninit_vec<A>(shape: &[usize]) -> Result<Vec<MaybeUninit<A>>> {
    let len = output_len::<A>(shape)?;
    let mut vec = reserved(len)?;
    // SAFETY: `reserved(len)` gave a capacity of at least `len`, and a `MaybeUninit` needs no
    // initialisation.
    unsafe { vec.set_len(len) };
    if size_of_val(&vec[..]) >= HUGE_PAGES_FROM {
        advise_huge_pages(&mut vec);
    }
    Ok(vec)
}

/// Sets `to` to the strides of a new array without gaps whose axes are ordered in memory as those
/// of the operands: NumPy's order "K". `false`: it has standard layout. At first `to` is the
/// shape, so axes of size 1 keep a stride of 1.
///
/// Two axes are compared by the absolute strides of each operand in which both move. If operands
/// disagree, the axes stay as in standard layout. An axis moves towards the innermost place only
/// past axes of smaller strides; axes that no operand compares stay where they are.
///
/// # Errors
///
/// `AllocationFailed`, only if more than `INLINE_AXES` axes are longer than 1.
///
/// Source: `npyiter_find_best_axis_ordering` of NumPy.
fn common_order(shape: &[usize], operands: &[Operand<'_>], to: &mut [usize]) -> Result<bool> {
    // No axis moves if no stride is shorter than one inside it. That is so for most arrays.
    let ordered = |operand: &Operand<'_>| {
        let axes = operand.shape.iter().zip(operand.strides).rev();
        let mut longest = 0;
        axes.filter(|(size, _)| **size != 1).all(|(_, stride)| {
            let stride = stride.unsigned_abs();
            longest = longest.max(stride);
            stride == 0 || stride == longest
        })
    };
    // Others have no stride for each axis. The map refuses them later.
    let fit = |operand: &Operand<'_>| replicates(operand.shape, shape);
    if operands.iter().all(ordered) || !operands.iter().all(fit) || shape.contains(&0) {
        return Ok(false);
    }
    let rank = shape.len();
    let stride = |operand: &Operand<'_>, axis| operand.stride(axis, rank).unsigned_abs();
    // The axes from the innermost place on. Those of size 1, of which there may be very many, have
    // no place. The others are at most 63, as the array has at most `isize::MAX` elements.
    let long = (0..rank).rev().filter(|&axis| shape[axis] != 1);
    let mut order = SmallVec::<[usize; INLINE_AXES]>::new();
    let count = long.clone().count();
    (order.try_reserve(count)).map_err(|_| allocation_failed(count * size_of::<usize>()))?;
    order.extend(long);
    // Whether `axis` belongs inside `inner`, which stands inside it. `None`: nothing tells.
    let belongs_inside = |axis: usize, inner: usize| {
        let compared = operands.iter().filter_map(|operand| {
            let [axis, inner] = [axis, inner].map(|axis| stride(operand, axis));
            (axis != 0 && inner != 0).then_some(axis < inner)
        });
        compared.reduce(|all, inside| all && inside)
    };
    for sorted in 1..count {
        let axis = order[sorted];
        let mut place = sorted;
        for at in (0..sorted).rev() {
            match belongs_inside(axis, order[at]) {
                Some(true) => place = at,
                Some(false) => break,
                None => {}
            }
        }
        order[place..=sorted].rotate_right(1);
    }
    let moved = !order.is_sorted_by(|inner, outer| inner > outer);
    if moved {
        let mut stride = 1;
        for axis in order {
            to[axis] = stride;
            stride *= shape[axis];
        }
    }
    Ok(moved)
}

/// An array in standard layout of the elements that `push` puts into a vector.
///
/// # Errors
///
/// `ShapeOverflow`, `AllocationFailed`.
///
/// # Panics
///
/// If they are not as many as `dim` has.
#[inline(always)]
pub(crate) fn array_of<A, D: Dimension>(
    dim: D,
    push: impl FnOnce(&mut Vec<A>),
) -> Result<Array<A, D>> {
    let len = output_len::<A>(dim.sizes())?;
    let mut vec = reserved(len)?;
    push(&mut vec);
    assert_eq!(vec.len(), len);
    // SAFETY: the vector has as many elements as `dim`, as just asserted; they are at most
    // `isize::MAX`, as `output_len` has found.
    Ok(unsafe { Array::from_shape_vec_unchecked(dim, vec) })
}

/// Asks the kernel for huge pages behind the whole 2 MiB pages inside `memory`. What it answers
/// does not matter.
#[cfg(all(target_os = "linux", not(miri)))]
#[cold]
fn advise_huge_pages<A>(memory: &mut [MaybeUninit<A>]) {
    use std::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    let bytes = size_of_val(memory);
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(HUGE_PAGE);
    if skip < bytes {
        let whole = (bytes - skip) / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: `skip + whole <= bytes`, so the range lies inside `memory`; this advice changes
        // no byte of it.
        unsafe { madvise(start.wrapping_add(skip).cast(), whole, MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge_pages<A>(_memory: &mut [MaybeUninit<A>]) {}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Ix1;

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(output_len::<u8>(&[3, 4]), Ok(12));
        assert_eq!(output_len::<[u8; 0]>(&[usize::MAX / 2]), Ok(usize::MAX / 2));
        assert_eq!(output_len::<u64>(&[usize::MAX / 2, 0]), Ok(0));
        for shape in [
            &[usize::MAX / 2][..],
            &[usize::MAX / 8],
            &[usize::MAX / 8, usize::MAX / 8],
        ] {
            assert_eq!(
                output_len::<u64>(shape),
                Err(shape_overflow(shape, Some(8))),
                "{shape:?}"
            );
        }
        // With 32 bits, memory may hold as much.
        if usize::BITS == 64 {
            let bytes = isize::MAX as usize;
            assert_eq!(
                uninit_array::<u8, _>(Ix1(bytes)).unwrap_err(),
                allocation_failed(bytes)
            );
        }
    }

    #[cfg(panic = "unwind")]
    #[test]
    fn arrays_have_as_many_elements_as_their_shape() {
        let filled =
            |len| std::panic::catch_unwind(|| array_of(Ix1(3), |vec| vec.extend(0..len)).unwrap());
        assert_eq!(filled(3).unwrap(), ndarray::arr1(&[0, 1, 2]));
        assert!(filled(2).is_err() && filled(4).is_err());
    }

    /// The parts of `memory` that lie in mappings for which huge pages have been advised, as
    /// offsets; what the kernel says of them.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn advised(memory: &[MaybeUninit<u8>]) -> Vec<std::ops::Range<usize>> {
        let start = memory.as_ptr().addr();
        let (mut found, mut mapping) = (vec![], 0..0);
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("Linux has it");
        for line in smaps.lines() {
            let first = line.split(' ').next().expect("one part at least");
            let address = |text| usize::from_str_radix(text, 16).ok();
            if let Some((from, to)) = first.split_once('-') {
                if let (Some(from), Some(to)) = (address(from), address(to)) {
                    mapping = from..to;
                }
            }
            let inside = mapping.start.max(start)..mapping.end.min(start + memory.len());
            if first == "VmFlags:" && line.split(' ').any(|flag| flag == "hg") && !inside.is_empty()
            {
                found.push(inside.start - start..inside.end - start);
            }
        }
        found
    }

    /// Whether advice that is given here shows. It does not where the kernel has no huge pages, or
    /// an emulator of processors keeps the advice from it.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn advice_shows() -> bool {
        use std::ffi::{c_int, c_void};
        unsafe extern "C" {
            fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        let mut memory = vec![MaybeUninit::<u8>::uninit(); 2 * HUGE_PAGE];
        let start = memory.as_mut_ptr().cast::<u8>();
        let start = start.wrapping_add(start.align_offset(HUGE_PAGE));
        // SAFETY: a whole huge page of `memory`, which this advice does not change.
        unsafe { madvise(start.cast(), HUGE_PAGE, 14) };
        !advised(&memory).is_empty()
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn huge_pages_are_advised_for_all_whole_ones_of_large_memory() {
        if !advice_shows() {
            return;
        }
        let advised_of = |bytes| {
            let array = uninit_array::<u8, _>(Ix1(bytes)).unwrap();
            let memory = array.as_slice().unwrap();
            (advised(memory), memory.as_ptr().addr())
        };
        assert!(advised_of(HUGE_PAGES_FROM - 1).0.is_empty());
        for bytes in [HUGE_PAGES_FROM, HUGE_PAGES_FROM + 3 * HUGE_PAGE + 12_345] {
            let (found, address) = advised_of(bytes);
            let first = address.next_multiple_of(HUGE_PAGE) - address;
            let end = first + (bytes - first) / HUGE_PAGE * HUGE_PAGE;
            assert_eq!(found, std::slice::from_ref(&(first..end)));
        }
        // What holds no whole page is left alone.
        let mut none = uninit_array::<u8, _>(Ix1(HUGE_PAGE - 1)).unwrap();
        let memory = none.as_slice_mut().unwrap();
        advise_huge_pages(memory);
        assert!(advised(memory).is_empty());
    }
}
