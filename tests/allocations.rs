//! Creating a view does not allocate, for static ranks 0 to 6 and for dynamic ranks up to 4, which
//! `IxDyn` stores inline. An output that exceeds memory is rejected without allocating it. Sums
//! allocate little beside their results.

use ndarray::{
    Array, ArrayView, Axis, DimAdd, DimMax, Dimension, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn,
};
use ndarray_broadcast::distributed::{Accumulation, Part, Tile, Tiles};
use ndarray_broadcast::infer::ExpandShape;
use ndarray_broadcast::named::AxisPattern;
use ndarray_broadcast::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the allocations of each thread, their bytes, and the bytes that are not freed.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
}

fn count(pointer: *mut u8, bytes: usize) -> *mut u8 {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    if !pointer.is_null() {
        BYTES.set(BYTES.get() + bytes);
        HELD.set(HELD.get() + bytes as isize);
    }
    pointer
}

fn freed(bytes: usize) {
    HELD.set(HELD.get() - bytes as isize);
}

// SAFETY: each call is forwarded to the system allocator. The counters are const-initialised thread
// locals without a destructor, so counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the same contract.
        count(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the same contract.
        count(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller upholds the same contract.
        let moved = count(unsafe { System.realloc(pointer, layout, size) }, size);
        if !moved.is_null() {
            freed(layout.size());
        }
        moved
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATIONS.get();
    let value = call();
    (value, ALLOCATIONS.get() - before)
}

/// Asserts that each expression succeeds without allocating.
macro_rules! no_allocation {
    ($($call:expr;)*) => {$(
        let (view, count) = allocations(|| $call);
        assert!(view.is_ok(), "{}: {}", stringify!($call), view.err().unwrap());
        assert_eq!(count, 0, "{}", stringify!($call));
    )*};
}

#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|| vec![1_u8]).1, 1);
    assert_eq!(allocations(Vec::<u8>::new).1, 0);
    let six = Array::<u8, _>::zeros(IxDyn(&[1; 6]));
    let (view, count) = allocations(|| six.broadcast_numpy(IxDyn(&[2; 6])).is_ok());
    assert!(view && count > 0, "IxDyn holds four sizes inline, not six");
}

/// Sizes 1, 2, 3, ...: the first axis is replicated, all others must match.
fn sizes(rank: usize) -> Vec<usize> {
    (1..=rank).collect()
}

fn dimension<D: Dimension>(sizes: &[usize]) -> D {
    let mut dimension = D::zeros(sizes.len());
    dimension.slice_mut().copy_from_slice(sizes);
    dimension
}

/// Calls every method from rank `rank` to rank `rank + new`, for a contiguous and a reversed array.
fn views_allocate_nothing<D, E>(rank: usize, new: usize)
where
    D: Dimension + DimMax<E, Output = E>,
    E: Dimension + DimMax<D, Output = E> + ExpandShape<Dim = E>,
{
    let mut target_sizes = vec![7; new];
    target_sizes.extend(sizes(rank));
    if rank > 0 {
        target_sizes[new] = 5;
    }
    let shape = || dimension::<E>(&target_sizes);
    let axes: Vec<usize> = (new..new + rank).collect();
    let added: Vec<usize> = (0..new).collect();
    let array = Array::<u8, D>::zeros(dimension::<D>(&sizes(rank)));
    let exact = Array::<u8, D>::zeros(dimension::<D>(&target_sizes[new..]));
    let other = Array::<f32, E>::zeros(shape());
    let mut reversed = array.view();
    if rank > 1 {
        reversed.invert_axis(Axis(rank - 1));
    }
    let modes = [
        BroadcastMode::Numpy,
        BroadcastMode::Bidirectional,
        BroadcastMode::Explicit {
            axes_mapping: axes.clone(),
        },
        BroadcastMode::InDim {
            broadcast_dimensions: axes.clone(),
        },
        BroadcastMode::InDimPermuting {
            broadcast_dimensions: axes.clone(),
        },
        BroadcastMode::Pdpd { axis: -1 },
        BroadcastMode::Expand,
    ];
    let xla = ElementwiseRule::Xla {
        broadcast_dimensions: if new > 0 { axes.clone() } else { Vec::new() },
    };
    for array in [array.view(), reversed] {
        for mode in &modes {
            no_allocation! {
                array.broadcast_to_mode(shape(), mode);
            }
        }
        no_allocation! {
            array.broadcast_numpy(shape());
            array.broadcast_bidirectional(shape());
            array.broadcast_explicit(shape(), &axes);
            array.broadcast_in_dim(shape(), &axes);
            array.broadcast_in_dim_permuting(shape(), &axes);
            array.broadcast_pdpd(shape(), -1);
            array.broadcast_pdpd(shape(), new as isize);
            array.broadcast_expand(shape());
            exact.broadcast_axes(shape(), &added);
            array.broadcast_with(&other);
            array.broadcast_with_rule(&other, &xla);
            other.broadcast_with(&array);
            other.broadcast_with_rule(&array, ElementwiseRule::Pdpd { axis: -1 });
            other.broadcast_with_rule(&array, &xla);
            broadcast_pair(array.clone(), other.view(), ElementwiseRule::Numpy);
        }
        let plan = BroadcastPlan::numpy(array.raw_dim(), shape()).unwrap();
        no_allocation! {
            BroadcastPlan::numpy(array.raw_dim(), shape());
            plan.view(array.clone());
        }
    }
    no_allocation! {
        other.broadcast_with_rule(&other, ElementwiseRule::None);
    }
}

