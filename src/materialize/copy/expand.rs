//! `[N] -> [N, n]` for small `n` and elements of at most sixteen bytes: each output register is one shuffle of sixteen source bytes.
//!
//! A block in the cache does not do here: the stores that build it wait behind the streaming ones, so that source lines are fetched
//! while nothing is written. From registers both go on together: 10 ms instead of 18 for 256 MiB of `[N] -> [N, 3]`, f32, on one
//! core, where a fill takes 9.5.

#![cfg(all(target_arch = "x86_64", not(miri)))]

use crate::engine::tuning::CACHE_LINE;
use std::ops::Range;

/// Bytes of a register.
const REGISTER: usize = 16;

/// The longest row, in bytes. It is also how many registers there are at most until the pattern begins anew.
const LONGEST_ROW: usize = 64;

/// Where a register's source bytes begin, and which of the sixteen from there go where.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Shuffle {
    indices: [u8; REGISTER],
    offset: usize,
}

/// Whether rows of `n` elements of `size` bytes can be made this way, on this machine.
#[inline]
pub(crate) fn can_expand(size: usize, n: usize) -> bool {
    (1..=REGISTER).contains(&size)
        && n >= 2
        && n <= LONGEST_ROW / size
        && std::is_x86_feature_detected!("ssse3")
}

