//! Axes by list: OpenVINO `explicit`, XLA `BroadcastInDim`, StableHLO `broadcast_in_dim`.
//!
//! Entry `i` of a list is the target axis that input axis `i` feeds. The other axes of the target
//! are new. An input axis of size 1 may feed an axis of any size.
//!
//! | method | order of the list | for |
//! |---|---|---|
//! | [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit) | strictly increasing | OpenVINO, mode `explicit` (its attribute `mode` may also spell it `none`) |
//! | [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim) | strictly increasing | XLA's `XlaBuilder::BroadcastInDim` |
//! | [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting) | any order, no axis twice | StableHLO, JAX `lax.broadcast_in_dim` (0.10.2; older versions want an increasing list) |
//!
//! The first two are one rule under two names. Use it where the axes are not right-aligned, as with
//! a bias `[C]` for images `[N, C, H, W]`. A list that does not increase transposes the input. Only
//! the third method allows it, so no call transposes by mistake. JAX 0.10.2 does not transpose if
//! the target has the shape of the input: it returns the input then.
//!
//! # OpenVINO `explicit`
//!
//! The two examples of the operator's specification, a channel and a plane:
//!
//! ```
//! use ndarray::{Array1, Array2};
//! use ndarray_broadcast::prelude::*;
//!
//! let per_channel = Array1::<f32>::ones(16);
//! assert_eq!(
//!     per_channel.broadcast_explicit((1, 16, 50, 50), &[1])?.strides(),
//!     [0, 1, 0, 0]
//! );
//!
//! let per_pixel = Array2::<f32>::ones((50, 50));
//! assert_eq!(
//!     per_pixel.broadcast_explicit((1, 50, 50, 16), &[1, 2])?.strides(),
//!     [0, 50, 1, 0]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The documentation of OpenVINO's C++ class has an example with two mappings of one shape:
//!
//! ```
//! use ndarray_broadcast::{AxisSource, BroadcastPlan};
//!
//! let last = BroadcastPlan::explicit((3, 4), (3, 5, 4, 4), &[0, 3])?;
//! let mapping = last.axis_sources().map(AxisSource::input_axis);
//! assert!(mapping.eq([Some(0), None, None, Some(1)]));
//! let before_last = BroadcastPlan::explicit((3, 4), (3, 5, 4, 4), &[0, 2])?;
//! let mapping = before_last.axis_sources().map(AxisSource::input_axis);
//! assert!(mapping.eq([Some(0), None, Some(1), None]));
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # XLA `BroadcastInDim`
//!
//! XLA's page on broadcasting broadcasts a vector of 3 to a matrix of 3 by 3 in two ways:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let vector = array![7, 8, 9];
//! assert_eq!(
//!     vector.broadcast_in_dim((3, 3), &[1])?,
//!     array![[7, 8, 9], [7, 8, 9], [7, 8, 9]]
//! );
//! assert_eq!(
//!     vector.broadcast_in_dim((3, 3), &[0])?,
//!     array![[7, 7, 7], [8, 8, 8], [9, 9, 9]]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! For binary operations XLA has a different rule: [`elementwise`](super::elementwise#xla).
//!
//! # StableHLO `broadcast_in_dim`
//!
//! The example of the specification, in which the input is transposed:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let operand = array![[1, 2, 3]];
//! let result = operand.broadcast_in_dim_permuting((2, 3, 2), &[2, 1])?;
//! assert_eq!(result, array![[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [3, 3]]]);
//! assert_eq!(result.strides(), [0, 1, 0]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Errors
//!
//! It is an error if the length of the list is not the input's rank, if the list has an axis that
//! the target does not have, if the axes do not increase, or if an axis is repeated:
//!
//! ```
//! use ndarray::Array2;
//! use ndarray_broadcast::prelude::*;
//!
//! let plane = Array2::<f32>::ones((50, 50));
//! let refused = |mapping: &[usize]| {
//!     plane.broadcast_explicit((1, 50, 50, 16), mapping).unwrap_err().to_string()
//! };
//! assert_eq!(
//!     refused(&[1]),
//!     "\
//! cannot broadcast [50, 50] to [1, 50, 50, 16] (explicit)
//!   input          50  50
//!   axes mapping    1
//!   the length is 1, but input has 2 axes: \
//! list the axis of target for each axis of input",
//! );
//! assert_eq!(
//!     refused(&[1, 4]),
//!     "\
//! cannot broadcast [50, 50] to [1, 50, 50, 16] (explicit)
//!   input          50  50
//!   axes mapping    1   4
//!                       ^ there is no axis 4: target has 4 axes",
//! );
//! assert_eq!(
//!     refused(&[2, 1]),
//!     "\
//! cannot broadcast [50, 50] to [1, 50, 50, 16] (explicit)
//!   input          50  50
//!   axes mapping    2   1
//!                       ^ 1 after 2: axes must increase; \
//! to transpose, use broadcast_in_dim_permuting",
//! );
//! assert_eq!(
//!     refused(&[1, 1]),
//!     "\
//! cannot broadcast [50, 50] to [1, 50, 50, 16] (explicit)
//!   input          50  50
//!   axes mapping    1   1
//!                       ^ axis 1 is listed twice",
//! );
//! ```
//!
//! It is also an error if an input size is neither 1 nor the size of the axis that it feeds:
//!
//! ```
//! use ndarray::Array2;
//! use ndarray_broadcast::prelude::*;
//!
//! assert_eq!(
//!     Array2::<f32>::ones((50, 50))
//!         .broadcast_explicit((1, 50, 50, 16), &[2, 3])
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [50, 50] to [1, 50, 50, 16] (explicit)
//!   input           50  50
//!   target   1  50  50  16
//!                        ^ 50 is neither 16 nor 1",
//! );
//! ```
//!
//! # Gradient
//!
//! The gradient is the sum over the axes that the list does not name, and over the axes that an
//! axis of size 1 feeds. Its axes have the order of the input, also if the list permutes them.
//!
//! ```
//! use ndarray::{Array3, Array4, array};
//! use ndarray_broadcast::BroadcastPlan;
//!
//! let bias = BroadcastPlan::explicit(3, (2, 3, 4, 5), &[1])?;
//! assert_eq!(
//!     bias.gradient(&Array4::<f64>::ones((2, 3, 4, 5)))?,
//!     array![40., 40., 40.]
//! );
//!
//! let permuting = BroadcastPlan::in_dim_permuting((1, 3), (2, 3, 2), &[2, 1])?;
//! assert_eq!(
//!     permuting.gradient(&Array3::<f64>::ones((2, 3, 2)))?,
//!     array![[4., 4., 4.]]
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! - OpenVINO:
//!   [Broadcast-3](https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/broadcast-3.html),
//!   [class
//!   `ov::op::v3::Broadcast`](https://docs.openvino.ai/2024/api/c_cpp_api/classov_1_1op_1_1v3_1_1_broadcast.html)
//! - XLA: [Operation semantics,
//!   BroadcastInDim](https://openxla.org/xla/operation_semantics#broadcastindim),
//!   [Broadcasting](https://openxla.org/xla/broadcasting)
//! - StableHLO: [broadcast_in_dim](https://openxla.org/stablehlo/spec#broadcast_in_dim)
//! - JAX:
//!   [`lax.broadcast_in_dim`](https://docs.jax.dev/en/latest/_autosummary/jax.lax.broadcast_in_dim.html)
