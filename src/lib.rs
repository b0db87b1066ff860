// The first definition of a link holds: here links of the README lead into these pages, and its picture is within the text.
//! [guide]: crate::guide
//! [from-ndarray]: crate::guide::ndarray
//! [soundness]: crate::guide::soundness
//!
#![doc = include_str!("plots.md")]
#![doc = include_str!("../README.md")]
// On docs.rs, which builds with nightly Rust: names the feature that an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs, missing_debug_implementations, unreachable_pub)]
// Only where pointers are made and elements move.
#![deny(unsafe_code)]

mod co_broadcast;
#[allow(unsafe_code)]
mod elementwise;
#[allow(unsafe_code)]
mod engine;
mod error;
mod ext;
pub mod guide;
mod integer;
#[allow(unsafe_code)]
mod materialize;
mod mode;
pub mod openvino;
mod picture;
mod plan;
mod reduce;
mod rules;
#[allow(unsafe_code)]
mod view;

pub use co_broadcast::{broadcast_arrays, broadcast_pair, broadcast_shapes, broadcast_triple};
pub use elementwise::ElementwiseExt;
pub use error::{ArrayRole, BroadcastError, IntegerRole};
pub use ext::{BroadcastExt, Broadcasted, IntoBroadcastExt, PairOfViews, Prepended};
pub use integer::{
    ShapeInteger, axes_from_integers, expand_shape_from_integers, shape_from_integers,
};
pub use materialize::MaterializeExt;
pub use mode::{BroadcastMode, ElementwiseRule, Rule};
pub use plan::{AxisSource, BroadcastPlan, PlanPair, PlanTo};
pub use reduce::GradientExt;

/// In a size given to [`broadcast_expand`](BroadcastExt::broadcast_expand): keep the size that this axis has, as -1 does
/// in torch. (It is what -1 becomes as a `usize`.)
pub const KEEP: usize = usize::MAX;

/// `use ndarray_broadcast::prelude::*;`: the traits and what their methods take and give.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let owned = array![1, 2, 3].broadcast_numpy((2, 3))?.materialize()?;
/// assert_eq!(owned.sum_to_shape(3)?, array![2, 4, 6]);
/// # Ok::<(), BroadcastError>(())
/// ```
pub mod prelude {
    pub use crate::{
        BroadcastError, BroadcastExt, BroadcastMode, BroadcastPlan, ElementwiseExt,
        ElementwiseRule, GradientExt, IntoBroadcastExt, KEEP, MaterializeExt, broadcast_arrays,
        broadcast_pair, broadcast_shapes, broadcast_triple,
    };
}
