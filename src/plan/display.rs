//! Plans as text: the picture that `Display` draws, and `Debug`.

use super::{AxisSource, BroadcastPlan};
use crate::picture::{Picture, list};
use ndarray::Dimension;
use std::fmt;

impl<I: Dimension, O: Dimension> fmt::Display for BroadcastPlan<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input, output) = (self.input_shape(), self.output_shape());
        write!(f, "{} -> {} ({})", list(input), list(output), self.rule())?;
        if output.is_empty() {
            return Ok(());
        }
        let (fed, rank) = (self.output_axes(), output.len());
        let picture = Picture::around(None, rank)
            .row("input", input, |axis| fed[axis])
            .row("output", output, |axis| axis);
        write!(f, "{picture}")?;
        let mark = |source| match source {
            AxisSource::Kept(_) => "",
            AxisSource::Added => "+",
            AxisSource::Stretched(_) => "*",
        };
        let has = |sign| self.axis_sources().any(|source| mark(source) == sign);
        let legend = match (has("+"), has("*")) {
            (true, true) => "\n  + added, * stretched from 1",
            (true, false) => "\n  + added",
            (false, true) => "\n  * stretched from 1",
            (false, false) => "",
        };
        let marks = picture.marks(|column| self.axis_sources().nth(column).map_or("", mark));
        write!(f, "{marks}{legend}")?;
        // The columns do not show the order of axes that a plan permutes, nor which it drops.
        let feeding = self.axis_sources().filter_map(AxisSource::input_axis);
        let feeding: Vec<usize> = feeding.collect();
        match feeding.iter().copied().eq(0..feeding.len()) {
            true => Ok(()),
            false => write!(f, "\n  input axes in the order {}", list(&feeding)),
        }
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
