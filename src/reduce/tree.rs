//! The tree of additions: blocks of terms, and blocks with each other. The module above says which tree it is.
//!
//! Every kernel here sums `width` columns at once, term by term: row `i` holds the `i`-th term of each column. They differ in
//! how they reach the terms, never in which terms they add to which. All are inlined into the caller, which is compiled for several
//! instruction sets.

/// Accumulators of a block: 64 bytes of `f32`, thus four vectors of any x86-64 and one of AVX-512.
pub(super) const LANES: usize = 16;

/// How many terms of a lane are added in a balanced tree before they go to the accumulator: rows for eight streams of memory, and
/// one load and store of the accumulator for eight loads.
const FAN_IN: usize = 8;

/// Terms in a group: every lane once.
pub(super) const GROUP: usize = LANES * FAN_IN;

/// Terms in a block. 4 KiB of `f32`: long enough to hide what is done once a block, short enough for an accumulator to take in no more
/// than eight groups.
pub(super) const BLOCK: usize = 8 * GROUP;

/// What a sum needs of its terms.
pub(super) trait Term: Copy + num_traits::Zero + Send + Sync {}

impl<A: Copy + num_traits::Zero + Send + Sync> Term for A {}

/// Where the rows of a block are, each of the same width.
pub(super) trait Rows<A> {
    /// The `i`-th term of each column.
    fn row(&self, i: usize) -> &[A];
}

/// `to[i] = to[i] + from[i]`.
#[inline(always)]
fn add<A: Term>(to: &mut [A], from: &[A]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = *to + from;
    }
}

/// The balanced sum of the terms of one lane in one group.
#[inline(always)]
fn fan_in<A: Term>(t: [A; FAN_IN]) -> A {
    ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]))
}

/// Sums eight rows, and puts (`FIRST`) or adds that to `to`.
#[inline(always)]
fn group<A: Term, const FIRST: bool>(to: &mut [A], rows: [&[A]; FAN_IN]) {
    let [a, b, c, d, e, f, g, h] = rows;
    let whole = to.len() / LANES * LANES;
    // By pieces of a known length, each read before it is written, so that there are vectors without a check for overlaps; and zipped,
    // so that there is none for the ends.
    let pieces = (to.chunks_exact_mut(LANES))
        .zip(a.chunks_exact(LANES).zip(b.chunks_exact(LANES)))
        .zip(c.chunks_exact(LANES).zip(d.chunks_exact(LANES)))
        .zip(e.chunks_exact(LANES).zip(f.chunks_exact(LANES)))
        .zip(g.chunks_exact(LANES).zip(h.chunks_exact(LANES)));
    for ((((to, (a, b)), (c, d)), (e, f)), (g, h)) in pieces {
        let mut sums = [A::zero(); LANES];
        for (i, sum) in sums.iter_mut().enumerate() {
            let group = fan_in([a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i]]);
            *sum = if FIRST { group } else { to[i] + group };
        }
        to.copy_from_slice(&sums);
    }
    for i in whole..to.len() {
        let group = fan_in([a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i]]);
        to[i] = if FIRST { group } else { to[i] + group };
    }
}

/// `to[i] = a[i] + b[i]`.
#[inline(always)]
fn pair<A: Term>(to: &mut [A], a: &[A], b: &[A]) {
    for (to, (&a, &b)) in to.iter_mut().zip(a.iter().zip(b)) {
        *to = a + b;
    }
}

