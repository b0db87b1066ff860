//! From views to arrays and back: owned copies, existing outputs, gradients.
//!
//! A broadcast view uses only the memory of its input. Copy it when the elements must be
//! contiguous. The [`elementwise`](super::elementwise) operations need no copy: they read the
//! operands in place.
//!
//! | result | call |
//! |---|---|
//! | an owned copy, in standard layout | [`materialize`](crate::MaterializeExt::materialize) |
//! | a copy in an existing array or view, of any layout | [`materialize_into`](crate::MaterializeExt::materialize_into) |
//! | a copy in uninitialised memory | [`materialize_into_uninit`](crate::MaterializeExt::materialize_into_uninit) |
//! | a map in uninitialised memory | [`map_assign_into`](crate::Zip::map_assign_into) of `MaybeUninit` |
//! | copies of elements that are `Clone` and not `Copy` | [`materialize_cloned`](crate::MaterializeExt::materialize_cloned), [`materialize_cloned_into`](crate::MaterializeExt::materialize_cloned_into) |
//! | a copy from a slice to a slice | [`copy_slice`](crate::BroadcastPlan::copy_slice) |
//! | the gradient of a plan | [`gradient`](crate::BroadcastPlan::gradient) |
//! | the same in an existing array, or added to one | [`gradient_into`](crate::BroadcastPlan::gradient_into), [`gradient_accumulate`](crate::BroadcastPlan::gradient_accumulate) |
//! | a sum to a shape, by NumPy's rule | [`reduce_to_shape`](crate::ReduceExt::reduce_to_shape) with `Sum` |
//!
//! The methods that return an array allocate it. Reductions may also allocate [scratch
//! memory](crate::reduction#scratch-memory). The other methods allocate nothing but a list of the
//! axes, if more than 8 of them are longer than 1, what ndarray needs for `IxDyn` shapes of rank
//! above 4, and what [threads](crate::guide::soundness#memory) need.
//!
//! # Copies
//!
//! Copies take any view, not only a broadcast one: transposed, strided, reversed. With the feature
//! `rayon`, large copies run on several threads.
//!
//! ```
//! use ndarray::{Array3, array, s};
//! use ndarray_broadcast::prelude::*;
//!
//! let bias = array![1., 2., 3.];
//! let view = bias.broadcast_explicit((2, 3, 2), &[1])?;
//! let owned = view.materialize()?;
//! assert_eq!(owned, view);
//!
//! // A slice of a larger output; the other elements do not change.
//! let mut batch = Array3::zeros((2, 3, 4));
//! view.materialize_into(&mut batch.slice_mut(s![.., .., 2..]))?;
//! assert_eq!(
//!     batch.slice(s![1, .., ..]),
//!     array![[0., 0., 1., 1.], [0., 0., 2., 2.], [0., 0., 3., 3.]]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A view may be larger than memory. Then copy a part of it.
//! [`tiles`](crate::distributed::Tiles::new) cuts the whole output into parts of bounded size.
//!
//! ```
//! use ndarray::{Axis, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let row = array![1_u64, 2, 3, 4];
//! let huge = row.broadcast_numpy((1 << 28, 4))?; // 8 GiB
//! let tile = huge.split_at(Axis(0), 1000).0.materialize()?;
//! assert_eq!(tile.shape(), [1000, 4]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Gradients
//!
//! The gradient of a broadcast is a sum. The plan knows the axes of the sum, so it does not guess
//! them from shapes: an axis that was not replicated is not summed. The sums, by rule:
//!
//! | rule | its gradient |
//! |---|---|
//! | `numpy`, `bidirectional`, `expand`, `pdpd` | sum over the added axes, which are dropped, and over the stretched axes, which keep size 1 |
//! | `explicit`, `in_dim` | the same sum; the added axes are those that the list does not name |
//! | `in_dim_permuting` | the same sum, its axes in the order of the input |
//! | `broadcast_axes`, `prepend` | sum over the new axes |
//! | `named` | sum over the new axes, its axes in the order of the input |
//! | elementwise rules | for each operand, the sum by its own plan |
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let plan = BroadcastPlan::numpy((2, 1), (2, 3))?;
//! let x = array![[1.], [2.]];
//! let y = plan.view(&x)?;
//! let dy = array![[1., 10., 100.], [2., 20., 200.]];
//! let dx = plan.gradient(&dy)?;
//! assert_eq!(dx, array![[111.], [222.]]);
//!
//! // The gradient is the transpose of the broadcast: <y, dy> == <x, dx>.
//! assert_eq!((&y * &dy).sum(), (&x * &dx).sum());
//!
//! // The gradients of two uses of one input are added.
//! let mut total = dx;
//! plan.gradient_accumulate(&dy, &mut total)?;
//! assert_eq!(total, array![[222.], [444.]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! Sums of floats are pairwise, in [a documented order](crate::reduction#the-order-of-summation).
//! The result is the same bit for bit on any number of threads and for any memory layout.
//!
//! Sums of a product, maxima, means, and sums in a wider type: [`reductions`](super::reductions).
//!
//! # Errors
//!
//! It is an error if an array does not have the shape that the plan or the copy expects:
//!
//! ```
//! use ndarray::{Array2, array};
//! use ndarray_broadcast::prelude::*;
//!
//! let mut out = Array2::<i32>::zeros((2, 2));
//! assert_eq!(
//!     array![1, 2, 3]
//!         .broadcast_numpy((2, 3))?
//!         .materialize_into(&mut out)
//!         .unwrap_err()
//!         .to_string(),
//!     "\
//! out has shape [2, 2], expected [2, 3]
//!   found      2  2
//!   expected   2  3
//!                 ^ 2 is not 3",
//! );
//! let plan = BroadcastPlan::numpy(3, (2, 3))?;
//! assert_eq!(
//!     plan.gradient(&array![[1., 2.]]).unwrap_err().to_string(),
//!     "\
//! cotangent has shape [1, 2], expected [2, 3]
//!   found      1  2
//!   expected   2  3
//!              ^ 1 is not 2",
//! );
//! assert_eq!(
//!     plan.view(&array![1, 2]).unwrap_err().to_string(),
//!     "\
//! input has shape [2], expected [3]
//!   found      2
//!   expected   3
//!              ^ 2 is not 3",
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A shape that no array can have is an error, and so is a copy that does not fit in memory. Sizes
//! are checked before anything is allocated. A failed allocation is an error, too:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let one = array![1_f64];
//! let most = isize::MAX as usize;
//! assert_eq!(
//!     one.broadcast_numpy((most, 3)).unwrap_err().to_string(),
//!     format!(
//!         "the shape [{most}, 3] has more than isize::MAX elements: \
//!          no array can have it"
//!     ),
//! );
//! let view = one.broadcast_numpy((most / 4, 4))?;
//! assert_eq!(
//!     view.materialize().unwrap_err().to_string(),
//!     format!(
//!         "an owned array of shape [{}, 4] with 8-byte elements \
//!          passes isize::MAX bytes",
//!         most / 4
//!     ),
//! );
//!
//! let copy = |rows: usize| {
//!     let error = match one.broadcast_numpy((rows, 3))?.materialize() {
//!         Err(error) => error,
//!         owned => return owned,
//!     };
//!     match error.kind() {
//!         // Too large: copy the first row only.
//!         ErrorKind::AllocationFailed { .. }
//!         | ErrorKind::ShapeOverflow { .. } => {
//!             one.broadcast_numpy((1, 3))?.materialize()
//!         }
//!         _ => Err(error),
//!     }
//! };
//! assert_eq!(copy(2)?, array![[1., 1., 1.], [1., 1., 1.]]);
//! assert_eq!(copy(most / 3)?, array![[1., 1., 1.]]);
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! - JAX:
//!   [`lax.broadcast_in_dim`](https://docs.jax.dev/en/latest/_autosummary/jax.lax.broadcast_in_dim.html),
//!   whose transpose rule is a sum
//! - nGraph: [Broadcast,
//!   Backprop](https://github.com/NervanaSystems/ngraph/blob/master/doc/sphinx/source/ops/broadcast.rst)
//! - torch:
//!   [`Tensor.sum_to_size`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.sum_to_size.html)
