//! What moves and combines elements. It sees shapes, strides and pointers, and no rules or plans.

pub(crate) mod chunks;
#[allow(unsafe_code)]
pub(crate) mod threads;
