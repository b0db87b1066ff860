//! Each allocation of a call fails in turn. The call returns its result or an error, leaks nothing,
//! and writes an output completely or not at all.
//!
//! Only allocations of the calling thread fail. Those of the list in the soundness page abort the
//! process, and are not tested: ndarray boxes the shapes of dynamic ranks above 4, rayon allocates
//! when a call asks for help from other threads, and errors are boxed.

use ndarray::{Array, ArrayD, Ix2, IxDyn, array, s};
use ndarray_broadcast::distributed::Part;
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::{axes_from_integers, expand_shape_from_integers, shape_from_integers};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fails one allocation of a thread on request, and counts the live bytes of each thread.
struct Refusing;

thread_local! {
    /// The number of allocations that succeed before one fails. `usize::MAX`: none fails.
    static GRANTED: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Allocations of fewer bytes do not fail and are not counted.
    static LEAST: Cell<usize> = const { Cell::new(0) };
    static REFUSED: Cell<bool> = const { Cell::new(false) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

fn refuse(bytes: usize) -> bool {
    match GRANTED.get() {
        usize::MAX => false,
        _ if bytes < LEAST.get() => false,
        0 => {
            GRANTED.set(usize::MAX);
            REFUSED.set(true);
            true
        }
        more => {
            GRANTED.set(more - 1);
            false
        }
    }
}

fn add(bytes: usize) {
    LIVE.set(LIVE.get() + bytes as isize);
}

fn remove(bytes: usize) {
    LIVE.set(LIVE.get() - bytes as isize);
}

// SAFETY: a call is forwarded to the system allocator, or returns a null pointer without any
// effect, which the trait permits. The counters are const-initialised thread locals without a
// destructor, so counting does not allocate.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuse(layout.size()) {
            return null_mut();
        }
        add(layout.size());
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refuse(layout.size()) {
            return null_mut();
        }
        add(layout.size());
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refuse(size) {
            return null_mut();
        }
        remove(layout.size());
        add(size);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        remove(layout.size());
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Runs `call` and fails its allocation number `n`. Returns the result and whether that allocation
/// happened.
fn with_refusal<T>(n: usize, call: impl FnOnce() -> T) -> (T, bool) {
    REFUSED.set(false);
    GRANTED.set(n);
    let value = call();
    GRANTED.set(usize::MAX);
    (value, REFUSED.get())
}

fn is_allocation_failed(error: &BroadcastError) -> bool {
    matches!(error.kind(), ErrorKind::AllocationFailed { .. })
}

/// Fails each allocation of `call` in turn. Asserts that the result is `AllocationFailed` or the
/// result of an undisturbed call, and that all memory is freed. Returns the number of allocations.
#[track_caller]
fn refuse_each<T: PartialEq + fmt::Debug>(
    what: &str,
    call: impl Fn() -> Result<T, BroadcastError>,
) -> usize {
    let expected = call();
    for n in 0.. {
        let live = LIVE.get();
        let (answer, refused) = with_refusal(n, &call);
        match &answer {
            Err(error) if refused && is_allocation_failed(error) => {}
            other => assert_eq!(*other, expected, "{what}, allocation {n} failed: {refused}"),
        }
        drop(answer);
        assert_eq!(LIVE.get(), live, "{what}, allocation {n}: memory leaked");
        if !refused {
            return n;
        }
    }
    unreachable!()
}

macro_rules! calls {
    ($($call:expr;)*) => {$(
        refuse_each(stringify!($call), || $call);
    )*};
}

#[test]
fn a_small_copy_allocates_once_and_reports_its_failure() {
    let row = array![1_u8, 2];
    let allocations = refuse_each("one array", || row.view().materialize());
    assert_eq!(allocations, 1);
}

#[test]
fn calls_that_return_arrays_succeed_or_report_the_failed_allocation() {
    let row = array![1_u32, 2, 3];
    let table = array![[1_u32, 2, 3], [4, 5, 6]];
    let (row_d, table_d) = (row.clone().into_dyn(), table.clone().into_dyn());
    let plan = BroadcastPlan::numpy(3, (2, 3)).unwrap();
    let mapped = BroadcastPlan::in_dim_permuting((3, 1), (2, 3, 4), &[1, 0]).unwrap();
    let cotangent = Array::<f32, _>::ones((2, 3, 4));
    let fortran = Array::<f32, _>::ones((4, 3, 2));
    // Columns with gaps between them are not reduced without scratch memory.
    let tall = Array::<f32, _>::ones((6000, 6));
    let apart = tall.slice(s![.., ..;2]);
    calls! {
        row.broadcast_numpy((2, 3)).and_then(|view| view.materialize());
        row_d.broadcast_numpy(IxDyn(&[2, 3])).and_then(|view| view.materialize());
        table.t().materialize();
        row.broadcast_numpy((500, 3)).and_then(|view| view.materialize());
        zip((&table, &row)).map_collect(|(a, b)| a + b);
        zip((&table_d, &row_d)).map_collect(|(a, b)| a + b);
        zip((&table, &row, &row)).map_collect(|(a, b, c)| a + b * c);
        plan.gradient(&table);
        mapped.gradient(&cotangent);
        mapped.gradient(&fortran.t());
        table.reduce_to_shape(3, Sum);
        table.reduce_to_shape((2, 1), Max);
        zip((&table, &row)).reduce(&plan, Sum, |(a, b)| a * b);
        zip((&fortran.t(), &cotangent)).reduce(&mapped, Sum, |(a, b)| a * b);
        table_d.reduce_to_shape(IxDyn(&[1, 3]), Sum);
        table.reduce_to_shape((2, 1), Fold::new(0, |a, b| a + b));
        zip((&table, &row)).reduce(&plan, Fold::new(0, |a, b| a + b), |(a, b)| a * b);
        apart.reduce_to_shape(3, Sum);
        apart.reduce_to_shape(3, ArgMax);
        apart.reduce_to_shape(3, Sum.in_type::<f64, f32>());
    }
}

/// A call that writes to an existing output.
type Writes<'a> = dyn Fn(&mut Array<u32, Ix2>) -> Result<(), BroadcastError> + 'a;

#[test]
fn existing_outputs_are_complete_or_unchanged() {
    let row = array![1_u32, 2, 3];
    let table = array![[1_u32, 2, 3], [4, 5, 6]];
    let plan = BroadcastPlan::numpy(3, (2, 3)).unwrap();
    /// Runs `call`. Asserts that an error leaves the output unchanged.
    fn guarded<D: ndarray::Dimension>(
        mut out: Array<u32, D>,
        call: impl FnOnce(&mut Array<u32, D>) -> Result<(), BroadcastError>,
    ) -> Result<Array<u32, D>, BroadcastError> {
        let guard = 77;
        assert!(out.iter().all(|&element| element == guard));
        match call(&mut out) {
            Ok(()) => Ok(out),
            Err(error) => {
                assert!(out.iter().all(|&element| element == guard), "{error}");
                Err(error)
            }
        }
    }
    // The output is allocated before allocations fail.
    let refuse = |what: &str, call: &Writes<'_>| {
        for n in 0.. {
            let out = Array::from_elem((2, 3), 77);
            let (answer, refused) = with_refusal(n, || guarded(out, call));
            match answer {
                Err(error) if refused && is_allocation_failed(&error) => {}
                answer => assert!(answer.is_ok(), "{what}"),
            }
            if !refused {
                break;
            }
        }
    };
    refuse("materialize_into", &|out| {
        row.broadcast_numpy((2, 3))?.materialize_into(out)
    });
    refuse("map_assign_into", &|out| {
        zip((&table, &row)).map_assign_into(out, |(a, b)| a + b)
    });
    refuse("update", &|out| zip(&row).update(out, |a, b| *a += b));
    refuse("zip, sum into", &|out| {
        let plan = BroadcastPlan::numpy((2, 3), (4, 2, 3))?;
        zip((&table, &row)).reduce_into(&plan, Sum, out, |(a, b)| a * b)
    });
    refuse("zip, reduce_into", &|out| {
        let plan = BroadcastPlan::numpy((2, 3), (4, 2, 3))?;
        let fold = Fold::new(0, |a, b| a + b);
        zip((&table, &row)).reduce_into(&plan, fold, out, |(a, b)| a * b)
    });
    refuse("gradient_into", &|out| {
        let plan = BroadcastPlan::numpy((2, 3), (2, 3))?;
        plan.gradient_into(&table, out)
    });
    for n in 0..4 {
        let out = Array::from_elem(3, 77);
        let (answer, _) = with_refusal(n, || {
            guarded(out, |out| plan.gradient_accumulate(&table, out))
        });
        assert!(answer.map_or_else(|error| is_allocation_failed(&error), |_| true));
    }
}

