//! The example `openvino_ir` on real OpenVINO models, and on the same models with one defect each.
//! Each defect is reported in one line, without a panic.

use crate::{cli, compare, shapes, tensor};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/ir");

/// Returns the exit code, standard output and standard error.
fn run_cli(arguments: &[&Path]) -> (u8, String, String) {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = cli::run(&arguments, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("the example writes UTF-8");
    (code, text(out), text(err))
}

/// A copy of a model's files, which a test can change.
struct Copy {
    folder: PathBuf,
    model: &'static str,
}

impl Copy {
    fn new(test: &str, model: &'static str) -> Self {
        Copy::of_folder(test, Path::new(MODELS), model)
    }

    /// A copy of a model that is checked and not run.
    fn checked(test: &str, model: &'static str) -> Self {
        Copy::of_folder(test, &Path::new(MODELS).join("check"), model)
    }

    fn of_folder(test: &str, models: &Path, model: &'static str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("openvino_ir-{test}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(models).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.split('.').next() == Some(model) {
                fs::write(folder.join(&name), fs::read(models.join(&name)).unwrap()).unwrap();
            }
        }
        Copy { folder, model }
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.model))
    }

    /// Replaces a text that occurs exactly once in the model.
    fn edit(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.path("xml")).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {}", self.model);
        fs::write(self.path("xml"), text.replace(from, to)).unwrap();
    }

    fn edit_first(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.path("xml")).unwrap();
        assert!(text.contains(from), "{from:?} in {}", self.model);
        fs::write(self.path("xml"), text.replacen(from, to, 1)).unwrap();
    }

    fn change(&self, extension: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let path = self.path(extension);
        fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
    }

    /// Returns the exit code and standard error, without the name of the folder.
    fn run(&self) -> (u8, String) {
        let (code, _, err) = run_cli(&[&self.path("xml")]);
        (code, self.without_folder(&err))
    }

    /// Returns the exit code, standard output and standard error of `--check`.
    fn check(&self) -> (u8, String, String) {
        let (code, out, err) = run_cli(&[Path::new("--check"), &self.path("xml")]);
        (code, self.without_folder(&out), self.without_folder(&err))
    }

    /// Returns the exit code and standard error of `--check`.
    fn errors_of_check(&self) -> (u8, String) {
        let (code, _, err) = self.check();
        (code, err)
    }

    fn without_folder(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.display()), "")
    }
}

#[test]
fn every_real_model_gives_the_output_of_openvino() {
    let (code, out, err) = run_cli(&[]);
    assert_eq!((code, &err[..]), (cli::EQUAL, ""));
    assert!(
        out.ends_with("\n39 of 39 models give OpenVINO's output\n"),
        "{out}"
    );
    let models = cli::models_in(Path::new(MODELS)).unwrap();
    assert_eq!(models.len(), 39);
    for model in models {
        compare::compare(&model).unwrap();
    }
}

#[test]
fn wrong_arguments_have_their_own_exit_code() {
    let (code, help, _) = run_cli(&[Path::new("--help")]);
    assert_eq!(code, cli::EQUAL);
    for file in ["MODEL.xml", "NAME.bin", "NAME.in0.npy", "NAME.out.npy"] {
        assert!(help.contains(file), "{help}");
    }
    let (code, out, err) = run_cli(&[Path::new("--frobnicate")]);
    assert_eq!((code, &out[..]), (cli::MISUSED, ""));
    assert!(
        err.contains("--frobnicate") && err.contains("\nusage: openvino_ir "),
        "{err}"
    );
}

#[test]
fn an_output_that_differs_from_openvinos_is_reported() {
    let copy = Copy::new("difference", "v1_numpy");
    copy.change("out.npy", |mut bytes| {
        *bytes.last_mut().unwrap() ^= 1;
        bytes
    });
    let line = "v1_numpy.xml: the output differs from OpenVINO's at element 23\n";
    assert_eq!(copy.run(), (cli::DIFFERENT, line.into()));
}

/// Attributes that other versions of OpenVINO spell differently or leave out.
#[test]
fn other_spellings_of_attributes_are_accepted() {
    for (name, model, from, to) in [
        ("none", "v3_explicit", "mode=\"explicit\"", "mode=\"NONE\""),
        ("default", "v3_numpy", "<data mode=\"numpy\" />", ""),
        (
            "opset",
            "v3_numpy",
            "type=\"Broadcast\" version=\"opset3\"",
            "type=\"Broadcast\" version=\"opset13\"",
        ),
        (
            "two",
            "v1_numpy",
            "type=\"Broadcast\" version=\"opset1\"",
            "type=\"Broadcast\" version=\"opset2\"",
        ),
        (
            "pdpd",
            "v1_numpy",
            "mode=\"numpy\"",
            "mode=\"pdpd\" mode.auto_broadcast_axis=\"1\"",
        ),
        ("ten", "v1_explicit_hw", "version=\"11\"", "version=\"10\""),
        (
            "eltwise",
            "add_numpy",
            "<data auto_broadcast=\"numpy\" />",
            "",
        ),
    ] {
        let copy = Copy::new(&format!("spelling-{name}"), model);
        copy.edit(from, to);
        assert_eq!(copy.run(), (cli::EQUAL, String::new()), "{name}");
    }
    // A dynamic dimension (-1) accepts any size.
    let copy = Copy::new("spelling-open", "v3_numpy");
    let text = fs::read_to_string(copy.path("xml")).unwrap();
    let text = text.replace("<dim>50</dim>", "<dim>-1</dim>");
    fs::write(copy.path("xml"), text).unwrap();
    assert_eq!(copy.run(), (cli::EQUAL, String::new()));
}

