//! Compares results with torch's.

use crate::block::{self, Block};
use crate::case::Case;
use crate::command_line::Failure;
use ndarray::{ArrayViewD, arr0};

/// The largest difference, relative to the largest entry of a tensor. Rounding causes about 1e-15,
/// a missing term about 1.
const TOLERANCE: f64 = 1e-12;

/// The comparison of one tensor.
#[derive(Debug)]
pub struct Compared {
    pub name: String,
    pub shape: Vec<usize>,
    /// Infinite if an entry is NaN.
    pub difference: f64,
    pub tolerance: f64,
}

/// Runs the block forward and backward, and compares every result.
pub fn compare(case: &Case) -> Result<Vec<Compared>, Failure> {
    let forward = case.block.forward(&case.x, &case.keep)?;
    let (loss, d_out) = block::loss(&forward.out, &case.target, &case.keep)?;
    let out = compared(
        "out",
        forward.out.view().into_dyn(),
        case.out.view().into_dyn(),
    );
    let (dx, gradient) = case.block.backward(&forward, d_out)?;
    let mut all = vec![
        out,
        compared(
            "loss",
            arr0(loss).view().into_dyn(),
            case.loss.view().into_dyn(),
        ),
        compared("d_x", dx.view().into_dyn(), case.dx.view().into_dyn()),
    ];
    let of_torch = Block::parameters(&case.gradient);
    for ((name, found), (_, wanted)) in gradient.parameters().into_iter().zip(of_torch) {
        all.push(compared(&format!("d_{name}"), found, wanted));
    }
    Ok(all)
}

/// Compares two tensors of one shape.
fn compared(name: &str, found: ArrayViewD<'_, f64>, wanted: ArrayViewD<'_, f64>) -> Compared {
    let (mut difference, mut largest) = (0_f64, 0_f64);
    for (found, wanted) in found.iter().zip(&wanted) {
        let one = (found - wanted).abs();
        // `max` would ignore a NaN.
        difference = if one.is_nan() {
            f64::INFINITY
        } else {
            difference.max(one)
        };
        // With an infinite tolerance, anything would agree.
        if wanted.is_finite() {
            largest = largest.max(wanted.abs());
        }
    }
    Compared {
        name: name.into(),
        shape: wanted.shape().to_vec(),
        difference,
        tolerance: TOLERANCE * largest,
    }
}
