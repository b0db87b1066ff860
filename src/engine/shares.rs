//! The chunks of a call, in one contiguous share for each thread.
//!
//! If in call after call the same thread works on the same chunks, it finds them in its cache. A
//! thread that has done its share takes from the far end of the largest share, so that all end
//! together, however slow the chunks are.

use std::ops::Range;

/// The most shares. Of more threads, some work on the same share.
const MOST: usize = 64;

/// The chunks that no thread has claimed.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Shares {
    shares: [Range<usize>; MOST],
    chunks: usize,
    threads: usize,
    /// Threads that have come, the owner included.
    joined: usize,
    /// Chunks in all shares together.
    left: usize,
}

impl Default for Shares {
    fn default() -> Self {
        Self::new(0, 1)
    }
}

impl Shares {
    /// `chunks` chunks for at most `threads` threads. All of them are the owner's, which has come.
    pub(super) fn new(chunks: usize, threads: usize) -> Self {
        let mut shares = [const { 0..0 }; MOST];
        shares[0] = 0..chunks;
        Shares {
            shares,
            chunks,
            threads,
            joined: 1,
            left: chunks,
        }
    }

    /// How many chunks are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Another thread comes. Returns the number of its share. The shares are cut when the first
    /// helper comes, always at the same places; the owner alone has one range.
    pub(super) fn join(&mut self) -> usize {
        let count = self.threads.clamp(1, MOST);
        if self.joined == 1 {
            let all = self.shares[0].clone();
            for (number, share) in self.shares[..count].iter_mut().enumerate() {
                let cut = |number: usize| {
                    // As `chunks * number / count`, which may overflow.
                    let (each, more) = (self.chunks / count, self.chunks % count);
                    (each * number + more * number / count).clamp(all.start, all.end)
                };
                *share = cut(number)..cut(number + 1);
            }
        }
        self.joined += 1;
        (self.joined - 1) % count
    }

    /// Claims at most `most` chunks, at least one if any is left, for the thread that has share
    /// `number`.
    pub(super) fn claim(&mut self, number: usize, most: usize) -> Range<usize> {
        if self.shares[number].is_empty() {
            let largest = (0..MOST).max_by_key(|&share| self.shares[share].len());
            let largest = &mut self.shares[largest.unwrap_or(0)];
            let middle = largest.start + largest.len() / 2;
            let far = middle..largest.end;
            largest.end = middle;
            self.shares[number] = far;
        }
        let share = &mut self.shares[number];
        let claimed = share.start..share.start + most.max(1).min(share.len());
        share.start = claimed.end;
        self.left -= claimed.len();
        claimed
    }

