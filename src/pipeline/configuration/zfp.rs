//! `zfp`: a mode, and the parameters that it needs.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zfp>

use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::Members;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::{Json, Object};

/// The configuration of `zfp`, of which only the validity matters: this program does not decode it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZfpConfiguration;

/// The most dimensions that zfp takes.
const MAX_DIMENSIONS: usize = 4;

/// Each mode and its members, `mode` first.
const MODES: [(&str, &[&str]); 5] = [
    ("reversible", &["mode"]),
    ("expert", &["mode", "minbits", "maxbits", "maxprec", "minexp"]),
    ("fixed_accuracy", &["mode", "tolerance"]),
    ("fixed_rate", &["mode", "rate"]),
    ("fixed_precision", &["mode", "precision"]),
];

/// Every member of any mode: what is known where the mode is not.
const ALL: &[&str] = &["mode", "minbits", "maxbits", "maxprec", "minexp", "tolerance", "rate", "precision"];

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<ZfpConfiguration> {
    let mode = configuration.and_then(|members| members.get("mode")).and_then(Json::as_str);
    let known = MODES.into_iter().find(|(name, _)| Some(*name) == mode).map(|(_, known)| known);
    let mut members = Members::of_codec("zfp", configuration, pointer, known.unwrap_or(ALL));
    let Some(known) = known else {
        if let Some(json) = members.require("mode") {
            let modes: Vec<_> = MODES.iter().map(|(name, _)| (*name, ())).collect();
            members.choice("mode", json, &modes);
        }
        return members.finish(None);
    };
    let parameters = known[1..].iter().map(|name| parameter(&mut members, name)).collect::<Vec<_>>();
    let is_valid = parameters.into_iter().all(|parameter| parameter.is_some());
    members.finish(is_valid.then_some(ZfpConfiguration))
}

/// Checks one parameter of a mode.
fn parameter(members: &mut Members<'_>, name: &'static str) -> Option<()> {
    let json = members.require(name)?;
    match name {
        "tolerance" | "rate" => members.number(name, json).map(drop),
        "minexp" => members.integer(name, json, i32::MIN..=i32::MAX).map(drop),
        _ => members.integer(name, json, 0..=u32::MAX).map(drop),
    }
}

impl ZfpConfiguration {
    /// Holds the codec at `pointer` to what reaches it: numbers, in at most four dimensions.
    pub fn bind(self, data_type: &DataType, shape: &[u64], pointer: &str) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        if !matches!(data_type, DataType::Number(_) | DataType::SmallFloat(_) | DataType::Time(_)) {
            let message = format!("`zfp` takes integers and real floats, but `{data_type}` reaches it");
            found.push(Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(pointer));
        }
        if shape.len() > MAX_DIMENSIONS {
            let message = format!(
                "`zfp` takes at most {MAX_DIMENSIONS} dimensions, but a chunk of {} reaches it",
                shape.len()
            );
            found.push(
                Diagnostic::new(code::CODEC_DIMENSIONS, message)
                    .with_help("put `reshape` in front of it, or take another codec")
                    .at_pointer(pointer),
            );
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_valid(text: &str) -> bool {
        let configuration = Json::parse_str(text).unwrap();
        let (parsed, diagnostics) = parse(configuration.as_object(), "");
        assert!(parsed.is_some() || !diagnostics.is_empty(), "{text}");
        diagnostics.is_empty()
    }

    #[test]
    fn zfp_has_the_members_of_its_mode() {
        for text in [
            r#"{"mode":"reversible"}"#,
            r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19,"minexp":-2}"#,
            r#"{"mode":"fixed_accuracy","tolerance":0.05}"#,
            r#"{"mode":"fixed_rate","rate":10.5}"#,
            r#"{"mode":"fixed_precision","precision":19}"#,
        ] {
            assert!(is_valid(text), "{text}");
        }
        for text in [
            "{}",
            r#"{"mode":3}"#,
            r#"{"mode":"fast"}"#,
            r#"{"mode":"reversible","rate":1}"#,
            r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19}"#,
            r#"{"mode":"fixed_precision","precision":1.5}"#,
            r#"{"mode":"fixed_rate","rate":"1"}"#,
        ] {
            assert!(!is_valid(text), "{text}");
        }
    }

    #[test]
    fn zfp_takes_numbers_in_four_dimensions() {
        let bind = |name: &str, shape: &[u64]| {
            let data_type = DataType::from_name(name).unwrap();
            ZfpConfiguration.bind(&data_type, shape, "").iter().map(|found| found.code).collect::<Vec<_>>()
        };
        assert!(bind("float32", &[1, 2, 3, 4]).is_empty());
        assert_eq!(bind("complex64", &[1; 5]), [code::CODEC_DATA_TYPE.code, code::CODEC_DIMENSIONS.code]);
    }
}
