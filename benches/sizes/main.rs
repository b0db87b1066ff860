//! The speed of copies of broadcast views, from 64 bytes to 1 GiB of `f32`, compared with ndarray
//! and with the memory limit.
//!
//! `cargo bench --bench sizes` prints a table, in less than a minute and a half. `cargo bench
//! --bench sizes -- plot` also plots it, to `benches/plots`.
//!
//! The patterns are `[C] -> [N, C, H, W]`, a bias for each channel, and `[3] -> [N, 3]`. The limit
//! is the fastest of several fills of as many bytes: on one thread, on all threads, and for
//! existing memory with streaming stores. From 1 to 16 MiB, code that waits less for threads to
//! wake can be faster than this limit. New memory has huge pages if it has its own mapping. The
//! candidates alternate, with some consecutive calls each. The results are medians. Building the
//! view is timed. Up to 256 KiB, many calls are timed together, dropping included. Above, each call
//! is timed alone, without dropping.

#[path = "../common/mod.rs"]
mod common;
mod plot;

use common::{Element, bytes_of, median, timed, timed_together};
use ndarray::{Array, Array1};
use ndarray_broadcast::prelude::*;
use std::cell::RefCell;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// The bytes of the outputs: 64 bytes to 1 GiB, each four times the previous.
const SIZES: [usize; 13] = {
    let mut sizes = [64; 13];
    let mut i = 1;
    while i < sizes.len() {
        sizes[i] = sizes[i - 1] * 4;
        i += 1;
    }
    sizes
};

/// Up to this many bytes, calls are timed together, for this long.
const TOGETHER_TO: usize = 256 << 10;
const TOGETHER_FOR: Duration = Duration::from_micros(200);

/// The total time of the candidates' turns, and the bounds of their number.
const TURNS_FOR: Duration = Duration::from_millis(700);
const TURNS: std::ops::RangeInclusive<usize> = 3..=40;

/// The consecutive calls of a turn. Up to 16 MiB there are as many as in a program that evaluates a
/// model layer by layer. The first calls after another candidate find their memory in no cache, or
/// in another core's: there 1 MiB takes up to 60 us, and later 11.
const CALLS_TO_16_MIB: usize = 20;
const CALLS: usize = 2;

/// A line of the plot.
#[derive(Debug)]
pub struct Line {
    pub way: &'static str,
    pub pattern: &'static str,
    pub who: &'static str,
    /// Bytes and GB/s.
    pub points: Vec<(usize, f64)>,
}

/// The name of a candidate, and a function that runs it and returns the time taken.
type Candidate<'a> = (&'static str, Box<dyn FnMut() -> Duration + 'a>);

/// A function of the bytes, the kind of output and the candidates.
type Take<'a> = dyn FnMut(usize, &'static str, &mut [Candidate<'_>]) + 'a;

/// The name of a pattern, and the function that builds its candidates for an output size.
type Pattern = (&'static str, fn(usize, &mut Take<'_>));
const PATTERNS: [Pattern; 2] = [("channel", channel), ("rows3", rows3)];

/// Times one call of `work` or, if it is short, the mean of many.
fn clocked<R>(bytes: usize, mut work: impl FnMut() -> R) -> Duration {
    if bytes > TOGETHER_TO {
        return timed(work);
    }
    let once = timed_together(8, &mut work).max(Duration::from_nanos(1));
    let calls = (TOGETHER_FOR.as_nanos() / once.as_nanos()).clamp(1, 100_000);
    timed_together(calls as u32, work)
}

/// `[c] -> [n, c, h, h]`: first the images grow, then their number.
fn channel(bytes: usize, take: &mut Take<'_>) {
    let len = bytes / size_of::<f32>();
    let image = (len / 64).clamp(4, 256 * 256);
    let (c, h) = ((len / image).min(64), image.isqrt());
    let bias = Array1::from_iter((0..c).map(f32::numbered));
    let view = || (black_box(&bias).broadcast_explicit((len / image / c, c, h, h), &[1])).unwrap();
    candidates(view, take);
}

/// `[3] -> [n, 3]`.
fn rows3(bytes: usize, take: &mut Take<'_>) {
    let row = Array1::from_iter((0..3).map(f32::numbered));
    let view = || (black_box(&row).broadcast_numpy((bytes / size_of::<[f32; 3]>(), 3))).unwrap();
    candidates(view, take);
}

