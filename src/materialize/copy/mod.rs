//! The loops that move elements: a nest of two operands, out and source, filled on one thread.
//!
//! All of it works on positions of a nest (see [`LoopNest`](super::layout::LoopNest)), so that work can be cut anywhere. Pointers are
//! moved with `wrapping_*`, which is never undefined; only reads and writes are unsafe.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod expand;
use crate::engine::nest::{LoopAxis, Odometer, for_each_tile, walk};
use crate::engine::simd::{WIDE_REGISTER, has_wide_registers};
use crate::engine::stream::{copy_in_cache, stream};
use crate::engine::tuning::CACHE_LINE;
use std::mem::MaybeUninit;
use std::ops::{Range, RangeInclusive};
use std::ptr;

/// Bytes of the block that small rows and repeats are built in before they are streamed or repeated: half of the smallest
/// first-level cache around, so that source lines fit beside it. 8 to 32 KiB measured the same within 3 %.
pub(crate) const BLOCK: usize = 16 << 10;

/// Bytes that are repeated with plain stores at a time. 4 MiB of periods of 256 bytes take one thread 53 us so, 60 if they are as long
/// as the block: what is written pushes it out of the first-level cache.
pub(crate) const SHORT_REPEAT: usize = 2 << 10;

/// The longest period of which the block holds two.
pub(crate) const SHORT_PERIOD: usize = BLOCK / 2;

/// Rows at least this long are streamed straight from the source: what remains at their ends, less than a line each, is then
/// below 4 % of them.
pub(crate) const LONG_ROW: usize = 4 << 10;

/// Planes of fewer bytes than this are not worth making a table of shuffles for, which takes some 100 ns.
pub(crate) const LONG_EXPANSION: usize = 2 << 10;

/// Rows of so many bytes are copied as their first and last bytes.
const SHORT_ROW: RangeInclusive<usize> = 4..=64;

/// Up to so many short rows of one source row are copied from there, each. To be repeated they are read where they have just been
/// written, in other pieces, and wait: 4 MiB of `[N, 1, 16] -> [N, 8, 16]`, f32, take a thread 220 us so and 160 from the source; from
/// 64 rows on repeating is ahead.
const FEW_ROWS: usize = 32;

/// Planes of up to so many bytes are made many at a time. One by one each costs some 16 ns: 4.2 ms for 4 MiB of `[N, 1, 2] -> [N, 2, 2]`, f32,
/// on one thread, and 0.26 ms row by row. Beyond, planes begin so far apart that this is no faster than one by one.
const SMALL_PLANE: usize = 256;

/// So many planes are worth it.
const MANY_PLANES: usize = 4;

/// One loop over out (operand 0) and source (operand 1).
pub(crate) type Axis = LoopAxis<2>;

/// How many positions the axes have.
#[inline]
pub(crate) fn elements(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.size).product()
}

/// The axes from the innermost one outwards, each with its place and with how many positions those inside it have.
#[inline]
fn outwards(axes: &[Axis]) -> impl Iterator<Item = (usize, &Axis, usize)> {
    let mut inside = 1;
    axes.iter().enumerate().rev().map(move |(place, axis)| {
        let within = inside;
        inside *= axis.size;
        (place, axis, within)
    })
}

/// A sequence of axes all of whose out elements lie side by side, in the order of the positions.
pub(crate) fn dense_len(axes: &[Axis]) -> Option<usize> {
    outwards(axes)
        .all(|(_, axis, inside)| axis.strides[0].unsigned_abs() == inside)
        .then(|| elements(axes))
}

/// Copies the positions `range` of the nest `axes` with plain stores.
///
/// # Safety
///
/// For every position in `range`, of which none is past the end of the nest, `to` plus the first offset is valid for a write of an
/// `A`, and `from` plus the second is valid for a read of one, both aligned. No element read is one of those written, and those
/// written are distinct.
#[inline]
pub(crate) unsafe fn fill<A: Copy>(axes: &[Axis], to: *mut A, from: *const A, range: Range<usize>) {
    // Two axes are a plane, whose rows are repeated where that is made.
    if axes.len() < 3 {
        // SAFETY: the caller's promise.
        return unsafe { fill_planes(axes, to, from, range) };
    }
    if let Some(place) = repeated_planes::<A>(axes) {
        return walk(
            &axes[..place],
            [0, 0],
            elements(&axes[place..]),
            range,
            |offsets, range| {
                let to = to.wrapping_offset(offsets[0]);
                let from = from.wrapping_offset(offsets[1]);
                // SAFETY: a part of the range; the axes from `place` on are such as are wanted, or it is not found.
                unsafe { fill_repeated(&axes[place..], to, from, range) };
            },
        );
    }
    match small_planes::<A>(axes) {
        // SAFETY: the caller's promise, and the axis is such a one.
        Some(place) => unsafe { fill_small_planes(axes, place, to, from, range) },
        // SAFETY: the caller's promise.
        None => unsafe { fill_planes(axes, to, from, range) },
    }
}

