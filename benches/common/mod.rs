//! Shared by the benchmarks of copies: timing, medians, and the memory limits to compare with.
#![allow(dead_code)] // No benchmark uses all of it.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// The size from which glibc gives every allocation its own mapping.
const OWN_MAPPING: usize = 32 << 20;

/// The name of a candidate, and a function that runs it and returns the time taken.
pub type Candidate<'a> = (&'static str, &'a mut dyn FnMut() -> Duration);

/// The time of `work`, without dropping its result.
pub fn timed<R>(work: impl FnOnce() -> R) -> Duration {
    let start = Instant::now();
    let result = black_box(work());
    let took = start.elapsed();
    drop(result);
    took
}

/// The mean time of `calls` consecutive calls, dropping included: for work shorter than a clock
/// reading.
pub fn timed_together<R>(calls: u32, mut work: impl FnMut() -> R) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(work());
    }
    start.elapsed() / calls
}

/// The median, in milliseconds.
pub fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Splits `out` into one chunk per thread, in whole 2 MiB pages if it is large enough, and runs
/// `work` on each.
fn on_every_core(out: &mut [MaybeUninit<u8>], work: impl Fn(&mut [MaybeUninit<u8>], usize) + Sync) {
    #[cfg(feature = "rayon")]
    {
        let threads = rayon::current_num_threads();
        let head = out.as_ptr().align_offset(HUGE_PAGE).min(out.len());
        let chunk_size = (out.len() - head)
            .div_ceil(threads)
            .next_multiple_of(HUGE_PAGE)
            .max(HUGE_PAGE);
        let (first, rest) = out.split_at_mut((head + chunk_size).min(out.len()));
        rayon::scope(|scope| {
            for (i, chunk) in rest.chunks_mut(chunk_size).enumerate() {
                let (work, start) = (&work, first.len() + i * chunk_size);
                scope.spawn(move |_| work(chunk, start));
            }
            work(first, 0);
        });
    }
    #[cfg(not(feature = "rayon"))]
    work(out, 0);
}

/// An element type.
///
/// # Safety
///
/// Every bit pattern is a valid value.
pub unsafe trait Element: Copy + Send + Sync {
    /// A value for position `i`. Never 0: writing zeros may be faster than other values.
    fn numbered(i: usize) -> Self;
}

// SAFETY: every bit pattern is a valid `f32`.
unsafe impl Element for f32 {
    fn numbered(i: usize) -> Self {
        (i % 1021 + 1) as f32
    }
}

// SAFETY: every bit pattern is a valid `f64`.
unsafe impl Element for f64 {
    fn numbered(i: usize) -> Self {
        (i % 1021 + 1) as f64
    }
}

// SAFETY: every bit pattern is a valid `u8`.
unsafe impl Element for u8 {
    fn numbered(i: usize) -> Self {
        (i % 251 + 1) as u8
    }
}

// SAFETY: an array has no padding, and every bit pattern is a valid `f32`.
unsafe impl Element for [f32; 3] {
    fn numbered(i: usize) -> Self {
        [(i % 1021 + 1) as f32, 0.5, -1.0]
    }
}

/// The bytes of `values`.
pub fn bytes_of<T: Element>(values: &mut [T]) -> &mut [MaybeUninit<u8>] {
    let bytes = size_of_val(values);
    // SAFETY: the same memory. The functions here write initialised bytes only, and each of these
    // is a valid `T` by the contract of `Element`.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), bytes) }
}

/// Writes every byte with non-temporal stores, on all threads.
pub fn fill_streaming(out: &mut [MaybeUninit<u8>]) {
    on_every_core(out, |chunk, _| stream(chunk));
}

/// Writes every byte with plain stores, on all threads.
pub fn fill_on_every_core(out: &mut [MaybeUninit<u8>]) {
    on_every_core(out, |chunk, _| fill(chunk));
}

/// Writes every byte on this thread.
pub fn fill(out: &mut [MaybeUninit<u8>]) {
    black_box(out).fill(MaybeUninit::new(black_box(63)));
}

/// A new vector, filled on all threads, with huge pages if it has its own mapping.
pub fn fresh_filled(bytes: usize) -> Vec<MaybeUninit<u8>> {
    let mut out = uninit(bytes);
    fill_on_every_core(&mut out);
    out
}

/// A new vector, filled on this thread.
pub fn fresh_filled_here(bytes: usize) -> Vec<MaybeUninit<u8>> {
    let mut out = uninit(bytes);
    fill(&mut out);
    out
}

/// Copies all bytes, on all threads.
pub fn copy(out: &mut [MaybeUninit<u8>], from: &[MaybeUninit<u8>]) {
    on_every_core(out, |chunk, start| {
        chunk.copy_from_slice(&from[start..][..chunk.len()]);
    });
}

/// A new vector with a copy of `from`, on all threads.
pub fn fresh_copy(from: &[MaybeUninit<u8>]) -> Vec<MaybeUninit<u8>> {
    let mut out = uninit(from.len());
    copy(&mut out, from);
    out
}

fn uninit(bytes: usize) -> Vec<MaybeUninit<u8>> {
    let mut out = Vec::with_capacity(bytes);
    // SAFETY: the capacity is at least `bytes`, and `MaybeUninit` needs no initialisation.
    unsafe { out.set_len(bytes) };
    advise_huge_pages(&mut out);
    out
}

fn whole_pages(start: *const u8, bytes: usize) -> Range<usize> {
    let skip = start.align_offset(HUGE_PAGE).min(bytes);
    skip..skip + (bytes - skip) / HUGE_PAGE * HUGE_PAGE
}

/// Advises huge pages for a large allocation, as the crate does.
pub fn advise_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    let bytes = size_of_val(memory);
    if bytes < OWN_MAPPING {
        return;
    }
    let pages = whole_pages(memory.as_ptr().cast(), bytes);
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_void};
        unsafe extern "C" {
            fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        let start = memory.as_mut_ptr().cast::<u8>().wrapping_add(pages.start);
        // SAFETY: the range lies in `memory`, and the advice (14, `MADV_HUGEPAGE`) changes no byte.
        unsafe { madvise(start.cast(), pages.len(), 14) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = pages;
}

/// Writes every byte with non-temporal stores.
#[cfg(target_arch = "x86_64")]
fn stream(out: &mut [MaybeUninit<u8>]) {
    use std::arch::x86_64::{_mm_set1_ps, _mm_sfence, _mm_stream_ps};
    let head = out.as_ptr().align_offset(64).min(out.len());
    let (head, rest) = out.split_at_mut(head);
    let whole = rest.len() / 64 * 64;
    let (lines, tail) = rest.split_at_mut(whole);
    head.fill(MaybeUninit::new(63));
    tail.fill(MaybeUninit::new(63));
    // SAFETY: SSE is in the baseline of the target.
    let value = unsafe { _mm_set1_ps(black_box(0.5)) };
    for line in lines.chunks_exact_mut(64) {
        for at in [0, 16, 32, 48] {
            let to = line[at..at + 16].as_mut_ptr().cast();
            // SAFETY: 16 bytes within the line, whose start is a multiple of 64.
            unsafe { _mm_stream_ps(to, value) };
        }
    }
    // SAFETY: no precondition.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(out: &mut [MaybeUninit<u8>]) {
    fill(out);
}
