//! The one place where work is split over threads.
//!
//! Work comes as numbered parts that may run in any order and on any thread. The calling thread works too and needs no one else:
//! a thread that is asleep, or busy with something else, is not waited for. So a call is never slower than one thread alone by more
//! than the cost of asking, some microseconds.
//!
//! With the feature `rayon`, helpers are threads of the current rayon pool: of the pool whose thread is calling, or else the global
//! one. Waking one of them takes 50 us and more, as long as a copy of some MiB. So a helper that has worked stays for [`LINGER`],
//! looking for the next call of the same thread; it gives way to any job of its pool and to any runnable thread of the machine, and
//! after that the pool sleeps as it does otherwise. How many threads worked, and which, never shows in a result.

use std::ops::Range;

/// What work costs.
pub(crate) enum Cost {
    Bytes(usize),
    Closure { bytes: usize },
}

impl From<usize> for Cost {
    fn from(bytes: usize) -> Self {
        Cost::Bytes(bytes)
    }
}

/// Work that moves fewer bytes than this stays on the calling thread. 512 KiB are written in 11 us by one thread and in 7 by two that
/// are awake; 256 KiB in 8 and 6.5.
pub(crate) const PARALLEL_FROM: usize = 512 << 10;

/// Calls `f` with ranges that together are `0..parts`, in no particular order; on several threads if `bytes`, what all parts together
/// read and write, is worth it.
///
/// Returns when all have run. If one of them panics, no further range is begun, and the panic goes on in the caller once all
/// threads have let go of `f`.
#[inline]
pub(crate) fn for_each_range<F: Fn(Range<usize>) + Sync>(
    parts: usize,
    bytes: impl Into<Cost>,
    f: F,
) {
    let (Cost::Bytes(bytes) | Cost::Closure { bytes }) = bytes.into();
    share(parts, bytes, |ranges| ranges.for_each(&f));
}

/// [`for_each_range`] with `f` called once by each thread that takes part, with the ranges that fall to it.
#[inline]
pub(crate) fn share<F>(parts: usize, bytes: usize, f: F)
where
    F: Fn(&mut dyn Iterator<Item = Range<usize>>) + Sync,
{
    #[cfg(feature = "rayon")]
    if parts > 1 && bytes >= PARALLEL_FROM {
        let threads = max_threads().min(parts);
        if threads > 1 {
            return team::run(threads, parts, bytes, &f);
        }
    }
    #[cfg(not(feature = "rayon"))]
    let _ = bytes;
    if parts > 0 {
        f(&mut std::iter::once(0..parts));
    }
}

/// How many threads may work on one call from here.
pub(crate) fn max_threads() -> usize {
    #[cfg(feature = "rayon")]
    if rayon::current_thread_index().is_some() || has_global_pool() {
        return rayon::current_num_threads();
    }
    1
}

/// Whether rayon's global pool is there; the first call starts it.
///
/// Where the system has no threads to give, as in a container that may have only so many, rayon panics for whoever uses the
/// pool. Work is then done by who calls.
#[cfg(feature = "rayon")]
fn has_global_pool() -> bool {
    use std::error::Error;
    use std::sync::OnceLock;
    static STARTED: OnceLock<bool> = OnceLock::new();
    *STARTED.get_or_init(|| {
        // Where no system has threads, rayon falls back to a pool of the thread at hand, but only if it starts by itself.
        let started = match cfg!(target_family = "wasm") {
            true => None,
            false => Some(rayon::ThreadPoolBuilder::new().build_global()),
        };
        match started {
            Some(Ok(())) => true,
            // The system's refusal has a source.
            Some(Err(error)) if error.source().is_some() => false,
            // Somebody has tried before, who knows with what success.
            _ => std::panic::catch_unwind(rayon::current_num_threads).is_ok(),
        }
    })
}

#[cfg(feature = "rayon")]
mod team {
    use super::cpu;
    use std::any::Any;
    use std::cell::{Cell, RefCell};
    use std::ops::Range;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::thread;
    use std::time::{Duration, Instant};