/// All pairs of ranks up to 4, and some with larger ones: each takes long to compile.
#[test]
fn views_of_static_rank_allocate_nothing() {
    macro_rules! pairs {
        ($($d:ident $rank:literal: $($e:ident $new:literal)*;)*) => {
            $($(views_allocate_nothing::<$d, $e>($rank, $new);)*)*
        };
    }
    pairs! {
        Ix0 0: Ix0 0 Ix1 1 Ix2 2 Ix3 3 Ix4 4 Ix5 5 Ix6 6;
        Ix1 1: Ix1 0 Ix2 1 Ix3 2 Ix4 3;
        Ix2 2: Ix2 0 Ix3 1 Ix4 2;
        Ix3 3: Ix3 0 Ix4 1;
        Ix4 4: Ix4 0;
        Ix5 5: Ix6 1;
        Ix6 6: Ix6 0;
    }
}

#[test]
fn views_of_dynamic_rank_up_to_four_allocate_nothing() {
    for rank in 0..=4 {
        for new in 0..=4 - rank {
            views_allocate_nothing::<IxDyn, IxDyn>(rank, new);
        }
    }
}

#[test]
fn prepended_axes_allocate_nothing() {
    fn prepend<D: Dimension, E: Dimension + DimAdd<D>>(input: D, sizes: E) {
        let array = Array::<u8, D>::zeros(input);
        no_allocation! {
            array.broadcast_prepend(sizes.clone());
        }
    }
    prepend(Ix0(), Ix0());
    prepend(Ix0(), Ix6(1, 2, 1, 2, 1, 2));
    prepend(Ix1(3), Ix1(2));
    prepend(Ix2(3, 1), Ix2(2, 2));
    prepend(Ix3(3, 1, 2), Ix3(2, 2, 2));
    prepend(IxDyn(&[3, 1]), IxDyn(&[2, 2]));
}

/// Asserts that no method of plans as values allocates for this input and target.
fn plans_allocate_nothing<D, E>(input: D, target: E)
where
    D: Dimension + DimMax<E, Output = E>,
    E: Dimension,
{
    let plan: BroadcastPlan<D, E> = BroadcastPlan::numpy(input, target).unwrap();
    let (input_rank, rank) = (plan.input_shape().len(), plan.output_shape().len());
    let identity = BroadcastPlan::numpy(plan.output_dim(), plan.output_dim()).unwrap();
    let axes: Vec<usize> = (0..rank).rev().collect();
    let input_axes: Vec<usize> = (0..input_rank).rev().collect();
    let ranges: Vec<_> = plan.output_shape().iter().map(|&size| 0..size).collect();
    no_allocation! {
        plan.then(&identity);
        plan.permuted(&axes);
        plan.permuted_input(&input_axes);
        Tile::new(&plan, &ranges);
        Tiles::new(&plan, 100, 4).map(|tile| tile.plan().output_dim()).last().ok_or("no tile");
    }
    if rank < 4 || E::NDIM.is_some_and(|rank| rank < 6) {
        let inserted = plan.insert_axis(0).unwrap();
        no_allocation! {
            plan.insert_axis(rank);
            plan.insert_input_axis(input_rank);
            inserted.remove_axis(0);
        }
    }
    let array = Array::<u8, D>::zeros(plan.input_dim());
    let tile = Tile::new(&plan, &ranges).unwrap();
    no_allocation! {
        tile.input().of(&array);
    }
}

