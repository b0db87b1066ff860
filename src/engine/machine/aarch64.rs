//! Shuffles and transposes, in the registers that every aarch64 has.
//!
//! A plugin of qemu counted instructions. `[N]` to `[N, 3]` of `f32`, for N = 4096, takes 4.8 for
//! 16 bytes with shuffles, and 8.4 without; of `u8` 6.6 and 44. An element of a transposed matrix
//! of 256 by 256 takes, with the squares below and without: `u8` 0.75 and 6.3, `u16` 0.78 and 6.6,
//! `f32` 1.5 and 7.1, `f64` 3.6 and 8.2.

use super::Shuffle;
use std::arch::asm;

pub(crate) fn can_shuffle() -> bool {
    true
}

pub(crate) const CAN_TRANSPOSE: bool = true;

/// Lines of assembly: a load of each of these registers, from rows of the source.
macro_rules! load {
    ($elements:literal: $($register:literal)*) => {
        concat!($("ld1 {{v", $register, $elements, "}}, [{from}], {from_step}\n"),*)
    };
}

/// Lines of assembly: a store of each of these registers, to rows of the output.
macro_rules! store {
    ($elements:literal: $($register:literal)*) => {
        concat!($("st1 {{v", $register, $elements, "}}, [{to}], {to_step}\n"),*)
    };
}

/// Lines of assembly: elements of `a` and `b` in turn, their first halves to `low`, and their
/// second halves to `high`.
macro_rules! interleave {
    ($elements:literal: $($a:literal $b:literal $low:literal $high:literal),*) => {
        concat!($(
            "zip1 v", $low, $elements, ", v", $a, $elements, ", v", $b, $elements,
            "\nzip2 v", $high, $elements, ", v", $a, $elements, ", v", $b, $elements, "\n"
        ),*)
    };
}

macro_rules! square {
    ($name:ident: $($lines:expr),*) => {
        transpose_square!($name, ["v0" "v1" "v2" "v3" "v4" "v5" "v6" "v7"
            "v16" "v17" "v18" "v19" "v20" "v21" "v22" "v23"], $($lines),*);
    };
}

square!(transpose_2_of_8:
    load!(".2d": 0 1),
    interleave!(".2d": 0 1 2 3),
    store!(".2d": 2 3));

square!(transpose_4_of_4:
    load!(".4s": 0 1 2 3),
    interleave!(".4s": 0 2 4 5, 1 3 6 7),
    interleave!(".4s": 4 6 0 1, 5 7 2 3),
    store!(".4s": 0 1 2 3));

macro_rules! square_of_8 {
    ($name:ident: $elements:literal) => {
        square!($name:
            load!($elements: 0 1 2 3 4 5 6 7),
            interleave!($elements: 0 4 16 17, 1 5 18 19, 2 6 20 21, 3 7 22 23),
            interleave!($elements: 16 20 0 1, 17 21 2 3, 18 22 4 5, 19 23 6 7),
            interleave!($elements: 0 4 16 17, 1 5 18 19, 2 6 20 21, 3 7 22 23),
            store!($elements: 16 17 18 19 20 21 22 23));
    };
}

square_of_8!(transpose_8_of_2: ".8h");
// Rows are half a register.
square_of_8!(transpose_8_of_1: ".8b");

/// # Safety
///
/// `from` is readable for the 16 bytes at each offset of `shuffles` plus each of `(0..times) *
/// step`, and `to` is writable for `times` registers of each of `shuffles`. `times` is not 0, and
/// there are 1 to `MOST_SHUFFLES` entries.
pub(crate) unsafe fn shuffle_all(
    shuffles: &[Shuffle],
    (to, from): (*mut u8, *const u8),
    [step, times]: [usize; 2],
) {
    // Each entry is its place, then names for its offset and its shuffle.
    macro_rules! each {
        ($count:literal: $($at:literal $offset:ident $shuffle:ident),*) => {
            // SAFETY: `from` and `to` are valid where it reads and writes: contract of
            // `shuffle_all`. The table has an entry for each register.
            unsafe {
                asm!(
                    $(
                        concat!("ldr {", stringify!($shuffle), ":q}, [{t}, #32 * ", $at, "]"),
                        concat!("ldr {", stringify!($offset), "}, [{t}, #32 * ", $at, " + 16]"),
                    )*
                    "2:",
                    $(
                        concat!("ldr {register:q}, [{from}, {", stringify!($offset), "}]"),
                        concat!(
                            "tbl {register:v}.16b, {{{register:v}.16b}}, {",
                            stringify!($shuffle), ":v}.16b"
                        ),
                        concat!("str {register:q}, [{to}, #16 * ", $at, "]"),
                    )*
                    concat!("add {to}, {to}, #16 * ", $count),
                    "add {from}, {from}, {step}",
                    "subs {times}, {times}, #1",
                    "b.ne 2b",
                    $(
                        $offset = out(reg) _,
                        $shuffle = out(vreg) _,
                    )*
                    register = out(vreg) _,
                    t = in(reg) shuffles.as_ptr(),
                    from = inout(reg) from => _,
                    to = inout(reg) to => _,
                    step = in(reg) step,
                    times = inout(reg) times => _,
                    options(nostack),
                )
            }
        };
    }
    match shuffles.len() {
        1 => each!(1: 0 o0 s0),
        2 => each!(2: 0 o0 s0, 1 o1 s1),
        3 => each!(3: 0 o0 s0, 1 o1 s1, 2 o2 s2),
        4 => each!(4: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3),
        5 => each!(5: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4),
        6 => each!(6: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4, 5 o5 s5),
        _ => each!(7: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4, 5 o5 s5, 6 o6 s6),
    }
}
