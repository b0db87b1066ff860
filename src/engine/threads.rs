//! Work is split over threads here, and nowhere else.
//!
//! The work of a call is a number of chunks, which may run in any order and on any thread. Each
//! thread has a share of neighbouring chunks, and claims ranges of it, then of others' shares,
//! until none is left: see `shares`. Which threads worked on which chunks never shows in a result.
//!
//! # What a call promises to the process that it runs in
//!
//! - Helpers are threads of the current rayon pool: of the pool whose thread is calling, else of
//!   the global one. None has its affinity or priority changed. No more threads work on one call
//!   than the pool has, nor than the process has processors.
//! - The first large call, if it is outside of a pool, starts the global pool and waits until its
//!   threads run. To see whether the system gives them, it starts as many before, and waits for
//!   their end. If the system refuses them, the application may still start the pool later.
//! - Otherwise the caller works from the start, and never waits for a helper that has not started.
//!   If no thread can be had, the caller does everything.
//! - If the application has tried to start the global pool and failed, the first large call outside
//!   of a pool panics and catches it, as rayon has no other way to tell. The application's panic
//!   hook runs once. With `panic = "abort"` the process ends, as at any use of that pool.
//! - In a process that was forked after the first large call, each call works alone. A call of
//!   which helpers have a part at the fork never returns in the child.
//! - A helper goes back to its pool as soon as no chunk is left.
//! - A caller that waits for a running helper is parked, and runs no other job of its pool
//!   meanwhile. So no job on the same thread can request a lock that the caller holds, or use a
//!   `RefCell` that it borrows. For the same reason a closure that waits for all threads of the
//!   pool, as [`rayon::broadcast`] does, can deadlock: it waits for the caller, and the caller
//!   waits for it.
//! - A thread that works on a call that is shared helps no other call, nor the same one a second
//!   time. While a closure waits in rayon, as in [`rayon::join`], its thread may run other jobs,
//!   but does not call the closure again. A thread that does a call alone, or its first chunk, may
//!   help another call meanwhile.
//! - A thread that claims chunks requests a helper if the remaining work is expected to take long
//!   enough. There are at most as many open requests as running helpers, plus one, and those that
//!   are late: a helper that the system does not run is replaced by another. A request is one
//!   [`rayon::spawn`] by the thread that claims.
//! - If a chunk panics, no further range of chunks is claimed; other threads finish the ranges that
//!   they have claimed. The panic continues in the caller when all helpers have left.

use std::iter::once;
#[cfg(feature = "rayon")]
use std::num::NonZero;
use std::ops::Range;
#[cfg(feature = "rayon")]
use std::sync::{LazyLock, OnceLock};
use std::time::Instant;

/// What is known about the time of some work before it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cost {
    /// Reads and writes this many bytes, and does little else.
    Bytes(usize),
    /// Calls a user's closure, which may take any time, and reads and writes this many bytes. The
    /// time is measured.
    Closure {
        /// What all chunks together read and write.
        bytes: usize,
    },
}

/// Work that moves fewer bytes than this stays on the calling thread, unless it calls a closure
/// that turns out to be slow. One thread writes 512 KiB in 11 us, two that are awake in 7; 256 KiB
/// in 8 and 6.5.
pub(crate) const PARALLEL_FROM: usize = 512 << 10;

/// Chunks that call a closure, and move few bytes, are not shared if all of them are expected to
/// take no longer than this many seconds. Sharing costs the caller 0.3 us, and each request for a
/// helper 10 us.
const QUICK: f64 = 20e-6;

/// Calls `f` with ranges that together are `0..chunks`, in no particular order, on as many threads
/// as `cost` is worth.
///
/// Returns when all calls have returned. If one panics, no further range is begun; the panic
/// continues in the caller when no thread uses `f` any more.
#[inline]
pub(crate) fn for_each_range<F: Fn(Range<usize>) + Sync>(chunks: usize, cost: Cost, f: F) {
    let quick = matches!(cost, Cost::Closure { bytes } if bytes < PARALLEL_FROM);
    if !quick || chunks < 2 || !HAS_THREADS {
        return share(chunks, cost, |ranges| ranges.for_each(&f));
    }
    let begun = Instant::now();
    f(0..1);
    if begun.elapsed().as_secs_f64() * chunks as f64 <= QUICK {
        // Later chunks are not timed, though they may be slower. If two more ranges are timed,
        // 100 x 400 `f32` plus a row take 4.2 us instead of 3.2: the clock takes 0.13 us, and each
        // range cuts a row (an AMD EPYC, virtual).
        return f(1..chunks);
    }
    share(chunks - 1, cost, |ranges| {
        ranges.for_each(|range| f(range.start + 1..range.end + 1));
    });
}

