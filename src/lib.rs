//! Broadcasts [`ndarray`](https://docs.rs/ndarray) arrays by the rules of NumPy, torch, ONNX,
//! OpenVINO, nGraph, XLA, StableHLO and PaddlePaddle. Each rule is a method that returns a view: no
//! element is copied.
//!
//! ```
//! use ndarray::{Array4, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let images = Array4::<f32>::ones((8, 3, 32, 32));
//! let bias = array![1., 2., 3.]; // one value per channel
//!
//! let view = bias.broadcast_explicit((8, 3, 32, 32), &[1])?; // no copy
//! let owned = view.materialize()?; // Array4<f32>, in parallel
//! assert_eq!(owned[[7, 2, 31, 31]], 3.);
//!
//! let sum = zip(broadcast_pair(&images, &bias, ElementwiseRule::channel(1))?)
//!     .map_collect(|(x, b)| x + b)?;
//! assert_eq!(sum[[7, 2, 31, 31]], 4.);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # The map
//!
//! By task:
//!
//! - **broadcast an array to a shape**: [`BroadcastExt`] has a method for each rule. A
//!   [`BroadcastMode`] is a rule as a value: parsed, printed, chosen at run time. Axes by name are
//!   such a mode, too.
//! - **broadcast arrays with each other**: [`broadcast_with`](BroadcastExt::broadcast_with),
//!   [`broadcast_arrays`] and [`broadcast_shapes`] by NumPy's rule;
//!   [`broadcast_with_rule`](BroadcastExt::broadcast_with_rule) and [`broadcast_pair`] by any
//!   [`ElementwiseRule`]: `none`, `numpy`, `pdpd`, `paddle` or `xla`.
//! - **compute with arrays**: [`zip`] takes one to six; into new arrays, into existing
//!   arrays, in place, or reduced in one pass.
//! - **copy a view**: [`MaterializeExt`], to an owned array, into an existing array, into
//!   uninitialised memory.
//! - **sum what a broadcast replicated**, which is its gradient: [`BroadcastPlan::gradient`].
//! - **reduce**: [`ReduceExt`] over axes and to a shape, [`BroadcastPlan::reduce`] along any plan.
//!   [`reduction`] has the sum, the mean, maxima, positions, and the trait for your own.
//! - **compute with shapes only**: a [`BroadcastPlan`] says which input axis feeds each output
//!   axis. Plans can be composed, permuted and tiled.
//! - **handle an error**: a [`BroadcastError`] prints a picture, or one line by `{:#}`; its
//!   [`ErrorKind`] has the shapes and the axis at fault as fields.
//!
//! Each further task has a module:
//!
//! - [`reduction`]: the reductions.
//! - [`distributed`]: tiles, and reductions in parts, on several machines. The result is
//!   bit-identical to one call on the whole array.
//! - [`infer`]: shapes whose sizes are known in part.
//! - [`named`]: axes by name, as in `h w -> h w c` of einops and in xarray.
//! - [`onnx`]: ONNX's `Expand`, `Reduce*`, `ArgMax` and `ArgMin`.
//! - [`openvino`]: OpenVINO's operator. For integer tensors of other formats:
//!   [`shape_from_integers`] and [`axes_from_integers`].
//! - [`mod@error`]: what the errors consist of.
//!
//! `use ndarray_broadcast::prelude::*;` imports what most programs use: traits, functions, rules,
//! errors, and all reductions.
//!
//! [The guide](guide) explains which rule to use. [The cookbook](guide::cookbook) has common
//! operations, each with the NumPy or torch line that it replaces. Other pages: [types and generic
//! functions](guide::types), [ndarray's own methods and their equivalents](guide::ndarray),
//! [several machines](guide::distributed), [Python and ONNX Runtime](guide::hosts),
//! [soundness](guide::soundness).
//!
//! # The rules, drawn
//!
//! Each picture shows which input axis feeds which output axis. `+` marks an added axis, `*` an
//! axis stretched from size 1. `println!("{plan}")` prints it.
//!
//! [`broadcast_numpy`](BroadcastExt::broadcast_numpy): right-aligned. The input's 1s replicate.
//! NumPy `broadcast_to`, OpenVINO mode `numpy`. [Details](guide::numpy).
//!
//! `BroadcastPlan::numpy((3, 1), (2, 3, 4))`
//!
//! ```text
//! [3, 1] -> [2, 3, 4] (numpy)
//!   input       3  1
//!   output   2  3  4
//!            +     *
//!   + added, * stretched from 1
//! ```
//!
//! [`broadcast_bidirectional`](BroadcastExt::broadcast_bidirectional): right-aligned. The 1s of the
//! input and of the shape replicate, so the output may be larger than the shape. ONNX `Expand`,
//! OpenVINO mode `bidirectional`. [Details](guide::numpy#onnx-expand).
//!
//! `BroadcastPlan::bidirectional((3, 1), (1, 4))`
//!
//! ```text
//! [3, 1] -> [3, 4] (bidirectional)
//!   input    3  1
//!   output   3  4
//!               *
//!   * stretched from 1
//! ```
//!
//! [`broadcast_explicit`](BroadcastExt::broadcast_explicit): input axis `i` feeds axis
//! `axes_mapping[i]`. OpenVINO mode `explicit`.
//! [`broadcast_in_dim`](BroadcastExt::broadcast_in_dim) is the same rule under XLA's name.
//! [Details](guide::explicit).
//!
//! `BroadcastPlan::explicit(3, (2, 3, 4, 5), &[1])`
//!
//! ```text
//! [3] -> [2, 3, 4, 5] (explicit)
//!   input       3
//!   output   2  3  4  5
//!            +     +  +
//!   + added
//! ```
//!
//! [`broadcast_in_dim_permuting`](BroadcastExt::broadcast_in_dim_permuting): the dimensions may
//! also permute the axes. StableHLO `broadcast_in_dim`. [Details](guide::explicit).
//!
//! `BroadcastPlan::in_dim_permuting((1, 3), (2, 3, 2), &[2, 1])`
//!
//! ```text
//! [1, 3] -> [2, 3, 2] (in_dim_permuting)
//!   input       3  1
//!   output   2  3  2
//!            +     *
//!   + added, * stretched from 1
//!   input axes in the order [1, 0]
//! ```
//!
//! [`broadcast_axes`](BroadcastExt::broadcast_axes): the listed axes are new. The other axes are
//! exactly the input's: no 1 replicates. nGraph. The plan of this rule is
//! [`BroadcastPlan::with_broadcast_axes`]. [Details](guide::broadcast_axes).
//!
//! `BroadcastPlan::with_broadcast_axes(3, (2, 3, 4), &[0, 2])`
//!
//! ```text
//! [3] -> [2, 3, 4] (broadcast_axes)
//!   input       3
//!   output   2  3  4
//!            +     +
//!   + added
//! ```
//!
//! [`broadcast_pdpd`](BroadcastExt::broadcast_pdpd): the input's first axis feeds axis `axis`, the
//! next axes follow. Trailing 1s of the input are ignored. OpenVINO, for
//! PaddlePaddle models.
//! [Details](guide::elementwise#pdpd).
//!
//! `BroadcastPlan::pdpd((3, 4), (2, 3, 4, 5), 1)`
//!
//! ```text
//! [3, 4] -> [2, 3, 4, 5] (pdpd)
//!   input       3  4
//!   output   2  3  4  5
//!            +        +
//!   + added
//! ```
//!
//! [`broadcast_expand`](BroadcastExt::broadcast_expand): as `broadcast_numpy`, and -1 keeps the
//! size of an axis. torch `expand`. [Details](guide::numpy#torch-expand).
//!
//! `BroadcastPlan::expand((2, 1), (-1, 4))`
//!
//! ```text
//! [2, 1] -> [2, 4] (expand)
//!   input    2  1
//!   output   2  4
//!               *
//!   * stretched from 1
//! ```
//!
//! [`broadcast_prepend`](BroadcastExt::broadcast_prepend): new axes in front. `XlaBuilder`'s
//! `Broadcast`. [Details](guide::numpy#prepended-axes).
//!
//! `BroadcastPlan::prepend(4, (2, 3))`
//!
//! ```text
//! [4] -> [2, 3, 4] (prepend)
//!   input          4
//!   output   2  3  4
//!            +  +
//!   + added
//! ```
//!
//! [`AxisPattern::plan`](named::AxisPattern::plan): axes by name. einops `repeat`.
//! [Details](guide::names).
//!
//! `"h w -> w h c".parse::<AxisPattern>()?.plan((2, 3), &[("c", 4)])`
//!
//! ```text
//! [2, 3] -> [3, 2, 4] (named)
//!   input    3  2
//!   output   3  2  4
//!                  +
//!   + added
//!   input axes in the order [1, 0]
//! ```
//!
//! Where a rule lets an axis of size 1 replicate, the 1 stretches to any size, 0 included. A size
//! of 0 matches 0. It matches a 1 only where that 1 may replicate. A scalar broadcasts to any
//! shape, except under the elementwise rules `none`, which needs identical shapes, and `pdpd`,
//! which broadcasts only the second array. For a scalar, `broadcast_axes` needs all axes in its
//! list; the other rules with a list need an empty list.
//!
//! # What holds for all rules
//!
//! - Arrays are owned arrays, views, `ArcArray`, `CowArray` and `ArrayRef`, of ranks 0 to 6 and of
//!   dynamic rank, in any memory layout. Views need no bound on the element type. If the ranks of
//!   the inputs are static, the rank of the result is static too, and building a view allocates
//!   nothing. The outputs of [`named`] and [`onnx`] and plans of [`openvino`] have dynamic rank.
//! - No shape, axis or attribute makes a call panic: the call returns a [`BroadcastError`]. Code of
//!   the caller may panic: a closure, or the `+` of the elements, for example on [integer
//!   overflow](guide::types#integer-overflow).
//! - Results are the same bit for bit on any number of threads, with and without the feature
//!   `rayon`, and for any memory layout. Floats are added in [a documented
//!   order](reduction#the-order-of-summation).
//!
//! # Features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `rayon` | on | copies, elementwise operations and sums run on the current rayon pool |
//! | `serde` | off | `Serialize` and `Deserialize` of modes, rules, patterns, plans, partial plans, tiles, partial shapes and, as their bytes, accumulations |
//! | `half` | off | reductions of `f16` and `bf16`, which are accumulated in `f32` |
// docs.rs builds with nightly Rust. This shows the feature that an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs, missing_debug_implementations, unreachable_pub)]
// Allowed only in the modules that make pointers and move elements.
#![deny(unsafe_code)]