/// A test for each model that is changed: the line that is reported of it.
macro_rules! broken {
    ($copy:path, $edit:path, $run:path;
     $($(#[$cfg:meta])? $name:ident: $model:literal, $($from:literal => $to:literal),+ => $line:literal;)*) => {$(
        $(#[$cfg])?
        #[test]
        fn $name() {
            let copy = $copy(stringify!($name), $model);
            $($edit(&copy, $from, $to);)+
            assert_eq!($run(&copy), (cli::DIFFERENT, concat!($line, "\n").into()));
        }
    )*};
}

broken! { Copy::new, Copy::edit, Copy::run;
    an_unknown_layer: "mul_none", "type=\"Multiply\"" => "type=\"Relu\"" =>
        "mul_none.xml: layer 2 \"eltwise\" (Relu): this kind of layer is unknown here; known are Parameter, Const, Result, Broadcast, Convert, PReLU, Reshape, Select, ShapeOf, Squeeze, Unsqueeze, Add, Subtract, Multiply, Divide, Maximum, Minimum, SquaredDifference, Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual, LogicalAnd, LogicalOr, LogicalXor, ReduceSum, ReduceMean, ReduceProd, ReduceMax, ReduceMin, ReduceL1, ReduceL2, ReduceLogicalAnd, ReduceLogicalOr";
    malformed_xml: "mul_none", "<layers>" => "<layers" =>
        "mul_none.xml: this is not well-formed XML: invalid name token at 4:3";
    another_root: "mul_none", "<net " => "<network ", "</net>" => "</network>" =>
        "mul_none.xml: this is no model: its root is not <net>";
    no_edges: "mul_none", "<edges>" => "<no>", "</edges>" => "</no>" =>
        "mul_none.xml: there is no <edges>";
    a_layer_without_id: "mul_none", "<layer id=\"2\" " => "<layer " =>
        "mul_none.xml: a <layer> has no \"id\", at 22:3";
    an_id_that_is_no_number: "mul_none", "<layer id=\"2\" " => "<layer id=\"two\" " =>
        "mul_none.xml: a <layer> has \"id\" \"two\", which is no number, at 22:3";
    two_layers_of_one_id: "mul_none", "<layer id=\"1\" " => "<layer id=\"0\" " =>
        "mul_none.xml: two layers have the id 0";
    two_ports_of_one_id: "v1_explicit", "<port id=\"3\" precision=\"FP32\"" => "<port id=\"2\" precision=\"FP32\"" =>
        "v1_explicit.xml: layer 3 \"broadcast\" (Broadcast): two ports have the id 2";
    a_cycle: "chain", "<edge from-layer=\"3\" from-port=\"2\" to-layer=\"7\" to-port=\"0\" />" => "<edge from-layer=\"9\" from-port=\"2\" to-layer=\"7\" to-port=\"0\" />" =>
        "chain.xml: the graph has a cycle, and layer 7 \"Add_79782\" (Add) waits for it";
    a_layer_with_an_edge_to_itself: "chain", "<edge from-layer=\"3\" from-port=\"2\" to-layer=\"7\" to-port=\"0\" />" => "<edge from-layer=\"7\" from-port=\"2\" to-layer=\"7\" to-port=\"0\" />" =>
        "chain.xml: the graph has a cycle, and layer 7 \"Add_79782\" (Add) waits for it";
    an_edge_from_an_unknown_layer: "mul_none", "from-layer=\"0\"" => "from-layer=\"77\"" =>
        "mul_none.xml: an edge from layer 77, port 0: there is no such layer";
    an_edge_from_an_unknown_port: "mul_none", "from-layer=\"0\" from-port=\"0\"" => "from-layer=\"0\" from-port=\"5\"" =>
        "mul_none.xml: an edge from layer 0, port 5: there is no such output";
    an_edge_to_an_unknown_port: "mul_none", "to-layer=\"3\" to-port=\"0\"" => "to-layer=\"3\" to-port=\"9\"" =>
        "mul_none.xml: an edge to layer 3, port 9: there is no such input";
    a_missing_edge: "mul_none", "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\" />" => "" =>
        "mul_none.xml: layer 2 \"eltwise\" (Multiply): no edge leads to its port 0";
    two_edges_to_one_port: "mul_none", "to-layer=\"2\" to-port=\"1\"" => "to-layer=\"2\" to-port=\"0\"" =>
        "mul_none.xml: layer 2 \"eltwise\" (Multiply): two edges lead to its port 0";
    a_constant_outside_the_file: "v3_numpy", "offset=\"0\"" => "offset=\"8\"" =>
        "v3_numpy.xml: layer 1 \"target_shape\" (Const): 32 bytes from 8 on reach past the end of the .bin file, which has 32";
    #[cfg(target_pointer_width = "64")]
    a_constant_whose_end_overflows: "v3_numpy", "offset=\"0\"" => "offset=\"18446744073709551615\"" =>
        "v3_numpy.xml: layer 1 \"target_shape\" (Const): 32 bytes from 18446744073709551615 on reach past the end of the .bin file, which has 32";
    a_constant_of_another_size: "v3_numpy", "size=\"32\"" => "size=\"31\"" =>
        "v3_numpy.xml: layer 1 \"target_shape\" (Const): shape [4] of i64 needs 32 bytes, and size is 31";
    #[cfg(target_pointer_width = "64")]
    a_constant_whose_shape_overflows: "v3_numpy", "element_type=\"i64\" shape=\"4\"" => "element_type=\"i64\" shape=\"4294967296,4294967296\"" =>
        "v3_numpy.xml: layer 1 \"target_shape\" (Const): a tensor of shape [4294967296, 4294967296] passes this example's limit of 1073741824 bytes";
    a_constant_of_an_unknown_type: "v3_numpy", "element_type=\"i64\"" => "element_type=\"u4\"" =>
        "v3_numpy.xml: layer 1 \"target_shape\" (Const): element type \"u4\" is unknown here";
    a_constant_without_offset: "v3_numpy", "offset=\"0\" " => "" =>
        "v3_numpy.xml: layer 1 \"target_shape\" (Const) has no attribute \"offset\"";
    a_parameter_of_no_sizes: "mul_none", "name=\"a\" type=\"Parameter\" version=\"opset1\">\n\t\t\t<data shape=\"2,3\"" => "name=\"a\" type=\"Parameter\" version=\"opset1\">\n\t\t\t<data shape=\"x,3\"" =>
        "mul_none.xml: layer 0 \"a\" (Parameter): shape is \"x,3\", not a list of sizes and ranges";
    a_parameter_of_another_shape: "v3_numpy", "shape=\"16,1,1\"" => "shape=\"16,1\"" =>
        "v3_numpy.xml: layer 0 \"data\" (Parameter): the model wants f32 [16, 1], and the input is f32 [16, 1, 1]";
    a_parameter_of_another_type: "v3_numpy", "element_type=\"f32\"" => "element_type=\"f16\"" =>
        "v3_numpy.xml: layer 0 \"data\" (Parameter): the model wants f16 [16, 1, 1], and the input is f32 [16, 1, 1]";
    a_target_shape_that_is_no_integer: "v3_numpy", "element_type=\"i64\" shape=\"4\"" => "element_type=\"f64\" shape=\"4\"" =>
        "v3_numpy.xml: layer 2 \"broadcast\" (Broadcast): target_shape is a tensor of f64, not of integers";
    a_target_shape_of_rank_two: "v3_numpy", "element_type=\"i64\" shape=\"4\"" => "element_type=\"i64\" shape=\"2,2\"", "<port id=\"0\" precision=\"I64\">\n\t\t\t\t\t<dim>4</dim>" => "<port id=\"0\" precision=\"I64\">\n\t\t\t\t\t<dim>2</dim>\n\t\t\t\t\t<dim>2</dim>" =>
        "v3_numpy.xml: layer 2 \"broadcast\" (Broadcast): sizes are of rank 1, but this tensor has the shape [2, 2]";
    an_unknown_mode: "v3_numpy", "mode=\"numpy\"" => "mode=\"foo\"" =>
        "v3_numpy.xml: layer 2 \"broadcast\" (Broadcast): invalid OpenVINO broadcast mode \"foo\": expected numpy, explicit (or none), bidirectional or pdpd(..)";
    a_mode_of_the_other_version: "v3_bidirectional", "type=\"Broadcast\" version=\"opset3\"" => "type=\"Broadcast\" version=\"opset1\"" =>
        "v3_bidirectional.xml: layer 2 \"broadcast\" (Broadcast): OpenVINO Broadcast-1 has no mode \"bidirectional\": Broadcast-3 has it";
    an_unknown_operation_set: "v3_numpy", "type=\"Broadcast\" version=\"opset3\"" => "type=\"Broadcast\" version=\"extension\"" =>
        "v3_numpy.xml: layer 2 \"broadcast\" (Broadcast): operation set \"extension\" is unknown here";
    a_missing_axes_mapping: "v3_numpy", "mode=\"numpy\"" => "mode=\"explicit\"" =>
        "v3_numpy.xml: layer 2 \"broadcast\" (Broadcast): OpenVINO Broadcast-3 in mode \"explicit\" needs axes_mapping: one target axis for each input axis";
    an_unexpected_axes_mapping: "v3_explicit", "mode=\"explicit\"" => "mode=\"numpy\"" =>
        "v3_explicit.xml: layer 3 \"broadcast\" (Broadcast): OpenVINO Broadcast-3 in mode \"numpy\" takes no axes_mapping: drop it, or use mode \"explicit\"";
    a_port_of_another_shape: "v3_numpy_scalar", "<dim>2</dim>\n\t\t\t\t\t<dim>3</dim>\n\t\t\t\t</port>\n\t\t\t</output>" => "<dim>2</dim>\n\t\t\t\t\t<dim>4</dim>\n\t\t\t\t</port>\n\t\t\t</output>" =>
        "v3_numpy_scalar.xml: layer 2 \"broadcast\" (Broadcast): its output has shape [2, 3], and the model says [2, 4]";
    a_port_size_that_is_no_number: "v3_numpy_scalar", "<dim>2</dim>\n\t\t\t\t\t<dim>3</dim>\n\t\t\t\t</port>\n\t\t\t</output>" => "<dim>2</dim>\n\t\t\t\t\t<dim>x</dim>\n\t\t\t\t</port>\n\t\t\t</output>" =>
        "v3_numpy_scalar.xml: layer 2: a port has the size \"x\", which is none";
    a_pdpd_operand_that_overhangs: "add_pdpd_axis1", "auto_broadcast_axis=\"1\"" => "auto_broadcast_axis=\"3\"" =>
        "add_pdpd_axis1.xml: layer 2 \"eltwise\" (Add): cannot broadcast [3, 4] to [2, 3, 4, 5] (pdpd): from axis 3 on a has 1, but b has 2 axes";
    operands_of_different_shapes_without_broadcast: "add_numpy", "auto_broadcast=\"numpy\"" => "auto_broadcast=\"none\"" =>
        "add_numpy.xml: layer 2 \"eltwise\" (Add): cannot broadcast [2, 1, 5] with [4, 1] (none): a has 3 axes, b has 2: this rule wants identical shapes";
    a_missing_pdpd_axis_is_0: "add_pdpd_axis1", " auto_broadcast.auto_broadcast_axis=\"1\"" => "" =>
        "add_pdpd_axis1.xml: layer 2 \"eltwise\" (Add): cannot broadcast [3, 4] to [2, 3, 4, 5] (pdpd): 3 is neither 2 nor 1";
    a_pdpd_axis_that_is_no_integer: "add_pdpd_axis1", "auto_broadcast_axis=\"1\"" => "auto_broadcast_axis=\"one\"" =>
        "add_pdpd_axis1.xml: layer 2 \"eltwise\" (Add): axis is \"one\", not an integer";
    an_unknown_auto_broadcast: "add_numpy", "auto_broadcast=\"numpy\"" => "auto_broadcast=\"xla(0)\"" =>
        "add_numpy.xml: layer 2 \"eltwise\" (Add): auto_broadcast is \"xla(0)\"; known are none, numpy and pdpd";
    a_layer_with_too_few_inputs: "mul_none", "<port id=\"1\" precision=\"FP32\">\n\t\t\t\t\t<dim>2</dim>\n\t\t\t\t\t<dim>3</dim>\n\t\t\t\t</port>\n" => "", "<edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"1\" />" => "" =>
        "mul_none.xml: layer 2 \"eltwise\" (Multiply): the number of its inputs is 1";
    no_result: "mul_none", "type=\"Result\"" => "type=\"Const\"" =>
        "mul_none.xml: the model has 0 results, not one";
    a_line_break_in_a_name: "mul_none", "type=\"Multiply\"" => "type=\"Mul&#10;tiply\"" =>
        "mul_none.xml: layer 2 \"eltwise\" (Mul tiply): this kind of layer is unknown here; known are Parameter, Const, Result, Broadcast, Convert, PReLU, Reshape, Select, ShapeOf, Squeeze, Unsqueeze, Add, Subtract, Multiply, Divide, Maximum, Minimum, SquaredDifference, Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual, LogicalAnd, LogicalOr, LogicalXor, ReduceSum, ReduceMean, ReduceProd, ReduceMax, ReduceMin, ReduceL1, ReduceL2, ReduceLogicalAnd, ReduceLogicalOr";
}

#[test]
fn a_constant_past_the_end_of_truncated_weights_is_reported() {
    let copy = Copy::new("cut", "v1_explicit");
    copy.change("bin", |bytes| bytes[..36].to_vec());
    let line = "v1_explicit.xml: layer 2 \"axes_mapping\" (Const): 8 bytes from 32 on reach past the end of the .bin file, which has 36\n";
    assert_eq!(copy.run(), (cli::DIFFERENT, line.into()));
}

#[test]
fn missing_files_are_reported_by_name() {
    for extension in ["xml", "bin", "in0.npy", "out.npy"] {
        let copy = Copy::new(&format!("missing-{extension}"), "mul_none");
        fs::remove_file(copy.path(extension)).unwrap();
        let (code, line) = copy.run();
        assert_eq!(code, cli::DIFFERENT);
        assert!(
            line.starts_with(&format!("mul_none.{extension}: ")),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

/// A target shape that exceeds memory is rejected before any allocation.
#[test]
fn invalid_target_shapes_are_reported() {
    for (name, sizes, problem) in [
        #[cfg(target_pointer_width = "64")]
        (
            "overflow",
            [1 << 40, 1 << 40],
            "the shape [1099511627776, 1099511627776] has more than isize::MAX elements: no array can have it",
        ),
        (
            "memory",
            [1_i64 << 15, 1 << 15],
            "a tensor of shape [32768, 32768] passes this example's limit of 1073741824 bytes",
        ),
        (
            "negative",
            [2, -3],
            "entry 1 is -3: a size must not be negative",
        ),
    ] {
        let copy = Copy::new(&format!("huge-{name}"), "v3_numpy_scalar");
        copy.change("bin", |_| {
            sizes.iter().flat_map(|size| size.to_le_bytes()).collect()
        });
        let line = format!("v3_numpy_scalar.xml: layer 2 \"broadcast\" (Broadcast): {problem}\n");
        assert_eq!(copy.run(), (cli::DIFFERENT, line));
    }
}

/// XML that could exhaust its reader: deep nesting, entities, no XML at all.
#[test]
fn hostile_xml_is_reported() {
    let deep = "<net version=\"11\">".to_owned()
        + &"<a>".repeat(1 << 18)
        + &"</a>".repeat(1 << 18)
        + "</net>";
    let entities =
        "<!DOCTYPE net [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><net>&b;</net>";
    for (name, text, problem) in [
        ("deep", &deep[..], "there is no <layers>"),
        (
            "entities",
            entities,
            "this is not well-formed XML: XML with DTD detected",
        ),
        (
            "empty",
            "",
            "this is not well-formed XML: the document does not have a root node",
        ),
        (
            "bytes",
            "\0\0",
            "this is not well-formed XML: unknown token at 1:1",
        ),
    ] {
        let copy = Copy::new(&format!("xml-{name}"), "mul_none");
        copy.change("xml", |_| text.into());
        assert_eq!(
            copy.run(),
            (cli::DIFFERENT, format!("mul_none.xml: {problem}\n")),
            "{name}"
        );
    }
    let attributes: String = (0..1001).map(|i| format!(" a{i}=\"\"")).collect();
    let port = |i| format!("<port id=\"{i}\"/>");
    let ports: String = (0..1001).map(port).collect();
    for (name, text, problem) in [
        (
            "attributes",
            format!("<net><layers{attributes}/></net>"),
            "<layers> has more than 1000 attributes",
        ),
        (
            "namespaces",
            format!(
                "<net><layers>{}</layers></net>",
                "<a xmlns:b=\"c\"/>".repeat(1001)
            ),
            "there are more than 1000 namespaces",
        ),
        (
            "ports",
            format!(
                "<net version=\"11\"><layers><layer id=\"7\" name=\"a\" type=\"Add\"><input>{ports}</input></layer>\
                 </layers><edges/></net>"
            ),
            "layer 7 \"a\" (Add) has more than 1000 inputs",
        ),
    ] {
        let copy = Copy::new(&format!("xml-{name}"), "mul_none");
        copy.change("xml", |_| text.into());
        let expected = format!("mul_none.xml: {problem}\n");
        assert_eq!(copy.run(), (cli::DIFFERENT, expected), "{name}");
    }
    let copy = Copy::new("xml-utf8", "mul_none");
    copy.change("xml", |_| b"<net>\xff</net>".to_vec());
    assert_eq!(
        copy.run(),
        (cli::DIFFERENT, "mul_none.xml: this is not UTF-8\n".into())
    );
}

#[test]
fn invalid_npy_inputs_are_reported() {
    let header = |text: &str| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    };
    let dict = |descr: &str, shape: &str| {
        header(&format!(
            "{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}), }}\n"
        ))
    };
    for (name, bytes, problem) in [
        (
            "empty",
            vec![],
            "this is no .npy file, or it ends in its header",
        ),
        (
            "text",
            b"1,2,3".to_vec(),
            "this is no .npy file, or it ends in its header",
        ),
        (
            "cut",
            header("{'descr': ")[..16].to_vec(),
            "this is no .npy file, or it ends in its header",
        ),
        (
            "version",
            b"\x93NUMPY\x09\x00\x00\x00".to_vec(),
            "version 9.0 of .npy is unknown",
        ),
        (
            "long",
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(),
            "this is no .npy file, or it ends in its header",
        ),
        (
            "dict",
            header("{'descr'"),
            "the header is not a dict of descr, fortran_order and shape",
        ),
        (
            "nested",
            header(&"(".repeat(60_000)),
            "the header is not a dict of descr, fortran_order and shape",
        ),
        (
            "no-shape",
            header("{'descr': '<f4', 'fortran_order': False}"),
            "the header is not a dict of descr, fortran_order and shape",
        ),
        (
            "negative",
            dict("'<f4'", "-2, 3"),
            "the header is not a dict of descr, fortran_order and shape",
        ),
        (
            "type",
            dict("'|O'", "2, 3"),
            "element type \"|O\" is unknown here",
        ),
        (
            "short",
            dict("'<f4'", "2, 3"),
            "shape [2, 3] of f32 needs 24 bytes of data, and there are 0",
        ),
        #[cfg(target_pointer_width = "64")]
        (
            "overflow",
            dict("'<f4'", "4294967296, 4294967296"),
            "a tensor of shape [4294967296, 4294967296] passes this example's limit of 1073741824 bytes",
        ),
    ] {
        let copy = Copy::new(&format!("npy-{name}"), "mul_none");
        copy.change("in1.npy", |_| bytes);
        assert_eq!(
            copy.run(),
            (cli::DIFFERENT, format!("mul_none.in1.npy: {problem}\n")),
            "{name}"
        );
    }
}

/// Every element type, in C and in Fortran order.
#[test]
fn npy_files_of_every_type_are_read() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("openvino_ir-types.npy");
    for (descr, size) in [
        ("<f2", 2),
        ("<f4", 4),
        ("<f8", 8),
        ("|b1", 1),
        ("|i1", 1),
        ("<i2", 2),
        ("<i4", 4),
        ("<i8", 8),
        ("|u1", 1),
        ("<u2", 2),
        ("<u4", 4),
        ("<u8", 8),
    ] {
        for (fortran, second) in [("False", [0, 1]), ("True", [1, 0])] {
            let header =
                format!("{{'fortran_order': {fortran}, 'shape': (2, 2,), 'descr': '{descr}'}}");
            let mut bytes = b"\x93NUMPY\x03\x00".to_vec();
            bytes.extend((header.len() as u32).to_le_bytes());
            bytes.extend(header.as_bytes());
            // 0, 1, 0, 0 in file order. As a float, the byte 1 is a small value other than 0.
            for element in 0..4 {
                bytes.extend((0..size).map(|byte| u8::from(element == 1 && byte == 0)));
            }
            fs::write(&path, bytes).unwrap();
            let tensor = compare::read_npy(&path).unwrap();
            assert_eq!(tensor.shape(), [2, 2]);
            let zeros = tensor
                .element_type()
                .tensor(&[2, 2], tensor::Order::default(), &vec![0; 4 * size])
                .unwrap();
            let at = compare::first_difference(&tensor, &zeros);
            assert_eq!(at, Some(second[0] * 2 + second[1]), "{descr} {fortran}");
        }
    }
}

/// The bytes of a `.npy` file of shape [2, 3].
fn npy_file(descr: &str, data: Vec<u8>) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2, 3), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.into_bytes());
    bytes.extend(data);
    bytes
}

