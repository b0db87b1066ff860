//! Transposes, in the registers that every aarch64 has.
//!
//! A plugin of qemu counted instructions. An element of a transposed matrix of 256 by 256 takes,
//! with squares and without: `u8` 0.75 and 6.3, `u16` 0.78 and 6.6, `f32` 1.5 and 7.1, `f64`, by
//! squares of two, 3.6 and 8.2.

// Before Rust 1.87 the intrinsics are unsafe functions.
#![allow(unused_unsafe, clippy::multiple_unsafe_ops_per_block)]

use std::arch::aarch64::*;

pub(crate) use std::arch::aarch64::uint8x16_t as Register;

load_bytes!(vreg: "ldr {:q}, [{}]", "ldr {:d}, [{}]");

/// The elements of `a` and `b` in turn, of `SIZE` bytes: of their first halves, then of their
/// second halves.
#[inline(always)]
pub(crate) fn interleave<const SIZE: usize>(a: Register, b: Register) -> [Register; 2] {
    // SAFETY: NEON is in the baseline of the target.
    unsafe {
        match SIZE {
            1 => [vzip1q_u8(a, b), vzip2q_u8(a, b)],
            2 => {
                let (a, b) = (vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b));
                [vzip1q_u16(a, b), vzip2q_u16(a, b)].map(|both| vreinterpretq_u8_u16(both))
            }
            4 => {
                let (a, b) = (vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b));
                [vzip1q_u32(a, b), vzip2q_u32(a, b)].map(|both| vreinterpretq_u8_u32(both))
            }
            _ => {
                let (a, b) = (vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b));
                [vzip1q_u64(a, b), vzip2q_u64(a, b)].map(|both| vreinterpretq_u8_u64(both))
            }
        }
    }
}
