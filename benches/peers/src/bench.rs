//! Times calls, and checks their results.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cases::Case;
use crate::index::unravel;

/// The longest time of one measurement. A slower call gets fewer repetitions, at least 3.
const BUDGET: Duration = Duration::from_secs(2);

/// The measurements of one case with one peer.
pub(crate) struct Bench<'a> {
    case: &'a Case,
    reps: usize,
    /// The calls timed together: one call of the small scale is shorter than a clock reading.
    batch: u32,
    rows: Vec<Value>,
}

/// The median and the minimum in ms.
type Times = (f64, f64);

impl<'a> Bench<'a> {
    pub(crate) fn new(case: &'a Case, scale: &str, reps: Option<usize>) -> Self {
        let (usual, batch) = match scale {
            "small" => (201, 32),
            "mid" => (1001, 1),
            _ => (9, 1),
        };
        Self {
            case,
            reps: reps.unwrap_or(usual).max(1),
            batch,
            rows: vec![],
        }
    }

    pub(crate) fn into_rows(self) -> Vec<Value> {
        self.rows
    }

    /// Times a call that allocates its result. `elements` passes the result to the check, in
    /// standard order.
    pub(crate) fn fresh<R>(&mut self, mut call: impl FnMut() -> R, elements: impl Fn(&R, &Check)) {
        let wrong = self.check(|check| elements(&call(), check));
        let times = self.times(call);
        self.report("fresh", times, wrong);
    }

    /// Times a call that fills `out`. `elements` passes `out` to the check, in standard order.
    pub(crate) fn into<B>(
        &mut self,
        out: &mut B,
        mut call: impl FnMut(&mut B),
        elements: impl Fn(&B, &Check),
    ) {
        call(out);
        let wrong = self.check(|check| elements(out, check));
        let times = self.times(|| call(black_box(&mut *out)));
        self.report("into", times, wrong);
    }

    /// Reports the fastest of several implementations of the limit.
    pub(crate) fn limit(&mut self, hows: &[&str], ways: &mut [(&str, &mut dyn FnMut())]) {
        let timed = ways
            .iter_mut()
            .map(|(name, call)| (self.times(call), *name));
        if let Some((times, name)) = timed.min_by(|(a, _), (b, _)| a.0.total_cmp(&b.0)) {
            for how in hows {
                self.rows.push(
                    json!({"how": how, "median_ms": times.0, "min_ms": times.1, "way": name}),
                );
            }
        }
    }

    /// Reports a limit of another kind, in its own column.
    pub(crate) fn other_limit(&mut self, peer: &str, how: &str, mut call: impl FnMut()) {
        let times = self.times(&mut call);
        self.rows
            .push(json!({"peer": peer, "how": how, "median_ms": times.0, "min_ms": times.1}));
    }

    fn check(&self, show: impl FnOnce(&Check)) -> Option<String> {
        let check = Check {
            case: self.case,
            verdict: std::cell::RefCell::new(Some("no result was shown".into())),
        };
        show(&check);
        check.verdict.into_inner()
    }

    fn report(&mut self, how: &str, times: Times, wrong: Option<String>) {
        self.rows.push(match wrong {
            Some(error) => json!({"how": how, "error": error}),
            None => json!({"how": how, "median_ms": times.0, "min_ms": times.1}),
        });
    }

    fn times<R>(&self, mut call: impl FnMut() -> R) -> Times {
        drop(black_box(call()));
        let mut samples = Vec::with_capacity(self.reps);
        let begin = Instant::now();
        while samples.len() < self.reps && (samples.len() < 3 || begin.elapsed() < BUDGET) {
            let start = Instant::now();
            for _ in 1..self.batch {
                black_box(call());
            }
            let last = black_box(call());
            let taken = start.elapsed();
            drop(last);
            samples.push(taken.as_secs_f64() * 1e3 / f64::from(self.batch));
        }
        samples.sort_by(f64::total_cmp);
        (samples[samples.len() / 2], samples[0])
    }
}

/// Compares up to 16 elements of a result, including the first and the last, with the expected
/// values.
pub(crate) struct Check<'a> {
    case: &'a Case,
    /// The problem; `None` if the result is right.
    verdict: std::cell::RefCell<Option<String>>,
}

impl Check<'_> {
    pub(crate) fn elements(&self, shape: &[usize], elements: &[f32]) {
        self.numbers(shape, elements.len(), |i| elements[i].into());
    }

    /// As `elements`, for `len` elements of any type, converted by `number`.
    pub(crate) fn numbers(&self, shape: &[usize], len: usize, number: impl Fn(usize) -> f64) {
        *self.verdict.borrow_mut() = self.wrong(shape, len, number);
    }

    fn wrong(&self, shape: &[usize], len: usize, number: impl Fn(usize) -> f64) -> Option<String> {
        let out = self.case.out();
        let n: usize = out.iter().product();
        if shape != out || len != n {
            return Some(format!("shape {shape:?}, expected {out:?}"));
        }
        (0..16).map(|k| k * (n - 1) / 15).find_map(|flat| {
            let index = unravel(&out, flat);
            let (expected, error) = self.case.expected(&index);
            let found = number(flat);
            ((found - expected).abs() > error * expected.abs())
                .then(|| format!("{found} at {index:?}, expected {expected}"))
        })
    }
}
