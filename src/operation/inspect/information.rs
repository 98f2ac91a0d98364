//! `--information`: the bitwise real information of an array, or of its codes.

use super::contents::Contents;
use crate::element::NumberType;
use crate::kernel::bit_pairs::{BitPatterns, Information, bit_names, leading_bits};
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::information::{BitSurvey, Codes, codes};
use crate::operation::inspect_result::{ArrayResult, DimensionInformation, InformationResult, KeptBits};
use crate::operation::missing;
use crate::operation::narrowed;
use crate::operation::numbers::Numbers;
use crate::operation::options::InspectOptions;

/// Shares of the information whose bits are told.
const SHARES: [f64; 2] = [0.99, 0.999];

impl Contents<'_> {
    /// One pass over all chunks; a chunk that cannot be read is a finding.
    pub(super) fn information(
        &self,
        options: &InspectOptions,
        result: &mut ArrayResult,
    ) -> Result<Option<InformationResult>, OperationError> {
        let codes = codes(self.source)?.map(|mut codes| {
            codes.array.present.clone_from(&self.side.present);
            codes
        });
        let (side, data_type) = match &codes {
            Some(codes) => (&codes.array, &codes.data_type),
            None => (self.side, &self.source.data_type),
        };
        let Some(numbers) = Numbers::of(data_type) else { return Ok(None) };
        let number_type = numbers.number_type();
        let (missing, fill_bits) = if let Some(Codes { nan, fill_bits, .. }) = &codes {
            (nan.clone(), *fill_bits)
        } else {
            let fill = self.source.fill_value.as_ref();
            (self.missing(number_type, options)?, fill.map_or(0, |fill| numbers.bits(fill.as_bytes())))
        };
        let patterns = BitPatterns::new(number_type, &missing);
        let threads = BitSurvey::threads_of(side, number_type.size(), Budget::of(&options.common))?;
        let driver = &narrowed(self.driver, threads)?;
        let survey = BitSurvey { side, numbers: &numbers, patterns: &patterns, fill_bits, is_sample: false };
        let found = match survey.run(driver, self.progress) {
            Ok(found) => found,
            Err(fault) => {
                self.found(fault, result)?;
                return Ok(None);
            }
        };
        let of = if codes.is_some() { "codes" } else { "values" };
        Ok(Some(self.described(number_type, of, &found)))
    }

    /// The bits of values that count as missing.
    fn missing(&self, number_type: NumberType, options: &InspectOptions) -> Result<Vec<u64>, OperationError> {
        if self.source.data_type.number().is_none() {
            return Ok(Vec::new());
        }
        missing::values(self.source, number_type, options.cf.missing.as_ref())
    }

    fn described(&self, number_type: NumberType, of: &'static str, found: &[Information]) -> InformationResult {
        let names = self.source.metadata.dimension_names.as_deref().unwrap_or_default();
        let leading = leading_bits(number_type);
        let kept = |information: &Information| -> Vec<KeptBits> {
            let of = |share| {
                let positions = information.kept(share)?;
                Some(KeptBits { share, bits: positions.saturating_sub(leading) as u64 })
            };
            SHARES.into_iter().filter_map(of).collect()
        };
        let dimension = |(axis, information): (usize, &Information)| DimensionInformation {
            axis: axis as u64,
            name: names.get(axis).cloned().flatten(),
            pairs: information.pairs,
            insignificant: information.insignificant,
            total: information.real().iter().sum(),
            real: information.real(),
            kept: kept(information),
            information: information.by_position.clone(),
        };
        let dimensions: Vec<DimensionInformation> = found.iter().enumerate().map(dimension).collect();
        let most = |share: f64| {
            let of_share = dimensions.iter().flat_map(|dimension| &dimension.kept);
            let bits = of_share.filter(|kept| kept.share == share).map(|kept| kept.bits).max()?;
            Some(KeptBits { share, bits })
        };
        InformationResult {
            data_type: number_type.name(),
            of,
            bits: bit_names(number_type),
            leading_bits: leading as u64,
            kept: SHARES.into_iter().filter_map(most).collect(),
            dimensions,
        }
    }
}
