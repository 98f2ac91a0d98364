//! Plans that are serialised, read again and run. Plans with a number changed after sealing, which must fail or run
//! correctly.

use std::time::Instant;

use super::{ChangeOptions, Files, Kind, TestJob, changing, each_route, files, plain, sharded, shards, two_passes};
use crate::array::Interrupt;
use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};
use crate::engine::Silent;
use crate::kernel::Rounding;
use crate::metadata::extension::read_codecs;
use crate::metadata::{Json, Number, Object, Separator};
use crate::operation::options::Slice;
use crate::operation::transcode::JobPlan;
use crate::operation::transcode::sealed::{SealedPlan, document_of, read_document, seal_of};
use crate::operation::transcode::transcode;
use crate::operation::{
    Compression, KeepBits, Missing, OperationError, QuantizeForm, QuantizeOptions, ShapeRequest, ShardRequest,
    TranscodeOptions, TranscodeResult,
};

const SCHEMA: &str = "zarrcast.plan/2";

/// Resolves the plan of a job, and writes nothing.
pub(super) fn seal(options: &TranscodeOptions) -> Result<SealedPlan, OperationError> {
    let job = JobPlan::new(options, |_| Ok(()), |_| true, &Silent, &Interrupt::default())?;
    job.check_room()?;
    Ok(job.sealed)
}

pub(super) fn to_document(plan: &SealedPlan) -> Vec<u8> {
    Json::Object(document_of(SCHEMA, plan)).to_document()
}

pub(super) fn from_document(bytes: &[u8]) -> Result<SealedPlan, OperationError> {
    match read_document(SCHEMA, bytes) {
        Ok((plan, true)) => Ok(plan),
        Ok((_, false)) => Err(OperationError::environment("the document was changed after it was sealed")),
        Err(fault) => Err(OperationError::data(fault)),
    }
}

/// Runs a sealed plan. SOURCE and DEST are from the options, everything else is from the plan.
pub(super) fn transcode_sealed(
    options: &TranscodeOptions,
    sealed: &SealedPlan,
) -> Result<TranscodeResult, OperationError> {
    let (options, interrupt) = (sealed.options(options), Interrupt::default());
    let job = JobPlan::new(&options, |source| sealed.apply(source), |_| true, &Silent, &interrupt)?;
    job.check_same(sealed, |_| true)?;
    job.run(Instant::now(), &interrupt)
}

/// Seals a plan, reads it again, runs it, and compares it with a run without a sealed plan.
fn try_sealed(route: &str, source: &Files, change: &TranscodeOptions) {
    let test_job = TestJob::new(Kind::Local, source, change, false);
    let options = &test_job.options;
    let sealed = seal(options).unwrap();
    let written = to_document(&sealed);
    let read = from_document(&written).unwrap();
    let again = to_document(&read);
    assert!(again == written, "{route}:\n{}", String::from_utf8_lossy(&again));
    assert!(!test_job.node("b").exists().unwrap(), "{route}: sealing writes nothing");
    transcode(options, &Silent, &Interrupt::default()).unwrap();

    let mut elsewhere = options.clone();
    elsewhere.destination = test_job.node("c").into();
    // The changes are only those of the plan.
    elsewhere.change = ChangeOptions::default();
    transcode_sealed(&elsewhere, &read).unwrap();
    let written = files(&test_job.node("c"));
    assert!(written == test_job.destination(), "{route}: another DEST");
}

#[test]
fn sealed_plan_that_is_read_again_makes_the_same_destination() {
    let routes = ["copy", "copy of an unknown codec", "recode", "recode of v2", "into shards", "fill value"];
    each_route(&[&routes[..], &["rechunk of shards", "v2 to v3", "v3 to v2"]].concat(), try_sealed);
    let auto = ChangeOptions {
        chunk_shape: Some(ShapeRequest::Auto(8)),
        shard_shape: Some(ShardRequest::Shape(ShapeRequest::Auto(16))),
        ..ChangeOptions::default()
    };
    let rows = ChangeOptions { chunk_shape: Some(ShapeRequest::Lengths(vec![1, 0])), ..shards(&[2, 4]) };
    for (route, change) in [("rechunk to sizes", auto), ("rechunk to rows in shards", rows)] {
        try_sealed(route, &sharded(), &changing(change));
    }
}

