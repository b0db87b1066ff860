//! The loops over both operands of a copy: output is operand 0, the source operand 1.

use crate::engine::nest::LoopAxis;

/// One loop over output and source.
pub(super) type Axis = LoopAxis<2>;

/// How many positions the axes have.
#[inline]
pub(super) fn positions(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.size).product()
}

/// The axes from the innermost one outwards, each with its place and with how many positions the
/// axes inside it have.
#[inline]
pub(super) fn outwards(axes: &[Axis]) -> impl Iterator<Item = (usize, &Axis, usize)> {
    let mut inside = 1;
    axes.iter().enumerate().rev().map(move |(place, axis)| {
        let within = inside;
        inside *= axis.size;
        (place, axis, within)
    })
}

/// Whether the output elements lie side by side, in the order of the positions.
#[inline]
pub(super) fn is_dense(axes: &[Axis]) -> bool {
    outwards(axes).all(|(_, axis, inside)| axis.strides[0] == inside as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_output_lies_side_by_side_in_order() {
        let axis = |size, to| Axis {
            size,
            strides: [to, 5],
        };
        for (axes, dense) in [
            (&[][..], true),
            (&[axis(7, 1)], true),
            (&[axis(7, -1)], false),
            (&[axis(7, 2)], false),
            (&[axis(3, 7), axis(7, 1)], true),
            (&[axis(3, 8), axis(7, 1)], false),
            (&[axis(2, 21), axis(3, 7), axis(7, 1)], true),
            (&[axis(2, 22), axis(3, 7), axis(7, 1)], false),
        ] {
            assert_eq!(is_dense(axes), dense, "{axes:?}");
        }
    }
}
