//! Calls from everywhere at once: from pools of any size, nested in each other, from destructors and while panicking. None
//! waits for ever, and all give the same bits.

#[cfg(feature = "rayon")]
#[path = "common/pool.rs"]
mod pool;
#[path = "common/process.rs"]
mod process;

use ndarray::{Array1, Array2, Array3};
use ndarray_broadcast::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

/// Big enough for several threads to work on one call.
const ROWS: usize = 350;
const COLUMNS: usize = 1000;

/// Ends the process if `work` takes longer than any machine may need: a deadlock would last for ever.
fn in_time<T: Send>(what: &str, work: impl FnOnce() -> T + Send) -> T {
    let (done, finished) = mpsc::channel::<()>();
    let what = what.to_string();
    let watchdog = thread::spawn(move || {
        if finished.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{what} did not end");
            std::process::abort();
        }
    });
    let value = work();
    drop(done);
    watchdog.join().unwrap();
    value
}

/// A copy, an elementwise operation and a sum of floats, as one number that shows any bit that differs.
fn bits() -> u64 {
    let row = Array1::from_shape_fn(COLUMNS, |i| (i as f32).sin());
    let column = Array2::from_shape_fn((ROWS, 1), |(i, _)| (i as f32).cos() * 1e-3);
    let copy = row
        .broadcast_numpy((ROWS, COLUMNS))
        .unwrap()
        .materialize()
        .unwrap();
    let product = zip((&copy, &column)).map_collect(|(a, b)| a * b).unwrap();
    let plan = BroadcastPlan::numpy(COLUMNS, (ROWS, COLUMNS)).unwrap();
    let sums = plan.gradient(&product).unwrap();
    let total = BroadcastPlan::numpy((), (ROWS, COLUMNS))
        .unwrap()
        .gradient(&product)
        .unwrap();
    let all = [
        copy.as_slice(),
        product.as_slice(),
        sums.as_slice(),
        total.as_slice(),
    ];
    let (mut hash, mut at) = (0_u64, 0);
    for of in all.map(Option::unwrap) {
        // A plain loop: iterators are slow without optimisation.
        while at < of.len() {
            hash = (hash ^ u64::from(of[at].to_bits())).wrapping_mul(0x100_0000_01b3);
            at += 1;
        }
        at = 0;
    }
    hash
}

/// Runs a test of this file in a process of its own that has these variables. Returns its standard
/// output and its standard error.
fn run_alone(test: &str, variables: &[(&str, String)]) -> (String, String) {
    let output = process::command(&std::env::current_exe().unwrap())
        .args(["--exact", "--test-threads=1", "--nocapture", test])
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complaints) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{complaints}");
    assert!(said.contains("1 passed"), "{said}");
    (said, complaints)
}

/// Destructors of statics in C++ run then, after those of the thread's own.
#[cfg(target_os = "linux")]
#[test]
fn what_runs_when_the_process_exits_may_call_everything() {
    use std::sync::OnceLock;
    const BITS: &str = "BITS_AT_EXIT";
    static EXPECTED: OnceLock<u64> = OnceLock::new();
    unsafe extern "C" {
        safe fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    extern "C" fn at_exit() {
        // The second call uses what the first one has left behind.
        let found = [bits(), bits()];
        if found == [*EXPECTED.get().unwrap(); 2] {
            println!("the same bits at the end");
        }
    }
    if let Ok(expected) = std::env::var(BITS) {
        EXPECTED.set(expected.parse().unwrap()).unwrap();
        assert_eq!(atexit(at_exit), 0);
        return;
    }
    in_time("the exit of a process", || {
        let (said, complaints) = run_alone(
            "what_runs_when_the_process_exits_may_call_everything",
            &[(BITS, bits().to_string())],
        );
        assert!(
            said.contains("the same bits at the end"),
            "{said}{complaints}"
        );
    });
}

#[test]
fn a_process_exits_while_other_threads_call() {
    const DELAY: &str = "DELAY_OF_EXIT";
    if let Ok(delay) = std::env::var(DELAY) {
        for _ in 0..3 {
            thread::spawn(|| {
                loop {
                    bits();
                }
            });
        }
        bits();
        thread::sleep(Duration::from_micros(delay.parse().unwrap()));
        std::process::exit(7);
    }
    in_time("exits while threads call", || {
        for delay in [0, 100, 1000, 3000, 10_000, 30_000] {
            let output = process::command(&std::env::current_exe().unwrap())
                .args(["--exact", "a_process_exits_while_other_threads_call"])
                .env(DELAY, delay.to_string())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(7), "after {delay} us: {said}");
        }
    });
}