/// The outermost axis that replicates two axes or more, if what is inside it is dense in out and short.
#[inline]
pub(crate) fn repeated_planes<A>(axes: &[Axis]) -> Option<usize> {
    outwards(axes)
        .take_while(|&(_, axis, inside)| {
            axis.strides[0] == inside as isize && inside * size_of::<A>() <= SHORT_PERIOD
        })
        .filter(|(place, axis, _)| axis.strides[1] == 0 && place + 3 <= axes.len())
        .map(|(place, ..)| place)
        .last()
}

/// [`fill`] where the outermost axis replicates what is inside it: made once, then repeated. Eight axes of six, every other one
/// replicated, take a thread 20 ps a byte so, and 46 plane by plane.
///
/// # Safety
///
/// As [`fill`]; `axes` is dense in out, not empty, and its first source stride is 0.
unsafe fn fill_repeated<A: Copy>(axes: &[Axis], to: *mut A, from: *const A, range: Range<usize>) {
    let inside = &axes[1..];
    let period = elements(inside);
    let skip = range.start % period;
    let before_end = (period - skip).min(range.len());
    let period_start = to.wrapping_add(range.start - skip);
    // SAFETY: the first positions of the range, up to the end of the period in which it begins.
    unsafe { fill(inside, period_start, from, skip..skip + before_end) };
    let after = skip.min(range.len() - before_end);
    // SAFETY: those after them, until all of a period has been made or the range ends.
    unsafe { fill(inside, period_start.wrapping_add(period), from, 0..after) };
    // SAFETY: the range lies side by side in out, and a period of it has been written, or all of it.
    unsafe { repeat_in_place(to.wrapping_add(range.start), period, range.len()) };
}

/// The longest axis, if it is one of those around a small plane.
#[inline]
pub(crate) fn small_planes<A>(axes: &[Axis]) -> Option<usize> {
    outwards(axes)
        .take_while(|(_, _, inside)| inside * size_of::<A>() <= SMALL_PLANE)
        .map(|(place, axis, _)| (place, axis.size))
        .reduce(|longest, outer| if outer.1 > longest.1 { outer } else { longest })
        .filter(|&(place, size)| size >= MANY_PLANES && place + 3 <= axes.len())
        .map(|(place, _)| place)
}

/// [`fill`], the rows of many small planes together: the first of each, then the second of each.
///
/// # Safety
///
/// As [`fill`]; two axes at least are inside axis `place`.
unsafe fn fill_small_planes<A: Copy>(
    axes: &[Axis],
    place: usize,
    to: *mut A,
    from: *const A,
    range: Range<usize>,
) {
    let (planes, inside) = (axes[place], &axes[place + 1..]);
    let Some((inner, middle)) = inside.split_last() else {
        return;
    };
    let len = elements(inside);
    let together = (SHORT_PERIOD / (len * size_of::<A>())).max(1);
    walk(
        &axes[..place],
        [0, 0],
        elements(&axes[place..]),
        range,
        |offsets, range| {
            let to = to.wrapping_offset(offsets[0]);
            let from = from.wrapping_offset(offsets[1]);
            let (first, end) = (range.start.div_ceil(len), range.end / len);
            if end < first + MANY_PLANES {
                // SAFETY: a part of the range.
                return unsafe { fill_planes(&axes[place..], to, from, range) };
            }
            // SAFETY: as above.
            unsafe { fill_planes(&axes[place..], to, from, range.start..first * len) };
            for plane in (first..end).step_by(together) {
                let rows = Axis {
                    size: together.min(end - plane),
                    ..planes
                };
                let to = to.wrapping_offset(plane as isize * planes.strides[0]);
                let from = from.wrapping_offset(plane as isize * planes.strides[1]);
                let mut odometer = Odometer::new(middle, [0, 0], 0);
                for _ in 0..len / inner.size {
                    let [to_row, from_row] = odometer.offsets();
                    let (to, from) = (to.wrapping_offset(to_row), from.wrapping_offset(from_row));
                    // SAFETY: the same row of `rows.size` whole planes in the range.
                    unsafe { copy_plane(to, from, rows, *inner) };
                    odometer.advance();
                }
            }
            // SAFETY: as above.
            unsafe { fill_planes(&axes[place..], to, from, end * len..range.end) };
        },
    );
}

/// [`fill`], plane by plane.
///
/// # Safety
///
/// As [`fill`].
#[inline]
unsafe fn fill_planes<A: Copy>(axes: &[Axis], to: *mut A, from: *const A, range: Range<usize>) {
    for_each_tile(axes, [0, 0], range, |tile| {
        let to = to.wrapping_offset(tile.offsets[0]);
        let from = from.wrapping_offset(tile.offsets[1]);
        // SAFETY: positions of `range`.
        unsafe { copy_plane(to, from, tile.rows, tile.columns) };
    });
}

