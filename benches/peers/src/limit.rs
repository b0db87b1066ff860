//! The memory limit: the smallest memory traffic of each operation, without any other work.
//!
//! For existing memory beyond the cache, the limit is a fill or a copy with non-temporal stores.
//! For fresh memory, it is a plain fill of huge pages. For a reduction, it is one read of its
//! operands. For a map, only the first operand is read. At the smaller scales one thread, or threads
//! that never sleep, may be faster: the fastest is reported.

use std::error::Error;
use std::hint::{black_box, spin_loop};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::Peer;
use crate::bench::Bench;
use crate::calls::{Call, CallCase, Element};
use crate::cases::Materialize;
use crate::pages::{HUGE_PAGE, advise_huge_pages, source};

/// The elements of a huge page. Chunks of this size and alignment are the unit of work.
const CHUNK: usize = HUGE_PAGE / size_of::<f32>();

/// The size from which glibc gives every allocation its own mapping.
const OWN_MAPPING: usize = 32 << 20;

pub(crate) struct Limit;

/// Writes a chunk of the output, given the offset of its first element.
type Writer<'a> = &'a (dyn Fn(&mut [MaybeUninit<f32>], usize) + Sync);

impl Peer for Limit {
    fn materialize(&self, case: &Materialize, bench: &Bench) -> Result<(), Box<dyn Error>> {
        write_once(bench, case.out.iter().product());
        Ok(())
    }

    fn call(&self, case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
        let size = match case.element {
            Element::U8 => 1,
            Element::F16 => 2,
            Element::F32 => 4,
            Element::F64 | Element::I64 => 8,
        };
        // The traffic of the case, in `f32`.
        let length = |shape: &[usize]| (shape.iter().product::<usize>() * size).div_ceil(4);
        let (a, out) = (length(&case.a), length(&case.out()));
        if case.is_reduction() {
            read_once(
                bench,
                match case.call {
                    Call::Product2 => 2 * a,
                    Call::Product3 => 3 * a,
                    _ => a,
                },
            );
        } else if a == out {
            let from = source(out, 1.5);
            write_limits(
                bench,
                out,
                &|chunk, at| copy(chunk, &from[at..][..chunk.len()]),
                &|chunk, at| stream::copy(chunk, &from[at..][..chunk.len()]),
            );
        } else {
            // All operands are much smaller than the output.
            write_once(bench, out);
        }
        Ok(())
    }
}

/// The limit of a reduction of `n` elements.
fn read_once(bench: &Bench, n: usize) {
    // The result is much smaller than the operands: fresh or not makes no difference.
    let hows = &["fresh", "into"];
    let from = source(n, 1.5);
    let chunk_len = n.div_ceil(threads());
    let chunks: Vec<&[f32]> = from.chunks(chunk_len).collect();
    let work = |i: usize| {
        black_box(chunks.get(i).copied().map(sum));
    };
    let mut parallel = || {
        black_box(from.par_chunks(CHUNK / 8).map(sum).sum::<f32>());
    };
    let mut alone = || {
        black_box(sum(black_box(&from)));
    };
    if size_of_val(from.as_slice()) < OWN_MAPPING {
        spinning(&work, |all| bench.limit(hows, &mut [all, &mut alone]));
    } else {
        bench.limit(hows, &mut [&mut parallel, &mut alone]);
    }
}

/// The limits of an operation whose sources are much smaller than its output.
fn write_once(bench: &Bench, n: usize) {
    let value = black_box(1.5);
    let plain: Writer = &|chunk, _| wide(|| chunk.fill(MaybeUninit::new(value)));
    write_limits(bench, n, plain, &|chunk, _| stream::fill(chunk, value));
}

fn write_limits(bench: &Bench, n: usize, plain: Writer, streaming: Writer) {
    let mut own = vec![MaybeUninit::new(0.0); n];
    let out = &std::cell::RefCell::new(own.as_mut_slice());
    if n * size_of::<f32>() >= OWN_MAPPING {
        let mut parallel = || drop(black_box(fresh(n, |room| in_chunks(room, plain))));
        let mut alone = || drop(black_box(fresh(n, |room| plain(room, 0))));
        bench.limit(&["fresh"], &mut [&mut parallel, &mut alone]);
        let mut stream = || in_chunks(&mut out.borrow_mut(), streaming);
        let mut parallel = || in_chunks(&mut out.borrow_mut(), plain);
        bench.limit(&["into"], &mut [&mut stream, &mut parallel]);
        return;
    }
    // The threads read the output's address here. Each writes its own range.
    let address = AtomicPtr::new(std::ptr::null_mut::<MaybeUninit<f32>>());
    let range_len = n.div_ceil(threads());
    let work = |i: usize| {
        let (start, end) = ((i * range_len).min(n), ((i + 1) * range_len).min(n));
        let first = address.load(Ordering::Acquire).wrapping_add(start);
        // SAFETY: the address is that of `n` elements, which are borrowed mutably until all threads
        // are done. The ranges do not overlap.
        plain(
            unsafe { std::slice::from_raw_parts_mut(first, end - start) },
            start,
        );
    };
    spinning(&work, |all| {
        let all = &std::cell::RefCell::new(all);
        let together = |room: &mut [MaybeUninit<f32>]| {
            assert_eq!(room.len(), n);
            address.store(room.as_mut_ptr(), Ordering::Release);
            (all.borrow_mut())();
        };
        let mut spun = || drop(black_box(fresh(n, together)));
        let mut alone = || drop(black_box(fresh(n, |room| plain(room, 0))));
        bench.limit(&["fresh"], &mut [&mut spun, &mut alone]);
        let mut spun = || together(black_box(&mut out.borrow_mut()));
        let mut alone = || plain(black_box(&mut out.borrow_mut()), 0);
        bench.limit(&["into"], &mut [&mut spun, &mut alone]);
    });
}

