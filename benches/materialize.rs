//! Owned copies of broadcast views, fresh and into existing arrays, compared with the memory limit
//! and with ndarray's `to_owned` and `assign`.
//!
//! `cargo bench --bench materialize` runs all cases and then prints a table of ratios, for which
//! the candidates alternate. A filter, as in `cargo bench --bench materialize -- big/f32/inner3`,
//! selects cases. `-- table` prints only the table, `-- ranks` only the cost of a byte for each
//! rank. The cases are those of `benches/peers/cases.json`. For elements other than `f32`, the
//! first axis is scaled so that the bytes stay the same. Building the view is timed. Dropping a
//! result is timed in the small cases only.
//!
//! The limit of the big cases is a fill on all threads: of the existing array with streaming
//! stores, or of a new vector on huge pages. The limit of the other cases is a fill on one thread.
//! For a transposed source there is also a copy of the same number of bytes on all threads.

mod common;

use common::{Candidate, Element, bytes_of, median, timed, timed_together};
use criterion::Criterion;
use ndarray::{Array, ArrayD, Ix0, Ix1, Ix2, Ix3};
use ndarray_broadcast::prelude::*;
use std::cell::RefCell;
use std::hint::black_box;
use std::time::Duration;

const SCALES: [&str; 3] = ["small", "mid", "big"];

/// How many calls of the small scale are timed together.
const TOGETHER: u32 = 512;

/// The cases that are measured for every element type, not only for `f32`.
const FOR_EVERY_ELEMENT: [&str; 4] = ["channel", "rows3", "inner3", "transposed"];

struct Case {
    name: String,
    input: Vec<usize>,
    /// The output axis of each input axis.
    axes: Vec<usize>,
    out: Vec<usize>,
    transposed: bool,
}

fn cases(scale: &str) -> Vec<Case> {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("peers/cases.json")).expect("a file of JSON");
    let numbers = |list: &serde_json::Value| -> Vec<usize> {
        let numbers = list.as_array().expect("a list of numbers").iter();
        let number = |n: &serde_json::Value| n.as_u64().expect("a number") as usize;
        numbers.map(number).collect()
    };
    let cases = all["materialize"][scale].as_array().expect("a list");
    cases
        .iter()
        .map(|case| Case {
            name: case["name"].as_str().expect("a name").to_owned(),
            input: numbers(&case["in"]),
            axes: numbers(&case["axes"]),
            out: numbers(&case["out"]),
            transposed: case["transpose"].as_bool().unwrap_or(false),
        })
        .collect()
}

impl Case {
    /// The same case for elements of `size` bytes: the same total bytes, if the first axis is long
    /// enough.
    fn sized(mut self, size: usize) -> Self {
        let resize = |n: &mut usize| *n = (*n * 4 / size).max(1);
        if self.axes.first() == Some(&0) {
            resize(&mut self.input[0]);
        }
        resize(&mut self.out[0]);
        self
    }
}