/// What [`group`] does for eight rows one after the other, four rows at a time; `half` has room for one.
#[inline(always)]
fn group_by_fours<A: Term, const FIRST: bool>(to: &mut [A], rows: &[A], half: &mut [A]) {
    let len = to.len();
    let four = |rows| {
        let (low, high): (&[A], &[A]) = <[A]>::split_at(rows, 2 * len);
        (low.split_at(len), high.split_at(len))
    };
    let (low, high) = rows.split_at(4 * len);
    let ((a, b), (c, d)) = four(low);
    let pieces = (half.chunks_exact_mut(LANES))
        .zip(a.chunks_exact(LANES).zip(b.chunks_exact(LANES)))
        .zip(c.chunks_exact(LANES).zip(d.chunks_exact(LANES)));
    for ((half, (a, b)), (c, d)) in pieces {
        let mut sums = [A::zero(); LANES];
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = (a[i] + b[i]) + (c[i] + d[i]);
        }
        half.copy_from_slice(&sums);
    }
    let ((e, f), (g, h)) = four(high);
    let pieces = (to.chunks_exact_mut(LANES).zip(half.chunks_exact(LANES)))
        .zip(e.chunks_exact(LANES).zip(f.chunks_exact(LANES)))
        .zip(g.chunks_exact(LANES).zip(h.chunks_exact(LANES)));
    for (((to, half), (e, f)), (g, h)) in pieces {
        let mut sums = [A::zero(); LANES];
        for (i, sum) in sums.iter_mut().enumerate() {
            let group = half[i] + ((e[i] + f[i]) + (g[i] + h[i]));
            *sum = if FIRST { group } else { to[i] + group };
        }
        to.copy_from_slice(&sums);
    }
}

/// Sums the first `live` lanes of `width` columns by halves; the sum is in lane 0 then.
#[inline(always)]
fn fold_lanes<A: Term>(lanes: &mut [A], width: usize, mut live: usize) {
    let mut half = LANES / 2;
    while half > 0 {
        if live > half {
            let (low, high) = lanes.split_at_mut(half * width);
            add(low, &high[..(live - half) * width]);
            live = half;
        }
        half /= 2;
    }
}

/// The sums of a block of `count` rows of `width` columns, anywhere in memory. `lanes` has room for 16 rows.
#[inline(always)]
pub(super) fn block_of_rows<A: Term>(
    rows: &impl Rows<A>,
    count: usize,
    width: usize,
    lanes: &mut [A],
    sum: &mut [A],
) {
    let sum = &mut sum[..width];
    if count == 1 {
        sum.copy_from_slice(rows.row(0));
        return;
    }
    if count <= LANES {
        // The first halving takes the terms from where they are.
        let half = count.next_power_of_two() / 2;
        let lanes = &mut lanes[..half * width];
        for (lane, to) in lanes.chunks_exact_mut(width).enumerate() {
            if lane + half < count {
                pair(to, rows.row(lane), rows.row(lane + half));
            } else {
                to.copy_from_slice(rows.row(lane));
            }
        }
        fold_lanes(lanes, width, half);
        sum.copy_from_slice(&lanes[..width]);
        return;
    }
    let lanes = &mut lanes[..LANES * width];
    let mut next = count / GROUP * GROUP;
    for at in (0..next).step_by(GROUP) {
        for (lane, to) in lanes.chunks_exact_mut(width).enumerate() {
            let row = |k: usize| rows.row(at + lane + k * LANES);
            let rows = [
                row(0),
                row(1),
                row(2),
                row(3),
                row(4),
                row(5),
                row(6),
                row(7),
            ];
            if at == 0 {
                group::<A, true>(to, rows);
            } else {
                group::<A, false>(to, rows);
            }
        }
    }
    if next == 0 {
        for (lane, to) in lanes.chunks_exact_mut(width).enumerate() {
            if lane + LANES < count {
                pair(to, rows.row(lane), rows.row(lane + LANES));
            } else {
                to.copy_from_slice(rows.row(lane));
            }
        }
        next = (2 * LANES).min(count);
    }
    for i in next..count {
        add(&mut lanes[i % LANES * width..][..width], rows.row(i));
    }
    fold_lanes(lanes, width, LANES);
    sum.copy_from_slice(&lanes[..width]);
}

