//! Checks the results of a case's calls, and times bursts of them when `compare.py` asks.

use std::cell::RefCell;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::index::unravel;

/// The calls of one case with one peer. Each call stays ready until `compare.py` asks for the next.
pub(crate) struct Bench<'a> {
    /// The shape of the result.
    out: Vec<usize>,
    /// The expected element at an index, and the relative tolerance.
    expected: &'a Expected<'a>,
}

type Expected<'a> = dyn Fn(&[usize]) -> (f64, f64) + 'a;

impl<'a> Bench<'a> {
    pub(crate) fn new(out: Vec<usize>, expected: &'a Expected<'a>) -> Self {
        Self { out, expected }
    }

    /// Serves a call that allocates its result. `elements` passes the result to the check.
    pub(crate) fn fresh<R>(&self, call: impl Fn() -> R, elements: impl Fn(&R, &Check)) {
        let wrong = self.check(|check| elements(&call(), check));
        serve("fresh", wrong, &mut [&mut || drop(black_box(call()))]);
    }

    /// Serves a call that fills `out`. `elements` passes `out` to the check.
    pub(crate) fn into<B>(
        &self,
        out: &mut B,
        mut call: impl FnMut(&mut B),
        elements: impl Fn(&B, &Check),
    ) {
        call(out);
        let wrong = self.check(|check| elements(out, check));
        serve("into", wrong, &mut [&mut || call(black_box(&mut *out))]);
    }

    /// Serves several implementations of the limit.
    pub(crate) fn limit(&self, hows: &[&str], ways: &mut [&mut dyn FnMut()]) {
        for how in hows {
            serve(how, None, ways);
        }
    }

    fn check(&self, show: impl FnOnce(&Check)) -> Option<String> {
        let check = Check {
            bench: self,
            verdict: RefCell::new(Some("no result was shown".into())),
        };
        show(&check);
        check.verdict.into_inner()
    }
}

/// Announces a call, and answers requests for bursts until the next call is wanted. The answer has
/// a time for each way of doing the call.
fn serve(how: &str, wrong: Option<String>, ways: &mut [&mut dyn FnMut()]) {
    if let Some(error) = wrong {
        return say(&json!({"how": how, "error": error}));
    }
    say(&json!({"how": how}));
    while let Some(ms) = request().and_then(|request| request["burst"].as_f64()) {
        let length = Duration::from_secs_f64(ms / 1e3);
        let times: Vec<f64> = ways.iter_mut().map(|call| burst(call, length)).collect();
        say(&json!({"times": times}));
    }
}

/// The mean time of a call in ms, in a burst of at least 3 calls. A call before the burst brings
/// the data back into the cache.
fn burst(call: &mut dyn FnMut(), length: Duration) -> f64 {
    call();
    let (mut calls, mut batch) = (0, 1);
    let start = Instant::now();
    loop {
        for _ in 0..batch {
            call();
        }
        calls += batch;
        let elapsed = start.elapsed();
        if calls >= 3 && elapsed >= length {
            return elapsed.as_secs_f64() * 1e3 / f64::from(calls);
        }
        // The clock is read rarely: a small call is shorter than a clock reading.
        if elapsed < length / 8 {
            batch *= 2;
        }
    }
}

/// The next request: one line of JSON. `None`: standard input has ended.
pub(crate) fn request() -> Option<Value> {
    let line = std::io::stdin().lines().next()?.ok()?;
    serde_json::from_str(&line).ok()
}

/// Prints one line of JSON.
pub(crate) fn say(answer: &Value) {
    let mut out = std::io::stdout().lock();
    // If the reader is gone, nobody can be told.
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}

/// Compares up to 16 elements of a result, including the first and the last, with the expected
/// values.
pub(crate) struct Check<'a> {
    bench: &'a Bench<'a>,
    /// The problem; `None` if the result is right.
    verdict: RefCell<Option<String>>,
}

impl Check<'_> {
    /// `element` is the result's element at an index.
    pub(crate) fn elements(&self, shape: &[usize], element: impl Fn(&[usize]) -> f64) {
        *self.verdict.borrow_mut() = self.wrong(shape, element);
    }

    fn wrong(&self, shape: &[usize], element: impl Fn(&[usize]) -> f64) -> Option<String> {
        let out = &self.bench.out[..];
        if shape != out {
            return Some(format!("shape {shape:?}, expected {out:?}"));
        }
        let n: usize = out.iter().product();
        let mut sample: Vec<usize> = (0..16).map(|k| k * (n - 1) / 15).collect();
        sample.dedup();
        sample.into_iter().find_map(|flat| {
            let index = unravel(out, flat);
            let (expected, error) = (self.bench.expected)(&index);
            let found = element(&index);
            let right = (found - expected).abs() <= error * expected.abs();
            (!right).then(|| format!("{found} at {index:?}, expected {expected}"))
        })
    }
}
