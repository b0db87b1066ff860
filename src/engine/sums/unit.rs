//! The work of a unit: its leaves are read where they lie, or gathered, and folded.

use super::super::block::{Along, Block};
use super::super::gather::MORE_ROWS;
use super::super::kernel::{
    LANES, LEAF, Leaves, OPERANDS, Places, Rows, Runs, Stack, Steps, live_lanes, moved,
    stack_levels,
};
use super::super::nest::{for_each_block, offsets_of};
use super::operands::{Axis, Form, STRIDES, form, steps};
use super::plan::{Access, Plan, SECTIONS};
use std::ops::Range;
use std::ptr;

/// Rows of up to this many columns are folded as one row, if they are adjacent.
const NARROW: usize = 8 * LANES;

/// To start a block takes as long as to copy some dozens of elements.
const SMALL_BLOCK: usize = LEAF;

/// A unit of work on a thread, with the thread's memory.
pub(super) struct Unit<'u> {
    plan: &'u Plan<'u>,
    terms: Range<usize>,
    lanes: *mut u8,
    stack: *mut u8,
    offsets: *mut Steps,
    /// Where the table of each operand begins, and where the last one ends.
    tables: [*mut u8; OPERANDS + 1],
}

impl<'u> Unit<'u> {
    /// The unit with these terms, one at least.
    ///
    /// # Safety
    ///
    /// The terms are in one of the plan's chunks. `scratch` has the bytes of [`Plan::sections`],
    /// which nothing else uses while the unit exists.
    pub(super) unsafe fn new(plan: &'u Plan<'u>, terms: Range<usize>, scratch: *mut u8) -> Self {
        let mut at = scratch;
        let mut sections = [scratch; SECTIONS + 1];
        for (section, &bytes) in sections[1..].iter_mut().zip(&plan.sections) {
            at = at.wrapping_add(bytes);
            *section = at;
        }
        let [lanes, stack, offsets, tables @ ..] = sections;
        Unit {
            plan,
            terms,
            lanes,
            stack,
            offsets: offsets.cast(),
            tables,
        }
    }

    /// Where the operands have the elements at these offsets.
    fn places(&self, offsets: [isize; STRIDES]) -> Places {
        let mut places = [ptr::null(); OPERANDS];
        for (place, input) in places.iter_mut().zip(self.plan.facts.inputs) {
            *place = input.first.cast_const();
        }
        moved(places, self.plan.facts.inputs.len(), &steps(offsets), 1)
    }

    /// Asserts that these are columns of the plan, and that there is room for their stack.
    fn check(&self, columns: &Range<usize>) {
        let levels = stack_levels(self.terms.len().div_ceil(LEAF));
        let room = self.offsets.addr() - self.stack.addr();
        assert!(columns.end <= self.plan.kept.len(), "no such columns");
        assert!(
            levels * columns.len() * self.plan.facts.size <= room,
            "the stack is too short"
        );
    }

    /// Calls `f` for each leaf with its number in the unit, and its terms.
    fn for_each_leaf(&self, mut f: impl FnMut(usize, Range<usize>)) {
        for (index, at) in self.terms.clone().step_by(LEAF).enumerate() {
            f(index, at..self.terms.end.min(at + LEAF));
        }
    }

    fn number(&self, term: usize) -> usize {
        self.plan.terms.number.wrapping_add(term)
    }

    /// The stack from this column on, of `width` columns.
    fn column_stack(&self, column: usize, width: usize) -> Stack {
        let first = self.stack.wrapping_add(column * self.plan.facts.size);
        Stack { first, width }
    }

    /// The sums of what is on the stack after all leaves.
    fn close(&self, stack: Stack) -> *const u8 {
        let leaves = self.terms.len().div_ceil(LEAF);
        // SAFETY: a sum of each column has been pushed for each leaf.
        unsafe { self.plan.kernel.close(stack.width, stack, leaves) }
    }

    /// Where an operand has the element at these offsets.
    fn at(&self, operand: usize, offsets: [isize; STRIDES]) -> *const u8 {
        let first = self.plan.facts.inputs[operand].first.cast_const();
        first.wrapping_byte_offset(offsets[1 + operand])
    }