#[test]
fn plans_as_values_allocate_nothing() {
    plans_allocate_nothing(Ix0(), Ix0());
    plans_allocate_nothing(Ix1(3), Ix2(2, 3));
    plans_allocate_nothing(Ix2(3, 1), Ix4(5, 2, 3, 4));
    plans_allocate_nothing(Ix6(1, 2, 1, 2, 1, 2), Ix6(3, 2, 1, 2, 4, 2));
    plans_allocate_nothing(IxDyn(&[3, 1]), IxDyn(&[2, 3, 4]));
    plans_allocate_nothing(IxDyn(&[3, 1]), IxDyn(&[5, 2, 3, 4]));
}

#[test]
fn inference_allocates_nothing_up_to_rank_four() {
    use ndarray_broadcast::infer::{PartialPlan, PartialShape, PartialSize};
    use ndarray_broadcast::openvino::{Broadcast, Mode};

    let any = PartialSize::ANY;
    let (a, b) = (
        PartialShape::new([any, 3.into()]),
        PartialShape::new([any, any, (1..).into(), 3.into()]),
    );
    let explicit = BroadcastMode::Explicit {
        axes_mapping: vec![0, 3],
    };
    let axes = BroadcastMode::BroadcastAxes {
        broadcast_axes: vec![2, 1],
    };
    let named: BroadcastMode = "c w -> n 3 c w".parse().unwrap();
    let operator = Broadcast::v3().with_mode(Mode::Explicit).unwrap();
    let plan = PartialPlan::with_mode(a.clone(), b.clone(), BroadcastMode::Numpy).unwrap();
    no_allocation! {
        BroadcastMode::Numpy.infer(&a, &b);
        BroadcastMode::Bidirectional.infer(&b, &a);
        BroadcastMode::Expand.infer(&a, &b);
        BroadcastMode::Pdpd { axis: 1 }.infer(&a, &b);
        explicit.infer(&a, &b);
        axes.infer(&a, &b);
        named.infer(&a, &b);
        ElementwiseRule::Numpy.infer(&a, &b);
        ElementwiseRule::Pdpd { axis: -1 }.infer(&b, &a);
        operator.infer(&a, &b, Some(&PartialShape::UNKNOWN));
        plan.resolve(IxDyn(&[2, 3]), IxDyn(&[1, 1, 2, 3]));
    }
}

#[test]
fn plans_of_parsed_names_allocate_nothing() {
    let pattern: AxisPattern = "c w -> w n 3 c".parse().unwrap();
    let mode: BroadcastMode = "c w -> n c w".parse().unwrap();
    no_allocation! {
        pattern.plan(Ix2(2, 3), &[("n", 4)]);
        BroadcastPlan::with_mode(Ix2(2, 3), Ix3(5, 2, 3), &mode);
    }
}

#[test]
fn three_views_allocate_nothing() {
    let (a, b, c) = (
        Array::<u8, _>::zeros((2, 3)),
        Array::<f32, _>::zeros(3),
        Array::<bool, _>::from_elem((2, 1), true),
    );
    no_allocation! {
        zip((a.view(), b.view(), c.view())).views();
    }
}

#[test]
fn borrowed_shapes_and_mappings_are_not_copied() {
    let array = Array::<u8, _>::zeros(3);
    let (view, count) = allocations(|| -> Result<ArrayView<'_, u8, IxDyn>, BroadcastError> {
        array.broadcast_explicit([2, 3, 4].as_slice(), &[1])
    });
    assert_eq!(view.unwrap().shape(), [2, 3, 4]);
    assert_eq!(count, 0);
}

