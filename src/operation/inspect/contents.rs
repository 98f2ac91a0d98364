//! Reading of an array's chunks, and the treatment of faults in them.

use super::chunk;
use crate::array::chunk_set::position;
use crate::array::fault::ChunkFault;
use crate::array::listing::Listing;
use crate::array::stored::StoredArray;
use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, code};
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::fault::explain;
use crate::operation::inspect_result::ArrayResult;
use crate::operation::numbers::CfNumbers;
use crate::operation::open::OpenedArray;
use crate::operation::options::{InspectOptions, Suggest};

/// An array whose chunks are read.
pub(super) struct Contents<'a> {
    pub source: &'a OpenedArray,
    pub side: &'a StoredArray,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
    /// The listing of what is stored, if an option needs it.
    pub listing: Option<&'a Listing>,
}

impl Contents<'_> {
    /// Does what was asked for, one after the other.
    pub(super) fn all(&self, options: &InspectOptions, result: &mut ArrayResult) -> Result<(), OperationError> {
        let numbers = CfNumbers::of(self.source, &options.cf)?;
        let is_asked = options.reads_all_values() || options.preview.is_some() || options.suggest.is_some();
        if numbers.is_none() && is_asked {
            result.warnings.push(no_statistics(&self.source.data_type));
        }
        let is_readable = match &numbers {
            Some(numbers) => self.values(numbers, options, result)?,
            None => false,
        };
        if let (Some(Suggest::Ways { sample }), true, Some(listing)) = (options.suggest, is_readable, self.listing) {
            self.progress.start("ways", None);
            let tried = self.ways(listing, sample, options);
            self.progress.finish();
            result.ways = Some(tried?);
        }
        if options.information && is_readable {
            result.information = self.information(options, result)?;
        }
        // Single chunks are looked for by their keys: what stands in the place of one is told of.
        let side = &StoredArray { present: None, ..self.side.clone() };
        if let Some(chunk) = &options.chunk {
            let (found, finding) = chunk::inspect_chunk(side, &self.source.store, chunk)?;
            result.chunk = Some(found);
            result.warnings.extend(finding);
        }
        if let (Some(preview), Some(numbers)) = (&options.preview, &numbers) {
            self.preview(side, numbers, preview, result)?;
        }
        if options.draws {
            result.drawing = Some(self.drawing(side, numbers.as_ref(), result)?);
        }
        Ok(())
    }

    /// A fault of a chunk as a finding.
    pub(super) fn found(&self, fault: ChunkFault, result: &mut ArrayResult) -> Result<(), OperationError> {
        let chunk = position(fault.index, &self.source.metadata);
        let key = self.side.key(fault.index);
        let error = explain(fault, &self.side.metadata, &self.source.store, None);
        result.warnings.push(finding(error, code::CHUNK_CORRUPT)?.at_key(key).at_chunk(chunk));
        Ok(())
    }
}

/// An error of the data as a finding; any other as it is.
pub(super) fn finding(error: OperationError, code: Code) -> Result<Diagnostic, OperationError> {
    if error.class() != FaultClass::Data {
        return Err(error);
    }
    let found = Diagnostic::new(code, error.in_one_line());
    Ok(match error.help() {
        Some(help) => found.with_help(help),
        None => found,
    })
}

/// Values that have no order or are no numbers.
pub(super) fn no_statistics(data_type: &DataType) -> Diagnostic {
    let message = format!("values of type {data_type} are not real numbers: there are no statistics");
    Diagnostic::new(code::NO_STATISTICS, message)
}
