//! What a part did of an array, and what `--verify` found there: as it is noted, and put together.

use serde::{Deserialize, Serialize};

use crate::engine::report::ObjectReport;
use crate::kernel::quantize::float_bits;
use crate::operation::quantize::quantization::Quantization;
use crate::operation::transcode::plan::Plan;
use crate::operation::transcode::verify::Verification;
use crate::operation::transcode_result::VerifyResult;

/// What a part did of an array.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct PartReport {
    /// What was counted.
    pub counted: ObjectReport,
    /// What was found when it was read back.
    compared: Option<Compared>,
}

/// What reading back found: no difference beyond what is allowed, else the part had not ended well.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Compared {
    #[serde(with = "float_bits")]
    max_abs_error: f64,
    /// The bits of a float.
    bound: Option<u64>,
    /// Which codes occur, one bit each, from the lowest bit of the first byte; empty where none are counted.
    codes: Vec<u8>,
}

impl PartReport {
    pub(super) fn of(counted: ObjectReport, verified: Option<Verification>) -> Self {
        let compared = |verified: Verification| Compared {
            max_abs_error: verified.result.max_abs_error.unwrap_or(0.0),
            bound: verified.result.bound.map(f64::to_bits),
            codes: verified.codes.as_deref().map(packed).unwrap_or_default(),
        };
        PartReport { counted, compared: verified.map(compared) }
    }

    /// Adds what another part did of the same array.
    pub(super) fn add(&mut self, other: &PartReport) {
        self.counted.add(&other.counted);
        let Some(other) = &other.compared else { return };
        let all = self.compared.get_or_insert_default();
        all.max_abs_error = all.max_abs_error.max(other.max_abs_error);
        all.bound = all.bound.or(other.bound);
        if all.codes.len() < other.codes.len() {
            all.codes.resize(other.codes.len(), 0);
        }
        all.codes.iter_mut().zip(&other.codes).for_each(|(all, other)| *all |= other);
    }

    /// What `--verify` of one run would have found.
    pub(super) fn verification(&self, plan: &Plan) -> Verification {
        let compared = self.compared.clone().unwrap_or_default();
        let elements =
            crate::metadata::array::num_elements(&plan.destination.metadata.shape).unwrap_or(u64::MAX);
        let quantization = plan.quantization.as_ref();
        let bits = |byte: &u8| (0..8).map(|bit| byte >> bit & 1 == 1).collect::<Vec<_>>();
        let counts_codes = quantization.is_some_and(|quantization| quantization.target.bits() <= 16);
        let result = VerifyResult {
            equal: true,
            elements,
            differing: 0,
            max_abs_error: Some(compared.max_abs_error),
            bound: compared.bound.map(f64::from_bits).or_else(|| quantization.map(Quantization::bound)),
        };
        let codes = counts_codes.then(|| compared.codes.iter().flat_map(bits).collect());
        Verification { result, codes, warning: None }
    }
}

/// A bit for each code, without the zeros at the end.
fn packed(codes: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    let mut bytes: Vec<u8> = codes.chunks(8).map(byte).collect();
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_comes_back_as_it_was_noted() {
        let counted =
            ObjectReport { written: 3, bytes_read: 70, bytes_written: 1 << 40, ..ObjectReport::default() };
        let compared = |bound: Option<f64>, codes| Compared {
            max_abs_error: 0.1,
            bound: bound.map(f64::to_bits),
            codes,
        };
        for compared in
            [None, Some(compared(None, vec![])), Some(compared(Some(f64::INFINITY), vec![0, 255, 1]))]
        {
            let report = PartReport { counted, compared };
            let text = serde_json::to_string(&report).unwrap();
            assert_eq!(serde_json::from_str::<PartReport>(&text).unwrap(), report, "{text}");
        }
    }

    #[test]
    fn codes_of_parts_are_put_together() {
        let mut codes = vec![false; 1 << 16];
        (codes[0], codes[9]) = (true, true);
        assert_eq!(packed(&codes), [1, 2]);
        let of = |codes| PartReport {
            compared: Some(Compared { codes, ..Compared::default() }),
            ..PartReport::default()
        };
        let mut all = of(vec![1]);
        all.add(&of(vec![2, 4]));
        assert_eq!(all.compared.unwrap().codes, [3, 4]);
    }
}
