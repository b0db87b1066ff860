//! New axes by number: nGraph's `Broadcast`.
//!
//! [`broadcast_axes`](crate::BroadcastExt::broadcast_axes) takes the axes of the target that the
//! input does *not* have. The target without these axes is exactly the input's shape: not even a 1
//! replicates. The axes are a set: order and repetition do not matter. With the empty set, the
//! output is the input.
//!
//! Use it for graphs that list the new axes, or where no other axis may replicate. To list the
//! target axes of the input's own axes, use [`explicit`](super::explicit). Each list is the
//! complement of the other.
//!
//! # nGraph `Broadcast`
//!
//! The two examples of the operator's documentation, with the argument `[a, b, c]`:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let arg = array!['a', 'b', 'c'];
//! assert_eq!(
//!     arg.broadcast_axes((2, 3), &[0])?,
//!     array![['a', 'b', 'c'], ['a', 'b', 'c']]
//! );
//! assert_eq!(
//!     arg.broadcast_axes((3, 2), &[1])?,
//!     array![['a', 'a'], ['b', 'b'], ['c', 'c']]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! The operator's definition has an example with five axes, of which 1 and 3 are broadcast. Output
//! element `[d0, d1, d2, d3, d4]` is argument element `[d0, d2, d4]`:
//!
//! ```
//! use ndarray_broadcast::{AxisSource, BroadcastPlan};
//!
//! let plan =
//!     BroadcastPlan::with_broadcast_axes((2, 4, 6), (2, 3, 4, 5, 6), &[1, 3])?;
//! assert!(plan.axis_sources().map(AxisSource::input_axis).eq([
//!     Some(0),
//!     None,
//!     Some(1),
//!     None,
//!     Some(2)
//! ]));
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Errors
//!
//! Three errors: an input size that differs from the target's, even if it is 1; a set of axes
//! without which the target's rank is not the input's; an axis that the target does not have.
//!
//! ```
//! use ndarray_broadcast::BroadcastPlan;
//!
//! assert_eq!(
//!     BroadcastPlan::with_broadcast_axes((3, 1), (2, 3, 4), &[0])
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [3, 1] to [2, 3, 4] (broadcast_axes)
//!   input       3  1
//!   target   2  3  4
//!                  ^ 1 is not 4 (only the broadcast axes replicate)",
//! );
//! assert_eq!(
//!     BroadcastPlan::with_broadcast_axes(3, (2, 3), &[0, 1])
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [3] to [2, 3] (broadcast_axes)
//!   target           2  3
//!   broadcast axes   0  1
//!   without them target has 0, but input has 1 axis",
//! );
//! assert_eq!(
//!     BroadcastPlan::with_broadcast_axes(3, (2, 3), &[2])
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! cannot broadcast [3] to [2, 3] (broadcast_axes)
//!   target           2  3
//!   broadcast axes   2
//!                    ^ there is no axis 2: target has 2 axes",
//! );
//! ```
//!
//! # Gradient
//!
//! The gradient is the sum over the broadcast axes, as nGraph defines it:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::BroadcastPlan;
//!
//! let plan = BroadcastPlan::with_broadcast_axes(3, (2, 3), &[0])?;
//! assert_eq!(
//!     plan.gradient(&array![[1, 2, 3], [10, 20, 30]])?,
//!     array![11, 22, 33]
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Source
//!
//! nGraph: [Broadcast](https://github.com/NervanaSystems/ngraph/blob/master/doc/sphinx/source/ops/broadcast.rst)
