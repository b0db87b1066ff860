//! Sums of columns whose terms are side by side.

use super::tree::{self, BackwardRun, GROUP, LANES, LongRun, Monoid, OddRun, Run};
use crate::engine::machine::{Vectorize, widest};
use crate::engine::terms::Runs;
use crate::engine::tuning::{READ_STREAM, READ_STREAMS};

/// The numbers below `count`, each once: in order, or in turn from [`READ_STREAMS`] ranges of equal
/// length, if `bytes` bytes that are read for each number make these long enough.
#[inline(always)]
pub(super) fn in_streams(count: usize, bytes: usize) -> impl Iterator<Item = usize> {
    let each = match count / READ_STREAMS {
        each if each.saturating_mul(bytes) >= READ_STREAM => each,
        _ => 0,
    };
    (0..count).map(move |i| match i < READ_STREAMS * each {
        true => i % READ_STREAMS * each + i / READ_STREAMS,
        false => i,
    })
}

/// The sums of runs of up to a block of terms.
pub(super) fn sum_runs<A: Copy, M: Monoid<A>>(m: M, runs: Runs<'_, A>, sums: &mut [A]) {
    let len = runs.len();
    if runs.backwards() {
        sum_runs_by(m, runs, sums, BackwardRun);
    } else if len <= LANES {
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

/// The sums of runs of up to 16 terms.
#[inline(never)]
fn sum_short_runs<A: Copy, M: Monoid<A>>(m: M, runs: Runs<'_, A>, sums: &mut [A]) {
    let sums = &mut sums[..runs.count()];
    macro_rules! sum_by_count {
        ($($count:literal)*) => {
            match runs.len() {
                $($count => widest(SumShortRuns::<A, M, $count> { m, runs, sums }),)*
                count => unreachable!("{count} terms are no short run"),
            }
        };
    }
    sum_by_count!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

/// Sums runs of `N` terms.
struct SumShortRuns<'s, A, M, const N: usize> {
    m: M,
    runs: Runs<'s, A>,
    sums: &'s mut [A],
}

impl<A: Copy, M: Monoid<A>, const N: usize> Vectorize for SumShortRuns<'_, A, M, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (m, runs) = (self.m, self.runs);
        // Runs that follow each other are read together.
        let together = match runs.follow_each_other() {
            true => runs.count(),
            false => 1,
        };
        for (i, sums) in self.sums.chunks_mut(together).enumerate() {
            tree::columns_of::<A, M, N>(m, runs.at(i * together), sums);
        }
    }
}