    /// Copies elements of an operand to rows in its table that are `pitch` bytes apart. Of the rows
    /// and of the columns, it is told how many there are, and the bytes between two of them. After
    /// several rows [`MORE_ROWS`] may be written, if there may be `more`.
    ///
    /// # Panics
    ///
    /// If there is no room for all of these.
    ///
    /// # Safety
    ///
    /// They are terms of the operand, and `to` is in its table.
    unsafe fn gather(
        &self,
        operand: usize,
        (to, pitch): (*mut u8, usize),
        from: *const u8,
        rows: (usize, isize),
        columns: (usize, isize),
        more: bool,
    ) {
        let [rows, columns] = [rows, columns].map(|(len, step)| Along { len, step });
        let block = Block {
            to,
            pitch,
            from,
            rows,
            columns,
        };
        // Large elements are read where they lie: see `Plan::new`.
        let gather = self.plan.facts.inputs[operand].packs;
        let gather = gather.expect("small elements may be packed");
        let spare = if more && rows.len > 1 { MORE_ROWS } else { 0 };
        let bytes = (rows.len + spare - 1) * pitch + columns.len * gather.size;
        let end = self.tables[operand + 1].addr();
        assert!(to.addr() + bytes <= end, "a table is too short");
        match more {
            // SAFETY: the contract of this function. There is room, as asserted.
            true => unsafe { gather.pack(block) },
            // SAFETY: as above.
            false => unsafe { gather.copy(block) },
        }
    }

    /// The sums of columns whose terms are read as rows. Unless the access is to tables, the
    /// columns are neighbours along the innermost axis that is kept.
    pub(super) fn rows(&self, columns: Range<usize>) -> *const u8 {
        let plan = self.plan;
        self.check(&columns);
        let (inner, term) = (plan.kept.inner(), plan.summed.inner());
        let at = offsets_of(plan.kept.axes(), plan.kept.start(), columns.start);
        let count = columns.len();
        let mut forms = [Form::Contiguous; OPERANDS];
        let (mut step, mut chunk) = (steps(term.strides), [0; OPERANDS]);
        let mut in_tables = true;
        for (operand, input) in self.plan.facts.inputs.iter().enumerate() {
            let form = match plan.access {
                Access::Tables => Form::Strided,
                _ => form(self.plan.facts.inputs, &inner.resized(count), operand),
            };
            let row = |elements: usize| (elements * input.size) as isize;
            (step[operand], chunk[operand]) = match form {
                Form::Contiguous => (step[operand], row(LANES)),
                Form::Repeated => (row(LANES), 0),
                Form::Strided => (row(count), row(LANES)),
            };
            in_tables &= form != Form::Contiguous;
            forms[operand] = form;
        }
        // Rows of all operands follow each other in the same way.
        let regular = in_tables || plan.summed.axes().len() <= 1;
        let adjacent = regular
            && (plan.access == Access::Tables || count <= NARROW)
            && (self.plan.facts.inputs.iter().zip(step).zip(chunk))
                .all(|((input, step), chunk)| chunk != 0 && step == (count * input.size) as isize);
        let stack = self.column_stack(0, count);
        let lanes = (1 + live_lanes(self.terms.len().min(LEAF))) * count * self.plan.facts.size;
        let room = self.stack.addr() - self.lanes.addr();
        assert!(lanes <= room, "there are too few lanes");
        self.for_each_leaf(|index, terms| {
            let mut first = self.places(offsets_of(plan.summed.axes(), at, terms.start));
            for (operand, &form) in forms[..self.plan.facts.inputs.len()].iter().enumerate() {
                if form != Form::Contiguous {
                    // SAFETY: a leaf of columns of the unit, as asserted.
                    unsafe { self.gather_rows(operand, columns.clone(), terms.clone(), form) };
                    first[operand] = self.tables[operand];
                }
            }
            let rows = Rows {
                first,
                count: terms.len(),
                step,
                offsets: (!regular).then(|| self.offsets_of(terms.clone(), &forms, &step)),
                chunk,
                columns: count,
                adjacent,
                number: self.number(terms.start),
            };
            // SAFETY: rows of the inputs, or of tables that have been gathered; there is room for
            // the lanes and the stack, as asserted.
            unsafe {
                self.plan
                    .kernel
                    .fold(Leaves::Rows(&rows, self.lanes), stack, index)
            };
        });
        self.close(stack)
    }

