//! `--require`: the required quality of a quantisation, measure by measure.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::operation::transcode_result::{NO_KS_TEST, QuantizationResult};

/// All measures, by their names in `--json`.
const MEASURES: &str =
    "bias, psnr, pearson, relative_error_share, ks_p, dssim, zeros_kept, signs_kept, max_abs_error, rms_error";

/// Returns the measure of a quantisation by its name. The error is the reason why it is not defined.
fn measured(name: &str, result: &QuantizationResult) -> Result<f64, &'static str> {
    const NOT_MEASURED: &str = "it was not measured";
    match name {
        "max_abs_error" => return result.max_abs_error.ok_or(NOT_MEASURED),
        "rms_error" => return result.rms_error.ok_or(NOT_MEASURED),
        _ => {}
    }
    let quality = result.quality.as_ref().ok_or(NOT_MEASURED)?;
    let is_inexact = result.max_abs_error.is_some_and(|error| error > 0.0);
    let (value, reason) = match name {
        "psnr" if quality.psnr == Some(f64::INFINITY) && is_inexact => {
            (None, "the squares of the errors are too small for float64")
        }
        "psnr" => (quality.psnr, "the values of the source are constant"),
        "pearson" => (quality.pearson, "the values of the source, or what becomes of them, are constant"),
        "relative_error_share" => (quality.relative_error_share, ""),
        "ks_p" => (quality.ks_p, NO_KS_TEST),
        "dssim" => (quality.dssim, quality.no_dssim.unwrap_or_default()),
        "zeros_kept" => (quality.zeros_kept, ""),
        "signs_kept" => (quality.signs_kept, ""),
        // Only `bias` is left: `from_str` accepts no name that is not in `MEASURES`.
        _ => (quality.bias, ""),
    };
    let reason = if quality.points == 0 { "there are no finite values" } else { reason };
    value.filter(|value| !value.is_nan()).ok_or(if reason.is_empty() { "it exceeds float64" } else { reason })
}

/// Relations of a measure to its bound. A relation is before its own prefix.
const RELATIONS: [&str; 5] = [">=", "<=", "==", ">", "<"];

/// One requirement: `pearson>=0.99999`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirement {
    measure: &'static str,
    relation: &'static str,
    number: f64,
}

impl Requirement {
    /// Returns the sentence for a quantisation that fails the requirement. `None` if it passes.
    pub fn fault(&self, result: &QuantizationResult) -> Option<String> {
        let Requirement { measure, relation, number } = *self;
        let value = match measured(measure, result) {
            Ok(value) => value,
            Err(reason) => return Some(format!("{self}: {measure} is not defined, {reason}")),
        };
        let is_kept = match relation {
            ">=" => value >= number,
            "<=" => value <= number,
            ">" => value > number,
            "<" => value < number,
            // The requested and the found number are both the nearest float64.
            _ => value.total_cmp(&number).is_eq() || (value == 0.0 && number == 0.0),
        };
        (!is_kept).then(|| format!("{self}: {measure} is {value}"))
    }
}

impl Display for Requirement {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}{}", self.measure, self.relation, self.number)
    }
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "give a measure, a relation and a number: pearson>=0.99999";
        let at = text.find(['<', '>', '=']).ok_or_else(|| format!("`{text}` has no relation; {form}"))?;
        let (name, rest) = text.split_at(at);
        let relation = RELATIONS.into_iter().find(|sign| rest.starts_with(sign));
        let relation = relation.ok_or_else(|| format!("`{text}`: the relations are >=, <=, >, < and =="))?;
        let measure = MEASURES.split(", ").find(|known| *known == name.trim());
        let measure = measure.ok_or_else(|| format!("`{}` is not a measure; there are {MEASURES}", name.trim()))?;
        let number = rest[relation.len()..].trim();
        let value = number.parse::<f64>().ok().filter(|value| !value.is_nan());
        let value = value.ok_or_else(|| format!("`{number}` is not a number; {form}"))?;
        Ok(Requirement { measure, relation, number: value })
    }
}
