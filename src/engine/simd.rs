//! The one place where code is compiled for wide vectors and the processor is asked for them.
//!
//! Kernels are portable code that the compiler vectorises. [`widest`] compiles a kernel twice, once
//! for AVX2, and chooses at run time. Results do not depend on the choice: the compiler never
//! contracts or reorders operations on floats.

/// Bytes of a register of AVX2.
pub(crate) const WIDE_REGISTER: usize = 32;

/// Lets tests run the code for processors without wide registers.
#[cfg(test)]
pub(crate) static WITHOUT_WIDE_REGISTERS: std::sync::atomic::AtomicBool =
    std::sync::atomic::AtomicBool::new(false);

/// Whether the processor has registers of [`WIDE_REGISTER`] bytes.
#[inline]
pub(crate) fn has_wide_registers() -> bool {
    #[cfg(test)]
    if WITHOUT_WIDE_REGISTERS.load(std::sync::atomic::Ordering::Relaxed) {
        return false;
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return false;
}

/// A kernel that is compiled for several instruction sets.
pub(crate) trait Vectorize {
    type Output;

    /// Runs the kernel. Implementations are `#[inline(always)]`, and so is what they call in their
    /// loops: only code that is inlined into [`widest`] is compiled for wide vectors.
    fn run(self) -> Self::Output;
}

/// Runs `kernel` in the widest vectors of the processor.
#[inline]
pub(crate) fn widest<K: Vectorize>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_wide_registers() {
        // SAFETY: the processor has AVX2, as `has_wide_registers` has just found.
        return unsafe { run_avx2(kernel) };
    }
    kernel.run()
}

/// # Safety
///
/// The processor has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn run_avx2<K: Vectorize>(kernel: K) -> K::Output {
    kernel.run()
}
