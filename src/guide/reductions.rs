//! Sums in one pass with the map, sums in a wider type, means, variances, maxima and positions.
//!
//! A gradient sums what a broadcast replicated. It can be generalised in two ways. The terms may be
//! a function of several arrays. Another operation may replace the sum.
//!
//! | result | to a shape, by NumPy's rule | along any plan |
//! |---|---|---|
//! | the sum of an array | [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape) with `Sum` | [`gradient`](crate::BroadcastPlan::gradient) |
//! | another reduction of an array | [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape); over axes: [`reduce_axes`](crate::ReduceExt::reduce_axes) | [`reduce`](crate::BroadcastPlan::reduce) |
//! | a reduction of a map of up to six arrays | | [`zip(..).reduce`](crate::Zip::reduce) |
//!
//! The closure of a map receives the elements by value, in a tuple. The methods along a plan have
//! forms with the suffix `_into`, which write into an existing array. `gradient` and
//! `zip(..).reduce` have forms with the suffix `_accumulate`, which add to one. To add another
//! reduction of an array: `zip(&x).reduce_accumulate(&plan, reduction, &mut out, |x| x)`.
//! [`reduction`](crate::reduction) has all reductions.
//!
//! # Over axes
//!
//! [`reduce_axes`](crate::ReduceExt::reduce_axes) takes one axis or a
//! [list](crate::reduction::AxisList), as NumPy's `axis` and ONNX's `axes`. Negative axes count
//! from the end. The result does not have these axes;
//! [`reduce_axes_keepdims`](crate::ReduceExt::reduce_axes_keepdims) keeps them with size 1.
//! [`BroadcastPlan::over_axes`](crate::BroadcastPlan::over_axes) is the plan of the latter. A shape
//! is right-aligned: for a square array, `reduce_to_shape(n, Sum)` sums over axis 0.
//! [`onnx::Reduce`](crate::onnx::Reduce) takes axes as a tensor, with ONNX's attributes.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let x = array![[1., 2.], [10., 20.]];
//! assert_eq!(x.reduce_axes(-1, Sum)?, array![3., 30.]);
//! assert_eq!(x.reduce_axes_keepdims(-1, Sum)?, array![[3.], [30.]]);
//! assert_eq!(x.reduce_to_shape(2, Sum)?, array![11., 22.]);
//!
//! let rows = BroadcastPlan::over_axes(x.raw_dim(), -1)?;
//! let means = rows.reduce(&x, Mean)?;
//! assert_eq!(&x - &rows.view(&means)?, array![[-0.5, 0.5], [-5., 5.]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Map and sum in one pass
//!
//! This example has an `x` of shape `[N, C]`. It computes the gradient of the scale in `y = x *
//! scale`, and the sum of the squares of each row:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let x = array![[1_f64, 2., 3.], [4., 6., 8.]];
//! let dy = array![[1., -1., 2.], [0.5, 1., -1.]];
//!
//! let columns = BroadcastPlan::numpy(3, (2, 3))?; // [C] -> [N, C]
//! let d_scale = zip((&dy, &x)).reduce(&columns, Sum, |(dy, x)| dy * x)?;
//! assert_eq!(d_scale, array![3., 4., -2.]);
//! assert_eq!(d_scale, columns.gradient(&(&dy * &x))?);
//!
//! let rows = BroadcastPlan::numpy((2, 1), (2, 3))?; // [N, 1] -> [N, C]
//! let squares = zip(&x).reduce(&rows, Sum, |x| x * x)?;
//! assert_eq!(squares, array![[14.], [116.]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The result is that of [`gradient`](crate::BroadcastPlan::gradient) for the array of products,
//! bit for bit, because [the order of summation](crate::reduction#the-order-of-summation) is the
//! same. But no more than 16384 products are computed into an array.
//!
//! [Layer norm](super::cookbook#layer-norm), [batch norm](super::cookbook#batch-norm),
//! [softmax](super::cookbook#softmax) and the [gradients of `Sum`, `Mean` and
//! `Max`](super::cookbook#gradient-of-a-reduction) are recipes of the cookbook.
//!
//! # Maxima and positions
//!
//! A position is counted among the terms of one result:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let scores = array![[1., 5., 3.], [4., 2., 0.]];
//! let rows = BroadcastPlan::numpy((2, 1), (2, 3))?; // [N, 1] -> [N, C]
//! assert_eq!(rows.reduce(&scores, Max)?, array![[5.], [4.]]);
//! assert_eq!(rows.reduce(&scores, ArgMax)?, array![[1], [0]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! Of equal terms, it is the first; [`LastArgMax`](crate::reduction::LastArgMax) takes the last, as
//! ONNX's `select_last_index`. `ArgMax.in_type::<i64>()` gives the type of ONNX's positions.
//!
//! # Variances and norms
//!
//! | result | reduction | NumPy, torch | ONNX |
//! |---|---|---|---|
//! | variance, standard deviation | [`Var`](crate::reduction::Var), [`Std`](crate::reduction::Std) | `var`, `std` | |
//! | logarithm of the sum of exponentials | [`LogSumExp`](crate::reduction::LogSumExp) | torch `logsumexp` | `ReduceLogSumExp` |
//! | sum of the magnitudes | [`L1`](crate::reduction::L1) | `linalg.norm(ord=1)` | `ReduceL1` |
//! | root of the sum of the squares | [`L2`](crate::reduction::L2) | `linalg.norm` | `ReduceL2` |
//! | sum of the squares | [`SumSquare`](crate::reduction::SumSquare) | | `ReduceSumSquare` |
//! | logarithm of the sum | [`LogSum`](crate::reduction::LogSum) | | `ReduceLogSum` |
//! | number of terms that are not zero | [`Count`](crate::reduction::Count) | `count_nonzero` | |
//! | without the terms that are NaN | [`NanSum`](crate::reduction::NanSum), [`NanMean`](crate::reduction::NanMean) | `nansum`, `nanmean` | |
//!
//! Each reads the array once, and its [parts](super::distributed) merge to the bits of one call. A
//! variance is accurate where the mean is far from zero, and 0 where all terms are equal:
//!
//! ```
//! use ndarray::{Array2, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let x = array![[100_000_f32, 100_001., 100_003.], [-100., -100., -100.]];
//! let var = x.reduce_axes(1, Var::new())?;
//! assert_eq!(var, array![14. / 9., 0.]);
//! // Of a sample: divided by the number of terms less one.
//! assert_eq!(x.reduce_axes(1, Var::new().ddof(1))?, array![7. / 3., 0.]);
//! let one = Array2::<f32>::zeros((3, 1));
//! assert!(one.reduce_axes(1, Var::new().ddof(1)).is_err());
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # A different result
//!
//! A result that is a function of another one's is a [`Then`](crate::reduction::Then), and takes
//! its time. A reduction of your own implements [`Reduction`](crate::reduction::Reduction), which
//! says what makes it fast.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let x = array![[-1_f64, 2.], [3., -8.]];
//! let decibels = Then::new(Max, |max: f64| 20. * max.log10());
//! let rows = BroadcastPlan::over_axes((2, 2), 1)?;
//! let peaks = zip(&x).reduce(&rows, decibels, |x| x.abs())?;
//! assert!((peaks[[1, 0]] - 18.06).abs() < 0.01);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Accumulators
//!
//! A long sum in a narrow float type may lose its last terms. In a narrow integer type, it may
//! [overflow](super::types#integer-overflow). [`Sum::in_type`](crate::reduction::Sum::in_type) and
//! [`Mean::in_type`](crate::reduction::Mean::in_type) name the type in which the sum is kept and
//! the type of the result. The sum is converted to the type of the result once, at the end. A mean
//! is divided before that conversion. The conversion is that of `as`: from a float to an integer,
//! it truncates towards zero. To round instead, take the mean as a float and round it. `Product`,
//! `L1`, `L2` and `SumSquare` have no `in_type`: the closure of a map converts their terms.
//!
//! ```
//! use ndarray::{Array1, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let bytes = Array1::from_elem(1000, 255_u8);
//! assert_eq!(
//!     bytes.reduce_to_shape((), Sum.in_type::<i64, i64>())?.into_scalar(),
//!     255_000
//! );
//!
//! let pixels = array![254_u8, 255, 255]; // the mean is 254.67
//! let truncated = pixels.reduce_to_shape((), Mean.in_type::<f32, u8>())?;
//! assert_eq!(truncated.into_scalar(), 254);
//! let mean = pixels.reduce_to_shape((), Mean.in_type::<f32, f32>())?;
//! assert_eq!(mean.into_scalar().round() as u8, 255);
//!
//! let plan = BroadcastPlan::over_axes(1000, 0)?;
//! let squares = zip(&bytes).reduce(&plan, SumSquare, u64::from)?;
//! assert_eq!(squares, array![65_025_000]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! With the feature `half`, `f16` and `bf16` of the crate `half` are elements too. `Sum`, `Mean`,
//! `Product` and the gradients accumulate them in `f32` and round once, as NumPy's `mean` and torch
//! do ([`Summand`](crate::reduction::Summand), [`Averaged`](crate::reduction::Averaged)). Such a
//! sum of `bf16` values is within 0.51 units in the last place of `bf16`, if the terms have one
//! sign and there are at most 10^7 terms. `Sum.in_type::<f32, f32>()` gives the `f32` itself, and
//! [`Sum.in_own_type()`](crate::reduction::Sum::in_own_type) rounds each addition to the narrow
//! type. These two also work with the feature `num-traits` of `half` alone; the others do not
//! compile without the feature of this crate.
//!
//! The mean of integers of up to 64 bits is an integer: exact, and rounded towards zero.
//! `Mean.in_type::<f64, f64>()` is the float.
//!
//! # NaN and empty axes
//!
//! | | NaN among the terms | no terms |
//! |---|---|---|
//! | `Sum`, `Product`, `Mean` | NaN | 0, 1, NaN; the mean of integers: error |
//! | `NanSum`, `NanMean` | skipped; 0, NaN if all terms are NaN | 0, NaN |
//! | `Max`, `Min` | NaN | error, or the value of `Max.or(value)` |
//! | `NanMax`, `NanMin` | skipped; NaN if all terms are NaN | the same |
//! | `ArgMax`, `ArgMin`; `LastArgMax`, `LastArgMin` | the first NaN; the last | the same |
//! | `Var`, `Std` | NaN, also for infinity | error, also for up to `ddof` terms; NaN or infinity in NumPy |
//! | `LogSumExp`, `LogSum` | NaN | -infinity |
//! | `L1`, `L2`, `SumSquare` | NaN | 0 |
//! | `Count` | counted, as it is not zero | 0 |
//! | `All`, `Any` | | `true`, `false` |
//!
//! These results are those of NumPy, unless it says otherwise. As an integer
//! (`Mean.in_type::<f32, u8>()`) NaN is 0. The error is
//! [`TooFewTerms`](crate::ErrorKind::TooFewTerms). `Max` of `[7, 0, 0]` over axis 2 is the error,
//! though the result would have no elements: there are no terms. Of `[7, 0, 3]` it has the shape
//! `[7, 0]`.
//!
//! A product is not always that of the terms in order, as the lanes of [the
//! tree](crate::reduction#the-order-of-summation) are multiplied first. The product of a 0, of
//! 1e200 at the positions 1 and 9, and of ones is NaN, which is 0 times infinity; in the order of
//! the terms it is 0. `Fold::new(1., |a, b| a * b)` takes up to 256 of them in order.
//!
//! # Sources
//!
//! - NumPy:
//!   [`ufunc.reduce`](https://numpy.org/doc/stable/reference/generated/numpy.ufunc.reduce.html),
//!   [`argmax`](https://numpy.org/doc/stable/reference/generated/numpy.argmax.html),
//!   [`nanmax`](https://numpy.org/doc/stable/reference/generated/numpy.nanmax.html)
//! - NumPy: [`var`](https://numpy.org/doc/stable/reference/generated/numpy.var.html),
//!   [`nanmean`](https://numpy.org/doc/stable/reference/generated/numpy.nanmean.html),
//!   [`count_nonzero`](https://numpy.org/doc/stable/reference/generated/numpy.count_nonzero.html)
//! - torch: [`logsumexp`](https://docs.pytorch.org/docs/stable/generated/torch.logsumexp.html)
//! - ONNX: [`ReduceSum`](https://onnx.ai/onnx/operators/onnx__ReduceSum.html) and the other
//!   `Reduce` operators