    /// The offsets of a leaf's rows, from the first of them on. `table` has the bytes of a row of
    /// each operand that has been gathered.
    fn offsets_of(&self, terms: Range<usize>, forms: &[Form; OPERANDS], table: &Steps) -> &[Steps] {
        let summed = self.plan.summed;
        let (term, count) = (summed.inner(), terms.len());
        assert!(count <= LEAF.min(self.terms.len()));
        let begin = steps(offsets_of(summed.axes(), [0; STRIDES], terms.start));
        let mut row = 0;
        summed.for_each_row(terms, &mut |from, len| {
            for i in 0..len {
                let mut offset = steps(term.moved(from, i));
                for (operand, offset) in offset.iter_mut().enumerate() {
                    *offset = match forms[operand] {
                        Form::Contiguous => offset.wrapping_sub(begin[operand]),
                        _ => table[operand] * row as isize,
                    };
                }
                // SAFETY: there is room for the rows of a leaf: `Plan::sections`.
                unsafe { self.offsets.wrapping_add(row).write(offset) };
                row += 1;
            }
        });
        assert_eq!(row, count);
        // SAFETY: as many have just been written.
        unsafe { std::slice::from_raw_parts(self.offsets, count) }
    }

    /// Gathers the terms of a leaf into the rows of a table, or [`LANES`] times those of one column
    /// if all columns have the same.
    ///
    /// # Safety
    ///
    /// They are columns and terms of the unit, at most a leaf. The operand has this form along the
    /// columns, which is not [`Form::Contiguous`].
    unsafe fn gather_rows(
        &self,
        operand: usize,
        columns: Range<usize>,
        terms: Range<usize>,
        form: Form,
    ) {
        let (plan, size, i) = (self.plan, self.plan.facts.inputs[operand].size, 1 + operand);
        let (kept, summed) = (plan.kept, plan.summed);
        let columns = match form {
            Form::Repeated => columns.start..columns.start + 1,
            _ => columns,
        };
        let width = |len: usize| if form == Form::Repeated { LANES } else { len };
        // Bytes of a row of the table.
        let row = width(columns.len()) * size;
        let table = self.tables[operand];
        let first = columns.start;
        kept.for_each_block(columns, None, &mut |across, column, wide| {
            let along = match form {
                Form::Repeated => (LANES, 0),
                _ => (across.columns.size, across.columns.strides[i]),
            };
            let (axes, start) = (summed.axes(), across.offsets);
            for_each_block(axes, start, terms.clone(), None, &mut |down, term, long| {
                // Rows of small blocks are along the longest loop, so that there are few blocks.
                // Others are along the loop with the shortest stride: lines of memory are read
                // whole.
                let mut loops = [
                    (across.rows, wide * size),
                    (down.rows, long * row),
                    (down.columns, row),
                ];
                for at in 0..2 {
                    let (new, rows) = (loops[at].0, loops[2].0);
                    let small = rows.size * along.0 < SMALL_BLOCK && rows.size < new.size;
                    let step = |axis: &Axis| axis.strides[i].unsigned_abs();
                    let nearer = step(&new) > 0
                        && new.size >= LANES / 2
                        && step(&new) < step(&rows).min(along.1.unsigned_abs());
                    if small || nearer {
                        loops.swap(at, 2);
                    }
                }
                let [(x, to_x), (y, to_y), (rows, pitch)] = loops;
                let at = (term - terms.start) * row + (column - first) * size;
                let rows = (rows.size, rows.strides[i]);
                for turn in 0..x.size {
                    let (from, at) = (x.moved(down.offsets, turn), at + turn * to_x);
                    for turn in 0..y.size {
                        let from = self.at(operand, y.moved(from, turn));
                        let to = (table.wrapping_add(at + turn * to_y), pitch);
                        // Behind several rows that follow each other are those of later terms,
                        // which are gathered next, or spare ones.
                        // SAFETY: terms of the input: the contract of this function.
                        unsafe { self.gather(operand, to, from, rows, along, pitch == row) };
                    }
                }
            });
        });
    }

    /// The sums of columns whose terms are read in runs.
    ///
    /// Memory is read in order as far as it goes: stretch after stretch, each of all columns.
    pub(super) fn runs(&self, columns: Range<usize>) -> *const u8 {
        let (plan, count) = (self.plan, columns.len());
        self.check(&columns);
        let mut at = self.terms.start;
        while at < self.terms.end {
            let stretch = plan.stretch(at..self.terms.end);
            let middle = at + stretch.in_run;
            let gathered = middle..middle + stretch.gathered;
            let mut column = 0;
            plan.kept
                .for_each_row(columns.clone(), &mut |first, width| {
                    for i in (0..width).step_by(stretch.columns) {
                        let first = plan.kept.inner().moved(first, i);
                        let these = column..column + stretch.columns.min(width - i);
                        column = these.end;
                        let (in_run, others) = (at..middle, gathered.clone());
                        // SAFETY: columns of the unit, as asserted, and the parts of a stretch.
                        unsafe { self.read_leaves(in_run, true, first, these.clone(), count) };
                        // SAFETY: as above.
                        unsafe { self.read_leaves(others, false, first, these, count) };
                    }
                });
            at = middle + self.complete(&gathered);
        }
        self.close(self.column_stack(0, count))
    }