/// A limit of the address space refuses large outputs. In the second run it refuses the stacks of
/// threads too.
#[cfg(target_os = "linux")]
#[test]
fn under_a_limit_of_memory_calls_return_errors_and_others_go_on() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    const BITS: &str = "BITS_UNDER_A_LIMIT";
    if let Ok(expected) = std::env::var(BITS) {
        let row = Array1::<f32>::ones(1024);
        let large = row.broadcast_numpy((1 << 18, 1024)).unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let in_use = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
        let in_use = in_use.unwrap().trim().trim_end_matches(" kB");
        let limit = Some((in_use.parse::<u64>().unwrap() << 10) + (64 << 20));
        let (current, maximum) = (limit, limit);
        setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();
        // An emulator of processors may not pass the limit on.
        if Vec::<u8>::new().try_reserve_exact(1 << 30).is_ok() {
            return;
        }
        for _ in 0..2 {
            for result in [
                large.materialize(),
                zip((&large, &row)).map_collect(|(a, b)| a + b),
                large.reduce_to_shape(large.raw_dim(), Sum),
            ] {
                let error = result.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::AllocationFailed { .. }));
            }
            assert_eq!(bits().to_string(), expected);
        }
        return;
    }
    for stack in [2 << 20, 256 << 20] {
        run_alone(
            "under_a_limit_of_memory_calls_return_errors_and_others_go_on",
            &[
                (BITS, bits().to_string()),
                ("RUST_MIN_STACK", stack.to_string()),
            ],
        );
    }
}

#[test]
fn sixty_four_threads_at_once_give_the_same_bits() {
    let expected = bits();
    in_time("64 threads", || {
        let barrier = Barrier::new(64);
        thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    barrier.wait();
                    assert_eq!(bits(), expected);
                });
            }
        });
    });
}

#[test]
fn calls_nested_in_each_other_give_the_same_bits() {
    let expected = bits();
    in_time("nested calls", || {
        let outer = Array1::from_shape_fn(400_000, |i| i as u32);
        let calls = AtomicUsize::new(0);
        let doubled = zip((&outer, &outer)).map_collect(|(a, b)| {
            if a % 40_000 == 7 {
                calls.fetch_add(1, Ordering::Relaxed);
                assert_eq!(bits(), expected);
            }
            a + b
        });
        assert_eq!(calls.into_inner(), 10);
        assert_eq!(doubled.unwrap(), outer.mapv(|a| 2 * a));
    });
}

/// What a thread leaves to be done when it ends.
struct AtTheEnd(u64);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        assert_eq!(bits(), self.0);
    }
}