/// Two loops, `rows` around `inner`.
///
/// # Safety
///
/// As [`fill`], for all positions of the nest `[rows, inner]`.
#[inline]
unsafe fn copy_plane<A: Copy>(to: *mut A, from: *const A, rows: Axis, inner: Axis) {
    let repeats = rows.size > 1 && rows.strides == [inner.size as isize, 0];
    match inner.strides {
        [1, 1]
            if repeats
                && rows.size <= FEW_ROWS
                && SHORT_ROW.contains(&(inner.size * size_of::<A>())) =>
        {
            // SAFETY: the same positions.
            unsafe { copy_rows(to, from, rows, inner.size) }
        }
        [1, source_stride] if repeats && (source_stride != 0 || inner.size < 8) => {
            let first = Axis { size: 1, ..rows };
            // SAFETY: the first of the rows.
            unsafe { copy_plane(to, from, first, inner) };
            // SAFETY: the rows lie side by side, as the stride says, and the first has just been written.
            unsafe { repeat_in_place(to, inner.size, inner.size * rows.size) };
        }
        // SAFETY: the same positions.
        [1, 1] => unsafe { copy_rows(to, from, rows, inner.size) },
        // SAFETY: the same positions.
        [1, 0] => unsafe { splat_rows(to, from, rows, inner.size) },
        [1, _] if rows.size >= 4 && inner.size >= 4 && is_transposed(rows, inner) => {
            // SAFETY: the same positions.
            unsafe { transpose(to, from, rows, inner) }
        }
        [1, source_stride] => {
            // A stride known to the compiler lets it shuffle registers.
            let gather = match source_stride {
                -1 => gather_rows::<A, -1>,
                2 => gather_rows::<A, 2>,
                _ => gather_rows::<A, 0>,
            };
            // SAFETY: the same positions, and the stride is the function's.
            unsafe { gather(to, from, rows, inner) }
        }
        // SAFETY: the same positions.
        _ => unsafe { scatter_rows(to, from, rows, inner) },
    }
}

/// Whether the source is walked in shorter steps by `rows` than by `inner`.
#[inline]
pub(crate) fn is_transposed(rows: Axis, inner: Axis) -> bool {
    rows.strides[1] != 0 && rows.strides[1].unsigned_abs() < inner.strides[1].unsigned_abs()
}

/// Writes elements `period..total` as copies of the first `period`, over and over.
///
/// # Safety
///
/// `to` is valid for writes of `total` elements, of which the first `period`, at least one, are initialised.
#[inline]
pub(crate) unsafe fn repeat_in_place<A: Copy>(to: *mut A, period: usize, total: usize) {
    let mut done = period;
    // What is copied from doubles until it is long enough, and stays in the first-level cache.
    while done < total && done * size_of::<A>() <= SHORT_REPEAT / 2 {
        let count = done.min(total - done);
        // SAFETY: `count <= done` elements before `done` are initialised, and `done + count <= total`.
        unsafe { ptr::copy_nonoverlapping(to, to.wrapping_add(done), count) };
        done += count;
    }
    let block = done;
    while done < total {
        let count = block.min(total - done);
        let (from, to) = (to.cast::<u8>(), to.wrapping_add(done).cast::<u8>());
        // SAFETY: as above, and `count <= block <= done`; `done` is a multiple of `block`, and this one of `period`.
        unsafe { copy_in_cache(from, to, count * size_of::<A>()) };
        done += count;
    }
}

/// Rows of `len` elements that lie side by side in both operands.
///
/// # Safety
///
/// As [`fill`], for `[rows, {len, [1, 1]}]`.
#[inline]
unsafe fn copy_rows<A: Copy>(to: *mut A, from: *const A, rows: Axis, len: usize) {
    let bytes = len * size_of::<A>();
    let short = match bytes {
        4..=8 => Some(copy_short_rows::<A, 4> as unsafe fn(_, _, _, _)),
        9..=16 => Some(copy_short_rows::<A, 8> as _),
        17..=32 => Some(copy_short_rows::<A, 16> as _),
        33..=64 => Some(copy_short_rows::<A, 32> as _),
        _ => None,
    };
    if let (Some(copy_short_rows), 2..) = (short, rows.size) {
        // SAFETY: the same rows, of a size that the function is for.
        return unsafe { copy_short_rows(to, from, rows, bytes) };
    }
    let (mut to, mut from) = (to, from);
    for _ in 0..rows.size {
        // SAFETY: a row that the caller vouches for; what is read is not written.
        unsafe { copy_in_cache(from.cast(), to.cast(), bytes) };
        to = to.wrapping_offset(rows.strides[0]);
        from = from.wrapping_offset(rows.strides[1]);
    }
}

