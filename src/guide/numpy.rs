//! Right-aligned shapes: NumPy, ONNX `Expand`, torch `expand`, prepended axes.
//!
//! | method | the input's 1s | the target's 1s | output |
//! |---|---|---|---|
//! | [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy) | replicate | do not | the target |
//! | [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional) | replicate | replicate | may be larger than the target |
//! | [`broadcast_expand`](crate::BroadcastExt::broadcast_expand) | replicate | do not | the target with each -1 replaced by the input's size |
//! | [`broadcast_prepend`](crate::BroadcastExt::broadcast_prepend) | do not | there are none | the sizes, then the input's shape |
//!
//! Use `broadcast_numpy` unless the output may be larger than the target. If a 1 of the target
//! would have to grow, `broadcast_numpy` returns an error, and `broadcast_bidirectional` returns
//! the larger view.
//!
//! # NumPy `broadcast_to`
//!
//! NumPy's page lists pairs of shapes. Each broadcasts to the common shape of its pair:
//!
//! ```
//! use ndarray::IxDyn;
//! use ndarray_broadcast::{BroadcastError, BroadcastPlan};
//!
//! let cases: [(&[usize], &[usize]); 8] = [
//!     (&[3], &[256, 256, 3]), // an image and a scale for each colour
//!     (&[8, 1, 6, 1], &[8, 7, 6, 5]),
//!     (&[7, 1, 5], &[8, 7, 6, 5]),
//!     (&[1], &[5, 4]),
//!     (&[4], &[5, 4]),
//!     (&[15, 1, 5], &[15, 3, 5]),
//!     (&[3, 5], &[15, 3, 5]),
//!     (&[3, 1], &[15, 3, 5]),
//! ];
//! for (input, target) in cases {
//!     assert_eq!(
//!         BroadcastPlan::numpy(IxDyn(input), IxDyn(target))?.output_shape(),
//!         target
//!     );
//! }
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! OpenVINO's `numpy` mode is the same rule. Its example:
//!
//! ```
//! use ndarray_broadcast::BroadcastPlan;
//!
//! assert_eq!(
//!     BroadcastPlan::numpy((16, 1, 1), (1, 16, 50, 50))?.to_string(),
//!     "\
//! [16, 1, 1] -> [1, 16, 50, 50] (numpy)
//!   input       16   1   1
//!   output   1  16  50  50
//!            +       *   *
//!   + added, * stretched from 1",
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # ONNX `Expand`
//!
//! In NumPy: `input * np.ones(shape)`. The operator has two examples. In the first, the output
//! differs from `shape`. [`onnx::Expand`](crate::onnx::Expand) takes the shape as a tensor.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let data = array![[1.], [2.], [3.]];
//! let changed = data.broadcast_bidirectional((2, 1, 6))?;
//! assert_eq!(changed.shape(), [2, 3, 6]);
//! assert_eq!(changed[[1, 2, 5]], 3.);
//!
//! let unchanged = data.broadcast_bidirectional((3, 4))?;
//! assert_eq!(
//!     unchanged,
//!     array![[1., 1., 1., 1.], [2., 2., 2., 2.], [3., 3., 3., 3.]]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The examples of OpenVINO's page for the mode `bidirectional`:
//!
//! ```
//! use ndarray::IxDyn;
//! use ndarray_broadcast::{BroadcastError, BroadcastPlan};
//!
//! let cases: [(&[usize], &[usize], &[usize]); 5] = [
//!     (&[5], &[1], &[5]),
//!     (&[2, 3], &[3], &[2, 3]),
//!     (&[3, 1], &[3, 4], &[3, 4]),
//!     (&[3, 4], &[], &[3, 4]),
//!     (&[3, 1], &[2, 1, 6], &[2, 3, 6]),
//! ];
//! for (input, target, output) in cases {
//!     assert_eq!(
//!         BroadcastPlan::bidirectional(IxDyn(input), IxDyn(target))?
//!             .output_shape(),
//!         output
//!     );
//! }
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # torch `expand`
//!
//! The rule is that of `broadcast_numpy`, with one addition: an axis whose size is given as -1
//! keeps the size of the input. Sizes are [integers of any type](crate::infer::ExpandShape). In a
//! shape of `usize`, [`KEEP`](crate::KEEP) stands for -1, also in a
//! [`BroadcastMode`](crate::BroadcastMode) that is chosen at run time.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::expand_shape_from_integers;
//! use ndarray_broadcast::prelude::*;
//!
//! let x = array![[1], [2], [3]];
//! let expanded = array![[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]];
//! assert_eq!(x.broadcast_expand((3, 4))?, expanded);
//! assert_eq!(x.broadcast_expand((-1, 4))?, expanded);
//! assert_eq!(x.broadcast_expand((KEEP, 4))?, expanded);
//!
//! let sizes = expand_shape_from_integers(&[-1, 4])?;
//! let view = x.broadcast_to_mode(sizes, BroadcastMode::Expand)?;
//! assert_eq!(view, expanded.into_dyn());
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Prepended axes
//!
//! XLA's `Broadcast(operand, broadcast_sizes)` and JAX's `lax.broadcast`: no size of 1 replicates.
//! XLA's example is a scalar:
//!
//! ```
//! use ndarray::{Array2, arr0};
//! use ndarray_broadcast::prelude::*;
//!
//! assert_eq!(
//!     arr0(2_f32).broadcast_prepend((2, 3))?,
//!     Array2::from_elem((2, 3), 2.)
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Errors
//!
//! Under `broadcast_numpy` and `broadcast_expand`, two inputs are errors: one with a size that is
//! neither the target's size nor 1, and one with more axes than the target. A 1 in the target has
//! no special meaning. Under `broadcast_bidirectional`, two sizes that differ are an error if
//! neither is 1:
//!
//! ```
//! use ndarray::{Array3, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let a = Array3::<f32>::zeros((3, 1, 5));
//! assert_eq!(
//!     a.broadcast_numpy((4, 4, 5)).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [3, 1, 5] to [4, 4, 5] (numpy)
//!   input    3  1  5
//!   target   4  4  5
//!            ^ 3 is neither 4 nor 1",
//! );
//! assert_eq!(
//!     a.broadcast_numpy((4, 5)).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [3, 1, 5] to [4, 5] (numpy)
//!   input    3  1  5
//!   target      4  5
//!   input has 3 axes, target has 2: this rule never drops an axis, not even one of size 1",
//! );
//! assert_eq!(
//!     array![1, 2, 3].broadcast_numpy(1).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [3] to [1] (numpy)
//!   input    3
//!   target   1
//!            ^ 3 is not 1",
//! );
//! assert_eq!(
//!     array![1, 2, 3].broadcast_bidirectional((3, 4)).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [3] to [3, 4] (bidirectional)
//!   input       3
//!   target   3  4
//!               ^ 3 and 4 differ and neither is 1",
//! );
//! ```
//!
//! -1 is an error for a new axis, which has no size to keep:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! assert_eq!(
//!     array![[1], [2], [3]].broadcast_expand((-1, -1, 4))
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [3, 1] to [-1, -1, 4] (expand)
//!   input         3  1
//!   target   -1  -1  4
//!             ^ -1 keeps an input's size, but this axis is new: give it a size",
//! );
//! ```
//!
//! # Gradient
//!
//! The gradient is the sum over the added axes and over the stretched axes. The stretched axes keep
//! size 1. [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape) with the input's shape and `Sum`
//! computes it for each method of this page. The plan's `gradient` is the same sum:
//!
//! ```
//! use ndarray::{Array3, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let cotangent = Array3::<f64>::ones((2, 3, 4));
//! assert_eq!(cotangent.reduce_to_shape((3, 1), Sum)?, array![[8.], [8.], [8.]]);
//! assert_eq!(
//!     BroadcastPlan::expand((3, 1), (2, -1, 4))?.gradient(&cotangent)?,
//!     array![[8.], [8.], [8.]]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! - NumPy:
//!   [Broadcasting](https://numpy.org/doc/stable/user/basics.broadcasting.html#general-broadcasting-rules),
//!   [`broadcast_to`](https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html)
//! - ONNX: [Expand](https://onnx.ai/onnx/operators/onnx__Expand.html)
//! - OpenVINO: [Broadcast
//!   rules](https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/broadcast-rules.html)
//! - torch:
//!   [`Tensor.expand`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html)
//! - XLA: [Operation semantics, Broadcast](https://openxla.org/xla/operation_semantics#broadcast)
