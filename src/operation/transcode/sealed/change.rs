//! What becomes of an array ([`ChangeOptions`]) in the document of a plan: options that were not given are left out.

use super::members::{
    PlanFault, float, list, name_of, named, optional, put, put_switch, read_float, read_integer, read_list,
    read_number_type, read_text, switch,
};
use crate::data_type::DataType;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::chunk_key::Separator;
use crate::metadata::edit::codecs_json;
use crate::metadata::extension::{CodecMetadata, read_codecs};
use crate::metadata::json::{Json, Object};
use crate::operation::options::{
    ChangeOptions, Compression, CompressionGoal, KeepBits, Missing, QuantizeForm, QuantizeOptions,
    ShapeRequest, ShardRequest, Slice,
};

pub(super) const ROUNDINGS: [(&str, Rounding); 5] = [
    ("nearest-even", Rounding::NearestEven),
    ("towards-zero", Rounding::TowardsZero),
    ("towards-positive", Rounding::TowardsPositive),
    ("towards-negative", Rounding::TowardsNegative),
    ("nearest-away", Rounding::NearestAway),
];
pub(super) const OUT_OF_RANGE: [(&str, OutOfRange); 3] =
    [("error", OutOfRange::Error), ("clamp", OutOfRange::Clamp), ("wrap", OutOfRange::Wrap)];
pub(super) const FORMS: [(&str, QuantizeForm); 3] =
    [("codecs", QuantizeForm::Codecs), ("cf", QuantizeForm::Cf), ("plain", QuantizeForm::Plain)];
const SEPARATORS: [(&str, Separator); 2] = [("/", Separator::Slash), (".", Separator::Dot)];

/// The options as members, in their order on the command line.
pub(super) fn write(change: &ChangeOptions) -> Json {
    let mut to = Object::new();
    let as_is = |json: &Json| json.clone();
    let object = |members: &Object| Json::Object(members.clone());
    put(&mut to, "codecs", change.codecs.as_ref(), |codecs| Json::Array(codecs.clone()));
    put(&mut to, "compress", change.compress.as_ref(), |compression| match compression {
        Compression::Codecs(codecs) => codecs_json(codecs),
        Compression::Auto(goal) => Json::from(goal.name()),
    });
    put(&mut to, "chunk_shape", change.chunk_shape.as_ref(), shape);
    put(&mut to, "shard_shape", change.shard_shape.as_ref(), |request| match request {
        ShardRequest::None => Json::from("none"),
        ShardRequest::Shape(request) => shape(request),
    });
    if !change.select.is_empty() {
        to.insert("select", Json::Array(change.select.iter().map(slice).collect()));
    }
    put(&mut to, "data_type", change.data_type.as_ref(), DataType::to_metadata);
    put(&mut to, "fill_value", change.fill_value.as_ref(), as_is);
    put(&mut to, "zarr_format", change.zarr_format.as_ref(), |format| Json::from(*format));
    put(&mut to, "separator", change.separator.as_ref(), |separator| name_of(&SEPARATORS, separator));
    put(&mut to, "attributes", change.attributes.as_ref(), object);
    put(&mut to, "attributes_append", change.attributes_append.as_ref(), object);
    put(&mut to, "dimension_names", change.dimension_names.as_ref(), |names| {
        Json::Array(names.iter().map(|name| Json::from(name.as_str())).collect())
    });
    put(&mut to, "quantize", change.quantize.as_ref(), quantize);
    put(&mut to, "keep_bits", change.keep_bits.as_ref(), |keep| keep_bits(*keep));
    put(&mut to, "rounding", change.rounding.as_ref(), |rounding| name_of(&ROUNDINGS, rounding));
    put(&mut to, "out_of_range", change.out_of_range.as_ref(), |range| name_of(&OUT_OF_RANGE, range));
    put(&mut to, "nan_value", change.nan_value.as_ref(), as_is);
    put_switch(&mut to, "unpack", change.unpack);
    put_switch(&mut to, "allow_lossy_cast", change.allow_lossy_cast);
    put_switch(&mut to, "no_fill_check", change.no_fill_check);
    put_switch(&mut to, "write_empty_chunks", change.write_empty_chunks);
    Json::Object(to)
}