/// Parts of a sum are merged and finished. Each copy of accumulators fails in turn.
#[test]
fn partial_sums_are_merged_or_unchanged() {
    let plan = BroadcastPlan::numpy(3000, (2048, 3000)).unwrap();
    let dy = Array::from_shape_fn((2048, 3000), |(i, j)| (i * 3000 + j) as f32);
    let part = |blocks: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        let part = Part::of_blocks(&plan, &[columns], blocks).unwrap();
        let box_of_it = part.tile().output().of(&dy).unwrap();
        part.reduce(&box_of_it, Sum).unwrap()
    };
    let parts = || {
        let mut sum = part(0..1, 0..1800);
        sum.merge(part(0..1, 1800..3000)).unwrap();
        (sum, part(1..2, 0..3000))
    };
    let whole = plan.gradient(&dy).unwrap();
    LEAST.set(4096);
    let mut refusals = 0;
    for n in 0.. {
        let (mut sum, other) = parts();
        let (answer, refused) = with_refusal(n, || sum.merge(other));
        if !refused {
            answer.unwrap();
            break;
        }
        assert!(is_allocation_failed(&answer.unwrap_err()));
        let (_, other) = parts();
        sum.merge(other).unwrap();
        assert_eq!(sum.finish(&plan).unwrap(), whole);
        refusals += 1;
    }
    assert!(refusals > 0);
    let (mut sum, other) = parts();
    sum.merge(other).unwrap();
    assert!(refuse_each("finish", || sum.finish(&plan)) > 0);
    assert_eq!(sum.finish(&plan).unwrap(), whole);
    LEAST.set(0);
}