    /// How long a helper stays after its last work.
    const LINGER: Duration = Duration::from_micros(200);

    /// Work that moves fewer bytes than this wakes no one, unless the same thread called less than [`LINGER`] ago and so may call
    /// again soon. Asking costs the caller some 10 us, and who wakes up is there 50 us later, when one thread has written 4 MiB.
    pub(super) const WAKE_FROM: usize = 8 << 20;

    /// How many times a waiting thread looks again before it gives way to others; some microseconds.
    const SPINS: usize = 64;

    /// Into how many stretches the parts are divided at most; more threads than this share them.
    const MAX_STRETCHES: usize = 32;

    /// So many parts at most are taken at once, of no more than [`AT_ONCE_BYTES`], and no more than half of those that are left of a
    /// stretch. Between one part and the next, reading comes to a halt: copies and sums of 4 MiB take up to 4 % longer part by part.
    const AT_ONCE: usize = 4;

    /// What is in memory gains nothing from longer ranges, and threads end further apart: 256 MiB in rows of 3 `f32` summed into 85 MiB
    /// of fresh memory take 11.5 ms by 2 MiB and 13 by 8.
    const AT_ONCE_BYTES: usize = 2 << 20;

    /// What each thread does with the ranges that fall to it.
    type Work<'a> = dyn Fn(&mut dyn Iterator<Item = Range<usize>>) + Sync + 'a;

    /// On a line of its own, as one thread mostly counts on it alone.
    #[repr(align(128))]
    struct Stretch {
        next: AtomicUsize,
        end: usize,
    }