/// The options of [`write`].
pub(super) fn read(from: &Json) -> Result<ChangeOptions, PlanFault> {
    let as_is = |json: &Json| Some(json.clone());
    let object = |json: &Json| json.as_object().cloned();
    Ok(ChangeOptions {
        codecs: optional(from, "codecs", "a list", |json| json.as_array().map(<[Json]>::to_vec))?,
        compress: optional(from, "compress", "a list of codecs", read_compression)?,
        chunk_shape: optional(from, "chunk_shape", SHAPE, read_shape)?,
        shard_shape: optional(from, "shard_shape", SHAPE, |json| {
            let none = json.as_str().filter(|text| *text == "none").map(|_| ShardRequest::None);
            none.or_else(|| read_shape(json).map(ShardRequest::Shape))
        })?,
        select: optional(from, "select", "a list of slices", |json| read_list(json, read_slice))?
            .unwrap_or_default(),
        data_type: optional(from, "data_type", "a data type", |json| DataType::from_metadata(json).ok())?,
        fill_value: optional(from, "fill_value", "a value", as_is)?,
        zarr_format: optional(from, "zarr_format", "2 or 3", |json| {
            json.as_u64().filter(|format| matches!(format, 2 | 3))
        })?,
        separator: optional(from, "separator", "`/` or `.`", |json| named(&SEPARATORS, json))?,
        attributes: optional(from, "attributes", "an object", object)?,
        attributes_append: optional(from, "attributes_append", "an object", object)?,
        dimension_names: optional(from, "dimension_names", "a list of names", |json| {
            read_list(json, read_text)
        })?,
        quantize: match from.get("quantize") {
            Some(json) => Some(read_quantize(json).map_err(|fault| fault.inside("quantize"))?),
            None => None,
        },
        keep_bits: optional(from, "keep_bits", "bits, or a share, or both", read_keep_bits)?,
        rounding: optional(from, "rounding", "a rounding", |json| named(&ROUNDINGS, json))?,
        out_of_range: optional(from, "out_of_range", "`error`, `clamp` or `wrap`", |json| {
            named(&OUT_OF_RANGE, json)
        })?,
        nan_value: optional(from, "nan_value", "a value", as_is)?,
        unpack: switch(from, "unpack")?,
        allow_lossy_cast: switch(from, "allow_lossy_cast")?,
        no_fill_check: switch(from, "no_fill_check")?,
        write_empty_chunks: switch(from, "write_empty_chunks")?,
    })
}

const SHAPE: &str = "a list of lengths, or of pairs of a name and a length, or the bytes of `auto`";

fn shape(request: &ShapeRequest) -> Json {
    match request {
        ShapeRequest::Lengths(lengths) => list(lengths),
        ShapeRequest::Named(named) => Json::Array(
            named
                .iter()
                .map(|(name, length)| Json::Array(vec![Json::from(name.as_str()), Json::from(*length)]))
                .collect(),
        ),
        ShapeRequest::Auto(bytes) => Json::Object(Object::new().with("auto", *bytes)),
    }
}

fn read_shape(json: &Json) -> Option<ShapeRequest> {
    let lengths = read_list(json, Json::as_u64).map(ShapeRequest::Lengths);
    let pair = |json: &Json| match json.as_array()? {
        [name, length] => Some((read_text(name)?, length.as_u64()?)),
        _ => None,
    };
    let auto = json.get("auto").and_then(Json::as_u64).map(ShapeRequest::Auto);
    auto.or(lengths).or_else(|| read_list(json, pair).map(ShapeRequest::Named))
}

/// Bits, or a list of the share that they keep and, once they are found, the bits.
fn keep_bits(keep: KeepBits) -> Json {
    match keep {
        KeepBits::Bits(bits) => Json::from(u64::from(bits)),
        KeepBits::Auto(share) => Json::Array(vec![float(share)]),
        KeepBits::Found(bits, share) => Json::Array(vec![float(share), Json::from(u64::from(bits))]),
    }
}

fn read_keep_bits(json: &Json) -> Option<KeepBits> {
    let bits = |json: &Json| json.as_u64().and_then(|bits| u32::try_from(bits).ok());
    match json.as_array() {
        None => bits(json).map(KeepBits::Bits),
        Some([share]) => read_float(share).map(KeepBits::Auto),
        Some([share, found]) => Some(KeepBits::Found(bits(found)?, read_float(share)?)),
        Some(_) => None,
    }
}

/// A dimension, its first element and the one after its last.
fn slice(slice: &Slice) -> Json {
    let index = |index: Option<i64>| index.map_or(Json::Null, Json::from);
    Json::Array(vec![Json::from(slice.dimension.as_str()), index(slice.start), index(slice.stop)])
}

