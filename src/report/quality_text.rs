//! What `--quality` found, label by label.

use super::quantity::figure;
use crate::operation::transcode_result::QualityResult;

/// The measures of a quantisation; what is not defined says so, and why.
pub(super) fn describe(quality: &QualityResult) -> Vec<(&'static str, String)> {
    if quality.points == 0 {
        return vec![("quality", "not defined: there are no finite values".to_owned())];
    }
    let constant = || "not defined: constant values".to_owned();
    let mut members = Vec::new();
    if let Some(bias) = quality.bias {
        members.push(("bias", figure(bias)));
    }
    let decibels =
        |psnr: f64| if psnr.is_infinite() { "no error".to_owned() } else { format!("{psnr:.2} dB") };
    members.push(("PSNR", quality.psnr.map_or_else(constant, decibels)));
    members.push(("Pearson's r", quality.pearson.map_or_else(constant, near_one)));
    if let Some(share) = quality.relative_error_share {
        members.push(("relative error", format!("{} of the points above 1e-4", percent(share))));
    }
    if let (Some(p), Some(statistic)) = (quality.ks_p, quality.ks_statistic) {
        members.push(("KS test", format!("p {}, statistic {}", figure(p), figure(statistic))));
    }
    let level = quality.dssim_level.as_ref().filter(|level| !level.is_empty());
    let level = level.map_or_else(String::new, |level| format!(", the least of all levels, of {level:?}"));
    members.push((
        "DSSIM",
        match quality.dssim {
            Some(dssim) => near_one(dssim) + &level,
            None => format!("not defined: {}", quality.no_dssim.unwrap_or("there are no levels")),
        },
    ));
    let kept = |share: f64| if share >= 1.0 { "all".to_owned() } else { percent(share) };
    if let (Some(zeros), Some(signs)) = (quality.zeros_kept, quality.signs_kept) {
        members.push(("zeros kept", kept(zeros)));
        members.push(("signs kept", kept(signs)));
    }
    members
}

/// A figure whose distance from 1 tells: ten places, without the zeros at their end.
fn near_one(value: f64) -> String {
    trimmed(&format!("{value:.10}"))
}

/// A share in per cent: as near to all, or to none, as it is.
fn percent(share: f64) -> String {
    format!("{} %", trimmed(&format!("{:.6}", share * 100.0)))
}

fn trimmed(text: &str) -> String {
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