/// Elementwise layers on integers and floats of several widths.
#[test]
fn elementwise_layers_wrap_integers_and_follow_ieee_754() {
    macro_rules! check {
        ($name:literal, $descr:literal, $number:expr; $($kind:literal: $a:expr, $b:expr => $out:expr;)*) => {$({
            let bytes = |values: [f64; 6]| {
                let bytes = values.map($number).into_iter().flat_map(|value| value.to_le_bytes());
                npy_file($descr, bytes.collect())
            };
            let copy = Copy::new(&format!("{}-{}", $name, $kind), "mul_none");
            let text = fs::read_to_string(copy.path("xml")).unwrap();
            let text = text.replace("element_type=\"f32\"", concat!("element_type=\"", $name, "\""));
            let text = text.replace("type=\"Multiply\"", concat!("type=\"", $kind, "\""));
            fs::write(copy.path("xml"), text).unwrap();
            copy.change("in0.npy", |_| bytes($a));
            copy.change("in1.npy", |_| bytes($b));
            copy.change("out.npy", |_| bytes($out));
            assert_eq!(copy.run(), (cli::EQUAL, String::new()), concat!($name, " ", $kind));
        })*};
    }
    check! { "u8", "|u1", |x: f64| x as u8;
        "Add": [250., 1., 0., 255., 3., 4.], [10., 2., 0., 1., 5., 5.] => [4., 3., 0., 0., 8., 9.];
        "Subtract": [3., 5., 0., 0., 9., 9.], [5., 3., 1., 0., 9., 8.] => [254., 2., 255., 0., 0., 1.];
        "Multiply": [20., 16., 2., 0., 1., 3.], [13., 16., 3., 9., 1., 3.] => [4., 0., 6., 0., 1., 9.];
    }
    check! { "i64", "<i8", |x: f64| x as i64;
        "Maximum": [-1., 2., 3., -4., 0., 9.], [1., -2., 3., -5., 0., 8.] => [1., 2., 3., -4., 0., 9.];
        "Minimum": [-1., 2., 3., -4., 0., 9.], [1., -2., 3., -5., 0., 8.] => [-1., -2., 3., -5., 0., 8.];
    }
    check! { "f64", "<f8", |x: f64| x;
        "Divide": [1., -1., 0., 1., 3., f64::MAX], [0., 0., 0., 4., 2., 1.] =>
            [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.25, 1.5, f64::MAX];
        "Maximum": [1., -1., 0., 1., 3., 5.], [0., 0., 0., 4., 2., 1.] => [1., 0., 0., 4., 3., 5.];
    }
    check! { "f16", "<f2", half::f16::from_f64;
        "Add": [2048., 1., 65504., 0.5, -1., 0.], [1., 0.0001, 65504., 0.25, 1., 3.] =>
            [2048., 1., f64::INFINITY, 0.75, 0., 3.];
        "Minimum": [1., -1., 0., 1., 3., 5.], [0., 0., 0., 4., 2., 1.] => [0., -1., 0., 1., 2., 1.];
    }
}