/// [`for_each_range`] with `f` called once by each thread that takes part, with the ranges that it
/// claims: at most [`max_threads`] calls, one of them by the caller. None begins inside another.
#[inline]
pub(crate) fn share<F>(chunks: usize, cost: Cost, f: F)
where
    F: Fn(&mut dyn Iterator<Item = Range<usize>>) + Sync,
{
    let alone = chunks < 2 || matches!(cost, Cost::Bytes(bytes) if bytes < PARALLEL_FROM);
    #[cfg(feature = "rayon")]
    if !alone && max_threads() > 1 {
        return team::share(chunks, cost, &f);
    }
    let _ = alone;
    if chunks > 0 {
        f(&mut once(0..chunks));
    }
}

/// The number of threads that may work on one call from this thread.
pub(crate) fn max_threads() -> usize {
    #[cfg(feature = "rayon")]
    if HAS_THREADS && !is_forked() && (rayon::current_thread_index().is_some() || pool::is_there())
    {
        return rayon::current_num_threads().min(*PROCESSORS);
    }
    1
}

/// Whether this process is a copy, made by `fork`, of the one that made the first call. The pool's
/// threads are not in the copy, and what they held is locked for ever.
#[cfg(feature = "rayon")]
fn is_forked() -> bool {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    // Elsewhere there is no `fork`, and where there are no process ids, asking for one panics.
    if !cfg!(unix) {
        return false;
    }
    let process = std::process::id();
    *PROCESS.get_or_init(|| process) != process
}

/// Some WebAssembly targets have no threads, and some no clock. An attempt to start a pool there
/// would leave the process without one.
const HAS_THREADS: bool = cfg!(feature = "rayon") && !cfg!(target_family = "wasm");

/// The number of processors that the process may use, as the first call finds it: 1 if the system
/// does not tell, as rayon assumes then.
#[cfg(feature = "rayon")]
static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));

/// Rayon's global pool.
#[cfg(feature = "rayon")]
mod pool {
    use super::PROCESSORS;
    use rayon::{ThreadPoolBuilder, current_num_threads};
    use std::env;
    use std::error::Error;
    use std::panic::catch_unwind;
    use std::sync::{Mutex, OnceLock, PoisonError};
    use std::thread::{self, Builder};
    use std::time::{Duration, Instant};

    /// After the system has refused threads, the next attempt waits for this long.
    const RETRY: Duration = Duration::from_secs(1);

    /// Longer than any panic hook takes.
    const NEVER: Duration = Duration::from_secs(1 << 30);

    /// Whether the pool exists. The first look starts it, unless the system refuses threads, as in
    /// a container that limits them.
    ///
    /// If the global pool is refused once, rayon never starts it, and panics in whoever uses it. So
    /// as many threads are tried before. They are no pool of rayon's: the code that starts one
    /// would be compiled again.
    pub(super) fn is_there() -> bool {
        static IS_THERE: OnceLock<bool> = OnceLock::new();
        static NOT_BEFORE: Mutex<Option<Instant>> = Mutex::new(None);
        let known = || IS_THERE.get().copied();
        if let Some(is_there) = known() {
            return is_there;
        }
        let mut not_before = NOT_BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_there) = known() {
            return is_there;
        }
        if not_before.is_some_and(|next| Instant::now() < next) {
            return false;
        }
        *not_before = Some(Instant::now() + RETRY);
        if !as_many_start() {
            return false;
        }
        let is_there = match ThreadPoolBuilder::new().build_global() {
            // Someone has tried to start it before. That may have failed. Then this panics, and
            // runs the hook of the application, which may call here: it must not wait for the lock,
            // nor try the same, however long it takes.
            Err(error) if error.source().is_none() => {
                *not_before = Some(Instant::now() + NEVER);
                drop(not_before);
                catch_unwind(current_num_threads).is_ok()
            }
            // The system's refusal is the source of other errors.
            started => started.is_ok(),
        };
        *IS_THERE.get_or_init(|| is_there)
    }

    /// Starts as many threads as the pool will have, and waits until they have ended. The pool can
    /// have as many then.
    fn as_many_start() -> bool {
        let all_started = Mutex::new(());
        thread::scope(|scope| {
            let _waits = all_started.lock();
            (0..pool_threads()).all(|_| {
                let waits = || drop(all_started.lock());
                Builder::new().spawn_scoped(scope, waits).is_ok()
            })
        })
    }

    /// How many threads rayon starts, if nobody tells it.
    fn pool_threads() -> usize {
        let asked = |name| env::var(name).ok()?.parse::<usize>().ok();
        ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"]
            .into_iter()
            .find_map(asked)
            .filter(|&threads| threads > 0)
            .unwrap_or(*PROCESSORS)
            .min(rayon::max_num_threads())
    }
}

