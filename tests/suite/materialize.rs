//! A copy equals its source index by index, for any layout, element type, size and number of
//! threads.

use crate::common::split_mix;
use ndarray::{
    ArcArray, Array, Array1, Array2, Array3, ArrayD, ArrayRef, ArrayView, ArrayViewD, ArrayViewMut,
    Axis, CowArray, Dimension, IxDyn, ShapeBuilder, Slice, arr0, array, s,
};
use ndarray_broadcast::infer::PartialShape;
use ndarray_broadcast::prelude::*;
use std::fmt::Debug;
use std::mem::MaybeUninit;

/// An element type with a value for each number.
trait Element: Copy + Send + Sync + PartialEq + Debug {
    fn numbered(i: usize) -> Self;
}

macro_rules! elements {
    ($($type:ty: |$i:ident| $value:expr;)*) => {$(
        impl Element for $type {
            fn numbered($i: usize) -> Self { $value }
        }
    )*};
}

elements! {
    u8: |i| (i * 37 % 251) as u8;
    u16: |i| (i * 1663 % 65521) as u16;
    f32: |i| i as f32;
    f64: |i| i as f64;
    u128: |i| i as u128 * 0x1_0001_0001_0001_0001;
    [f32; 3]: |i| [i as f32, i as f32 + 0.25, i as f32 + 0.5];
    (u8, u16): |i| (i as u8, (i * 77 % 65521) as u16);
    (): |_i| ();
}

/// Pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        (split_mix(&mut self.0) % end as u64) as usize
    }
}

#[track_caller]
fn assert_copied<A: Element, D: Dimension>(
    copy: &ArrayRef<A, D>,
    source: &ArrayRef<A, D>,
    what: &str,
) {
    assert_eq!(copy.shape(), source.shape());
    // The search for the element that differs takes long without optimisation.
    if copy == source {
        return;
    }
    let (copy, source) = (copy.view().into_dyn(), source.view().into_dyn());
    for (index, element) in copy.indexed_iter() {
        let expected = source[&index];
        assert!(
            *element == expected,
            "{what}: {element:?} is not {expected:?} at {index:?}, {:?} from {:?}, shape {:?}",
            copy.strides(),
            source.strides(),
            copy.shape()
        );
    }
    unreachable!("{what}: the arrays differ, and no element does");
}

/// A memory layout of a view: the order of its axes and how it is sliced from a larger array.
struct Layout {
    /// The axes of the view in memory order, outermost first.
    order: Vec<usize>,
    /// For each axis of the view: the elements before it, after it, and the slice step.
    cut: Vec<(usize, usize, isize)>,
}

impl Layout {
    fn generate(numbers: &mut Numbers, rank: usize) -> Self {
        let mut order: Vec<usize> = (0..rank).collect();
        if numbers.below(2) == 0 {
            for i in (1..rank).rev() {
                order.swap(i, numbers.below(i + 1));
            }
        }
        let plain = numbers.below(2) == 0;
        let cut = (0..rank).map(|_| match numbers.below(5) {
            _ if plain => (0, 0, 1),
            0 => (numbers.below(3), numbers.below(3), 1),
            1 => (0, 0, -1),
            2 => (0, 1, 2),
            3 => (1, 0, -3),
            _ => (0, 0, 1),
        });
        let cut = cut.collect();
        Layout { order, cut }
    }

    /// The shape of the larger array for a view of this shape.
    fn whole(&self, shape: &[usize]) -> Vec<usize> {
        let size = |axis: usize| {
            let (before, after, step) = self.cut[axis];
            before + (shape[axis].max(1) - 1) * step.unsigned_abs() + 1 + after
        };
        self.order.iter().map(|&axis| size(axis)).collect()
    }

    /// For each axis of the view, its axis in the larger array.
    fn axes(&self) -> Vec<usize> {
        let mut axes = vec![0; self.order.len()];
        for (place, &axis) in self.order.iter().enumerate() {
            axes[axis] = place;
        }
        axes
    }

    fn slice(&self, axis: usize, size: usize) -> Slice {
        let (before, _, step) = self.cut[axis];
        let end = match size {
            0 => before,
            _ => before + (size - 1) * step.unsigned_abs() + 1,
        };
        Slice::new(before as isize, Some(end as isize), step)
    }
}