mod axes;
mod co_broadcast;
mod elementwise;
mod engine;
pub mod error;
mod ext;
pub mod guide;
mod integer;
mod materialize;
mod mode;
pub mod onnx;
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
mod slices;
mod text;
#[allow(unsafe_code)]
mod view;

pub use co_broadcast::{broadcast_arrays, broadcast_pair, broadcast_shapes};
pub use elementwise::{Zip, zip};
#[doc(inline)]
pub use error::{BroadcastError, ErrorKind};
pub use ext::BroadcastExt;
pub use integer::{axes_from_integers, expand_shape_from_integers, shape_from_integers};
pub use materialize::MaterializeExt;
pub use mode::{BroadcastMode, ElementwiseRule};
pub use operand::IntoView;
pub use plan::{AxisSource, BroadcastPlan, PlanPair, PlanTo};
pub use reduce::ReduceExt;
pub use rule::Rule;
pub use shape::KEEP;
pub use view::Broadcasted;

/// Sums, means, variances, maxima, positions and your own reductions.
///
/// Methods that reduce take a [`Reduction`](reduction::Reduction): those of [`ReduceExt`] over
/// axes and to a shape, [`BroadcastPlan::reduce`] along a plan. The prelude has all that are
/// ready made.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let x = array![[1., 5., 3.], [4., 2., 6.]];
/// assert_eq!(x.reduce_to_shape(3, Max)?, array![4., 5., 6.]);
/// assert_eq!(x.reduce_to_shape((2, 1), Mean)?, array![[3.], [4.]]);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// # The order of summation
///
/// Floating-point addition is not associative, so a sum depends on the order of its additions. Here
/// the order is a fixed tree over the terms of one element of the gradient. The tree depends on the
/// sizes of the summed axes alone: not on the number of threads, on the feature `rayon`, on the
/// machine's vectors, or on where the terms lie in memory. Arrays that are equal have gradients
/// that are equal bit for bit.
///
/// The terms `t[0], t[1], ..., t[n - 1]` are in the order of their indices in the cotangent, the
/// last summed axis fastest.
///
/// 1. The terms are cut into slabs. A slab has the terms of the last summed axis. If these are
///    fewer than 1024, it has those of the last two, and so on: of as few axes as have 1024 terms,
///    or of all.
/// 2. The terms of a slab are cut into leaves of 256. The last leaf may be shorter.
/// 3. In a leaf, term `i` belongs to lane `i % 16`. Each lane adds its terms one by one: the first
///    of them is its initial value.
/// 4. The lanes are added by halves: lane `l + 8` to lane `l`, then `l + 4`, `l + 2`, `l + 1`.
///    Lanes without a term are left out.
/// 5. Neighbouring leaves of a slab are added in pairs, then neighbouring results in pairs, and so
///    on. A result without a neighbour goes to the next round as it is. So of `k` leaves, the
///    largest power of two that is less than `k` are summed on the left, and the others on the
///    right.
/// 6. The sums of slabs are added in the same way.
///
/// Four leaves of a slab are a block: 1024 terms, the unit in which
/// [parts](crate::distributed::Part) of a sum are cut. The last block of a slab may be shorter.
///
/// The sum of one term is that term, -0.0 included. The sum of no terms is zero. No term passes
/// through more than `log2(n) + 13` additions, so the error is at most about that many half units
/// in the last place of the sum of the absolute values. Which NaN a sum gives, by its sign and
/// payload, is not part of the promise.
///
/// Integers are summed with their own `+`, in the order of memory: [in any
/// order](crate::reduction::Reduction::is_exact) the sum is the same. Where overflow checks are on,
/// as they are in debug builds, a sum that overflows panics; so may a sum whose total fits, if a
/// part of it does not. Where they are off, sums wrap, and the total is right modulo 2^bits.
///
/// # Scratch memory
///
/// Beside its result, a reduction allocates up to some hundred KiB for each thread, or some
/// thousand elements if these take more, and at most 1 MiB or one element for each 1024 terms. If
/// its terms lie in memory in another order than they are summed in, it is up to 1 MiB for each
/// array, and up to 10 MiB if the reduction is
/// [`NUMBERED`](crate::reduction::Reduction::NUMBERED) and the last of several summed axes has more
/// than some thousand elements. Most sums of less than 512 KiB in C or Fortran order need no such
/// memory, nor do those of a closure's results for up to 16 KiB of each array.
pub mod reduction {
    pub use crate::axes::AxisList;
    pub use crate::reduce::{
        All, Any, ArgMax, ArgMin, Averaged, Count, Fold, InType, L1, L2, LastArgMax, LastArgMin,
        LogSum, LogSumExp, Max, Mean, MeanIn, Min, NanMax, NanMean, NanMin, NanSum, Or, Product,
        Reduction, Std, Sum, SumIn, SumInOwnType, SumSquare, Summand, Then, Var, VarIn,
    };
}