/// Rows of `W..=2 * W` bytes, each as its first `W` and its last `W` bytes, which needs no branch.
///
/// # Safety
///
/// As [`copy_rows`], and `W <= bytes <= 2 * W`.
#[inline]
unsafe fn copy_short_rows<A: Copy, const W: usize>(
    to: *mut A,
    from: *const A,
    rows: Axis,
    bytes: usize,
) {
    let (mut to, mut from) = (to, from);
    let last = bytes - W;
    for _ in 0..rows.size {
        let (to_bytes, from_bytes) = (to.cast::<u8>(), from.cast::<u8>());
        // SAFETY: `W <= bytes`, the row's, for which the caller vouches; what is read is not written.
        unsafe { ptr::copy_nonoverlapping(from_bytes, to_bytes, W) };
        let (to_bytes, from_bytes) = (to_bytes.wrapping_add(last), from_bytes.wrapping_add(last));
        // SAFETY: `last + W == bytes`.
        unsafe { ptr::copy_nonoverlapping(from_bytes, to_bytes, W) };
        to = to.wrapping_offset(rows.strides[0]);
        from = from.wrapping_offset(rows.strides[1]);
    }
}

/// Rows of `len` copies of one element.
///
/// # Safety
///
/// As [`fill`], for `[rows, {len, [1, 0]}]`.
#[inline]
unsafe fn splat_rows<A: Copy>(to: *mut A, from: *const A, rows: Axis, len: usize) {
    let (mut to, mut from, mut rows) = (to, from, rows);
    let bytes = len * size_of::<A>();
    if rows.strides[0] == len as isize
        && rows.size * bytes >= WIDE_FROM
        && (WIDE_REGISTER..=4 * WIDE_REGISTER).contains(&bytes)
        && has_wide_registers()
    {
        // SAFETY: the same rows, side by side as the stride says, and the processor has such registers.
        let done = unsafe { splat_short_rows_wide(to, from, rows, len) };
        rows.size -= done;
        to = to.wrapping_offset(rows.strides[0] * done as isize);
        from = from.wrapping_offset(rows.strides[1] * done as isize);
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if rows.strides == [len as isize, 1]
        && rows.size * len * size_of::<A>() >= LONG_EXPANSION
        && expand::can_expand(size_of::<A>(), len)
    {
        let all = 0..rows.size * len;
        // SAFETY: the same rows, side by side in out and in the source, as the strides say.
        let done = unsafe { expand::expand(to, from, rows.size, len, all, false) };
        let whole = done.end / len;
        rows.size -= whole;
        to = to.wrapping_add(whole * len);
        from = from.wrapping_add(whole);
    }
    if rows.strides[0] == len as isize && rows.size > 1 {
        let splat = match size_of::<A>() {
            1 => splat_short_rows_by::<A, 16>,
            2 => splat_short_rows_by::<A, 8>,
            4 => splat_short_rows_by::<A, 4>,
            8 => splat_short_rows_by::<A, 2>,
            _ => no_rows,
        };
        // SAFETY: the same rows, side by side as the stride says.
        let done = unsafe { splat(to, from, rows, len) };
        rows.size -= done;
        to = to.wrapping_offset(rows.strides[0] * done as isize);
        from = from.wrapping_offset(rows.strides[1] * done as isize);
    }
    for _ in 0..rows.size {
        // SAFETY: the row's one source element.
        let element = unsafe { from.read() };
        // SAFETY: the row, for which the caller vouches.
        unsafe { splat(to, element, len) };
        to = to.wrapping_offset(rows.strides[0]);
        from = from.wrapping_offset(rows.strides[1]);
    }
}

/// Writes `len` copies of one element.
///
/// # Safety
///
/// `to` is valid for writes of `len` elements.
#[inline]
unsafe fn splat<A: Copy>(to: *mut A, element: A, len: usize) {
    if size_of::<A>().is_power_of_two() && size_of::<A>() <= WIDE_REGISTER || len < 4 {
        if len * size_of::<A>() >= WIDE_FROM && has_wide_registers() {
            // SAFETY: the caller's promise, and the processor has such registers.
            return unsafe { splat_wide(to, element, len) };
        }
        // SAFETY: the caller's promise.
        unsafe { splat_one_by_one(to, element, len) };
    } else {
        // SAFETY: the first element.
        unsafe { to.write(element) };
        // SAFETY: the elements, of which the first is written.
        unsafe { repeat_in_place(to, 1, len) };
    }
}

/// [`splat`], for the compiler to vectorise.
///
/// # Safety
///
/// As [`splat`].
#[inline(always)]
unsafe fn splat_one_by_one<A: Copy>(to: *mut A, element: A, len: usize) {
    for i in 0..len {
        // SAFETY: `i < len`, for which the caller vouches.
        unsafe { to.wrapping_add(i).write(element) };
    }
}

/// Rows of fewer bytes than this are not worth asking the processor what it can. From 256 bytes on it pays; a fill of 10 KB takes
/// 1.0 us by registers of 32 bytes and 2.8 by those of 16.
const WIDE_FROM: usize = 256;

/// [`splat_one_by_one`] with wide registers.
///
/// # Safety
///
/// As [`splat`], and [`has_wide_registers`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn splat_wide<A: Copy>(to: *mut A, element: A, len: usize) {
    // Registers that begin at a multiple of their size cross no cache line: 24 us instead of 31 for 4 MiB on two threads.
    let head = to.align_offset(WIDE_REGISTER);
    let head = if head < len { head } else { 0 };
    // SAFETY: the caller's promise, and `head <= len`.
    unsafe { splat_one_by_one(to, element, head) };
    // SAFETY: as above.
    unsafe { splat_one_by_one(to.wrapping_add(head), element, len - head) };
}

