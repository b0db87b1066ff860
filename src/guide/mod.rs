//! The guide: which rule to use, with the examples of the specifications.
//!
//! Every rule answers one question: for each axis of the output, which axis of the input feeds it,
//! or is the input replicated along it? The rules differ only in three things: how they align axes,
//! which axes of size 1 may replicate, and what is an error. The answer is a
//! [`BroadcastPlan`](crate::BroadcastPlan). Views, copies, elementwise operations, gradients and
//! pictures are computed from it.
//!
//! # Which method?
//!
//! What you have, the method to call, and the page that explains it:
//!
//! - right-aligned shapes, as in NumPy: [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy),
//!   page [`numpy`]
//! - the same, and the target's own 1s may grow (ONNX `Expand`):
//!   [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional), page [`numpy`]
//! - sizes of which some are -1 (torch `expand`):
//!   [`broadcast_expand`](crate::BroadcastExt::broadcast_expand), page [`numpy`]
//! - new axes to put in front (`XlaBuilder::Broadcast`, `lax.broadcast`):
//!   [`broadcast_prepend`](crate::BroadcastExt::broadcast_prepend), page [`numpy`]
//! - the target axis of each input axis (OpenVINO `explicit`, XLA `BroadcastInDim`):
//!   [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit),
//!   [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim), page [`explicit`]
//! - the same in any order, which transposes (StableHLO, JAX):
//!   [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting), page
//!   [`explicit`]
//! - the axes of the target that are new (nGraph):
//!   [`broadcast_axes`](crate::BroadcastExt::broadcast_axes), page [`broadcast_axes`]
//! - two or more arrays with a common shape, and an operation on them:
//!   [`broadcast_with`](crate::BroadcastExt::broadcast_with),
//!   [`zip`](crate::zip), page [`elementwise`]
//! - names for the axes (einops `repeat`, xarray): [`named`](mod@crate::named), page [`names`]
//! - several broadcasts in a row, a box of the output, sizes that are not known yet:
//!   [`then`](crate::BroadcastPlan::then), [`tile`](crate::distributed::Tile::new),
//!   [`infer`](crate::BroadcastMode::infer), page [`plans`]
//! - arrays larger than memory, or on several machines: [`part`](crate::distributed::Part::new),
//!   [`tiles`](crate::distributed::Tiles::new), page [`distributed`]
//! - a PaddlePaddle operation with `axis`: the rule
//!   [`paddle`](crate::ElementwiseRule::paddle); in an OpenVINO model that was imported from
//!   PaddlePaddle: [`pdpd`](crate::ElementwiseRule::pdpd) or
//!   [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd), page [`elementwise`]
//! - the operator Broadcast of a model file, with its tensors:
//!   [`openvino::Broadcast`](crate::openvino::Broadcast), page [`openvino`]
//! - `Expand`, `Reduce*`, `ArgMax` or `ArgMin` of an ONNX graph: the module [`onnx`](crate::onnx),
//!   page [`openvino`](openvino#onnxs-operators)
//! - a view whose elements must be contiguous: [`materialize`](crate::MaterializeExt::materialize),
//!   page [`copies_and_gradients`]
//! - the gradient of any of these: [`gradient`](crate::BroadcastPlan::gradient),
//!   [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape), page [`copies_and_gradients`]
//! - a maximum, a mean, a position; a sum of a product:
//!   [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape),
//!   [`Zip::reduce`](crate::Zip::reduce), page [`reductions`]
//! - one value per channel: [`ElementwiseRule::channel`](crate::ElementwiseRule::channel), page
//!   [`elementwise`]
//! - slices instead of arrays: [`copy_slice`](crate::BroadcastPlan::copy_slice), page
//!   [`hosts`]
//! - a common operation: a norm, a mask, a distance: page [`cookbook`]
//! - code that uses ndarray's own methods: page [`ndarray`]
//! - a generic function, a lifetime, an element type: page [`types`]
//! - a question about safety: page [`soundness`]
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | feed | An input axis feeds an output axis if the output axis takes its elements from it. |
//! | replicate | The input is replicated along an output axis if all indices of that axis show the same elements. |
//! | stretch | An input axis of size 1 is stretched if it is replicated along the output axis that it feeds. |
//! | plan | The result of a rule on shapes: for each output axis, the input axis that feeds it, or none. A [`BroadcastPlan`](crate::BroadcastPlan). |
//! | cotangent, `dy` | The gradient of a loss with respect to the output of a broadcast or an operation. It has the shape of the output. |
//! | term | One of the values that are summed, or reduced in another way, to one element of a result. |
//! | slab | The terms of one element along the last summed axes, as few as have 1024 terms together, in [the order of summation](crate::reduction#the-order-of-summation). |
//! | block | 1024 consecutive terms of a slab. The last block of a slab may be shorter. |
//! | picture | A drawing of a plan or an error, made of text. It shows the shapes in lines below each other, aligned by axis. |
//!
//! # What holds everywhere
//!
//! - Where a rule lets an axis of size 1 replicate, the 1 stretches to any size, 0 included. Under
//!   `broadcast_axes`, `prepend`, axes by name and `none`, no 1 replicates.
//! - A size of 0 matches 0. It matches a 1 only where that 1 may replicate.
//! - A scalar broadcasts to every shape, except under `none`, and as the first array under `pdpd`.
//!   For a scalar, `broadcast_axes` needs all axes in its list; the other rules with a list need an
//!   empty list.
//! - A view copies nothing: a replicated axis has stride 0.
//! - A mismatch is an error with a picture, never a panic. Only code of the caller may panic: a
//!   closure, or the `+` of the elements, for example on [integer
//!   overflow](types#integer-overflow).
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
//! # Rules as data
//!
//! A [`BroadcastMode`](crate::BroadcastMode) or an [`ElementwiseRule`](crate::ElementwiseRule)
//! names a rule at run time. Both can be parsed and printed, in the spelling of the library that
//! has the rule. A plan needs shapes only, no array.
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
//! assert_eq!(
//!     plan.view(&array![1, 2, 3])?,
//!     array![1, 2, 3].broadcast_to_mode((2, 3, 4), mode)?
//! );
//! # Ok::<(), BroadcastError>(())
//! ```

pub mod broadcast_axes;
#[doc(alias = "softmax")]
#[doc(alias = "layer_norm")]
#[doc(alias = "batch_norm")]
#[doc(alias = "one_hot")]
#[doc(alias = "upsample")]
#[doc(alias = "interpolate")]
#[doc(alias = "cdist")]
#[doc(alias = "variance")]
#[doc(alias = "attention")]
#[doc(alias = "meshgrid")]
pub mod cookbook;
pub mod copies_and_gradients;
pub mod distributed;
pub mod elementwise;
pub mod explicit;
pub mod hosts;
pub mod names;
pub mod ndarray;
pub mod numpy;
pub mod openvino;
pub mod plans;
pub mod reductions;
pub mod soundness;
pub mod types;