/// Writes most of the positions `range` of `[N] -> [N, n]`: those that whole patterns cover and whose source bytes can be read sixteen
/// at a time. Gives back the positions that are done, a middle part of `range`, or an empty one.
///
/// `to` and `from` are the plane's begin, and it has `rows` rows. With `streamed`, stores go past the cache and begin at a line.
///
/// # Safety
///
/// [`can_expand`] for elements of this size. `from` is readable for `rows` elements, `to` is writable for `rows * n`, of which `range`
/// is a part, and they do not overlap.
pub(crate) unsafe fn expand<A: Copy>(
    to: *mut A,
    from: *const A,
    rows: usize,
    n: usize,
    range: Range<usize>,
    streamed: bool,
) -> Range<usize> {
    let size = size_of::<A>();
    let target = to.wrapping_add(range.start).cast::<u8>();
    let head = if streamed {
        target.align_offset(CACHE_LINE)
    } else {
        0
    };
    let first_row = range.start / n;
    let row_bytes = n * size;
    // Output bytes between the begin of the first row and the first register.
    let lead = (range.start % n) * size + head;
    let period = row_bytes / gcd(row_bytes, REGISTER);
    let mut shuffles = [Shuffle {
        indices: [0; REGISTER],
        offset: 0,
    }; LONGEST_ROW];
    let mut reach = 0;
    // The source byte of an output byte, counted from the first row.
    let source_byte = |byte: usize| byte / row_bytes * size + byte % row_bytes % size;
    for (register, shuffle) in shuffles[..period].iter_mut().enumerate() {
        let bytes = lead + register * REGISTER..lead + (register + 1) * REGISTER;
        shuffle.offset = bytes.clone().map(source_byte).min().unwrap_or(0);
        reach = reach.max(shuffle.offset + REGISTER);
        for (byte, index) in bytes.zip(&mut shuffle.indices) {
            // Sixteen bytes of out come from at most sixteen of the source: within a row from one element, which is no longer; and
            // each row that they go on in moves the source by less than them.
            *index = (source_byte(byte) - shuffle.offset) as u8;
            debug_assert!(usize::from(*index) < REGISTER);
        }
    }
    let source_step = period * REGISTER / row_bytes * size;
    let source_bytes = (rows - first_row) * size;
    let fits_target = (range.len() * size).saturating_sub(head) / (period * REGISTER);
    let fits_source = match source_bytes.checked_sub(reach) {
        Some(more) => more / source_step + 1,
        None => 0,
    };
    let times = fits_target.min(fits_source);
    if times == 0 {
        return range.start..range.start;
    }
    let from = from.wrapping_add(first_row).cast::<u8>();
    let to = target.wrapping_add(head);
    // SAFETY: SSSE3 is there, as `can_expand` says. Each turn reads up to `reach` bytes on, the last one from
    // `(times - 1) * source_step` on: not past `source_bytes`, by the choice of `fits_source`. `times` whole periods fit into what
    // `range` has after the head, and with `streamed` the first one begins at a line.
    unsafe { shuffle_all(&shuffles[..period], to, from, source_step, times, streamed) };
    // What was written from the middle of an element on, or up to there, is written again by whoever does the rest.
    let begin = range.start + head.div_ceil(size);
    let end = range.start + (head + times * period * REGISTER) / size;
    begin..end.max(begin)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Fills registers, as `shuffles` say, over and over: `times` times, the source moving on by `source_step` bytes each time.
///
/// # Safety
///
/// SSSE3 is there. `from` is readable wherever a shuffle reads from `(0..times) * source_step`, and `to` is writable for all registers;
/// with `streamed` it is aligned to a register. Neither `shuffles` is empty nor `times` 0.
unsafe fn shuffle_all(
    shuffles: &[Shuffle],
    to: *mut u8,
    from: *const u8,
    source_step: usize,
    times: usize,
    streamed: bool,
) {
    let table = shuffles.as_ptr_range();
    // In assembly because source bytes may be padding, thus uninitialised, which no intrinsic may load.
    macro_rules! any_number {
        ($store:literal) => {
            // SAFETY: reads and writes are those that the caller vouches for, and the table, whose entries are aligned as
            // `pshufb` needs them; `movntdq` finds its address aligned.
            unsafe {
                std::arch::asm!(
                    "2:",
                    "mov {entry}, {begin}",
                    "3:",
                    "mov {offset}, [{entry} + 16]",
                    "movdqu {register}, [{from} + {offset}]",
                    "pshufb {register}, [{entry}]",
                    concat!($store, " [{to}], {register}"),
                    "add {to}, 16",
                    "add {entry}, 32",
                    "cmp {entry}, {end}",
                    "jne 3b",
                    "add {from}, {step}",
                    "dec {times}",
                    "jnz 2b",
                    begin = in(reg) table.start,
                    end = in(reg) table.end,
                    entry = out(reg) _,
                    offset = out(reg) _,
                    register = out(xmm_reg) _,
                    from = inout(reg) from => _,
                    to = inout(reg) to => _,
                    step = in(reg) source_step,
                    times = inout(reg) times => _,
                    options(nostack),
                )
            }
        };
    }
    // So many that the table fits into registers: 36 us instead of 73 for 4 MiB of `[N] -> [N, 3]`, f32.
    macro_rules! few {
        ($store:literal, $bytes:literal, $($at:literal: $entry:literal $offset:ident $shuffle:ident),*) => {
            // SAFETY: as above; the table has an entry for each register.
            unsafe {
                std::arch::asm!(
                    $(
                        concat!("movdqa {", stringify!($shuffle), "}, [{table} + ", $entry, "]"),
                        concat!("mov {", stringify!($offset), "}, [{table} + ", $entry, " + 16]"),
                    )*
                    "2:",
                    $(
                        concat!("movdqu {register}, [{from} + {", stringify!($offset), "}]"),
                        concat!("pshufb {register}, {", stringify!($shuffle), "}"),
                        concat!($store, " [{to} + ", $at, "], {register}"),
                    )*
                    concat!("add {to}, ", $bytes),
                    "add {from}, {step}",
                    "dec {times}",
                    "jnz 2b",
                    $(
                        $offset = out(reg) _,
                        $shuffle = out(xmm_reg) _,
                    )*
                    register = out(xmm_reg) _,
                    table = in(reg) table.start,
                    from = inout(reg) from => _,
                    to = inout(reg) to => _,
                    step = in(reg) source_step,
                    times = inout(reg) times => _,
                    options(nostack),
                )
            }
        };
    }
    macro_rules! shuffle_all {
        ($store:literal) => {
            match shuffles.len() {
                1 => few!($store, 16, 0: 0 o0 s0),
                2 => few!($store, 32, 0: 0 o0 s0, 16: 32 o1 s1),
                3 => few!($store, 48, 0: 0 o0 s0, 16: 32 o1 s1, 32: 64 o2 s2),
                4 => few!($store, 64, 0: 0 o0 s0, 16: 32 o1 s1, 32: 64 o2 s2, 48: 96 o3 s3),
                _ => any_number!($store),
            }
        };
    }
    if streamed {
        shuffle_all!("movntdq");
    } else {
        shuffle_all!("movdqu");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_begins_anew_as_early_as_it_can() {
        for (a, b, divisor) in [(12, 16, 4), (64, 16, 16), (5, 16, 1), (16, 0, 16)] {
            assert_eq!(gcd(a, b), divisor, "{a} and {b}");
        }
    }
}
