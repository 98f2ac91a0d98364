//! `--require`: what a quantisation has to keep, measure by measure.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::transcode_result::{NO_KS_TEST, QuantizationResult};

/// A figure of a quantisation that can be required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Measure {
    /// The mean of the errors.
    Bias,
    /// The peak signal-to-noise ratio.
    Psnr,
    /// Pearson's correlation coefficient.
    Pearson,
    /// The share of points with a relative error above 1e-4.
    RelativeErrorShare,
    /// The p-value of the Kolmogorov-Smirnov test.
    KsP,
    /// The least DSSIM of all levels.
    Dssim,
    /// The share of zeros that stay 0.
    ZerosKept,
    /// The share of other numbers that keep their sign.
    SignsKept,
    /// The greatest error.
    MaxAbsError,
    /// The root-mean-square error.
    RmsError,
}

/// All measures, by their names in `--json`.
const MEASURES: [(Measure, &str); 10] = [
    (Measure::Bias, "bias"),
    (Measure::Psnr, "psnr"),
    (Measure::Pearson, "pearson"),
    (Measure::RelativeErrorShare, "relative_error_share"),
    (Measure::KsP, "ks_p"),
    (Measure::Dssim, "dssim"),
    (Measure::ZerosKept, "zeros_kept"),
    (Measure::SignsKept, "signs_kept"),
    (Measure::MaxAbsError, "max_abs_error"),
    (Measure::RmsError, "rms_error"),
];

impl Measure {
    /// As `--json` has it.
    pub fn name(self) -> &'static str {
        MEASURES.iter().find(|(measure, _)| *measure == self).map_or("", |(_, name)| name)
    }

    /// The figure of a quantisation; where it is not defined, why.
    pub fn of(self, result: &QuantizationResult) -> Result<f64, &'static str> {
        let own = match self {
            Measure::MaxAbsError => return result.max_abs_error.ok_or("it was not measured"),
            Measure::RmsError => return result.rms_error.ok_or("it was not measured"),
            own => own,
        };
        let quality = result.quality.as_ref().ok_or("it was not measured")?;
        let (value, reason) = match own {
            Measure::Psnr
                if quality.psnr == Some(f64::INFINITY) && result.max_abs_error.is_some_and(|error| error > 0.0) =>
            {
                (None, "the squares of the errors are too small for float64")
            }
            Measure::Psnr => (quality.psnr, "the values of the source are constant"),
            Measure::Pearson => (quality.pearson, "the values of the source, or what becomes of them, are constant"),
            Measure::RelativeErrorShare => (quality.relative_error_share, ""),
            Measure::KsP => (quality.ks_p, NO_KS_TEST),
            Measure::Dssim => (quality.dssim, quality.no_dssim.unwrap_or_default()),
            Measure::ZerosKept => (quality.zeros_kept, ""),
            Measure::SignsKept => (quality.signs_kept, ""),
            Measure::Bias | Measure::MaxAbsError | Measure::RmsError => (quality.bias, ""),
        };
        let reason = if quality.points == 0 { "there are no finite values" } else { reason };
        value.filter(|value| !value.is_nan()).ok_or(if reason.is_empty() { "it exceeds float64" } else { reason })
    }
}

/// Relation of a measure to its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
}

/// Relations as they are written; one that begins like another comes before it.
const RELATIONS: [(Relation, &str); 5] = [
    (Relation::AtLeast, ">="),
    (Relation::AtMost, "<="),
    (Relation::Equal, "=="),
    (Relation::Above, ">"),
    (Relation::Below, "<"),
];

/// One requirement: `pearson>=0.99999`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirement {
    measure: Measure,
    relation: Relation,
    number: f64,
}

impl Requirement {
    /// The sentence for a quantisation that does not keep the requirement.
    pub fn fault(&self, result: &QuantizationResult) -> Option<String> {
        let value = match self.measure.of(result) {
            Ok(value) => value,
            Err(reason) => return Some(format!("{self}: {} is not defined, {reason}", self.measure.name())),
        };
        let is_kept = match self.relation {
            Relation::AtLeast => value >= self.number,
            Relation::AtMost => value <= self.number,
            Relation::Above => value > self.number,
            Relation::Below => value < self.number,
            // What was asked for and what was found are both the nearest float64.
            Relation::Equal => value.total_cmp(&self.number).is_eq() || (value == 0.0 && self.number == 0.0),
        };
        (!is_kept).then(|| format!("{self}: {} is {value}", self.measure.name()))
    }
}

impl Display for Requirement {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let sign = RELATIONS.iter().find(|(relation, _)| *relation == self.relation).map_or("", |(_, sign)| sign);
        write!(formatter, "{}{sign}{}", self.measure.name(), self.number)
    }
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "give a measure, a relation and a number: pearson>=0.99999";
        let at = text.find(['<', '>', '=']).ok_or_else(|| format!("`{text}` has no relation; {form}"))?;
        let (name, rest) = text.split_at(at);
        let (relation, sign) = RELATIONS
            .into_iter()
            .find(|(_, sign)| rest.starts_with(sign))
            .ok_or_else(|| format!("`{text}`: the relations are >=, <=, >, < and =="))?;
        let (measure, _) = MEASURES.into_iter().find(|(_, known)| *known == name.trim()).ok_or_else(|| {
            let names: Vec<&str> = MEASURES.iter().map(|(_, name)| *name).collect();
            format!("`{}` is not a measure; there are {}", name.trim(), names.join(", "))
        })?;
        let number = rest[sign.len()..].trim();
        let value = number.parse::<f64>().ok().filter(|value| !value.is_nan());
        let value = value.ok_or_else(|| format!("`{number}` is not a number; {form}"))?;
        Ok(Requirement { measure, relation, number: value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirement_is_read_as_it_is_shown() {
        for text in ["pearson>=0.99999", "bias<=-0.5", "ks_p>0.05", "max_abs_error<1", "zeros_kept==1", "psnr>=inf"] {
            assert_eq!(text.parse::<Requirement>().unwrap().to_string(), text);
        }
        assert_eq!(" dssim >= 0.995".parse::<Requirement>().unwrap().to_string(), "dssim>=0.995");
        let faults = [
            ("dssim", "`dssim` has no relation; give a measure, a relation and a number: pearson>=0.99999"),
            ("dssim=1", "`dssim=1`: the relations are >=, <=, >, < and =="),
            ("dssim>=much", "`much` is not a number; give a measure, a relation and a number: pearson>=0.99999"),
            ("psnr>=nan", "`nan` is not a number; give a measure, a relation and a number: pearson>=0.99999"),
        ];
        for (text, fault) in faults {
            assert_eq!(text.parse::<Requirement>().unwrap_err(), fault);
        }
        let unknown = "ssim>=1".parse::<Requirement>().unwrap_err();
        assert!(unknown.starts_with("`ssim` is not a measure; there are bias, psnr, "), "{unknown}");
    }
}