fn read_slice(json: &Json) -> Option<Slice> {
    let index = |json: &Json| match json {
        Json::Null => Some(None),
        json => read_integer(json).map(Some),
    };
    match json.as_array()? {
        [dimension, start, stop] => {
            Some(Slice { dimension: read_text(dimension)?, start: index(start)?, stop: index(stop)? })
        }
        _ => None,
    }
}

fn read_chain(json: &Json) -> Option<Vec<CodecMetadata>> {
    // `--compress none`: a chain has at least one codec elsewhere.
    if json.as_array().is_some_and(<[Json]>::is_empty) {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    read_codecs(json, "", &mut found).filter(|_| !found.iter().any(crate::diagnostic::Diagnostic::is_error))
}

fn quantize(asked: &QuantizeOptions) -> Json {
    let mut to = Object::new();
    put(&mut to, "data_type", asked.data_type.as_ref(), |data_type| Json::from(data_type.name()));
    put(&mut to, "max_error", asked.max_error.as_ref(), |error| float(*error));
    put(&mut to, "step", asked.step.as_ref(), |step| float(*step));
    to.insert("form", name_of(&FORMS, &asked.form));
    put(&mut to, "range", asked.range.as_ref(), |(lo, hi)| Json::Array(vec![lo.clone(), hi.clone()]));
    put(&mut to, "scale", asked.scale.as_ref(), Json::clone);
    put(&mut to, "offset", asked.offset.as_ref(), Json::clone);
    put(&mut to, "nan_value", asked.nan_value.as_ref(), |code| Json::from(*code));
    put(&mut to, "missing", asked.missing.as_ref(), |missing| match missing {
        Missing::Auto => Json::from("auto"),
        Missing::Values(values) => Json::Array(values.clone()),
    });
    put_switch(&mut to, "no_workarounds", asked.no_workarounds);
    Json::Object(to)
}

fn read_quantize(from: &Json) -> Result<QuantizeOptions, PlanFault> {
    let as_is = |json: &Json| Some(json.clone());
    let missing = |json: &Json| match json.as_str() {
        Some("auto") => Some(Missing::Auto),
        _ => json.as_array().map(|values| Missing::Values(values.to_vec())),
    };
    let range = |json: &Json| match json.as_array()? {
        [lo, hi] => Some((lo.clone(), hi.clone())),
        _ => None,
    };
    Ok(QuantizeOptions {
        data_type: optional(from, "data_type", "a type of numbers", read_number_type)?,
        max_error: optional(from, "max_error", "a number", read_float)?,
        step: optional(from, "step", "a number", read_float)?,
        form: optional(from, "form", "`codecs`, `cf` or `plain`", |json| named(&FORMS, json))?
            .unwrap_or_default(),
        range: optional(from, "range", "two numbers", range)?,
        scale: optional(from, "scale", "a number", as_is)?,
        offset: optional(from, "offset", "a number", as_is)?,
        nan_value: optional(from, "nan_value", "an integer", read_integer)?,
        missing: optional(from, "missing", "`auto` or a list", missing)?,
        no_workarounds: switch(from, "no_workarounds")?,
    })
}

/// A list of codecs, or the goal by which they are yet to be chosen.
fn read_compression(json: &Json) -> Option<Compression> {
    let goal = CompressionGoal::ALL.into_iter().find(|goal| json.as_str() == Some(goal.name()));
    goal.map(Compression::Auto).or_else(|| read_chain(json).map(Compression::Codecs))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::element::{ElementType, NumberType};

    fn json() -> impl Strategy<Value = Json> {
        let texts =
            ["0", "-1.5e300", "1e-7", "9223372036854775807", "\"NaN\"", "[]", "{\"a\":[null,true]}", "\"\""];
        select(texts.map(|text| Json::parse_str(text).unwrap()).to_vec())
    }

    fn lengths() -> impl Strategy<Value = ShapeRequest> {
        let named = prop::collection::vec(("[a-z]{1,3}", any::<u64>()), 1..3).prop_map(ShapeRequest::Named);
        let plain = prop::collection::vec(any::<u64>(), 0..4).prop_map(ShapeRequest::Lengths);
        prop_oneof![plain, named, any::<u64>().prop_map(ShapeRequest::Auto)]
    }

    fn codecs() -> impl Strategy<Value = Vec<CodecMetadata>> {
        let chains = [
            "[]",
            r#"[{"name":"zstd","configuration":{"level":3,"checksum":false}}]"#,
            r#"[{"name":"gzip","configuration":{"level":1}},{"name":"crc32c"}]"#,
        ];
        let read = |text: &str| {
            let mut found = Vec::new();
            read_codecs(&Json::parse_str(text).unwrap(), "", &mut found).unwrap_or_default()
        };
        select(chains.map(read).to_vec())
    }

    fn compression() -> impl Strategy<Value = Compression> {
        prop_oneof![
            codecs().prop_map(Compression::Codecs),
            select(CompressionGoal::ALL.to_vec()).prop_map(Compression::Auto),
        ]
    }

    fn object() -> impl Strategy<Value = Object> {
        prop::collection::vec(("[a-z]{1,3}", json()), 0..3).prop_map(|members| {
            let mut object = Object::new();
            for (name, value) in members {
                object.insert(&*name, value);
            }
            object
        })
    }

    fn finite() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>().prop_filter("finite", |value| value.is_finite()),
            Just(0.05),
            Just(f64::MIN_POSITIVE)
        ]
    }

    fn a<T: std::fmt::Debug + Clone>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
        prop::option::of(strategy)
    }

    prop_compose! {
        fn some_slice()(
            dimension in "[a-z]{1,3}", start in a(any::<i64>()), stop in a(any::<i64>()),
        ) -> Slice {
            Slice { dimension, start, stop }
        }
    }

    prop_compose! {
        fn some_quantize()(
            data_type in a(select(ElementType::ALL.map(NumberType::of).to_vec())),
            (max_error, step) in (a(finite()), a(finite())),
            form in select(FORMS.map(|(_, form)| form).to_vec()),
            range in a((json(), json())),
            (scale, offset) in (a(json()), a(json())),
            nan_value in a(any::<i64>()),
            missing in a(prop_oneof![Just(Missing::Auto), prop::collection::vec(json(), 0..3).prop_map(Missing::Values)]),
            no_workarounds in any::<bool>(),
        ) -> QuantizeOptions {
            QuantizeOptions { data_type, max_error, step, form, range, scale, offset, nan_value, missing, no_workarounds }
        }
    }

    fn some_keep_bits() -> impl Strategy<Value = KeepBits> {
        prop_oneof![
            any::<u32>().prop_map(KeepBits::Bits),
            finite().prop_map(KeepBits::Auto),
            (any::<u32>(), finite()).prop_map(|(bits, share)| KeepBits::Found(bits, share)),
        ]
    }

    prop_compose! {
        fn some_change()(
            (codecs, compress) in (a(prop::collection::vec(json(), 0..3)), a(compression())),
            chunk_shape in a(lengths()),
            shard_shape in a(prop_oneof![Just(ShardRequest::None), lengths().prop_map(ShardRequest::Shape)]),
            select in prop::collection::vec(some_slice(), 0..3),
            (fill_value, nan_value) in (a(json()), a(json())),
            zarr_format in a(2_u64..4),
            separator in a(prop_oneof![Just(Separator::Slash), Just(Separator::Dot)]),
            (attributes, attributes_append) in (a(object()), a(object())),
            dimension_names in a(prop::collection::vec("[a-z]{0,3}", 0..3)),
            (quantize, keep_bits) in (a(some_quantize()), a(some_keep_bits())),
            rounding in a(prop::sample::select(ROUNDINGS.map(|(_, rounding)| rounding).to_vec())),
            out_of_range in a(prop::sample::select(OUT_OF_RANGE.map(|(_, range)| range).to_vec())),
            [unpack, allow_lossy_cast, no_fill_check, write_empty_chunks] in any::<[bool; 4]>(),
        ) -> ChangeOptions {
            ChangeOptions {
                codecs, compress, chunk_shape, shard_shape, select, fill_value, nan_value, zarr_format, separator,
                attributes, attributes_append, dimension_names, quantize, keep_bits, rounding, out_of_range, unpack,
                allow_lossy_cast, no_fill_check, write_empty_chunks, data_type: None,
            }
        }
    }

    proptest! {
        #[test]
        fn options_come_back_from_the_plan_that_they_are_written_into(change in some_change()) {
            let text = write(&change).to_string_compact();
            prop_assert_eq!(read(&Json::parse_str(&text).unwrap()), Ok(change), "{}", text);
        }
    }

    #[test]
    fn every_type_of_numbers_comes_back_from_the_plan() {
        for element in ElementType::ALL {
            let data_type = DataType::from_metadata(&Json::from(NumberType::of(element).name())).unwrap();
            let change = ChangeOptions { data_type: Some(data_type), ..ChangeOptions::default() };
            let text = write(&change).to_string_compact();
            assert_eq!(read(&Json::parse_str(&text).unwrap()), Ok(change), "{text}");
        }
    }
}