#[test]
fn sealed_quantisation_is_not_resolved_again() {
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
    let (source, change) = two_passes();
    let test_job = TestJob::new(Kind::Local, &source, &change, false);
    let mut options = test_job.options.clone();
    let sealed = seal(&options).unwrap();
    let document = Json::parse_str(std::str::from_utf8(&to_document(&sealed)).unwrap()).unwrap();
    let blocks = document.pointer("/arrays/0/resolved/blocks").unwrap().clone();
    assert_eq!(blocks.get("shapes").and_then(Json::as_array).map(<[Json]>::len), Some(2), "two passes");
    options.run.common.max_memory = None;
    transcode_sealed(&options, &sealed).unwrap();
    let own = TestJob::new(Kind::Local, &source, &changing(options.change.clone()), false);
    transcode(&own.options, &Silent, &Interrupt::default()).unwrap();
    assert!(own.destination() == test_job.destination());
}

#[test]
fn sealed_plan_of_another_source_is_refused() {
    let test_job = TestJob::new(Kind::Local, &plain(""), &TranscodeOptions::default(), false);
    let sealed = seal(&test_job.options).unwrap();
    let source = test_job.node("a");
    let mut document = source.read_document("zarr.json").unwrap().unwrap();
    document.push(b'\n');
    source.replace("zarr.json", &document).unwrap();
    let error = transcode_sealed(&test_job.options, &sealed).unwrap_err();
    assert!(error.to_string().contains("SOURCE has changed"), "{error}");
    assert!(!test_job.node("b").exists().unwrap());
}

