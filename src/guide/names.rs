//! Axes by name: einops' `repeat`, and two arrays as in xarray.
//!
//! An [`AxisPattern`](crate::named::AxisPattern) names the axes of the input and of the output. The
//! method [`broadcast_named`](crate::BroadcastExt::broadcast_named) takes it as text.
//! [`plan`](crate::named::AxisPattern::plan) makes a plan from a pattern, the input's shape, and
//! the sizes of the new axes by name.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::named::AxisPattern;
//!
//! // einops: repeat(image, "h w -> h w c", c=3)
//! let pattern: AxisPattern = "h w -> h w c".parse()?;
//! let image = array![[1, 2], [3, 4]];
//! let plan = pattern.plan(image.raw_dim(), &[("c", 3)])?;
//! assert_eq!(
//!     plan.view(&image)?,
//!     array![[[1, 1, 1], [2, 2, 2]], [[3, 3, 3], [4, 4, 4]]].into_dyn()
//! );
//!
//! // An integer is a new axis of this size. () is the same as 1, and dropped on
//! // the left.
//! let plan = "1 c -> 2 c ()".parse::<AxisPattern>()?.plan((1, 3), &[])?;
//! assert_eq!(plan.output_shape(), [2, 3, 1]);
//!
//! // Three dots are any number of axes.
//! let pattern: AxisPattern = "... h -> ... h w".parse()?;
//! let plan = pattern.plan((2, 3, 4), &[("w", 5)])?;
//! assert_eq!(plan.output_shape(), [2, 3, 4, 5]);
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Axes that are split and merged
//!
//! Names in parentheses are one axis of the array.
//! [`broadcast_named`](crate::BroadcastExt::broadcast_named) and
//! [`AxisPattern::view`](crate::named::AxisPattern::view) split and merge it where no copy is
//! needed. To split needs none, whatever the strides. All sizes but one are given. Axes are merged
//! that are adjacent in memory, in their order, or replicated alike, and of which all but one have
//! size 1. For others the error names the calls that copy.
//!
//! ```
//! use ndarray::Array3;
//! use ndarray_broadcast::prelude::*;
//!
//! // Patches: einops rearrange(x, "c (h p) (w q) -> h w c p q", p=4, q=4)
//! let x = Array3::<f32>::zeros((3, 32, 48));
//! let pattern = "c (h p) (w q) -> h w c p q";
//! let patches = x.broadcast_named(pattern, &[("p", 4), ("q", 4)])?;
//! assert_eq!(patches.shape(), [8, 12, 3, 4, 4]);
//! assert_eq!(x.broadcast_named("c h w -> c (h w)", &[])?.shape(), [3, 1536]);
//!
//! // Upsampling: einops repeat(x, "c h w -> c (h 2) (w 2)")
//! let error = x.broadcast_named("c h w -> c (h 2) (w 2)", &[]).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "\
//! no view fits the axis pattern
//!   c h w -> c (h 2) (w 2)
//!              ^ \"(h 2)\" needs a copy: leave out the parentheses on the right, \
//!                materialize, then into_shape_with_order([3, 64, 96])",
//! );
//! let twice = x.broadcast_named("c h w -> c h 2 w 2", &[])?.materialize()?;
//! let upsampled = twice.into_shape_with_order([3, 64, 96]).unwrap();
//! assert_eq!(upsampled.dim(), (3, 64, 96));
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! A plan has an axis for each name, and no groups: its gradient is that of the pattern without
//! parentheses, on arrays that are reshaped.
//!
//! # As a mode
//!
//! A pattern without groups is also a `BroadcastMode`. Then the sizes of the new axes come from the
//! target shape:
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::prelude::*;
//!
//! let mode: BroadcastMode = "c -> n c h w".parse()?;
//! assert_eq!(mode.to_string(), "c -> n c h w");
//! assert_eq!(
//!     array![1, 2, 3].broadcast_to_mode((2, 3, 4, 4), mode)?.strides(),
//!     [0, 1, 0, 0]
//! );
//! # Ok::<(), BroadcastError>(())
//! ```
//!
//! # Two to six arrays
//!
//! Axes with the same name become one axis of the output. Without an arrow, the output has the axes
//! in the order of their first appearance, as in xarray.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::named::AxisPattern;
//!
//! let (temperature, pressure) = (array![1., 2.], array![10., 20., 30.]);
//! let [a, b] = "city, time".parse::<AxisPattern<2>>()?.plans([2, 3], &[])?;
//! let product = &a.view(&temperature)? * &b.view(&pressure)?;
//! assert_eq!(product, array![[10., 20., 30.], [20., 40., 60.]].into_dyn());
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Errors
//!
//! An error marks the fault in the pattern. No axis is stretched: as in einops and in xarray, 1 is
//! a size like any other.
//!
//! ```
//! use ndarray::Array1;
//! use ndarray_broadcast::named::AxisPattern;
//!
//! let error = |text: &str| text.parse::<AxisPattern>().unwrap_err().to_string();
//! assert_eq!(
//!     error("c -> n c h c"),
//!     "\
//! invalid axis pattern
//!   c -> n c h c
//!              ^ \"c\" is in this list already",
//! );
//! assert_eq!(
//!     error("b c -> n c"),
//!     "\
//! invalid axis pattern
//!   b c -> n c
//!   ^ the output lacks \"b\": it must have every axis",
//! );
//! assert_eq!(
//!     error("c -> (n c"),
//!     "\
//! invalid axis pattern
//!   c -> (n c
//!            ^ expected ) at the end of the group",
//! );
//!
//! let pattern: AxisPattern = "c -> n c".parse()?;
//! let error = |shape: &[usize], sizes: &[_]| {
//!     pattern.plan(shape, sizes).unwrap_err().to_string()
//! };
//! assert_eq!(
//!     error(&[3], &[]),
//!     "\
//! the shapes do not fit the axis pattern
//!   c -> n c
//!        ^ \"n\" is new: its size is needed",
//! );
//! assert_eq!(
//!     error(&[3], &[("n", 2), ("c", 4)]),
//!     "\
//! the shapes do not fit the axis pattern
//!   c -> n c
//!   ^ \"c\" has the sizes 3 and 4",
//! );
//! assert_eq!(
//!     error(&[3], &[("n", 2), ("q", 4)]),
//!     "\
//! the shapes do not fit the axis pattern
//!   c -> n c
//!   a size is given for \"q\", which it does not have",
//! );
//! assert_eq!(
//!     error(&[3, 4], &[("n", 2)]),
//!     "\
//! the shapes do not fit the axis pattern
//!   c -> n c
//!   ^ this list has 1 axis, the shape 2",
//! );
//! let pattern: AxisPattern = "(h w) -> h w".parse()?;
//! assert_eq!(
//!     pattern.view(&Array1::<u8>::zeros(7), &[("h", 2)]).unwrap_err().to_string(),
//!     "\
//! the shapes do not fit the axis pattern
//!   (h w) -> h w
//!   ^ \"(h w)\" has the size 7, which 2 does not divide",
//! );
//! assert_eq!(
//!     pattern.plan(6, &[("h", 2)]).unwrap_err().to_string(),
//!     "\
//! invalid axis pattern
//!   (h w) -> h w
//!   ^ expected a name: only broadcast_named and AxisPattern::view take groups",
//! );
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! einops: [`repeat`](https://einops.rocks/api/repeat/). xarray: [broadcasting by dimension
//! name](https://docs.xarray.dev/en/stable/user-guide/computation.html#broadcasting-by-dimension-name).
