//! Memory as NumPy's arrays have it: with huge pages advised, so that every candidate and every limit reads through as few
//! entries of the page tables as the arrays of another library would.

use ndarray::{ArrayD, IxDyn};

/// From this many bytes on NumPy asks for huge pages.
const HUGE_PAGES_FROM: usize = 4 << 20;

/// An array of what `f` gives, one element after the other.
pub fn array(shape: &[usize], f: impl FnMut() -> f32) -> ArrayD<f32> {
    let len = shape.iter().product();
    let mut values = Vec::with_capacity(len);
    advise_huge_pages(values.as_mut_ptr(), len);
    values.extend(std::iter::repeat_with(f).take(len));
    ArrayD::from_shape_vec(IxDyn(shape), values).expect("as many values as the shape has elements")
}

/// Asks for huge pages behind the whole 2 MiB pages of a big allocation.
pub fn advise_huge_pages(start: *mut f32, len: usize) {
    #[cfg(target_os = "linux")]
    if len * size_of::<f32>() >= HUGE_PAGES_FROM {
        use std::ffi::{c_int, c_void};
        unsafe extern "C" {
            fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        let bytes = len * size_of::<f32>();
        let skip = start.cast::<u8>().align_offset(2 << 20);
        let whole = bytes.saturating_sub(skip) & !((2 << 20) - 1);
        // SAFETY: the range lies in the allocation, and the advice (14, `MADV_HUGEPAGE`) changes none of its bytes.
        unsafe { madvise(start.cast::<u8>().wrapping_add(skip).cast(), whole, 14) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, len, HUGE_PAGES_FROM);
}