#[test]
fn document_that_is_no_plan_is_refused_with_its_member() {
    let test_job = TestJob::new(Kind::Local, &plain(""), &TranscodeOptions::default(), false);
    let text = String::from_utf8(to_document(&seal(&test_job.options).unwrap())).unwrap();
    for (from, to, member) in [
        ("zarrcast.plan/2", "zarrcast.plan/9", "`schema`"),
        ("\"path\"", "\"place\"", "`path`"),
        ("\"units\"", "\"number\"", "`units`"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = from_document(text.replace(from, to).as_bytes()).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(format!("{error} {cause}").contains(member), "{error} {cause}");
    }
    assert!(from_document(b"{").is_err() && from_document(&[0xff]).is_err());
}

#[test]
fn values_of_a_plan_are_read_as_they_were_written() {
    let json = |text: &str| Json::parse_str(text).unwrap();
    let quantize = QuantizeOptions {
        data_type: Some(NumberType::integer(false, 10).unwrap()),
        max_error: Some(5e-324),
        step: Some(0.1 + 0.2),
        range: Some((json("-1.50e300"), json("\"NaN\""))),
        nan_value: Some(i64::MIN),
        missing: Some(Missing::Values(vec![json("9223372036854775808")])),
        ..QuantizeOptions::default()
    };
    let codec = json(r#"[{"name":"gzip","configuration":{"level":1}},{"name":"crc32c"}]"#);
    let change = ChangeOptions {
        compress: Some(Compression::Codecs(read_codecs(&codec, "", &mut Vec::new()).unwrap())),
        chunk_shape: Some(ShapeRequest::Named(vec![("x".to_owned(), u64::MAX)])),
        shard_shape: Some(ShardRequest::None),
        select: vec![Slice { dimension: "y".to_owned(), start: Some(-3), stop: None }],
        data_type: Some(
            DataType::from_metadata(&json(
                r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#,
            ))
            .unwrap(),
        ),
        fill_value: Some(Json::Null),
        separator: Some(Separator::Dot),
        attributes: json(r#"{"b":1.0e5,"a":[null]}"#).as_object().cloned(),
        quantize: Some(quantize),
        keep_bits: Some(KeepBits::Found(7, 0.99)),
        rounding: Some(Rounding::TowardsZero),
        unpack: true,
        ..ChangeOptions::default()
    };
    let text = serde_json::to_string(&change).unwrap();
    let read: ChangeOptions = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!((read.fill_value, read.quantize), (change.fill_value, change.quantize));
    assert!(text.contains("-1.50e300") && text.contains("1.0e5"));
    assert_eq!(serde_json::from_str::<ChangeOptions>("{}").unwrap(), ChangeOptions::default());
}

/// Returns replacement values for a number.
fn others(number: &Number) -> Vec<Json> {
    let value = number.as_f64();
    let some = "0 1 2 3 7 255 65536 4294967297 9223372036854775808 18446744073709551615 -1 0.5 1e300";
    let mut texts: Vec<String> = some.split(' ').map(str::to_owned).collect();
    texts.extend([value + 1.0, value - 1.0, value * 2.0, value / 2.0].map(|other| format!("{other}")));
    texts.retain(|text| text != number.literal());
    texts.sort();
    texts.dedup();
    texts.iter().map(|text| Json::parse_str(text).unwrap()).collect()
}

/// Passes each value that differs in one number to `each`, with the path of the number.
fn altered(json: &Json, way: &str, each: &mut dyn FnMut(String, Json)) {
    match json {
        Json::Number(number) => {
            for other in others(number) {
                each(format!("{way} = {other}"), other);
            }
        }
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                altered(element, &format!("{way}/{index}"), &mut |path, other| {
                    let mut elements = elements.clone();
                    elements[index] = other;
                    each(path, Json::Array(elements));
                });
            }
        }
        Json::Object(members) => {
            for (name, member) in members.iter() {
                altered(member, &format!("{way}/{name}"), &mut |path, other| {
                    each(path, Json::Object(members.clone().with(name, other)));
                });
            }
        }
        _ => {}
    }
}

struct Sealed {
    test_job: TestJob,
    plan: Json,
    /// DEST of the plan before any change.
    whole: Files,
}

impl Sealed {
    fn new(source: &Files, change: &TranscodeOptions) -> Self {
        let test_job = TestJob::new(Kind::Local, source, change, false);
        let plan = seal(&test_job.options).unwrap();
        let plan = Json::parse_str(std::str::from_utf8(&to_document(&plan)).unwrap()).unwrap();
        transcode(&test_job.options, &Silent, &Interrupt::default()).unwrap();
        let whole = test_job.destination();
        Sealed { test_job, plan, whole }
    }

    /// Runs a plan. Returns DEST, and removes it.
    fn carry_out(&self, plan: &Json) -> Result<Files, OperationError> {
        let node = self.test_job.node("c");
        let mut options = self.test_job.options.clone();
        options.destination = node.clone().into();
        options.change = ChangeOptions::default();
        let plan = from_document(plan.to_string().as_bytes())?;
        let carried_out = transcode_sealed(&options, &plan);
        let found = files(&node);
        node.remove_root().unwrap();
        carried_out.map(|_| found)
    }
}

fn text(error: &OperationError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("{error}: {cause}")
}

/// Changes one number after the other, with and without sealing the result again.
fn try_altered(route: &str, source: &Files, change: &TranscodeOptions) {
    let sealed = Sealed::new(source, change);
    assert!(sealed.carry_out(&sealed.plan).unwrap() == sealed.whole, "{route}");
    let mut count = 0;
    altered(&sealed.plan, "", &mut |path, plan| {
        count += 1;
        let error = sealed.carry_out(&plan).expect_err(&path);
        assert!(!text(&error).contains("internal error"), "{route}, {path}: {}", text(&error));
        // A plan that is sealed again is another plan, and must be consistent.
        let Json::Object(members) = plan else { panic!("{path}") };
        let plan = Json::Object(members.clone().with("seal", seal_of(&members)));
        match sealed.carry_out(&plan) {
            Err(error) => {
                assert!(!text(&error).contains("internal error"), "{route}, {path}: {}", text(&error));
            }
            Ok(found) => {
                let is_free = path.contains("/quantization/");
                assert!(found == sealed.whole || is_free, "{route}, {path}: another DEST");
            }
        }
    });
    assert!(count > 0, "{route}: no number was changed");
}

#[test]
fn plan_with_another_number_is_refused_or_carried_out_right() {
    each_route(&["copy", "recode", "into shards", "fill value", "v3 to v2", "rechunk of shards"], try_altered);
}

#[test]
fn quantisation_with_another_number_is_refused_or_carried_out() {
    let data_type = Some(NumberType::of(ElementType::UInt8));
    let missing = Some(Missing::Values(vec![Json::from(5_u64)]));
    for form in [QuantizeForm::Codecs, QuantizeForm::Cf, QuantizeForm::Plain] {
        let to_type = QuantizeOptions { data_type, form, ..QuantizeOptions::default() };
        let within = QuantizeOptions { max_error: Some(0.1), form, ..QuantizeOptions::default() };
        let masked = QuantizeOptions { data_type, form, missing: missing.clone(), ..QuantizeOptions::default() };
        for quantize in [to_type, within, masked] {
            let change = ChangeOptions { quantize: Some(quantize), ..ChangeOptions::default() };
            try_altered(&format!("{form:?}"), &plain(""), &changing(change));
        }
    }
}

/// Returns a plan in two passes, with the least memory.
fn sealed_in_two_passes() -> Sealed {
    let (source, options) = two_passes();
    let mut sealed = Sealed::new(&source, &options);
    sealed.test_job.options.run.common.max_memory = None;
    sealed
}

/// Returns an array of a plan with other blocks.
fn with_blocks(array: Object, blocks: Json) -> Object {
    let resolved = array.get("resolved").and_then(Json::as_object).unwrap().clone();
    array.with("resolved", resolved.with("blocks", blocks))
}

#[test]
fn blocks_that_do_not_fit_are_refused_with_the_name_of_the_array() {
    let sealed = sealed_in_two_passes();
    let blocks = sealed.plan.pointer("/arrays/0/resolved/blocks").unwrap().clone();
    assert_eq!(blocks.get("shapes").and_then(Json::as_array).map(<[Json]>::len), Some(2), "two passes");
    let with = |blocks: Json| {
        let array = sealed.plan.pointer("/arrays/0").unwrap().as_object().unwrap().clone();
        let plan = sealed.plan.as_object().unwrap().clone();
        let plan = plan.with("arrays", Json::Array(vec![with_blocks(array, blocks).into()]));
        Json::Object(plan.clone().with("seal", seal_of(&plan)))
    };
    let check = |path: &str, blocks: Json| match sealed.carry_out(&with(blocks)) {
        Ok(found) => assert!(found == sealed.whole, "{path}"),
        Err(error) => {
            // Reading finds values that are no shape. Shapes that fit make other units of work.
            let names = ["/a`", "line ", "`/` is to be done by rechunk in"];
            assert!(names.iter().any(|name| error.to_string().contains(name)), "{path}: {}", text(&error));
        }
    };
    altered(&blocks, "", &mut |path, blocks| check(&path, blocks));
    for blocks in [
        r#"{"shapes":[]}"#,
        r#"{"shapes":[[16,32,64]]}"#,
        r#"{"shapes":[[16,32,64],[16,32,64]]}"#,
        r#"{"shapes":[],"staging":{"chunk_shape":[1,32,64],"shard_shape":[1,128,128]}}"#,
        r#"{"shapes":[[1],[1]],"staging":{"chunk_shape":[],"shard_shape":[]}}"#,
        r#"{"shapes":[[1],[1]],"staging":{"chunk_shape":[0,0,0],"shard_shape":[0,0,0]}}"#,
    ] {
        check(blocks, Json::parse_str(blocks).unwrap());
    }
    // A copy has no blocks.
    let copy = Sealed::new(&plain(""), &TranscodeOptions::default());
    let array = copy.plan.pointer("/arrays/0").unwrap().as_object().unwrap().clone();
    let plan = copy.plan.as_object().unwrap().clone();
    let blocks = Json::parse_str(r#"{"shapes":[[4,4]]}"#).unwrap();
    let plan = plan.with("arrays", Json::Array(vec![with_blocks(array, blocks).into()]));
    let error = copy.carry_out(&Json::Object(plan.clone().with("seal", seal_of(&plan)))).unwrap_err();
    assert!(error.to_string().contains("/a` has blocks of [[4, 4]]"), "{}", text(&error));
}
