//! none: no broadcast. Identical shapes, rank included.
//!
//! Source: OpenVINO elementwise operations, `auto_broadcast="none"`.

use super::call::Call;
use crate::error::Result;
use crate::rule::Relation;

/// The elementwise rule, for two operands.
#[inline(always)]
pub(super) fn identical<C: Call>(call: C) -> Result<C::Output> {
    let [a, b] = call.ranks();
    match a == b {
        true => call.related(Relation::Equal, |axis| axis),
        false => Err(call.refused().ranks()),
    }
}
