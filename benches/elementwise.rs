//! `a + b` of broadcast f32 arrays: as a new array, into an existing one, and in place; compared
//! with the memory limit and with ndarray.
//!
//! `cargo bench --bench elementwise` runs all cases and then prints a table of ratios, for which
//! the candidates alternate. A filter, as in `cargo bench --bench elementwise -- big/row`, selects
//! cases. `-- table` prints only the table. Dropping a result is not timed. Arrays have 4 MiB (mid)
//! or 256 MiB (big).
//!
//! The limit is a loop over slices on all threads, without a broadcast. It reads `a`, unless `a` is
//! small, and writes the output with the fastest kind of store for such memory.

mod memory;

use criterion::Criterion;
use ndarray::Zip;
use ndarray_broadcast::prelude::*;
use std::cell::RefCell;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

struct Case {
    name: &'static str,
    a: &'static [usize],
    b: &'static [usize],
    rule: ElementwiseRule,
}

fn cases(scale: &str) -> Vec<Case> {
    let case = |name, a, b, rule| Case { name, a, b, rule };
    let (numpy, pdpd) = (ElementwiseRule::Numpy, |axis| ElementwiseRule::Pdpd {
        axis,
    });
    match scale {
        "mid" => vec![
            case("channel", &[1, 64, 128, 128], &[64], pdpd(1)),
            case("row", &[4096, 256], &[256], numpy.clone()),
            case("column", &[4096, 256], &[4096], pdpd(0)),
            case("outer", &[1024, 1], &[1, 1024], numpy),
        ],
        _ => vec![
            case("channel", &[16, 64, 256, 256], &[64], pdpd(1)),
            case("row", &[262144, 256], &[256], numpy.clone()),
            case("column", &[262144, 256], &[262144], pdpd(0)),
            case("outer", &[8192, 1], &[1, 8192], numpy),
        ],
    }
}

/// The name of a candidate, and a function that runs it and returns the time taken.
type Candidate<'a> = (&'static str, &'a mut dyn FnMut() -> Duration);

/// The time of `work`, without dropping its result.
fn timed<R>(work: impl FnOnce() -> R) -> Duration {
    let start = Instant::now();
    let result = black_box(work());
    let took = start.elapsed();
    drop(result);
    took
}

/// Calls `measure` with the candidates of each kind of output.
fn candidates(case: &Case, mut measure: impl FnMut(&'static str, [Candidate<'_>; 3])) {
    let ones = |shape: &[usize]| memory::array(shape, || 1.0);
    let (a, b, rule) = (ones(case.a), ones(case.b), &case.rule);
    let (a_view, b_view) = broadcast_pair(&a, &b, rule).expect("the case is one of the rule");
    let len = a_view.len();
    let read = (a.len() == len).then(|| a.as_slice().expect("standard layout"));
    measure(
        "fresh",
        [
            ("limit", &mut || timed(|| fresh_limit(read, len))),
            ("this crate", &mut || {
                timed(|| zip(broadcast_pair(&a, &b, rule)?).map_collect(|(a, b)| a + b))
            }),
            ("ndarray", &mut || {
                timed(|| Zip::from(&a_view).and(&b_view).map_collect(|a, b| a + b))
            }),
        ],
    );
    let out = RefCell::new(memory::array(a_view.shape(), || 0.0));
    measure(
        "into",
        [
            ("limit", &mut || {
                timed(|| {
                    into_limit(
                        read,
                        out.borrow_mut().as_slice_mut().expect("standard layout"),
                    )
                })
            }),
            ("this crate", &mut || {
                timed(|| {
                    zip(broadcast_pair(&a, &b, rule)?)
                        .map_assign_into(&mut out.borrow_mut(), |(a, b)| a + b)
                })
            }),
            ("ndarray", &mut || {
                let mut out = out.borrow_mut();
                timed(|| {
                    (Zip::from(&mut *out).and(&a_view).and(&b_view))
                        .for_each(|out, a, b| *out = a + b)
                })
            }),
        ],
    );
    if read.is_some() {
        measure(
            "in place",
            [
                ("limit", &mut || {
                    timed(|| {
                        in_place_limit(out.borrow_mut().as_slice_mut().expect("standard layout"))
                    })
                }),
                ("this crate", &mut || {
                    timed(|| {
                        let mut out = out.borrow_mut();
                        let (_, plan) = BroadcastPlan::pair(out.raw_dim(), b.raw_dim(), rule)?;
                        zip(plan.view(&b)?).update(&mut out, |a, b| *a += b)
                    })
                }),
                ("ndarray", &mut || timed(|| *out.borrow_mut() += &b_view)),
            ],
        );
    }
}