thread_local! {
    static LEFT: std::cell::RefCell<Vec<AtTheEnd>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[test]
fn destructors_may_call_everything() {
    let expected = bits();
    in_time("destructors", || {
        drop(AtTheEnd(expected));
        // Of thread locals, before and after the crate's own exist on that thread.
        for first in [false, true] {
            let ended = thread::spawn(move || {
                if first {
                    assert_eq!(bits(), expected);
                }
                LEFT.with_borrow_mut(|left| left.push(AtTheEnd(expected)));
                if !first {
                    assert_eq!(bits(), expected);
                }
            });
            ended.join().unwrap();
        }
    });
}

#[test]
fn a_thread_that_panics_may_call_everything() {
    let expected = bits();
    in_time("a panic", || {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _called_while_panicking = AtTheEnd(expected);
            std::panic::resume_unwind(Box::new("on purpose"));
        }));
        assert!(panicked.is_err());
        // And the closure of an operation, whose threads go on to be used.
        let ones = Array2::<u8>::ones((ROWS, 2000));
        for at in [0, ROWS * 2000 / 2, ROWS * 2000 - 1] {
            let seen = AtomicUsize::new(0);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                zip(broadcast_pair(&ones, &ones, ElementwiseRule::None)?).map_collect(|(a, _)| {
                    if seen.fetch_add(1, Ordering::Relaxed) == at {
                        let _called_while_panicking = AtTheEnd(expected);
                        std::panic::resume_unwind(Box::new("on purpose"));
                    }
                    a
                })
            }));
            assert!(panicked.is_err());
            assert_eq!(bits(), expected);
        }
    });
}

#[cfg(feature = "rayon")]
mod pools {
    use super::pool::pool;
    use super::*;
    use ndarray_broadcast::reduction::Sum;
    use std::collections::HashSet;
    use std::sync::{Condvar, Mutex};

    /// Longer than any machine may need.
    const DEADLINE: Duration = Duration::from_secs(60);

    /// The threads that call a closure, which is slow until there are as many as a test waits for.
    struct Callers {
        wanted: usize,
        seen: Mutex<HashSet<thread::ThreadId>>,
        all_seen: Condvar,
    }

    impl Callers {
        fn new(wanted: usize) -> Self {
            Callers {
                wanted,
                seen: Mutex::default(),
                all_seen: Condvar::new(),
            }
        }

        /// The call for element `index` of `len`.
        ///
        /// At two thirds the call waits for the other threads. A call that shares its work has then
        /// asked for a helper and not begun its last chunk, which is left for the helper.
        fn call(&self, index: usize, len: usize) {
            let mut seen = self.seen.lock().unwrap();
            seen.insert(thread::current().id());
            if seen.len() >= self.wanted {
                self.all_seen.notify_all();
            } else if index == len * 2 / 3 {
                let too_few = |seen: &mut HashSet<_>| seen.len() < self.wanted;
                let waited = self.all_seen.wait_timeout_while(seen, DEADLINE, too_few);
                drop(waited.unwrap());
            } else {
                drop(seen);
                thread::sleep(Duration::from_micros(20));
            }
        }

        fn count(self) -> usize {
            self.seen.into_inner().unwrap().len()
        }
    }

    #[test]
    fn pools_of_any_size_give_the_same_bits() {
        let expected = bits();
        for threads in [1, 2, 3, 16, 40] {
            in_time("a pool", || {
                let pool = pool(threads);
                assert_eq!(pool.install(bits), expected);
                // All of its threads at once.
                pool.broadcast(|_| assert_eq!(bits(), expected));
                // As a part of its work, and with other work between.
                let (a, (b, c)) = pool.join(bits, || rayon::join(bits, bits));
                assert_eq!([a, b, c], [expected; 3]);
            });
        }
    }

    #[test]
    fn a_pool_may_end_while_its_threads_wait_for_more() {
        let expected = bits();
        in_time("ending pools", || {
            for _ in 0..30 {
                let pool = pool(2);
                assert_eq!(pool.install(bits), expected);
                drop(pool);
            }
        });
    }

    #[test]
    fn a_busy_pool_is_not_waited_for() {
        let expected = bits();
        in_time("a busy pool", || {
            let pool = pool(2);
            let (release, held) = mpsc::channel::<()>();
            pool.spawn(move || {
                let _ = held.recv();
            });
            // One thread is held until both calls are through: the other does all.
            assert_eq!(pool.install(bits), expected);
            assert_eq!(pool.install(bits), expected);
            drop(release);
        });
    }

