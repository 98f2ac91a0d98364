//! Encoder of the destination's subchunks from decoded elements of the source, and writer of the objects that contain
//! them.

use std::borrow::Cow;
use std::mem::take;

use super::{Buffers, Filling, ObjectReport, PADDING, Workers};
use crate::array::{Result, ShardWriter, StoredArray, position};
use crate::codec::{
    BindError, BoundChain, ChainFault, Conversion, Converted, PartlyDecoded, ValueConversion, as_index, beyond_edge,
    is_filled_with, num_rounded, repeat,
};
use crate::grid::Region;
use crate::metadata::{CodecMetadata, Object};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// Returns the positions of a box of subchunks of one object, in the object's order.
pub(super) fn in_order(array: &StoredArray, subchunks: Region) -> impl Iterator<Item = Vec<u64>> {
    cells_in_order(subchunks, array.subchunk_order())
}

/// Returns the positions in a box. The last dimension of `order` runs fastest.
pub(super) fn cells_in_order(cells: Region, order: Vec<usize>) -> impl Iterator<Item = Vec<u64>> {
    let lengths: Vec<u64> = order.iter().map(|dimension| cells.shape[*dimension]).collect();
    Region::whole(&lengths).cells().map(move |cell| {
        let mut position = cells.start.clone();
        cell.iter().zip(&order).for_each(|(index, dimension)| position[*dimension] += index);
        position
    })
}

/// Returns the positions of all subchunks of an object, in the object's order.
pub(super) fn all_in_order(array: &StoredArray, object: u64) -> impl Iterator<Item = Vec<u64>> {
    let inner = array.layout.as_ref().map(|_| in_order(array, array.subchunks_of(object)));
    let whole = array.layout.is_none().then(|| position(object, &array.metadata));
    whole.into_iter().chain(inner.into_iter().flatten())
}

/// Callback that writes an encoded subchunk, or keeps it until its turn.
pub(super) type Put<'p> = dyn FnMut(Encoded<'_>) -> Result<()> + 'p;

/// Object that is being written: a chunk at once, a shard subchunk by subchunk. The first subchunk creates it.
pub(super) struct SubchunkWriter<'a> {
    array: &'a StoredArray,
    pub(super) object: u64,
    shard: Option<ShardWriter<'a>>,
    /// Counts of the object, and of the objects before it.
    pub(super) report: ObjectReport,
}

impl<'a> SubchunkWriter<'a> {
    /// Creates a writer of an object that does not exist yet.
    pub(super) fn new(array: &'a StoredArray, object: u64) -> Self {
        SubchunkWriter { array, object, shard: None, report: ObjectReport::default() }
    }

    /// Writes subchunks in order. `make` encodes each and passes it on unless it is omitted. Several are encoded in
    /// parallel. If there is only one thread, its counts stay in its buffers.
    pub(super) fn write_each(
        &mut self,
        mut subchunks: impl Iterator<Item = Vec<u64>>,
        workers: &Workers<'_>,
        make: &(impl Fn(&[u64], &mut Buffers, &mut Put<'_>) -> Result<()> + Sync),
    ) -> Result<()> {
        if let Some(mut own) = workers.alone() {
            return subchunks.try_for_each(|subchunk| {
                // A shard may need a long time, so a request to stop is noticed between its subchunks.
                workers.driver.interrupt().check()?;
                make(&subchunk, &mut own, &mut |encoded| self.write(&subchunk, encoded))
            });
        }
        loop {
            // The encoded subchunks of a batch are in memory together, so a batch is small.
            let batch: Vec<Vec<u64>> = subchunks.by_ref().take(2 * workers.buffers.len()).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let mut made = Vec::with_capacity(batch.len());
            let make_one = |buffers: &mut Buffers, item| {
                let mut bytes = None;
                make(&batch[as_index(item)], buffers, &mut |encoded| {
                    bytes = Some(encoded.padded().into_owned());
                    Ok(())
                })?;
                Ok((bytes, take(&mut buffers.report)))
            };
            workers.each(batch.len() as u64, make_one, |_, one| made.push(one))?;
            for (subchunk, (bytes, report)) in batch.iter().zip(made) {
                self.report += report;
                if let Some(bytes) = bytes {
                    self.write(subchunk, Encoded::whole(&bytes))?;
                }
            }
        }
    }

    /// Writes a subchunk by its position in the array. Those of a shard must be in the shard's order.
    pub(super) fn write(&mut self, subchunk: &[u64], encoded: Encoded<'_>) -> Result<()> {
        self.put(subchunk, encoded).map_err(|fault| fault.of_destination(self.object))
    }

    fn put(&mut self, subchunk: &[u64], encoded: Encoded<'_>) -> Result<()> {
        let key = || self.array.key(self.object);
        let Some(layout) = self.array.layout_of(self.object)? else {
            // The padding of a large chunk may need far more memory than its elements, so it is written in pieces.
            if encoded.missing == 0 {
                self.array.node.write(&key(), encoded.bytes)?;
            } else {
                let mut object = self.array.node.create(&key())?;
                encoded.pieces().try_for_each(|piece| object.append(piece))?;
                object.finish()?;
            }
            self.report.wrote(self.object, (encoded.bytes.len() + encoded.missing) as u64);
            return Ok(());
        };
        let shard = match &mut self.shard {
            Some(shard) => shard,
            none => {
                let first = self.array.subchunks_of(self.object).start;
                none.insert(ShardWriter::new(layout, first, self.array.node.create(&key())?)?)
            }
        };
        shard.append(subchunk, &encoded.padded())?;
        Ok(())
    }

    /// Writes the index of a shard that has subchunks. Returns the counts of the object.
    pub(super) fn finish(mut self) -> Result<ObjectReport> {
        if let Some(shard) = self.shard {
            let bytes = shard.finish().map_err(|fault| fault.of_destination(self.object))?;
            self.report.wrote(self.object, bytes);
        }
        Ok(self.report)
    }
}

/// Encoded subchunk. The padding at its end is not stored in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoded<'a> {
    bytes: &'a [u8],
    /// Padding, which is repeated.
    padding: &'a [u8],
    /// Number of bytes of padding.
    missing: usize,
}

impl<'a> Encoded<'a> {
    /// Returns an encoded subchunk without padding.
    pub(super) fn whole(bytes: &'a [u8]) -> Self {
        Encoded { bytes, padding: &[], missing: 0 }
    }