fn criterion_benches(criterion: &mut Criterion) {
    for scale in ["mid", "big"] {
        for case in cases(scale) {
            let mut group = criterion.benchmark_group(format!("{scale}/{}", case.name));
            group
                .sample_size(10)
                .warm_up_time(Duration::from_millis(200))
                .measurement_time(Duration::from_millis(if scale == "big" {
                    1000
                } else {
                    300
                }));
            candidates(&case, |how, candidates| {
                for (who, run) in candidates {
                    group.bench_function(format!("{how}/{who}"), |bencher| {
                        bencher.iter_custom(|rounds| (0..rounds).map(|_| run()).sum());
                    });
                }
            });
            group.finish();
        }
    }
}

/// Prints medians. In each round, every candidate runs some consecutive calls, as in a training
/// loop.
fn table() {
    println!("\nmedians in ms; /limit: time over limit; ahead: ndarray's time over this crate's");
    println!("case          how          limit  this crate  /limit   ndarray  ahead");
    // The first argument that is not an option is criterion's filter; `table` selects all cases.
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-') && argument != "table");
    for scale in ["mid", "big"] {
        for case in cases(scale) {
            let name = format!("{scale}/{}", case.name);
            if filter.as_ref().is_some_and(|filter| !name.contains(filter)) {
                continue;
            }
            let (rounds, calls) = if scale == "big" { (5, 4) } else { (20, 20) };
            candidates(&case, |how, mut candidates| {
                let mut times: [Vec<Duration>; 3] = Default::default();
                for round in 0..rounds {
                    for ((who, run), times) in candidates.iter_mut().zip(&mut times) {
                        // ndarray is slow: a few calls are enough.
                        let calls = match *who {
                            "ndarray" if round < 5 => 1,
                            "ndarray" => 0,
                            _ => calls,
                        };
                        times.extend((0..calls).map(|_| run()));
                    }
                }
                let [limit, ours, ndarray] = times.map(|mut times| {
                    times.sort();
                    times[times.len() / 2].as_secs_f64() * 1e3
                });
                println!(
                    "{name:12}  {how:8}  {limit:8.3}    {ours:8.3}  {:6.2}  {ndarray:8.3}  {:5.1}",
                    ours / limit,
                    ndarray / ours,
                );
            });
        }
    }
}

fn main() {
    let is_there = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    if !is_there("table") {
        let mut criterion = Criterion::default().configure_from_args();
        criterion_benches(&mut criterion);
        criterion.final_summary();
    }
    // `cargo test --benches` only checks that the benchmark runs.
    if !is_there("--test") {
        table();
    }
}

/// Splits `0..len` into one range per thread, in whole 2 MiB pages if it is large enough, and runs
/// `work` on each.
fn on_every_core(len: usize, work: impl Fn(std::ops::Range<usize>) + Sync) {
    #[cfg(feature = "rayon")]
    {
        let page = if len >= 8 << 20 { 512 << 10 } else { 1024 };
        let chunk = len
            .div_ceil(rayon::current_num_threads())
            .next_multiple_of(page);
        rayon::scope(|scope| {
            for start in (chunk..len).step_by(chunk) {
                let work = &work;
                scope.spawn(move |_| work(start..len.min(start + chunk)));
            }
            work(0..len.min(chunk));
        });
    }
    #[cfg(not(feature = "rayon"))]
    work(0..len);
}

