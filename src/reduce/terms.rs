//! Which terms of each sum are reduced, and the numbers that they have among all terms.

use smallvec::SmallVec;
use std::ops::Range;

/// The numbers of the terms of a box among all terms, in row-major order.
#[derive(Debug, Clone)]
pub(super) struct Numbers {
    /// The number of the first term.
    first: usize,
    /// Size and step of each loop over the box, innermost first. Empty if neighbouring terms have
    /// neighbouring numbers.
    loops: SmallVec<[(usize, usize); 4]>,
}

impl Numbers {
    /// Neighbouring numbers.
    pub(super) fn from(first: usize) -> Self {
        Numbers {
            first,
            loops: SmallVec::new(),
        }
    }

    /// The numbers of a box of an array. Both have at least one element.
    pub(super) fn of_box(ranges: &[Range<usize>], shape: &[usize]) -> Self {
        let (mut first, mut step) = (0, 1);
        let mut loops: SmallVec<[(usize, usize); 4]> = SmallVec::new();
        for (range, &size) in ranges.iter().zip(shape).rev() {
            first += range.start * step;
            match loops.last_mut() {
                _ if range.len() == 1 => {}
                // The loops inside are whole: they are one loop with this.
                Some((inner, inner_step)) if *inner * *inner_step == step => *inner *= range.len(),
                _ => loops.push((range.len(), step)),
            }
            step *= size;
        }
        if matches!(loops[..], [(_, 1)]) {
            loops.clear();
        }
        Numbers { first, loops }
    }

    /// The number of the first term, if neighbouring terms have neighbouring numbers.
    #[inline(always)]
    pub(super) fn neighbours(&self) -> Option<usize> {
        self.loops.is_empty().then_some(self.first)
    }

    /// The number of the term at this position.
    #[inline(always)]
    pub(super) fn of(&self, mut position: usize) -> usize {
        if self.loops.is_empty() {
            return self.first.wrapping_add(position);
        }
        // Nothing here can panic, so the compiler removes it where the number is not used.
        let mut number = self.first;
        for &(size, step) in &self.loops {
            let index = position.checked_rem(size).unwrap_or(0);
            number = number.wrapping_add(index.wrapping_mul(step));
            position = position.checked_div(size).unwrap_or(0);
        }
        number
    }

    /// How many terms follow each other before a number is left out. `None`: all do.
    pub(super) fn run(&self) -> Option<usize> {
        match self.loops.first() {
            Some(&(size, 1)) => Some(size),
            Some(_) => Some(1),
            None => None,
        }
    }

    /// How many of the numbers of the box, which has `len` terms, are below `end`.
    pub(super) fn count_below(&self, end: usize, len: usize) -> usize {
        let Some(mut rest) = end.checked_sub(self.first) else {
            return 0;
        };
        if self.loops.is_empty() {
            return rest.min(len);
        }
        let (mut count, mut inside) = (0, len);
        for &(size, step) in self.loops.iter().rev() {
            inside /= size;
            let turns = rest / step;
            if turns >= size {
                return count + size * inside;
            }
            count += turns * inside;
            rest -= turns * step;
        }
        // The next term is before `end` too, if the last loop stopped before it.
        count + usize::from(rest > 0)
    }
}
