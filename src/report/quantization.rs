//! The effect of a quantisation on the values, with labels.

use super::block::{Members, known};
use super::quantity::{self, count, counted, figure};
use crate::metadata::Json;
use crate::operation::transcode_result::NO_KS_TEST;
use crate::operation::{QualityResult, QuantizationResult};

/// Returns the result of a quantisation: `quantised to uint8`.
pub(super) fn quantized_to(result: &QuantizationResult) -> String {
    let to_be = if result.max_abs_error.is_some() { "" } else { "to be " };
    if result.form == "bitround" {
        let data_type = result.data_type.as_deref().unwrap_or("floats");
        return match result.keep_bits {
            Some(bits) => format!("{data_type}, {} {to_be}kept", counted(u64::from(bits), "significand bit")),
            None => format!("{data_type}, significand bits to keep: a first pass finds them"),
        };
    }
    if let Some(data_type) = result.data_type.as_deref().filter(|_| result.is_repacked) {
        let form = match result.form {
            "codecs" => "by scale_offset and cast_value",
            "cf" => "by CF attributes",
            _ => "as plain integers",
        };
        return format!("{data_type} {form}: the same integers as in SOURCE");
    }
    match (&result.data_type, &result.scale) {
        (Some(data_type), Some(_)) => format!("{to_be}quantised to {data_type}"),
        (Some(data_type), None) => format!("to be quantised to {data_type}; a first pass finds the range"),
        (None, Some(_)) => {
            let step = result.step.map(figure).unwrap_or_default();
            format!("to be quantised in steps of {step}; a first pass finds the type")
        }
        (None, None) => "to be quantised; a first pass finds the narrowest type that keeps --max-error".to_owned(),
    }
}

/// Returns the effect on the values, with labels.
pub(super) fn describe_quantization(result: &QuantizationResult) -> Members<'static> {
    let all = result.count;
    let share = |number| format!("{} of {} ({})", count(number), count(all), quantity::percent(number, all));
    let share_or_none = |number| if number > 0 { share(number) } else { "none".to_owned() };
    let bound = result.bound.map_or_else(String::new, |bound| format!(" (bound {})", figure(bound)));
    let by_up_to = result.max_abs_error_clamped.filter(|_| result.clamped != Some(0));
    let by_up_to = by_up_to.map_or_else(String::new, |error| format!(", by up to {}", figure(error)));
    let nan_code = result.nan_code.map_or_else(String::new, |code| format!(", NaN is {code}"));
    let (greatest, between) =
        if result.is_repacked { ("max difference", " between the two forms") } else { ("max error", "") };
    let information = |share: f64| format!("{} % of it, in every dimension", figure(share * 100.0));
    let range = |[low, high]: &[Json; 2]| format!("{} to {}", quantity::json(low), quantity::json(high));
    let members = [
        ("bits kept", result.keep_bits.map(|bits| format!("{bits} of the significand"))),
        ("information", result.information.map(information)),
        ("range", result.range.as_ref().map(range)),
        ("codes", result.codes.map(|[first, last]| format!("{first} to {last}{nan_code}"))),
        ("step", result.step.map(figure)),
        ("differences", result.predict.as_ref().map(|dimensions| format!("along {}", dimensions.join(", ")))),
        (greatest, result.max_abs_error.map(|error| figure(error) + between + &bound)),
        ("rms error", result.rms_error.map(figure)),
        ("clamped", result.clamped.map(|clamped| share_or_none(clamped) + &by_up_to)),
        ("NaN", result.nan.map(share_or_none)),
        ("distinct codes", result.distinct_codes.map(count)),
    ];
    let workaround = result.reader_workaround.as_ref().map(|(value, code)| {
        let value = quantity::json(value);
        format!("{value} -> {code} in scalar_map, for zarr-python 3.4.1 and 3.4.2 (--no-workarounds)")
    });
    let readers = [("readers", result.readers.clone()), ("workaround", workaround)];
    let quality = result.quality.as_ref().map_or_else(Vec::new, describe_quality);
    known(members).chain(quality).chain(known(readers)).collect()
}

/// Returns the measures of a quantisation, with labels. An undefined measure has the reason instead.
fn describe_quality(quality: &QualityResult) -> Members<'static> {
    if quality.points == 0 {
        return vec![("quality", "not defined: there are no finite values".to_owned())];
    }
    let constant = || "not defined: constant values".to_owned();
    let decibels = |psnr: f64| if psnr.is_infinite() { "no error".to_owned() } else { format!("{psnr:.2} dB") };
    let level = quality.dssim_level.as_ref().filter(|level| !level.is_empty());
    let level = level.map_or_else(String::new, |level| format!(", the minimum of all levels, of {level:?}"));
    let no_dssim = || format!("not defined: {}", quality.no_dssim.unwrap_or("there are no levels"));
    let kept = |share: f64| if share >= 1.0 { "all".to_owned() } else { percent(share) };
    let above = |share: f64| format!("{} of the points above 1e-4", percent(share));
    let ks = quality.ks_p.zip(quality.ks_statistic);
    let ks_test = |(p, statistic)| format!("p {}, statistic {}", figure(p), figure(statistic));
    let members = [
        ("bias", quality.bias.map(figure)),
        ("PSNR", Some(quality.psnr.map_or_else(constant, decibels))),
        ("Pearson's r", Some(quality.pearson.map_or_else(constant, near_one))),
        ("relative error", quality.relative_error_share.map(above)),
        ("KS test", Some(ks.map_or_else(|| format!("not defined: {NO_KS_TEST}"), ks_test))),
        ("DSSIM", Some(quality.dssim.map_or_else(no_dssim, |dssim| near_one(dssim) + &level))),
        ("zeros kept", quality.zeros_kept.map(kept)),
        ("signs kept", quality.signs_kept.map(kept)),
    ];
    known(members).collect()
}

/// Returns a figure whose distance from 1 matters: ten decimals, without the zeros at their end.
fn near_one(value: f64) -> String {
    trimmed(&format!("{value:.10}"))
}

/// Returns a share in per cent. Six decimals show how near it is to all, or to none.
fn percent(share: f64) -> String {
    format!("{} %", trimmed(&format!("{:.6}", share * 100.0)))
}

/// Returns decimals without the zeros at their end.
pub(super) fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_near_one_keep_their_distance_from_it() {
        assert_eq!([0.999_999_4, 1.0, 0.5, -1.0, 0.0].map(near_one), ["0.9999994", "1", "0.5", "-1", "0"]);
        assert_eq!([0.999_999, 0.25, 0.0].map(percent), ["99.9999 %", "25 %", "0 %"]);
    }
}