/// A pointer to an allocation whose disjoint ranges different threads write.
struct Shared(*mut f32);
// SAFETY: each thread accesses its own range only.
unsafe impl Sync for Shared {}
impl Shared {
    /// # Safety
    ///
    /// The range lies in the allocation, and no other thread uses it.
    #[allow(clippy::mut_from_ref)]
    unsafe fn slice(&self, range: &std::ops::Range<usize>) -> &mut [MaybeUninit<f32>] {
        let start = self.0.wrapping_add(range.start).cast();
        // SAFETY: by the contract.
        unsafe { std::slice::from_raw_parts_mut(start, range.len()) }
    }
}

fn fresh_limit(read: Option<&[f32]>, len: usize) -> Vec<f32> {
    let mut out = Vec::<f32>::with_capacity(len);
    // As the crate does: smaller allocations share their pages.
    if len >= 8 << 20 {
        memory::advise_huge_pages(out.as_mut_ptr(), len);
    }
    let shared = Shared(out.as_mut_ptr());
    on_every_core(len, |range| {
        // SAFETY: the capacity is `len`, and the ranges are disjoint.
        let out = unsafe { shared.slice(&range) };
        match read {
            Some(read) => {
                for (out, read) in out.iter_mut().zip(&read[range]) {
                    out.write(read + 1.0);
                }
            }
            None => {
                out.fill(MaybeUninit::new(2.0));
            }
        }
    });
    // SAFETY: all elements were written above.
    unsafe { out.set_len(len) };
    out
}

fn into_limit(read: Option<&[f32]>, out: &mut [f32]) {
    let shared = Shared(out.as_mut_ptr());
    let big = size_of_val(out) >= 32 << 20;
    on_every_core(out.len(), |range| {
        // SAFETY: the ranges are disjoint and lie in `out`.
        let out = unsafe { shared.slice(&range) };
        match read.map(|read| &read[range]) {
            read if big => stream(read, out),
            Some(read) => {
                for (out, read) in out.iter_mut().zip(read) {
                    out.write(read + 1.0);
                }
            }
            None => out.fill(MaybeUninit::new(2.0)),
        }
    });
}

fn in_place_limit(x: &mut [f32]) {
    let shared = Shared(x.as_mut_ptr());
    on_every_core(x.len(), |range| {
        // SAFETY: the ranges are disjoint and lie in `x`.
        let x = unsafe { shared.slice(&range) };
        for x in x {
            // SAFETY: the elements of `x` are initialised.
            x.write(unsafe { x.assume_init() } + 1.0);
        }
    });
}

/// `read + 1`, or 2, into `out` with non-temporal stores.
#[cfg(target_arch = "x86_64")]
fn stream(read: Option<&[f32]>, out: &mut [MaybeUninit<f32>]) {
    use std::arch::x86_64::{_mm_add_ps, _mm_loadu_ps, _mm_set1_ps, _mm_sfence, _mm_stream_ps};
    assert!(out.as_ptr().addr() % 16 == 0 && out.len() % 4 == 0);
    assert!(read.is_none_or(|read| read.len() == out.len()));
    for at in (0..out.len()).step_by(4) {
        let to = out.as_mut_ptr().wrapping_add(at).cast();
        // SAFETY: SSE is in the baseline of the target.
        let ones = unsafe { _mm_set1_ps(1.0) };
        let read = read.map_or(ones, |read| {
            // SAFETY: the slice has 4 elements.
            unsafe { _mm_loadu_ps(read[at..at + 4].as_ptr()) }
        });
        // SAFETY: SSE is in the baseline of the target.
        let sum = unsafe { _mm_add_ps(read, ones) };
        // SAFETY: `out` has 4 elements at `at`, as its length is a multiple of 4, and is aligned to
        // 16 bytes.
        unsafe { _mm_stream_ps(to, sum) };
    }
    // SAFETY: no precondition.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(read: Option<&[f32]>, out: &mut [MaybeUninit<f32>]) {
    for (i, out) in out.iter_mut().enumerate() {
        out.write(read.map_or(2.0, |read| read[i] + 1.0));
    }
}
