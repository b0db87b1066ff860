//! Conversion of dynamic to static ranks.

/// Evaluates an expression with the shape as a dimension of static rank. `None` above rank 4: each
/// pair of ranks takes long to compile, and `tests/suite/static_ranks.rs` has all of them.
///
/// ```text
/// with_rank!(shape, |dimension| expression)
/// ```
macro_rules! with_rank {
    ($shape:expr, |$dim:ident| $body:expr) => {{
        use ndarray::{Ix0, Ix1, Ix2, Ix3, Ix4};
        with_rank!(@arms $shape, $dim, $body;
            Ix0: []; Ix1: [a]; Ix2: [a, b]; Ix3: [a, b, c]; Ix4: [a, b, c, d])
    }};
    (@arms $shape:expr, $dim:ident, $body:expr; $($ix:ident: [$($size:ident),*]);*) => {
        match *$shape {
            $([$($size),*] => {
                let $dim = $ix($($size),*);
                Some($body)
            })*
            _ => None,
        }
    };
}

pub(crate) use with_rank;

use ndarray::{Array, ArrayView, Dimension};

/// An array that holds its row-major positions. A broadcast of it shows the source position of each
/// output element.
pub fn positions<D: Dimension>(shape: D) -> Array<usize, D> {
    let len = shape.size();
    Array::from_shape_vec(shape, (0..len).collect()).expect("one position for each element")
}

/// The shape, and the elements in row-major order.
pub fn flat<A: Copy, D: Dimension>(view: &ArrayView<'_, A, D>) -> (Vec<usize>, Vec<A>) {
    (view.shape().to_vec(), view.iter().copied().collect())
}