/// [`splat_short_rows`] with as many registers of `K` elements as a row of `len` needs, if that is few. Says how many rows it did.
///
/// # Safety
///
/// As [`splat_rows`], and the rows lie side by side.
#[inline(always)]
unsafe fn splat_short_rows_by<A: Copy, const K: usize>(
    to: *mut A,
    from: *const A,
    rows: Axis,
    len: usize,
) -> usize {
    match len.div_ceil(K) {
        // SAFETY: the caller's promise, and `len <= K * R`; so below.
        1 => unsafe { splat_short_rows::<A, K, 1>(to, from, rows, len) },
        // SAFETY: as above.
        2 => unsafe { splat_short_rows::<A, K, 2>(to, from, rows, len) },
        // SAFETY: as above.
        3 => unsafe { splat_short_rows::<A, K, 3>(to, from, rows, len) },
        // SAFETY: as above.
        4 => unsafe { splat_short_rows::<A, K, 4>(to, from, rows, len) },
        _ => 0,
    }
}

/// [`splat_short_rows_by`] with wide registers.
///
/// # Safety
///
/// As [`splat_short_rows_by`], and [`has_wide_registers`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn splat_short_rows_wide<A: Copy>(
    to: *mut A,
    from: *const A,
    rows: Axis,
    len: usize,
) -> usize {
    match size_of::<A>() {
        // SAFETY: the caller's promise; so below.
        1 => unsafe { splat_short_rows_by::<A, 32>(to, from, rows, len) },
        // SAFETY: as above.
        2 => unsafe { splat_short_rows_by::<A, 16>(to, from, rows, len) },
        // SAFETY: as above.
        4 => unsafe { splat_short_rows_by::<A, 8>(to, from, rows, len) },
        // SAFETY: as above.
        8 => unsafe { splat_short_rows_by::<A, 4>(to, from, rows, len) },
        // SAFETY: as above.
        16 => unsafe { splat_short_rows_by::<A, 2>(to, from, rows, len) },
        _ => 0,
    }
}

/// Stands for a function that does some rows and says how many, where there is none.
unsafe fn no_rows<A>(_to: *mut A, _from: *const A, _rows: Axis, _len: usize) -> usize {
    0
}

/// Each row by `R` registers of `K` elements, the last of which reaches into the next row, whose turn comes after. So the last
/// rows, as many as that could reach past, are left to do; says how many are done.
///
/// # Safety
///
/// As [`splat_rows`], the rows lie side by side, and `len <= K * R`.
#[inline(always)]
unsafe fn splat_short_rows<A: Copy, const K: usize, const R: usize>(
    to: *mut A,
    from: *const A,
    rows: Axis,
    len: usize,
) -> usize {
    let (mut to, mut from) = (to, from);
    let done = rows.size.saturating_sub((K * R).div_ceil(len));
    for _ in 0..done {
        // SAFETY: the row's one source element.
        let element = unsafe { from.read() };
        for register in 0..R {
            let to = to.wrapping_add(register * K).cast::<[A; K]>();
            // SAFETY: it ends at most `K * R` elements after this row begins, and so many follow, in this row and in those
            // that are left to do. An array is aligned as its elements are.
            unsafe { to.write([element; K]) };
        }
        to = to.wrapping_add(len);
        from = from.wrapping_offset(rows.strides[1]);
    }
    done
}

/// Rows that lie side by side in out and are `STRIDE` apart in the source, or `inner.strides[1]` if `STRIDE` is 0.
///
/// # Safety
///
/// As [`fill`], for `[rows, inner]`; `inner.strides` is `[1, STRIDE]`, or `[1, _]` where `STRIDE` is 0.
#[inline]
unsafe fn gather_rows<A: Copy, const STRIDE: isize>(
    to: *mut A,
    from: *const A,
    rows: Axis,
    inner: Axis,
) {
    let (mut to, mut from) = (to, from);
    let stride = if STRIDE == 0 {
        inner.strides[1]
    } else {
        STRIDE
    };
    for _ in 0..rows.size {
        for i in 0..inner.size {
            // SAFETY: a position that the caller vouches for.
            let element = unsafe { from.wrapping_offset(i as isize * stride).read() };
            // SAFETY: as above.
            unsafe { to.wrapping_add(i).write(element) };
        }
        to = to.wrapping_offset(rows.strides[0]);
        from = from.wrapping_offset(rows.strides[1]);
    }
}

/// Any strides.
///
/// # Safety
///
/// As [`fill`], for `[rows, inner]`.
#[inline]
unsafe fn scatter_rows<A: Copy>(to: *mut A, from: *const A, rows: Axis, inner: Axis) {
    let (mut to, mut from) = (to, from);
    for _ in 0..rows.size {
        let (mut to_element, mut from_element) = (to, from);
        for _ in 0..inner.size {
            // SAFETY: a position that the caller vouches for.
            let element = unsafe { from_element.read() };
            // SAFETY: as above.
            unsafe { to_element.write(element) };
            to_element = to_element.wrapping_offset(inner.strides[0]);
            from_element = from_element.wrapping_offset(inner.strides[1]);
        }
        to = to.wrapping_offset(rows.strides[0]);
        from = from.wrapping_offset(rows.strides[1]);
    }
}

