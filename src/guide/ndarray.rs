//! ndarray's own broadcasting methods: what each does, and the equivalent in this crate.
//!
//! This page describes ndarray 0.17. The methods in the table run on one thread, except for those
//! whose names begin with `par`.
//!
//! | ndarray | here | prefer ndarray's for |
//! |---|---|---|
//! | [`a.broadcast(shape)`](#broadcast) | [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy) | `None` instead of an error that says why |
//! | [`&a + &b`](#operators) | [`zip`](crate::zip), [`map_collect`](crate::Zip::map_collect) | short code; small arrays; shapes known to match |
//! | [`a += &b`](#operators) | [`Zip::update`](crate::Zip::update) | the same |
//! | [`Zip::and`, `azip!`](#zip) | [`zip`](crate::zip) | indices; closures with state |
//! | [`Zip::and_broadcast`](#zip) | [`Zip::update`](crate::Zip::update) | the same |
//! | [`Zip::par_for_each`, `par_azip!`](#zip) | [`zip`](crate::zip) | the same, with ndarray's feature `rayon` |
//! | [`to_owned`](#copies) | [`materialize`](crate::MaterializeExt::materialize), [`materialize_cloned`](crate::MaterializeExt::materialize_cloned) | small arrays |
//! | [`assign`](#copies) | [`materialize_into`](crate::MaterializeExt::materialize_into) | the same |
//! | [`sum_axis`](#sums) | [`reduce_axes`](crate::ReduceExt::reduce_axes), [`gradient`](crate::BroadcastPlan::gradient) | one axis; elements that are `Clone` and not `Copy` |
//! | [`insert_axis`](#new-axes) | [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit) | a new axis of size 1 |
//! | [`into_shape_with_order`](#new-axes) | [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit) | split or joined axes |
//! | `co_broadcast`, `broadcast_with` | [`broadcast_with`](crate::BroadcastExt::broadcast_with), [`broadcast_shapes`](crate::broadcast_shapes) | nothing: both are private to ndarray |
//!
//! # broadcast
//!
//! The rule is NumPy's `broadcast_to`. Every mismatch returns `None`. The result borrows the array
//! or view that the method is called on. So the result of a method of a view cannot outlive this
//! view. [`BroadcastPlan::view`](crate::BroadcastPlan::view) also takes a view by value, and its
//! result then has the lifetime of the view's array. The static rank of ndarray's result is that of
//! the shape. Here it is the larger of the two ranks, which is the same whenever the broadcast
//! succeeds.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let row = array![1, 2, 3];
//! assert_eq!(row.broadcast((2, 3)).unwrap(), row.broadcast_numpy((2, 3))?);
//! assert!(row.broadcast((3, 2)).is_none());
//! assert_eq!(
//!     row.broadcast_numpy((3, 2)).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [3] to [3, 2] (numpy)
//!   input       3
//!   target   3  2
//!               ^ 3 is neither 2 nor 1",
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! This function borrows from a local variable, so it does not compile:
//!
//! ```compile_fail,E0515
//! # use ndarray::{ArrayView1, ArrayView2};
//! fn two_rows(a: ArrayView1<'_, f32>) -> ArrayView2<'_, f32> {
//!     a.broadcast((2, a.len())).unwrap() // borrows `a`, which ends here
//! }
//! ```
//!
//! With a plan, it compiles:
//!
//! ```
//! use ndarray::{ArrayView1, ArrayView2, aview1};
//! use ndarray_broadcast::prelude::*;
//!
//! fn two_rows(
//!     a: ArrayView1<'_, f32>,
//! ) -> Result<ArrayView2<'_, f32>, BroadcastError> {
//!     BroadcastPlan::numpy(a.raw_dim(), (2, a.len()))?.view(a)
//! }
//! assert_eq!(two_rows(aview1(&[1., 2.]))?.shape(), [2, 2]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Operators
//!
//! `&a + &b` broadcasts both operands, as NumPy does, on one thread. `a + b` and `a + &b` write
//! into the memory of `a` if its shape is the common shape. `a += &b` broadcasts only `b`. A
//! mismatch panics.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let (column, row) = (array![[1], [2]], array![10, 20, 30]);
//! assert_eq!(&column + &row, zip((&column, &row)).map_collect(|(a, b)| a + b)?);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! ```should_panic
//! # use ndarray::array;
//! let sum = &array![1, 2, 3] + &array![1, 2]; // panics
//! ```
//!
//! ```should_panic
//! # use ndarray::array;
//! let mut row = array![1, 2, 3];
//! row += &array![[1], [2]]; // panics: `row` would have to grow
//! ```
//!
//! If both operands are in column-major layout, so is the result of an operator, and that of
//! `map_collect`. Maps keep any order of axes that no operand contradicts, as NumPy does. Results
//! of operators on references are in column-major or in standard layout. An owned array on the left
//! is reused, so the result has its layout.
//!
//! ```
//! use ndarray::{Array2, ShapeBuilder};
//! use ndarray_broadcast::prelude::*;
//!
//! let a = Array2::<f32>::zeros((2, 3).f());
//! assert!(!(&a + &a).is_standard_layout());
//! assert!(!zip((&a, &a)).map_collect(|(a, b)| a + b)?.is_standard_layout());
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Zip
//!
//! A `Zip` takes up to six producers of the same shape. `Zip::and_broadcast` broadcasts an array to
//! the shape of the first producer, by NumPy's rule. The first never grows. `Zip::and` and
//! `and_broadcast` panic on a mismatch. `azip!` expands to a `Zip` with `and`, so it panics too,
//! and it does not broadcast. `par_for_each` and `par_azip!` do the same on rayon's threads.
//!
//! ```
//! use ndarray::{Zip, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let (mut a, b) = (array![[1, 2, 3], [4, 5, 6]], array![10, 20, 30]);
//! let mut c = a.clone();
//! Zip::from(&mut a).and_broadcast(&b).for_each(|a, &b| *a += b);
//! zip(&b).update(&mut c, |c, b| *c += b)?;
//! assert_eq!(a, c);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! ```should_panic
//! # use ndarray::{Zip, array};
//! let (mut row, column) = (array![[1, 2, 3]], array![[1], [2]]);
//! // Panics: `row` would have to grow.
//! Zip::from(&mut row).and_broadcast(&column).for_each(|a, &b| *a += b);
//! ```
//!
//! ```should_panic
//! # use ndarray::{array, azip};
//! let (mut a, b) = (array![[1, 2], [3, 4]], array![[10, 20]]);
//! azip!((a in &mut a, &b in &b) *a += b); // panics: the shapes differ
//! ```
//!
//! # Copies
//!
//! `to_owned` copies a broadcast view on one thread. ndarray does not specify the layout of the
//! copy. It clones the elements, so it works for every type that is `Clone`. `assign` broadcasts
//! the other array to the shape of `self`, by NumPy's rule. A mismatch panics.
//!
//! ```
//! use ndarray::{Array2, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let row = array![1, 2, 3];
//! let view = row.broadcast_numpy((2, 3))?;
//! assert_eq!(view.to_owned(), view.materialize()?);
//!
//! let (mut assigned, mut copied) = (Array2::zeros((2, 3)), Array2::zeros((2, 3)));
//! assigned.assign(&row);
//! view.materialize_into(&mut copied)?;
//! assert_eq!(assigned, copied);
//!
//! let words = array!["one".to_string(), "two".to_string()];
//! assert_eq!(words.broadcast_numpy((3, 2))?.to_owned()[[2, 1]], "two");
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! ```should_panic
//! # use ndarray::{Array2, array};
//! Array2::zeros((2, 3)).assign(&array![1, 2]); // panics
//! ```
//!
//! # Sums
//!
//! `sum_axis` sums one axis and drops it, on one thread. It panics if the axis does not exist. A
//! gradient over several axes needs one call for each axis, and `insert_axis` for each axis that is
//! kept. [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape) sums over any set of axes in one
//! call.
//!
//! ```
//! use ndarray::{Array3, Axis};
//! use ndarray_broadcast::prelude::*;
//!
//! let cotangent =
//!     Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as f64);
//! let by_hand =
//!     cotangent.sum_axis(Axis(2)).sum_axis(Axis(0)).insert_axis(Axis(1));
//! assert_eq!(cotangent.reduce_to_shape((3, 1), Sum)?, by_hand);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The order of addition of `sum_axis` depends on the layout: contiguous terms are added in eight
//! lanes, strided terms one after the other. So the result depends on the layout as well. The
//! example sums a large number and a thousand ones:
//!
//! ```
//! use ndarray::{Array2, Axis};
//! use ndarray_broadcast::prelude::*;
//!
//! let rows =
//!     Array2::from_shape_fn(
//!         (1001, 2),
//!         |(row, _)| if row == 0 { 1e8_f32 } else { 1. },
//!     );
//! let mut columns = Array2::zeros((2, 1001)).reversed_axes();
//! columns.assign(&rows);
//! assert_eq!(rows, columns);
//!
//! assert_eq!(rows.sum_axis(Axis(0))[0], 1e8); // every single 1 is lost
//! assert_ne!(rows.sum_axis(Axis(0)), columns.sum_axis(Axis(0)));
//!
//! let sum = rows.reduce_to_shape(2, Sum)?;
//! assert_eq!(sum, columns.reduce_to_shape(2, Sum)?);
//! assert!((sum[0] - 100_001_000.).abs() <= 100.);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # New axes
//!
//! With ndarray, a broadcast like [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit)
//! takes two steps: insert axes of size 1, then broadcast. `insert_axis` works for any view. It
//! panics if the axis is beyond the rank. `into_shape_with_order` needs an array in standard
//! layout, or in column-major layout with `Order::ColumnMajor`, and returns an error for any other.
//!
//! ```
//! use ndarray::{Array1, Axis, s};
//! use ndarray_broadcast::prelude::*;
//!
//! let bias = Array1::from_iter(0..3);
//! let inserted = bias.view().insert_axis(Axis(1)).insert_axis(Axis(2));
//! let by_hand = inserted.broadcast((2, 3, 4, 4)).unwrap();
//! assert_eq!(bias.broadcast_explicit((2, 3, 4, 4), &[1])?, by_hand);
//!
//! let strided = Array1::from_iter(0..6);
//! let every_second = strided.slice(s![..;2]);
//! assert!(every_second.into_shape_with_order((3, 1, 1)).is_err());
//! assert_eq!(
//!     every_second.broadcast_explicit((2, 3, 4, 4), &[1])?.strides(),
//!     [0, 2, 0, 0]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! ndarray:
//! [`broadcast`](https://docs.rs/ndarray/0.17/ndarray/struct.ArrayRef.html#method.broadcast),
//! [`Zip`](https://docs.rs/ndarray/0.17/ndarray/struct.Zip.html),
//! [`sum_axis`](https://docs.rs/ndarray/0.17/ndarray/struct.ArrayRef.html#method.sum_axis), and the
//! arithmetic operators of
//! [`ArrayBase`](https://docs.rs/ndarray/0.17/ndarray/struct.ArrayBase.html#arithmetic-operations)
