//! Sums in one pass with the map, sums in a wider type, maxima, means and positions.
//!
//! A gradient sums what a broadcast replicated. Two things are general about it: what is summed may
//! be a function of several arrays, and another operation may take the place of the sum.
//!
//! | of | to a shape, by NumPy's rule | along any plan |
//! |---|---|---|
//! | the sum of an array | [`sum_to_shape`](crate::GradientExt::sum_to_shape) | [`gradient`](crate::BroadcastPlan::gradient) |
//! | another reduction of an array | [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape) | [`reduce`](crate::BroadcastPlan::reduce) |
//! | the sum of a map of up to four arrays | | [`gradient_of`](crate::BroadcastPlan::gradient_of) |
//! | another reduction of such a map | | [`reduce_of`](crate::BroadcastPlan::reduce_of) |
//!
//! The methods of a plan also write into an existing array: `.._into`; sums are also added to one:
//! `.._accumulate`. Which reductions there are: [`Reduction`](crate::Reduction).
//!
//! # Map and sum in one pass
//!
//! The gradients of a layer norm, `y = (x - mean) * r * scale + shift`, for rows of `[N, C]`. No
//! array of `[N, C]` is built for a sum:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//! use ndarray_broadcast::Mean;
//!
//! let x = array![[1_f64, 2., 3.], [4., 6., 8.]];
//! let (dy, scale) = (array![[1., -1., 2.], [0.5, 1., -1.]], array![1., 2., 3.]);
//! let rows = BroadcastPlan::numpy((2, 1), (2, 3))?; // [N, 1] -> [N, C]
//! let columns = BroadcastPlan::numpy(3, (2, 3))?; // [C] -> [N, C]
//!
//! let mean = rows.reduce(&x, Mean)?;
//! let variance = rows.reduce_of((&x, &mean), Mean, |(x, mean)| (x - mean).powi(2))?;
//! let r = variance.mapv(|variance| 1. / (variance + 1e-5).sqrt());
//!
//! let d_shift = columns.gradient(&dy)?;
//! let d_scale = columns.gradient_of((&dy, &x, &mean, &r), |(dy, x, mean, r)| {
//!     dy * (x - mean) * r
//! })?;
//! let d_mean = rows.reduce_of((&dy, &scale), Mean, |(dy, scale)| dy * scale)?;
//! assert_eq!(d_shift, array![1.5, 0., 1.]);
//! assert!((d_scale[2] - 1.2247_f64).abs() < 1e-4);
//! assert_eq!(d_mean, array![[5. / 3.], [-0.5 / 3.]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The sum has the bits of [`gradient`](crate::BroadcastPlan::gradient) of the array that it does
//! without: it follows [the same tree](crate::GradientExt#the-order-of-summation).
//!
//! # Softmax
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//! use ndarray_broadcast::{ArgMax, Max};
//!
//! let logits = array![[1_f64, 2., 3.], [0., 1000., 0.]];
//! let rows = BroadcastPlan::numpy((2, 1), (2, 3))?;
//! let max = rows.reduce(&logits, Max)?;
//! let sum = rows.gradient_of((&logits, &max), |(logit, max)| (logit - max).exp())?;
//! let softmax = (&logits - &max).exp() / sum;
//! assert_eq!(softmax.row(1), array![0., 1., 0.]);
//! assert_eq!(rows.reduce(&softmax, ArgMax)?, array![[2], [1]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Accumulators
//!
//! A long sum of a narrow type overflows or loses its last terms. [`Sum::in_type`](crate::Sum::in_type)
//! and [`Mean::in_type`](crate::Mean::in_type) name the type in which the sum is kept and the type of
//! the result. The sum is converted once, at the end; a mean is divided before that.
//!
//! ```
//! use ndarray::Array1;
//! use ndarray_broadcast::prelude::*;
//! use ndarray_broadcast::{Mean, Sum};
//!
//! let bytes = Array1::from_elem(1000, 255_u8);
//! assert_eq!(bytes.reduce_to_shape((), Sum.in_type::<i64, i64>())?.into_scalar(), 255_000);
//! assert_eq!(bytes.reduce_to_shape((), Mean.in_type::<f32, u8>())?.into_scalar(), 255);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! With the feature `half`, this works for `f16` and `bf16` of the crate `half` too:
//! `Sum.in_type::<f32, bf16>()`. A sum of `bf16` values in `f32` is within 0.51 units in the last
//! place of `bf16`, if the terms have one sign and are no more than 10^7. Without the feature, the
//! types have no conversions to generic code, and such a call does not compile. A plain
//! [`sum_to_shape`](crate::GradientExt::sum_to_shape) rounds each addition to the narrow type.
//!
//! # NaN and empty axes
//!
//! | | NaN among the terms | no terms |
//! |---|---|---|
//! | `Sum`, `Product`, `Mean` | NaN | 0, 1, NaN |
//! | `Max`, `Min` | NaN | error |
//! | `NanMax`, `NanMin` | is left out; NaN if all are | error |
//! | `ArgMax`, `ArgMin` | the first NaN | error |
//! | `All`, `Any` | | `true`, `false` |
//!
//! The answers are NumPy's. The error is [`EmptyReduction`](crate::ErrorKind::EmptyReduction). A
//! result without elements is no error.
//!
//! # Sources
//!
//! - NumPy: [`ufunc.reduce`](https://numpy.org/doc/stable/reference/generated/numpy.ufunc.reduce.html), [`argmax`](https://numpy.org/doc/stable/reference/generated/numpy.argmax.html), [`nanmax`](https://numpy.org/doc/stable/reference/generated/numpy.nanmax.html)
//! - ONNX: [`ReduceSum`](https://onnx.ai/onnx/operators/onnx__ReduceSum.html) and its like