/// How many rows of a transposed source are copied together: as many as elements of a cache line, which so is fetched once.
pub(crate) const fn transposed_rows<A>() -> usize {
    match size_of::<A>() {
        0..=16 => {
            CACHE_LINE
                / if size_of::<A>() == 0 {
                    1
                } else {
                    size_of::<A>()
                }
        }
        _ => 4,
    }
}

/// A source whose lines run along `rows`, out's along `inner`.
///
/// # Safety
///
/// As [`fill`], for `[rows, inner]`; `inner.strides[0]` is 1.
pub(crate) unsafe fn transpose<A: Copy>(to: *mut A, from: *const A, rows: Axis, inner: Axis) {
    // Four registers of four `f32` turn into one another in eight shuffles.
    const K: usize = 4;
    let step = transposed_rows::<A>();
    let mut row = 0;
    while row < rows.size {
        let count = step.min(rows.size - row);
        let to = to.wrapping_offset(row as isize * rows.strides[0]);
        let from = from.wrapping_offset(row as isize * rows.strides[1]);
        row += count;
        let (mut squares_down, mut squares_along) = (0, 0);
        if rows.strides[1] == 1 && size_of::<A>() <= 16 {
            (squares_down, squares_along) = (count / K, inner.size / K);
        }
        for along in 0..squares_along {
            for down in 0..squares_down {
                let from = from
                    .wrapping_offset((along * K) as isize * inner.strides[1])
                    .wrapping_add(down * K);
                let to = to
                    .wrapping_offset((down * K) as isize * rows.strides[0])
                    .wrapping_add(along * K);
                let square: [[A; K]; K] = std::array::from_fn(|i| {
                    let column = from.wrapping_offset(i as isize * inner.strides[1]);
                    // SAFETY: rows `down * K..` of column `along * K + i`, side by side as `rows.strides[1]` is 1; an array is
                    // aligned as its elements are.
                    unsafe { column.cast::<[A; K]>().read() }
                });
                #[allow(clippy::needless_range_loop)] // A column of the square.
                for j in 0..K {
                    let to = to.wrapping_offset(j as isize * rows.strides[0]);
                    let row: [A; K] = std::array::from_fn(|i| square[i][j]);
                    // SAFETY: columns `along * K..` of row `down * K + j`, side by side as `inner.strides[0]` is 1.
                    unsafe { to.cast::<[A; K]>().write(row) };
                }
            }
        }
        // What is right of the squares and below them.
        let (done_rows, done_columns) = (squares_down * K, squares_along * K);
        for column in 0..inner.size {
            let from = from.wrapping_offset(column as isize * inner.strides[1]);
            let to = to.wrapping_add(column);
            let first = if column < done_columns { done_rows } else { 0 };
            for row in first..count {
                // SAFETY: a position that the caller vouches for.
                let element =
                    unsafe { from.wrapping_offset(row as isize * rows.strides[1]).read() };
                let to = to.wrapping_offset(row as isize * rows.strides[0]);
                // SAFETY: as above.
                unsafe { to.write(element) };
            }
        }
    }
}

/// A cache line and a block after it, on the stack.
#[repr(C, align(64))]
struct Block {
    /// Keeps, at its end, what is left of the block before.
    carry: MaybeUninit<[u8; CACHE_LINE]>,
    block: MaybeUninit<[u8; BLOCK]>,
}

impl Block {
    const NEW: Self = Block {
        carry: MaybeUninit::uninit(),
        block: MaybeUninit::uninit(),
    };

    /// The whole of it, the block beginning at `CACHE_LINE`.
    fn start(&mut self) -> *mut u8 {
        ptr::from_mut(self).cast()
    }
}

/// Whether elements of this type can be built in a block: they fit often, and its alignment is theirs.
pub(crate) const fn fits_block<A>() -> bool {
    size_of::<A>() > 0 && size_of::<A>() <= BLOCK / 16 && align_of::<A>() <= CACHE_LINE
}

/// As [`fill`], for `[N] -> [N, n]` with a small `n`: streamed without a block as far as that goes.
///
/// # Safety
///
/// As [`stream_built`]; the nest is one for which [`can_expand`] holds.
pub(crate) unsafe fn stream_expanded<A: Copy>(
    axes: &[Axis],
    to: *mut A,
    from: *const A,
    range: Range<usize>,
) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let [rows, inner] = axes {
        let (rows, n) = (rows.size, inner.size);
        // SAFETY: `can_expand`, and the range is a part of the nest, whose rows lie side by side in out and in the source.
        let done = unsafe { expand::expand(to, from, rows, n, range.clone(), true) };
        // SAFETY: a part of the range.
        unsafe { fill(axes, to, from, range.start..done.start) };
        // SAFETY: as above.
        return unsafe { fill(axes, to, from, done.end..range.end) };
    }
    // SAFETY: the caller's promise.
    unsafe { stream_built(axes, to, from, range) }
}

