//! Recipes for common operations, each with the NumPy or torch line that it replaces, and its
//! gradient.
//!
//! Each recipe names the shapes of its arrays. `dy` is the cotangent: the gradient of a loss with
//! respect to the result. It has the shape of the result. The repository's tests compare every
//! gradient of this page with a loop or with finite differences.
//!
//! A closure receives the elements by value, in a tuple if there are several arrays. It maps them,
//! or what it returns is reduced:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let (x, dy) = (array![[-1_f64, 2.], [3., -4.]], array![[1., 2.], [3., 4.]]);
//! let b = array![0., 3.];
//! let max = zip((&x, &b)).map_collect(|(x, b)| if x > b { x } else { b })?;
//! assert_eq!(max, array![[0., 3.], [3., 3.]]);
//!
//! let columns = BroadcastPlan::numpy(2, (2, 2))?; // [C] -> [N, C]
//! let of_positive = zip((&dy, &x))
//!     .reduce(&columns, Sum, |(dy, x)| if x > 0. { dy } else { 0. })?;
//! assert_eq!(of_positive, array![3., 2.]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! `counting(shape)` returns an array of example data. This is its definition, which the recipes do
//! not repeat:
//!
//! ```
//! use ndarray::{Array, Array2, Dimension, ShapeBuilder};
//!
//! fn counting<D: Dimension, S>(shape: S) -> Array<f64, D>
//! where
//!     S: ShapeBuilder<Dim = D>,
//! {
//!     let mut next = 0_f64;
//!     Array::from_shape_simple_fn(shape, || {
//!         next += 1.;
//!         (next * 0.7).sin()
//!     })
//! }
//!
//! let x: Array2<f64> = counting((2, 3));
//! assert_eq!(x.shape(), [2, 3]);
//! ```
//!
//! | recipe | shapes |
//! |---|---|
//! | [Bias per channel](#bias-per-channel) | `[N, C, H, W] + [C]`, `[N, H, W, C] + [C]` |
//! | [Layer norm](#layer-norm) | `[N, C]` |
//! | [Batch norm](#batch-norm) | `[N, C, H, W]` |
//! | [Softmax](#softmax) | `[N, C]` |
//! | [Attention mask](#attention-mask) | `[B, H, Q, K]` with `[B, K]` |
//! | [Grouped-query attention](#grouped-query-attention) | `[B, H, T, D] -> [B, H * G, T, D]` |
//! | [Rotary embedding](#rotary-embedding) | `[T, H, D]` with `[T, D / 2]` |
//! | [Image normalisation](#image-normalisation) | `[H, W, 3]` of `u8` to `[3, H, W]` of `f32` |
//! | [One-hot](#one-hot) | `[N] -> [N, K]` |
//! | [Pairwise distance](#pairwise-distance) | `[N, D], [M, D] -> [N, M]` |
//! | [Up-sampling](#up-sampling) | `[N, C, H, W] -> [N, C, 2H, 2W]` |
//! | [Outer product](#outer-product) | `[B, I], [B, J] -> [B, I, J]` |
//! | [Batched matrix product](#batched-matrix-product) | `[.., M, K], [.., K, N] -> [.., M, N]` |
//! | [Gradient of a reduction](#gradient-of-a-reduction) | `[N, C] -> [N]` |
//! | [Statistics](#statistics) | `[N, C] -> [N, 1]` |
//! | [Standardised columns](#standardised-columns) | `[N, C]` |
//! | [A closure that may fail](#a-closure-that-may-fail) | any |
//! | [An unknown batch](#an-unknown-batch) | `[batch, 1] + [batch, 220]` |
//! | [Unbroadcast in autograd](#unbroadcast-in-autograd) | any |
//! | [A node of a model](#a-node-of-a-model) | ONNX, OpenVINO, StableHLO |
//!
//! The repository's example `transformer` combines layer norm, softmax, an attention mask, grouped
//! queries and rotary embedding in one block, forward and backward, and compares it with torch.
//!
//! # Bias per channel
//!
//! NumPy: `x + b[:, None, None]`. torch: `x + b.view(1, -1, 1, 1)`.
//!
//! ```
//! use ndarray::{Array1, Array4, array};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let x: Array4<f64> = counting((2, 3, 4, 5)); // [N, C, H, W]
//! let b = array![10., 20., 30.]; // [C]
//! let y = zip(broadcast_pair(&x, &b, ElementwiseRule::channel(1))?)
//!     .map_collect(|(x, b)| x + b)?;
//! assert_eq!(y[[1, 2, 3, 4]], x[[1, 2, 3, 4]] + 30.);
//!
//! // The gradient of x is dy. That of b:
//! let dy = x;
//! // [C]
//! let db: Array1<f64> =
//!     BroadcastPlan::explicit(3, dy.raw_dim(), &[1])?.gradient(&dy)?;
//! # let loss = |b: &Array1<f64>| {
//! #     let rule = ElementwiseRule::channel(1);
//! #     zip(broadcast_pair(&dy, b, rule).unwrap()).map_collect(|(dy, b)| dy * (dy + b)).unwrap().sum()
//! # };
//! # assert!(close(&db, &numeric(&b, loss)));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! `zip` does not know which axis has the channels: it aligns `b` with the last axis, as NumPy
//! does. If `W` equals `C`, it returns a wrong result and no error. The rule `channel` names the
//! axis:
//!
//! ```
//! use ndarray::{Array4, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let x = Array4::<f64>::zeros((2, 3, 4, 3)); // [N, C, H, W] with W = C
//! let b = array![10., 20., 30.]; // [C]
//! let wrong = zip((&x, &b)).map_collect(|(x, b)| x + b)?; // added along W
//! assert_eq!(wrong[[0, 0, 0, 2]], 30.);
//! let right = zip(broadcast_pair(&x, &b, ElementwiseRule::channel(1))?)
//!     .map_collect(|(x, b)| x + b)?;
//! assert_eq!(right[[0, 0, 0, 2]], 10.);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! With the channels last, NumPy's rule is enough. NumPy: `x + b`.
//!
//! ```
//! use ndarray::{Array1, Array4, array};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let mut x: Array4<f64> = counting((2, 4, 5, 3)); // [N, H, W, C]
//! let b = array![10., 20., 30.]; // [C]
//! let y = zip((&x, &b)).map_collect(|(x, b)| x + b)?;
//! zip(&b).update(&mut x, |x, b| *x += b)?; // the same in place
//! assert_eq!(x, y);
//!
//! let dy: Array4<f64> = counting((2, 4, 5, 3));
//! let db = dy.reduce_to_shape(3, Sum)?; // [C]
//! # assert!(close(&db, &numeric(&b, |b| (&dy * &(&y + b)).sum())));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Layer norm
//!
//! torch: `F.layer_norm(x, [C], scale, shift)`.
//!
//! ```
//! use ndarray::{Array1, Array2};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let x: Array2<f64> = counting((2, 3)); // [N, C]
//! // [C]
//! let (scale, shift): (Array1<f64>, Array1<f64>) = (counting(3), counting(3));
//! let rows = BroadcastPlan::numpy((2, 1), (2, 3))?; // [N, 1] -> [N, C]
//!
//! // The normalised rows, and 1 / deviation [N, 1].
//! let normalise = |x: &Array2<f64>| {
//!     let mean = rows.reduce(x, Mean)?;
//!     let variance =
//!         zip((x, &mean)).reduce(&rows, Mean, |(x, mean)| (x - mean).powi(2))?;
//!     let r = variance.mapv(|variance| 1. / (variance + 1e-5).sqrt());
//!     let z = zip((x, &mean, &r)).map_collect(|(x, mean, r)| (x - mean) * r)?;
//!     Ok::<_, BroadcastError>((z, r))
//! };
//! let (z, r) = normalise(&x)?;
//! // [N, C]
//! let y = zip((&z, &scale, &shift))
//!     .map_collect(|(z, scale, shift)| z * scale + shift)?;
//!
//! let dy: Array2<f64> = counting((2, 3));
//! let columns = BroadcastPlan::numpy(3, (2, 3))?; // [C] -> [N, C]
//! let d_shift = columns.gradient(&dy)?; // [C]
//! let d_scale = zip((&dy, &z)).reduce(&columns, Sum, |(dy, z)| dy * z)?; // [C]
//! // [N, 1]
//! let m = zip((&dy, &scale)).reduce(&rows, Mean, |(dy, scale)| dy * scale)?;
//! let m_z = zip((&dy, &scale, &z))
//!     .reduce(&rows, Mean, |(dy, scale, z)| dy * scale * z)?;
//! let dx = zip((&dy, &scale, &z, &r, &m, &m_z))
//!     .map_collect(|(dy, scale, z, r, m, m_z)| r * (dy * scale - m - z * m_z))?;
//! # assert_eq!(y, &z * &scale + &shift);
//! # let loss = |x: &Array2<f64>, scale: &Array1<f64>, shift: &Array1<f64>| {
//! #     (&dy * (normalise(x).unwrap().0 * scale + shift)).sum()
//! # };
//! # assert!(close(&dx, &numeric(&x, |x| loss(x, &scale, &shift))));
//! # assert!(close(&d_scale, &numeric(&scale, |scale| loss(&x, scale, &shift))));
//! # assert!(close(&d_shift, &numeric(&shift, |shift| loss(&x, &scale, shift))));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! For `[B, T, C]`, only the shapes of the plans change. Here the target of both plans is the shape
//! of `x`:
//!
//! ```
//! use ndarray::Array3;
//! use ndarray_broadcast::prelude::*;
//!
//! let x = Array3::from_shape_fn((2, 4, 3), |(b, t, c)| (b + t * c) as f64);
//! let (b, t, c) = x.dim();
//! // [B, T, 1] -> [B, T, C]
//! let rows = BroadcastPlan::numpy((b, t, 1), x.raw_dim())?;
//! let columns = BroadcastPlan::numpy(c, x.raw_dim())?; // [C] -> [B, T, C]
//!
//! let mean = rows.reduce(&x, Mean)?; // [B, T, 1]
//! assert_eq!(mean[[1, 3, 0]], 4.);
//! let d_shift = columns.gradient(&x)?; // [C], for dy = x
//! assert_eq!(d_shift[0], 4.);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Batch norm
//!
//! torch: `F.batch_norm(x, None, None, scale, shift, training=True)`. The code is that of layer
//! norm with another plan: the statistics have one value per channel.
//!
//! The variance alone, as for running statistics, is one pass:
//!
//! ```
//! use ndarray::Array4;
//! use ndarray_broadcast::prelude::*;
//!
//! let x = Array4::from_shape_fn((2, 3, 2, 2), |(n, c, h, w)| {
//!     (n + c * (h + w)) as f64
//! });
//! let variance = x.reduce_to_shape((3, 1, 1), Var::new())?; // [C, 1, 1]
//! assert_eq!(variance[[0, 0, 0]], 0.25);
//! assert_eq!(variance[[1, 0, 0]], 0.75);
//! // torch's running_var.
//! let unbiased = x.reduce_to_shape((3, 1, 1), Var::new().ddof(1))?;
//! assert_eq!(unbiased[[1, 0, 0]], 0.75 * 8. / 7.);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The recipe:
//!
//! ```
//! use ndarray::{Array1, Array4};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let x: Array4<f64> = counting((2, 3, 2, 2)); // [N, C, H, W]
//! // [C]
//! let (scale, shift): (Array1<f64>, Array1<f64>) = (counting(3), counting(3));
//! // [C] -> [N, C, H, W]
//! let channels = BroadcastPlan::explicit(3, x.raw_dim(), &[1])?;
//!
//! let normalise = |x: &Array4<f64>| {
//!     let mean = channels.reduce(x, Mean)?; // [C]
//!     let means = channels.view(&mean)?; // [N, C, H, W], not copied
//!     let variance = zip((x, &means))
//!         .reduce(&channels, Mean, |(x, mean)| (x - mean).powi(2))?;
//!     let r = variance.mapv(|variance| 1. / (variance + 1e-5).sqrt());
//!     let z = zip((x, means, channels.view(&r)?))
//!         .map_collect(|(x, mean, r)| (x - mean) * r)?;
//!     Ok::<_, BroadcastError>((z, r))
//! };
//! let (z, r) = normalise(&x)?;
//! let y = zip((&z, channels.view(&scale)?, channels.view(&shift)?))
//!     .map_collect(|(z, scale, shift)| z * scale + shift)?;
//!
//! let dy: Array4<f64> = counting((2, 3, 2, 2));
//! let d_shift = channels.gradient(&dy)?; // [C]
//! let d_scale = zip((&dy, &z)).reduce(&channels, Sum, |(dy, z)| dy * z)?; // [C]
//! let mean_dy = channels.reduce(&dy, Mean)?;
//! let mean_dy_z = zip((&dy, &z)).reduce(&channels, Mean, |(dy, z)| dy * z)?;
//! let per_channel = &r * &scale; // [C]
//! let [m, m_z, s] =
//!     [&mean_dy, &mean_dy_z, &per_channel].map(|a| channels.view(a));
//! let dx = zip((&dy, &z, m?, m_z?, s?))
//!     .map_collect(|(dy, z, m, m_z, s)| s * (dy - m - z * m_z))?;
//! # assert_eq!(y.shape(), [2, 3, 2, 2]);
//! # let loss = |x: &Array4<f64>, scale: &Array1<f64>, shift: &Array1<f64>| {
//! #     let (scale, shift) = (channels.view(scale).unwrap(), channels.view(shift).unwrap());
//! #     (&dy * (normalise(x).unwrap().0 * scale + shift)).sum()
//! # };
//! # assert!(close(&dx, &numeric(&x, |x| loss(x, &scale, &shift))));
//! # assert!(close(&d_scale, &numeric(&scale, |scale| loss(&x, scale, &shift))));
//! # assert!(close(&d_shift, &numeric(&shift, |shift| loss(&x, &scale, shift))));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Softmax
//!
//! torch: `x.softmax(-1)`. A row of `-inf` gives NaN, as in torch. `x.log_softmax(-1)` is the
//! difference to [`LogSumExp`](crate::reduction::LogSumExp).
//!
//! ```
//! use ndarray::Array2;
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let x: Array2<f64> = counting((2, 3)); // [N, C]
//! let rows = BroadcastPlan::numpy((2, 1), (2, 3))?; // [N, 1] -> [N, C]
//! let softmax = |x: &Array2<f64>| {
//!     let max = rows.reduce(x, Max)?;
//!     let sum = zip((x, &max)).reduce(&rows, Sum, |(x, max)| (x - max).exp())?;
//!     zip((x, &max, &sum)).map_collect(|(x, max, sum)| (x - max).exp() / sum)
//! };
//! let y = softmax(&x)?; // [N, C]
//! assert!((y.row(0).sum() - 1.).abs() < 1e-12);
//! let nothing = Array2::from_elem((2, 3), f64::NEG_INFINITY);
//! assert!(softmax(&nothing)?[[0, 0]].is_nan());
//!
//! // The logarithms, and the loss of the targets: `F.cross_entropy(x, targets)`.
//! let sums = rows.reduce(&x, LogSumExp)?;
//! let logarithms = zip((&x, &sums)).map_collect(|(x, sum)| x - sum)?;
//! assert!((logarithms[[1, 2]] - y[[1, 2]].ln()).abs() < 1e-12);
//! let loss = -(logarithms[[0, 2]] + logarithms[[1, 0]]) / 2.; // targets 2 and 0
//! assert!(loss > 0.);
//!
//! let dy: Array2<f64> = counting((2, 3));
//! let sum = zip((&dy, &y)).reduce(&rows, Sum, |(dy, y)| dy * y)?; // [N, 1]
//! let dx = zip((&dy, &y, &sum)).map_collect(|(dy, y, sum)| y * (dy - sum))?;
//! # assert!(close(&dx, &numeric(&x, |x| (&dy * &softmax(x).unwrap()).sum())));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Attention mask
//!
//! NumPy: `np.where(keep[:, None, None, :], scores, -np.inf)`.
//!
//! ```
//! use ndarray::{Array2, Array4, array};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let scores: Array4<f64> = counting((2, 2, 3, 3)); // [B, H, Q, K]
//! let keep = array![[true, true, true], [true, true, false]]; // [B, K]
//! // [B, H, Q, K], not copied
//! let keep = keep.broadcast_explicit(scores.raw_dim(), &[0, 3])?;
//! let masked = zip((&scores, keep))
//!     .map_collect(|(s, keep)| if keep { s } else { f64::NEG_INFINITY })?;
//! assert_eq!(masked[[1, 0, 0, 2]], f64::NEG_INFINITY);
//!
//! let dy: Array4<f64> = counting((2, 2, 3, 3));
//! let d_scores =
//!     zip((&dy, keep)).map_collect(|(dy, keep)| if keep { dy } else { 0. })?;
//! # for (index, &d) in d_scores.indexed_iter() {
//! #     assert_eq!(d, if index.0 == 1 && index.3 == 2 { 0. } else { dy[index] });
//! # }
//!
//! // A causal mask needs no array [Q, K].
//! // NumPy: np.where(np.tri(3), scores, -np.inf).
//! let (q, k) = (array![[0], [1], [2]], array![0, 1, 2]);
//! let causal = zip((&scores, &q, &k))
//!     .map_collect(|(s, q, k)| if k <= q { s } else { f64::NEG_INFINITY })?;
//! assert_eq!(causal[[0, 0, 1, 2]], f64::NEG_INFINITY);
//! assert_eq!(causal[[0, 0, 2, 2]], scores[[0, 0, 2, 2]]);
//!
//! // A mask [Q, K] that is an array.
//! let mask = Array2::from_shape_fn((3, 3), |(q, k)| k <= q); // [Q, K]
//! let same = zip((&scores, &mask))
//!     .map_collect(|(s, keep)| if keep { s } else { f64::NEG_INFINITY })?;
//! assert_eq!(same, causal);
//!
//! // A bias [H, Q, K] that is added to every batch: its gradient.
//! let d_bias = dy.reduce_to_shape((2, 3, 3), Sum)?;
//! # assert!(close(&d_bias, &dy.sum_axis(ndarray::Axis(0))));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Grouped-query attention
//!
//! torch: `k.repeat_interleave(3, dim=1)`. Each of the `H` key heads serves a group of `G` query
//! heads. Here `H` is 2 and `G` is 3. In the view, the group is an axis of its own. A kernel that
//! takes strides can use the view, without the copy `repeated`.
//!
//! ```
//! use ndarray::Array4;
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let k: Array4<f64> = counting((1, 2, 4, 5)); // [B, H, T, D]
//! let wide = (1, 2, 3, 4, 5); // [B, H, G, T, D]
//! let groups = BroadcastPlan::explicit(k.raw_dim(), wide, &[0, 1, 3, 4])?;
//! let view = groups.view(&k)?; // [B, H, G, T, D], not copied
//! // [B, H * G, T, D]
//! let repeated = view.materialize()?.into_shape_with_order((1, 6, 4, 5)).unwrap();
//! # for h in 0..6 {
//! #     use ndarray::Axis;
//! #     assert_eq!(repeated.index_axis(Axis(1), h), k.index_axis(Axis(1), h / 3));
//! # }
//!
//! let dy: Array4<f64> = counting((1, 6, 4, 5)); // [B, H * G, T, D]
//! let dy = dy.into_shape_with_order(wide).unwrap(); // [B, H, G, T, D]
//! let dk = groups.gradient(&dy)?; // [B, H, T, D]
//! # let dy: Array4<f64> = counting((1, 6, 4, 5));
//! # let mut slow = Array4::zeros(k.raw_dim());
//! # for ((b, h, t, d), dy) in dy.indexed_iter() {
//! #     slow[[b, h / 3, t, d]] += dy;
//! # }
//! # assert!(close(&dk, &slow));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Rotary embedding
//!
//! NumPy: `np.concatenate([x1 * cos - x2 * sin, x1 * sin + x2 * cos], -1)`. The recipe makes one
//! pass over `x` and allocates one array:
//!
//! ```
//! use ndarray::{Array2, Array3, Axis};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let x: Array3<f64> = counting((2, 3, 4)); // [T, H, D]
//! let angle: Array2<f64> = counting((2, 2)); // [T, D / 2]
//! let (cos, sin) = (angle.mapv(f64::cos), angle.mapv(f64::sin));
//!
//! // `turn` is 1 for the embedding and -1 for its inverse.
//! let rotate = |x: &Array3<f64>, turn: f64| {
//!     let (cos, sin) = (
//!         // [T, H, D / 2], not copied
//!         cos.broadcast_explicit((2, 3, 2), &[0, 2])?,
//!         sin.broadcast_explicit((2, 3, 2), &[0, 2])?,
//!     );
//!     let mut y = Array3::zeros(x.raw_dim());
//!     let (x1, x2) = x.view().split_at(Axis(2), 2);
//!     let (mut y1, mut y2) = y.view_mut().split_at(Axis(2), 2);
//!     zip((x1, x2, cos, sin)).map_assign_into_two(
//!         &mut y1,
//!         &mut y2,
//!         |(x1, x2, cos, sin)| {
//!             (x1 * cos - turn * x2 * sin, turn * x1 * sin + x2 * cos)
//!         },
//!     )?;
//!     Ok::<_, BroadcastError>(y)
//! };
//! let y = rotate(&x, 1.)?;
//!
//! // The transpose of a rotation is its inverse.
//! let dy: Array3<f64> = counting((2, 3, 4));
//! let dx = rotate(&dy, -1.)?;
//! # assert!(close(&dx, &numeric(&x, |x| (&dy * &rotate(x, 1.).unwrap()).sum())));
//! # assert!(close(&rotate(&y, -1.)?, &x));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Image normalisation
//!
//! torchvision: `Normalize(mean, std)(ToTensor()(image))`. The recipe converts, transposes and
//! normalises in one pass. A new array [keeps the order of its operands in
//! memory](crate::Zip#the-order-of-new-arrays): `y` is `[3, H, W]` over HWC memory.
//! `map_assign_into` writes CHW memory.
//!
//! ```
//! use ndarray::{Array3, array};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! // [H, W, 3]
//! let image =
//!     Array3::from_shape_fn((4, 5, 3), |(h, w, c)| (40 * c + 8 * h + w) as u8);
//! // [3]
//! let (mean, std) = (array![0.485, 0.456, 0.406], array![0.229, 0.224, 0.225]);
//! let channels = BroadcastPlan::explicit(3, (3, 4, 5), &[0])?; // [3] -> [3, H, W]
//! let chw = image.view().permuted_axes([2, 0, 1]); // [3, H, W], not copied
//! let y = zip((chw, channels.view(&mean)?, channels.view(&std)?)) // [3, H, W]
//!     .map_collect(|(x, mean, std)| (f64::from(x) / 255. - mean) / std)?;
//! assert!((y[[2, 3, 4]] - (108. / 255. - 0.406) / 0.225).abs() < 1e-12);
//! assert_eq!(y.strides(), [1, 15, 3]);
//!
//! let mut planes = Array3::zeros((3, 4, 5)); // in CHW memory
//! zip((chw, channels.view(&mean)?, channels.view(&std)?))
//!     .map_assign_into(&mut planes, |(x, mean, std)| {
//!         (f64::from(x) / 255. - mean) / std
//!     })?;
//! assert_eq!(planes, y);
//!
//! // If mean and std are learned:
//! let dy: Array3<f64> = counting((3, 4, 5));
//! let stds = channels.view(&std)?;
//! // [3]
//! let d_mean = zip((&dy, &stds)).reduce(&channels, Sum, |(dy, std)| -dy / std)?;
//! let d_std = zip((&dy, &y, &stds))
//!     .reduce(&channels, Sum, |(dy, y, std)| -dy * y / std)?;
//! # let loss = |mean: &ndarray::Array1<f64>, std: &ndarray::Array1<f64>| {
//! #     let y = zip((chw, channels.view(mean).unwrap(), channels.view(std).unwrap()))
//! #         .map_collect(|(x, mean, std)| (f64::from(x) / 255. - mean) / std).unwrap();
//! #     (&dy * &y).sum()
//! # };
//! # let near = |a: &ndarray::Array1<f64>, b: &ndarray::Array1<f64>| {
//! #     a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
//! # };
//! # assert!(near(&d_mean, &numeric(&mean, |mean| loss(mean, &std))));
//! # assert!(near(&d_std, &numeric(&std, |std| loss(&mean, std))));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # One-hot
//!
//! NumPy: `np.eye(k)[labels]`. torch: `F.one_hot(labels, k)`. A label outside `0..K` gives a row of
//! zeros, and no error.
//!
//! ```
//! use ndarray::{Array1, Array2, Axis, array};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let labels = array![2, 0]; // [N]
//! let classes = Array1::from_iter(0..3); // [K]
//! let column = labels.view().insert_axis(Axis(1)); // [N, 1]
//! // [N, K]
//! let one_hot = zip((&column, &classes))
//!     .map_collect(|(label, class)| f64::from(label == class))?;
//! assert_eq!(one_hot, array![[0., 0., 1.], [1., 0., 0.]]);
//! let outside = zip((&array![[3]], &classes))
//!     .map_collect(|(label, class)| label == class)?;
//! assert_eq!(outside, array![[false, false, false]]);
//!
//! // The score of each label, y = (scores * one_hot).sum(1), and the gradient of
//! // the scores.
//! let scores: Array2<f64> = counting((2, 3)); // [N, K]
//! let rows = BroadcastPlan::explicit(2, (2, 3), &[0])?; // [N] -> [N, K]
//! let y = zip((&scores, &one_hot)).reduce(&rows, Sum, |(s, hot)| s * hot)?; // [N]
//! assert_eq!(y, array![scores[[0, 2]], scores[[1, 0]]]);
//! let dy = array![10., 20.]; // [N]
//! // [N, K]
//! let d_scores =
//!     zip((rows.view(&dy)?, &one_hot)).map_collect(|(dy, hot)| dy * hot)?;
//! assert_eq!(d_scores, array![[0., 0., 10.], [20., 0., 0.]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Pairwise distance
//!
//! NumPy: `((a[:, None] - b[None]) ** 2).sum(-1)`. No array `[N, M, D]` of more than 16384
//! elements is built:
//!
//! ```
//! use ndarray::Array2;
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let a: Array2<f64> = counting((2, 4)); // [N, D]
//! let b: Array2<f64> = counting((3, 4)); // [M, D]
//! // [N, D] -> [N, M, D]
//! let of_a = BroadcastPlan::explicit((2, 4), (2, 3, 4), &[0, 2])?;
//! // [M, D] -> [N, M, D]
//! let of_b = BroadcastPlan::explicit((3, 4), (2, 3, 4), &[1, 2])?;
//! // [N, M] -> [N, M, D]
//! let of_y = BroadcastPlan::explicit((2, 3), (2, 3, 4), &[0, 1])?;
//! let (wide_a, wide_b) = (of_a.view(&a)?, of_b.view(&b)?);
//! // [N, M]
//! let y = zip((&wide_a, &wide_b)).reduce(&of_y, Sum, |(a, b)| (a - b).powi(2))?;
//!
//! let dy: Array2<f64> = counting((2, 3)); // [N, M]
//! let wide_dy = of_y.view(&dy)?;
//! let operands = (&wide_dy, &wide_a, &wide_b);
//! // [N, D] and [M, D]
//! let da = zip(operands).reduce(&of_a, Sum, |(dy, a, b)| 2. * dy * (a - b))?;
//! let db = zip(operands).reduce(&of_b, Sum, |(dy, a, b)| 2. * dy * (b - a))?;
//! # let loss = |a: &Array2<f64>, b: &Array2<f64>| {
//! #     let mut sum = 0.;
//! #     for ((n, m), dy) in dy.indexed_iter() {
//! #         for d in 0..4 {
//! #             sum += dy * (a[[n, d]] - b[[m, d]]).powi(2);
//! #         }
//! #     }
//! #     sum
//! # };
//! # assert!(((&y * &dy).sum() - loss(&a, &b)).abs() < 1e-12);
//! # assert!(close(&da, &numeric(&a, |a| loss(a, &b))));
//! # assert!(close(&db, &numeric(&b, |b| loss(&a, b))));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Up-sampling
//!
//! NumPy: `x.repeat(2, axis=2).repeat(2, axis=3)`. torch: `F.interpolate(x, scale_factor=2)`. Each
//! new axis follows the axis that it repeats:
//!
//! ```
//! use ndarray::Array4;
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let x: Array4<f64> = counting((1, 2, 3, 4)); // [N, C, H, W]
//! let twice =
//!     BroadcastPlan::explicit(x.raw_dim(), (1, 2, 3, 2, 4, 2), &[0, 1, 2, 4])?;
//! // [N, C, 2H, 2W]
//! let y =
//!     twice.view(&x)?.materialize()?.into_shape_with_order((1, 2, 6, 8)).unwrap();
//! assert_eq!(y[[0, 1, 5, 6]], x[[0, 1, 2, 3]]);
//!
//! let dy: Array4<f64> = counting((1, 2, 6, 8));
//! let by_axes = dy.to_shape((1, 2, 3, 2, 4, 2)).unwrap();
//! let dx = twice.gradient(&by_axes)?; // [N, C, H, W]
//! # let mut slow = Array4::zeros(x.raw_dim());
//! # for ((n, c, h, w), dy) in dy.indexed_iter() {
//! #     slow[[n, c, h / 2, w / 2]] += dy;
//! # }
//! # assert!(close(&dx, &slow));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Outer product
//!
//! NumPy: `np.einsum("bi,bj->bij", a, b)`. The views `wide_a` and `wide_b` correspond to those of
//! NumPy's `meshgrid`. By NumPy's rule, [`broadcast_arrays`](crate::broadcast_arrays) returns such
//! views.
//!
//! ```
//! use ndarray::{Array2, Array3};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let a: Array2<f64> = counting((2, 3)); // [B, I]
//! let b: Array2<f64> = counting((2, 4)); // [B, J]
//! let of_a = BroadcastPlan::explicit((2, 3), (2, 3, 4), &[0, 1])?;
//! let of_b = BroadcastPlan::explicit((2, 4), (2, 3, 4), &[0, 2])?;
//! let (wide_a, wide_b) = (of_a.view(&a)?, of_b.view(&b)?);
//! let y = zip((&wide_a, &wide_b)).map_collect(|(a, b)| a * b)?; // [B, I, J]
//! assert_eq!(y[[1, 2, 3]], a[[1, 2]] * b[[1, 3]]);
//!
//! let dy: Array3<f64> = counting((2, 3, 4));
//! let da = zip((&dy, &wide_b)).reduce(&of_a, Sum, |(dy, b)| dy * b)?; // [B, I]
//! let db = zip((&dy, &wide_a)).reduce(&of_b, Sum, |(dy, a)| dy * a)?; // [B, J]
//! # let loss = |a: &Array2<f64>, b: &Array2<f64>| {
//! #     dy.indexed_iter().map(|((n, i, j), dy)| dy * a[[n, i]] * b[[n, j]]).sum::<f64>()
//! # };
//! # assert!(close(&da, &numeric(&a, |a| loss(a, &b))));
//! # assert!(close(&db, &numeric(&b, |b| loss(&a, b))));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Batched matrix product
//!
//! NumPy: `np.matmul(a, b)`. ONNX: `MatMul`. The leading axes are broadcast with each other. Both
//! operands have at least two axes.
//!
//! ```
//! use ndarray::{Array3, ArrayD, ArrayView2, ArrayViewD, Axis, Dimension, IxDyn};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! /// The matrix of one batch index.
//! fn matrix<'a>(a: &ArrayViewD<'a, f64>, batch: &IxDyn) -> ArrayView2<'a, f64> {
//!     let axes = batch.slice().iter();
//!     let a = axes.fold(a.clone(), |a, &i| a.index_axis_move(Axis(0), i));
//!     a.into_dimensionality().unwrap()
//! }
//!
//! fn matmul(
//!     a: &ArrayD<f64>,
//!     b: &ArrayD<f64>,
//! ) -> Result<ArrayD<f64>, BroadcastError> {
//!     let (batch_a, size_a) = a.shape().split_at(a.ndim() - 2);
//!     let (batch_b, size_b) = b.shape().split_at(b.ndim() - 2);
//!     let batch = broadcast_shapes(&[batch_a, batch_b])?;
//!     // [.., M, K] and [.., K, N], not copied
//!     let a = a.broadcast_numpy([&batch[..], size_a].concat())?;
//!     let b = b.broadcast_numpy([&batch[..], size_b].concat())?;
//!     let sizes = [size_a[0], size_b[1]];
//!     let mut y = Array3::zeros((batch.iter().product(), sizes[0], sizes[1]));
//!     for (mut y, at) in y.outer_iter_mut().zip(ndarray::indices(&batch[..])) {
//!         y.assign(&matrix(&a, &at).dot(&matrix(&b, &at)));
//!     }
//!     Ok(y.into_shape_with_order([&batch[..], &sizes].concat()).unwrap())
//! }
//!
//! let a = counting(IxDyn(&[2, 1, 3, 4])); // [.., M, K]
//! let b = counting(IxDyn(&[5, 4, 2])); // [.., K, N]
//! let y = matmul(&a, &b)?;
//! assert_eq!(y.shape(), [2, 5, 3, 2]);
//!
//! // Products with the transposed operands, summed over the broadcast axes.
//! let transposed = |a: &ArrayD<f64>| {
//!     let mut a = a.clone();
//!     a.swap_axes(a.ndim() - 2, a.ndim() - 1);
//!     a
//! };
//! let dy = counting(IxDyn(&[2, 5, 3, 2]));
//! let da = matmul(&dy, &transposed(&b))?.reduce_to_shape(a.shape(), Sum)?;
//! let db = matmul(&transposed(&a), &dy)?.reduce_to_shape(b.shape(), Sum)?;
//! # for ((i, j), (m, n)) in [((0, 0), (0, 0)), ((1, 3), (2, 1)), ((1, 4), (0, 1))] {
//! #     let sum: f64 = (0..4).map(|k| a[[i, 0, m, k]] * b[[j, k, n]]).sum();
//! #     assert!((y[[i, j, m, n]] - sum).abs() < 1e-12);
//! # }
//! # assert!(close(&da, &numeric(&a, |a| (&dy * &matmul(a, &b).unwrap()).sum())));
//! # assert!(close(&db, &numeric(&b, |b| (&dy * &matmul(&a, b).unwrap()).sum())));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! `dot` panics if the two sizes `K` differ.
//!
//! # Gradient of a reduction
//!
//! torch: the backward pass of `x.sum(1)`, `x.mean(1)` and `x.amax(1)`. The plan that reduces also
//! broadcasts `dy` back.
//!
//! ```
//! use ndarray::{Array1, Array2, array};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let x: Array2<f64> = counting((2, 3)); // [N, C]
//! let dy: Array1<f64> = counting(2); // [N]
//! let rows = BroadcastPlan::explicit(2, (2, 3), &[0])?; // [N] -> [N, C]
//! let wide_dy = rows.view(&dy)?; // [N, C], not copied
//!
//! // y = rows.reduce(&x, Sum)?
//! let dx_of_sum = wide_dy; // [N, C]
//!
//! // y = rows.reduce(&x, Mean)?
//! let terms = (x.len() / dy.len()) as f64; // C
//! let dx_of_mean = wide_dy.mapv(|dy| dy / terms); // [N, C]
//!
//! // y = rows.reduce(&x, Max)?. Terms that are equal to the maximum share dy.
//! let dx_of_max = |x: &Array2<f64>| {
//!     let max = rows.reduce(x, Max)?; // [N]
//!     let max = rows.view(&max)?;
//!     // [N]
//!     let n = zip((x, &max)).reduce(&rows, Sum, |(x, m)| f64::from(x == m))?;
//!     zip((x, max, wide_dy, rows.view(&n)?))
//!         .map_collect(|(x, m, dy, n)| if x == m { dy / n } else { 0. })
//! };
//! let ties = array![[1., 7., 7.], [2., 3., 1.]];
//! assert_eq!(
//!     dx_of_max(&ties)?,
//!     array![[0., dy[0] / 2., dy[0] / 2.], [0., dy[1], 0.]]
//! );
//! # let sum = |x: &Array2<f64>| (&dy * &rows.reduce(x, Sum).unwrap()).sum();
//! # let mean = |x: &Array2<f64>| (&dy * &rows.reduce(x, Mean).unwrap()).sum();
//! # let max = |x: &Array2<f64>| (&dy * &rows.reduce(x, Max).unwrap()).sum();
//! # assert!(close(&dx_of_sum.to_owned(), &numeric(&x, sum)));
//! # assert!(close(&dx_of_mean, &numeric(&x, mean)));
//! # assert!(close(&dx_of_max(&x)?, &numeric(&x, max)));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Statistics
//!
//! Each line replaces the one of NumPy, torch or ONNX that stands above it.
//!
//! ```
//! use ndarray::{Array2, array};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! let nan = f64::NAN;
//! let x = array![[1., nan, 3., 3.], [0., -4., 0., 2.]]; // [N, C]
//! let rows = -1; // results are [N]
//!
//! // np.nansum(x, -1), np.nanmean(x, -1), np.count_nonzero(x, -1)
//! assert_eq!(x.reduce_axes(rows, NanSum)?, array![7., -2.]);
//! assert_eq!(x.reduce_axes(rows, NanMean)?, array![7. / 3., -0.5]);
//! assert_eq!(x.reduce_axes(rows, Count)?, array![4, 2]);
//! // np.isnan(x).any(-1, keepdims=True): it stops early.
//! let plan = BroadcastPlan::over_axes(x.raw_dim(), rows)?;
//! let any = zip(&x).reduce(&plan, Any, |x| x.is_nan())?;
//! assert_eq!(any, array![[true], [false]]);
//! // np.linalg.norm(y, 1, 1), np.linalg.norm(y, axis=1); ReduceL1, ReduceL2
//! let y = array![[3_f64, -4.]];
//! assert_eq!(y.reduce_axes(rows, L1)?, array![7.]);
//! assert_eq!(y.reduce_axes(rows, L2)?, array![5.]);
//! // ONNX ArgMax with select_last_index, whose results are i64
//! let last = array![[1, 5], [2, 10], [3, 3]];
//! let last = last.reduce_axes(rows, LastArgMax.in_type::<i64>())?;
//! assert_eq!(last, array![1, 1, 1]);
//! // np.max(y, 1, initial=-np.inf); ONNX ReduceMax of an empty set
//! let none = Array2::<f64>::zeros((1, 0));
//! let max = none.reduce_axes(rows, Max.or(f64::NEG_INFINITY))?;
//! assert_eq!(max, array![f64::NEG_INFINITY]);
//! // The exact mean of 64-bit integers; as a float: np.mean
//! let large = array![[u64::MAX, u64::MAX - 2]];
//! assert_eq!(large.reduce_axes(rows, Mean)?, array![u64::MAX - 1]);
//! let mean = array![[1, 2]].reduce_axes(rows, Mean.in_type::<f64, f64>())?;
//! assert_eq!(mean, array![1.5]);
//! // np.sum(x, -1, dtype=object): elements that are Clone, as big integers are
//! let big = array![[1_u128 << 100, 1]];
//! assert_eq!(big.sum_to_shape_cloned((1, 1))?, array![[(1 << 100) + 1]]);
//!
//! // The gradients of var = x.var(1) and sum = x.logsumexp(1).
//! let x: Array2<f64> = counting((2, 3));
//! let plan = BroadcastPlan::numpy((2, 1), (2, 3))?; // [N, 1] -> [N, C]
//! let dy = array![[1.], [2.]]; // [N, 1]
//! let mean = plan.reduce(&x, Mean)?;
//! let dx_of_var = zip((&x, &mean, &dy))
//!     .map_collect(|(x, mean, dy)| dy * (x - mean) * 2. / 3.)?;
//! let sum = plan.reduce(&x, LogSumExp)?;
//! let dx_of_sum =
//!     zip((&x, &sum, &dy)).map_collect(|(x, sum, dy)| dy * (x - sum).exp())?;
//! # let var = |x: &Array2<f64>| (&dy * &plan.reduce(x, Var::new()).unwrap()).sum();
//! # let sum = |x: &Array2<f64>| (&dy * &plan.reduce(x, LogSumExp).unwrap()).sum();
//! # assert!(close(&dx_of_var, &numeric(&x, var)));
//! # assert!(close(&dx_of_sum, &numeric(&x, sum)));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Standardised columns
//!
//! `x` is `[N, C]`. NumPy: `(x - x.mean(0)) / x.std(0)`. torch's `x.std(0)` is `Std::new().ddof(1)`
//! here.
//!
//! ```
//! use ndarray::{Array2, array};
//! use ndarray_broadcast::prelude::*;
//!
//! fn standardise(x: &Array2<f64>) -> Result<Array2<f64>, BroadcastError> {
//!     let mean = x.reduce_axes(0, Mean)?; // [C]
//!     let std = x.reduce_axes(0, Std::new())?; // [C]
//!     zip((x, &mean, &std)).map_collect(|(x, mean, std)| (x - mean) / std)
//! }
//!
//! let z = standardise(&array![[1., 10.], [3., 30.]])?;
//! assert_eq!(z, array![[-1., -1.], [1., 1.]]);
//! let sample = array![[1., 10.], [3., 30.]].reduce_axes(0, Std::new().ddof(1))?;
//! assert_eq!(sample, array![2_f64.sqrt(), 200_f64.sqrt()]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The gradient is that of [layer norm](#layer-norm), along the other axis.
//!
//! # A closure that may fail
//!
//! NumPy has `with np.errstate(divide="raise"): a // b`. `try_map_collect` returns the closure's
//! error, of the element with one that is first in memory, whatever the number of threads. Errors
//! of the broadcast are converted to the same type.
//!
//! ```
//! use ndarray::{Array2, array};
//! use ndarray_broadcast::prelude::*;
//!
//! #[derive(Debug, PartialEq)]
//! enum Failure {
//!     Quotient(i32, i32),
//!     Shapes(BroadcastError),
//! }
//!
//! impl From<BroadcastError> for Failure {
//!     fn from(error: BroadcastError) -> Self {
//!         Failure::Shapes(error)
//!     }
//! }
//!
//! let divided =
//!     |(a, b): (i32, i32)| a.checked_div(b).ok_or(Failure::Quotient(a, b));
//! let a = array![[6, 7], [8, 9]]; // [N, C]
//! let quotients: Array2<i32> =
//!     zip((&a, &array![2, 3])).try_map_collect(divided)?; // [C]
//! assert_eq!(quotients, array![[3, 2], [4, 3]]);
//! assert_eq!(
//!     zip((&a, &array![2, 0])).try_map_collect(divided),
//!     Err(Failure::Quotient(7, 0))
//! );
//! let three = array![1, 2, 3];
//! let error = zip((&a, &three)).try_map_collect(divided);
//! assert!(matches!(error, Err(Failure::Shapes(_))));
//! # Ok::<(), Failure>(())
//! ```
//!
//! # An unknown batch
//!
//! The batch of a model is known when it runs. A symbol says that it is the same size wherever it
//! stands, so it is no 1 that the other operand would stretch. ONNX has `dim_param`, torch has
//! symbols of `torch.export`.
//!
//! ```
//! use ndarray_broadcast::infer::{PartialPlan, PartialShape, PartialSize};
//! use ndarray_broadcast::prelude::*;
//!
//! let batch = PartialSize::ANY.with_symbol(0);
//! let x = PartialShape::new([batch, 220.into()]);
//! let mean = PartialShape::new([batch, 1.into()]);
//! let centred = ElementwiseRule::Numpy.infer(&x, &mean)?;
//! assert_eq!(centred.to_string(), "[s0, 220]");
//! assert_eq!(centred.sizes().unwrap()[0].symbol(), Some(0));
//!
//! // The view of the mean, once the batch is known.
//! let plan = PartialPlan::with_mode(mean, x, BroadcastMode::Numpy)?;
//! assert_eq!(plan.output_shape(), &centred);
//! assert_eq!(plan.resolve((8, 1), (8, 220))?.output_shape(), [8, 220]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Unbroadcast in autograd
//!
//! torch: `dy.sum_to_size(x.shape)`. If an operation follows NumPy's rule, the tape needs only the
//! shape of the operand:
//!
//! ```
//! use ndarray::{ArrayD, IxDyn};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! fn unbroadcast(
//!     dy: &ArrayD<f64>,
//!     shape: &[usize],
//! ) -> Result<ArrayD<f64>, BroadcastError> {
//!     dy.reduce_to_shape(shape, Sum)
//! }
//!
//! let dy = counting(IxDyn(&[2, 3, 4]));
//! let db = unbroadcast(&dy, &[3, 1])?;
//! # let mut slow = ArrayD::<f64>::zeros(IxDyn(&[3, 1]));
//! # for (index, dy) in dy.indexed_iter() {
//! #     slow[[index[1], 0]] += dy;
//! # }
//! # assert!(close(&db, &slow));
//! assert_eq!(db.shape(), [3, 1]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A tape that stores plans works for every rule. It also never mistakes one axis for another of
//! the same size:
//!
//! ```
//! use ndarray::{ArrayD, IxDyn};
//! use ndarray_broadcast::prelude::*;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! /// y = a * b, and what its gradient needs.
//! struct Mul {
//!     a: ArrayD<f64>,
//!     b: ArrayD<f64>,
//!     plans: (BroadcastPlan, BroadcastPlan),
//! }
//!
//! impl Mul {
//!     fn new(
//!         a: ArrayD<f64>,
//!         b: ArrayD<f64>,
//!         rule: &ElementwiseRule,
//!     ) -> Result<Self, BroadcastError> {
//!         let plans = BroadcastPlan::pair(a.raw_dim(), b.raw_dim(), rule)?;
//!         Ok(Mul { a, b, plans })
//!     }
//!
//!     /// The gradients of a and b.
//!     fn backward(
//!         &self,
//!         dy: &ArrayD<f64>,
//!     ) -> Result<[ArrayD<f64>; 2], BroadcastError> {
//!         let (of_a, of_b) = &self.plans;
//!         let (a, b) = (of_a.view(&self.a)?, of_b.view(&self.b)?);
//!         Ok([
//!             zip((dy, &b)).reduce(&of_a, Sum, |(dy, b)| dy * b)?,
//!             zip((dy, &a)).reduce(&of_b, Sum, |(dy, a)| dy * a)?,
//!         ])
//!     }
//! }
//!
//! let (a, b) = (counting(IxDyn(&[2, 3, 4])), counting(IxDyn(&[3])));
//! let node = Mul::new(a, b, &ElementwiseRule::channel(1))?;
//! let dy = counting(IxDyn(&[2, 3, 4]));
//! let [da, db] = node.backward(&dy)?; // [2, 3, 4], [3]
//! # let loss = |a: &ArrayD<f64>, b: &ArrayD<f64>| {
//! #     dy.indexed_iter().map(|(i, dy)| dy * a[&i] * b[i[1]]).sum::<f64>()
//! # };
//! # assert!(close(&da, &numeric(&node.a, |a| loss(a, &node.b))));
//! # assert!(close(&db, &numeric(&node.b, |b| loss(&node.a, b))));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # A node of a model
//!
//! Each operator is a plan. The plan gives the output's shape, the view and the gradient. It needs
//! no data. Shapes and axes arrive as integers, which are checked.
//!
//! ```
//! use ndarray::{ArrayD, ArrayViewD, IxDyn};
//! use ndarray_broadcast::onnx::Expand;
//! use ndarray_broadcast::openvino::{Broadcast, IntegerTensor};
//! use ndarray_broadcast::prelude::*;
//! use ndarray_broadcast::shape_from_integers;
//! # fn numeric<D: ndarray::Dimension>(
//! #     x: &ndarray::Array<f64, D>,
//! #     f: impl Fn(&ndarray::Array<f64, D>) -> f64,
//! # ) -> ndarray::Array<f64, D> {
//! #     let mut gradient = x.clone();
//! #     for i in 0..x.len() {
//! #         let moved = |by: f64| {
//! #             let mut x = x.clone();
//! #             *x.iter_mut().nth(i).unwrap() += by;
//! #             f(&x)
//! #         };
//! #         *gradient.iter_mut().nth(i).unwrap() = (moved(1e-5) - moved(-1e-5)) / 2e-5;
//! #     }
//! #     gradient
//! # }
//! # fn close<D: ndarray::Dimension>(
//! #     a: &ndarray::Array<f64, D>,
//! #     b: &ndarray::Array<f64, D>,
//! # ) -> bool {
//! #     a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7)
//! # }
//! # fn counting<D: ndarray::Dimension, S>(shape: S) -> ndarray::Array<f64, D>
//! # where
//! #     S: ndarray::ShapeBuilder<Dim = D>,
//! # {
//! #     let mut next = 0_f64;
//! #     ndarray::Array::from_shape_simple_fn(shape, || {
//! #         next += 1.;
//! #         (next * 0.7).sin()
//! #     })
//! # }
//!
//! /// ONNX: Expand(data, shape).
//! fn expand(
//!     data: &[usize],
//!     shape: &dyn IntegerTensor,
//! ) -> Result<BroadcastPlan, BroadcastError> {
//!     Expand::new().plan(IxDyn(data), shape)
//! }
//!
//! /// OpenVINO: <layer type="Broadcast" version="opset3"><data mode=".."/>.
//! fn broadcast(
//!     data: &[usize],
//!     mode: &str,
//!     target_shape: &dyn IntegerTensor,
//!     axes_mapping: Option<&dyn IntegerTensor>,
//! ) -> Result<BroadcastPlan, BroadcastError> {
//!     let operator = Broadcast::v3().with_mode(mode.parse()?)?;
//!     operator.plan(IxDyn(data), target_shape, axes_mapping)
//! }
//!
//! /// StableHLO: broadcast_in_dim(operand), broadcast_dimensions = dims.
//! fn in_dim(
//!     data: &[usize],
//!     shape: &[i64],
//!     dims: &[i64],
//! ) -> Result<BroadcastPlan, BroadcastError> {
//!     // As a shape, `dims` has no negative integers.
//!     let (shape, dims) =
//!         (shape_from_integers(shape)?, shape_from_integers(dims)?);
//!     BroadcastPlan::in_dim_permuting(IxDyn(data), shape, &dims)
//! }
//!
//! let nodes = [
//!     expand(&[3, 1], &[2_i64, 1, 6])?, // [2, 3, 6]
//!     broadcast(&[3], "explicit", &[2, 3, 4], Some(&[1_u8]))?, // [2, 3, 4]
//!     in_dim(&[1, 3], &[2, 3, 2], &[2, 1])?, // [2, 3, 2]
//! ];
//! for plan in &nodes {
//!     let data = counting(IxDyn(plan.input_shape()));
//!     let y = plan.view(&data)?;
//!     let dy = counting(IxDyn(plan.output_shape()));
//!     let d_data = plan.gradient(&dy)?;
//!     // The gradient is the transpose of the broadcast.
//!     assert!(((&dy * &y).sum() - (&data * &d_data).sum()).abs() < 1e-12);
//! }
//! # Ok::<(), BroadcastError>(())
//! ```