/// Calls `measure` with the candidates of both kinds of output.
fn candidates<A: Element>(
    scale: &str,
    case: &Case,
    mut measure: impl FnMut(&'static str, &mut [Candidate<'_>]),
) {
    let data: Vec<A> = (0..case.input.iter().product()).map(A::numbered).collect();
    let data =
        ArrayD::from_shape_vec(case.input.clone(), data).expect("the length matches the shape");
    let len: usize = case.out.iter().product();
    let bytes = len * size_of::<A>();
    let (small, big) = (scale == "small", scale == "big");
    macro_rules! time {
        ($work:expr) => {
            if small {
                timed_together(TOGETHER, $work)
            } else {
                timed($work)
            }
        };
    }
    let mut copied: Vec<A> = vec![];
    if case.transposed {
        copied.extend((0..len).map(A::numbered));
    }
    let copied = &*bytes_of(&mut copied);
    // Static ranks, as callers usually have.
    macro_rules! measure {
        ($rank:ty, $out:expr) => {{
            let data = (data.into_dimensionality::<$rank>()).expect("the rank of the case");
            let source = if case.transposed {
                data.t()
            } else {
                data.view()
            };
            let (shape, axes) = ($out, case.axes.as_slice());
            let view = || {
                black_box(&source)
                    .broadcast_explicit(shape, axes)
                    .expect("the case is right")
            };
            let mut limit = || match (small, big) {
                (true, _) => {
                    timed_together(TOGETHER, || black_box(vec![black_box(A::numbered(7)); len]))
                }
                (_, true) => timed(|| common::fresh_filled(bytes)),
                _ => timed(|| vec![black_box(A::numbered(7)); len]),
            };
            let mut ours = || time!(|| view().materialize());
            let mut ndarray = || time!(|| view().to_owned());
            let mut memcpy = || timed(|| common::fresh_copy(copied));
            let mut all: [Candidate<'_>; 4] = [
                ("limit", &mut limit),
                ("this crate", &mut ours),
                ("ndarray", &mut ndarray),
                ("memcpy", &mut memcpy),
            ];
            measure("fresh", &mut all[..if case.transposed { 4 } else { 3 }]);

            let mut memory = Vec::<A>::with_capacity(len);
            common::advise_huge_pages(memory.spare_capacity_mut());
            memory.resize(len, A::numbered(1));
            let out = Array::from_shape_vec(shape, memory).expect("the length matches the shape");
            let out = RefCell::new(out);
            let mut limit = || {
                let mut out = out.borrow_mut();
                let out = out.as_slice_mut().expect("standard layout");
                if big {
                    timed(|| common::fill_streaming(bytes_of(out)))
                } else {
                    time!(|| black_box(&mut *out).fill(black_box(A::numbered(7))))
                }
            };
            let mut ours = || {
                let mut out = out.borrow_mut();
                time!(|| view().materialize_into(black_box(&mut *out)))
            };
            let mut ndarray = || {
                let mut out = out.borrow_mut();
                time!(|| black_box(&mut *out).assign(&view()))
            };
            let mut memcpy = || {
                let mut out = out.borrow_mut();
                let out = out.as_slice_mut().expect("standard layout");
                timed(|| common::copy(bytes_of(out), copied))
            };
            let mut all: [Candidate<'_>; 4] = [
                ("limit", &mut limit),
                ("this crate", &mut ours),
                ("ndarray", &mut ndarray),
                ("memcpy", &mut memcpy),
            ];
            measure("into", &mut all[..if case.transposed { 4 } else { 3 }]);
        }};
    }
    match (case.input.len(), case.out.as_slice()) {
        (0, &[a]) => measure!(Ix0, [a]),
        (1, &[a, b]) => measure!(Ix1, [a, b]),
        (1, &[a, b, c, d]) => measure!(Ix1, [a, b, c, d]),
        (2, &[a, b, c]) => measure!(Ix2, [a, b, c]),
        (2, &[a, b, c, d]) => measure!(Ix2, [a, b, c, d]),
        (3, &[a, b, c]) => measure!(Ix3, [a, b, c]),
        (3, &[a, b, c, d]) => measure!(Ix3, [a, b, c, d]),
        (input, out) => panic!("no static ranks {input} to {}", out.len()),
    }
}

/// A function of a case's scale, its name, the kind of output and the candidates.
type Measure<'a> = dyn FnMut(&'static str, &str, &'static str, &mut [Candidate<'_>]) + 'a;

/// Calls `measure` for every case that the command line selects.
fn each_case(measure: &mut Measure<'_>) {
    for scale in SCALES {
        each_case_of::<f32>(scale, "f32", measure);
        if scale != "small" {
            each_case_of::<u8>(scale, "u8", measure);
            each_case_of::<f64>(scale, "f64", measure);
            each_case_of::<[f32; 3]>(scale, "f32x3", measure);
        }
    }
}

fn each_case_of<A: Element>(scale: &'static str, element: &str, measure: &mut Measure<'_>) {
    // The first argument that is not an option is criterion's filter; `table` selects all cases.
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-') && argument != "table");
    for case in cases(scale) {
        let name = format!("{scale}/{element}/{}", case.name);
        let named = |filter: &String| name.contains(filter) || filter.contains(&name);
        if filter.as_ref().is_none_or(named)
            && (element == "f32" || FOR_EVERY_ELEMENT.contains(&case.name.as_str()))
        {
            candidates::<A>(scale, &case.sized(size_of::<A>()), |how, candidates| {
                measure(scale, &name, how, candidates);
            });
        }
    }
}

