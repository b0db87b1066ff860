//! The guide: which rule to use when, with the examples of the specifications.
//!
//! Every rule answers one question: for each axis of the output, which axis of the input feeds it, or is the input replicated along
//! it? The rules differ only in how they line axes up, in which sizes of 1 may replicate, and in what they call an error. The answer
//! is a [`BroadcastPlan`](crate::BroadcastPlan), and everything else is done from it: views, copies, elementwise operations,
//! gradients, pictures.
//!
//! # Which method?
//!
//! | what you have | what you call | page |
//! |---|---|---|
//! | shapes that line up from the right, as in NumPy | [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy) | [`numpy`] |
//! | the same, and the target's own 1s should grow (ONNX `Expand`) | [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional) | [`numpy`] |
//! | a size with some -1 in it (torch `expand`) | [`broadcast_expand`](crate::BroadcastExt::broadcast_expand) | [`numpy`] |
//! | new axes to put in front (`XlaBuilder::Broadcast`, `lax.broadcast`) | [`broadcast_prepend`](crate::BroadcastExt::broadcast_prepend) | [`numpy`] |
//! | for each input axis the target axis it feeds (OpenVINO `explicit`, XLA `BroadcastInDim`) | [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit), [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim) | [`explicit`] |
//! | the same in any order, which transposes (StableHLO, JAX) | [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting) | [`explicit`] |
//! | the axes of the target that are new (nGraph) | [`broadcast_axes`](crate::BroadcastExt::broadcast_axes) | [`broadcast_axes`] |
//! | two or more arrays for each other, and an operation on them | [`broadcast_with`](crate::BroadcastExt::broadcast_with), [`zip_map`](crate::ElementwiseExt::zip_map) | [`elementwise`] |
//! | an operation of PaddlePaddle with `axis` | [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd), or the rule `pdpd` | [`elementwise`] |
//! | the operator Broadcast of a graph file, with its tensors | [`openvino::Broadcast`](crate::openvino::Broadcast) | [`openvino`] |
//! | a view whose elements must lie side by side | [`materialize`](crate::MaterializeExt::materialize) | [`copies_and_gradients`] |
//! | the gradient of any of these | [`gradient`](crate::BroadcastPlan::gradient), [`sum_to_shape`](crate::GradientExt::sum_to_shape) | [`copies_and_gradients`] |
//! | a habit from ndarray | | [`ndarray`] |
//! | a question of safety | | [`soundness`] |
//!
//! # What holds everywhere
//!
//! A 1 replicates to any size, 0 included. A size of 0 matches only 0 and 1. A scalar broadcasts to every shape. The views cost
//! nothing: a replicated axis has stride 0. What does not fit is an error that draws why, never a panic.
//!
//! ```
//! use ndarray::{Array2, arr0, array};
//! use ndarray_broadcast::prelude::*;
//!
//! assert_eq!(array![[7]].broadcast_numpy((0, 3))?.shape(), [0, 3]);
//! assert!(Array2::<f32>::zeros((0, 3)).broadcast_numpy((2, 3)).is_err());
//! assert_eq!(arr0(7).broadcast_numpy((2, 3))?, array![[7, 7, 7], [7, 7, 7]]);
//! assert_eq!(arr0(7).broadcast_numpy((1000, 1000, 1000))?.strides(), [0, 0, 0]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Rules that arrive as data
//!
//! A rule can be named at run time: by a [`BroadcastMode`](crate::BroadcastMode) or an [`ElementwiseRule`](crate::ElementwiseRule),
//! which read and write the field's spelling. And it can be asked about shapes alone, before there is an array.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let mode: BroadcastMode = "explicit(1)".parse()?;
//! let plan = BroadcastPlan::with_mode(3, (2, 3, 4), &mode)?;
//! assert_eq!(
//!     plan.to_string(),
//!     "\
//! [3] -> [2, 3, 4] (explicit)
//!   input       3
//!   output   2  3  4
//!            +     +
//!   + added",
//! );
//! assert_eq!(plan.view(&array![1, 2, 3])?, array![1, 2, 3].broadcast_to_mode((2, 3, 4), mode)?);
//! # Ok::<(), BroadcastError>(())
//! ```

pub mod broadcast_axes;
pub mod copies_and_gradients;
pub mod elementwise;
pub mod explicit;
pub mod ndarray;
pub mod numpy;
pub mod openvino;
pub mod soundness;
