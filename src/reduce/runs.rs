//! Sums of columns whose terms are side by side.

use super::tree::{self, BackwardRun, GROUP, LANES, LongRun, Monoid, OddRun, Run};
use crate::engine::machine::{Vectorize, widest};
use crate::engine::terms::Runs;
use crate::engine::tuning::{PREFETCH_STREAM_BYTES, PREFETCH_STREAMS};

/// `0..count`, each number once. If `count / PREFETCH_STREAMS` numbers, of `bytes` bytes each, are
/// at least [`PREFETCH_STREAM_BYTES`], they come in turn from [`PREFETCH_STREAMS`] equal ranges;
/// otherwise in order.
#[inline(always)]
pub(super) fn in_streams(count: usize, bytes: usize) -> impl Iterator<Item = usize> {
    let each = match count / PREFETCH_STREAMS {
        each if each.saturating_mul(bytes) >= PREFETCH_STREAM_BYTES => each,
        _ => 0,
    };
    (0..count).map(move |i| match i < PREFETCH_STREAMS * each {
        true => i % PREFETCH_STREAMS * each + i / PREFETCH_STREAMS,
        false => i,
    })
}

/// The sums of runs of up to a block of terms.
pub(super) fn sum_runs<A: Copy, M: Monoid<A>>(m: M, runs: Runs<'_, A>, sums: &mut [A]) {
    let len = runs.len();
    if runs.backwards() {
        sum_runs_by(m, runs, sums, BackwardRun);
    } else if len < LANES {
        sum_short_runs(m, runs, sums);
    } else if len < GROUP && len % LANES > 0 {
        sum_runs_by(m, runs, sums, OddRun);
    } else {
        sum_runs_by(m, runs, sums, LongRun);
    }
}

/// Never inlined: whether the compiler keeps the lanes in registers depends on the code around.
#[inline(never)]
fn sum_runs_by<A: Copy, M: Monoid<A>, R: Run>(m: M, runs: Runs<'_, A>, sums: &mut [A], run: R) {
    widest(SumRuns { m, runs, sums, run });
}

struct SumRuns<'s, A, M, R> {
    m: M,
    runs: Runs<'s, A>,
    sums: &'s mut [A],
    run: R,
}

impl<A: Copy, M: Monoid<A>, R: Run> Vectorize for SumRuns<'_, A, M, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (count, len) = (self.runs.count(), self.runs.len());
        let sums = &mut self.sums[..count];
        for i in in_streams(count, len * size_of::<A>()) {
            sums[i] = self.run.sum(self.m, self.runs.at(i), len);
        }
    }
}

/// The sums of runs of fewer than 16 terms.
#[inline(never)]
fn sum_short_runs<A: Copy, M: Monoid<A>>(m: M, runs: Runs<'_, A>, sums: &mut [A]) {
    let sums = &mut sums[..runs.count()];
    macro_rules! sum_by_count {
        ($($count:literal)*) => {
            match runs.len() {
                $($count => widest(SumFew::<A, M, $count> { m, runs, sums }),)*
                count => unreachable!("{count} terms are no short run"),
            }
        };
    }
    sum_by_count!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

/// Sums runs of `N` terms by [`tree::columns_of_few`].
struct SumFew<'s, A, M, const N: usize> {
    m: M,
    runs: Runs<'s, A>,
    sums: &'s mut [A],
}

impl<A: Copy, M: Monoid<A>, const N: usize> Vectorize for SumFew<'_, A, M, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (terms, sums) in together(self.runs, self.sums) {
            tree::columns_of_few::<A, M, N>(self.m, terms, sums);
        }
    }
}

/// The runs that are read together, with their sums: all if they follow each other, or else one
/// after the other.
#[inline(always)]
fn together<'s, A>(
    runs: Runs<'s, A>,
    sums: &'s mut [A],
) -> impl Iterator<Item = (&'s [A], &'s mut [A])> {
    let count = match runs.follow_each_other() {
        true => runs.count(),
        false => 1,
    };
    let sums = sums.chunks_mut(count).enumerate();
    sums.map(move |(i, sums)| (runs.at(i * count), sums))
}
