//! One file per rule. A rule sees shapes and attributes, never an array, and answers with a plan or with the error that
//! says which of its conditions does not hold. Its conditions stand in the order of its specification.

pub(crate) mod axes;
pub(crate) mod bidirectional;
pub(crate) mod broadcast_axes;
pub(crate) mod expand;
pub(crate) mod explicit;
pub(crate) mod in_dim;
pub(crate) mod none;
pub(crate) mod numpy;
pub(crate) mod pdpd;
pub(crate) mod prepend;
pub(crate) mod xla;