/// Broadcasts and reductions in pieces: tiles, parts of sums, and what becomes of the parts.
///
/// [The guide](guide::distributed) has an example of several machines.
pub mod distributed {
    pub use crate::plan::{Tile, TileBox, Tiles};
    pub use crate::reduce::{Accumulation, AccumulatorBytes, Part, sum_blocks};
}

/// Shapes that are known in part, and what a broadcast makes of them. [`ExpandShape`] is a shape in
/// which -1 stands for a size of the input.
///
/// [`ExpandShape`]: infer::ExpandShape
///
/// ```
/// use ndarray_broadcast::BroadcastMode;
/// use ndarray_broadcast::infer::{PartialShape, PartialSize};
///
/// // [N, 3], with N unknown, to [?, 5, 3].
/// let input = PartialShape::new([PartialSize::from(0..), 3.into()]);
/// let target = PartialShape::new([PartialSize::from(0..), 5.into(), 3.into()]);
/// let output = BroadcastMode::Numpy.infer(&input, &target)?;
/// assert_eq!(output.to_string(), "[?, 5, 3]");
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub mod infer {
    pub use crate::integer::ExpandShape;
    pub use crate::partial::{PartialShape, PartialSize};
    pub use crate::plan::PartialPlan;
}

/// Axes by name. [The guide](guide::names) has the examples.
pub mod named {
    pub use crate::pattern::AxisPattern;
}

/// What most programs use, for `use ndarray_broadcast::prelude::*;`.
///
/// The traits, the functions, the rules, the errors, and all ready-made reductions. Beside
/// `use ndarray::*;` the name `ErrorKind` is ambiguous: add `use ndarray_broadcast::ErrorKind;`.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let owned = array![1, 2, 3].broadcast_numpy((2, 3))?.materialize()?;
/// assert_eq!(owned.reduce_to_shape(3, Sum)?, array![2, 4, 6]);
/// # Ok::<(), BroadcastError>(())
/// ```
pub mod prelude {
    pub use crate::reduction::{
        All, Any, ArgMax, ArgMin, Count, Fold, L1, L2, LastArgMax, LastArgMin, LogSum, LogSumExp,
        Max, Mean, MeanIn, Min, NanMax, NanMean, NanMin, NanSum, Product, Std, Sum, SumIn,
        SumSquare, Then, Var,
    };
    pub use crate::{
        AxisSource, BroadcastError, BroadcastExt, BroadcastMode, BroadcastPlan, ElementwiseRule,
        ErrorKind, KEEP, MaterializeExt, ReduceExt, Rule, broadcast_arrays, broadcast_pair,
        broadcast_shapes, zip,
    };
}

/// Runs the code of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