/// Views of 10^18 elements exist. With elements of 1 byte, an owned output exceeds memory; with
/// elements of 16 bytes it exceeds `isize::MAX` bytes. Both are errors, and neither output is
/// allocated.
// With 32 bits there are no views of so many elements.
#[cfg(target_pointer_width = "64")]
#[test]
fn outputs_that_exceed_memory_are_rejected_without_allocating_them() {
    const N: usize = 1_000_000_000;
    /// The bytes that a call may allocate for shapes and errors.
    const FEW: usize = 4096;
    /// Asserts that each call returns the error and allocates at most `FEW` bytes.
    macro_rules! rejected {
        ($error:ident: $($call:expr;)*) => {$(
            let before = BYTES.get();
            let result = $call;
            let bytes = BYTES.get() - before;
            assert!(
                matches!(&result, Err(error) if matches!(error.kind(), ErrorKind::$error { .. })),
                "{}: {:?}",
                stringify!($call),
                result.err()
            );
            assert!(bytes <= FEW, "{}: {bytes} bytes", stringify!($call));
        )*};
    }
    let (byte, wide) = (ndarray::arr0(1_u8), ndarray::arr0(1_u128));
    let (bytes, wides) = (
        byte.broadcast_numpy((N, N)).unwrap(),
        wide.broadcast_numpy((N, N)).unwrap(),
    );
    let (column, row) = (
        byte.broadcast_numpy((N, 1)).unwrap(),
        byte.broadcast_numpy((1, N)).unwrap(),
    );
    let dynamic = bytes.into_dyn();
    // The gradient of a broadcast from (1, N, N) to (2, N, N) has 10^18 elements.
    let plan = BroadcastPlan::numpy((1, N, N), (2, N, N)).unwrap();
    let (two, two_wide) = (
        byte.broadcast_numpy((2, N, N)).unwrap(),
        wide.broadcast_numpy((2, N, N)).unwrap(),
    );
    let same_shape = broadcast_pair(&bytes, &bytes, ElementwiseRule::None).unwrap();
    rejected! { AllocationFailed:
        bytes.materialize();
        dynamic.materialize();
        bytes.t().materialize();
        zip((&column, &row)).map_collect(|(a, b)| a + b);
        zip(same_shape).map_collect(|(a, b)| a + b);
        zip((&column, &row, &byte)).map_collect(|(a, b, c)| a + b + c);
        two.reduce_to_shape((1, N, N), Sum);
        plan.gradient(&two);
    }
    rejected! { ShapeOverflow:
        wides.materialize();
        zip((&column, &row)).map_collect(|(a, b)| [u64::from(a), u64::from(b)]);
        zip((&column, &row, &byte)).map_collect(|_| 0_u128);
        two_wide.reduce_to_shape((1, N, N), Sum);
        plan.gradient(&two_wide);
    }
}

/// Beside the results: some hundred KiB for each thread, as the docs of `reduction` say.
#[test]
fn short_sums_of_many_results_need_little_scratch_memory() {
    let terms = Array::<u8, _>::ones((1 << 20, 2));
    let plan = BroadcastPlan::numpy((1 << 20, 1), (1 << 20, 2)).unwrap();
    let mut sums = Array::zeros((1 << 20, 1));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // The first call may start the thread pool.
    for is_first in [true, false] {
        let before = BYTES.get();
        zip(&terms)
            .reduce_into(&plan, Sum, &mut sums, f64::from)
            .unwrap();
        let bytes = BYTES.get() - before;
        assert!(is_first || bytes <= threads * (512 << 10), "{bytes} bytes");
    }
    assert!(sums.iter().all(|&sum| sum == 2.));
}

/// Each merge cuts what is left of a node of many elements.
#[test]
fn merged_accumulations_hold_little_memory_beside_their_accumulators() {
    let count = 4000;
    let plan = BroadcastPlan::numpy(count, (2048, count)).unwrap();
    let sum_of = |elements: std::ops::Range<usize>, blocks| {
        let columns = elements.len();
        let part = Part::of_blocks(&plan, &[elements], blocks).unwrap();
        let ones = Array::<f32, _>::ones((1024, columns));
        part.reduce(&ones, Sum).unwrap()
    };
    let before = HELD.get();
    let mut sum: Accumulation<f32, Sum> = sum_of(0..count, 0..1);
    for column in 0..count - 1 {
        sum.merge(sum_of(column..column + 1, 1..2)).unwrap();
    }
    let held = HELD.get() - before;
    assert!(held < 400 * count as isize, "{held} bytes");
    assert!(!sum.is_complete());
    sum.merge(sum_of(count - 1..count, 1..2)).unwrap();
    assert!(sum.is_complete());
}

/// A request for a helper waits in the pool while its threads are busy.
#[cfg(feature = "rayon")]
#[test]
fn calls_nested_in_a_long_one_hold_no_memory() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.unwrap();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    pool.spawn(move || {
        let _ = is_done.recv();
    });
    let outer = Array::from_shape_fn(400_000, |i| i as u32);
    let (row, out) = (Array::<f32, _>::ones(1 << 19), Array::zeros((2, 1 << 19)));
    let out = std::sync::Mutex::new(out);
    let nested = |_: usize| {
        let copied = row.broadcast_numpy((2, 1 << 19)).unwrap();
        copied.materialize_into(&mut out.lock().unwrap()).unwrap();
    };
    let mut sums = Array::zeros(400_000);
    let call = |a: u32| {
        if a == 7 {
            // The first calls ask for helpers.
            (0..20).for_each(nested);
            let before = ALLOCATIONS.get();
            (0..200).for_each(nested);
            let count = ALLOCATIONS.get() - before;
            assert!(count < 20, "{count} allocations");
        }
        a
    };
    pool.install(|| zip(&outer).map_assign_into(&mut sums, call))
        .unwrap();
    drop(done);
    assert_eq!(sums, outer);
}