/// How a table is read. Reading eight streams that share a page of memory is what the machine's prefetchers do worst: 256 MiB in rows of
/// 16 `f32` take 22 ms so, 13 ms if each group is copied first, and 10 ms in one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Eight streams: from the cache, or where each is in a page of its own.
    Eight,
    /// Four streams, so near to each other that they are as one.
    Four,
    /// Group by group copied into the cache.
    Copied,
}

impl Reading {
    /// The best for a table in memory.
    pub(super) fn of_memory<A>(width: usize) -> Self {
        match LANES * width * size_of::<A>() {
            ..=256 => Reading::Four,
            257..4096 => Reading::Copied,
            _ => Reading::Eight,
        }
    }

    /// The rows that it takes beside the lanes.
    pub(super) fn extra_rows(self) -> usize {
        match self {
            Reading::Eight => 0,
            Reading::Four => LANES,
            Reading::Copied => GROUP,
        }
    }
}

/// The sums of a block whose rows of `width` columns lie one after the other. `lanes` has room for 16 rows, or as many as there are if
/// they are less, and `extra` for as many as the way of reading takes.
#[inline(always)]
pub(super) fn block_of_table<A: Term>(
    table: &[A],
    width: usize,
    reading: Reading,
    lanes: &mut [A],
    extra: &mut [A],
    sum: &mut [A],
) {
    let sum = &mut sum[..width];
    let vector = LANES * width;
    let live = (table.len() / width).min(LANES);
    let lanes = &mut lanes[..live * width];
    let mut first = true;
    let mut groups = table.chunks_exact(FAN_IN * vector);
    for mut terms in &mut groups {
        if reading == Reading::Four {
            if first {
                group_by_fours::<A, true>(lanes, terms, &mut extra[..vector]);
            } else {
                group_by_fours::<A, false>(lanes, terms, &mut extra[..vector]);
            }
            first = false;
            continue;
        }
        if reading == Reading::Copied {
            let copy = &mut extra[..terms.len()];
            copy.copy_from_slice(terms);
            terms = copy;
        }
        let (low, high) = terms.split_at(4 * vector);
        let ((ab, cd), (ef, gh)) = (low.split_at(2 * vector), high.split_at(2 * vector));
        let ((a, b), (c, d)) = (ab.split_at(vector), cd.split_at(vector));
        let ((e, f), (g, h)) = (ef.split_at(vector), gh.split_at(vector));
        let rows = [a, b, c, d, e, f, g, h];
        if first {
            group::<A, true>(lanes, rows);
        } else {
            group::<A, false>(lanes, rows);
        }
        first = false;
    }
    for terms in groups.remainder().chunks(vector) {
        if first {
            lanes.copy_from_slice(terms);
        } else {
            add(lanes, terms);
        }
        first = false;
    }
    fold_lanes(lanes, width, live);
    sum.copy_from_slice(&lanes[..width]);
}

/// The sums of two vectors' lanes.
#[inline(always)]
fn sum_of<A: Term>(a: &[A], b: &[A]) -> [A; LANES] {
    let mut sums = [A::zero(); LANES];
    pair(&mut sums, a, b);
    sums
}

/// The lanes of four vectors.
#[inline(always)]
fn lanes_of_four<A: Term>(terms: &[A]) -> [A; LANES] {
    let (low, high) = terms.split_at(2 * LANES);
    let two = |terms: &[A]| sum_of(&terms[..LANES], &terms[LANES..]);
    sum_of(&two(low), &two(high))
}

/// The lanes of a group.
#[inline(always)]
fn lanes_of_group<A: Term>(terms: &[A]) -> [A; LANES] {
    let (low, high) = terms.split_at(GROUP / 2);
    sum_of(&lanes_of_four(low), &lanes_of_four(high))
}

/// The first halving of all lanes.
#[inline(always)]
fn halved<A: Term>(lanes: [A; LANES]) -> [A; 8] {
    std::array::from_fn(|i| lanes[i] + lanes[i + 8])
}