#[test]
fn every_model_declares_the_shapes_that_are_inferred() {
    for folder in [
        MODELS,
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/ir/check"),
    ] {
        for model in cli::models_in(Path::new(folder)).unwrap() {
            let checked = shapes::check(&model).unwrap();
            assert_eq!(checked.count(shapes::Verdict::Different), 0, "{checked:?}");
            assert_eq!(
                checked.count(shapes::Verdict::FileNarrower),
                0,
                "{checked:?}"
            );
            let other_kinds: usize = checked.passed_over.values().sum();
            let counts = shapes::Verdict::ALL.map(|verdict| checked.count(verdict));
            assert_eq!(counts.iter().sum::<usize>() + other_kinds, checked.layers);
        }
    }
    let (code, out, err) = run_cli(&[Path::new("--check")]);
    assert_eq!((code, &err[..]), (cli::EQUAL, ""));
    let last = "\n39 of 39 models declare the shapes that are inferred here\n";
    assert!(out.ends_with(last), "{out}");
}

#[test]
fn a_check_lists_what_was_checked_and_what_was_passed_over() {
    let copy = Copy::checked("list", "values");
    let list = "\
values.xml: IR 11, graphs: 1, layers: 52, checked: 12
  Broadcast              7 same,     1 file knows less
  Equal                  1 same
  Multiply               1 same
  ReduceProd             1 same
  Select                 1 same
  all of these          11 same,     1 file knows less
  passed over: Abs 1, Concat 1, Const 23, Gather 3, Parameter 1, Result 8, ShapeOf 1, Slice 1, StridedSlice 1
";
    let (code, out, err) = copy.check();
    assert_eq!((code, &err[..]), (cli::EQUAL, ""));
    assert!(out.starts_with(list), "{out}");
    let less = "its output is [?, 1, 5], and the file says [?, ?, ?]; its inputs are [], [3] with \
                the value [?, 1, 5]\n1 of 1 models declare the shapes that are inferred here\n";
    assert!(out.ends_with(less), "{out}");
}