fn threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `measure` with a function that runs `work(0)`, `work(1)`, ... once, one on each thread.
/// The threads never sleep.
fn spinning(work: &(dyn Fn(usize) + Sync), measure: impl FnOnce(&mut dyn FnMut())) {
    const OVER: usize = usize::MAX;

    /// Ends the threads, even if a measurement panics.
    struct End<'a>(&'a AtomicUsize);

    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(OVER, Ordering::Release);
        }
    }

    let (turn, done) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _end = End(turn);
        for i in 1..threads() {
            scope.spawn(move || {
                let mut last = 0;
                loop {
                    match turn.load(Ordering::Acquire) {
                        OVER => return,
                        now if now == last => spin_loop(),
                        now => {
                            last = now;
                            work(i);
                            done.fetch_add(1, Ordering::Release);
                        }
                    }
                }
            });
        }
        measure(&mut || {
            done.store(0, Ordering::Relaxed);
            turn.fetch_add(1, Ordering::Release);
            work(0);
            while done.load(Ordering::Acquire) < threads() - 1 {
                spin_loop();
            }
        });
    });
}

/// Writes `out` in chunks, on all threads.
fn in_chunks(out: &mut [MaybeUninit<f32>], write: Writer) {
    let head = out.as_ptr().align_offset(HUGE_PAGE).min(out.len());
    let (first, rest) = out.split_at_mut(head);
    let chunks = rest.par_chunks_mut(CHUNK).enumerate();
    rayon::join(
        || write(first, 0),
        || chunks.for_each(|(i, chunk)| write(chunk, head + i * CHUNK)),
    );
}

/// A new `Vec` of `n` elements, filled by `write`, with huge pages if it has its own mapping.
fn fresh(n: usize, write: impl FnOnce(&mut [MaybeUninit<f32>])) -> Vec<MaybeUninit<f32>> {
    let mut vec = Vec::<MaybeUninit<f32>>::with_capacity(n);
    // SAFETY: the capacity is at least `n`, and `MaybeUninit` needs no initialisation.
    unsafe { vec.set_len(n) };
    advise_huge_pages(&mut vec, OWN_MAPPING);
    write(&mut vec);
    vec
}

fn copy(out: &mut [MaybeUninit<f32>], from: &[f32]) {
    assert_eq!(out.len(), from.len());
    // SAFETY: the lengths are equal, and a mutable borrow overlaps no other.
    unsafe {
        out.as_mut_ptr()
            .cast::<f32>()
            .copy_from_nonoverlapping(from.as_ptr(), from.len())
    };
}

/// The sum, in enough partial sums to keep all adders busy.
fn sum(from: &[f32]) -> f32 {
    let (blocks, rest) = from.as_chunks::<64>();
    let mut partial = [0.0; 64];
    wide(|| {
        for block in blocks {
            for (to, x) in partial.iter_mut().zip(block) {
                *to += x;
            }
        }
    });
    partial.iter().chain(rest).sum()
}

/// Runs `work` with AVX2 if the processor has it.
fn wide<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }

        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

/// Non-temporal stores: the cores do not read the lines that they overwrite.
#[cfg(target_arch = "x86_64")]
mod stream {
    use std::arch::x86_64::{__m128, _mm_loadu_ps, _mm_set1_ps, _mm_sfence, _mm_stream_ps};
    use std::mem::MaybeUninit;

    #[repr(align(64))]
    struct Line([MaybeUninit<f32>; 16]);

    pub(super) fn fill(out: &mut [MaybeUninit<f32>], value: f32) {
        // SAFETY: a `Line` is 16 elements without padding.
        let (head, lines, tail) = unsafe { out.align_to_mut::<Line>() };
        head.fill(MaybeUninit::new(value));
        // SAFETY: every x86-64 processor has SSE.
        let vector = unsafe { _mm_set1_ps(value) };
        for line in lines {
            store(line, [vector; 4]);
        }
        fence();
        tail.fill(MaybeUninit::new(value));
    }

    pub(super) fn copy(out: &mut [MaybeUninit<f32>], from: &[f32]) {
        // SAFETY: a `Line` is 16 elements without padding, and any bytes are a valid `MaybeUninit`.
        let (head, lines, tail) = unsafe { out.align_to_mut::<Line>() };
        let (first, rest) = from.split_at(head.len());
        super::copy(head, first);
        let (blocks, last) = rest.as_chunks::<16>();
        for (line, block) in lines.iter_mut().zip(blocks) {
            let (quarters, _) = block.as_chunks::<4>();
            // SAFETY: each quarter is 4 `f32`, and the load needs no alignment.
            store(
                line,
                std::array::from_fn(|k| unsafe { _mm_loadu_ps(quarters[k].as_ptr()) }),
            );
        }
        fence();
        super::copy(tail, last);
    }

    #[inline]
    fn store(line: &mut Line, vectors: [__m128; 4]) {
        for (k, vector) in vectors.into_iter().enumerate() {
            let to = line.0.as_mut_ptr().wrapping_add(4 * k).cast();
            // SAFETY: a line has room for 4 vectors and is aligned for them. `fence` follows.
            unsafe { _mm_stream_ps(to, vector) };
        }
    }

    /// Orders the non-temporal stores before all later stores.
    fn fence() {
        // SAFETY: every x86-64 processor has SSE.
        unsafe { _mm_sfence() };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod stream {
    use std::mem::MaybeUninit;

    pub(super) fn fill(out: &mut [MaybeUninit<f32>], value: f32) {
        out.fill(MaybeUninit::new(value));
    }

    pub(super) fn copy(out: &mut [MaybeUninit<f32>], from: &[f32]) {
        super::copy(out, from);
    }
}
