//! Types: ranks, generic functions, lifetimes, errors, half floats and overflow.
//!
//! # Ranks
//!
//! If the ranks of the inputs are static, the rank of the result is static too: `Ix1` to `Ix4` is
//! `Ix4`. The rank is the larger of the two. For `broadcast_prepend`, it is the sum of the two.
//! Building such a view or plan allocates nothing, with [few exceptions](crate::BroadcastExt). A
//! program that expects another rank does not compile. The outputs of
//! [`AxisPattern`](crate::named::AxisPattern) and of [`onnx`](crate::onnx), and plans of
//! [`openvino`](crate::openvino), have dynamic rank.
//!
//! ```
//! use ndarray::{ArrayView4, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let bias = array![1., 2., 3.];
//! let view: ArrayView4<'_, f64> = bias.broadcast_explicit((2, 3, 4, 5), &[1])?;
//! # assert_eq!(view.shape(), [2, 3, 4, 5]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A shape of unknown length is a slice, a `Vec` or an `IxDyn`; a borrowed `Vec` is passed as a
//! slice. Then the result has the dimension type `IxDyn`, even if the array's rank is static.
//! `into_dimensionality` converts it to a static rank.
//!
//! ```
//! use ndarray::{ArrayViewD, Ix2, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let row = array![1, 2, 3];
//! let shape: Vec<usize> = vec![2, 3];
//! let view: ArrayViewD<'_, i32> = row.broadcast_numpy(&shape[..])?;
//! let view = view.into_dimensionality::<Ix2>().expect("the shape has two axes");
//! assert_eq!(view.column(2), array![3, 3]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A plan of static ranks takes arrays of these ranks. For an `ArrayD`, convert the plan or the
//! array:
//!
//! ```
//! use ndarray::{ArrayD, Ix1, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let plan = BroadcastPlan::numpy(3, (2, 3))?;
//! let row: ArrayD<i32> = array![1, 2, 3].into_dyn();
//! let fixed = row.view().into_dimensionality::<Ix1>().expect("it has one axis");
//! assert_eq!(plan.view(fixed)?, array![[1, 2, 3], [1, 2, 3]]);
//! assert_eq!(plan.into_dyn().view(&row)?.shape(), [2, 3]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # `raw_dim()`, not `shape()`
//!
//! The shape of another array is passed as `raw_dim()`, which keeps its rank. `shape()` is a slice:
//! it gives `IxDyn`.
//!
//! ```
//! use ndarray::{Array3, ArrayView3, ArrayViewD, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let x = Array3::<f32>::zeros((2, 3, 4));
//! let column = array![[1.], [2.], [3.]];
//! let fixed: ArrayView3<'_, f64> = column.broadcast_numpy(x.raw_dim())?;
//! let dynamic: ArrayViewD<'_, f64> = column.broadcast_numpy(x.shape())?;
//! assert_eq!(fixed.into_dyn(), dynamic);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! If you have both arrays, use a method that takes both, and no shape is needed:
//! [`broadcast_with`](crate::BroadcastExt::broadcast_with), [`zip`](crate::zip).
//!
//! # Generic functions
//!
//! The trait `DimMax` gives the larger of two ranks: it is `<D as DimMax<E>>::Output`. ndarray
//! implements it for all pairs of its dimension types. In a function of two ranks, name the output
//! in the bound, and the result has a short type:
//!
//! ```
//! use ndarray::{Array, ArrayView, DimMax, Dimension, array};
//! use ndarray_broadcast::prelude::*;
//!
//! fn add<D, E, O>(
//!     a: ArrayView<'_, f64, D>,
//!     b: ArrayView<'_, f64, E>,
//! ) -> Result<Array<f64, O>, BroadcastError>
//! where
//!     D: Dimension + DimMax<E, Output = O>,
//!     E: Dimension,
//!     O: Dimension,
//! {
//!     zip((&a, &b)).map_collect(|(a, b)| a + b)
//! }
//!
//! let sum = add(array![[1.], [2.]].view(), array![10., 20.].view())?;
//! assert_eq!(sum, array![[11., 21.], [12., 22.]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! If the result has the rank of the first array, as in an operation in place or with a bias along
//! the last axis, write `DimMax<E, Output = D>`:
//!
//! ```
//! use ndarray::{Array, Array1, ArrayView, DimMax, Dimension, Ix1, array};
//! use ndarray_broadcast::prelude::*;
//!
//! fn add_bias<D: Dimension + DimMax<Ix1, Output = D>>(
//!     x: ArrayView<'_, f64, D>,
//!     bias: &Array1<f64>,
//! ) -> Result<Array<f64, D>, BroadcastError> {
//!     zip((x, bias)).map_collect(|(x, bias)| x + bias)
//! }
//!
//! let sum = add_bias(array![[1., 2.], [3., 4.]].view(), &array![10., 20.])?;
//! assert_eq!(sum, array![[11., 22.], [13., 24.]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! With `D: Dimension` alone, the compiler says that `D: DimMax<Dim<[usize; 1]>>` is not satisfied,
//! and proposes this bound. `Output = D` is needed, too:
//!
//! ```compile_fail,E0599
//! # use ndarray::{Array, Array1, ArrayView, Dimension};
//! # use ndarray_broadcast::prelude::*;
//! fn add_bias<D: Dimension>(
//!     x: ArrayView<'_, f64, D>,
//!     bias: &Array1<f64>,
//! ) -> Result<Array<f64, D>, BroadcastError> {
//!     zip((x, bias)).map_collect(|(x, bias)| x + bias)
//! }
//! ```
//!
//! The array that the method is called on, the first of several, and the input of a plan are on the
//! left of `DimMax`. So some calls need the mirrored bound:
//!
//! | call | bound |
//! |---|---|
//! | `zip((x, bias))`, `broadcast_pair(x, bias, rule)`, `x.broadcast_with(bias)` | `D: DimMax<Ix1, Output = D>` |
//! | `bias.broadcast_numpy(x.raw_dim())`, `BroadcastPlan::numpy(bias.raw_dim(), x.raw_dim())` | `Ix1: DimMax<D, Output = D>` |
//! | `zip(bias).update(x, ..)` | none |
//!
//! ```
//! use ndarray::{Array1, ArrayRef, DimMax, Dimension, Ix1, array};
//! use ndarray_broadcast::prelude::*;
//!
//! fn gradient_of_bias<D: Dimension>(
//!     dy: &ArrayRef<f64, D>,
//!     channels: usize,
//! ) -> Result<Array1<f64>, BroadcastError>
//! where
//!     Ix1: DimMax<D, Output = D>,
//! {
//!     BroadcastPlan::numpy(channels, dy.raw_dim())?.gradient(dy)
//! }
//!
//! let gradient = gradient_of_bias(&array![[1., 2.], [3., 4.]], 2)?;
//! assert_eq!(gradient, array![4., 6.]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A function of one rank needs no more than `D: Dimension`, because ndarray has `D:
//! DimMax<D, Output = D>` for every dimension:
//!
//! ```
//! use ndarray::{Array, ArrayView, Dimension, array};
//! use ndarray_broadcast::prelude::*;
//!
//! /// The array as large as `like`, copied.
//! fn like<A: Copy + Send + Sync, D: Dimension>(
//!     a: ArrayView<'_, A, D>,
//!     like: ArrayView<'_, A, D>,
//! ) -> Result<Array<A, D>, BroadcastError> {
//!     a.broadcast_numpy(like.raw_dim())?.materialize()
//! }
//!
//! let wide = like(array![[1], [2]].view(), array![[0, 0], [0, 0]].view())?;
//! assert_eq!(wide, array![[1, 1], [2, 2]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! [`Max`](crate::reduction::Max) is a [`Reduction`](crate::reduction::Reduction) of many element
//! types. [`Mean`](crate::reduction::Mean) of integers is an integer:
//! `Mean.in_type::<f64, f64>()` keeps the fraction. In a function that is generic over
//! the elements, name the reductions in the bounds: for floats, `Std: Reduction<A, Out = A>` rather
//! than a trait of floats. `Out = A` says that the result has the type of the terms:
//!
//! ```
//! use ndarray::{Array1, Array2, array};
//! use ndarray_broadcast::prelude::*;
//! use ndarray_broadcast::reduction::Reduction;
//!
//! /// The largest term and the mean of each row.
//! fn summary<A: Copy + Send + Sync>(
//!     x: &Array2<A>,
//! ) -> Result<[Array1<A>; 2], BroadcastError>
//! where
//!     Max: Reduction<A, Out = A>,
//!     Mean: Reduction<A, Out = A>,
//! {
//!     let rows = BroadcastPlan::explicit(x.nrows(), x.raw_dim(), &[0])?;
//!     Ok([rows.reduce(x, Max)?, rows.reduce(x, Mean)?])
//! }
//!
//! let [max, mean] = summary(&array![[1_f32, 5., 3.], [4., 2., 0.]])?;
//! assert_eq!(max, array![5., 4.]);
//! assert_eq!(mean, array![3., 2.]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! [`Broadcasted`](crate::Broadcasted) names the type of a view in a signature. A parameter of type
//! `&ArrayRef<A, D>` accepts arrays and views of any storage, because they all dereference to it.
//!
//! # Lifetimes
//!
//! The methods of [`BroadcastExt`](crate::BroadcastExt) borrow the array or view that they are
//! called on. So a function that takes a view by value cannot return their result: it borrows from
//! a local variable. [`BroadcastPlan::view`](crate::BroadcastPlan::view) takes a view by value
//! and keeps its lifetime:
//!
//! ```
//! use ndarray::{ArrayView1, ArrayView2, array};
//! use ndarray_broadcast::prelude::*;
//!
//! fn rows(
//!     a: ArrayView1<'_, f32>,
//!     n: usize,
//! ) -> Result<ArrayView2<'_, f32>, BroadcastError> {
//!     BroadcastPlan::numpy(a.raw_dim(), (n, a.len()))?.view(a)
//! }
//!
//! assert_eq!(rows(array![1., 2.].view(), 3)?.shape(), [3, 2]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A plan borrows nothing. It can be stored in a struct, sent to another thread, compared and
//! hashed.
//!
//! # Errors
//!
//! [`BroadcastError`](crate::BroadcastError) is `Send + Sync + 'static` and one pointer wide. `?`
//! converts it to `Box<dyn Error>`, to `anyhow::Error`, and to any error type that implements
//! `From<BroadcastError>`:
//!
//! ```
//! use ndarray::{Array2, ShapeError, array};
//! use ndarray_broadcast::prelude::*;
//!
//! #[derive(Debug)]
//! enum LayerError {
//!     Broadcast(BroadcastError),
//!     Shape(ShapeError),
//! }
//!
//! impl From<BroadcastError> for LayerError {
//!     fn from(error: BroadcastError) -> Self {
//!         LayerError::Broadcast(error)
//!     }
//! }
//!
//! impl From<ShapeError> for LayerError {
//!     fn from(error: ShapeError) -> Self {
//!         LayerError::Shape(error)
//!     }
//! }
//!
//! fn layer(x: &Array2<f32>) -> Result<Array2<f32>, LayerError> {
//!     let x = x.to_shape((3, 2))?;
//!     Ok(zip((&x, &array![1., 2.])).map_collect(|(x, b)| x + b)?)
//! }
//!
//! fn program() -> Result<(), Box<dyn std::error::Error>> {
//!     array![1, 2, 3].broadcast_numpy((2, 3))?;
//!     Ok(())
//! }
//!
//! assert!(matches!(layer(&Array2::zeros((2, 2))), Err(LayerError::Shape(_))));
//! assert!(layer(&Array2::zeros((2, 3))).is_ok());
//! # assert!(program().is_ok());
//! ```
//!
//! There is no `From<ShapeError>`: in a function that returns a `BroadcastError`, `?` does not take
//! an error of ndarray. Return `Box<dyn Error>` or an error such as `LayerError`.
//!
//! [`kind()`](crate::BroadcastError::kind) has the shapes and the axis as fields. The enum and its
//! variants are `#[non_exhaustive]`: end a `match` with the arm `_`, and the pattern of a variant
//! with `..`.
//!
//! # Elements
//!
//! | operation | elements |
//! |---|---|
//! | views, plans | any type |
//! | [`materialize`](crate::MaterializeExt::materialize) | `Copy + Send + Sync` |
//! | [`materialize_cloned`](crate::MaterializeExt::materialize_cloned) | `Clone + Send + Sync` |
//! | [`map_collect`](crate::Zip::map_collect), [`map_assign_into`](crate::Zip::map_assign_into) | of the arrays: `Copy + Send + Sync`; of the closure's result: `Send` |
//! | [`map_collect_two`](crate::Zip::map_collect_two) | of the arrays: `Copy + Send + Sync`; of the closure's results: `Copy + Send` |
//! | [`update`](crate::Zip::update) | of the array that is changed: `Send`; of the others: `Copy + Send + Sync` |
//! | [`map_collect_ref`](crate::Zip::map_collect_ref) | `Sync` |
//! | [`gradient`](crate::BroadcastPlan::gradient) | [`Summand`](crate::reduction::Summand): numbers of Rust, complex numbers, your own; halves with the feature `half` |
//! | [`reduce`](crate::BroadcastPlan::reduce), [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape) | those that the [`Reduction`](crate::reduction::Reduction) takes: [`Averaged`](crate::reduction::Averaged) for `Mean`, `Copy + PartialOrd + Send + Sync + 'static` for `Max`, `Min` and positions; `Copy + Sync` for all |
//! | [`sum_cloned`](crate::ReduceExt::sum_cloned), [`sum_to_shape_cloned`](crate::ReduceExt::sum_to_shape_cloned) | `Clone + Zero` |
//! | [`Sum.in_own_type`](crate::reduction::Sum::in_own_type) | `Copy + Zero + Send + Sync` |
//! | [`zip(..).reduce`](crate::Zip::reduce) | of the arrays: `Copy + Send + Sync`; of the closure's result: those that the `Reduction` takes |
//! | [`Sum.in_type`](crate::reduction::Sum::in_type), [`Mean.in_type`](crate::reduction::Mean::in_type) | numbers of Rust, and with `half`'s feature `num-traits` those of the crate `half` (not with integers of 128 bits) |
//!
//! `f16` and `bf16` are those of the crate `half`. Views, copies and maps take them as any other
//! type. With this crate's feature `half`, they are summed in `f32` and rounded once.
//!
//! # Integer overflow
//!
//! Integers are added with their own `+`. In a debug build, a sum that overflows panics. In a
//! release build, it wraps. A wider accumulator avoids both:
//!
//! ```
//! use ndarray::Array1;
//! use ndarray_broadcast::prelude::*;
//!
//! let bytes = Array1::from_elem(1000, 255_u8);
//! let sum = bytes.reduce_to_shape((), Sum.in_type::<i64, i64>())?;
//! assert_eq!(sum.into_scalar(), 255_000);
//! // The same modulo 256, in every build:
//! let wrapped = bytes.mapv(std::num::Wrapping).reduce_to_shape((), Sum)?;
//! assert_eq!(wrapped.into_scalar().0, (255_000 % 256) as u8);
//! # Ok::<(), BroadcastError>(())
//! ```
