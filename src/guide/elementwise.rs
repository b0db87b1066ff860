//! Elementwise operations: the rules `none`, `numpy`, `pdpd`, `paddle` and `xla`.
//!
//! | rule | alignment | sizes | operands that may grow |
//! |---|---|---|---|
//! | [`None`](crate::ElementwiseRule::None) | axis by axis | equal | none |
//! | [`Numpy`](crate::ElementwiseRule::Numpy) | from the right | equal, or either is 1 | both |
//! | [`Pdpd`](crate::ElementwiseRule::Pdpd) | `b`'s first axis at `axis` of `a` | equal, or `b`'s is 1 | `b` |
//! | [`Paddle`](crate::ElementwiseRule::Paddle) | the operand of smaller rank begins at `axis` of the other | equal, or either is 1 | both |
//! | [`Xla`](crate::ElementwiseRule::Xla) | by `broadcast_dimensions` where the ranks differ | equal, or either is 1 | both |
//!
//! For the same shapes, the five rules may give different results. Use the rule of the program
//! whose results you need. If there is no such program, use `Numpy`. Use `None` where a broadcast
//! would be a mistake.
//!
//! | result | call |
//! |---|---|
//! | two views of the common shape, by NumPy's rule | [`broadcast_with`](crate::BroadcastExt::broadcast_with) |
//! | the same by any rule | [`broadcast_with_rule`](crate::BroadcastExt::broadcast_with_rule), [`broadcast_pair`](crate::broadcast_pair) |
//! | a function of up to six arrays, by NumPy's rule, in parallel, without copies of the operands | [`zip`](crate::zip): [`map_collect`](crate::Zip::map_collect), [`map_assign_into`](crate::Zip::map_assign_into), in place [`update`](crate::Zip::update), two outputs [`map_collect_two`](crate::Zip::map_collect_two) |
//! | a function of two arrays, by any rule | `zip(broadcast_pair(&a, &b, rule)?)` |
//! | the same in place | `zip(b.broadcast_pdpd(a.raw_dim(), 1)?).update(&mut a, ..)` |
//! | one value for each channel | the rule [`ElementwiseRule::channel(axis)`](crate::ElementwiseRule::channel) |
//! | views of any number of arrays, by NumPy's rule | [`broadcast_arrays`](crate::broadcast_arrays); of shapes only: [`broadcast_shapes`](crate::broadcast_shapes) |
//! | two plans from shapes only, by any rule | [`BroadcastPlan::pair`](crate::BroadcastPlan::pair) |
//!
//! A new array [keeps the order of its operands in memory](crate::Zip#the-order-of-new-arrays):
//! Fortran order stays Fortran order.
//!
//! A closure receives the elements in a tuple, or as one value if there is one array. They are
//! values: `|(a, b)| a && b`. In the methods with `ref` in their names they are references, for
//! elements that are not `Copy`: `|(name, i)| format!("{name}{i}")`. For operations in place, the
//! first argument is a mutable reference to the element that is changed: `|x, (a, b)| *x += a * b`.
//!
//! # None
//!
//! OpenVINO's `auto_broadcast="none"`: the shapes must be identical, rank included.
//!
//! ```
//! use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
//!
//! assert!(BroadcastPlan::pair((2, 3), (2, 3), ElementwiseRule::None).is_ok());
//! assert_eq!(
//!     BroadcastPlan::pair(3, (1, 3), ElementwiseRule::None)
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [3] with [1, 3] (none)
//!   a      3
//!   b   1  3
//!   a has 1 axis, b has 2: this rule wants identical shapes",
//! );
//! ```
//!
//! # NumPy
//!
//! NumPy's operators, ONNX's multidirectional broadcasting and OpenVINO's `auto_broadcast="numpy"`
//! are one rule. The examples of OpenVINO's and ONNX's pages:
//!
//! ```
//! use ndarray_broadcast::{BroadcastError, broadcast_shapes};
//!
//! let openvino: [[&[usize]; 3]; 9] = [
//!     [&[], &[], &[]],
//!     [&[2, 3], &[1], &[2, 3]],
//!     [&[3], &[2, 3], &[2, 3]],
//!     [&[2, 3, 5], &[], &[2, 3, 5]],
//!     [&[2, 1, 5], &[1, 4, 5], &[2, 4, 5]],
//!     [&[6, 5], &[2, 1, 5], &[2, 6, 5]],
//!     [&[2, 1, 5], &[4, 1], &[2, 4, 5]],
//!     [&[3, 2, 1, 4], &[5, 4], &[3, 2, 5, 4]],
//!     [&[1, 5, 3], &[5, 2, 1, 3], &[5, 2, 5, 3]],
//! ];
//! let onnx: [[&[usize]; 3]; 5] = [
//!     [&[2, 3, 4, 5], &[], &[2, 3, 4, 5]],
//!     [&[2, 3, 4, 5], &[5], &[2, 3, 4, 5]],
//!     [&[4, 5], &[2, 3, 4, 5], &[2, 3, 4, 5]],
//!     [&[1, 4, 5], &[2, 3, 1, 1], &[2, 3, 4, 5]],
//!     [&[3, 4, 5], &[2, 1, 1, 1], &[2, 3, 4, 5]],
//! ];
//! for [a, b, result] in openvino.iter().chain(&onnx) {
//!     assert_eq!(broadcast_shapes(&[a, b])?, *result);
//! }
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! NumPy's own example, a column and a row:
//!
//! ```
//! use ndarray::{Array1, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let (xx, y) = (array![[0.], [1.], [2.], [3.]], Array1::<f64>::ones(5));
//! let sum = zip((&xx, &y)).map_collect(|(x, y)| x + y)?;
//! assert_eq!(sum.shape(), [4, 5]);
//! assert_eq!(sum.column(4), array![1., 2., 3., 4.]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! Mismatches from both pages:
//!
//! ```
//! use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
//!
//! let refused = |error: ndarray_broadcast::BroadcastError| error.to_string();
//! assert_eq!(
//!     BroadcastPlan::pair((3, 1, 5), (4, 4, 5), ElementwiseRule::Numpy)
//!         .map_err(refused)
//!         .unwrap_err(),
//!     "\
//! cannot broadcast [3, 1, 5] with [4, 4, 5] (numpy)
//!   a   3  1  5
//!   b   4  4  5
//!       ^ 3 and 4 differ and neither is 1",
//! );
//! assert_eq!(
//!     BroadcastPlan::pair((2, 1), (8, 4, 3), ElementwiseRule::Numpy)
//!         .map_err(refused)
//!         .unwrap_err(),
//!     "\
//! cannot broadcast [2, 1] with [8, 4, 3] (numpy)
//!   a      2  1
//!   b   8  4  3
//!          ^ 2 and 4 differ and neither is 1",
//! );
//! ```
//!
//! # pdpd
//!
//! OpenVINO's `auto_broadcast="pdpd"`, its rule for imported PaddlePaddle models. It is not what
//! PaddlePaddle itself does: for that, use [`Paddle`](#paddle). Here, `a` never grows. Only `b` may
//! have the smaller rank, and only its 1s replicate.
//!
//! The first axis of `b` is aligned with axis `axis` of `a`; -1 right-aligns `b`. The trailing 1s
//! of `b` are ignored. The output always has the shape of `a`.
//!
//! ```
//! use ndarray::IxDyn;
//! use ndarray_broadcast::prelude::*;
//!
//! let a = [2, 3, 4, 5];
//! let cases: [(&[usize], isize, &[usize]); 9] = [
//!     // b, axis, and the axes of a along which b replicates
//!     (&[], -1, &[0, 1, 2, 3]),
//!     (&[5], -1, &[0, 1, 2]),
//!     (&[5], 3, &[0, 1, 2]),
//!     (&[4, 5], -1, &[0, 1]),
//!     (&[4, 5], 2, &[0, 1]),
//!     (&[3, 4], 1, &[0, 3]),
//!     (&[3, 1], 1, &[0, 2, 3]),
//!     (&[1, 3], 0, &[0, 2, 3]),
//!     (&[2, 1], 0, &[1, 2, 3]),
//! ];
//! for (b, axis, replicated) in cases {
//!     let rule = ElementwiseRule::pdpd(axis);
//!     let (a, b) = BroadcastPlan::pair(IxDyn(&a), IxDyn(b), rule)?;
//!     assert!(a.axis_sources().eq((0..4).map(AxisSource::Kept)));
//!     let sources = b.axis_sources().enumerate();
//!     let axes = sources.filter(|(_, s)| !matches!(s, AxisSource::Kept(_)));
//!     assert!(axes.map(|(axis, _)| axis).eq(replicated.iter().copied()));
//! }
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! Four errors. In OpenVINO's example of a mismatch, `a` would have to grow. In the others, `axis`
//! is too large, `axis` is too small, and the operands are swapped:
//!
//! ```
//! use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
//!
//! assert_eq!(
//!     BroadcastPlan::pair(
//!         (8, 1, 6, 1),
//!         (7, 1, 5),
//!         ElementwiseRule::Pdpd { axis: 1 },
//!     )
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [7, 1, 5] to [8, 1, 6, 1] (pdpd)
//!   b      7  1  5
//!   a   8  1  6  1
//!          ^ 7 is not 1",
//! );
//! assert_eq!(
//!     BroadcastPlan::pair((2, 3, 4, 5), (4, 5), ElementwiseRule::Pdpd { axis: 3 })
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [4, 5] to [2, 3, 4, 5] (pdpd)
//!   b            4  5
//!   a   2  3  4  5
//!   from axis 3 on a has 1, but b has 2 axes",
//! );
//! assert_eq!(
//!     BroadcastPlan::pair(
//!         (2, 3, 4, 5),
//!         (4, 5),
//!         ElementwiseRule::Pdpd { axis: -2 },
//!     )
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [4, 5] to [2, 3, 4, 5] (pdpd)
//!   b   4  5
//!   a   2  3  4  5
//!   there is no axis -2: a has 4 axes; -1 aligns b from the right",
//! );
//! assert_eq!(
//!     BroadcastPlan::pair(
//!         (4, 5),
//!         (2, 3, 4, 5),
//!         ElementwiseRule::Pdpd { axis: -1 },
//!     )
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [2, 3, 4, 5] to [4, 5] (pdpd)
//!   b   2  3  4  5
//!   a         4  5
//!   b has 4 axes, a has 2: this rule drops no axis, not even one of size 1, \
//! and adds none",
//! );
//! ```
//!
//! # Paddle
//!
//! PaddlePaddle's own elementwise operations with the attribute `axis`. The operand of smaller
//! rank, whichever it is, is aligned with the other one from axis `axis` on; -1 right-aligns it.
//! The 1s of both replicate. Operands of equal rank are aligned axis by axis.
//!
//! ```
//! use ndarray::{Array4, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let paddle = ElementwiseRule::paddle;
//! // The operand of smaller rank may come first, and both may grow.
//! let (a, b) = BroadcastPlan::pair((7, 1, 5), (8, 1, 6, 1), paddle(1))?;
//! assert_eq!(a.output_shape(), [8, 7, 6, 5]);
//! assert_eq!(b.output_shape(), [8, 7, 6, 5]);
//! let (a, _) = BroadcastPlan::pair((3, 1, 2), (3, 4, 2), paddle(-1))?;
//! assert_eq!(a.output_shape(), [3, 4, 2]);
//!
//! let (nchw, bias) = (Array4::<f32>::zeros((2, 3, 4, 4)), array![1., 2., 3.]);
//! let (bias, _) = bias.broadcast_with_rule(&nchw, paddle(1))?;
//! assert_eq!(bias[[1, 2, 3, 3]], 3.);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The rule is what the program does (version 3.3.1), with these differences. Where the operand of
//! smaller rank reaches past the end of the other one, even by trailing 1s, the program writes past
//! the end of its list of sizes: it crashes, hangs, or returns an array. Where an operand is empty,
//! it takes axes below -1. Both are errors here:
//!
//! ```
//! use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
//!
//! let paddle = ElementwiseRule::paddle;
//! assert_eq!(
//!     BroadcastPlan::pair((2, 3, 4), (4, 1), paddle(2)).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [2, 3, 4] with [4, 1] (paddle)
//!   b         4  1
//!   a   2  3  4
//!   from axis 2 on a has 1, but b has 2 axes",
//! );
//! assert_eq!(
//!     BroadcastPlan::pair((2, 3), (2, 3, 4), paddle(1)).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [2, 3] with [2, 3, 4] (paddle)
//!   a      2  3
//!   b   2  3  4
//!          ^ 2 and 3 differ and neither is 1",
//! );
//! assert!(BroadcastPlan::pair((0, 2), 2, paddle(-2)).is_err());
//! ```
//!
//! As in the program, the axis must be -1 or 0 if the ranks are equal, and is ignored if the shapes
//! are identical.
//!
//! # XLA
//!
//! If the ranks are equal, the 1s of either operand replicate. If the ranks differ,
//! `broadcast_dimensions` lists, for each axis of the operand of smaller rank, its axis in the
//! other operand. A scalar has no axes, so its list is empty. The examples of XLA's page:
//!
//! ```
//! use ndarray::{arr0, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let xla = ElementwiseRule::xla;
//! let add = |(a, b)| a + b;
//! let matrix = array![[1, 2, 3], [4, 5, 6]];
//!
//! assert_eq!(
//!     zip(broadcast_pair(&matrix, &arr0(7), xla(&[]))?)
//!         .map_collect(add)?,
//!     array![[8, 9, 10], [11, 12, 13]]
//! );
//! assert_eq!(
//!     zip(broadcast_pair(&matrix, &array![7, 8, 9], xla(&[1]))?)
//!         .map_collect(add)?,
//!     array![[8, 10, 12], [11, 13, 15]]
//! );
//!
//! // A cuboid and a matrix.
//! let (_, b) = BroadcastPlan::pair((2, 3, 4), (3, 4), xla(&[1, 2]))?;
//! let sources = [AxisSource::Added, AxisSource::Kept(0), AxisSource::Kept(1)];
//! assert!(b.axis_sources().eq(sources));
//!
//! // Equal ranks; the last one is an outer operation.
//! for (a, b, result) in [
//!     ((2, 1, 1), (2, 3, 1), [2, 3, 1]),
//!     ((1, 2, 5), (7, 2, 5), [7, 2, 5]),
//!     ((7, 2, 5), (7, 1, 5), [7, 2, 5]),
//! ] {
//!     assert_eq!(BroadcastPlan::pair(a, b, xla(&[]))?.0.output_shape(), result);
//! }
//! assert_eq!(
//!     BroadcastPlan::pair((2, 1), (1, 3), xla(&[]))?.0.output_shape(),
//!     [2, 3]
//! );
//!
//! // Different ranks, and 1s that replicate.
//! let sum = zip(broadcast_pair(&array![1, 2, 3, 4], &array![[5, 6]], xla(&[0]))?)
//!     .map_collect(add)?;
//! assert_eq!(sum, array![[6, 7], [7, 8], [8, 9], [9, 10]]);
//! assert_eq!(
//!     BroadcastPlan::pair((1, 2), (4, 3, 1), xla(&[1, 2]))?.0.output_shape(),
//!     [4, 3, 2]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! XLA's page says that the output has the maximum of two sizes. XLA itself gives 0 where a 1 meets
//! a 0, and so does this crate: the output has the size that is not 1.
//!
//! ```
//! use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
//!
//! let xla = ElementwiseRule::Xla { broadcast_dimensions: vec![] };
//! assert_eq!(BroadcastPlan::pair((1, 3), (0, 3), xla)?.0.output_shape(), [0, 3]);
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! The mismatches of XLA's page: a vector without dimensions, a vector with the wrong dimension,
//! incompatible sizes. Dimensions for a scalar are an error, too:
//!
//! ```
//! use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
//!
//! let xla = |broadcast_dimensions: &[usize]| ElementwiseRule::Xla {
//!     broadcast_dimensions: broadcast_dimensions.to_vec(),
//! };
//! assert_eq!(
//!     BroadcastPlan::pair((2, 3), 3, xla(&[])).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [2, 3] with [3] (xla)
//!   b                      3
//!   broadcast dimensions
//!   ranks differ and XLA never guesses: \
//! pass the axes of a that b is aligned with (NumPy's are [1])",
//! );
//! assert_eq!(
//!     BroadcastPlan::pair((2, 3), 3, xla(&[0])).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [2, 3] with [3] (xla)
//!   a   2  3
//!   b   3
//!       ^ 2 and 3 differ and neither is 1",
//! );
//! assert_eq!(
//!     BroadcastPlan::pair((7, 2, 5), (7, 2, 6), xla(&[]))
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [7, 2, 5] with [7, 2, 6] (xla)
//!   a   7  2  5
//!   b   7  2  6
//!             ^ 5 and 6 differ and neither is 1",
//! );
//! assert_eq!(
//!     BroadcastPlan::pair((2, 3), (), xla(&[1])).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [2, 3] with [] (xla)
//!   b
//!   broadcast dimensions   1
//!   a scalar needs none: pass []",
//! );
//! ```
//!
//! # Gradient
//!
//! Each operand has its own plan. The gradient of an operand is the cotangent, times the derivative
//! of the operation, summed by that plan.
//!
//! ```
//! use ndarray::{Array4, array};
//! use ndarray_broadcast::prelude::*;
//!
//! // y = a + b with b at axis 1. The gradient of a is dy. That of b is dy summed
//! // over axes 0, 2 and 3.
//! let (a, b) = BroadcastPlan::pair((2, 3, 4, 5), 3, ElementwiseRule::channel(1))?;
//! let dy = Array4::<f64>::ones((2, 3, 4, 5));
//! assert_eq!(a.gradient(&dy)?, dy);
//! assert_eq!(b.gradient(&dy)?, array![40., 40., 40.]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! - OpenVINO: [Broadcast rules for elementwise
//!   operations](https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/broadcast-rules.html)
//! - ONNX: [Broadcasting](https://onnx.ai/onnx/repo-docs/Broadcasting.html)
//! - NumPy: [Broadcasting](https://numpy.org/doc/stable/user/basics.broadcasting.html)
//! - PaddlePaddle:
//!   [`add`](https://www.paddlepaddle.org.cn/documentation/docs/en/2.4/api/paddle/add_en.html),
//!   whose examples use `axis`; the answers of version 3.3.1
//! - XLA: [Broadcasting](https://openxla.org/xla/broadcasting)