    /// The system refuses threads with such stacks, as it refuses more threads than a container may have.
    #[cfg(target_os = "linux")]
    #[test]
    fn where_no_thread_can_be_had_the_caller_does_all() {
        const BITS: &str = "BITS_WITHOUT_THREADS";
        const TRIED_BEFORE: &str = "POOL_TRIED_BEFORE";
        if let Ok(expected) = std::env::var(BITS) {
            assert!(thread::Builder::new().spawn(|| ()).is_err());
            if std::env::var_os(TRIED_BEFORE).is_some() {
                let refused = rayon::ThreadPoolBuilder::new().build_global();
                assert!(refused.is_err());
            }
            for _ in 0..2 {
                assert_eq!(bits().to_string(), expected);
            }
            // The application's own pool, with a smaller stack, is not refused.
            if std::env::var_os(TRIED_BEFORE).is_none() {
                let own = rayon::ThreadPoolBuilder::new()
                    .stack_size(1 << 20)
                    .num_threads(3);
                own.build_global().unwrap();
                assert_eq!(
                    rayon::broadcast(|_| bits().to_string()),
                    vec![expected.clone(); 3]
                );
                assert_eq!(bits().to_string(), expected);
            }
            return;
        }
        for tried_before in [false, true] {
            let mut variables = vec![
                (BITS, bits().to_string()),
                ("RUST_MIN_STACK", isize::MAX.to_string()),
            ];
            if tried_before {
                variables.push((TRIED_BEFORE, "yes".to_string()));
            }
            let (_, complaints) = run_alone(
                "pools::where_no_thread_can_be_had_the_caller_does_all",
                &variables,
            );
            // Rayon's own panic is caught, if it has been asked for the pool before; otherwise nothing panics.
            assert!(
                tried_before || !complaints.contains("panicked"),
                "{complaints}"
            );
        }
    }

    /// A call finds out by a panic that the application has tried to start the pool and failed. The
    /// hook of that panic may call, too.
    #[test]
    fn a_panic_hook_may_call_where_the_pool_was_refused() {
        const ALONE: &str = "POOL_REFUSED";
        if std::env::var_os(ALONE).is_none() {
            let variables = [(ALONE, "yes".to_string())];
            run_alone(
                "pools::a_panic_hook_may_call_where_the_pool_was_refused",
                &variables,
            );
            return;
        }
        static HOOKS: AtomicUsize = AtomicUsize::new(0);
        let refusing = rayon::ThreadPoolBuilder::new()
            .spawn_handler(|_| Err(std::io::Error::other("no threads")));
        assert!(refusing.build_global().is_err());
        std::panic::set_hook(Box::new(|_| {
            HOOKS.fetch_add(1, Ordering::Relaxed);
            // A hook that sends a report may take this long. A second after the system has refused
            // threads, the next call tries again: not this one.
            thread::sleep(Duration::from_millis(1100));
            bits();
        }));
        in_time("a call in a hook", || {
            assert_eq!(bits(), bits());
        });
        assert!(HOOKS.load(Ordering::Relaxed) <= 1);
    }

    #[test]
    fn slow_closures_over_few_bytes_are_shared() {
        let (pool, wanted) = (pool(2), processors().min(2));
        // One row, few rows, many rows, standard layout, short rows.
        for (shape, other) in [
            ([1, 8000], [1, 1]),
            ([7, 1000], [1, 1000]),
            ([40, 200], [40, 1]),
            ([40, 200], [40, 200]),
            ([1, 2100], [1, 1]),
            ([21, 100], [1, 100]),
            ([21, 100], [21, 100]),
            ([700, 3], [700, 1]),
        ] {
            let (rows, columns) = (shape[0], shape[1]);
            let callers = Callers::new(wanted);
            let slow = |&x: &f64, _: &f64| {
                callers.call(x as usize, rows * columns);
                x
            };
            let elements = Array2::from_shape_fn(shape, |(i, j)| (i * columns + j) as f64);
            let mapped = pool.install(|| {
                zip((&elements, &Array2::zeros(other))).map_collect(|(a, b)| slow(&a, &b))
            });
            assert_eq!(mapped.unwrap(), elements);
            assert_eq!(callers.count(), wanted, "{rows} by {columns}");
        }
    }