/// A thread that calls, and those that help it.
///
/// All state is behind one lock, which is held for some nanoseconds at each claim.
///
/// 1. The owner writes its job into the state. While what is left is worth a helper, whoever claims
///    chunks asks the pool for one.
/// 2. A helper that arrives takes the lock. If there is no job, no chunk left, or no room for
///    another thread, it leaves. Else it counts itself as running and copies the job.
/// 3. Owner and helpers work until no chunk is left.
/// 4. The owner takes the job away, so that nobody else joins, and waits until no helper runs.
/// 5. A helper counts itself out. The last one wakes the owner.
#[cfg(feature = "rayon")]
mod team {
    use super::super::shares::Shares;
    use super::{Cost, max_threads};
    #[cfg(all(test, loom))]
    use loom::sync::{Condvar, Mutex, MutexGuard};
    #[cfg(all(test, loom))]
    use loom::thread_local;
    use std::any::Any;
    use std::cell::{Cell, RefCell};
    use std::mem::{forget, take, transmute};
    use std::ops::Range;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::{Arc, PoisonError};
    #[cfg(not(all(test, loom)))]
    use std::sync::{Condvar, Mutex, MutexGuard};
    use std::time::{Duration, Instant};

    /// The time that one thread takes to copy a byte within its caches: an estimate from below.
    const SECONDS_PER_BYTE: f64 = 12.5e-12;

    /// Seconds of work for each thread that are worth a request to a helper that sleeps. The
    /// request costs some 10 us, and the helper comes 50 us later. 8 MiB are worth it, 4 MiB are
    /// not.
    const WORTH_ASLEEP: f64 = 75e-6;

    /// The same while the pool's threads are awake. [`PARALLEL_FROM`](super::PARALLEL_FROM) bytes
    /// take a little more.
    const WORTH_AWAKE: f64 = 6e-6;

    /// Rayon's threads look for work for a while before they sleep. A thread that calls again
    /// within this time after its last call finds them awake, or wakes them for its next call.
    const AWAKE_FOR: Duration = Duration::from_micros(100);