    /// One call of [`run`]: lives on the caller's stack, and helpers hold its address only while counted in `Team::inside`.
    struct Job<'a> {
        work: &'a Work<'a>,
        stretches: [Stretch; MAX_STRETCHES],
        used: usize,
        at_once: usize,
        threads: usize,
        joined: AtomicUsize,
        stopped: AtomicBool,
        panic: Mutex<Option<Box<dyn Any + Send>>>,
    }

    impl<'a> Job<'a> {
        fn new(threads: usize, parts: usize, bytes: usize, work: &'a Work<'a>) -> Self {
            let used = threads.min(MAX_STRETCHES);
            let share = parts.div_ceil(used);
            Job {
                work,
                stretches: std::array::from_fn(|i| Stretch {
                    next: AtomicUsize::new(parts.min(i * share)),
                    end: parts.min((i + 1) * share),
                }),
                used,
                at_once: (AT_ONCE_BYTES / (bytes / parts).max(1)).clamp(1, AT_ONCE),
                threads,
                joined: AtomicUsize::new(0),
                stopped: AtomicBool::new(false),
                panic: Mutex::new(None),
            }
        }

        /// Takes parts until none is left.
        fn take_part(&self) {
            let me = self.joined.fetch_add(1, Ordering::Relaxed);
            if me >= self.threads {
                return;
            }
            let mut share = Share {
                job: self,
                first: me,
                turn: 0,
            };
            let caught = catch_unwind(AssertUnwindSafe(|| (self.work)(&mut share)));
            if let Err(payload) = caught {
                self.stopped.store(true, Ordering::Relaxed);
                let mut slot = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
                if slot.is_none() {
                    *slot = Some(payload);
                    return;
                }
                drop(slot);
                // Only the first is passed on. To drop another one may panic too; what that leaves is left alone.
                if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                    std::mem::forget(again);
                }
            }
        }
    }

    /// The ranges that fall to one thread: of an own stretch first, which lie side by side, then what others left over.
    struct Share<'a> {
        job: &'a Job<'a>,
        first: usize,
        turn: usize,
    }

    impl Iterator for Share<'_> {
        type Item = Range<usize>;

        fn next(&mut self) -> Option<Range<usize>> {
            let used = self.job.used;
            while self.turn < used {
                let stretch = &self.job.stretches[(self.first + self.turn) % used];
                let left = stretch
                    .end
                    .saturating_sub(stretch.next.load(Ordering::Relaxed));
                if left > 0 {
                    let count = (left / 2).clamp(1, self.job.at_once);
                    let first = stretch.next.fetch_add(count, Ordering::Relaxed);
                    if first < stretch.end {
                        let stopped = self.job.stopped.load(Ordering::Relaxed);
                        return (!stopped).then_some(first..stretch.end.min(first + count));
                    }
                }
                self.turn += 1;
            }
            None
        }
    }

    /// A thread that calls, and the helpers that wait for its next call.
    ///
    /// It belongs to one calling thread. A thread of a pool is of that pool for life and any other thread uses the global pool, so
    /// helpers never work for another pool than their own.
    struct Team {
        /// The [`this_thread`] of the thread that calls.
        owner: usize,
        /// The job at hand, or null.
        job: AtomicPtr<Job<'static>>,
        /// Number of the job at hand or of the last one, so that a helper joins each once.
        number: AtomicUsize,
        /// Helpers that hold the job's address or are about to load it.
        inside: AtomicUsize,
        /// Helpers that have been asked for and have not left.
        helpers: AtomicUsize,
        /// Helpers that have been asked for and have not come yet.
        awaited: AtomicUsize,
        /// The processor that the owner was seen on last, or [`cpu::UNKNOWN`].
        cpu: AtomicUsize,
    }

    /// A team between calls, when the last one ended, and whether that one asked for helpers.
    struct Kept {
        team: Arc<Team>,
        ended: Instant,
        asked: bool,
    }

    thread_local! {
        /// Taken out while in use: a call from within a part finds none and makes another.
        static TEAM: RefCell<Option<Kept>> = const { RefCell::new(None) };
        /// Whether this thread lingers already, further down its stack.
        static LINGERS: Cell<bool> = const { Cell::new(false) };
    }

    /// What no other living thread has: where it keeps a thread local. Unlike [`thread::current`] it can be had at all times, by what
    /// runs when the process exits too.
    fn this_thread() -> usize {
        let address = LINGERS.try_with(|lingers| ptr::from_ref(lingers).addr());
        address.unwrap_or(0)
    }

    /// Calls `work` for every part on up to `threads` threads, which is worth it if some are awake or for very many `bytes`.
    pub(super) fn run(threads: usize, parts: usize, bytes: usize, work: &Work<'_>) {
        let kept = TEAM.try_with(|kept| kept.borrow_mut().take());
        let (team, ended) = match kept.ok().flatten() {
            Some(kept) => {
                // A helper that was put on this processor waits until the scheduler's slice of some milliseconds is over: for
                // dozens of calls. It has its turn now, once, to go elsewhere.
                if kept.asked && kept.team.awaited.load(Ordering::Relaxed) > 0 {
                    thread::yield_now();
                }
                (kept.team, Some(kept.ended))
            }
            None => (Team::new(), None),
        };
        let mut asked = false;
        let mut job = Job::new(threads, parts, bytes, work);
        {
            let _closed_at_end = Open::new(&team, &job);
            let wake = bytes >= WAKE_FROM || ended.is_some_and(|ended| ended.elapsed() < LINGER);
            while wake && team.helpers.load(Ordering::SeqCst) < threads - 1 {
                team.helpers.fetch_add(1, Ordering::SeqCst);
                team.awaited.fetch_add(1, Ordering::Relaxed);
                asked = true;
                let helper = Helper(team.clone());
                rayon::spawn(move || helper.help());
            }
            job.take_part();
        }
        let ended = Instant::now();
        let _ = TEAM.try_with(|kept| *kept.borrow_mut() = Some(Kept { team, ended, asked }));
        let panic = job.panic.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(payload) = panic.take() {
            resume_unwind(payload);
        }
    }

    /// While it lives helpers may join the job; when it is dropped, by a panic too, none is left in it.
    struct Open<'a>(&'a Team);

    impl<'a> Open<'a> {
        fn new(team: &'a Team, job: &'a Job<'_>) -> Self {
            team.cpu.store(cpu::current(), Ordering::Relaxed);
            team.number.fetch_add(1, Ordering::Relaxed);
            let address = ptr::from_ref(job).cast_mut().cast::<Job<'static>>();
            team.job.store(address, Ordering::SeqCst);
            Open(team)
        }
    }

    impl Drop for Open<'_> {
        fn drop(&mut self) {
            self.0.job.store(ptr::null_mut(), Ordering::SeqCst);
            let mut spins = 0;
            while self.0.inside.load(Ordering::SeqCst) != 0 {
                spins += 1;
                if spins <= 16 * SPINS {
                    std::hint::spin_loop();
                } else if rayon::yield_now() != Some(rayon::Yield::Executed) {
                    // A job of the pool is done meanwhile, as in `rayon::join`: a helper may be waiting for it.
                    thread::yield_now();
                }
            }
        }
    }

    /// A place among the helpers, given up when dropped.
    struct Helper(Arc<Team>);

    impl Drop for Helper {
        fn drop(&mut self) {
            self.0.helpers.fetch_sub(1, Ordering::SeqCst);
        }
    }

    impl Helper {
        /// Works for the team until nothing has come from it for a while.
        fn help(self) {
            let team = &*self.0;
            team.awaited.fetch_sub(1, Ordering::Relaxed);
            // A pool's thread that takes back what it asked for has no one to help.
            if this_thread() == team.owner {
                return;
            }
            let mut last = None;
            cpu::leave(team.cpu.load(Ordering::Relaxed));
            team.join(&mut last);
            if LINGERS.replace(true) {
                return;
            }
            let mut since = Instant::now();
            loop {
                for _ in 0..SPINS {
                    if team.join(&mut last) {
                        since = Instant::now();
                    }
                    std::hint::spin_loop();
                }
                // Whoever else has work for this thread goes first.
                if rayon::yield_now() == Some(rayon::Yield::Executed) || since.elapsed() > LINGER {
                    break;
                }
                thread::yield_now();
            }
            LINGERS.set(false);
        }
    }

    impl Team {
        fn new() -> Arc<Self> {
            Arc::new(Team {
                owner: this_thread(),
                job: AtomicPtr::new(ptr::null_mut()),
                number: AtomicUsize::new(0),
                inside: AtomicUsize::new(0),
                helpers: AtomicUsize::new(0),
                awaited: AtomicUsize::new(0),
                cpu: AtomicUsize::new(cpu::UNKNOWN),
            })
        }

        /// Takes part in the job at hand, if there is one that is not the `last` one. Says whether there was.
        fn join(&self, last: &mut Option<usize>) -> bool {
            if self.job.load(Ordering::Relaxed).is_null()
                || *last == Some(self.number.load(Ordering::Relaxed))
            {
                return false;
            }
            // Either the owner, who takes the address away and then reads `inside`, sees this count and waits, or its null is
            // seen here: the four accesses have one order.
            self.inside.fetch_add(1, Ordering::SeqCst);
            let job = self.job.load(Ordering::SeqCst);
            let number = self.number.load(Ordering::Relaxed);
            let found = !job.is_null() && *last != Some(number);
            if found {
                *last = Some(number);
                // SAFETY: `job` was not null after this thread was counted inside, so the owner is still in `run` and keeps
                // the job, and the closure it borrows, until this thread is counted out again.
                let job = unsafe { &*job };
                job.take_part();
            }
            self.inside.fetch_sub(1, Ordering::SeqCst);
            found
        }
    }
}

