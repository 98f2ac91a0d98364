//! Objects (chunks or shards) that are converted whole, each by itself.

use crate::array::chunk_set::{ChunkSet, position};
use crate::array::fault::{ChunkFault, Fault};
use crate::array::geometry::unbound;
use crate::array::reader::PIECE;
use crate::array::stored::{at, filled};
use crate::codec::chain::OfShape;
use crate::codec::conversion::{Conversion, Converted, Undone};
use crate::codec::region::as_index;
use crate::codec::{ChainFault, ChainFaultKind};
use crate::engine::ahead::{Extent, Reads, reads_of_object};
use crate::engine::buffers::ObjectBuffers;
use crate::engine::driver::Driver;
use crate::engine::journal::PassProgress;
use crate::engine::progress::Progress;
use crate::engine::report::ObjectReport;
use crate::engine::transfer::Transfer;
use crate::store::{self, Node};

/// A run over whole objects.
pub(in crate::engine) struct ConvertRun<'a> {
    pub(in crate::engine) transfer: &'a Transfer,
    /// From object to object.
    pub(in crate::engine) conversion: &'a Conversion,
    /// The objects that are done.
    pub(in crate::engine) part: &'a PassProgress<'a>,
    /// Who is told of each object.
    pub(in crate::engine) progress: &'a dyn Progress,
}

impl Reads for ConvertRun<'_> {
    fn source(&self) -> &Node {
        &self.transfer.source.node
    }

    fn object_bytes(&self) -> u64 {
        self.transfer.source.chunk_bytes()
    }

    fn reads(&self, object: u64, each: &mut dyn FnMut(&str, store::Part)) {
        if !self.part.is_done(object) {
            reads_of_object(&self.transfer.source, object, Extent::Whole, each);
        }
    }
}

impl ConvertRun<'_> {
    /// Converts every object.
    pub(in crate::engine) fn run(
        &self,
        driver: &Driver,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let ConvertRun { transfer, part, progress, .. } = self;
        let source = &transfer.source;
        let objects = match transfer.absent_element {
            Some(_) => ChunkSet::full(source.metadata.num_chunks()),
            None => source.objects(),
        };
        let objects = part.left(objects);
        let object_bytes = source.chunk_bytes();
        driver.run_ahead::<ObjectBuffers, ObjectReport>(
            &objects,
            &[self],
            |buffers, index| {
                part.do_once(index, || {
                    let report = self.convert(buffers, index)?;
                    progress.advance(object_bytes);
                    Ok(report)
                })
            },
            |_, report| fold(report),
        )
    }

    /// Converts an object piece by piece while it is read, so that no piece leaves the level 2 cache.
    fn stream(
        &self,
        conversion: &Conversion,
        (source_size, target_size): (usize, usize),
        buffers: &mut ObjectBuffers,
        (index, start): (u64, &[u64]),
    ) -> Result<ObjectReport, Fault> {
        let mut report = ObjectReport::default();
        let Some(mut reader) = self.transfer.source.open_object(index)? else {
            return self.fill_object(conversion, buffers, index);
        };
        let (expected, found) = (conversion.streamed_bytes(), reader.length());
        if expected != found {
            return Err(Fault::Chain(ChainFault::of_stored_size(&reader, expected)));
        }
        let ObjectBuffers { read, written, conversion: work, .. } = buffers;
        read.resize(PIECE.min(as_index(expected)), 0);
        written.resize(as_index(expected) / source_size * target_size, 0);
        let mut offset = 0;
        while offset < expected {
            let length = as_index((expected - offset).min(PIECE as u64));
            let filled = reader.read_next(&mut read[..length])?;
            if filled < length {
                let kind = ChainFaultKind::Size { expected, found: offset + filled as u64 };
                return Err(Fault::Chain(ChainFault { place: "0".into(), codec: "bytes".to_owned(), kind }));
            }
            let target = as_index(offset) / source_size * target_size;
            let target = &mut written[target..target + length / source_size * target_size];
            conversion
                .run_piece(&read[..length], offset, target, work, &mut report.figures)
                .map_err(|fault| at(fault, start))?;
            offset += length as u64;
        }
        report.bytes_read = expected;
        if !conversion.is_streamed_empty(written) {
            let destination = &self.transfer.destination;
            destination.node.write(&destination.key(index), written)?;
            report.wrote(index, written.len() as u64);
        }
        Ok(report)
    }

    /// Writes an object whose every element is what absent ones become.
    fn fill_object(
        &self,
        conversion: &Conversion,
        buffers: &mut ObjectBuffers,
        index: u64,
    ) -> Result<ObjectReport, Fault> {
        let Some(element) = &self.transfer.absent_element else { return Ok(ObjectReport::default()) };
        let elements = filled(element, conversion.destination());
        conversion.encode_elements(&elements, &mut buffers.written, &mut buffers.conversion)?;
        let destination = &self.transfer.destination;
        destination.node.write(&destination.key(index), &buffers.written)?;
        let mut report = ObjectReport::default();
        report.wrote(index, buffers.written.len() as u64);
        Ok(report)
    }

    /// The conversion of an object, in its shape.
    fn conversion_of(&self, index: u64) -> Result<OfShape<'_, Conversion>, Fault> {
        let source = &self.transfer.source;
        if source.is_regular() {
            return Ok(OfShape::Same(self.conversion));
        }
        self.conversion.for_shape(&source.shape_of(index)).map_err(|error| unbound(&error))
    }

    fn convert(&self, buffers: &mut ObjectBuffers, index: u64) -> Result<ObjectReport, Fault> {
        let Transfer { source, destination, .. } = self.transfer;
        let mut report = ObjectReport::default();
        let conversion = self.conversion_of(index)?;
        if !source.may_hold(index) {
            return self.fill_object(&conversion, buffers, index);
        }
        let (start, chain) = (source.start_of(index), conversion.source());
        let valid = source.cropped(&start, &chain.decoded().shape);
        let kept = source.kept.take(&position(index, &source.metadata));
        let chunk = if let Some(kept) = &kept {
            report.bytes_read = kept.stored;
            Undone { bytes: &kept.bytes, place: chain.bytes_place() }
        } else {
            if let (None, Some(sizes)) = (&valid, conversion.streams()) {
                return self.stream(&conversion, sizes, buffers, (index, &start));
            }
            if !source.read_object(index, &mut buffers.read, &buffers.workspace)? {
                return self.fill_object(&conversion, buffers, index);
            }
            report.bytes_read = buffers.read.len() as u64;
            Undone { bytes: &buffers.read, place: chain.codecs().len() }
        };
        let ObjectBuffers { written, conversion: work, .. } = buffers;
        let figures = &mut report.figures;
        let converted = match &valid {
            Some(valid) if source.metadata.cuts(&start, &chain.decoded().shape) => {
                conversion.run_cut(chunk, valid, written, work, figures)
            }
            _ => conversion.run_undone(chunk, valid.as_deref(), written, work, figures),
        };
        let converted = converted.map_err(|fault| at(fault, &start))?;
        if converted == Converted::Written {
            destination.node.write(&destination.key(index), &buffers.written)?;
            report.wrote(index, buffers.written.len() as u64);
        }
        Ok(report)
    }
}