    /// A helper that does not come within this time is late: the system may have put it on the
    /// processor of the owner, where it waits for up to 4 ms. Others may be idle, so one more is
    /// requested. Two threads that sum 4 MiB again and again in bursts of 10 ms then mostly take 60
    /// to 90 us, and 60 to 190 us without it (an Intel Xeon, virtual). One thread takes 180.
    const LATE: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 100 });

    /// The owner spins for this long before it parks: a helper mostly ends soon, and parking and
    /// waking take longer.
    const SPIN: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 5 });

    /// A claim is expected to take no longer than 2 MiB of a copy. Shorter claims cost a copy up to
    /// 4 %, as reading halts between them. With longer ones threads end further apart.
    const CLAIM: f64 = (2 << 20) as f64 * SECONDS_PER_BYTE;

    /// A shorter time says nothing about a closure: its first chunks also wait for memory.
    const TRUSTED: f64 = 20e-6;

    /// Alone, a thread claims chunks of a closure for about this many seconds, or 8 times as many
    /// chunks as it has claimed so far, as the next chunks may take longer.
    const PROBE: f64 = 5e-6;

    /// What a thread does with the ranges that it claims.
    type Work<'a> = dyn Fn(&mut dyn Iterator<Item = Range<usize>>) + Sync + 'a;

    #[derive(Clone, Copy)]
    struct Job<'a> {
        work: &'a Work<'a>,
        chunks: usize,
        /// How many threads may work, the owner included.
        threads: usize,
        /// Seconds that a chunk takes: estimated from its bytes, later measured.
        chunk_time: f64,
        /// When this thread began, if times are measured.
        begun: Option<Instant>,
        /// Whether the pool's threads are expected to be awake.
        awake: bool,
    }

    #[derive(Default)]
    struct State {
        job: Option<Job<'static>>,
        /// The chunks that nobody has claimed.
        shares: Shares,
        /// Helpers that have been asked for and have not arrived, by earlier calls too.
        awaited: usize,
        /// Helpers that are late. They may still arrive, but no claim counts on them.
        late: usize,
        /// When a helper was last asked for.
        asked: Option<Instant>,
        /// Helpers that use the job.
        running: usize,
        panics: Vec<Box<dyn Any + Send>>,
        /// When the last job ended.
        ended: Option<Instant>,
    }

    /// Aborts the process when it is dropped. A function that other threads borrow from must not
    /// unwind: it forgets this guard at its end.
    struct AbortOnPanic;

    impl Drop for AbortOnPanic {
        fn drop(&mut self) {
            std::process::abort();
        }
    }

    /// Belongs to one calling thread, which uses it for one call after the other. A call from
    /// within a chunk has another one: requests for helpers that nobody takes stay in their queue,
    /// and a team bounds how many there are.
    #[derive(Default)]
    struct Team {
        state: Mutex<State>,
        all_left: Condvar,
    }

    thread_local! {
        /// The teams of this thread that no call uses. Loom's macro takes no `const` block.
        #[allow(clippy::missing_const_for_thread_local)]
        static TEAMS: RefCell<Vec<Arc<Team>>> = RefCell::new(Vec::new());

        /// Whether this thread works on a call.
        #[allow(clippy::missing_const_for_thread_local)]
        static WORKS: Cell<bool> = Cell::new(false);
    }

    pub(super) fn share(chunks: usize, cost: Cost, work: &Work<'_>) {
        let (bytes, begun) = match cost {
            Cost::Bytes(bytes) => (bytes, None),
            Cost::Closure { bytes } => (bytes, Some(Instant::now())),
        };
        // A thread that ends, and calls in a destructor, may keep no teams any more.
        let team = TEAMS.try_with(|teams| teams.borrow_mut().pop());
        let team = team.ok().flatten().unwrap_or_default();
        let ended = lock(&team).ended;
        let awake = ended.is_some_and(|ended| ended.elapsed() < AWAKE_FOR);
        let job = Job {
            work,
            chunks,
            threads: max_threads().min(chunks),
            chunk_time: bytes as f64 * SECONDS_PER_BYTE / chunks as f64,
            begun,
            awake,
        };
        let panics = run(&team, job);
        let _ = TEAMS.try_with(|teams| teams.borrow_mut().push(team));
        pass_on(panics);
    }

    /// Panics as the first thread did, if any did.
    fn pass_on(panics: Vec<Box<dyn Any + Send>>) {
        let mut panics = panics.into_iter();
        if let Some(first) = panics.next() {
            for other in panics {
                // A destructor of a payload may panic too. If that of the next payload does so
                // again, the one after it is leaked.
                if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(other))) {
                    catch_unwind(AssertUnwindSafe(|| drop(next))).unwrap_or_else(forget);
                }
            }
            resume_unwind(first);
        }
    }

    /// Does all chunks on this thread and those that come to help. Returns what panicked.
    fn run(team: &Arc<Team>, job: Job<'_>) -> Vec<Box<dyn Any + Send>> {
        // SAFETY: only the lifetime of `work` changes. It is used by this thread, below, and by
        // helpers. A helper copies the job from `State::job` under the lock, and in the same
        // critical section counts itself in `State::running`, until it has used the job for the
        // last time. This function takes the job away under the lock, and then returns only when
        // `running` is 0. It does not unwind in between: panics of `work` are caught, and a guard
        // aborts at any other.
        let job = unsafe { transmute::<Job<'_>, Job<'static>>(job) };
        let mut state = lock(team);
        let guard = AbortOnPanic;
        (state.job, state.shares) = (Some(job), Shares::new(job.chunks, job.threads));
        drop(state);
        let mut state = work(team, job, 0);
        state.job = None;
        let closed = Instant::now();
        while state.running > 0 && closed.elapsed() < SPIN {
            drop(state);
            std::hint::spin_loop();
            state = lock(team);
        }
        while state.running > 0 {
            state = (team.all_left.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
        forget(guard);
        state.ended = Some(Instant::now());
        take(&mut state.panics)
    }

    /// What a helper does when it arrives.
    fn help(team: &Arc<Team>) {
        let mut state = lock(team);
        match state.awaited {
            0 => state.late -= 1,
            _ => state.awaited -= 1,
        }
        let Some(job) = state.job else { return };
        let busy = WORKS.with(Cell::get);
        if busy || state.shares.left() == 0 || state.running + 1 == job.threads {
            return;
        }
        state.running += 1;
        let guard = AbortOnPanic;
        let share = state.shares.join();
        drop(state);
        let begun = job.begun.map(|_| Instant::now());
        let mut state = work(team, Job { begun, ..job }, share);
        state.running -= 1;
        forget(guard);
        if state.running == 0 {
            drop(state);
            team.all_left.notify_one();
        }
    }

    /// Works until no chunk is left to claim, on this share first. The state that is returned has
    /// the panic, if any.
    fn work<'t>(team: &'t Arc<Team>, job: Job<'static>, share: usize) -> MutexGuard<'t, State> {
        let claimed = 0;
        let mut ranges = Ranges {
            team,
            job,
            share,
            claimed,
        };
        let worked = WORKS.with(|works| works.replace(true));
        let caught = catch_unwind(AssertUnwindSafe(|| (job.work)(&mut ranges)));
        WORKS.with(|works| works.set(worked));
        let mut state = lock(team);
        if let Err(payload) = caught {
            state.shares.clear();
            state.panics.push(payload);
        }
        state
    }

    fn lock(team: &Team) -> MutexGuard<'_, State> {
        team.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ranges that one thread claims.
    struct Ranges<'a> {
        team: &'a Arc<Team>,
        job: Job<'static>,
        /// The number of its share.
        share: usize,
        /// How many chunks this thread has claimed.
        claimed: usize,
    }

    impl Iterator for Ranges<'_> {
        type Item = Range<usize>;

        fn next(&mut self) -> Option<Range<usize>> {
            let (job, claimed) = (&mut self.job, self.claimed as f64);
            let begun = job.begun.filter(|_| self.claimed > 0);
            let spent = begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
            if spent > TRUSTED {
                job.chunk_time = spent / claimed;
            }
            let worth = if job.awake { WORTH_AWAKE } else { WORTH_ASLEEP };

            let mut state = lock(self.team);
            let left = state.shares.left();
            if left == 0 {
                return None;
            }
            let open = state.awaited + state.late;
            let is_late = |asked: Instant| asked.elapsed() >= LATE;
            if state.awaited > 0 && open < job.threads && state.asked.is_some_and(is_late) {
                (state.awaited, state.late) = (0, open);
            }
            let mut threads = 1 + state.running + state.awaited;
            let pays = left > 1 && job.chunk_time * left as f64 > worth * threads as f64;
            // With an open request for each running helper, their number can double each time.
            let ask = pays
                && (job.awake || self.claimed > 0)
                && state.awaited <= state.running
                && threads < job.threads;
            if ask {
                threads += 1;
                state.awaited += 1;
                state.asked = Some(Instant::now());
            }
            let most = match spent {
                // The first chunk comes before a request, and before a closure is measured.
                _ if self.claimed == 0 && !ask => 1.0,
                _ if pays || threads > 1 => left as f64 / (2 * threads) as f64,
                ..=TRUSTED if begun.is_some() => claimed * (PROBE / spent).max(8.0),
                _ => left as f64,
            };
            let count = most.min(CLAIM / job.chunk_time) as usize;
            let range = state.shares.claim(self.share, count);
            drop(state);
            self.claimed += range.len();
            if ask {
                spawn(self.team.clone());
            }
            Some(range)
        }
    }

    /// Asks the pool for a helper. A pool that is dropped runs the request before it ends.
    fn spawn(team: Arc<Team>) {
        #[cfg(not(all(test, loom)))]
        rayon::spawn(move || help(&team));
        #[cfg(all(test, loom))]
        loom::thread::spawn(move || help(&team));
    }

    #[cfg(test)]
    pub(super) mod tests {
        use super::*;

        fn job<'a>(threads: usize, chunks: usize, work: &'a Work<'a>) -> Job<'a> {
            Job {
                work,
                chunks,
                threads,
                chunk_time: 1.0,
                begun: None,
                awake: true,
            }
        }

        /// A call that is worth `threads` threads, by a team of its own.
        #[cfg_attr(loom, allow(dead_code))]
        pub(in super::super) fn call(threads: usize, chunks: usize, work: &Work<'_>) {
            pass_on(run(&Arc::default(), job(threads, chunks, work)));
        }

        /// The same, while a helper that was asked for before never comes.
        #[cfg_attr(loom, allow(dead_code))]
        pub(in super::super) fn call_with_a_late_helper(chunks: usize, work: &Work<'_>) {
            let team = Arc::<Team>::default();
            lock(&team).awaited = 1;
            lock(&team).asked = Some(Instant::now() - LATE);
            pass_on(run(&team, job(2, chunks, work)));
        }

        /// Run with `RUSTFLAGS='--cfg loom'`, these explore every order of the steps that threads
        /// take between locks.
        #[cfg(loom)]
        mod loom_model {
            use super::*;
            use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
            use loom::thread;

            /// Shares `chunks` chunks and checks that no thread uses what the work borrows after
            /// the call. `each` gets the number of a chunk, and whether the owner runs it. Returns
            /// whether the call panicked.
            fn checked(
                team: &Arc<Team>,
                threads: usize,
                chunks: usize,
                each: &(dyn Fn(usize, bool) + Sync),
            ) -> bool {
                let owner = thread::current().id();
                let alive = Arc::new(AtomicBool::new(true));
                let runs: Vec<_> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
                let users = AtomicUsize::new(0);
                let late = AtomicUsize::new(0);
                let work = |ranges: &mut dyn Iterator<Item = Range<usize>>| {
                    let alive = alive.clone();
                    assert!(users.fetch_add(1, Ordering::SeqCst) < threads);
                    for chunk in ranges.flatten() {
                        assert!(alive.load(Ordering::SeqCst));
                        assert_eq!(runs[chunk].fetch_add(1, Ordering::SeqCst), 0);
                        if !lock(team).panics.is_empty() {
                            // The other thread had claimed one chunk.
                            assert_eq!(late.fetch_add(1, Ordering::SeqCst), 0);
                        }
                        each(chunk, thread::current().id() == owner);
                        assert!(alive.load(Ordering::SeqCst));
                    }
                    assert!(alive.load(Ordering::SeqCst));
                };
                let panics = run(team, job(threads, chunks, &work));
                alive.store(false, Ordering::SeqCst);
                for payload in &panics {
                    assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
                }
                let done = runs.iter().filter(|runs| runs.load(Ordering::SeqCst) == 1);
                assert!(done.count() == chunks || !panics.is_empty());
                let state = lock(team);
                assert!(state.job.is_none() && state.running == 0 && state.panics.is_empty());
                !panics.is_empty()
            }

            fn panic_on_purpose() {
                resume_unwind(Box::new("on purpose"));
            }

            #[test]
            fn the_owner_leaves_while_a_helper_arrives() {
                loom::model(|| {
                    assert!(!checked(&Arc::default(), 2, 2, &|_, _| ()));
                });
            }

            #[test]
            fn a_helper_asks_for_another() {
                let mut model = loom::model::Builder::new();
                model.preemption_bound = Some(2);
                model.check(|| {
                    assert!(!checked(&Arc::default(), 3, 4, &|_, _| ()));
                });
            }

            #[test]
            fn a_helper_panics() {
                loom::model(|| {
                    let team = Arc::default();
                    let helped = std::sync::atomic::AtomicBool::new(false);
                    let panicked = checked(&team, 2, 3, &|_, by_owner| {
                        if !by_owner {
                            helped.store(true, std::sync::atomic::Ordering::SeqCst);
                            panic_on_purpose();
                        }
                    });
                    assert_eq!(panicked, helped.into_inner());
                });
            }

            #[test]
            fn the_owner_panics() {
                loom::model(|| {
                    let panicking = std::sync::atomic::AtomicBool::new(false);
                    let panicked = checked(&Arc::default(), 2, 4, &|_, by_owner| {
                        if by_owner {
                            panicking.store(true, std::sync::atomic::Ordering::SeqCst);
                            panic_on_purpose();
                        }
                    });
                    assert_eq!(panicked, panicking.into_inner());
                });
            }

            #[test]
            fn all_threads_panic() {
                loom::model(|| {
                    assert!(checked(&Arc::default(), 2, 2, &|_, _| panic_on_purpose()));
                });
            }

            #[test]
            fn two_jobs_in_a_row() {
                loom::model(|| {
                    let team = Arc::default();
                    assert!(!checked(&team, 2, 2, &|_, _| ()));
                    assert!(!checked(&team, 2, 2, &|_, _| ()));
                });
            }

            #[test]
            fn a_job_after_one_that_panicked() {
                loom::model(|| {
                    let team = Arc::default();
                    assert!(checked(&team, 2, 1, &|_, _| panic_on_purpose()));
                    assert!(!checked(&team, 2, 2, &|_, _| ()));
                });
            }

            #[test]
            fn nested_calls() {
                let mut model = loom::model::Builder::new();
                model.preemption_bound = Some(2);
                model.check(|| {
                    let panicked = checked(&Arc::default(), 2, 2, &|_, by_owner| {
                        if by_owner {
                            assert!(!checked(&Arc::default(), 2, 2, &|_, _| ()));
                        }
                    });
                    assert!(!panicked);
                });
            }
        }
    }
}

