//! The exact text of every error, plan and name. An error states the call, the axis at fault and
//! what the rule accepts there.

// A box of one axis is an array of one range.
#![allow(clippy::single_range_in_vec_init)]

use crate::common;
use ndarray::{Array2, ArrayD, IxDyn, array};
use ndarray_broadcast::distributed::{Part, Tile};
use ndarray_broadcast::error::ArrayRole;
use ndarray_broadcast::infer::{PartialPlan, PartialShape, PartialSize};
use ndarray_broadcast::named::AxisPattern;
use ndarray_broadcast::openvino::{Broadcast, Mode};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::{axes_from_integers, expand_shape_from_integers, shape_from_integers};
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::ops::Range;

fn zeros(shape: &[usize]) -> ArrayD<u8> {
    ArrayD::zeros(IxDyn(shape))
}

fn anys(rank: usize) -> PartialShape {
    PartialShape::new(vec![PartialSize::ANY; rank])
}

fn from_5_to_9() -> PartialShape {
    PartialShape::new([PartialSize::between(5, 9).unwrap()])
}

fn mode(text: &str) -> BroadcastMode {
    text.parse().unwrap()
}

fn xla(dimensions: &[usize]) -> ElementwiseRule {
    ElementwiseRule::Xla {
        broadcast_dimensions: dimensions.to_vec(),
    }
}

/// The part of a sum of 5 rows of `len` terms that is in this box. Rows of 1024 terms and more are
/// slabs.
fn part_of_rows(len: usize, ranges: [Range<usize>; 2]) -> Result<Part, BroadcastError> {
    let plan = BroadcastPlan::numpy((), (5, len)).unwrap().into_dyn();
    Part::new(&plan, &Tile::new(&plan, &ranges).unwrap())
}

/// A copy between strided slices: from 2 elements to `len` elements of the shape `[3, 2]`.
fn copy_strided(input: &[isize], len: usize, out: &[isize]) -> Result<(), BroadcastError> {
    let plan = BroadcastPlan::numpy(2, (3, 2)).unwrap();
    let mut memory = vec![MaybeUninit::uninit(); len];
    plan.copy_slice(&[1, 2], Some(input), &mut memory, Some(out))
}

/// A shape of 1s, except for one axis.
fn long(rank: usize, axis: usize, size: usize) -> Vec<usize> {
    (0..rank)
        .map(|a| if a == axis { size } else { 1 })
        .collect()
}

/// The text, and without its picture: the first line, and what is wrong.
#[track_caller]
fn check_text(error: BroadcastError, text: &str) {
    assert_eq!(error.to_string(), text);
    assert_eq!(format!("{error:#?}"), text);
    let line = match text.lines().collect::<Vec<_>>()[..] {
        [first, .., last] => format!("{first}: {}", last.replace('^', "").trim()),
        _ => text.to_string(),
    };
    assert_eq!(format!("{error:#}"), line);
}

macro_rules! texts {
    ($($name:ident: $call:expr => $text:expr;)*) => {$(
        #[test]
        fn $name() {
            check_text($call.unwrap_err(), $text.as_ref());
        }
    )*};
}