/// The others.
#[inline(always)]
fn fold_eight<A: Term>(eight: [A; 8]) -> A {
    let four: [A; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// How a block of one column is summed whose terms lie one after the other.
pub(super) trait Run {
    /// The sum of the first `len` of `terms`.
    fn sum<A: Term>(terms: &[A], len: usize) -> A;
}

/// Any that has as many terms as lanes.
pub(super) struct LongRun;

impl Run for LongRun {
    #[inline(always)]
    fn sum<A: Term>(terms: &[A], len: usize) -> A {
        let mut groups = terms[..len].chunks_exact(GROUP);
        let mut vectors = groups.remainder().chunks_exact(LANES);
        let rest = vectors.remainder();
        let mut lanes = [A::zero(); LANES];
        if let Some(terms) = groups.next() {
            lanes = lanes_of_group(terms);
        } else if let Some(terms) = vectors.next() {
            lanes.copy_from_slice(terms);
        }
        for terms in groups {
            lanes = sum_of(&lanes, &lanes_of_group(terms));
        }
        for terms in vectors {
            for (lane, &term) in lanes.iter_mut().zip(terms) {
                *lane = *lane + term;
            }
        }
        if !rest.is_empty() {
            // Another array, which is in memory as the compiler does not know how far this goes.
            let mut longer = lanes;
            add(&mut longer, rest);
            lanes = longer;
        }
        // Aligned, so that no store of it is across two lines, which would have the loads wait for it.
        #[repr(align(64))]
        struct Aligned<T>(T);
        // Out of the compiler's sight, which would cut the lanes above into such small vectors as the last additions are of.
        let Aligned(eight) = std::hint::black_box(Aligned(halved(lanes)));
        fold_eight(eight)
    }
}

/// Less than a group, and not all whole vectors.
pub(super) struct OddRun;

impl Run for OddRun {
    #[inline(always)]
    fn sum<A: Term>(terms: &[A], len: usize) -> A {
        let (first, others) = terms.split_at(LANES);
        let mut lanes = [A::zero(); LANES];
        lanes.copy_from_slice(first);
        let (vectors, rest) = others.split_at((len / LANES - 1) * LANES);
        for terms in vectors.chunks_exact(LANES) {
            for (lane, &term) in lanes.iter_mut().zip(terms) {
                *lane = *lane + term;
            }
        }
        let count = len % LANES;
        let mut copy = [A::zero(); LANES];
        // A whole vector where there is one, of which only so many are used: rows of 17 `f32` take 22 ps a byte so and 106 one by one.
        let rest = rest.first_chunk().unwrap_or_else(|| {
            copy[..count].copy_from_slice(&rest[..count]);
            &copy
        });
        for (i, (lane, &term)) in lanes.iter_mut().zip(rest).enumerate() {
            if i < count {
                *lane = *lane + term;
            }
        }
        fold_eight(halved(lanes))
    }
}

/// Fewer terms than lanes.
pub(super) struct ShortRun;

impl Run for ShortRun {
    #[inline(always)]
    fn sum<A: Term>(terms: &[A], len: usize) -> A {
        let mut lanes = [A::zero(); LANES];
        lanes[..len].copy_from_slice(&terms[..len]);
        fold_lanes(&mut lanes, 1, len);
        lanes[0]
    }
}

/// How many columns have their lanes added together: step by step for all of them, as adding up one vector alone takes longer than
/// making it. 256 MiB in rows of 15 `f32` take 8.5 ms
/// so and 31 ms one by one; rows of up to 10 take no longer than they are read for.
const TOGETHER: usize = 32;

/// The sums of columns whose eight first lanes `first_halving` gives, the others having been added to them.
#[inline(always)]
fn fold_together<A: Term>(sum: &mut [A], mut first_halving: impl FnMut(usize) -> [A; 8]) {
    let mut column = 0;
    for sum in sum.chunks_mut(TOGETHER) {
        let (mut eights, mut fours) = ([[A::zero(); 8]; TOGETHER], [[A::zero(); 4]; TOGETHER]);
        let mut twos = [[A::zero(); 2]; TOGETHER];
        let count = sum.len();
        for eight in &mut eights[..count] {
            *eight = first_halving(column);
            column += 1;
        }
        for (four, eight) in fours[..count].iter_mut().zip(&eights) {
            *four = std::array::from_fn(|i| eight[i] + eight[i + 4]);
        }
        for (two, four) in twos[..count].iter_mut().zip(&fours) {
            *two = std::array::from_fn(|i| four[i] + four[i + 2]);
        }
        for (sum, two) in sum.iter_mut().zip(&twos) {
            *sum = two[0] + two[1];
        }
    }
}

/// The sums of columns of `N` terms each, column after column in memory, for `N` up to 16.
#[inline(always)]
pub(super) fn columns_of<A: Term, const N: usize>(terms: &[A], sum: &mut [A]) {
    if N > 10 {
        return fold_together(sum, |column| {
            let terms = &terms[column * N..][..N];
            std::array::from_fn(|i| match i + 8 < N {
                true => terms[i] + terms[i + 8],
                false => terms[i],
            })
        });
    }
    for (sum, terms) in sum.iter_mut().zip(terms.chunks_exact(N)) {
        let mut lanes: [A; N] = std::array::from_fn(|i| terms[i]);
        let mut live = N;
        for half in [8, 4, 2, 1] {
            if live > half {
                for i in 0..live - half {
                    lanes[i] = lanes[i] + lanes[i + half];
                }
                live = half;
            }
        }
        *sum = lanes[0];
    }
}

/// What [`fold_parts`] comes to for single sums, which it takes longer for: 4 MiB are summed in 48 us so and in 50 by it, on one thread.
#[inline(always)]
pub(super) fn fold_neighbours<A: Term>(sums: &mut [A]) -> A {
    let mut count = sums.len();
    while count > 1 {
        for i in 0..count / 2 {
            sums[i] = sums[2 * i] + sums[2 * i + 1];
        }
        if count % 2 == 1 {
            sums[count / 2] = sums[count - 1];
        }
        count = count.div_ceil(2);
    }
    sums[0]
}

/// Takes in the sums of the `index`-th block of `width` columns, counted from 0. `stack` has a row for each bit of the count of
/// blocks, and keeps the sums of 1, 2, 4, ... blocks that wait for their neighbours.
#[inline(always)]
pub(super) fn push_block<A: Term>(stack: &mut [A], width: usize, index: usize, sum: &mut [A]) {
    let mut level = 0;
    while index >> level & 1 == 1 {
        let waiting = &stack[level * width..][..width];
        for (sum, &waiting) in sum.iter_mut().zip(waiting) {
            *sum = waiting + *sum;
        }
        level += 1;
    }
    stack[level * width..][..width].copy_from_slice(sum);
}

/// The sums of all `count` blocks that have been pushed, the last of them being in `sum` no more.
#[inline(always)]
pub(super) fn fold_blocks<A: Term>(stack: &[A], width: usize, count: usize, sum: &mut [A]) {
    let lowest = count.trailing_zeros() as usize;
    sum.copy_from_slice(&stack[lowest * width..][..width]);
    for level in lowest + 1..usize::BITS as usize {
        if count >> level & 1 == 1 {
            let waiting = &stack[level * width..][..width];
            for (sum, &waiting) in sum.iter_mut().zip(waiting) {
                *sum = waiting + *sum;
            }
        }
    }
}

/// Sums rows of partial sums, each of an equal power of two of blocks but the last, which may have fewer: neighbours first. The sums
/// are in row 0 then.
pub(super) fn fold_parts<A: Term>(parts: &mut [A], width: usize, count: usize) {
    let mut step = 1;
    while step < count {
        for left in (0..count - step).step_by(2 * step) {
            let (low, high) = parts.split_at_mut((left + step) * width);
            add(&mut low[left * width..][..width], &high[..width]);
        }
        step *= 2;
    }
}
