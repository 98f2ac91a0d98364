//! A plan that is written down, read again and carried out.

use super::{
    ChangeOptions, Files, Kind, Scene, changing, files, plain, plain_v2, planes, shape, sharded, zstd,
};
use crate::array::interrupt::Interrupt;
use crate::element::{ElementType, NumberType};
use crate::engine::progress::Silent;
use crate::metadata::json::Json;
use crate::metadata::json::Object;
use crate::operation::options::{
    QuantizeForm, QuantizeOptions, ShapeRequest, ShardRequest, TranscodeOptions,
};
use crate::operation::transcode::{SealedPlan, seal, transcode, transcode_sealed};

/// Seals a plan, reads it again, and carries it out beside a run that plans by itself.
fn try_sealed(route: &str, source: &Files, change: &TranscodeOptions) {
    let scene = Scene::new(Kind::Memory, source, change, false);
    let options = &scene.options;
    let sealed = seal(options, &Silent, &Interrupt::default()).unwrap();
    let written = sealed.to_document();
    let read = SealedPlan::from_document(&written).unwrap();
    let again = read.to_document();
    assert!(again == written, "{route}:\n{}", String::from_utf8_lossy(&again));
    assert!(!scene.node("b").exists().unwrap(), "{route}: sealing writes nothing");
    transcode(options, &Silent, &Interrupt::default()).unwrap();

    let mut elsewhere = options.clone();
    elsewhere.destination = scene.node("c").into();
    // What changes is the plan's alone.
    elsewhere.change = ChangeOptions::default();
    transcode_sealed(&elsewhere, &read, &Silent, &Interrupt::default()).unwrap();
    let written = files(&scene.node("c"));
    assert!(written == scene.destination(), "{route}: another DEST");
}