texts! {
    the_second_of_two_outputs_has_another_shape: zip((
        &array![1, 2],
        &array![[10], [20]],
    )).map_assign_into_two(
        &mut Array2::zeros((2, 2)),
        &mut Array2::zeros((2, 3)),
        |(a, b)| (a + b, a - b),
    ) => "\
second out has shape [2, 3], expected [2, 2]
  found      2  3
  expected   2  2
                ^ 3 is not 2";
    dimensions_of_partial_shapes_are_axes_of_the_larger_one:
        xla(&[1, 5]).infer(&anys(3), &anys(2)) => "\
cannot broadcast [?, ?, ?] with [?, ?] (xla)
  b                      ?  ?
  broadcast dimensions   1  5
                            ^ there is no axis 5: a has 3 axes";
    dimensions_of_a_shape_of_unknown_rank_are_axes_of_the_other_one:
        xla(&[1, 5]).infer(&anys(3), &PartialShape::UNKNOWN) => "\
cannot broadcast [?, ?, ?] with [...] (xla)
  b
  broadcast dimensions   1  5
                            ^ there is no axis 5: a has 3 axes";
    of_several_dropped_axes_the_one_that_is_never_1_is_named: BroadcastMode::Named {
        pattern: "1 1 c -> c x y".parse().unwrap(),
    }.infer(
        &PartialShape::new([1.into(), 5.into(), PartialSize::ANY]),
        &PartialShape::UNKNOWN,
    ) => "\
the shapes do not fit the axis pattern
  1 1 c -> c x y
    ^ \"1\" has the sizes 5 and 1";
    a_size_of_usize_max_is_written_as_in_the_picture: broadcast_shapes(&[[usize::MAX], [5]]) => "\
cannot broadcast [-1] with [5] (numpy)
  input 0   -1
  input 1    5
             ^ -1 and 5 differ and neither is 1";
    an_axis_before_the_first:
        BroadcastPlan::numpy(5, 5).unwrap().permuted(&[-2]) => "\
cannot reorder the axes of [5]
  shape    5
  axes    -2
           ^ there is no axis -2: shape has 1 axis";
    an_axis_listed_from_the_front_and_from_the_end: zeros(&[2, 3]).reduce_axes(&[0, -2], Sum) => "\
cannot reduce axis -2 of [2, 3]
  shape   2   3
  axes    0  -2
              ^ axis -2 is listed twice";
    a_fault_past_what_is_shown_of_a_pattern:
        format!("x -> x {} !bad", "y".repeat(64)).parse::<AxisPattern>() => "\
invalid axis pattern
  …yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy !bad
                                       ^ expected a name of letters, digits and _";
    the_first_axis_at_fault_is_marked: zeros(&[3, 1, 5]).broadcast_numpy((4, 4, 5)) => "\
cannot broadcast [3, 1, 5] to [4, 4, 5] (numpy)
  input    3  1  5
  target   4  4  5
           ^ 3 is neither 4 nor 1";
    columns_of_a_picture_are_as_wide_as_their_sizes: zeros(&[3, 1, 500]).broadcast_numpy((2, 3, 4, 1)) => "\
cannot broadcast [3, 1, 500] to [2, 3, 4, 1] (numpy)
  input       3  1  500
  target   2  3  4    1
                      ^ 500 is not 1";
    numpy_never_drops_an_axis: zeros(&[3, 1, 5]).broadcast_numpy((4, 5)) => "\
cannot broadcast [3, 1, 5] to [4, 5] (numpy)
  input    3  1  5
  target      4  5
  input has 3 axes, target has 2: this rule never drops an axis, not even one of size 1";
    a_zero_matches_only_zero_and_one: zeros(&[0]).broadcast_numpy(2) => "\
cannot broadcast [0] to [2] (numpy)
  input    0
  target   2
           ^ 0 is neither 2 nor 1";
    more_elements_than_isize_max: zeros(&[]).broadcast_numpy((1_000_000_000, 1_000_000_000, 1_000_000_000)) => "the shape [1000000000, 1000000000, 1000000000] has more than isize::MAX elements: no array can have it";
    sizes_other_than_0_multiply_to_more_than_isize_max: BroadcastPlan::numpy((), (0, isize::MAX as usize, 2)) => format!("the shape [0, {}, 2] has more than isize::MAX elements if sizes of 0 count as 1: no array can have it", isize::MAX);
    bidirectional_sizes_differ: zeros(&[3, 4]).broadcast_bidirectional((2, 1, 5)) => "\
cannot broadcast [3, 4] to [2, 1, 5] (bidirectional)
  input       3  4
  target   2  1  5
                 ^ 4 and 5 differ and neither is 1";
    bidirectional_with_a_shorter_target: zeros(&[2, 3, 4]).broadcast_bidirectional(5) => "\
cannot broadcast [2, 3, 4] to [5] (bidirectional)
  input    2  3  4
  target         5
                 ^ 4 and 5 differ and neither is 1";
    explicit_size_mismatch: zeros(&[3, 5]).broadcast_explicit((3, 2, 6), &[0, 2]) => "\
cannot broadcast [3, 5] to [3, 2, 6] (explicit)
  input    3     5
  target   3  2  6
                 ^ 5 is neither 6 nor 1";
    explicit_mapping_too_short: zeros(&[3, 5]).broadcast_explicit((2, 3, 6), &[1]) => "\
cannot broadcast [3, 5] to [2, 3, 6] (explicit)
  input          3  5
  axes mapping   1
  the length is 1, but input has 2 axes: list the axis of target for each axis of input";
    explicit_mapping_too_long: zeros(&[3]).broadcast_explicit((2, 3, 6), &[0, 1]) => "\
cannot broadcast [3] to [2, 3, 6] (explicit)
  input          3
  axes mapping   0  1
  the length is 2, but input has 1 axis: list the axis of target for each axis of input";
    explicit_axis_out_of_range: zeros(&[3, 5]).broadcast_explicit((2, 3, 6), &[1, 3]) => "\
cannot broadcast [3, 5] to [2, 3, 6] (explicit)
  input          3  5
  axes mapping   1  3
                    ^ there is no axis 3: target has 3 axes";
    a_size_of_usize_max_is_shown_as_minus_one: zeros(&[2]).broadcast_numpy(usize::MAX) => "\
cannot broadcast [2] to [-1] (numpy)
  input     2
  target   -1
            ^ 2 is neither -1 nor 1; -1 keeps the input's size only in broadcast_expand (mode expand)";
    the_size_keep_is_explained_outside_expand: zeros(&[1, 4]).broadcast_numpy((KEEP, 4)) =>
        "the shape [-1, 4] is too large: -1 keeps the input's size only in broadcast_expand (mode expand)";
    an_axis_of_usize_max: zeros(&[3]).broadcast_explicit(3, &[usize::MAX]) => {
        let (most, blanks) = (usize::MAX, " ".repeat(usize::MAX.to_string().len() - 1));
        format!("\
cannot broadcast [3] to [3] (explicit)
  input          {blanks}3
  axes mapping   {most}
                 {blanks}^ there is no axis {most}: target has 1 axis")
    };
    explicit_axis_of_a_scalar: zeros(&[5]).broadcast_explicit((), &[0]) => "\
cannot broadcast [5] to [] (explicit)
  input          5
  axes mapping   0
                 ^ there is no axis 0: target has 0 axes";
    explicit_mapping_unsorted: zeros(&[3, 5]).broadcast_explicit((2, 3, 6), &[2, 1]) => "\
cannot broadcast [3, 5] to [2, 3, 6] (explicit)
  input          3  5
  axes mapping   2  1
                    ^ 1 after 2: axes must increase; to transpose, use broadcast_in_dim_permuting";
    explicit_mapping_repeated: zeros(&[3, 5]).broadcast_explicit((2, 3, 6), &[1, 1]) => "\
cannot broadcast [3, 5] to [2, 3, 6] (explicit)
  input          3  5
  axes mapping   1  1
                    ^ axis 1 is listed twice";
    in_dim_unsorted_suggests_in_dim_permuting: zeros(&[3, 5]).broadcast_in_dim((2, 3, 6), &[2, 1]) => "\
cannot broadcast [3, 5] to [2, 3, 6] (in_dim)
  input                  3  5
  broadcast dimensions   2  1
                            ^ 1 after 2: axes must increase; to transpose, use broadcast_in_dim_permuting";
    operands_of_a_function_are_a_and_b: broadcast_pair(&zeros(&[2]), &zeros(&[3]), ElementwiseRule::Numpy) => "\
cannot broadcast [2] with [3] (numpy)
  a   2
  b   3
      ^ 2 and 3 differ and neither is 1";
    operands_of_a_tuple_are_letters: zip((&zeros(&[2, 3]), &zeros(&[1]), &zeros(&[2]))).views() => "\
cannot broadcast [2, 3] with [2] (numpy)
  a   2  3
  c      2
         ^ 3 and 2 differ and neither is 1";
    an_update_names_the_operand_at_fault: zip((&zeros(&[3]), &zeros(&[2]))).update(&mut zeros(&[2, 3]), |x, (a, b)| *x = a + b) => "\
cannot broadcast [2] to [2, 3] (numpy)
  b           2
  target   2  3
              ^ 2 is neither 3 nor 1";
    an_update_names_the_axis_at_fault: zip((&zeros(&[3]), &zeros(&[1, 2, 4]))).update(
        &mut zeros(&[5, 2, 3]),
        |x, (a, b)| *x = a + b,
    ) => "\
cannot broadcast [1, 2, 4] to [5, 2, 3] (numpy)
  b        1  2  4
  target   5  2  3
                 ^ 4 is neither 3 nor 1";
    a_gradient_of_a_map_names_the_operand_at_fault: zip((&zeros(&[2, 3]), &zeros(&[1, 2, 3]))).reduce(&BroadcastPlan::numpy(IxDyn(&[3]), IxDyn(&[2, 3])).unwrap(), Sum, |(a, b)| a * b) => "\
cannot broadcast [1, 2, 3] to [2, 3] (numpy)
  b        1  2  3
  target      2  3
  b has 3 axes, target has 2: this rule never drops an axis, not even one of size 1";
    a_map_in_place_does_not_broadcast_self: zip(&zeros(&[2, 1])).update(&mut zeros(&[1, 3]), |x, y| *x += y) => "\
cannot broadcast [2, 1] to [1, 3] (numpy)
  a        2  1
  target   1  3
           ^ 2 is not 1";
    a_sum_that_does_not_fit: zeros(&[2, 3, 4]).reduce_to_shape((3, 5), Sum) => "\
cannot reduce [2, 3, 4] to [3, 5] (numpy)
  result      3  5
  self     2  3  4
                 ^ 5 is neither 4 nor 1";
    a_sum_adds_no_axis: zeros(&[4]).reduce_to_shape((2, 4), Sum) => "\
cannot reduce [4] to [2, 4] (numpy)
  result   2  4
  self        4
  result has 2 axes, self has 1: a reduction adds no axis";
    a_reduction_that_does_not_fit: zeros(&[3, 4]).reduce_to_shape(3, Max) => "\
cannot reduce [3, 4] to [3] (numpy)
  result      3
  self     3  4
              ^ 3 is neither 4 nor 1";
    expand_sizes_below_minus_one: expand_shape_from_integers(&[-1, -2]) => "entry 1 is -2: a size must not be negative, except for -1, which keeps the input's size";
    expand_below_minus_one: zeros(&[2]).broadcast_expand((-1, i64::MIN)) => "entry 1 is -9223372036854775808: a size must not be negative, except for -1, which keeps the input's size";
    expand_of_a_list_below_minus_one: zeros(&[2]).broadcast_expand(vec![-2_i8, -1]) => "entry 0 is -2: a size must not be negative, except for -1, which keeps the input's size";
    expand_of_a_matrix: zeros(&[2]).broadcast_expand(&ndarray::array![[2, -1]]) => "sizes are of rank 1, but this tensor has the shape [1, 2]";
    in_dim_permuting_repeated: zeros(&[3, 5]).broadcast_in_dim_permuting((2, 3, 6), &[2, 2]) => "\
cannot broadcast [3, 5] to [2, 3, 6] (in_dim_permuting)
  input                  3  5
  broadcast dimensions   2  2
                            ^ axis 2 is listed twice";
    in_dim_permuting_size_mismatch: zeros(&[3, 5]).broadcast_in_dim_permuting((2, 3, 6), &[2, 1]) => "\
cannot broadcast [3, 5] to [2, 3, 6] (in_dim_permuting)
  input       5  3
  target   2  3  6
                 ^ 3 is neither 6 nor 1";
    broadcast_axes_out_of_range: zeros(&[3, 4]).broadcast_axes((2, 3, 4), &[3]) => "\
cannot broadcast [3, 4] to [2, 3, 4] (broadcast_axes)
  target           2  3  4
  broadcast axes   3
                   ^ there is no axis 3: target has 3 axes";
    broadcast_axes_rank_mismatch: zeros(&[3, 4]).broadcast_axes((2, 3, 4), &[0, 1]) => "\
cannot broadcast [3, 4] to [2, 3, 4] (broadcast_axes)
  target           2  3  4
  broadcast axes   0  1
  without them target has 1, but input has 2 axes";
    broadcast_axes_size_is_exact: zeros(&[3, 1]).broadcast_axes((2, 3, 4), &[0]) => "\
cannot broadcast [3, 1] to [2, 3, 4] (broadcast_axes)
  input       3  1
  target   2  3  4
                 ^ 1 is not 4 (only the broadcast axes replicate)";
    pdpd_axis_below_minus_one: zeros(&[3, 4]).broadcast_pdpd((2, 3, 4, 5), -2) => "\
cannot broadcast [3, 4] to [2, 3, 4, 5] (pdpd)
  input    3  4
  target   2  3  4  5
  there is no axis -2: target has 4 axes; -1 aligns input from the right";
    pdpd_overhang: zeros(&[3, 4]).broadcast_pdpd((2, 3, 4, 5), 3) => "\
cannot broadcast [3, 4] to [2, 3, 4, 5] (pdpd)
  input             3  4
  target   2  3  4  5
  from axis 3 on target has 1, but input has 2 axes";
    pdpd_overhang_of_trailing_ones: zeros(&[3, 4, 1]).broadcast_pdpd((2, 3, 4, 5), 3) => "\
cannot broadcast [3, 4, 1] to [2, 3, 4, 5] (pdpd)
  input             3  4  1
  target   2  3  4  5
  from axis 3 on target has 1, but input has 3 axes";
    pdpd_axis_is_the_rank: zeros(&[3]).broadcast_pdpd(5, 1) => "\
cannot broadcast [3] to [5] (pdpd)
  input    3
  target   5
  there is no axis 1: target has 1 axis; -1 aligns input from the right";
    pdpd_axis_of_a_scalar: zeros(&[]).broadcast_pdpd((), 1) => "\
cannot broadcast [] to [] (pdpd)
  input
  target
  there is no axis 1: target has 0 axes; -1 aligns input from the right";
    pdpd_axis_past_the_rank: zeros(&[3, 4, 1]).broadcast_pdpd((2, 3, 4, 5), 9) => "\
cannot broadcast [3, 4, 1] to [2, 3, 4, 5] (pdpd)
  input    3  4  1
  target   2  3  4  5
  there is no axis 9: target has 4 axes; -1 aligns input from the right";
    pdpd_axis_far_past_the_rank: zeros(&[3]).broadcast_pdpd((2, 3), i32::MAX as isize) => "\
cannot broadcast [3] to [2, 3] (pdpd)
  input    3
  target   2  3
  there is no axis 2147483647: target has 2 axes; -1 aligns input from the right";
    pdpd_axis_past_a_known_rank: ElementwiseRule::Pdpd { axis: 5 }.infer(&anys(2), &PartialShape::known(3)) => "\
cannot broadcast [3] to [?, ?] (pdpd)
  b   3
  a   ?  ?
  there is no axis 5: a has 2 axes; -1 aligns b from the right";
    a_sum_to_a_size_that_a_1_cannot_have: zeros(&[2, 1]).reduce_to_shape((2, 3), Sum) => "\
cannot reduce [2, 1] to [2, 3] (numpy)
  result   2  3
  self     2  1
              ^ 3 is not 1";
    the_array_that_is_reduced: BroadcastPlan::numpy((2, 1), (2, 3)).unwrap().reduce(&Array2::<f32>::zeros((2, 1)), Max) => "\
array has shape [2, 1], expected [2, 3]
  found      2  1
  expected   2  3
                ^ 1 is not 3";
    a_name_that_begins_with_a_digit: "1h w -> w".parse::<AxisPattern>() => "\
invalid axis pattern
  1h w -> w
  ^ expected a size that fits usize, or a name that begins with no digit";
    more_lists_than_arrays: "a, b, c".parse::<AxisPattern<2>>() => "\
invalid axis pattern
  a, b, c -> a b c
      ^ expected ->: each array has its list already";
    pdpd_size_mismatch: zeros(&[3, 4]).broadcast_pdpd((2, 3, 4, 5), 2) => "\
cannot broadcast [3, 4] to [2, 3, 4, 5] (pdpd)
  input          3  4
  target   2  3  4  5
                 ^ 3 is neither 4 nor 1";
    pdpd_rank_of_b_too_large: zeros(&[3, 4, 1]).broadcast_pdpd((3, 4), 0) => "\
cannot broadcast [3, 4, 1] to [3, 4] (pdpd)
  input    3  4  1
  target      3  4
  input has 3 axes, target has 2: this rule drops no axis, not even one of size 1, and adds none";
    a_sum_to_a_shape_with_keep: zeros(&[2, 3]).reduce_to_shape((KEEP, 1), Sum) => "\
cannot reduce [2, 3] to [-1, 1] (numpy)
  result   -1  1
  self      2  3
            ^ -1 is neither 2 nor 1";
    pdpd_of_two_arguments: broadcast_pair(&zeros(&[2, 3]), &zeros(&[2]), ElementwiseRule::channel(1)) => "\
cannot broadcast [2] to [2, 3] (pdpd)
  b      2
  a   2  3
         ^ 2 is neither 3 nor 1";
    pdpd_of_two_arguments_by_plans: BroadcastPlan::pair((2, 3), 2, ElementwiseRule::channel(2)) => "\
cannot broadcast [2] to [2, 3] (pdpd)
  b   2
  a   2  3
  there is no axis 2: a has 2 axes; -1 aligns b from the right";
    pdpd_overhang_of_the_other: zeros(&[2, 3]).broadcast_with_rule(&zeros(&[3, 4]), ElementwiseRule::channel(1)) => "\
cannot broadcast [3, 4] to [2, 3] (pdpd)
  other      3  4
  self    2  3
  from axis 1 on self has 1, but other has 2 axes";
    pdpd_rank_of_the_other_too_large: zeros(&[3]).broadcast_with_rule(&zeros(&[3, 1]), ElementwiseRule::channel(0)) => "\
cannot broadcast [3, 1] to [3] (pdpd)
  other   3  1
  self       3
  other has 2 axes, self has 1: this rule drops no axis, not even one of size 1, and adds none";
    pdpd_axis_of_the_other_below_minus_one: zeros(&[3]).broadcast_with_rule(&zeros(&[3]), ElementwiseRule::Pdpd { axis: -2 }) => "\
cannot broadcast [3] to [3] (pdpd)
  other   3
  self    3
  there is no axis -2: self has 1 axis; -1 aligns other from the right";
    xla_dimensions_of_the_other: zeros(&[2, 3, 4]).broadcast_with_rule(&zeros(&[3, 4]), xla(&[1, 3])) => "\
cannot broadcast [2, 3, 4] with [3, 4] (xla)
  other                  3  4
  broadcast dimensions   1  3
                            ^ there is no axis 3: self has 3 axes";
    pdpd_a_never_grows: zeros(&[1, 4]).broadcast_with_rule(&zeros(&[3, 4]), &ElementwiseRule::Pdpd { axis: -1 }) => "\
cannot broadcast [3, 4] to [1, 4] (pdpd)
  other   3  4
  self    1  4
          ^ 3 is not 1";
    expand_cannot_keep_a_new_axis: zeros(&[2]).broadcast_expand((-1, 2)) => "\
cannot broadcast [2] to [-1, 2] (expand)
  input        2
  target   -1  2
            ^ -1 keeps an input's size, but this axis is new: give it a size";
    expand_size_mismatch: zeros(&[2, 3]).broadcast_expand((-1, 2)) => "\
cannot broadcast [2, 3] to [2, 2] (expand)
  input    2  3
  target   2  2
              ^ 3 is neither 2 nor 1";
    xla_ranks_differ_without_dimensions: zeros(&[2, 3, 4]).broadcast_with_rule(&zeros(&[3]), xla(&[])) => "\
cannot broadcast [2, 3, 4] with [3] (xla)
  other                  3
  broadcast dimensions
  ranks differ and XLA never guesses: pass the axes of self that other is aligned with (NumPy's are [2])";
    xla_dimensions_for_a_scalar: zeros(&[2, 3, 4]).broadcast_with_rule(&zeros(&[]), xla(&[0])) => "\
cannot broadcast [2, 3, 4] with [] (xla)
  other
  broadcast dimensions   0
  a scalar needs none: pass []";
    xla_dimensions_for_equal_ranks: zeros(&[2, 3]).broadcast_with_rule(&zeros(&[2, 3]), xla(&[1, 0])) => "\
cannot broadcast [2, 3] with [2, 3] (xla)
  self                   2  3
  broadcast dimensions   1  0
  equal ranks need none: pass [] or the identity";
    xla_size_mismatch_on_a_mapped_axis: zeros(&[2, 4]).broadcast_with_rule(&zeros(&[2, 3, 4]), xla(&[0, 1])) => "\
cannot broadcast [2, 4] with [2, 3, 4] (xla)
  self    2  4
  other   2  3  4
             ^ 4 and 3 differ and neither is 1";
    xla_dimensions_too_short: zeros(&[2, 4]).broadcast_with_rule(&zeros(&[2, 3, 4]), xla(&[1])) => "\
cannot broadcast [2, 4] with [2, 3, 4] (xla)
  self                   2  4
  broadcast dimensions   1
  the length is 1, but self has 2 axes: list the axis of other for each axis of self";
    xla_dimensions_unsorted: zeros(&[2, 3, 4]).broadcast_with_rule(&zeros(&[2, 4]), xla(&[2, 0])) => "\
cannot broadcast [2, 3, 4] with [2, 4] (xla)
  other                  2  4
  broadcast dimensions   2  0
                            ^ 0 after 2: axes must increase; to transpose, use permuted_axes of the operand";
    xla_dimensions_out_of_range: zeros(&[2, 3, 4]).broadcast_with_rule(&zeros(&[2, 4]), xla(&[0, 3])) => "\
cannot broadcast [2, 3, 4] with [2, 4] (xla)
  other                  2  4
  broadcast dimensions   0  3
                            ^ there is no axis 3: self has 3 axes";
    numpy_of_two_size_mismatch: zeros(&[2, 3, 4]).broadcast_with(&zeros(&[2, 4])) => "\
cannot broadcast [2, 3, 4] with [2, 4] (numpy)
  self    2  3  4
  other      2  4
             ^ 3 and 2 differ and neither is 1";
    numpy_of_two_with_ranks_3_and_1: zeros(&[2, 3, 4]).broadcast_with(&zeros(&[5])) => "\
cannot broadcast [2, 3, 4] with [5] (numpy)
  self    2  3  4
  other         5
                ^ 4 and 5 differ and neither is 1";
    numpy_of_many_names_the_two_that_differ: broadcast_shapes(&[&[7, 4][..], &[1], &[2, 7, 1], &[5, 1, 1]]) => "\
cannot broadcast [2, 7, 1] with [5, 1, 1] (numpy)
  input 2   2  7  1
  input 3   5  1  1
            ^ 2 and 5 differ and neither is 1";
    numpy_of_many_shows_only_the_axes_of_the_two: broadcast_shapes(&[&[1, 1, 1, 4][..], &[2, 4], &[3, 4]]) => "\
cannot broadcast [2, 4] with [3, 4] (numpy)
  input 1   2  4
  input 2   3  4
            ^ 2 and 3 differ and neither is 1";
    axes_that_trade_places_stand_above_their_targets: zeros(&[3, 4]).broadcast_in_dim_permuting(
        (4, 5),
        &[1, 0],
    ) => "\
cannot broadcast [3, 4] to [4, 5] (in_dim_permuting)
  input    4  3
  target   4  5
              ^ 3 is neither 5 nor 1";
    a_size_that_is_never_a_partial_size: BroadcastMode::Numpy.infer(
        &PartialShape::known(3),
        &from_5_to_9(),
    ) => "\
cannot broadcast [3] to [5..=9] (numpy)
  input        3
  target   5..=9
               ^ 3 is never 5..=9, and never 1";
    a_partial_size_that_is_never_a_size: BroadcastMode::Numpy.infer(
        &from_5_to_9(),
        &PartialShape::known(3),
    ) => "\
cannot broadcast [5..=9] to [3] (numpy)
  input    5..=9
  target       3
               ^ 5..=9 is never 3, and never 1";
    a_partial_size_that_is_never_1: BroadcastMode::Numpy.infer(
        &from_5_to_9(),
        &PartialShape::known(1),
    ) => "\
cannot broadcast [5..=9] to [1] (numpy)
  input    5..=9
  target       1
               ^ 5..=9 is never 1";
    a_list_without_some_axes_to_reorder: BroadcastPlan::numpy(3, (2, 3)).unwrap().permuted(&[0]) => "\
cannot reorder the axes of [2, 3]
  shape   2  3
  axes    0
  the length is 1, but shape has 2 axes: list each axis once";
    an_inserted_axis_out_of_range: BroadcastPlan::numpy(3, (2, 3)).unwrap().insert_axis(3) => "\
cannot insert axis 3 in [2, 3]
  shape   2  3
  axes    3
          ^ the positions are -3 to 2";
    a_box_of_more_axes_than_the_output: Tile::new(
        &BroadcastPlan::numpy(2, 2).unwrap(),
        &[0..1, 0..1],
    ) => "\
the box [0..1, 0..1] is not inside [2]
  box     0..1  0..1
  shape      2
  2 ranges for 1 axis";
    a_slice_that_is_too_short: BroadcastPlan::numpy(2, 2).unwrap().copy_slice(
        &[1],
        None,
        &mut [],
        None,
    ) => "input is a slice of length 1, the shape [2] needs 2";
    version_1_of_broadcast_has_no_bidirectional_mode: Broadcast::v1().with_mode(
        Mode::Bidirectional,
    ) => "OpenVINO Broadcast-1 has no mode \"bidirectional\": Broadcast-3 has it";
    a_named_pattern_that_drops_an_axis_is_no_mode: zeros(&[1, 3]).broadcast_to_mode(3, "1 c -> c".parse::<BroadcastMode>().unwrap()) => "\
cannot broadcast [1, 3] to [3] (named)
  input    1  3
  target      3
  input has 2 axes, target has 1: a mode's target has no fewer axes; use `AxisPattern::plan`";
    a_new_axis_with_two_sizes: "-> n".parse::<AxisPattern>().unwrap().plan((), &[("n", 2), ("n", 3)]) => "\
the shapes do not fit the axis pattern
  -> n
     ^ \"n\" has the sizes 3 and 2";
    a_dropped_axis_of_another_size_than_1: "1 c -> c".parse::<AxisPattern>().unwrap().plan((2, 3), &[]) => "\
the shapes do not fit the axis pattern
  1 c -> c
  ^ \"1\" has the sizes 2 and 1";
    a_box_of_an_input_of_another_shape: Tile::new(&BroadcastPlan::numpy((3, 1), (2, 3, 4)).unwrap(), &[0..1, 1..3, 0..4]).unwrap().input().of(&Array2::<u8>::zeros((2, 1))) => "\
the box [1..3, 0..1] is not inside [2, 1]
  box     1..3  0..1
  shape      2     1
             ^ 1..3 is not inside 0..2";
    a_box_that_ends_before_it_begins_beside_an_empty_one: Tile::new(
        &BroadcastPlan::numpy((3, 1), (2, 3, 4)).unwrap(),
        &[1..1, Range { start: 2, end: 1 }, 0..4],
    ) => "\
the box [1..1, 2..1, 0..4] is not inside [2, 3, 4]
  box     1..1  2..1  0..4
  shape      2     3     4
                   ^ 2..1 is not inside 0..3";
    none_sizes_differ: zeros(&[2, 4]).broadcast_with_rule(&zeros(&[2, 3]), &ElementwiseRule::None) => "\
cannot broadcast [2, 4] with [2, 3] (none)
  self    2  4
  other   2  3
             ^ 4 is not 3; this rule wants identical shapes";
    none_ranks_differ: zeros(&[1]).broadcast_with_rule(&zeros(&[]), &ElementwiseRule::None) => "\
cannot broadcast [1] with [] (none)
  self    1
  other
  self has 1 axis, other has 0: this rule wants identical shapes";
    a_negative_size: shape_from_integers(&[3_i64, -1]) => "entry 1 is -1: a size must not be negative; -1 keeps the input's size in broadcast_expand and onnx::Expand::with_minus_one_as_keep";
    a_size_below_minus_one: shape_from_integers(&[-2])
        => "entry 0 is -2: a size must not be negative";
    an_axis_of_an_array_of_rank_0: axes_from_integers(&[0], 0)
        => "entry 0 is 0: axes of an array of rank 0 are none";
    an_axis_out_of_range: axes_from_integers(&[0_i32, -3], 2) => "entry 1 is -3: axes of an array of rank 2 are -2 to 1";
    an_unknown_mode: "explict(1)".parse::<BroadcastMode>() => "invalid broadcast mode \"explict(1)\": expected numpy, bidirectional, explicit(..), broadcast_axes(..), in_dim(..), in_dim_permuting(..), expand, pdpd(..) or names: c -> n c h w";
    a_mode_without_its_closing_parenthesis: "explicit(1".parse::<BroadcastMode>() => "invalid broadcast mode \"explicit(1\": expected a name, then integers in parentheses if it takes any, as in pdpd(1)";
    a_mode_with_a_negative_axis: "explicit(-1)".parse::<BroadcastMode>() => "invalid broadcast mode \"explicit(-1)\": expected axes as integers that fit usize: explicit(1, 2)";
    a_mode_that_takes_no_axes: "numpy(1)".parse::<BroadcastMode>() => "invalid broadcast mode \"numpy(1)\": numpy takes no axes";
    a_text_too_long_to_be_a_name: "é".repeat(5000).parse::<BroadcastMode>() => format!("invalid broadcast mode \"{}\"... 10000 bytes: expected numpy, bidirectional, explicit(..), broadcast_axes(..), in_dim(..), in_dim_permuting(..), expand, pdpd(..) or names: c -> n c h w", "é".repeat(64));
    none_is_not_a_mode_of_one_array: "none".parse::<BroadcastMode>() => "invalid broadcast mode \"none\": use explicit(..); only openvino::Mode and ElementwiseRule have the name none";
    prepend_is_no_mode: "prepend".parse::<BroadcastMode>() => "invalid broadcast mode \"prepend\": not a mode, as it takes sizes and no target: use broadcast_prepend";
    an_unknown_rule: "same".parse::<ElementwiseRule>() => "invalid elementwise rule \"same\": expected none, numpy, pdpd(..), paddle(..) or xla(..)";
    none_takes_no_axes: "none(1)".parse::<ElementwiseRule>() => "invalid elementwise rule \"none(1)\": none takes no axes";
    numpy_of_arrays_takes_no_axes: "numpy(1)".parse::<ElementwiseRule>() => "invalid elementwise rule \"numpy(1)\": numpy takes no axes";
    a_rule_with_two_axes: "pdpd(1, 2)".parse::<ElementwiseRule>() => "invalid elementwise rule \"pdpd(1, 2)\": expected one axis that fits isize in the parentheses";
    a_plan_on_another_shape: BroadcastPlan::numpy((3, 1), (2, 3, 4)).unwrap().view(&Array2::<u8>::zeros((1, 3))) => "\
input has shape [1, 3], expected [3, 1]
  found      1  3
  expected   3  1
             ^ 1 is not 3";
    a_plan_on_another_rank: BroadcastPlan::numpy(IxDyn(&[3, 1]), (2, 3, 4)).unwrap().view(&zeros(&[3])) => "\
input has shape [3], expected [3, 1]
  found      3
  expected   3  1
  ranks 1 and 2 differ";
    a_box_that_cuts_a_block_between_two_boundaries: part_of_rows(3000, [0..1, 1025..3000]) => "\
the box [0..1, 1025..3000] cuts a block of 1024 terms
  box     0..1  1025..3000
  shape      5        3000
                         ^ no block begins at 1025, but at 1024 and 2048";
    a_box_that_cuts_a_block_before_its_last_term: part_of_rows(3000, [0..1, 0..2047]) => "\
the box [0..1, 0..2047] cuts a block of 1024 terms
  box     0..1  0..2047
  shape      5     3000
                      ^ no block begins at 2047, but at 1024 and 2048";
    a_box_that_cuts_the_last_block_of_a_slab: part_of_rows(3000, [0..1, 2500..2900]) => "\
the box [0..1, 2500..2900] cuts a block of 1024 terms
  box     0..1  2500..2900
  shape      5        3000
                         ^ no block begins at 2500, but at 2048 and 3000";
    a_box_that_cuts_the_first_block_of_a_slab: part_of_rows(3000, [4..5, 100..200]) => "\
the box [4..5, 100..200] cuts a block of 1024 terms
  box     4..5  100..200
  shape      5      3000
                       ^ no block begins at 100, but at 0 and 1024";
    a_box_that_cuts_a_block_after_the_only_boundary: part_of_rows(700, [0..1, 500..600]) => "\
the box [0..1, 500..600] cuts a block of 1024 terms
  box     0..1  500..600
  shape      5       700
                       ^ no block begins at 500, but at 0";
    a_box_that_cuts_a_block_before_the_only_boundary: part_of_rows(700, [2..3, 100..200]) => "\
the box [2..3, 100..200] cuts a block of 1024 terms
  box     2..3  100..200
  shape      5       700
                       ^ no block begins at 100, but at 648";
    expand_cannot_keep_a_new_axis_of_a_partial_shape: BroadcastMode::Expand.infer(
        &anys(1),
        &PartialShape::new([PartialSize::known(KEEP), PartialSize::ANY]),
    ) => "\
cannot broadcast [?] to [-1, ?] (expand)
  input        ?
  target   -1  ?
            ^ -1 keeps an input's size, but this axis is new: give it a size";
    partial_sizes_of_one_name_are_never_equal: "x y, y".parse::<AxisPattern<2>>().unwrap().infer(
        &PartialShape::new([PartialSize::ANY, PartialSize::between(2, 5).unwrap()]),
        &PartialShape::known(6),
    ) => "\
the shapes do not fit the axis pattern
  x y, y -> x y
       ^ \"y\" has the sizes 6 and 2..=5";
    a_partial_plan_of_another_rank: PartialPlan::with_mode(anys(1), anys(2), BroadcastMode::Numpy).unwrap().resolve(3, (4, 2, 3)) => "\
target has shape [4, 2, 3], expected [?, ?]
  found      4  2  3
  expected   ?  ?
  ranks 3 and 2 differ";
    a_new_axis_without_a_size: "c -> n c".parse::<AxisPattern>().unwrap().plan(3, &[]) => "\
the shapes do not fit the axis pattern
  c -> n c
       ^ \"n\" is new: its size is needed";
    a_size_for_a_name_that_the_pattern_lacks: "c -> n c".parse::<AxisPattern>().unwrap().plan(3, &[("n", 2), ("m", 4)]) => "\
the shapes do not fit the axis pattern
  c -> n c
  a size is given for \"m\", which it does not have";
    a_slice_with_strides_is_too_short: copy_strided(&[1], 5, &[2, 1]) => "out is a slice of length 5, the shape [3, 2] with the strides [2, 1] needs 6";
    a_slice_whose_elements_overlap_is_not_written: copy_strided(&[1], 6, &[1, 1]) => "out cannot be written: elements of the shape [3, 2] with the strides [1, 1] may overlap";
    fewer_lists_than_arrays: "a -> a".parse::<AxisPattern<2>>() => "\
invalid axis pattern
  a -> a
    ^ expected another list of axes";
    a_plan_of_groups: "(a b) -> a b".parse::<AxisPattern>().unwrap().plan(6, &[("a", 2)]) => "\
invalid axis pattern
  (a b) -> a b
  ^ expected a name: only broadcast_named and AxisPattern::view take groups";
    a_mode_of_groups: zeros(&[2, 3]).broadcast_to_mode(6, "a b -> (a b)".parse::<BroadcastMode>().unwrap()) => "\
invalid axis pattern
  a b -> (a b)
         ^ expected a name: only broadcast_named and AxisPattern::view take groups";
    groups_of_two_arrays: "(a b), c".parse::<AxisPattern<2>>().unwrap().plans([6, 2], &[]) => "\
invalid axis pattern
  (a b), c -> a b c
  ^ expected a name: only broadcast_named and AxisPattern::view take groups";
    a_group_of_an_ellipsis_of_two_axes: "b ... -> b (...)".parse::<AxisPattern>().unwrap().plan((2, 3, 4), &[]) => "\
invalid axis pattern
  b ... -> b (...)
             ^ expected a name: only broadcast_named and AxisPattern::view take groups";
    fewer_axes_than_names_beside_an_ellipsis: "a b ... -> a b ...".parse::<AxisPattern>().unwrap().plan(3, &[]) => "\
the shapes do not fit the axis pattern
  a b ... -> a b ...
  ^ this list has at least 2 axes, the shape 1";
    a_target_of_fewer_axes_than_names_beside_an_ellipsis: mode("... a -> ... a 2 2").infer(&PartialShape::UNKNOWN, &anys(1)) => "\
the shapes do not fit the axis pattern
  ... a -> ... a 2 2
           ^ this list has at least 3 axes, the shape 1";
    dimensions_that_fit_no_rank_are_of_the_known_one: xla(&[0, 1, 2]).infer(&anys(2), &PartialShape::UNKNOWN) => "\
cannot broadcast [?, ?] with [...] (xla)
  a                      ?  ?
  broadcast dimensions   0  1  2
  the length is 3, but a has 2 axes: list the axis of b for each axis of a";
    dimensions_that_fit_no_rank_are_of_the_known_second: xla(&[0, 1, 2]).infer(&PartialShape::UNKNOWN, &anys(2)) => "\
cannot broadcast [...] with [?, ?] (xla)
  b                      ?  ?
  broadcast dimensions   0  1  2
  the length is 3, but b has 2 axes: list the axis of a for each axis of b";
    an_axis_that_no_target_has: mode("broadcast_axes(7)").infer(&anys(2), &PartialShape::UNKNOWN) => "\
cannot broadcast [?, ?] to [...] (broadcast_axes)
  target
  broadcast axes   7
                   ^ there is no axis 7";
    an_axis_that_no_target_has_under_pdpd: mode("pdpd(-3)").infer(&anys(2), &PartialShape::UNKNOWN) => "\
cannot broadcast [?, ?] to [...] (pdpd)
  input    ?  ?
  target
  there is no axis -3; -1 aligns input from the right";
    a_mode_that_drops_an_axis: mode("1 a -> a").infer(&anys(2), &PartialShape::UNKNOWN) => "\
cannot broadcast [?, ?] to [...] (named)
  input    ?  ?
  target
  a mode's target has no fewer axes; use `AxisPattern::plan`";
    a_slice_without_strides: BroadcastPlan::numpy(3, (2, 3)).unwrap().copy_slice(
        &[1, 2, 3],
        None,
        &mut [MaybeUninit::uninit(); 6],
        Some(&[]),
    ) => "\
out has 2 axes, the shape [2, 3] with the strides []";
    a_group_in_a_group: "a -> (a (2 3))".parse::<AxisPattern>() => "\
invalid axis pattern
  a -> (a (2 3))
          ^ expected a name: each ( has its ), and no group is in a group";
    a_group_without_an_end: "(a b -> a b".parse::<AxisPattern>() => "\
invalid axis pattern
  (a b -> a b
      ^ expected ) at the end of the group";
    an_ellipsis_in_a_group_of_the_input: "(... a) -> ... a".parse::<AxisPattern>() => "\
invalid axis pattern
  (... a) -> ... a
   ^ expected ... outside of a group";
    a_group_whose_size_does_not_divide: zeros(&[3, 7]).broadcast_named("c (h w) -> h w c", &[("h", 2)]) => "\
the shapes do not fit the axis pattern
  c (h w) -> h w c
    ^ \"(h w)\" has the size 7, which 2 does not divide";
    a_group_of_other_sizes: zeros(&[6]).broadcast_named("(h w) -> h w", &[("h", 2), ("w", 2)]) => "\
the shapes do not fit the axis pattern
  (h w) -> h w
  ^ \"(h w)\" has the sizes 6 and 4";
    a_group_of_two_unknown_sizes: zeros(&[6]).broadcast_named("(h w 1) -> h w", &[]) => "\
the shapes do not fit the axis pattern
  (h w 1) -> h w
     ^ \"w\" needs a size";
    another_size_than_that_of_an_axis: zeros(&[6, 3]).broadcast_named(
        "(h w) c -> h w c",
        &[("h", 2), ("c", 5)],
    ) => "\
the shapes do not fit the axis pattern
  (h w) c -> h w c
        ^ \"c\" has the sizes 3 and 5";
    an_ellipsis_merged_in_a_copy_only: zeros(&[2, 3]).t().broadcast_named("... -> (...)", &[]) => "\
no view fits the axis pattern
  ...0 ...1 -> (...0 ...1)
               ^ \"(...0 ...1)\" needs a copy: leave out the parentheses on the right, materialize, then into_shape_with_order([6])";
    a_new_axis_in_a_group: zeros(&[2, 3]).broadcast_named("h w -> (h w c)", &[]) => "\
the shapes do not fit the axis pattern
  h w -> (h w c)
              ^ \"c\" is new: its size is needed";
    sizes_of_a_group_that_overflow: zeros(&[6]).broadcast_named(
        "(a b) -> a b",
        &[("a", 1 << 20), ("b", usize::MAX >> 4)],
    ) => format!("the shape [1048576, {}] has more than isize::MAX elements: no array can have it", usize::MAX >> 4);
    a_control_character_in_a_pattern: "a\u{1b}[31m -> b".parse::<AxisPattern>() => "\
invalid axis pattern
  a\u{fffd}[31m -> b
   ^ expected a name of letters, digits and _";
    an_empty_list_is_marked_where_it_begins: "h, -> h".parse::<AxisPattern<2>>().unwrap().infer(
        &PartialShape::known(2),
        &PartialShape::known(3),
    ) => "\
the shapes do not fit the axis pattern
  h, -> h
    ^ this list has 0 axes, the shape 1";
    groups_of_an_array_of_another_rank: zeros(&[6, 1]).broadcast_named("(h w) -> h w", &[("h", 2)]) => "\
the shapes do not fit the axis pattern
  (h w) -> h w
  ^ this list has 1 axis, the shape 2";
    a_group_that_needs_a_copy: zeros(&[2, 3]).broadcast_named("h w -> () (h 2) w", &[]) => "\
no view fits the axis pattern
  h w -> 1 (h 2) w
           ^ \"(h 2)\" needs a copy: leave out the parentheses on the right, materialize, then into_shape_with_order([1, 4, 3])";
    an_ellipsis_of_the_output_alone: "c -> ... c".parse::<AxisPattern>() => "\
invalid axis pattern
  c -> ... c
       ^ expected ... of an array, too";
    two_dots_are_not_an_ellipsis: ".. c -> .. c".parse::<AxisPattern>() => "\
invalid axis pattern
  .. c -> .. c
          ^ expected a name, or ... for any number of axes";
    a_number_of_the_input_that_is_not_1: "2 c -> c".parse::<AxisPattern>() => "\
invalid axis pattern
  2 c -> c
  ^ expected a name or 1";
    a_name_twice_in_the_input: "c c -> c".parse::<AxisPattern>() => "\
invalid axis pattern
  c c -> c
    ^ \"c\" is in this list already";
    an_invalid_name_without_an_output: "a, b-".parse::<AxisPattern<2>>() => "\
invalid axis pattern
  a, b-
      ^ expected a name of letters, digits and _";
    a_long_shape_is_drawn_around_the_axis_at_fault: BroadcastPlan::numpy(IxDyn(&long(40, 30, 12)), IxDyn(&long(40, 30, 3))) => "\
cannot broadcast [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 12, 1, ... 40 axes] to [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1, ... 40 axes] (numpy)
  input  …  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  12  1  1  1  1  1  1  1  1  1
  target …  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1   3  1  1  1  1  1  1  1  1  1
                                                                               ^ at 30: 12 is neither 3 nor 1";
}

/// The fields of a copied error may be changed.
#[test]
fn an_edited_error_is_drawn_without_a_panic() {
    macro_rules! edited {
        ($result:expr, $pattern:pat => $edit:expr) => {{
            let mut kind = $result.unwrap_err().kind().clone();
            match &mut kind {
                $pattern => $edit,
                _ => panic!("{kind:?}"),
            }
            kind.to_string()
        }};
    }
    use ErrorKind::*;
    let plan = BroadcastPlan::numpy(2, 2).unwrap();
    let (three, four) = (PartialShape::known(3), PartialShape::known(4));
    let partial = PartialPlan::with_mode(anys(1), three, BroadcastMode::Numpy).unwrap();
    let between = PartialShape::new([PartialSize::between(2, 3).unwrap()]);
    let empty = Array2::<f32>::zeros((0, 2));
    let unsized_name = "-> n".parse::<AxisPattern>().unwrap().plan((), &[]);
    let facts = [
        (
            edited!(Tile::new(&plan, &[0..3]), InvalidBox { ranges, .. } => *ranges = [0..2].into()),
            "the box [0..2] is not inside [2]",
        ),
        (
            edited!(partial.resolve(3, 4), WrongShape { found, .. } => *found = [3].into()),
            "target has shape [3], expected [3]",
        ),
        (
            edited!(
                BroadcastMode::Numpy.infer(&between, &four),
                SizeMismatch { axis, .. } => *axis = usize::MAX
            ),
            "\
cannot broadcast [2..=3] to [4] (numpy)
  input    2..=3
  target       4",
        ),
        (
            edited!(
                BroadcastPlan::numpy(3, (2, 4)),
                SizeMismatch { axis, .. } => *axis = 0
            ),
            "\
cannot broadcast [3] to [2, 4] (numpy)
  input       3
  target   2  4",
        ),
        (
            edited!(plan.view(&array![0]), WrongShape { found, .. } => *found = [2].into()),
            "input has shape [2], expected [2]",
        ),
        (
            edited!(
                empty.reduce_to_shape(2, Max),
                TooFewTerms { reduction, .. } => *reduction = ""
            ),
            "cannot reduce [0, 2]: there are no terms",
        ),
        (
            edited!(
                shape_from_integers(&[-1]),
                InvalidInteger { entry, .. } => *entry = Some((0, i128::MAX))
            ),
            "entry 0 is 170141183460469231731687303715884105727: a size must fit usize",
        ),
        (
            edited!(
                unsized_name,
                InvalidPattern { position, .. } => *position = usize::MAX
            ),
            "\
the shapes do not fit the axis pattern
  -> n
      ^ \"\" is new: its size is needed",
        ),
    ];
    for (found, expected) in facts {
        assert_eq!(found, expected);
    }
    let text = edited!(
        Array2::<f32>::zeros((2, 3)).reduce_to_shape(4, Sum),
        SizeMismatch { axis, .. } => *axis = usize::MAX
    );
    assert!(text.starts_with("cannot reduce [2, 3] to [4]"));
}

/// A writer that fails after this many writes.
struct Limited {
    left: usize,
    text: String,
}

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
        self.text.push_str(text);
        Ok(())
    }
}

/// The formatter stops at the write that fails, and returns its error.
#[test]
fn a_failed_write_ends_the_text_of_an_error() {
    let plan = BroadcastPlan::numpy(2, (3, 2)).unwrap();
    let pattern: AxisPattern = format!("c -> {} n c", "y".repeat(90)).parse().unwrap();
    let two_to_three = PartialShape::new([PartialSize::between(2, 3).unwrap()]);
    let errors = [
        zeros(&[2]).broadcast_numpy(usize::MAX).map(drop),
        zeros(&[2, 3]).broadcast_with(&zeros(&[4])).map(drop),
        plan.insert_axis(7).map(drop),
        plan.permuted(&[0, 2]).map(drop),
        Tile::new(&plan, &[0..4, 0..2]).map(drop),
        part_of_rows(3000, [0..1, 1025..3000]).map(drop),
        BroadcastMode::Numpy
            .infer(&two_to_three, &anys(0))
            .map(drop),
        BroadcastMode::Numpy
            .infer(&two_to_three, &PartialShape::known(4))
            .map(drop),
        xla(&[0]).infer(&anys(2), &anys(2)).map(drop),
        xla(&[1, 5]).infer(&anys(3), &anys(2)).map(drop),
        pattern.plan(3, &[]).map(drop),
        pattern.plan(3, &[("m", 4)]).map(drop),
        copy_strided(&[1], 6, &[2]),
        copy_strided(&[1], 5, &[2, 1]),
        copy_strided(&[1], 6, &[1, 1]),
    ];
    for error in errors.map(Result::unwrap_err) {
        let whole = error.to_string();
        for left in 0.. {
            let text = String::new();
            let mut writer = Limited { left, text };
            let written = write!(writer, "{error}");
            assert!(whole.starts_with(&writer.text), "{}", writer.text);
            assert_eq!(written.is_ok(), writer.text == whole, "{whole}");
            if written.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn roles_are_written_as_the_documentation_names_them() {
    for (role, name) in [
        (ArrayRole::Input, "input"),
        (ArrayRole::Out, "out"),
        (ArrayRole::SecondOut, "second out"),
        (ArrayRole::Cotangent, "cotangent"),
        (ArrayRole::Reduced, "array"),
        (ArrayRole::Receiver, "self"),
        (ArrayRole::Other, "other"),
        (ArrayRole::Operand(0), "a"),
        (ArrayRole::Operand(5), "f"),
        (ArrayRole::Operand(6), "operand 6"),
        (ArrayRole::Listed(6), "input 6"),
    ] {
        assert_eq!(role.to_string(), name);
    }
}

#[test]
fn an_output_of_more_than_isize_max_bytes_is_shown_with_its_element_size() {
    let (half, one) = (isize::MAX as usize / 2, array![1_u64]);
    let error = one
        .broadcast_numpy(half)
        .unwrap()
        .materialize()
        .unwrap_err();
    let text =
        format!("an owned array of shape [{half}] with 8-byte elements passes isize::MAX bytes");
    assert_eq!(error.to_string(), text);
}

/// A picture shows only the axes around the fault, and lists are truncated. The length of a message
/// therefore does not grow with the rank.
#[test]
fn messages_about_a_thousand_axes_are_short() {
    const MANY: usize = 1000;
    let target = || IxDyn(&long(MANY, 500, 3));
    let wrong = || IxDyn(&long(MANY, 500, 7));
    let identity: Vec<usize> = (0..MANY).collect();
    let with = |at: usize, axis: usize| {
        let mut axes = identity.clone();
        axes[at] = axis;
        axes
    };
    let hostile = || IxDyn(&[usize::MAX - 1; MANY]);
    macro_rules! one {
        ($rule:ident($($argument:expr),*)) => {
            BroadcastPlan::$rule($($argument),*).map(|_| ())
        };
    }
    let in_dim = |axes: &[usize]| BroadcastMode::InDim {
        broadcast_dimensions: axes.to_vec(),
    };
    let pair = |a, b, rule| BroadcastPlan::pair(a, b, &rule).map(|_| ());
    let found = zeros(&long(MANY, 500, 2));
    let errors = [
        ("SizeMismatch", one!(numpy(wrong(), target()))),
        ("SizeMismatch", one!(expand(wrong(), target()))),
        ("SizeMismatch", one!(pdpd(wrong(), target(), -1))),
        ("SizeMismatch", one!(explicit(wrong(), target(), &identity))),
        (
            "SizeMismatch",
            BroadcastPlan::with_mode(wrong(), target(), in_dim(&identity)).map(|_| ()),
        ),
        (
            "SizeMismatch",
            one!(in_dim_permuting(wrong(), target(), &identity)),
        ),
        ("SizeMismatch", one!(bidirectional(wrong(), target()))),
        (
            "SizeMismatch",
            one!(with_broadcast_axes(IxDyn(&[7; MANY]), target(), &[])),
        ),
        // Sizes with the largest number of digits.
        (
            "SizeMismatch",
            one!(numpy(IxDyn(&[usize::MAX - 2; MANY]), hostile())),
        ),
        ("ShapeOverflow", one!(numpy(hostile(), hostile()))),
        ("ShapeOverflow", one!(prepend(hostile(), hostile()))),
        ("RankMismatch", one!(numpy(IxDyn(&[1; MANY + 1]), target()))),
        ("Length", one!(explicit(target(), target(), &identity[1..]))),
        (
            "OutOfRange",
            one!(explicit(target(), target(), &with(500, MANY))),
        ),
        (
            "Repeated",
            one!(in_dim_permuting(target(), target(), &with(500, 400))),
        ),
        (
            "Unsorted",
            BroadcastPlan::with_mode(IxDyn(&[1, 1]), target(), in_dim(&[999, 0])).map(|_| ()),
        ),
        (
            "OutOfRange",
            one!(with_broadcast_axes(target(), target(), &with(500, MANY))),
        ),
        (
            "Length",
            one!(with_broadcast_axes(target(), target(), &identity)),
        ),
        ("OutOfRange", one!(pdpd(target(), target(), -2))),
        ("Overhang", one!(pdpd(target(), target(), 900))),
        (
            "SizeMismatch",
            one!(expand(IxDyn(&[1; MANY - 1]), IxDyn(&[KEEP; MANY]))),
        ),
        (
            "SizeMismatch",
            pair(wrong(), target(), ElementwiseRule::None),
        ),
        (
            "SizeMismatch",
            pair(wrong(), target(), ElementwiseRule::Numpy),
        ),
        ("SizeMismatch", pair(wrong(), target(), xla(&identity))),
        ("Unexpected", pair(target(), target(), xla(&identity[1..]))),
        ("Missing", pair(IxDyn(&[1; MANY - 1]), target(), xla(&[]))),
        (
            "WrongShape",
            BroadcastPlan::numpy(target(), target())
                .unwrap()
                .view(&found)
                .map(|_| ()),
        ),
        (
            "InvalidText",
            "x".repeat(MANY).parse::<BroadcastMode>().map(|_| ()),
        ),
        (
            "InvalidText",
            "x(1, ".repeat(MANY).parse::<BroadcastMode>().map(|_| ()),
        ),
    ];
    for (name, result) in errors {
        let error = result.unwrap_err();
        let text = error.to_string();
        assert_eq!(common::variant(&error), name, "{text}");
        let most = if text.contains(&(usize::MAX - 1).to_string()) {
            4096
        } else {
            1024
        };
        assert!(text.chars().count() < most, "{text}");
        assert!(text.lines().count() <= 5, "{text}");
    }
}

#[test]
fn shapes_are_written_whole_up_to_32_axes() {
    for (rank, end) in [(31, "1] "), (32, "1] "), (33, "1, ... 33 axes] ")] {
        let (input, target) = (long(rank, 0, 12), long(rank, 0, 3));
        let error = BroadcastPlan::numpy(IxDyn(&input), IxDyn(&target)).unwrap_err();
        let ones = "1, ".repeat(rank.min(32) - 2);
        let start = format!("cannot broadcast [12, {ones}{end}to [3, ");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}

/// The window shows 16 axes before the fault and 15 after it. At an end of the shape it is shifted.
#[test]
fn a_long_shape_is_drawn_as_32_axes_around_the_fault() {
    let target: Vec<usize> = (100..180).collect();
    for (fault, first) in [(0, 0), (16, 0), (17, 1), (40, 24), (64, 48), (79, 48)] {
        let input = long(80, fault, 7);
        let error = BroadcastPlan::numpy(IxDyn(&input), IxDyn(&target)).unwrap_err();
        let text = error.to_string();
        let row = text.lines().nth(2).unwrap().split_whitespace();
        let mut shown: Vec<String> = row.map(str::to_string).collect();
        assert_eq!(shown.remove(0), "target");
        let mut expected: Vec<String> = (first..first + 32)
            .map(|axis| (100 + axis).to_string())
            .collect();
        if first > 0 {
            expected.insert(0, "…".to_string());
        }
        if first + 32 < 80 {
            expected.push("…".to_string());
        }
        assert_eq!(shown, expected, "{text}");
    }
}

macro_rules! plans {
    ($($name:ident: $plan:expr => $text:expr;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!($plan.unwrap().to_string(), $text);
        }
    )*};
}

plans! {
    added_and_stretched_axes_are_marked: BroadcastPlan::explicit((1, 5), (4, 3, 5), &[1, 2]) => "\
[1, 5] -> [4, 3, 5] (explicit)
  input       1  5
  output   4  3  5
           +  *
  + added, * stretched from 1";
    added_axes_are_marked: BroadcastPlan::explicit(30, (4, 30, 500), &[1]) => "\
[30] -> [4, 30, 500] (explicit)
  input       30
  output   4  30  500
           +        +
  + added";
    stretched_axes_are_marked: BroadcastPlan::numpy((1, 5), (4, 5)) => "\
[1, 5] -> [4, 5] (numpy)
  input    1  5
  output   4  5
           *
  * stretched from 1";
    a_plan_that_replicates_nothing_has_no_marks: BroadcastPlan::in_dim_permuting((3, 4), (4, 3), &[1, 0]) => "\
[3, 4] -> [4, 3] (in_dim_permuting)
  input    4  3
  output   4  3
  input axes in the order [1, 0]";
    a_plan_to_a_scalar_has_no_picture: BroadcastPlan::numpy((), ()) => "[] -> [] (numpy)";
}

#[test]
fn marks_of_axes_that_are_not_drawn_leave_no_blank_line() {
    let mapping: Vec<usize> = (0..40).filter(|&axis| axis != 35).collect();
    let plan = BroadcastPlan::explicit(IxDyn(&[1; 39]), IxDyn(&[1; 40]), &mapping).unwrap();
    let text = plan.to_string();
    assert!(text.lines().all(|line| !line.is_empty()), "{text}");
    assert!(text.ends_with("\n  + added"), "{text}");
}

#[test]
fn debug_of_a_plan_lists_the_source_of_each_axis() {
    let plan = BroadcastPlan::numpy((1, 5), (2, 4, 5)).unwrap();
    assert_eq!(
        format!("{plan:?}"),
        "BroadcastPlan { rule: Numpy, input: [1, 5], output: [2, 4, 5], axes: [Added, Stretched(0), Kept(1)] }"
    );
}

#[test]
fn names_omit_default_arguments() {
    let pdpd = |axis| (BroadcastMode::Pdpd { axis }, ElementwiseRule::Pdpd { axis });
    for (axis, name) in [(-1, "pdpd"), (0, "pdpd(0)"), (2, "pdpd(2)")] {
        let (mode, rule) = pdpd(axis);
        assert_eq!(mode.to_string(), name);
        assert_eq!(rule.to_string(), name);
    }
    assert_eq!(xla(&[]).to_string(), "xla");
    assert_eq!(xla(&[0, 2]).to_string(), "xla(0, 2)");
}