fn check_generated_layouts<A: Element>(seed: u64, rounds: usize) {
    let mut numbers = Numbers(seed);
    for _ in 0..rounds {
        let rank = numbers.below(6);
        let mut shape: Vec<usize> = (0..rank)
            .map(|_| match numbers.below(12) {
                0 => 0,
                1 | 2 => 1,
                3 => 20 + numbers.below(200),
                _ => 1 + numbers.below(9),
            })
            .collect();
        if shape.iter().product::<usize>() > 60_000 {
            shape.truncate(2);
        }
        let rank = shape.len();
        // The source: a view with a generated layout, some of its axes replicated.
        let layout = Layout::generate(&mut numbers, rank);
        let kept: Vec<bool> = (0..rank).map(|_| numbers.below(3) > 0).collect();
        let small: Vec<usize> = (0..rank)
            .map(|i| if kept[i] { shape[i] } else { 1 })
            .collect();
        let whole = layout.whole(&small);
        let len = whole.iter().product::<usize>();
        let whole = Array::from_shape_vec(whole, (0..len).map(A::numbered).collect()).unwrap();
        let mut source = whole.view().permuted_axes(layout.axes());
        for (axis, &size) in small.iter().enumerate() {
            source.slice_axis_inplace(Axis(axis), layout.slice(axis, size));
        }
        let source = source.broadcast_numpy(shape.as_slice()).unwrap();

        let fresh = source.materialize().unwrap();
        assert!(fresh.is_standard_layout());
        assert_copied(&fresh, &source, "fresh");

        // The output: another generated layout. Elements around the view must not change.
        let layout = Layout::generate(&mut numbers, rank);
        let sentinel = A::numbered(123_456);
        let mut out_whole = ArrayD::from_elem(layout.whole(&shape), sentinel);
        let untouched =
            |out_whole: &ArrayD<A>| out_whole.iter().filter(|x| **x == sentinel).count();
        {
            let mut out = out_whole.view_mut().permuted_axes(layout.axes());
            for (axis, &size) in shape.iter().enumerate() {
                out.slice_axis_inplace(Axis(axis), layout.slice(axis, size));
            }
            source.materialize_into(&mut out).unwrap();
            assert_copied(&out, &source, "into");
            out.fill(sentinel);
        }
        assert_eq!(untouched(&out_whole), out_whole.len());

        // The same memory, treated as uninitialised.
        // SAFETY: `MaybeUninit<A>` has the layout of `A`, and `materialize_into_uninit` writes only
        // initialised elements.
        let uninit = unsafe {
            out_whole
                .raw_view_mut()
                .cast::<MaybeUninit<A>>()
                .deref_into_view_mut()
        };
        let mut out = uninit.permuted_axes(layout.axes());
        for (axis, &size) in shape.iter().enumerate() {
            out.slice_axis_inplace(Axis(axis), layout.slice(axis, size));
        }
        let filled = source.materialize_into_uninit(&mut out).unwrap();
        assert_copied(&filled, &source, "uninit");
    }
}

#[test]
fn copies_equal_sources_of_generated_layouts_and_every_element_type() {
    check_generated_layouts::<u8>(1, crate::cases(300));
    check_generated_layouts::<u16>(2, crate::cases(300));
    check_generated_layouts::<f32>(3, crate::cases(300));
    check_generated_layouts::<f64>(4, crate::cases(300));
    check_generated_layouts::<u128>(5, crate::cases(300));
    check_generated_layouts::<[f32; 3]>(6, crate::cases(300));
    check_generated_layouts::<(u8, u16)>(7, crate::cases(300));
    check_generated_layouts::<()>(8, 100);
}

/// Copies `[len] -> [n, len]`, `[n] -> [n, len]` and `[n, len]` with gaps between the rows, about
/// `bytes` bytes each.
fn check_rows<A: Element>(bytes: usize, lens: impl Iterator<Item = usize>) {
    for len in lens {
        let n = bytes / (len.max(1) * size_of::<A>()) + 1;
        let row = Array1::from_shape_fn(len, A::numbered);
        let replicated = row.broadcast_numpy((n, len)).unwrap();
        assert_copied(&replicated.materialize().unwrap(), &replicated, "rows");
        let column = Array1::from_shape_fn(n, A::numbered);
        let repeated = column.broadcast_explicit((n, len), &[0]).unwrap();
        assert_copied(&repeated.materialize().unwrap(), &repeated, "columns");
        let wide = Array2::from_shape_fn((n, len + 1), |(i, j)| A::numbered(i * 131 + j));
        let cut = wide.slice(s![.., 1..]);
        assert_copied(&cut.materialize().unwrap(), &cut, "cut");
    }
}