/// Whether the nest is an `[N] -> [N, n]` that [`stream_expanded`] is for.
pub(crate) fn can_expand<A>(axes: &[Axis]) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let [rows, inner] = axes {
        return rows.strides == [inner.size as isize, 1]
            && inner.strides == [1, 0]
            && rows.size * inner.size * size_of::<A>() >= LONG_EXPANSION
            && expand::can_expand(size_of::<A>(), inner.size);
    }
    let _ = axes;
    false
}

/// As [`fill`], through a block in the cache from which whole lines are streamed.
///
/// # Safety
///
/// As [`fill`]; the axes are dense in out, and [`fits_block`].
pub(crate) unsafe fn stream_built<A: Copy>(
    axes: &[Axis],
    to: *mut A,
    from: *const A,
    range: Range<usize>,
) {
    let mut block = Block::NEW;
    let begin = block.start().wrapping_add(CACHE_LINE);
    let mut target = to.wrapping_add(range.start).cast::<u8>();
    let mut carry = 0;
    let mut next = range.start;
    while next < range.end {
        let count = (BLOCK / size_of::<A>()).min(range.end - next);
        // So that position `next` comes to the begin of the block, as the axes are dense.
        let shifted = begin.cast::<A>().wrapping_sub(next);
        // SAFETY: the block has room for `count` elements from a place aligned for them, and the source is the caller's.
        unsafe { fill(axes, shifted, from, next..next + count) };
        next += count;
        let source = begin.wrapping_sub(carry);
        let bytes = carry + count * size_of::<A>();
        let mut whole = bytes;
        if next < range.end {
            // Ends where a line ends; the rest goes out together with the next block.
            whole -= target.wrapping_add(bytes) as usize % CACHE_LINE;
        }
        // SAFETY: these bytes of the block have been written, now or before, and they belong to positions of `range`, which
        // lie side by side in out. `whole` is not negative: if this is not the last block, it is longer than a line.
        unsafe { stream(source, target, whole) };
        target = target.wrapping_add(whole);
        carry = bytes - whole;
        let rest = begin.wrapping_sub(carry);
        // SAFETY: `carry` is less than a line, and so much lies before the begin of the block.
        unsafe { ptr::copy(source.wrapping_add(whole), rest, carry) };
    }
}

/// As [`fill`], each row streamed straight from the source.
///
/// # Safety
///
/// As [`fill`]; the innermost strides are `[1, 1]`.
pub(crate) unsafe fn stream_rows<A: Copy>(
    axes: &[Axis],
    to: *mut A,
    from: *const A,
    range: Range<usize>,
) {
    let Some((inner, outer)) = axes.split_last() else {
        return;
    };
    let mut odometer = Odometer::new(outer, [0, 0], range.start / inner.size);
    let mut skip = range.start % inner.size;
    let mut left = range.len();
    while left > 0 {
        let count = left.min(inner.size - skip);
        let [to_row, from_row] = odometer.offsets();
        let to = to.wrapping_offset(to_row).wrapping_add(skip).cast::<u8>();
        let from = (from.wrapping_offset(from_row).wrapping_add(skip)).cast::<u8>();
        // SAFETY: `count` positions of `range`, side by side in both operands.
        unsafe { stream(from, to, count * size_of::<A>()) };
        left -= count;
        skip = 0;
        odometer.advance();
    }
}

/// Positions `range` of a nest whose outermost axis replicates what is inside it: made once, then repeated.
///
/// # Safety
///
/// As [`fill`]; `axes` is dense in out, not empty, and its first source stride is 0; what is inside it has at most [`SHORT_PERIOD`]
/// bytes. With `streamed`, [`fits_block`].
pub(crate) unsafe fn repeat<A: Copy>(
    axes: &[Axis],
    to: *mut A,
    from: *const A,
    range: Range<usize>,
    streamed: bool,
) {
    let size = size_of::<A>();
    let period = elements(&axes[1..]);
    debug_assert!(period * size <= SHORT_PERIOD);
    let total = range.len();
    if !streamed {
        if period == 1 {
            // SAFETY: the only source element.
            let element = unsafe { from.read() };
            // SAFETY: the range lies side by side in out.
            return unsafe { splat(to.wrapping_add(range.start), element, total) };
        }
        // SAFETY: the caller's promise.
        return unsafe { fill_repeated(axes, to, from, range) };
    }
    // What follows any position is periodic too, so it does not matter that the range begins in the middle of a period.
    let first = range.start..range.start + period.min(total);
    let mut block = Block::NEW;
    let begin = block.start().wrapping_add(CACHE_LINE);
    let elements = begin.cast::<A>();
    let filled = total.min(BLOCK / size / period * period);
    // SAFETY: the block has room for a period, half of it at most, from a place aligned for elements.
    unsafe { fill(axes, elements.wrapping_sub(range.start), from, first) };
    // SAFETY: `filled` elements are at most the block, and they begin with the period just written.
    unsafe { repeat_in_place(elements, period.min(filled), filled) };
    let (period, filled) = (period * size, filled * size);
    let mut target = to.wrapping_add(range.start).cast::<u8>();
    let mut left = total * size;
    let mut phase = 0;
    while left > 0 {
        let mut bytes = left.min(filled - phase);
        if bytes < left {
            // Ends where a line ends. `phase` is less than a period, so what is there is longer than a line.
            bytes -= target.wrapping_add(bytes) as usize % CACHE_LINE;
        }
        // SAFETY: `phase + bytes <= filled`, and `bytes <= left`, which still belong to the range.
        unsafe { stream(begin.wrapping_add(phase), target, bytes) };
        target = target.wrapping_add(bytes);
        left -= bytes;
        phase = (phase + bytes) % period;
    }
}