// They catch panics.
#[cfg(all(test, panic = "unwind"))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SHARED: Cost = Cost::Bytes(PARALLEL_FROM);

    #[cfg(feature = "rayon")]
    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    }

    fn run_every_chunk_once() {
        for chunks in [0, 1, 2, 3, 63, 64, 65, 1000] {
            for bytes in [0, PARALLEL_FROM, 1 << 30] {
                for cost in [Cost::Bytes(bytes), Cost::Closure { bytes }] {
                    let runs: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
                    for_each_range(chunks, cost, |range| {
                        for run in &runs[range] {
                            run.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                    assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
                }
            }
        }
    }

    #[test]
    fn every_chunk_runs_once_from_any_thread() {
        run_every_chunk_once();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(run_every_chunk_once);
            }
        });
        #[cfg(feature = "rayon")]
        for threads in [1, 2, 5, 40] {
            let pool = pool(threads);
            pool.install(run_every_chunk_once);
            pool.install(|| rayon::join(run_every_chunk_once, run_every_chunk_once));
            pool.broadcast(|_| run_every_chunk_once());
        }
    }

    #[test]
    fn calls_nest() {
        let count = AtomicUsize::new(0);
        for_each_range(10, SHARED, |outer| {
            for_each_range(10, SHARED, |inner| {
                let calls = outer.len() * inner.len();
                #[cfg(feature = "rayon")]
                rayon::join(
                    || count.fetch_add(calls, Ordering::Relaxed),
                    || count.fetch_add(calls, Ordering::Relaxed),
                );
                #[cfg(not(feature = "rayon"))]
                count.fetch_add(2 * calls, Ordering::Relaxed);
            });
        });
        assert_eq!(count.into_inner(), 200);
    }

    #[test]
    fn a_panic_reaches_the_caller_when_no_chunk_runs_any_more() {
        struct Out<'a>(&'a AtomicUsize);
        impl Drop for Out<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        for round in 0..50 {
            let inside = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                for_each_range(100, SHARED, |range| {
                    inside.fetch_add(1, Ordering::SeqCst);
                    let _out = Out(&inside);
                    if range.contains(&(2 * round)) {
                        resume_unwind(Box::new(2 * round));
                    }
                });
            }));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&(2 * round)));
            assert_eq!(inside.load(Ordering::SeqCst), 0);
            run_every_chunk_once();
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn no_more_threads_may_work_than_the_pool_and_the_processors_allow() {
        let processors = std::thread::available_parallelism().unwrap().get();
        assert_eq!(max_threads(), rayon::current_num_threads().min(processors));
        for threads in [1, 3, 7] {
            assert_eq!(pool(threads).install(max_threads), threads.min(processors));
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn a_pool_may_be_dropped_right_after_a_call() {
        for _ in 0..20 {
            pool(3).install(run_every_chunk_once);
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn work_of_few_bytes_stays_on_the_caller() {
        pool(3).install(|| {
            let caller = std::thread::current().id();
            let sleep = |_| std::thread::sleep(std::time::Duration::from_micros(20));
            for _ in 0..50 {
                // Other threads are awake.
                for_each_range(8, Cost::Bytes(1 << 30), sleep);
                for (chunks, bytes) in [(8, PARALLEL_FROM - 1), (1, 1 << 30), (8, 0)] {
                    for_each_range(chunks, Cost::Bytes(bytes), |range| {
                        sleep(range);
                        assert_eq!(std::thread::current().id(), caller);
                    });
                }
            }
        });
    }

    /// Calls with chunks of 1 ms until a second thread has run one.
    #[cfg(feature = "rayon")]
    fn becomes_shared(cost: Cost) -> bool {
        use std::sync::Mutex;
        let seen = Mutex::new(std::collections::HashSet::new());
        pool(3).install(|| {
            (0..50).any(|_| {
                for_each_range(100, cost, |range| {
                    seen.lock().unwrap().insert(std::thread::current().id());
                    std::thread::sleep(std::time::Duration::from_millis(range.len() as u64));
                });
                seen.lock().unwrap().len() > 1
            })
        })
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn a_slow_closure_is_shared_however_few_its_bytes() {
        if max_threads() > 1 {
            assert!(becomes_shared(Cost::Closure { bytes: 0 }));
            assert!(becomes_shared(Cost::Closure {
                bytes: PARALLEL_FROM
            }));
            assert!(becomes_shared(Cost::Bytes(1 << 30)));
        }
    }
}

/// Tests with as many helpers as a test asks for, whatever the number of processors.
#[cfg(all(test, feature = "rayon", panic = "unwind"))]
mod team_tests {
    use super::team::tests::{call, call_with_a_late_helper};
    use std::collections::HashSet;
    use std::ops::Range;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    }

    /// Makes a call in which each chunk waits until so many threads are in one.
    fn all_threads_come(
        threads: usize,
        call: impl Fn(&(dyn Fn(&mut dyn Iterator<Item = Range<usize>>) + Sync)) + Sync,
    ) {
        let pool = pool(threads);
        for _ in 0..5 {
            let (seen, begun) = (Mutex::new(HashSet::new()), Instant::now());
            pool.install(|| {
                call(&|ranges| {
                    for _ in ranges {
                        seen.lock().unwrap().insert(thread::current().id());
                        while seen.lock().unwrap().len() < threads
                            && begun.elapsed() < Duration::from_secs(60)
                        {
                            thread::sleep(Duration::from_micros(50));
                        }
                    }
                });
            });
            assert_eq!(seen.into_inner().unwrap().len(), threads);
        }
    }

    #[test]
    fn large_work_is_done_by_all_threads() {
        for threads in [2, 3, 8, 16] {
            all_threads_come(threads, |work| call(threads, 8 * threads, work));
        }
    }

    #[test]
    fn a_helper_that_is_late_is_replaced() {
        all_threads_come(2, |work| call_with_a_late_helper(16, work));
    }

    #[test]
    fn all_but_the_first_of_several_panics_are_dropped() {
        static ALIVE: AtomicUsize = AtomicUsize::new(0);
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                ALIVE.fetch_sub(1, Ordering::SeqCst);
                if !thread::panicking() && ALIVE.load(Ordering::SeqCst) % 2 == 1 {
                    resume_unwind(Box::new("a destructor of a payload"));
                }
            }
        }
        let pool = pool(3);
        for _ in 0..200 {
            let caught = pool.install(|| {
                catch_unwind(|| {
                    call(3, 100, &|ranges| {
                        if ranges.next().is_some() {
                            ALIVE.fetch_add(1, Ordering::SeqCst);
                            // Other threads are in their chunks by now.
                            thread::sleep(Duration::from_micros(200));
                            resume_unwind(Box::new(Payload));
                        }
                    });
                })
            });
            let payload = caught.unwrap_err().downcast::<Payload>().unwrap();
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
        }
    }

    #[test]
    fn after_a_panic_no_further_chunk_begins() {
        let pool = pool(2);
        for owner_panics in [false, true] {
            let (entered, panicked) = (AtomicUsize::new(0), AtomicBool::new(false));
            let late = AtomicUsize::new(0);
            let caught = pool.install(|| {
                let owner = thread::current().id();
                catch_unwind(AssertUnwindSafe(|| {
                    call(2, 1000, &|ranges| {
                        for _ in ranges {
                            if panicked.load(Ordering::SeqCst) {
                                late.fetch_add(1, Ordering::SeqCst);
                            }
                            // Both threads are in a chunk.
                            entered.fetch_add(1, Ordering::SeqCst);
                            while entered.load(Ordering::SeqCst) < 2 {
                                thread::yield_now();
                            }
                            if (thread::current().id() == owner) == owner_panics {
                                panicked.store(true, Ordering::SeqCst);
                                resume_unwind(Box::new("on purpose"));
                            }
                            // The other thread has the time to leave its chunk.
                            thread::sleep(Duration::from_millis(300));
                        }
                    });
                }))
            });
            assert!(caught.is_err());
            assert_eq!(late.into_inner(), 0);
        }
    }
}