#[test]
fn copies_with_rows_of_every_length_are_equal() {
    check_rows::<u8>(3 << 10, 0..=130);
    check_rows::<f32>(10 << 10, 0..=130);
    // Only `ALL_CASES` finds a fault of one length of long rows that rows of `f32` do not have.
    let lens = (0..=130)
        .filter(|len| *len < 36 || (62..67).contains(len) || len % 9 == 0 || crate::all_cases());
    check_rows::<f64>(10 << 10, lens.clone());
    check_rows::<[f32; 3]>(10 << 10, lens);
    // Large enough to be copied in parallel.
    check_rows::<u8>(520 << 10, [1, 3, 64, 130].into_iter());
    check_rows::<f32>(520 << 10, [1, 3, 16, 17, 100].into_iter());
}

#[test]
fn copies_of_sizes_around_powers_of_two_are_equal() {
    for kib in [1, 2, 4, 8, 16, 32, 64, 512] {
        for len in [(kib << 8) - 1, kib << 8, (kib << 8) + 1] {
            let scalar = arr0(7.5_f32);
            let view = scalar.broadcast_numpy(len).unwrap();
            assert_copied(&view.materialize().unwrap(), &view, "scalar");
            let row = Array1::from_shape_fn(len, f32::numbered);
            let view = row.broadcast_numpy((3, len)).unwrap();
            assert_copied(&view.materialize().unwrap(), &view, "row");
            let view = row.slice(s![..;-1]);
            assert_copied(&view.materialize().unwrap(), &view, "reversed");
            let view = row.broadcast_explicit((len, 2), &[0]).unwrap();
            assert_copied(&view.materialize().unwrap(), &view, "pairs");
        }
    }
}

/// Compares a new copy, and one that starts one element after the start of its buffer, with the
/// elements `period` repeated, which a comparison of slices does fast without optimisation.
fn check_period<A: Element, D: Dimension>(source: &ArrayRef<A, D>, period: &[A]) {
    let fresh = source.materialize().unwrap();
    let mut buffer = vec![A::numbered(5); source.len() + 2];
    let (inner, shape) = (1..=source.len(), source.raw_dim());
    let mut out = ArrayViewMut::from_shape(shape, &mut buffer[inner.clone()]).unwrap();
    source.materialize_into(&mut out).unwrap();
    for copy in [fresh.as_slice().unwrap(), &buffer[inner]] {
        for chunk in copy.chunks(period.len()) {
            assert!(chunk == &period[..chunk.len()], "{:?}", source.shape());
        }
    }
    assert_eq!(buffer[0], A::numbered(5));
    assert_eq!(buffer[buffer.len() - 1], A::numbered(5));
}

/// Outputs that may be written with streaming stores (existing memory) or backed by huge pages (new
/// memory).
#[test]
fn large_new_and_unaligned_outputs_are_equal() {
    let row = Array1::from_shape_fn(7, <[f32; 3]>::numbered);
    let view = row.broadcast_numpy(((33 << 20) / 84, 7)).unwrap();
    check_period(&view, row.as_slice().unwrap());
    let matrix = Array2::from_shape_fn((500, 300), |(i, j)| (i * 300 + j) as u16);
    let transposed = matrix.t().as_standard_layout().into_owned();
    let rows = matrix.t();
    check_period(
        &rows.broadcast_numpy((70, 300, 500)).unwrap(),
        transposed.as_slice().unwrap(),
    );
    let square = Array2::from_shape_fn((1500, 2100), |(i, j)| (i * 2100 + j) as f64);
    let transposed = square.t().as_standard_layout().into_owned();
    check_period(&square.t(), transposed.as_slice().unwrap());
}

