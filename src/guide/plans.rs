//! Plans as values: chains of broadcasts, other orders of axes, tiles, and shapes that are not
//! known yet.
//!
//! A [`BroadcastPlan`](crate::BroadcastPlan) says for each output axis which input axis feeds it.
//! It is made from shapes, without an array. [`then`](crate::BroadcastPlan::then) combines two
//! plans in a row into one plan. [`permuted`](crate::BroadcastPlan::permuted) puts the axes of the
//! output in another order. [`tile`](crate::distributed::Tile::new) gives the box of the input that
//! a box of the output needs.
//!
//! # Chains
//!
//! An importer of models can fold a chain of broadcasts into one plan with
//! [`then`](crate::BroadcastPlan::then). The view and the gradient of this plan are those of the
//! two plans in a row. A transpose between the broadcasts, or an axis of size 1 that is inserted,
//! can be folded too:
//!
//! ```
//! use ndarray::{Axis, array};
//! use ndarray_broadcast::BroadcastPlan;
//!
//! let x = array![1, 2, 3];
//! let to_rows = BroadcastPlan::numpy(3, (2, 3))?;
//! let to_batch = BroadcastPlan::numpy((3, 2), (4, 3, 2))?;
//! let chain = to_rows.permuted(&[1, 0])?.then(&to_batch)?;
//!
//! let rows = to_rows.view(&x)?;
//! let columns = rows.t();
//! assert_eq!(chain.view(&x)?, to_batch.view(&columns)?);
//! assert_eq!(
//!     chain.to_string(),
//!     "\
//! [3] -> [4, 3, 2] (composed)
//!   input       3
//!   output   4  3  2
//!            +     +
//!   + added",
//! );
//!
//! let with_axis = to_rows.insert_axis(1)?;
//! assert_eq!(with_axis.view(&x)?, to_rows.view(&x)?.insert_axis(Axis(1)));
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! A plan that permutes says in which order it takes the axes of the input:
//!
//! ```
//! use ndarray_broadcast::BroadcastPlan;
//!
//! assert_eq!(
//!     BroadcastPlan::numpy((2, 2), (2, 2))?.permuted(&[1, 0])?.to_string(),
//!     "\
//! [2, 2] -> [2, 2] (composed)
//!   input    2  2
//!   output   2  2
//!   input axes in the order [1, 0]",
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Tiles
//!
//! [`tile`](crate::distributed::Tile::new) gives the box of the input that feeds a box of the
//! output, and the plan between the two. [`tiles`](crate::distributed::Tiles::new) walks over the
//! whole output in tiles of bounded size, in memory order. Plans with the same output shape give
//! the same tiles of the output, so several operands can be walked together:
//!
//! ```
//! use ndarray::{ArrayD, IxDyn, array};
//! use ndarray_broadcast::{BroadcastPlan, broadcast_shapes};
//! use ndarray_broadcast::distributed::Tiles;
//!
//! let (a, b, c) = (array![[1], [2]], array![10, 20, 30], array![[[100]]]);
//! let operands: [ArrayD<i32>; 3] = [a.into_dyn(), b.into_dyn(), c.into_dyn()];
//! let shape = IxDyn(&broadcast_shapes(&operands.each_ref().map(|x| x.shape()))?);
//! let mut plans = Vec::new();
//! for operand in &operands {
//!     plans.push(BroadcastPlan::numpy(operand.raw_dim(), shape.clone())?);
//! }
//! let mut sums = ArrayD::<i32>::zeros(shape);
//! let mut walks: Vec<_> =
//!     plans.iter().map(|plan| Tiles::new(&plan, 8, size_of::<i32>())).collect();
//! while let Some(tiles) =
//!     walks.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>()
//! {
//!     let mut part = tiles[0].output().of_mut(&mut sums)?;
//!     for (tile, operand) in tiles.iter().zip(&operands) {
//!         part += &tile.plan().view(&tile.input().of(operand)?)?;
//!     }
//! }
//! assert_eq!(sums, array![[[111, 121, 131], [112, 122, 132]]].into_dyn());
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Shapes known in part
//!
//! A [`PartialSize`](crate::infer::PartialSize) is known or lies between bounds. A
//! [`PartialShape`](crate::infer::PartialShape) is a list of such sizes, or a shape of unknown
//! rank. Each mode and each elementwise rule infers the output shape from partial shapes
//! ([`BroadcastMode::infer`](crate::BroadcastMode::infer),
//! [`ElementwiseRule::infer`](crate::ElementwiseRule::infer)). The result has the narrowest bounds
//! that contain every possible output shape. A size that follows from the rule is computed:
//!
//! ```
//! use ndarray_broadcast::{BroadcastMode, ElementwiseRule};
//! use ndarray_broadcast::infer::{PartialShape, PartialSize};
//!
//! let any = PartialSize::ANY;
//! // 5 feeds the last axis, so that axis is 5.
//! let input = PartialShape::new([any, 5.into()]);
//! let target = PartialShape::new([any, any, PartialSize::between(1, 8)?]);
//! assert_eq!(
//!     BroadcastMode::Numpy.infer(&input, &target)?.to_string(),
//!     "[?, ?, 5]"
//! );
//!
//! let a = PartialShape::new([any, 3.into()]);
//! let b = PartialShape::new([PartialSize::between(2, 4)?, 1.into()]);
//! assert_eq!(ElementwiseRule::Numpy.infer(&a, &b)?.to_string(), "[2..=4, 3]");
//! assert_eq!(
//!     ElementwiseRule::Numpy.infer(&a, &PartialShape::UNKNOWN)?,
//!     PartialShape::UNKNOWN,
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! A [`PartialPlan`](crate::infer::PartialPlan) stores a mode and what is known of the shapes. It
//! gives a plan when the shapes are known. OpenVINO's operator also uses what is known of the
//! values of its inputs: [`openvino::Broadcast::infer`](crate::openvino::Broadcast::infer).
//!
//! # Errors
//!
//! Plans that do not meet, axes that do not exist, a box outside the output, and partial shapes of
//! which no sizes fit:
//!
//! ```
//! use ndarray_broadcast::infer::{PartialShape, PartialSize};
//! use ndarray_broadcast::named::AxisPattern;
//! use ndarray_broadcast::{BroadcastMode, BroadcastPlan};
//! use ndarray_broadcast::distributed::Tile;
//!
//! let plan = BroadcastPlan::numpy(3, (2, 3))?;
//! assert_eq!(
//!     plan.then(&BroadcastPlan::numpy((2, 1), (2, 4))?).unwrap_err().to_string(),
//!     "\
//! output of the first plan has shape [2, 3], expected [2, 1]
//!   found      2  3
//!   expected   2  1
//!                 ^ 3 is not 1",
//! );
//! assert_eq!(
//!     plan.permuted(&[0, 2]).unwrap_err().to_string(),
//!     "\
//! cannot reorder the axes of [2, 3]
//!   shape   2  3
//!   axes    0  2
//!              ^ there is no axis 2: shape has 2 axes",
//! );
//! assert_eq!(
//!     plan.insert_axis(3).unwrap_err().to_string(),
//!     "\
//! cannot insert axis 3 in [2, 3]
//!   shape   2  3
//!   axes    3
//!           ^ the positions are -3 to 2",
//! );
//! assert_eq!(
//!     Tile::new(&plan, &[0..2, 2..4]).unwrap_err().to_string(),
//!     "\
//! the box [0..2, 2..4] is not inside [2, 3]
//!   box     0..2  2..4
//!   shape      2     3
//!                    ^ 2..4 is not inside 0..3",
//! );
//!
//! // Nothing within the bounds fits.
//! let input = PartialShape::new([PartialSize::ANY, PartialSize::between(5, 7)?]);
//! let target = PartialShape::known((2, 3));
//! assert_eq!(
//!     BroadcastMode::Numpy.infer(&input, &target).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [?, 5..=7] to [2, 3] (numpy)
//!   input    ?  5..=7
//!   target   2      3
//!                   ^ 5..=7 is never 3, and never 1",
//! );
//! assert_eq!(
//!     BroadcastMode::Numpy
//!         .infer(&input, &PartialShape::known(3))
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [?, 5..=7] to [3] (numpy)
//!   input    ?  5..=7
//!   target          3
//!   input has 2 axes, target has 1: \
//! this rule never drops an axis, not even one of size 1",
//! );
//! let explicit: BroadcastMode = "explicit(1, 0)".parse()?;
//! assert_eq!(
//!     explicit.infer(&input, &PartialShape::UNKNOWN).unwrap_err().to_string(),
//!     "\
//! cannot broadcast [?, 5..=7] to [...] (explicit)
//!   input          ?  5..=7
//!   axes mapping   1      0
//!                         ^ 0 after 1: axes must increase; \
//! to transpose, use broadcast_in_dim_permuting",
//! );
//! let pattern: AxisPattern<2> = "1 x, y -> x y".parse()?;
//! assert_eq!(
//!     pattern.infer(&target, &PartialShape::UNKNOWN).unwrap_err().to_string(),
//!     "\
//! the shapes do not fit the axis pattern
//!   1 x, y -> x y
//!   ^ \"1\" has the sizes 2 and 1",
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! OpenVINO's shape inference (`PartialShape`), whose bounds contain the bounds of this page; XLA's
//! simplifier, which folds chains of `broadcast_in_dim`.