    #[test]
    fn slow_closures_over_one_element_that_is_broadcast_are_shared() {
        const LEN: usize = 50_000;
        let wanted = processors().min(2);
        let callers = Callers::new(wanted);
        let calls = AtomicUsize::new(0);
        let slow = |x: u64| {
            let before = calls.fetch_add(1, Ordering::Relaxed);
            callers.call(before, LEN);
            x
        };
        let one = ndarray::arr0(1);
        let plan = BroadcastPlan::numpy((), LEN).unwrap();
        let ones = one.broadcast(LEN).unwrap();
        let sum = pool(2).install(|| zip(&ones).reduce(&plan, Sum, slow));
        assert_eq!(sum.unwrap().into_scalar(), LEN as u64);
        assert_eq!(callers.count(), wanted);
    }

    #[test]
    fn slow_closures_over_few_large_elements_are_shared() {
        let wanted = processors().min(2);
        let callers = Callers::new(wanted);
        let slow = |x: &u16, _: &u16| {
            callers.call(usize::from(*x), 60);
            [*x; 2048]
        };
        let elements = Array1::from_iter(0..60_u16);
        let mapped = pool(2)
            .install(|| zip((&elements, &ndarray::arr0(0))).map_collect(|(a, b)| slow(&a, &b)))
            .unwrap();
        assert!(mapped.iter().zip(0..).all(|(found, i)| found == &[i; 2048]));
        assert_eq!(callers.count(), wanted);
    }

    /// What a caller and its helper have done, one after the other.
    #[derive(Default)]
    struct Steps {
        calls_of_helper: usize,
        dropping: bool,
        blocked: bool,
    }