/// [`repeat`] for a period longer than the block: made piece by piece, each piece copied to all its places at once.
///
/// # Safety
///
/// As [`repeat`], whatever the period.
pub(crate) unsafe fn repeat_pieces<A: Copy>(
    axes: &[Axis],
    to: *mut A,
    from: *const A,
    range: Range<usize>,
    streamed: bool,
) {
    let inside = &axes[1..];
    let period = elements(inside);
    let (first, end) = (range.start.div_ceil(period), range.end / period);
    let once = |range: Range<usize>| {
        if streamed {
            // SAFETY: a part of the caller's range, and the caller's promise.
            unsafe { stream_built(axes, to, from, range) }
        } else {
            // SAFETY: as above.
            unsafe { fill(axes, to, from, range) }
        }
    };
    if end < first + 2 {
        return once(range);
    }
    once(range.start..first * period);
    let mut block = Block::NEW;
    let begin = block.start().wrapping_add(CACHE_LINE).cast::<A>();
    let step = (BLOCK / size_of::<A>()).max(1);
    let mut piece = 0..step.min(period);
    while !piece.is_empty() {
        let place = |copy: usize| to.wrapping_add(copy * period + piece.start);
        let count = piece.len();
        if streamed {
            let shifted = begin.wrapping_sub(piece.start);
            // SAFETY: the block has room for `step` elements from a place aligned for them.
            unsafe { fill(inside, shifted, from, piece.clone()) };
            for copy in first..end {
                let bytes = count * size_of::<A>();
                // SAFETY: this piece of a whole period inside the range, side by side in out.
                unsafe { stream(begin.cast(), place(copy).cast(), bytes) };
            }
        } else {
            let shifted = to.wrapping_add(first * period);
            // SAFETY: this piece of the first whole period inside the range.
            unsafe { fill(inside, shifted, from, piece.clone()) };
            for copy in first + 1..end {
                // SAFETY: the piece just written, and the same one of another whole period inside the range.
                unsafe { ptr::copy_nonoverlapping(place(first), place(copy), count) };
            }
        }
        piece = piece.end..(piece.end + step).min(period);
    }
    once(end * period..range.end);
}

/// As [`transpose`], through a block from which each row is streamed.
///
/// # Safety
///
/// As [`transpose`], and [`fits_block`].
pub(crate) unsafe fn stream_transposed<A: Copy>(
    to: *mut A,
    from: *const A,
    rows: Axis,
    inner: Axis,
) {
    let mut block = Block::NEW;
    let begin = block.start().wrapping_add(CACHE_LINE).cast::<A>();
    let step = transposed_rows::<A>();
    let width = BLOCK / size_of::<A>() / step;
    for row in (0..rows.size).step_by(step) {
        let count = step.min(rows.size - row);
        let to = to.wrapping_offset(row as isize * rows.strides[0]);
        let from = from.wrapping_offset(row as isize * rows.strides[1]);
        let mut column = 0;
        while column < inner.size {
            let mut columns = width.min(inner.size - column);
            if column + columns < inner.size {
                // Ends where a line of the first row ends, and so of the others if they are a number of lines apart.
                let past = to.wrapping_add(column + columns) as usize % CACHE_LINE / size_of::<A>();
                columns -= past.min(columns - 1);
            }
            let from = from.wrapping_offset(column as isize * inner.strides[1]);
            let block_rows = Axis {
                size: count,
                strides: [columns as isize, rows.strides[1]],
            };
            let block_inner = Axis {
                size: columns,
                ..inner
            };
            // SAFETY: `count * columns` elements fit the block, and the source is the caller's.
            unsafe { transpose(begin, from, block_rows, block_inner) };
            for row in 0..count {
                let from = begin.wrapping_add(row * columns).cast::<u8>();
                let to = to.wrapping_offset(row as isize * rows.strides[0]);
                let to = to.wrapping_add(column).cast::<u8>();
                // SAFETY: `columns` positions that the caller vouches for, side by side in out, just made in the block.
                unsafe { stream(from, to, columns * size_of::<A>()) };
            }
            column += columns;
        }
    }
}
