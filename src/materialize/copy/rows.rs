//! Rows that lie side by side in output and source, and repetition of what has been written.

use super::operands::Plane;
use crate::engine::machine::copy_in_cache;
use crate::engine::tuning::copies::{SHORT_REPEAT, SHORT_ROW};

/// Copies rows whose elements lie side by side in both operands.
pub(super) fn copy_rows(plane: Plane) {
    let bytes = plane.columns().size * plane.size();
    if plane.rows().size == 1 || !SHORT_ROW.contains(&bytes) {
        return plane.for_each_row(|to, from| copy_in_cache(from, to));
    }
    match bytes {
        ..=8 => copy_short_rows::<4>(plane),
        9..=16 => copy_short_rows::<8>(plane),
        17..=32 => copy_short_rows::<16>(plane),
        _ => copy_short_rows::<32>(plane),
    }
}

/// Rows of `W..=2 * W` bytes, each as its first `W` and its last `W` bytes, which needs no branch.
fn copy_short_rows<const W: usize>(plane: Plane) {
    assert!((W..=2 * W).contains(&(plane.columns().size * plane.size())));
    plane.for_each_row(|to, from| {
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<W>(), from.first_chunk::<W>()) {
            *to = *from;
        }
        if let (Some(to), Some(from)) = (to.last_chunk_mut::<W>(), from.last_chunk::<W>()) {
            *to = *from;
        }
    });
}

/// Writes the elements of `out` from `period` on as copies of the first `period`, again and again.
pub(super) fn repeat<T: Copy>(out: &mut [T], period: usize) {
    let (mut done, mut piece) = (period, period);
    while done < out.len() {
        let (written, rest) = out.split_at_mut(done);
        let count = piece.min(rest.len());
        copy_in_cache(&written[..count], &mut rest[..count]);
        done += count;
        // What is copied doubles until it is long enough, and stays in the first-level cache.
        if done * size_of::<T>() <= SHORT_REPEAT {
            piece = done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_rows, sparse};

    #[test]
    fn rows_of_every_length() {
        check_rows::<u8>(1);
        check_rows::<f32>(1);
        check_rows::<[f32; 3]>(sparse(5));
    }

    #[test]
    fn rows_of_every_length_of_other_elements() {
        check_rows::<u16>(sparse(5));
        check_rows::<f64>(sparse(5));
        check_rows::<u128>(sparse(5));
        check_rows::<(u8, u16)>(sparse(5));
        check_rows::<[u8; 3]>(sparse(5));
        check_rows::<[u64; 3]>(sparse(5));
    }
}