/// Processors, where the system says which one a thread is on.
#[cfg(feature = "rayon")]
mod cpu {
    /// What [`current`] gives where it does not know.
    pub(super) const UNKNOWN: usize = usize::MAX;

    /// The number of the processor that this thread is on.
    pub(super) fn current() -> usize {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            usize::try_from(system::sched_getcpu()).unwrap_or(UNKNOWN)
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        UNKNOWN
    }

    /// Goes to another processor if this thread is on `cpu` and may run elsewhere.
    ///
    /// Linux wakes a thread where it ran last or where its waker runs, and where it takes processors for having no cache in common,
    /// as in many virtual machines, it looks for no idle one. A helper on its caller's processor only takes turns with it, be it that
    /// it yields or sleeps: measured on two processors, after every second pause, for hundreds of calls in a row, 4 MiB took 60 to
    /// 90 us instead of 30 to 45.
    pub(super) fn leave(cpu: usize) {
        #[cfg(all(target_os = "linux", not(miri)))]
        if cpu == current() {
            let mut allowed = system::CpuSet::default();
            let size = size_of_val(&allowed);
            // SAFETY: the pointer is valid for a write of `size` bytes.
            if unsafe { system::sched_getaffinity(0, size, &mut allowed) } != 0 {
                return;
            }
            let mut others = allowed;
            if let Some(word) = others.0.get_mut(cpu / 64) {
                *word &= !(1 << (cpu % 64));
            }
            if others != system::CpuSet::default() {
                // Back to all of them at once: the thread is moved by the first call, and stays where it then is.
                for set in [&others, &allowed] {
                    // SAFETY: the pointer is valid for a read of `size` bytes.
                    unsafe { system::sched_setaffinity(0, size, set) };
                }
            }
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        let _ = cpu;
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    mod system {
        use std::ffi::c_int;

        /// The system's `cpu_set_t`.
        #[derive(Clone, Copy, Default, PartialEq)]
        #[repr(C, align(8))]
        pub(super) struct CpuSet(pub(super) [u64; 16]);

        unsafe extern "C" {
            pub(super) safe fn sched_getcpu() -> c_int;
            pub(super) fn sched_getaffinity(thread: c_int, size: usize, set: *mut CpuSet) -> c_int;
            pub(super) fn sched_setaffinity(
                thread: c_int,
                size: usize,
                set: *const CpuSet,
            ) -> c_int;
        }
    }

    #[cfg(test)]
    #[cfg(all(target_os = "linux", not(miri)))]
    mod tests {
        use super::system::{CpuSet, sched_getaffinity, sched_setaffinity};
        use super::{current, leave};

        fn allowed() -> CpuSet {
            let mut set = CpuSet::default();
            // SAFETY: the pointer is valid for a write of as many bytes.
            assert!(unsafe { sched_getaffinity(0, size_of_val(&set), &mut set) } >= 0);
            set
        }

        fn allow(set: &CpuSet) {
            // SAFETY: the pointer is valid for a read of as many bytes.
            let result = unsafe { sched_setaffinity(0, size_of_val(set), set) };
            assert_eq!(result, 0);
        }

        #[test]
        fn a_thread_leaves_the_processor_that_it_is_on() {
            let all = allowed();
            let numbers = (0..1024).filter(|&cpu| all.0[cpu / 64] >> (cpu % 64) & 1 == 1);
            let cpus: Vec<usize> = numbers.collect();
            for &cpu in &cpus {
                let mut one = CpuSet::default();
                one.0[cpu / 64] = 1 << (cpu % 64);
                allow(&one);
                assert_eq!(current(), cpu);
                leave(cpu);
                // There was nowhere to go.
                assert_eq!(current(), cpu);
                assert!(allowed() == one);
                // The scheduler may bring it back, but not always.
                let left = (0..20).any(|_| {
                    allow(&one);
                    allow(&all);
                    leave(cpu);
                    current() != cpu
                });
                assert_eq!(left, cpus.len() > 1, "{cpu} of {cpus:?}");
                assert!(allowed() == all);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[cfg(feature = "rayon")]
    #[test]
    fn who_is_not_woken_for_little_works_for_less() {
        let sizes = [4096, PARALLEL_FROM, team::WAKE_FROM];
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
    }

    fn runs_every_part_once() {
        for parts in [0, 1, 2, 3, 63, 64, 65, 1000] {
            for bytes in [0, PARALLEL_FROM] {
                let runs: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
                for_each_range(parts, bytes, |range| {
                    for run in &runs[range] {
                        run.fetch_add(1, Ordering::Relaxed);
                    }
                });
                assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn runs_every_part_once_from_any_thread() {
        runs_every_part_once();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(runs_every_part_once);
            }
        });
        #[cfg(feature = "rayon")]
        for threads in [1, 2, 5, 40] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(runs_every_part_once);
            pool.install(|| rayon::join(runs_every_part_once, runs_every_part_once));
            pool.broadcast(|_| runs_every_part_once());
        }
    }

    #[test]
    fn calls_nest() {
        let count = AtomicUsize::new(0);
        for_each_range(10, PARALLEL_FROM, |outer| {
            for_each_range(10, PARALLEL_FROM, |inner| {
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
    fn a_panic_reaches_the_caller_and_nothing_stays_behind() {
        for round in 0..50 {
            let inside = AtomicUsize::new(0);
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for_each_range(100, PARALLEL_FROM, |range| {
                    inside.fetch_add(1, Ordering::SeqCst);
                    struct Out<'a>(&'a AtomicUsize);
                    impl Drop for Out<'_> {
                        fn drop(&mut self) {
                            self.0.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                    let _out = Out(&inside);
                    if range.contains(&(2 * round)) {
                        std::panic::resume_unwind(Box::new(2 * round));
                    }
                });
            }));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&(2 * round)));
            assert_eq!(inside.load(Ordering::SeqCst), 0);
            runs_every_part_once();
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn panics_of_several_threads_leave_nothing_behind() {
        static ALIVE: AtomicUsize = AtomicUsize::new(0);
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                ALIVE.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        for _ in 0..200 {
            let caught = pool.install(|| {
                std::panic::catch_unwind(|| {
                    for_each_range(100, 1 << 30, |_| {
                        ALIVE.fetch_add(1, Ordering::SeqCst);
                        // So that others are in their parts by now.
                        std::thread::sleep(std::time::Duration::from_micros(200));
                        std::panic::resume_unwind(Box::new(Payload));
                    });
                })
            });
            drop(caught);
            assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn a_pool_that_is_dropped_right_after_a_call_ends() {
        for _ in 0..20 {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(3)
                .build()
                .unwrap();
            pool.install(runs_every_part_once);
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn as_many_threads_may_work_as_the_pool_has() {
        assert_eq!(max_threads(), rayon::current_num_threads());
        for threads in [1, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            assert_eq!(pool.install(max_threads), threads);
        }
    }

    /// Each part waits until all threads are in one, as they are sooner or later if they are called: in the first call and, those
    /// having gone to sleep, in later ones.
    #[cfg(feature = "rayon")]
    #[test]
    fn large_work_is_done_by_all_threads() {
        use std::collections::HashSet;
        use std::sync::Mutex;
        use std::time::{Duration, Instant};

        let threads = 3;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        for _ in 0..5 {
            let seen = Mutex::new(HashSet::new());
            let begun = Instant::now();
            pool.install(|| {
                for_each_range(threads, 1 << 30, |_| {
                    seen.lock().unwrap().insert(std::thread::current().id());
                    while seen.lock().unwrap().len() < threads
                        && begun.elapsed() < Duration::from_secs(60)
                    {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                });
                std::thread::sleep(Duration::from_millis(5));
            });
            assert_eq!(seen.into_inner().unwrap().len(), threads);
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn small_work_stays_on_the_calling_thread() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        pool.install(|| {
            let caller = std::thread::current().id();
            let slowly = |_| std::thread::sleep(std::time::Duration::from_micros(20));
            for _ in 0..50 {
                // So that others are awake.
                for_each_range(8, 1 << 30, slowly);
                for (parts, bytes) in [(8, PARALLEL_FROM - 1), (1, 1 << 30), (8, 0)] {
                    for_each_range(parts, bytes, |range| {
                        slowly(range);
                        assert_eq!(std::thread::current().id(), caller);
                    });
                }
            }
        });
    }
}