/// Sizes at which the copy strategy may change: tiny outputs, parallel copies, streaming stores and
/// huge pages.
#[test]
fn copies_of_bytes_are_equal_around_sizes_where_the_strategy_changes() {
    // The numbers of bytes repeat after 251.
    let numbers = (0..251).map(u8::numbered).collect::<Vec<_>>();
    let period = |elements: usize, number: &dyn Fn(usize) -> usize| -> Vec<u8> {
        let elements = 0..251 * elements;
        elements.map(|at| u8::numbered(number(at))).collect()
    };
    for bytes in [32, 512 << 10, 32 << 20] {
        let numbers = numbers.repeat(bytes / 753 + 1);
        for len in bytes - 1..=bytes + 1 {
            let byte = arr0(7_u8);
            check_period(&byte.broadcast_numpy((1, len)).unwrap(), &[7; 1000]);
            let row = ArrayView::from(&numbers[..len.div_ceil(3)]);
            let rows = row.broadcast_numpy((3, row.len())).unwrap();
            check_period(&rows, row.as_slice().unwrap());
            let columns = row.broadcast_explicit((row.len(), 3), &[0]).unwrap();
            check_period(&columns, &period(3, &|at| at / 3));
            let height = len / 16;
            let matrix = row.slice(s![..height * 5]);
            let matrix = matrix.into_shape_with_order((5, height)).unwrap();
            let number = |at| at % 5 * height + at / 5;
            check_period(&matrix.t(), &period(5, &number));
        }
    }
}

#[test]
fn copies_are_equal_on_any_number_of_threads() {
    // Slices of integers, whose comparison is fast without optimisation.
    let a = Array3::from_shape_fn((40, 1, 700), |(i, _, j)| (i * 700 + j) as u32);
    let view = a.broadcast_numpy((40, 30, 700)).unwrap();
    let expected = view.iter().copied().collect::<Vec<_>>();
    let reversed = view.t().iter().copied().collect::<Vec<_>>();
    let work = || {
        let owned = view.materialize().unwrap();
        assert!(owned.as_slice().unwrap() == expected);
        let mut out = Array3::zeros((700, 30, 40));
        let mut reversed_out = out.view_mut().reversed_axes();
        view.materialize_into(&mut reversed_out).unwrap();
        assert!(out.as_slice().unwrap() == reversed);
    };
    work();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..5).for_each(|_| work()));
        }
    });
    #[cfg(feature = "rayon")]
    for threads in [1, 2, 3, 16] {
        let pool = crate::pool::pool(threads);
        pool.install(work);
        pool.install(|| rayon::join(work, || rayon::join(work, work)));
        pool.broadcast(|_| work());
    }
}

#[test]
fn every_kind_of_source_and_output_is_accepted() {
    let source = array![[1, 2], [3, 4]];
    let expected = array![[[1, 2], [3, 4]], [[1, 2], [3, 4]]];
    let view = source.broadcast_numpy((2, 2, 2)).unwrap();
    let mut out = Array3::zeros((2, 2, 2));
    view.materialize_into(&mut out).unwrap();
    assert_eq!(out, expected);
    let mut out = Array3::zeros((2, 2, 2).f());
    view.materialize_into(&mut out.view_mut()).unwrap();
    assert_eq!(out, expected);
    let mut out = Array3::zeros((4, 2, 2));
    view.materialize_into(&mut out.slice_mut(s![..;-2, .., ..]))
        .unwrap();
    assert_eq!(out.slice(s![1..;2, .., ..]), expected);
    assert_eq!(out.slice(s![..;2, .., ..]), Array3::<i32>::zeros((2, 2, 2)));
    let mut out = ArcArray::<i32, _>::zeros((2, 2, 2));
    let shared = out.clone();
    view.materialize_into(&mut out).unwrap();
    assert_eq!(out, expected);
    assert_eq!(shared, Array3::<i32>::zeros((2, 2, 2)));
    let mut out = CowArray::from(shared.view());
    view.materialize_into(&mut out).unwrap();
    assert_eq!(out, expected);
    assert_eq!(shared, Array3::<i32>::zeros((2, 2, 2)));
    // Every kind of source.
    assert_eq!(source.to_shared().materialize().unwrap(), source);
    assert_eq!(CowArray::from(source.view()).materialize().unwrap(), source);
    assert_eq!((*source).materialize().unwrap(), source);
    assert_eq!(
        source.clone().into_dyn().materialize().unwrap(),
        source.into_dyn()
    );
}

