//! `a + b` of broadcast f32 arrays: a new array, into an existing one, and in place; beside the least that the memory must
//! do for it, and beside ndarray's own way.
//!
//! `cargo bench --bench elementwise`, or `-- mid` or `-- big/row` for a part of it. The table at the end shows medians, and
//! how many times the limit each is. Dropping a result is not timed. Arrays hold 4 MiB (mid) or 256 MiB (big).
//!
//! The limit is a loop over plain slices on every core: it reads `a` (unless it is small too) and writes the output, in
//! the way that is fastest for such memory, without any broadcast.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use ndarray::{ArrayD, Zip};
use ndarray_broadcast::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
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

/// Every time measured, by (scale and case, how, who).
type Times = RefCell<BTreeMap<(String, &'static str, &'static str), Vec<Duration>>>;

struct Bench<'a, 'c> {
    group: BenchmarkGroup<'c, WallTime>,
    case: String,
    times: &'a Times,
}

impl Bench<'_, '_> {
    fn time<R>(&mut self, how: &'static str, who: &'static str, mut work: impl FnMut() -> R) {
        let key = (self.case.clone(), how, who);
        self.group
            .bench_function(format!("{how}/{who}"), |bencher| {
                bencher.iter_custom(|rounds| {
                    let mut total = Duration::ZERO;
                    for _ in 0..rounds {
                        let start = Instant::now();
                        let result = black_box(work());
                        let took = start.elapsed();
                        drop(result);
                        total += took;
                        let mut times = self.times.borrow_mut();
                        times.entry(key.clone()).or_default().push(took);
                    }
                    total
                });
            });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let times = Times::default();
    for scale in ["mid", "big"] {
        for case in cases(scale) {
            run(&mut criterion, scale, &case, &times);
        }
    }
    criterion.final_summary();
    print_table(&times.borrow());
}

fn run(criterion: &mut Criterion, scale: &str, case: &Case, times: &Times) {
    let name = format!("{scale}/{}", case.name);
    let mut group = criterion.benchmark_group(&name);
    group.sample_size(if scale == "big" { 10 } else { 50 });
    group.warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_millis(1500));
    let mut bench = Bench {
        group,
        case: name,
        times,
    };
    let ones = |shape: &[usize]| ArrayD::<f32>::ones(shape);
    let (a, b, rule) = (ones(case.a), ones(case.b), &case.rule);
    let (a_view, b_view) = broadcast_pair(&a, &b, rule).expect("the case is one of the rule");
    let shape = a_view.raw_dim();
    let len = a_view.len();
    let read = (a.len() == len).then(|| a.as_slice().expect("standard layout"));

    bench.time("fresh", "limit", || fresh_limit(read, len));
    bench.time("fresh", "this crate", || a.zip_map(&b, rule, |a, b| a + b));
    bench.time("fresh", "ndarray", || {
        Zip::from(&a_view).and(&b_view).map_collect(|a, b| a + b)
    });

    let mut out = ArrayD::<f32>::zeros(shape);
    bench.time("into", "limit", || {
        into_limit(read, out.as_slice_mut().expect("standard layout"));
    });
    bench.time("into", "this crate", || {
        a.zip_map_into(&b, rule, &mut out, |a, b| a + b)
    });
    bench.time("into", "ndarray", || {
        Zip::from(&mut out)
            .and(&a_view)
            .and(&b_view)
            .for_each(|out, a, b| *out = a + b);
    });

    if read.is_some() {
        bench.time("in place", "limit", || {
            in_place_limit(out.as_slice_mut().expect("standard layout"));
        });
        bench.time("in place", "this crate", || {
            out.zip_map_inplace(&b, rule, |a, b| *a += b)
        });
        bench.time("in place", "ndarray", || out += &b_view);
    }
    bench.group.finish();
}

/// Calls `work` with each thread's share of `0..len`, in whole 2 MiB pages where there are so many.
fn on_every_core(len: usize, work: impl Fn(std::ops::Range<usize>) + Sync) {
    #[cfg(feature = "rayon")]
    {
        let page = if len >= 8 << 20 { 512 << 10 } else { 1024 };
        let share = len
            .div_ceil(rayon::current_num_threads())
            .next_multiple_of(page);
        rayon::scope(|scope| {
            for start in (share..len).step_by(share) {
                let work = &work;
                scope.spawn(move |_| work(start..len.min(start + share)));
            }
            work(0..len.min(share));
        });
    }
    #[cfg(not(feature = "rayon"))]
    work(0..len);
}

