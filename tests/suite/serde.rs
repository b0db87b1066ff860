//! Modes, rules and plans survive a round trip through serde. Deserialising an invalid plan is an
//! error.

use ndarray::{Ix1, Ix2, IxDyn};
use ndarray_broadcast::distributed::Tile;
use ndarray_broadcast::infer::{PartialPlan, PartialShape, PartialSize};
use ndarray_broadcast::named::AxisPattern;
use ndarray_broadcast::openvino::Mode;
use ndarray_broadcast::prelude::*;

#[test]
fn modes_and_rules_round_trip() {
    let modes = [
        (BroadcastMode::Numpy, r#""numpy""#),
        (BroadcastMode::Bidirectional, r#""bidirectional""#),
        (
            BroadcastMode::Explicit {
                axes_mapping: vec![1, 2],
            },
            r#"{"explicit":{"axes_mapping":[1,2]}}"#,
        ),
        (
            BroadcastMode::BroadcastAxes {
                broadcast_axes: vec![0],
            },
            r#"{"broadcast_axes":{"broadcast_axes":[0]}}"#,
        ),
        (
            BroadcastMode::InDim {
                broadcast_dimensions: vec![],
            },
            r#"{"in_dim":{"broadcast_dimensions":[]}}"#,
        ),
        (
            BroadcastMode::InDimPermuting {
                broadcast_dimensions: vec![1, 0],
            },
            r#"{"in_dim_permuting":{"broadcast_dimensions":[1,0]}}"#,
        ),
        (BroadcastMode::Expand, r#""expand""#),
        (BroadcastMode::Pdpd { axis: -1 }, r#"{"pdpd":{"axis":-1}}"#),
        (
            "c -> n c".parse().unwrap(),
            r#"{"named":{"pattern":"c -> n c"}}"#,
        ),
    ];
    for (mode, text) in modes {
        assert_eq!(serde_json::to_string(&mode).unwrap(), text);
        assert_eq!(serde_json::from_str::<BroadcastMode>(text).unwrap(), mode);
    }
    let rules = [
        (ElementwiseRule::None, r#""none""#),
        (ElementwiseRule::Numpy, r#""numpy""#),
        (ElementwiseRule::Pdpd { axis: 1 }, r#"{"pdpd":{"axis":1}}"#),
        (
            ElementwiseRule::Xla {
                broadcast_dimensions: vec![0],
            },
            r#"{"xla":{"broadcast_dimensions":[0]}}"#,
        ),
    ];
    for (rule, text) in rules {
        assert_eq!(serde_json::to_string(&rule).unwrap(), text);
        assert_eq!(serde_json::from_str::<ElementwiseRule>(text).unwrap(), rule);
    }
    let extra = [
        serde_json::from_str::<BroadcastMode>(r#"{"explicit":{"axes_mapping":[1],"axes":[0]}}"#)
            .err(),
        serde_json::from_str::<ElementwiseRule>(r#"{"pdpd":{"axis":1,"axs":2}}"#).err(),
        serde_json::from_str::<Mode>(r#"{"pdpd":{"axis":1,"axs":2}}"#).err(),
    ];
    for error in extra {
        assert!(error.unwrap().to_string().contains("unknown field"));
    }
}

#[test]
fn plans_round_trip_with_static_and_dynamic_ranks() {
    let plan = BroadcastPlan::numpy(3, (2, 3)).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(
        text,
        r#"{"rule":"numpy","input":[3],"output":[2,3],"mapping":[null,0]}"#
    );
    assert_eq!(
        serde_json::from_str::<BroadcastPlan<Ix1, Ix2>>(&text).unwrap(),
        plan
    );
    assert_eq!(
        serde_json::from_str::<BroadcastPlan>(&text).unwrap(),
        plan.into_dyn()
    );
    // A trailing 1 of B that overhangs A has no output axis.
    let plan = BroadcastPlan::pdpd(IxDyn(&[4, 1]), IxDyn(&[3, 4]), 1).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<BroadcastPlan>(&text).unwrap(), plan);
}

#[test]
fn plans_of_a_thousand_axes_round_trip() {
    let sizes =
        |stretched: usize| (0..1000).map(move |axis| if axis % 100 == stretched { 2 } else { 1 });
    let shape = |stretched| sizes(stretched).collect::<Vec<usize>>();
    let reversed: Vec<usize> = (0..1000).rev().collect();
    let (numpy, _) = BroadcastPlan::pair(shape(3), shape(7), ElementwiseRule::Numpy).unwrap();
    let plans = [
        numpy,
        BroadcastPlan::numpy(vec![1], vec![1; 1000]).unwrap(),
        BroadcastPlan::in_dim_permuting(vec![1; 1000], vec![1; 1000], &reversed).unwrap(),
        // No input axis has an output axis.
        BroadcastPlan::pdpd(vec![1; 1000], vec![1; 1000], 998).unwrap(),
    ];
    for plan in plans {
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<BroadcastPlan>(&text).unwrap(), plan);
    }
}

#[test]
fn invalid_plans_are_rejected() {
    let invalid = [
        (
            r#"{"rule":"numpy","input":[3],"output":[2,4],"mapping":[null,0]}"#,
            "another size",
        ),
        (
            r#"{"rule":"numpy","input":[3],"output":[2,3],"mapping":[null,null]}"#,
            "feeds no output axis",
        ),
        (
            r#"{"rule":"numpy","input":[3],"output":[3,3],"mapping":[0,0]}"#,
            "names an input axis twice",
        ),
        (
            r#"{"rule":"numpy","input":[3],"output":[2,3],"mapping":[1,0]}"#,
            "the input does not have",
        ),
        (
            r#"{"rule":"numpy","input":[3],"output":[2,3],"mapping":[0]}"#,
            "one entry for each output axis",
        ),
        (
            r#"{"rule":"numpy","input":[0],"output":[9],"mapping":[0]}"#,
            "another size",
        ),
        (
            r#"{"rule":"numpy","input":[1],"output":[4294967294,4294967294],"mapping":[null,0]}"#,
            "isize::MAX",
        ),
        (
            r#"{"rule":"numpy","input":[1,1],"output":[1],"mapping":[0]}"#,
            "rank 2, expected 1",
        ),
        (
            r#"{"rule":"nympy","input":[3],"output":[2,3],"mapping":[null,0]}"#,
            "unknown variant",
        ),
        (
            r#"{"rule":"numpy","input":[3],"output":[3],"mapping":[0],"extra":1}"#,
            "unknown field",
        ),
    ];
    for (text, why) in invalid {
        let error = serde_json::from_str::<BroadcastPlan<Ix1, IxDyn>>(text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

/// Asserts that the value serialises as this text and reads back.
fn assert_round_trip<T>(value: &T, text: &str)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    assert_eq!(serde_json::to_string(value).unwrap(), text);
    assert_eq!(&serde_json::from_str::<T>(text).unwrap(), value);
}

#[test]
fn tiles_and_composed_plans_round_trip() {
    let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4)).unwrap();
    assert_round_trip(
        &Tile::new(&plan, &[1..2, 1..3, 0..2]).unwrap(),
        r#"{"input_start":[1,0],"output_start":[1,1,0],"plan":{"rule":"numpy","input":[2,1],"output":[1,2,2],"mapping":[null,0,1]}}"#,
    );
    assert_round_trip(
        &plan.permuted(&[2, 1, 0]).unwrap(),
        r#"{"rule":"composed","input":[3,1],"output":[4,3,2],"mapping":[1,0,null]}"#,
    );
    for (text, why) in [
        (
            r#"{"input_start":[1],"output_start":[1,MAX],"plan":{"rule":"numpy","input":[2],"output":[1,2],"mapping":[null,0]}}"#,
            "a box must begin",
        ),
        (
            r#"{"input_start":[],"output_start":[1,1],"plan":{"rule":"numpy","input":[2],"output":[1,2],"mapping":[null,0]}}"#,
            "a box must begin",
        ),
        (
            r#"{"input_start":[0],"output_start":[1,1],"plan":{"rule":"numpy","input":[3],"output":[1,2],"mapping":[null,0]}}"#,
            "another size",
        ),
    ] {
        let text = text.replace("MAX", &usize::MAX.to_string());
        let error = serde_json::from_str::<Tile>(&text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn partial_shapes_and_patterns_round_trip() {
    let between = PartialSize::between(2, 5).unwrap();
    let shape = PartialShape::new([PartialSize::ANY, between, PartialSize::known(3)]);
    assert_round_trip(&shape, "[[0,null,null],[2,5,null],[3,3,null]]");
    assert_round_trip(&between.with_symbol(7), "[2,5,7]");
    assert_round_trip(&PartialShape::UNKNOWN, "null");
    // The same text with pointers of any width.
    const MOST: &str = "18446744073709551615";
    assert_round_trip(&PartialSize::known(KEEP), &format!("[{MOST},{MOST},null]"));
    assert_round_trip(
        &PartialSize::from(KEEP - 1..),
        &format!("[{},null,null]", KEEP - 1),
    );
    let narrow = serde_json::from_str::<PartialSize>("[4294967295,4294967295,null]");
    assert_eq!(
        narrow.ok(),
        (KEEP > 4294967295).then(|| PartialSize::known(4294967295))
    );
    let plan = PartialPlan::with_mode(shape, PartialShape::UNKNOWN, BroadcastMode::Numpy).unwrap();
    assert_round_trip(
        &plan,
        r#"{"mode":"numpy","input":[[0,null,null],[2,5,null],[3,3,null]],"target":null}"#,
    );
    let plan = PartialPlan::prepend(PartialShape::UNKNOWN, PartialShape::known(2)).unwrap();
    assert_round_trip(&plan, r#"{"mode":null,"input":null,"target":[[2,2,null]]}"#);
    assert_round_trip::<AxisPattern<2>>(&"x, y".parse().unwrap(), r#""x, y -> x y""#);

    assert!(serde_json::from_str::<PartialSize>("[5,2,null]").is_err());
    assert!(serde_json::from_str::<AxisPattern>(r#""c -> c c""#).is_err());
    let impossible = r#"{"mode":"numpy","input":[[2,3,null]],"target":[[4,null,null]]}"#;
    let error = serde_json::from_str::<PartialPlan>(impossible).unwrap_err();
    assert!(error.to_string().contains("is never 4.."), "{error}");
}

#[test]
fn a_partial_plan_without_one_of_its_fields_is_rejected() {
    for (text, field) in [
        ("{}", "mode"),
        (r#"{"input":null,"target":null}"#, "mode"),
        (r#"{"mode":null,"target":null}"#, "input"),
        (r#"{"mode":null,"input":null}"#, "target"),
    ] {
        let error = serde_json::from_str::<PartialPlan>(text)
            .unwrap_err()
            .to_string();
        let why = format!("missing field `{field}`");
        assert!(error.contains(&why), "{text}: {error}");
    }
    let whole = r#"{"mode":null,"input":null,"target":null}"#;
    assert!(serde_json::from_str::<PartialPlan>(whole).is_ok());
}