#[test]
fn a_panic_in_a_closure_leaks_nothing() {
    let (table, row) = (array![[1_u32, 2, 3], [4, 5, 6]], array![1_u32, 2, 3]);
    let plan = BroadcastPlan::numpy(3, (2, 3)).unwrap();
    let live = LIVE.get();
    for at in 0..6 {
        let calls = AtomicUsize::new(0);
        let caught = std::panic::catch_unwind(|| {
            zip((&table, &row))
                .reduce(&plan, Sum, |(a, b)| {
                    if calls.fetch_add(1, Ordering::Relaxed) == at {
                        std::panic::resume_unwind(Box::new(()));
                    }
                    a * b
                })
                .map(drop)
        });
        drop(caught.unwrap_err());
        assert_eq!(LIVE.get(), live, "call {at}");
    }
}

/// The loop nest of these axes is allocated, because none of them can be merged. Its allocation
/// fails before anything is written.
#[test]
fn copies_of_many_axes_are_complete_or_unchanged() {
    let source = Array::from_shape_fn(IxDyn(&[2; 12]), |index| {
        (0..12).fold(0_u16, |bits, axis| bits << 1 | index[axis] as u16)
    });
    // Every other axis is reversed, so that no two axes merge into one loop.
    let mut view = source.view();
    for axis in (0..12).step_by(2) {
        view.invert_axis(ndarray::Axis(axis));
    }
    let expected = view.to_owned();
    let mut refusals = 0;
    for n in 0.. {
        let mut out = ArrayD::from_elem(IxDyn(&[2; 12]), 0xeeee_u16);
        let (answer, refused) = with_refusal(n, || view.materialize_into(&mut out));
        match answer {
            Ok(()) => assert!(out == expected),
            Err(error) if refused && is_allocation_failed(&error) => {
                refusals += 1;
                assert!(out.iter().all(|&element| element == 0xeeee));
            }
            Err(other) => panic!("{other}"),
        }
        if !refused {
            break;
        }
    }
    assert!(refusals > 0);
}

#[test]
fn elements_are_dropped_once_if_an_allocation_fails() {
    thread_local! {
        static ALIVE: Cell<isize> = const { Cell::new(0) };
    }
    #[derive(Debug, PartialEq)]
    struct Counted(u32);
    impl Counted {
        fn new(value: u32) -> Self {
            ALIVE.set(ALIVE.get() + 1);
            Counted(value)
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.set(ALIVE.get() - 1);
        }
    }
    let (row, column) = (array![1_u32, 2, 3], array![[10_u32], [20]]);
    let allocations = refuse_each("owned elements", || {
        zip((&column, &row)).map_collect(|(a, b)| Counted::new(a + b))
    });
    assert_eq!((allocations, ALIVE.get()), (1, 0));
    let (row, column) = (row.view().into_dyn(), column.view().into_dyn());
    let allocations = refuse_each("views of several arrays", || {
        broadcast_arrays(&[row.clone(), column.clone()])
    });
    assert_eq!(allocations, 2);
}

#[test]
fn shapes_and_axes_are_converted_or_report_the_failed_allocation() {
    calls! {
        broadcast_shapes(&[&[2, 3][..], &[3], &[1, 3]]);
        shape_from_integers(&[2_i64, 3]);
        expand_shape_from_integers(&[2_i64, -1]);
        axes_from_integers(&[2_i64, -1], 4);
    }
}
