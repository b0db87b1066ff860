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
//! A pattern is also a `BroadcastMode`. Then the sizes of the new axes come from the target shape:
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
//!     error("c -> (n c)"),
//!     "\
//! invalid axis pattern
//!   c -> (n c)
//!        ^ expected a name: into_shape_with_order splits and merges axes",
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
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! # Sources
//!
//! einops: [`repeat`](https://einops.rocks/api/repeat/). xarray: [broadcasting by dimension
//! name](https://docs.xarray.dev/en/stable/user-guide/computation.html#broadcasting-by-dimension-name).
