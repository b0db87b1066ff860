// These link definitions override the ones in the README, and its picture stands in the text.
//! [guide]: crate::guide
//! [from-ndarray]: crate::guide::ndarray
//! [soundness]: crate::guide::soundness
//!
#![doc = include_str!("plots.md")]
#![doc = include_str!("../README.md")]
// docs.rs builds with nightly Rust. This shows the feature that an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs, missing_debug_implementations, unreachable_pub)]
// Allowed only in the modules that make pointers and move elements.
#![deny(unsafe_code)]

mod co_broadcast;
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
mod operand;
mod partial;
mod pattern;
mod picture;
mod plan;
mod reduce;
mod rule;
mod rules;
mod shape;
mod text;
#[allow(unsafe_code)]
mod view;

pub use co_broadcast::{broadcast_arrays, broadcast_pair, broadcast_shapes};
pub use elementwise::{ElementwiseExt, Zip, zip};
pub use error::{
    ArrayRole, AxesFault, BroadcastError, ErrorKind, IntegerRole, PartialFault, PatternFault,
};
pub use ext::BroadcastExt;
pub use integer::{
    ShapeInteger, axes_from_integers, expand_shape_from_integers, shape_from_integers,
};
pub use materialize::MaterializeExt;
pub use mode::{BroadcastMode, ElementwiseRule};
pub use operand::IntoView;
pub use partial::{PartialShape, PartialSize};
pub use pattern::AxisPattern;
pub use plan::{AxisSource, BroadcastPlan, PartialPlan, PlanPair, PlanTo, Tile, TileBox, Tiles};
pub use reduce::{
    AccumulatorBytes, All, Any, ArgMax, ArgMin, Fold, GradientExt, Max, Mean, MeanIn, Min, NanMax,
    NanMin, Operands, Part, PartialReduction, PartialSum, Product, ReduceExt, Reduction, Sum,
    SumIn,
};
pub use rule::Rule;
pub use shape::KEEP;
pub use view::Broadcasted;

/// The traits, and what their methods take and return: `use ndarray_broadcast::prelude::*;`.
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
        ElementwiseRule, ErrorKind, GradientExt, KEEP, MaterializeExt, ReduceExt, broadcast_arrays,
        broadcast_pair, broadcast_shapes, zip,
    };
}