/// Without the constants, no value is known that depends on one.
#[test]
fn a_model_without_weights_is_checked_as_far_as_it_goes() {
    let copy = Copy::checked("no-weights", "values");
    fs::remove_file(copy.path("bin")).unwrap();
    let (code, out, err) = copy.check();
    assert_eq!((code, &err[..]), (cli::EQUAL, ""));
    assert!(out.contains("file knows more"), "{out}");
}

/// Each size of each output of a layer that is checked matters: another one is reported.
#[test]
fn every_wrong_size_is_reported() {
    for (name, folder) in [
        ("elementwise", "check"),
        ("values", "check"),
        ("bodies", "check"),
        ("select_pdpd", "."),
        ("prelu_channels", "."),
        ("reduce_max", "."),
    ] {
        let copy = Copy::of_folder(
            &format!("size-{name}"),
            &Path::new(MODELS).join(folder),
            name,
        );
        let text = fs::read_to_string(copy.path("xml")).unwrap();
        let mut changed = 0;
        for (start, _) in text.match_indices("<layer ") {
            let layer = &text[start..start + text[start..].find("</layer>").unwrap()];
            let kind = layer
                .split("type=\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap();
            let shape = ["Broadcast", "Select", "PReLU", "MatMul", "FakeQuantize"].contains(&kind)
                || kind.starts_with("Reduce")
                || layer.contains("auto_broadcast");
            let Some(outputs) = layer.find("<output>").filter(|_| shape) else {
                continue;
            };
            for (dim, _) in layer[outputs..].match_indices("<dim>") {
                let at = start + outputs + dim;
                let end = at + text[at..].find("</dim>").unwrap();
                if &text[at..end] == "<dim>-1" {
                    continue;
                }
                let wrong = format!("{}<dim>77{}", &text[..at], &text[end..]);
                fs::write(copy.path("xml"), wrong).unwrap();
                let (code, _, err) = copy.check();
                assert_eq!(code, cli::DIFFERENT, "{name} at {at}");
                // The next layers may not fit the wrong size.
                assert!(err.contains("77"), "{err}");
                changed += 1;
            }
        }
        assert!(changed > 0, "{name}");
    }
}

broken! { Copy::checked, Copy::edit_first, Copy::errors_of_check;
    a_version_before_10: "bodies", "version=\"11\"" => "version=\"7\"" =>
        "bodies.xml: the IR has version 7; known are 10 and 11";
    a_version_that_is_no_number: "bodies", "version=\"11\"" => "version=\"eleven\"" =>
        "bodies.xml: a <net> has \"version\" \"eleven\", which is no number, at 2:1";
    a_missing_shape: "bodies", "<data shape=\"\" element" => "<data element" =>
        "bodies.xml: layer 0 \"Parameter_2\" (Parameter) has no attribute \"shape\"";
    a_range_that_is_reversed: "elementwise", "?,1,2..5" => "?,1,5..2" =>
        "elementwise.xml: layer 0 \"Parameter_6\" (Parameter): shape is \"?,1,5..2\", not a list of sizes and ranges";
    ranges_that_never_fit: "elementwise", "?,1,2..5" => "?,1,7..9", "3..,1..4" => "3..,2..4" =>
        "elementwise.xml: layer 24 \"BitwiseRightShift_33\" (BitwiseRightShift): cannot broadcast [?, 1, 7..=9] with [3.., 2..=4] (numpy): 7..=9 is never 2..=4, and neither is ever 1";
    a_flag_that_is_none: "elementwise", "keep_dims=\"true\"" => "keep_dims=\"maybe\"" =>
        "elementwise.xml: layer 10 \"ReduceMax_11\" (ReduceMax): keep_dims is \"maybe\", not true or false";
    a_constant_without_size: "values", " size=\"8\"" => "" =>
        "values.xml: layer 8 \"Constant_10\" (Const) has no attribute \"size\"";
    a_body_without_edges: "bodies", "<edges>" => "<no>", "</edges>" => "</no>" =>
        "bodies.xml: the <then_body> of layer \"If_3\": there is no <edges>";
}

/// Of a layer in a body, too, a size is reported that no tensor can have.
#[test]
fn a_wrong_size_in_a_body_is_reported_with_its_place() {
    let copy = Copy::checked("body", "bodies");
    let text = fs::read_to_string(copy.path("xml")).unwrap();
    let add = text.find("name=\"Add_2\"").unwrap();
    let output = add + text[add..].find("<output>").unwrap();
    let (before, after) = text.split_at(output);
    let text = before.to_owned() + &after.replacen("<dim>3</dim>", "<dim>4</dim>", 1);
    fs::write(copy.path("xml"), text).unwrap();
    let (code, out, err) = copy.check();
    let line = "bodies.xml: the <then_body> of layer \"If_3\": layer 2 \"Add_2\" (Add): its output is \
                [?, 3], and the file says [?, 4]; its inputs are [?, 3], [1, 3]\n";
    assert_eq!((code, &err[..]), (cli::DIFFERENT, line));
    assert!(
        out.contains("Add                    1 same,     1 differ\n"),
        "{out}"
    );
    assert!(out.ends_with("\n0 of 1 models declare the shapes that are inferred here\n"));
}

#[test]
fn values_that_no_layer_can_have_are_reported() {
    for (model, value, line) in [
        (
            "reduce_sum",
            7_i64,
            "reduce_sum.xml: layer 2 \"ReduceSum_2\" (ReduceSum): entry 0 is 7: axes of an array of rank 3 are -3 to 2",
        ),
        (
            "v3_numpy_scalar",
            -3,
            "v3_numpy_scalar.xml: layer 2 \"broadcast\" (Broadcast): an entry of target_shape is -3: \
             it must not be negative",
        ),
    ] {
        let copy = Copy::new(&format!("value-{model}"), model);
        copy.change("bin", |mut bytes| {
            bytes[..8].copy_from_slice(&value.to_le_bytes());
            bytes
        });
        let (code, _, err) = copy.check();
        assert_eq!((code, &err[..]), (cli::DIFFERENT, &format!("{line}\n")[..]));
    }
}

/// A file that was cut anywhere gives one line.
#[test]
fn files_that_are_cut_short_are_reported() {
    let copy = Copy::checked("cut-check", "values");
    copy.change("bin", |bytes| bytes[..bytes.len() - 1].to_vec());
    let (code, _, err) = copy.check();
    assert_eq!(code, cli::DIFFERENT);
    assert!(err.contains("reach past the end of the .bin file"), "{err}");

    let text = fs::read(copy.path("xml")).unwrap();
    // What follows the root's end is no part of the model.
    let root = text.len() - "</net>\n".len();
    for length in (0..root).step_by(211) {
        copy.change("xml", |_| text[..length].to_vec());
        let (code, _, err) = copy.check();
        assert_eq!((code, err.lines().count()), (cli::DIFFERENT, 1), "{err}");
        assert!(
            err.starts_with("values.xml: this is not well-formed XML"),
            "{err}"
        );
    }
}

/// Sums of floats depend on the order of the terms; a maximum does not.
#[test]
fn only_sums_may_differ_by_rounding() {
    for (model, ulps, code) in [
        ("reduce_sum", 3, cli::EQUAL),
        ("reduce_sum", 1 << 12, cli::DIFFERENT),
        ("reduce_max", 1, cli::DIFFERENT),
    ] {
        let copy = Copy::new(&format!("rounding-{model}-{ulps}"), model);
        copy.change("out.npy", |mut bytes| {
            // The largest element.
            let floats = (bytes.len() - 128) / 4;
            let at = |i: usize| 128 + 4 * i..132 + 4 * i;
            let float = |i| f32::from_le_bytes(bytes[at(i)].try_into().unwrap());
            let largest = (0..floats)
                .max_by(|&i, &j| float(i).total_cmp(&float(j)))
                .unwrap();
            let changed = f32::from_bits(float(largest).to_bits() + ulps);
            bytes[at(largest)].copy_from_slice(&changed.to_le_bytes());
            bytes
        });
        assert_eq!(copy.run().0, code, "{model} {ulps}");
    }
}

/// Parameters of partly known shape take what their bounds allow.
#[test]
fn parameters_of_partly_known_shape_are_given_by_the_inputs() {
    for (shape, fits) in [
        ("?,1..7,-1", true),
        ("...", true),
        ("2..,3,4", true),
        ("3..,?,?", false),
    ] {
        let copy = Copy::new(
            &format!("parameter-{fits}-{}", shape.len()),
            "broadcast_to_shape_of",
        );
        copy.edit("?,2..7,?", shape);
        let (code, err) = copy.run();
        match fits {
            true => assert_eq!((code, &err[..]), (cli::EQUAL, ""), "{shape}"),
            false => assert_eq!(
                err,
                "broadcast_to_shape_of.xml: layer 1 \"like\" (Parameter): the model wants f32 \
                 [3.., ?, ?], and the input is f32 [2, 3, 4]\n"
            ),
        }
    }
}