    /// Takes all chunks away.
    pub(super) fn clear(&mut self) {
        *self = Shares::new(0, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_is_claimed_once_in_any_order_of_threads() {
        let mut random = 1_u64;
        let mut below = |bound: usize| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            (random >> 33) as usize % bound
        };
        for threads in [1, 2, 3, 7, 64, 65, 256] {
            for chunks in [0, 1, 2, 63, 64, 65, 1000] {
                let mut shares = Shares::new(chunks, threads);
                let (mut numbers, mut runs) = (vec![0], vec![0; chunks]);
                while shares.left() > 0 {
                    if numbers.len() < threads && below(3) == 0 {
                        numbers.push(shares.join());
                    }
                    let number = numbers[below(numbers.len())];
                    let claimed = shares.claim(number, 1 + below(9));
                    assert!(!claimed.is_empty());
                    claimed.for_each(|chunk| runs[chunk] += 1);
                }
                assert!(runs.iter().all(|&runs| runs == 1), "{threads} {chunks}");
                assert!(shares.claim(0, 1).is_empty());
            }
        }
    }

    /// Which chunks are in a share. None is in two.
    fn unclaimed(shares: &Shares) -> Vec<bool> {
        let mut unclaimed = vec![false; shares.chunks];
        for chunk in shares.shares.iter().cloned().flatten() {
            assert!(!unclaimed[chunk], "{chunk} twice in {shares:?}");
            unclaimed[chunk] = true;
        }
        unclaimed
    }

    /// All states that up to four threads can reach, and five with `ALL_CASES`, with claims of all
    /// sizes.
    #[test]
    fn every_order_of_arrivals_and_claims_gives_each_chunk_once() {
        let (most_threads, most_chunks) = match std::env::var_os("ALL_CASES") {
            Some(_) => (5, 9),
            None => (4, 7),
        };
        for (threads, chunks) in
            (1..=most_threads).flat_map(|threads| (0..=most_chunks).map(move |all| (threads, all)))
        {
            let mut todo = vec![Shares::new(chunks, threads)];
            let mut seen = std::collections::HashSet::new();
            while let Some(shares) = todo.pop() {
                if !seen.insert((shares.shares[..threads].to_vec(), shares.joined)) {
                    continue;
                }
                let before = unclaimed(&shares);
                assert_eq!(before.iter().filter(|&&is| is).count(), shares.left());
                if shares.joined < threads {
                    let mut next = shares.clone();
                    assert!(next.join() < threads);
                    assert_eq!(unclaimed(&next), before, "{shares:?}");
                    todo.push(next);
                }
                for number in 0..shares.joined {
                    for most in [0, 1, 2, 3, usize::MAX] {
                        let mut next = shares.clone();
                        let claimed = next.claim(number, most);
                        assert_eq!(claimed.is_empty(), shares.left() == 0, "{shares:?}");
                        assert!(claimed.len() <= most.max(1));
                        let mut after = unclaimed(&next);
                        for chunk in claimed {
                            assert!(!after[chunk], "{chunk} is left of {shares:?}");
                            after[chunk] = true;
                        }
                        assert_eq!(after, before, "{shares:?}");
                        todo.push(next);
                    }
                }
            }
        }
    }

    /// Threads that claim chunks until none is left, in simulated time. Each chunk takes `cost` of
    /// its number. Returns the chunks of each thread, and the times when the threads end.
    fn simulate(
        threads: usize,
        chunks: usize,
        cost: &dyn Fn(usize) -> f64,
    ) -> Vec<(Vec<usize>, f64)> {
        let mut shares = Shares::new(chunks, threads);
        let numbers: Vec<_> = (0..threads)
            .map(|thread| if thread == 0 { 0 } else { shares.join() })
            .collect();
        let mut done = vec![(vec![], 0.0_f64); threads];
        while shares.left() > 0 {
            let first = (0..threads)
                .min_by(|&a, &b| done[a].1.total_cmp(&done[b].1))
                .unwrap();
            let most = shares.left() / (2 * threads);
            for chunk in shares.claim(numbers[first], most.max(1)) {
                done[first].1 += cost(chunk);
                done[first].0.push(chunk);
            }
        }
        done
    }

    #[test]
    fn threads_of_equal_speed_keep_to_their_shares() {
        for threads in [1, 2, 3, 8, 64] {
            let done = simulate(threads, 32 * threads, &|_| 1.0);
            for (thread, (chunks, _)) in done.iter().enumerate() {
                let expected: Vec<_> = (32 * thread..32 * (thread + 1)).collect();
                assert_eq!(chunks, &expected, "{thread} of {threads}");
            }
        }
    }

    #[test]
    fn threads_end_together_however_uneven_the_chunks_are() {
        for threads in [2, 3, 8, 64, 256] {
            let chunks = 64 * threads;
            let costs: [&dyn Fn(usize) -> f64; 3] = [
                &|chunk| 1.0 + (chunk % 7) as f64,
                &|chunk| if chunk < 32 { 20.0 } else { 1.0 },
                &|chunk| 2.0 * chunk as f64 / chunks as f64,
            ];
            for (which, cost) in costs.iter().enumerate() {
                let done = simulate(threads, chunks, cost);
                let all: f64 = (0..chunks).map(cost).sum();
                let last = done.iter().map(|&(_, end)| end).fold(0.0, f64::max);
                // The longest claim may begin last.
                let longest = (0..chunks).map(cost).fold(0.0, f64::max) * 32.0;
                let best = all / threads as f64;
                assert!(last <= best + longest, "{threads} {which}: {last} {best}");
            }
        }
    }
}