fn candidates<'v, D: ndarray::Dimension>(
    view: impl Fn() -> ndarray::ArrayView<'v, f32, D>,
    take: &mut Take<'_>,
) {
    let (view, dim) = (&view, view().raw_dim());
    let (len, bytes) = (dim.size(), dim.size() * size_of::<f32>());
    let together = bytes <= TOGETHER_TO;
    let mut all: Vec<Candidate<'_>> = vec![
        (
            "this crate",
            Box::new(|| clocked(bytes, || view().materialize())),
        ),
        ("ndarray", Box::new(|| clocked(bytes, || view().to_owned()))),
        (
            "limit",
            Box::new(|| clocked(bytes, || common::fresh_filled_here(bytes))),
        ),
    ];
    if !together {
        all.push(("limit", Box::new(|| timed(|| common::fresh_filled(bytes)))));
    }
    take(bytes, "fresh", &mut all);
    drop(all);

    let mut memory = Vec::<f32>::with_capacity(len);
    common::advise_huge_pages(memory.spare_capacity_mut());
    memory.resize(len, f32::numbered(7));
    let out = Array::from_shape_vec(dim, memory).expect("the length matches the shape");
    let out = RefCell::new(out);
    let filled = |fill: fn(&mut [MaybeUninit<u8>])| {
        let mut out = out.borrow_mut();
        let out = bytes_of(out.as_slice_mut().expect("standard layout"));
        clocked(bytes, || fill(black_box(&mut *out)))
    };
    let ours = || {
        let mut out = out.borrow_mut();
        clocked(bytes, || view().materialize_into(black_box(&mut *out)))
    };
    let theirs = || {
        let mut out = out.borrow_mut();
        clocked(bytes, || black_box(&mut *out).assign(&view()))
    };
    let mut all: Vec<Candidate<'_>> = vec![
        ("this crate", Box::new(ours)),
        ("ndarray", Box::new(theirs)),
        ("limit", Box::new(|| filled(common::fill))),
    ];
    if !together {
        all.push(("limit", Box::new(|| filled(common::fill_on_every_core))));
        all.push(("limit", Box::new(|| filled(common::fill_streaming))));
    }
    take(bytes, "into", &mut all);
}

/// The GB/s of each candidate, from the median over turns. Of candidates with the same name, the
/// fastest.
fn measure(bytes: usize, candidates: &mut [Candidate<'_>]) -> Vec<(&'static str, f64)> {
    let mut times = vec![vec![]; candidates.len()];
    let calls = if bytes > 16 << 20 {
        CALLS
    } else {
        CALLS_TO_16_MIB
    };
    let start = Instant::now();
    for turn in 0..*TURNS.end() {
        if turn >= *TURNS.start() && start.elapsed() > TURNS_FOR {
            break;
        }
        for ((_, run), times) in candidates.iter_mut().zip(&mut times) {
            times.extend((0..calls).map(|_| run()));
        }
    }
    let mut best: Vec<(&str, f64)> = vec![];
    for ((who, _), times) in candidates.iter().zip(&mut times) {
        let speed = bytes as f64 / median(times) / 1e6;
        match best.iter_mut().find(|(other, _)| other == who) {
            Some((_, best)) => *best = speed.max(*best),
            None => best.push((who, speed)),
        }
    }
    best
}

fn all_lines(sizes: &[usize]) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![];
    println!("GB/s   pattern       bytes  this crate     ndarray       limit");
    for (pattern, each_way) in PATTERNS {
        for &size in sizes {
            each_way(size, &mut |bytes, way, candidates| {
                let speeds = measure(bytes, candidates);
                let shown = speeds.iter().map(|(_, speed)| format!("  {speed:10.3}"));
                println!(
                    "{way:5}  {pattern:8} {bytes:10}{}",
                    shown.collect::<String>()
                );
                for (who, speed) in speeds {
                    let is_its = |line: &&mut Line| {
                        (line.way, line.pattern, line.who) == (way, pattern, who)
                    };
                    match lines.iter_mut().find(is_its) {
                        Some(line) => line.points.push((bytes, speed)),
                        None => lines.push(Line {
                            way,
                            pattern,
                            who,
                            points: vec![(bytes, speed)],
                        }),
                    }
                }
            });
        }
    }
    lines
}

fn main() {
    // As in the benchmark `materialize`: from here on, glibc reuses pages for copies of up to 31
    // MiB.
    drop(black_box(Vec::<u8>::with_capacity(31 << 20)));
    let is_there = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    // `cargo test --benches` only checks that the benchmark runs.
    let lines = all_lines(if is_there("--test") {
        &SIZES[..1]
    } else {
        &SIZES
    });
    if is_there("plot") {
        plot::write(&lines).expect("the repository can be written");
    }
}
