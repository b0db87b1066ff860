//! Arrays in memory as NumPy allocates it: with huge pages advised. So all candidates and limits
//! have as few TLB misses as the arrays of another library would.

use ndarray::{ArrayD, IxDyn};

/// The size from which NumPy advises huge pages.
const HUGE_PAGES_FROM: usize = 4 << 20;

/// An array filled with the values of `f` in order.
pub fn array(shape: &[usize], f: impl FnMut() -> f32) -> ArrayD<f32> {
    let len = shape.iter().product();
    let mut values = Vec::with_capacity(len);
    advise_huge_pages(values.as_mut_ptr(), len);
    values.extend(std::iter::repeat_with(f).take(len));
    ArrayD::from_shape_vec(IxDyn(shape), values).expect("as many values as the shape has elements")
}

/// Advises huge pages for the whole 2 MiB pages of a large allocation.
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
        // SAFETY: the range lies in the allocation, and the advice (14, `MADV_HUGEPAGE`) changes no
        // byte.
        unsafe { madvise(start.cast::<u8>().wrapping_add(skip).cast(), whole, 14) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, len, HUGE_PAGES_FROM);
}