    /// Returns the bytes in pieces.
    fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let Encoded { bytes, padding, missing } = self;
        let rest = (0..missing).step_by(padding.len().max(1));
        std::iter::once(bytes).chain(rest.map(move |begin| &padding[..padding.len().min(missing - begin)]))
    }

    /// Returns all bytes with padding.
    fn padded(self) -> Cow<'a, [u8]> {
        if self.missing == 0 { self.bytes.into() } else { self.pieces().collect::<Vec<_>>().concat().into() }
    }
}

/// Encoder of subchunks from their elements.
#[derive(Debug, Clone)]
pub struct SubchunkEncoder {
    /// Returns the conversion from elements to a subchunk of the destination.
    pub conversion: Conversion,
    pub(super) filling: Filling,
    /// Fill value of the destination, if subchunks of only that value are omitted and the conversion does not check it.
    left_out: Option<Vec<u8>>,
}

impl SubchunkEncoder {
    /// Creates an encoder of the subchunks of `destination` that applies `change` to the values. The chains of `origin`
    /// and `destination` may begin with the same rounding codecs. The values have passed through these already.
    pub fn new(
        [source, origin]: [&StoredArray; 2],
        destination: &StoredArray,
        change: &ValueConversion,
        write_empty: bool,
    ) -> Result<Self, BindError> {
        let (from, to) = (source.chain.decoded(), destination.subchunk_chain());
        let unchanged = change.is_none();
        let input = ArrayRepresentation {
            data_type: from.data_type.clone(),
            shape: to.decoded().shape.clone(),
            fill_value: if unchanged { to.decoded().fill_value.clone() } else { from.fill_value.clone() },
        };
        // Elements in memory have the byte order of this machine.
        let endian = if cfg!(target_endian = "big") { "big" } else { "little" };
        let bytes = CodecMetadata::new("bytes", Some(Object::new().with("endian", endian)));
        let rounded = if unchanged { num_rounded(origin.subchunk_chain(), to) } else { 0 };
        let leading = to.codecs()[..rounded].iter().map(|codec| codec.metadata.clone());
        let codecs: Vec<CodecMetadata> = leading.chain([bytes]).collect();
        let plain = Pipeline::build(input.clone(), &codecs, Completeness::ToBytes, "", &mut Vec::new());
        let conversion = Conversion::new(BoundChain::bind(&plain)?, to.clone(), change, write_empty)?;
        let size = from.data_type.size().unwrap_or(1);
        let beyond =
            input.fill_value.as_ref().map_or_else(|| vec![0; size], |fill| beyond_edge(to, &from.data_type, &fill.0));
        let fill = to.decoded().fill_value.as_ref().map(|fill| fill.0.clone());
        let left_out = fill.filter(|_| !write_empty && !conversion.decodes_elements());
        let filling = Filling { absent: source.fill_value(), padding: beyond.repeat(PADDING.div_ceil(size)) };
        Ok(SubchunkEncoder { conversion, filling, left_out })
    }

    /// Returns the size of an element in bytes before encoding.
    pub fn element_size(&self) -> usize {
        self.filling.element_size()
    }

    /// Encodes a subchunk. `elements` end with the last one inside the array. Returns `None` if it contains only the
    /// fill value and is omitted.
    pub(super) fn encode<'b>(
        &'b self,
        elements: &'b mut Vec<u8>,
        valid: Option<&[u64]>,
        Buffers { written, conversion: work, report, .. }: &'b mut Buffers,
    ) -> Result<Option<Encoded<'b>>, ChainFault> {
        if self.left_out.as_ref().is_some_and(|fill| is_filled_with(elements, fill)) {
            return Ok(None);
        }
        let whole = as_index(self.conversion.source.decoded_bytes());
        if self.conversion.is_copy() {
            let missing = whole.saturating_sub(elements.len());
            return Ok(Some(Encoded { bytes: elements, padding: &self.filling.padding, missing }));
        }
        let inside = elements.len();
        elements.resize(whole, 0);
        repeat(&mut elements[inside..], &self.filling.padding);
        let elements = PartlyDecoded { bytes: elements, index: self.conversion.source.codecs().len() };
        let converted = self.conversion.run(elements, (valid, false), written, work, &mut report.figures)?;
        Ok((converted == Converted::Written).then_some(Encoded::whole(written)))
    }
}