#[test]
fn sealed_plan_that_is_read_again_makes_the_same_destination() {
    let zarr_format =
        |zarr_format| ChangeOptions { zarr_format: Some(zarr_format), ..ChangeOptions::default() };
    let recode = ChangeOptions { compress: Some(zstd(1)), ..ChangeOptions::default() };
    let reshard = ShardRequest::Shape(shape(&[4, 2]));
    let reshard = ChangeOptions { shard_shape: Some(reshard), ..ChangeOptions::default() };
    let auto = ChangeOptions {
        chunk_shape: Some(ShapeRequest::Auto(8)),
        shard_shape: Some(ShardRequest::Shape(ShapeRequest::Auto(16))),
        ..ChangeOptions::default()
    };
    let rows = ShapeRequest::Lengths(vec![1, 0]);
    let shards = Some(ShardRequest::Shape(shape(&[2, 4])));
    let rechunk = ChangeOptions { chunk_shape: Some(rows), shard_shape: shards, ..ChangeOptions::default() };
    let fill = Some(Json::parse_str("7").unwrap());
    let fill = ChangeOptions { fill_value: fill, ..ChangeOptions::default() };
    for (route, source, change) in [
        ("copy", plain(""), ChangeOptions::default()),
        ("copy of an unknown codec", plain(r#",{"name":"example.unknown"}"#), ChangeOptions::default()),
        ("recode", plain(""), recode.clone()),
        ("recode of v2", plain_v2(), recode),
        ("reshard", plain(""), reshard),
        ("rechunk", sharded(), rechunk),
        ("rechunk to sizes", sharded(), auto),
        ("fill value", plain(""), fill),
        ("v2 to v3", plain_v2(), zarr_format(3)),
        ("v3 to v2", plain(""), zarr_format(2)),
    ] {
        try_sealed(route, &source, &changing(change));
    }
}

#[test]
fn sealed_quantisation_is_not_settled_again() {
    for form in [QuantizeForm::Codecs, QuantizeForm::Cf, QuantizeForm::Plain] {
        let data_type = Some(NumberType::of(ElementType::UInt8));
        let to_type = QuantizeOptions { data_type, form, ..QuantizeOptions::default() };
        let within = QuantizeOptions { max_error: Some(0.1), form, ..QuantizeOptions::default() };
        for quantize in [to_type, within] {
            let change = ChangeOptions { quantize: Some(quantize), ..ChangeOptions::default() };
            try_sealed(&format!("{form:?}"), &plain(""), &changing(change));
        }
    }
}

#[test]
fn sealed_plan_keeps_its_passes_and_blocks_in_other_memory() {
    let change = ChangeOptions { chunk_shape: Some(shape(&[16, 32, 64])), ..ChangeOptions::default() };
    let mut narrow = changing(change);
    narrow.run.common.max_memory = Some(1);
    let source = planes();
    let scene = Scene::new(Kind::Local, &source, &narrow, false);
    let refused = seal(&scene.options, &Silent, &Interrupt::default()).unwrap_err();
    let least =
        refused.help().unwrap().split_whitespace().find_map(|word| word.trim_matches('`').parse().ok());
    let mut options = scene.options.clone();
    options.run.common.max_memory = least;
    let sealed = seal(&options, &Silent, &Interrupt::default()).unwrap();
    let document = Json::parse_str(std::str::from_utf8(&sealed.to_document()).unwrap()).unwrap();
    let blocks = document.pointer("/arrays/0/blocks").unwrap().clone();
    assert_eq!(blocks.get("shapes").and_then(Json::as_array).map(<[Json]>::len), Some(2), "two passes");
    options.run.common.max_memory = None;
    transcode_sealed(&options, &sealed, &Silent, &Interrupt::default()).unwrap();
    let own = Scene::new(Kind::Local, &source, &changing(options.change.clone()), false);
    transcode(&own.options, &Silent, &Interrupt::default()).unwrap();
    assert!(own.destination() == scene.destination());
}

#[test]
fn sealed_plan_of_another_source_is_refused() {
    let scene = Scene::new(Kind::Local, &plain(""), &TranscodeOptions::default(), false);
    let sealed = seal(&scene.options, &Silent, &Interrupt::default()).unwrap();
    let source = scene.node("a");
    let mut document = source.read_document("zarr.json").unwrap().unwrap();
    document.push(b'\n');
    source.replace("zarr.json", &document).unwrap();
    let error = transcode_sealed(&scene.options, &sealed, &Silent, &Interrupt::default()).unwrap_err();
    assert!(error.to_string().contains("SOURCE has changed"), "{error}");
    assert!(!scene.node("b").exists().unwrap());
}

#[test]
fn document_that_is_no_plan_is_refused_with_its_member() {
    let sealed = seal(
        &Scene::new(Kind::Local, &plain(""), &TranscodeOptions::default(), false).options,
        &Silent,
        &Interrupt::default(),
    );
    let text = String::from_utf8(sealed.unwrap().to_document()).unwrap();
    for (from, to, member) in [
        ("zarrcast.plan/1", "zarrcast.plan/9", "schema"),
        ("\"path\"", "\"place\"", "arrays/0/path"),
        ("\"units\"", "\"number\"", "arrays/0/units"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = SealedPlan::from_document(text.replace(from, to).as_bytes()).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(format!("{error} {cause}").contains(member), "{error} {cause}");
    }
    assert!(SealedPlan::from_document(b"{").is_err() && SealedPlan::from_document(&[0xff]).is_err());
}

/// Whether a value is what a schema describes, each member of an object too; else where it is not.
fn check_schema(root: &Json, schema: &Json, value: &Json, place: &str) {
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        let defined = root.pointer(reference.trim_start_matches('#')).unwrap();
        return check_schema(root, defined, value, place);
    }
    if let Some(constant) = schema.get("const") {
        assert!(constant.same_value(value), "{place}");
    }
    if let Some(choices) = schema.get("enum").and_then(Json::as_array) {
        assert!(choices.iter().any(|choice| choice.same_value(value)), "{place}: {}", value.excerpt());
    }
    let is_of = |kind: &str| match kind {
        "integer" => value.as_i128().is_some(),
        kind => value.kind().contains(kind),
    };
    if let Some(kind) = schema.get("type").and_then(Json::as_str) {
        assert!(is_of(kind), "{place}: {} is no {kind}", value.excerpt());
    }
    for name in schema.get("required").and_then(Json::as_array).unwrap_or_default() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{place}: {}", name.excerpt());
    }
    let members = schema.get("properties").and_then(Json::as_object);
    for (name, member) in value.as_object().into_iter().flat_map(Object::iter) {
        let Some(members) = members else { continue };
        let described = members.get(name).unwrap_or_else(|| panic!("{place}/{name} is not described"));
        check_schema(root, described, member, &format!("{place}/{name}"));
    }
    if let Some(items) = schema.get("items") {
        for (index, item) in value.as_array().unwrap_or_default().iter().enumerate() {
            check_schema(root, items, item, &format!("{place}/{index}"));
        }
    }
}

#[test]
fn sealed_plan_is_as_its_schema_describes_it() {
    let schema = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/plan.schema.json"));
    let schema = Json::parse_str(schema).unwrap();
    let quantize = QuantizeOptions {
        max_error: Some(0.1),
        range: Some((Json::from(0_u64), Json::from(20_u64))),
        missing: Some(crate::operation::options::Missing::Auto),
        ..QuantizeOptions::default()
    };
    let changes = [
        ChangeOptions { quantize: Some(quantize), compress: Some(zstd(1)), ..ChangeOptions::default() },
        ChangeOptions {
            chunk_shape: Some(ShapeRequest::Lengths(vec![1, 0])),
            fill_value: Some(Json::from(3_u64)),
            zarr_format: Some(2),
            dimension_names: Some(vec!["y".to_owned(), "x".to_owned()]),
            write_empty_chunks: true,
            ..ChangeOptions::default()
        },
        ChangeOptions { chunk_shape: Some(ShapeRequest::Auto(8)), ..ChangeOptions::default() },
    ];
    for change in changes {
        let scene = Scene::new(Kind::Local, &plain(""), &changing(change), false);
        let sealed = seal(&scene.options, &Silent, &Interrupt::default()).unwrap().to_document();
        let document = Json::parse_str(std::str::from_utf8(&sealed).unwrap()).unwrap();
        check_schema(&schema, &schema, &document, "");
    }
}
