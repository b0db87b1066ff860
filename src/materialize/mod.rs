//! Owned copies of any view, at the speed of the memory.
#![allow(dead_code)] // Until the kernels are here.
pub(crate) mod layout;
pub(crate) mod memory;
pub(crate) mod parallel;