    /// How many of these terms, which begin with a leaf, are of complete leaves.
    fn complete(&self, terms: &Range<usize>) -> usize {
        match terms.end == self.terms.end {
            true => terms.len(),
            false => terms.len() / LEAF * LEAF,
        }
    }

    /// Reads the complete leaves of these terms, of some columns along the innermost axis that is
    /// kept. `first` is where term 0 of the first of them lies. If the terms are `in_run`, they lie
    /// in one run: operands whose terms are contiguous there are read in place, and others are
    /// gathered. Otherwise all are gathered. The unit has `width` columns.
    ///
    /// # Safety
    ///
    /// They are columns of the unit, and terms as [`Plan::stretch`] cuts them: those in a run, or
    /// those behind them. There are at most as many columns as the stretch says.
    unsafe fn read_leaves(
        &self,
        terms: Range<usize>,
        in_run: bool,
        first: [isize; STRIDES],
        columns: Range<usize>,
        width: usize,
    ) {
        if terms.is_empty() {
            return;
        }
        let plan = self.plan;
        let begin = offsets_of(plan.summed.axes(), first, terms.start);
        let mut runs = Runs {
            first: self.places(begin),
            columns: columns.len(),
            column: steps(plan.kept.inner().strides),
            leaf: plan.leaf,
            terms: self.complete(&terms),
            number: self.number(terms.start),
        };
        let term = plan.summed.inner();
        for (operand, input) in self.plan.facts.inputs.iter().enumerate() {
            let mut count = terms.len();
            match form(self.plan.facts.inputs, term, operand) {
                Form::Contiguous if in_run => continue,
                // One leaf, which is read again and again.
                Form::Repeated if in_run => (count, runs.leaf[operand]) = (count.min(LEAF), 0),
                _ => {}
            }
            let pitch = count * input.size;
            let table = self.tables[operand];
            let (to, terms) = ((table, pitch), terms.start..terms.start + count);
            // SAFETY: terms of an input, and their places in its table.
            unsafe { self.gather_runs(to, first, operand, terms, columns.len()) };
            (runs.first[operand], runs.column[operand]) = (table, pitch as isize);
        }
        let stack = self.column_stack(columns.start, width);
        let index = (terms.start - self.terms.start) / LEAF;
        // SAFETY: runs of the inputs or of the tables; columns of the stack, for which there is
        // room, as `check` has asserted.
        unsafe { self.plan.kernel.fold(Leaves::Runs(&runs), stack, index) };
    }

    /// Gathers these terms of some columns along the innermost axis that is kept: a run for each
    /// column. `first` is where term 0 of the first of them lies.
    ///
    /// # Safety
    ///
    /// They are terms and columns of the unit. There is room at `to` for the runs, `pitch` bytes
    /// apart, and for spare rows behind them.
    unsafe fn gather_runs(
        &self,
        (to, pitch): (*mut u8, usize),
        first: [isize; STRIDES],
        operand: usize,
        terms: Range<usize>,
        columns: usize,
    ) {
        let (plan, size, i) = (self.plan, self.plan.facts.inputs[operand].size, 1 + operand);
        let axes = plan.summed.axes();
        let down = plan.kept.inner().strides[i];
        let rows = plan.crossing.filter(|_| columns == 1);
        for_each_block(axes, first, terms.clone(), rows, &mut |tile, at, row| {
            let along = (tile.columns.size, tile.columns.strides[i]);
            // Of one column, rows of the block are gathered; of several, a row of each.
            let (blocks, pitch, len, step) = match columns {
                1 => (1, row * size, tile.rows.size, tile.rows.strides[i]),
                _ => (tile.rows.size, pitch, columns, down),
            };
            for turn in 0..blocks {
                let to = to.wrapping_add((at + turn * row - terms.start) * size);
                let from = self.at(operand, tile.offsets_at(turn, 0));
                // SAFETY: terms of an input, and their places: the contract. The rows after them,
                // which `pack` may write, are spare, or of blocks that are gathered later.
                unsafe { self.gather(operand, (to, pitch), from, (len, step), along, true) };
            }
        });
    }
}
