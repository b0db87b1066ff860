//! Plans as text: the picture that `Display` draws, and `Debug`.

use super::{AxisSource, BroadcastPlan};
use crate::picture::{Picture, Place, list};
use ndarray::Dimension;
use std::fmt;

impl<I: Dimension, O: Dimension> fmt::Display for BroadcastPlan<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input, output) = (self.input_shape(), self.output_shape());
        write!(f, "{} -> {} ({})", list(input), list(output), self.rule())?;
        if output.is_empty() {
            return Ok(());
        }
        let picture = Picture::new(
            output.len(),
            ("input", input, Place::Mapped(self.output_axes())),
            ("output", output, Place::From(0)),
        );
        picture.rows(f, 0)?;
        let is = |source, added: bool| match source {
            AxisSource::Kept(_) => false,
            AxisSource::Added => added,
            AxisSource::Stretched(_) => !added,
        };
        let has = |added| self.axis_sources().any(|source| is(source, added));
        let legend = match (has(true), has(false)) {
            (true, true) => "\n  + added, * stretched from 1",
            (true, false) => "\n  + added",
            (false, true) => "\n  * stretched from 1",
            (false, false) => return Ok(()),
        };
        picture.marks(f, |column| match self.axis_sources().nth(column) {
            Some(AxisSource::Added) => "+",
            Some(AxisSource::Stretched(_)) => "*",
            _ => "",
        })?;
        f.write_str(legend)
    }
}

impl<I: Dimension, O: Dimension> fmt::Debug for BroadcastPlan<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastPlan")
            .field("rule", &self.rule())
            .field("input", &self.input_shape())
            .field("output", &self.output_shape())
            .field("axes", &self.axis_sources().collect::<Vec<_>>())
            .finish()
    }
}
