//! Plans of which a number was changed after they were sealed: refused, or carried out right.

use super::sealed::{from_document, seal, to_document, transcode_sealed};
use super::{ChangeOptions, Files, Kind, Scene, changing, each_route, files, plain, transcode, two_passes};
use crate::array::Interrupt;
use crate::element::{ElementType, NumberType};
use crate::engine::Silent;
use crate::metadata::{Json, Number, Object};
use crate::operation::transcode::sealed::seal_of;
use crate::operation::{Missing, OperationError, QuantizeForm, QuantizeOptions, TranscodeOptions};

/// Values in place of a number, one after the other.
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

/// Each value that differs from another in one number, and the names on the way to that.
fn altered(json: &Json, way: &str, each: &mut dyn FnMut(String, Json)) {
    match json {
        Json::Number(number) => {
            for other in others(number) {
                each(format!("{way} = {}", other.to_string_compact()), other);
            }
        }
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                altered(element, &format!("{way}/{index}"), &mut |place, other| {
                    let mut elements = elements.clone();
                    elements[index] = other;
                    each(place, Json::Array(elements));
                });
            }
        }
        Json::Object(members) => {
            for (name, member) in members.iter() {
                altered(member, &format!("{way}/{name}"), &mut |place, other| {
                    each(place, Json::Object(members.clone().with(name, other)));
                });
            }
        }
        _ => {}
    }
}

/// A scene and its sealed plan.
struct Sealed {
    scene: Scene,
    plan: Json,
    /// DEST of the plan as it was sealed.
    whole: Files,
}

impl Sealed {
    fn new(source: &Files, change: &TranscodeOptions) -> Self {
        let scene = Scene::new(Kind::Local, source, change, false);
        let plan = seal(&scene.options).unwrap();
        let plan = Json::parse_str(std::str::from_utf8(&to_document(&plan)).unwrap()).unwrap();
        transcode(&scene.options, &Silent, &Interrupt::default()).unwrap();
        let whole = scene.destination();
        Sealed { scene, plan, whole }
    }

    /// Carries out a plan; DEST, which is removed again.
    fn carry_out(&self, plan: &Json) -> Result<Files, OperationError> {
        let node = self.scene.node("c");
        let mut options = self.scene.options.clone();
        options.destination = node.clone().into();
        options.change = ChangeOptions::default();
        let plan = from_document(plan.to_string_compact().as_bytes())?;
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

/// Changes one number after the other, and seals what comes of it anew, or not.
fn try_altered(route: &str, source: &Files, change: &TranscodeOptions) {
    let sealed = Sealed::new(source, change);
    assert!(sealed.carry_out(&sealed.plan).unwrap() == sealed.whole, "{route}");
    let mut count = 0;
    altered(&sealed.plan, "", &mut |place, plan| {
        count += 1;
        let error = sealed.carry_out(&plan).expect_err(&place);
        assert!(!text(&error).contains("internal error"), "{route}, {place}: {}", text(&error));
        // Whoever seals it anew has another plan, which has to hold together.
        let Json::Object(members) = plan else { panic!("{place}") };
        let plan = Json::Object(members.clone().with("seal", seal_of(&members)));
        match sealed.carry_out(&plan) {
            Err(error) => {
                assert!(!text(&error).contains("internal error"), "{route}, {place}: {}", text(&error));
            }
            Ok(found) => {
                let is_free = place.contains("/quantization/");
                assert!(found == sealed.whole || is_free, "{route}, {place}: another DEST");
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

/// A plan in two passes, in the least memory.
fn sealed_in_two_passes() -> Sealed {
    let (source, options) = two_passes();
    let mut sealed = Sealed::new(&source, &options);
    sealed.scene.options.run.common.max_memory = None;
    sealed
}

/// An array of a plan with other blocks.
fn with_blocks(array: Object, blocks: Json) -> Object {
    let settled = array.get("settled").and_then(Json::as_object).unwrap().clone();
    array.with("settled", settled.with("blocks", blocks))
}

#[test]
fn blocks_that_do_not_fit_are_refused_with_the_name_of_the_array() {
    let sealed = sealed_in_two_passes();
    let blocks = sealed.plan.pointer("/arrays/0/settled/blocks").unwrap().clone();
    assert_eq!(blocks.get("shapes").and_then(Json::as_array).map(<[Json]>::len), Some(2), "two passes");
    let with = |blocks: Json| {
        let array = sealed.plan.pointer("/arrays/0").unwrap().as_object().unwrap().clone();
        let plan = sealed.plan.as_object().unwrap().clone();
        let plan = plan.with("arrays", Json::Array(vec![with_blocks(array, blocks).into()]));
        Json::Object(plan.clone().with("seal", seal_of(&plan)))
    };
    let check = |place: &str, blocks: Json| match sealed.carry_out(&with(blocks)) {
        Ok(found) => assert!(found == sealed.whole, "{place}"),
        Err(error) => {
            // What is no shape at all is found when it is read; shapes that fit make other pieces of work.
            let names = ["/a`", "line ", "`/` is to be done by rechunk in"];
            assert!(names.iter().any(|name| error.to_string().contains(name)), "{place}: {}", text(&error));
        }
    };
    altered(&blocks, "", &mut |place, blocks| check(&place, blocks));
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
    // A copy has none.
    let copy = Sealed::new(&plain(""), &TranscodeOptions::default());
    let array = copy.plan.pointer("/arrays/0").unwrap().as_object().unwrap().clone();
    let plan = copy.plan.as_object().unwrap().clone();
    let blocks = Json::parse_str(r#"{"shapes":[[4,4]]}"#).unwrap();
    let plan = plan.with("arrays", Json::Array(vec![with_blocks(array, blocks).into()]));
    let error = copy.carry_out(&Json::Object(plan.clone().with("seal", seal_of(&plan)))).unwrap_err();
    assert!(error.to_string().contains("/a` has blocks of [[4, 4]]"), "{}", text(&error));
}