    /// The error of a helper, whose destructor waits for that helper.
    struct Failure<'a>(Option<&'a (Mutex<Steps>, Condvar)>);

    impl From<BroadcastError> for Failure<'_> {
        fn from(_: BroadcastError) -> Self {
            Failure(None)
        }
    }

    impl Drop for Failure<'_> {
        fn drop(&mut self) {
            let Some((steps, changed)) = self.0 else {
                return;
            };
            let mut steps = steps.lock().unwrap();
            if rayon::current_thread_index() == Some(0) {
                steps.dropping = true;
                changed.notify_all();
                let waits = |steps: &mut Steps| steps.calls_of_helper < 3;
                let waited = changed.wait_timeout_while(steps, DEADLINE / 6, waits);
                let (mut steps, timeout) = waited.unwrap();
                steps.blocked |= timeout.timed_out();
            }
        }
    }

    /// The caller fails after the helper, at an element before it, so it drops the helper's error.
    #[test]
    fn an_error_is_dropped_while_other_threads_go_on() {
        const LEN: u32 = 6000;
        if processors() == 1 {
            return;
        }
        let state = &(Mutex::new(Steps::default()), Condvar::new());
        let (steps, changed) = state;
        let work = |index: u32| {
            let mut steps = steps.lock().unwrap();
            if rayon::current_thread_index() == Some(1) {
                steps.calls_of_helper += 1;
                changed.notify_all();
                let waits = |steps: &mut Steps| steps.calls_of_helper == 2 && !steps.dropping;
                drop(changed.wait_timeout_while(steps, DEADLINE, waits));
                return Err(Failure(Some(state)));
            }
            if index == LEN * 2 / 3 {
                let waits = |steps: &mut Steps| steps.calls_of_helper < 2;
                let waited = changed.wait_timeout_while(steps, DEADLINE, waits);
                steps = waited.unwrap().0;
            }
            if steps.calls_of_helper >= 2 {
                return Err(Failure(None));
            }
            drop(steps);
            thread::sleep(Duration::from_micros(20));
            Ok(index)
        };
        let elements = Array1::from_iter(0..LEN);
        let pool = pool(2);
        let failed = pool.install(|| {
            // Thread 0 of the pool calls, and thread 1 helps.
            let call = || zip(&elements).try_map_collect(work).is_err();
            let alone = |context: rayon::BroadcastContext| context.index() == 0 && call();
            pool.broadcast(alone).contains(&true)
        });
        assert!(failed);
        let steps = state.0.lock().unwrap();
        assert!(steps.dropping && !steps.blocked);
    }

    /// How many threads of a pool work on a map whose closure is slow until there are `wanted`.
    fn threads_of_a_slow_map(pool: &rayon::ThreadPool, wanted: usize) -> usize {
        let callers = Callers::new(wanted);
        let slow = |&x: &u16, _: &u8| {
            callers.call(usize::from(x), 2000);
            thread::sleep(Duration::from_nanos(1));
            [x; 32]
        };
        let elements = Array1::from_iter(0..2000_u16);
        pool.install(|| zip((&elements, &Array1::zeros(1))).map_collect(|(a, b)| slow(&a, &b)))
            .unwrap();
        callers.count()
    }

    /// A process that `fork` makes has one thread, and locks that other threads held.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_forked_process_works_alone() {
        use std::ffi::c_int;
        use std::time::Instant;
        unsafe extern "C" {
            safe fn fork() -> c_int;
            safe fn _exit(status: c_int) -> !;
            fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
            safe fn kill(process: c_int, signal: c_int) -> c_int;
        }
        const NO_HANG: c_int = 1;
        const KILL: c_int = 9;
        const BITS: &str = "BITS_OF_FORKS";
        let Ok(expected) = std::env::var(BITS) else {
            let variables = [
                (BITS, bits().to_string()),
                ("RAYON_NUM_THREADS", "32".to_string()),
            ];
            run_alone("pools::a_forked_process_works_alone", &variables);
            return;
        };
        // Threads that fall asleep and are woken all the time hold locks when a process is forked.
        thread::spawn(|| {
            loop {
                (0..8).for_each(|_| rayon::spawn(|| ()));
                thread::sleep(Duration::from_micros(50));
            }
        });
        let wanted = processors().min(2);
        assert_eq!(threads_of_a_slow_map(&pool(2), wanted), wanted);
        for _ in 0..8 {
            assert_eq!(bits().to_string(), expected);
            let child = fork();
            if child == 0 {
                let same = bits().to_string() == expected;
                // Slow all the time, though no second thread is waited for.
                _exit(c_int::from(!same || threads_of_a_slow_map(&pool(2), 1) > 1));
            }
            let (begun, mut status) = (Instant::now(), -1);
            // SAFETY: `status` is a place for an integer.
            while unsafe { waitpid(child, &raw mut status, NO_HANG) } == 0 {
                if begun.elapsed() > Duration::from_secs(60) {
                    kill(child, KILL);
                    panic!("a forked process hangs");
                }
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(status, 0);
        }
    }

    /// The number of processors: no more threads work on one call.
    fn processors() -> usize {
        thread::available_parallelism().unwrap().get()
    }

    #[test]
    fn a_global_pool_that_others_have_started_is_used() {
        const ALONE: &str = "POOL_STARTED_BEFORE";
        if std::env::var_os(ALONE).is_none() {
            run_alone(
                "pools::a_global_pool_that_others_have_started_is_used",
                &[(ALONE, "yes".to_string())],
            );
            return;
        }
        let global = rayon::ThreadPoolBuilder::new().num_threads(3);
        global.build_global().unwrap();
        let callers = Callers::new(processors().min(2));
        let mut large = Array1::from_elem(4096, [0_u8; 4096]);
        zip(&Array1::from_iter(0..4096))
            .update(&mut large, |_, index| {
                callers.call(index, 4096);
            })
            .unwrap();
        assert_eq!(callers.count() > 1, processors() > 1);
    }

    /// 2 MiB, which are shared when calls follow each other.
    const SHAPE: (usize, usize) = (512, 1024);

    /// A copy that waits for its helpers would take another job of the pool meanwhile, if waiting
    /// were allowed to.
    #[test]
    fn a_borrow_around_a_copy_is_not_met_by_another_job() {
        use rayon::prelude::*;
        use std::cell::RefCell;
        thread_local! {
            static OUT: RefCell<Array2<f32>> = RefCell::new(Array2::zeros(SHAPE));
        }
        let row = Array1::from_shape_fn(SHAPE.1, |i| i as f32);
        for threads in [2, 3, 4, 8, 16] {
            in_time("a RefCell around copies", || {
                for _ in 0..4 {
                    pool(threads).install(|| {
                        (0..100).into_par_iter().for_each(|_| {
                            OUT.with_borrow_mut(|out| {
                                let view = row.broadcast_numpy(SHAPE).unwrap();
                                view.materialize_into(out).unwrap();
                            });
                        });
                    });
                }
            });
        }
    }

    /// The second thread of the pool is blocked. So the request for a helper stays with the first
    /// thread, which runs it when the closure yields.
    #[test]
    fn a_closure_that_lets_other_jobs_run_is_not_called_within_itself() {
        use std::cell::Cell;
        thread_local! {
            static IS_CALLED: Cell<bool> = const { Cell::new(false) };
        }
        let pool = pool(2);
        let (started, is_started) = std::sync::mpsc::channel();
        let (held_up, is_free) = std::sync::mpsc::channel::<()>();
        pool.spawn(move || {
            started.send(()).unwrap();
            is_free.recv().unwrap_err();
        });
        is_started.recv().unwrap();
        let add = |a: u64, b: u64| {
            assert!(!IS_CALLED.replace(true), "called within itself");
            rayon::yield_now();
            IS_CALLED.set(false);
            a + b
        };
        let a = Array1::from_iter(0..200_000_u64);
        let row = ndarray::arr0(1_u64);
        let (map, sum) = pool.install(|| {
            let map = zip((&a, &row)).map_collect(|(a, b)| add(a, b)).unwrap();
            let plan = BroadcastPlan::numpy((), a.raw_dim()).unwrap();
            let sum = zip((&a, &row)).reduce(&plan, Sum, |(a, b)| add(a, b));
            (map, sum.unwrap())
        });
        drop(held_up);
        assert_eq!(map, &a + 1);
        assert_eq!(sum.into_scalar(), 200_000 * 200_001 / 2);
    }

    #[test]
    fn a_lock_around_a_copy_is_not_waited_for_by_its_holder() {
        use rayon::prelude::*;
        let row = Array1::from_shape_fn(SHAPE.1, |i| i as f32);
        let out = Mutex::new(Array2::<f32>::zeros(SHAPE));
        for threads in [2, 3, 4, 8, 16] {
            in_time("a Mutex around copies", || {
                for _ in 0..4 {
                    pool(threads).install(|| {
                        (0..100).into_par_iter().for_each(|_| {
                            let mut out = out.lock().unwrap();
                            let view = row.broadcast_numpy(SHAPE).unwrap();
                            view.materialize_into(&mut *out).unwrap();
                        });
                    });
                }
            });
        }
    }

    /// Whether a thread sleeps, and not only for a moment. `thread` is its directory in `/proc`.
    #[cfg(target_os = "linux")]
    fn sleeps(thread: &std::path::Path) -> bool {
        (0..20).all(|_| {
            thread::sleep(Duration::from_millis(1));
            let stat = std::fs::read_to_string(thread.join("stat")).unwrap();
            // The name of the thread is in parentheses. Its state follows.
            let (_, fields) = stat.rsplit_once(')').unwrap();
            fields.trim_start().starts_with('S')
        })
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_caller_that_waits_for_a_helper_sleeps() {
        use std::sync::atomic::AtomicBool;
        use std::time::Instant;
        if processors() < 2 {
            return;
        }
        let callers = Callers::new(2);
        let (asleep, helper_is_done) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut large = Array1::from_elem(1024, [0_u8; 4096]);
        pool(2).install(|| {
            let caller = thread::current().id();
            let directory = std::fs::canonicalize("/proc/thread-self").unwrap();
            let wait = |_: &mut [u8; 4096], &index: &usize| {
                callers.call(index, 1024);
                // The helper stays in its first element until the caller has done all others.
                if thread::current().id() != caller && !helper_is_done.load(Ordering::SeqCst) {
                    let begun = Instant::now();
                    while !asleep.load(Ordering::SeqCst) && begun.elapsed() < DEADLINE {
                        asleep.store(sleeps(&directory), Ordering::SeqCst);
                    }
                    helper_is_done.store(true, Ordering::SeqCst);
                }
            };
            zip(&Array1::from_iter(0..1024))
                .update(&mut large, |x, b| wait(x, &b))
                .unwrap();
            assert!(helper_is_done.load(Ordering::SeqCst));
        });
        assert!(asleep.into_inner(), "the caller runs while it waits");
    }

    /// The processors that each thread of this process may use.
    #[cfg(target_os = "linux")]
    fn affinities() -> std::collections::HashMap<std::ffi::OsString, String> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let allowed = tasks.filter_map(|task| {
            let task = task.unwrap();
            // Threads of other tests may end meanwhile.
            let status = std::fs::read_to_string(task.path().join("status")).ok()?;
            let line = status
                .lines()
                .find(|line| line.starts_with("Cpus_allowed:"))?;
            Some((task.file_name(), line.to_string()))
        });
        allowed.collect()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_call_changes_the_affinity_of_a_thread() {
        let pool = pool(4);
        pool.broadcast(|_| ());
        let before = affinities();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let calls = || {
            for _ in 0..20 {
                bits();
            }
            stop.store(true, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            scope.spawn(|| pool.install(calls));
            while !stop.load(Ordering::Relaxed) {
                for (task, now) in affinities() {
                    if let Some(before) = before.get(&task) {
                        assert_eq!(before, &now);
                    }
                }
            }
        });
    }

    #[test]
    fn scopes_and_spawns_may_call_everything() {
        let expected = bits();
        in_time("scopes", || {
            let seen = AtomicUsize::new(0);
            rayon::scope(|scope| {
                for _ in 0..20 {
                    scope.spawn(|_| {
                        assert_eq!(bits(), expected);
                        seen.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(seen.into_inner(), 20);
        });
    }
}

#[test]
fn arrays_and_plans_go_between_threads() {
    fn shared<T: Send + Sync + Unpin>() {}
    shared::<BroadcastPlan>();
    shared::<BroadcastPlan<ndarray::Ix2, ndarray::Ix4>>();
    shared::<BroadcastError>();
    shared::<BroadcastMode>();
    shared::<ElementwiseRule>();
    let column = Array2::<u8>::ones((3, 1));
    let view = column.broadcast_numpy((2, 3, 4)).unwrap();
    let sum = thread::scope(|scope| {
        scope
            .spawn(|| view.iter().map(|&x| u32::from(x)).sum::<u32>())
            .join()
    });
    assert_eq!(sum.unwrap(), 24);
}

#[test]
fn views_are_covariant() {
    /// Compiles only if a view of a longer lifetime may stand for one of a shorter.
    fn shorten<'short, 'long: 'short>(
        view: ndarray::ArrayView3<'long, &'long str>,
    ) -> ndarray::ArrayView3<'short, &'short str> {
        view
    }
    let names: Array1<&'static str> = Array1::from(vec!["a", "b"]);
    let view = shorten(names.broadcast_numpy((2, 3, 2)).unwrap());
    assert_eq!(
        view,
        Array3::from_shape_fn((2, 3, 2), |(_, _, i)| ["a", "b"][i])
    );
}