#[test]
fn scalars_empty_arrays_and_a_thousand_axes_are_copied() {
    assert_eq!(arr0(3).materialize().unwrap(), arr0(3));
    let mut out = arr0(0);
    arr0(3).materialize_into(&mut out).unwrap();
    assert_eq!(out, arr0(3));
    for shape in [&[0][..], &[3, 0, 4], &[0, usize::MAX >> 1]] {
        let empty = ArrayD::<f32>::zeros(shape);
        assert_eq!(empty.materialize().unwrap().shape(), shape);
        empty.materialize_into(&mut ArrayD::zeros(shape)).unwrap();
    }
    let units = ArrayView::<(), _>::from_shape((1,), &[()]).unwrap();
    let many = units.broadcast_numpy((isize::MAX as usize,)).unwrap();
    assert_eq!(many.materialize().unwrap().len(), isize::MAX as usize);
    let mut shape = vec![1; 1000];
    for axis in (0..1000).step_by(100) {
        shape[axis] = 2;
    }
    let scalar = arr0(9).into_dyn();
    let deep = scalar.broadcast_numpy(shape.as_slice()).unwrap();
    assert_eq!(deep.materialize().unwrap(), ArrayD::from_elem(shape, 9));
}

#[test]
fn an_output_of_another_shape_is_an_error_and_unchanged() {
    let source = ArrayD::from_elem(IxDyn(&[2, 3]), 1);
    for shape in [&[3, 2][..], &[2, 1], &[6], &[], &[2, 3, 1], &[2, 4]] {
        let mut out = ArrayD::from_elem(shape, 7);
        let error = source.materialize_into(&mut out).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::WrongShape { expected, found, .. }
            if *expected == PartialShape::known((2, 3)) && **found == *shape)
        );
        assert_eq!(out, ArrayD::from_elem(shape, 7));
        let mut out = ArrayD::from_elem(shape, MaybeUninit::new(7));
        assert_eq!(source.materialize_into_uninit(&mut out).unwrap_err(), error);
        // SAFETY: all elements were initialised with 7, and the call wrote nothing.
        assert_eq!(unsafe { out.assume_init() }, ArrayD::from_elem(shape, 7));
    }
}

// With 32 bits, memory may hold whatever the sizes allow.
#[cfg(target_pointer_width = "64")]
#[test]
fn outputs_that_exceed_memory_are_errors() {
    let one = array![1.0_f64];
    let half = isize::MAX as usize / 2;
    let error = one
        .broadcast_numpy(half)
        .unwrap()
        .materialize()
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::ShapeOverflow { shape, element_size: Some(8), .. } if **shape == [half])
    );
    let error = one
        .broadcast_numpy(1 << 58)
        .unwrap()
        .materialize()
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::AllocationFailed { bytes, .. } if *bytes == 1 << 61));
    // 10^18 elements: with 1 byte each they exceed memory, with 16 bytes each `isize::MAX` bytes.
    let shape = (1_000_000_000, 1_000_000_000);
    let error = arr0(1_u8)
        .broadcast_numpy(shape)
        .unwrap()
        .materialize()
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::AllocationFailed { bytes, .. } if *bytes == 10_usize.pow(18))
    );
    let error = arr0(1_u128)
        .broadcast_numpy(shape)
        .unwrap()
        .materialize()
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ShapeOverflow { .. }));
}

#[test]
fn materialize_into_uninit_returns_a_mutable_view_of_the_output() {
    let view: ArrayViewD<'_, u8> = ArrayView::from(&[1, 2, 3]).into_dyn();
    let mut memory = vec![MaybeUninit::uninit(); 6];
    let mut out = ArrayViewMut::from_shape(IxDyn(&[2, 3]), &mut memory).unwrap();
    let source = view.broadcast_numpy(IxDyn(&[2, 3])).unwrap();
    let mut filled = source.materialize_into_uninit(&mut out).unwrap();
    filled[[1, 2]] = 9;
    assert_eq!(filled, array![[1, 2, 3], [1, 2, 9]].into_dyn());
}

#[test]
fn transposed_elements_of_pages_are_copied() {
    fn check<const SIZE: usize>() {
        let a = Array2::from_shape_fn((17, 16), |(i, j)| [(16 * i + j) as u8; SIZE]);
        let mut out = Array2::from_elem((16, 17), [0; SIZE]);
        a.t().materialize_into(&mut out).unwrap();
        let fresh = a.t().materialize().unwrap();
        for ((i, j), element) in a.indexed_iter() {
            assert!(
                fresh[[j, i]] == *element && out[[j, i]] == *element,
                "{i} {j}"
            );
        }
    }
    check::<2048>();
    check::<4096>();
    check::<4104>();
    check::<8192>();
    check::<16384>();
    check::<20000>();
}