fn criterion_benches(criterion: &mut Criterion) {
    each_case(&mut |scale, name, how, candidates| {
        let mut group = criterion.benchmark_group(format!("{name}/{how}"));
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(100))
            .measurement_time(Duration::from_millis(if scale == "big" {
                600
            } else {
                300
            }));
        for (who, run) in candidates {
            group.bench_function(*who, |bencher| {
                bencher.iter_custom(|rounds| {
                    // A small candidate times a batch of calls: run as many batches as hold the
                    // rounds.
                    if scale == "small" {
                        let batches = rounds.div_ceil(TOGETHER.into());
                        let mean = (0..batches).map(|_| run()).sum::<Duration>();
                        mean.mul_f64(rounds as f64 / batches as f64)
                    } else {
                        (0..rounds).map(|_| run()).sum()
                    }
                });
            });
        }
        group.finish();
    });
}

/// Prints medians. In each round, every candidate runs some consecutive calls, as a program does
/// that evaluates a model layer by layer.
fn table() {
    println!(
        "\nmedians in us; /limit, /memcpy: time over the limit, over a copy of as many bytes;\n\
         ahead: ndarray's time over this crate's"
    );
    println!(
        "case                  how         limit  this crate  /limit  /memcpy    ndarray  ahead"
    );
    each_case(&mut |scale, name, how, candidates| {
        let (rounds, calls, slow_rounds) = match scale {
            "small" => (20, 2, 5),
            "mid" => (10, 20, 5),
            _ => (8, 2, 2),
        };
        let mut times = vec![vec![]; candidates.len()];
        for round in 0..rounds {
            for ((who, run), times) in candidates.iter_mut().zip(&mut times) {
                // ndarray takes up to a second: a few calls are enough.
                let calls = match *who {
                    "ndarray" if round >= slow_rounds => 0,
                    "ndarray" => 1,
                    _ => calls,
                };
                times.extend((0..calls).map(|_| run()));
            }
        }
        let medians: Vec<f64> = times.iter_mut().map(|times| median(times) * 1e3).collect();
        let [limit, ours, ndarray, ..] = medians[..] else {
            return;
        };
        let memcpy = match medians.get(3) {
            Some(memcpy) => format!("{:.2}", ours / memcpy),
            None => String::new(),
        };
        println!(
            "{name:20}  {how:5}  {limit:10.3}  {ours:10.3}  {:6.2}  {memcpy:>7}  \
             {ndarray:9.1}  {:5.1}",
            ours / limit,
            ndarray / ours,
        );
    });
}

/// Prints the cost of an output byte for each rank, with every second axis replicated and axes of
/// nearly equal size.
fn ranks() {
    println!("\nmedians in ps a byte, into existing memory, every other axis replicated");
    for (name, len, rounds) in [("4 MiB", 1 << 20, 1000), ("256 MiB", 1 << 26, 12)] {
        for (first, which) in ["the first", "the second"].into_iter().enumerate() {
            print!("{name:>8}, {which:10} and so on, ranks 2 to 8:");
            for rank in 2..=8 {
                let axis = (len as f64).powf(1.0 / rank as f64).round() as usize;
                let mut shape = vec![axis; rank];
                shape[0] = len / axis.pow(rank as u32 - 1);
                let input =
                    |(place, &size): (usize, &usize)| [size, 1][usize::from(place % 2 == first)];
                let input: Vec<usize> = shape.iter().enumerate().map(input).collect();
                let data = ArrayD::from_shape_fn(input, |index| index[rank - 1] as f32);
                let mut out = ArrayD::<f32>::zeros(shape.as_slice());
                let mut call = || {
                    let view = data
                        .broadcast_numpy(shape.as_slice())
                        .expect("ones where it is stretched");
                    timed(|| view.materialize_into(black_box(&mut out)))
                };
                call();
                let mut times: Vec<Duration> = (0..rounds).map(|_| call()).collect();
                let bytes = shape.iter().product::<usize>() * size_of::<f32>();
                print!(" {:5.1}", median(&mut times) * 1e9 / bytes as f64);
            }
            println!();
        }
    }
}

fn main() {
    // The first large block freed sets the threshold above which glibc returns memory to the
    // kernel. With 31 MiB, copies of the mid scale reuse their pages, whatever ran before.
    drop(black_box(Vec::<u8>::with_capacity(31 << 20)));
    let is_there = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    if is_there("ranks") {
        return ranks();
    }
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