/// A pointer that threads divide among themselves.
struct Shared(*mut f32);
// SAFETY: each thread goes through it to its own range only.
unsafe impl Sync for Shared {}
impl Shared {
    /// # Safety
    ///
    /// The range is of one allocation, and nobody else's.
    #[allow(clippy::mut_from_ref)]
    unsafe fn slice(&self, range: &std::ops::Range<usize>) -> &mut [MaybeUninit<f32>] {
        let start = self.0.wrapping_add(range.start).cast();
        // SAFETY: by the contract.
        unsafe { std::slice::from_raw_parts_mut(start, range.len()) }
    }
}

fn fresh_limit(read: Option<&[f32]>, len: usize) -> Vec<f32> {
    let mut out = Vec::<f32>::with_capacity(len);
    advise_huge_pages(out.as_mut_ptr(), len);
    let shared = Shared(out.as_mut_ptr());
    on_every_core(len, |range| {
        // SAFETY: `len` is the capacity; ranges are disjoint.
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
    // SAFETY: all of them were written above.
    unsafe { out.set_len(len) };
    out
}

fn into_limit(read: Option<&[f32]>, out: &mut [f32]) {
    let shared = Shared(out.as_mut_ptr());
    let big = size_of_val(out) >= 32 << 20;
    on_every_core(out.len(), |range| {
        // SAFETY: ranges are disjoint.
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
        // SAFETY: ranges are disjoint.
        let x = unsafe { shared.slice(&range) };
        for x in x {
            // SAFETY: the slice was one of initialised elements.
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
            // SAFETY: `at` and the three after it are in the slice.
            unsafe { _mm_loadu_ps(read[at..at + 4].as_ptr()) }
        });
        // SAFETY: as above.
        let sum = unsafe { _mm_add_ps(read, ones) };
        // SAFETY: `at` and the three after it are in `out`, which is aligned.
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

/// Asks for huge pages behind a big allocation, as the crate does.
fn advise_huge_pages(start: *mut f32, len: usize) {
    #[cfg(target_os = "linux")]
    if len >= 8 << 20 {
        use std::ffi::{c_int, c_void};
        unsafe extern "C" {
            fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        let bytes = len * size_of::<f32>();
        let skip = start.cast::<u8>().align_offset(2 << 20);
        let whole = (bytes - skip) & !((2 << 20) - 1);
        // SAFETY: the range lies in the allocation, and the advice (14, `MADV_HUGEPAGE`) changes none of its bytes.
        unsafe { madvise(start.cast::<u8>().wrapping_add(skip).cast(), whole, 14) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, len);
}

fn print_table(times: &BTreeMap<(String, &'static str, &'static str), Vec<Duration>>) {
    let median = |case: &str, how, who| -> Option<f64> {
        let mut times = times.get(&(case.to_owned(), how, who))?.clone();
        times.sort();
        Some(times[times.len() / 2].as_secs_f64() * 1e3)
    };
    let mut rows: Vec<_> = times.keys().map(|(case, how, _)| (case, *how)).collect();
    rows.dedup();
    println!(
        "\nmedian ms         how         limit   this crate  ndarray    this / limit  ndarray / this"
    );
    for (case, how) in rows {
        let of = |who| median(case, how, who);
        let (limit, ours, theirs) = (of("limit"), of("this crate"), of("ndarray"));
        let ms = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.3}"));
        let ratio = |a: Option<f64>, b: Option<f64>| {
            a.zip(b)
                .map_or("-".to_owned(), |(a, b)| format!("{:.2}", a / b))
        };
        println!(
            "{case:16}  {how:8}  {:>8}   {:>8}   {:>8}   {:>8}      {:>8}",
            ms(limit),
            ms(ours),
            ms(theirs),
            ratio(ours, limit),
            ratio(theirs, ours),
        );
    }
}
