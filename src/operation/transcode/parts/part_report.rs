//! What a part did of an array, and what `--verify` found there: as text, and put together.

use crate::engine::report::ObjectReport;
use crate::operation::quantize::quantization::Quantization;
use crate::operation::transcode::plan::Plan;
use crate::operation::transcode::verify::Verification;
use crate::operation::transcode_result::VerifyResult;

/// What stands where nothing is known: no number to the base of 16.
const NONE: &str = "n";

/// What a part did of an array.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PartReport {
    /// What was counted.
    pub counted: ObjectReport,
    /// What was found when it was read back.
    compared: Option<Compared>,
}

/// What reading back found: no difference beyond what is allowed, else the part had not ended well.
#[derive(Debug, Clone, PartialEq, Default)]
struct Compared {
    max_abs_error: f64,
    bound: Option<f64>,
    /// Which codes occur, one bit each, from the lowest bit of the first byte; empty where none are counted.
    codes: Vec<u8>,
}

impl PartReport {
    pub(super) fn of(counted: ObjectReport, verified: Option<Verification>) -> Self {
        let compared = |verified: Verification| Compared {
            max_abs_error: verified.result.max_abs_error.unwrap_or(0.0),
            bound: verified.result.bound,
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
            bound: compared.bound.or_else(|| quantization.map(Quantization::bound)),
        };
        let codes = counts_codes.then(|| compared.codes.iter().flat_map(bits).collect());
        Verification { result, codes, warning: None }
    }

    /// As text of letters, digits, `_` and single `-`.
    pub(super) fn write(&self) -> String {
        let counted = self.counted.to_text();
        let Some(Compared { max_abs_error, bound, codes }) = &self.compared else { return counted };
        let bound = bound.map_or_else(|| NONE.to_owned(), |bound| format!("{:x}", bound.to_bits()));
        let codes: Vec<String> = codes.iter().map(|byte| format!("{byte:02x}")).collect();
        let codes = if codes.is_empty() { NONE.to_owned() } else { codes.concat() };
        format!("{counted}-{:x}-{bound}-{codes}", max_abs_error.to_bits())
    }

    /// From its text.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (counted, compared) = match text.split_once('-') {
            Some((counted, compared)) => (counted, Some(Compared::read(compared)?)),
            None => (text, None),
        };
        Some(PartReport { counted: ObjectReport::from_text(counted)?, compared })
    }
}

impl Compared {
    fn read(text: &str) -> Option<Self> {
        let float = |text: &str| u64::from_str_radix(text, 16).ok().map(f64::from_bits);
        let [max_abs_error, bound, codes] = text.split('-').collect::<Vec<_>>().try_into().ok()?;
        let codes = if codes == NONE { "" } else { codes };
        let byte = |place: usize| u8::from_str_radix(codes.get(place..place + 2)?, 16).ok();
        Some(Compared {
            max_abs_error: float(max_abs_error)?,
            bound: if bound == NONE { None } else { Some(float(bound)?) },
            codes: (0..codes.len()).step_by(2).map(byte).collect::<Option<_>>()?,
        })
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
    fn report_comes_back_from_its_text() {
        let counted =
            ObjectReport { written: 3, bytes_read: 70, bytes_written: 1 << 40, ..ObjectReport::default() };
        let plain = PartReport { counted, compared: None };
        let compared = |bound, codes| PartReport {
            counted,
            compared: Some(Compared { max_abs_error: 0.1, bound, codes }),
        };
        for report in [plain, compared(None, vec![]), compared(Some(0.25), vec![0, 255, 1])] {
            let text = report.write();
            assert_eq!(PartReport::read(&text), Some(report), "{text}");
        }
        for text in ["", "-", "a1-2", "g"] {
            assert!(PartReport::read(text).is_none(), "{text}");
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
