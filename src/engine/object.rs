//! One stored object (a chunk or a shard) from SOURCE to DEST: copied, converted whole, or converted inner chunk by
//! inner chunk.

use std::sync::Mutex;

use super::chunk_set::{ChunkSet, position};
use super::driver::{ChunkFault, Driver, Fault};
use super::interrupt::Interrupt;
use super::progress::Progress;
use super::shard::{ShardLayout, ShardWriter};
use crate::codec::chain::Workspace;
use crate::codec::conversion::{Conversion, ConversionBuffers, Converted};
use crate::codec::region::as_index;
use crate::codec::sharding::IndexEntry;
use crate::codec::{BoundChain, ChainFaultKind};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::array::ArrayMetadata;
use crate::store::{LocalNode, ObjectReader};

/// An array on one side of a job.
#[derive(Debug, Clone)]
pub struct Side {
    /// Where it lies.
    pub node: LocalNode,
    /// Its metadata.
    pub metadata: ArrayMetadata,
    /// The chain of a stored object.
    pub chain: BoundChain,
    /// Where shards can be streamed: how.
    pub layout: Option<ShardLayout>,
}

/// What is done with each stored object.
#[derive(Debug, Clone)]
pub enum ObjectWay {
    /// The encoded bytes move as they are.
    Copy,
    /// Decoded and encoded whole.
    Convert(Box<Conversion>),
    /// Inner chunk by inner chunk, for shards with the same inner grid on both sides.
    Cells(Box<Conversion>),
}

/// The work on the objects of an array.
#[derive(Debug)]
pub struct ObjectJob {
    /// What is read.
    pub source: Side,
    /// What is written.
    pub destination: Side,
    /// How.
    pub way: ObjectWay,
    /// The objects of the source that are there.
    pub present: ChunkSet,
    /// An element of the destination's type that absent ones become, where they may not stay absent.
    pub absent_element: Option<Vec<u8>>,
}

/// What was done with an object.
#[derive(Debug, Clone, Copy, Default)]
pub struct ObjectReport {
    /// Whether an object was written.
    pub written: bool,
    /// Bytes read from the source.
    pub bytes_read: u64,
    /// Bytes written to the destination.
    pub bytes_written: u64,
    /// Error figures, where the job quantises.
    pub figures: QuantizeFigures,
}

/// Bytes that are read at a time where a chunk is converted while it is read: a multiple of every element size that
/// leaves room in a level 2 cache.
pub const PIECE: usize = 1 << 18;

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
pub struct ObjectBuffers {
    read: Vec<u8>,
    written: Vec<u8>,
    conversion: ConversionBuffers,
    workspace: Workspace,
}

impl Side {
    /// Bytes of a decoded object.
    pub fn chunk_bytes(&self) -> u64 {
        self.chain.decoded().num_bytes().unwrap_or(0)
    }

    /// The key of an object of the grid.
    pub fn key(&self, index: u64) -> String {
        self.metadata.chunk_key_encoding.key(&position(index, &self.metadata))
    }

    /// The part of a box of `shape` elements at `start` that lies inside the array; `None` where it all does.
    pub fn cropped(&self, start: &[u64], shape: &[u64]) -> Option<Vec<u64>> {
        let valid: Vec<u64> = start
            .iter()
            .zip(shape)
            .zip(&self.metadata.shape)
            .map(|((start, length), end)| (*length).min(end.saturating_sub(*start)))
            .collect();
        (valid != shape).then_some(valid)
    }

    /// The first element of an object of the grid.
    pub fn start_of(&self, index: u64) -> Vec<u64> {
        position(index, &self.metadata)
            .iter()
            .zip(&self.metadata.chunk_shape)
            .map(|(i, length)| i * length)
            .collect()
    }
}

impl ObjectJob {
    /// Converts every object, those that are absent too where they may not stay so; reports are given to `fold` in
    /// their order.
    pub fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let every = ChunkSet::full(self.source.metadata.chunk_grid_shape().iter().product());
        let objects = if self.absent_element.is_some() { &every } else { &self.present };
        let object_bytes = self.source.chunk_bytes();
        if let (ObjectWay::Cells(conversion), Some(source), Some(destination)) =
            (&self.way, &self.source.layout, &self.destination.layout)
            && objects.len() < 2 * driver.num_threads() as u64
        {
            // Too few shards to go round: the threads share the inner chunks of each.
            let cells = CellJob { job: self, conversion, source, destination, interrupt: driver.interrupt() };
            let workspaces: Vec<Mutex<ObjectBuffers>> =
                (0..driver.num_threads()).map(|_| Mutex::default()).collect();
            for place in 0..objects.len() {
                let Some(index) = objects.nth(place) else { break };
                let report = cells
                    .run_shared(driver, &workspaces, index)
                    .map_err(|fault| ChunkFault { index, fault })?;
                progress.advance(object_bytes);
                fold(report);
            }
            return Ok(());
        }
        driver.run::<ObjectBuffers, ObjectReport>(
            objects,
            |buffers, index| {
                let report = self.object(buffers, index, driver.interrupt())?;
                progress.advance(object_bytes);
                Ok(report)
            },
            |_, report| fold(report),
        )
    }

    fn object(
        &self,
        buffers: &mut ObjectBuffers,
        index: u64,
        interrupt: &Interrupt,
    ) -> Result<ObjectReport, Fault> {
        let key = self.source.key(index);
        match &self.way {
            ObjectWay::Copy => {
                let bytes = self.destination.node.copy_from(&self.source.node, &key)?;
                Ok(ObjectReport {
                    written: true,
                    bytes_read: bytes,
                    bytes_written: bytes,
                    ..ObjectReport::default()
                })
            }
            ObjectWay::Convert(conversion) => self.convert(conversion, buffers, index, &key),
            ObjectWay::Cells(conversion) => {
                let (Some(source), Some(destination)) = (&self.source.layout, &self.destination.layout)
                else {
                    return Err(Fault::Other("shards without a layout".to_owned()));
                };
                CellJob { job: self, conversion, source, destination, interrupt }.run(buffers, index)
            }
        }
    }

    /// Converts an object piece by piece while it is read, so that no piece leaves the level 2 cache.
    fn stream(
        &self,
        conversion: &Conversion,
        (source_size, target_size): (usize, usize),
        buffers: &mut ObjectBuffers,
        key: &str,
        start: &[u64],
    ) -> Result<ObjectReport, Fault> {
        let mut report = ObjectReport::default();
        let reader = self.source.node.open(key)?;
        let mut reader =
            reader.ok_or_else(|| Fault::Other(format!("the object {key} went away while it was read")))?;
        let (expected, found) = (conversion.streamed_bytes(), reader.length());
        let wrong_size = |found| {
            let kind = ChainFaultKind::Size { expected, found };
            Fault::Chain(crate::codec::ChainFault { place: "0".to_owned(), codec: "bytes".to_owned(), kind })
        };
        if expected != found {
            return Err(wrong_size(found));
        }
        let ObjectBuffers { read, written, conversion: work, .. } = buffers;
        read.resize(PIECE.min(as_index(expected)), 0);
        written.resize(as_index(expected) / source_size * target_size, 0);
        let mut offset = 0;
        while offset < expected {
            let length = as_index((expected - offset).min(PIECE as u64));
            let filled = reader.read_next(&mut read[..length])?;
            if filled < length {
                return Err(wrong_size(offset + filled as u64));
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
            self.destination.node.write(key, written)?;
            report.written = true;
            report.bytes_written = written.len() as u64;
        }
        Ok(report)
    }

    /// Writes an object whose every element is what absent ones become.
    fn fill_object(
        &self,
        conversion: &Conversion,
        buffers: &mut ObjectBuffers,
        key: &str,
    ) -> Result<ObjectReport, Fault> {
        let Some(element) = &self.absent_element else { return Ok(ObjectReport::default()) };
        let elements = filled(element, &self.destination.chain);
        conversion.encode_elements(&elements, &mut buffers.written, &mut buffers.conversion)?;
        self.destination.node.write(key, &buffers.written)?;
        Ok(ObjectReport {
            written: true,
            bytes_written: buffers.written.len() as u64,
            ..ObjectReport::default()
        })
    }

    fn convert(
        &self,
        conversion: &Conversion,
        buffers: &mut ObjectBuffers,
        index: u64,
        key: &str,
    ) -> Result<ObjectReport, Fault> {
        let mut report = ObjectReport::default();
        if !self.present.contains(index) {
            return self.fill_object(conversion, buffers, key);
        }
        let start = self.source.start_of(index);
        let valid = self.source.cropped(&start, &self.source.metadata.chunk_shape);
        if let (None, Some(sizes)) = (&valid, conversion.streams()) {
            return self.stream(conversion, sizes, buffers, key, &start);
        }
        if !self.source.node.read_into(key, self.source.chain.max_encoded_bytes(), &mut buffers.read)? {
            return Err(Fault::Other(format!("the object {key} went away while it was read")));
        }
        report.bytes_read = buffers.read.len() as u64;
        let converted = conversion
            .run(
                &buffers.read,
                valid.as_deref(),
                &mut buffers.written,
                &mut buffers.conversion,
                &mut report.figures,
            )
            .map_err(|fault| at(fault, &start))?;
        if converted == Converted::Written {
            self.destination.node.write(key, &buffers.written)?;
            report.written = true;
            report.bytes_written = buffers.written.len() as u64;
        }
        Ok(report)
    }
}

/// A chunk of one value.
fn filled(element: &[u8], chain: &BoundChain) -> Vec<u8> {
    let count = as_index(chain.decoded().num_elements().unwrap_or(0));
    element.repeat(count)
}

/// The first element of an inner chunk.
pub fn cell_start(start: &[u64], cell: &[u64], cell_shape: &[u64]) -> Vec<u64> {
    start.iter().zip(cell).zip(cell_shape).map(|((start, index), length)| start + index * length).collect()
}

/// Moves the position of a faulty element from the chunk's frame to the array's.
fn at(mut fault: crate::codec::ChainFault, start: &[u64]) -> Fault {
    if let ChainFaultKind::Element { position: Some(position), .. } = &mut fault.kind {
        position.iter_mut().zip(start).for_each(|(index, first)| *index += first);
    }
    Fault::Chain(fault)
}

/// The work on shards with the same inner grid on both sides.
struct CellJob<'a> {
    job: &'a ObjectJob,
    conversion: &'a Conversion,
    source: &'a ShardLayout,
    destination: &'a ShardLayout,
    interrupt: &'a Interrupt,
}

/// An opened shard of the source.
struct OpenShard {
    /// `None` where the shard is absent.
    reader: Option<ObjectReader>,
    index: Vec<IndexEntry>,
    start: Vec<u64>,
}

impl CellJob<'_> {
    fn open(&self, buffers: &mut ObjectBuffers, index: u64) -> Result<OpenShard, Fault> {
        let start = self.job.source.start_of(index);
        if !self.job.present.contains(index) {
            return Ok(OpenShard { reader: None, index: Vec::new(), start });
        }
        let key = self.job.source.key(index);
        let reader = self.job.source.node.open(&key)?;
        let reader =
            reader.ok_or_else(|| Fault::Other(format!("the object {key} went away while it was read")))?;
        let entries = self.source.read_index(&reader, &mut buffers.read, &mut buffers.workspace)?;
        Ok(OpenShard { reader: Some(reader), index: entries, start })
    }

    /// One thread streams the shard.
    fn run(&self, buffers: &mut ObjectBuffers, index: u64) -> Result<ObjectReport, Fault> {
        let mut report = ObjectReport::default();
        let shard = self.open(buffers, index)?;
        let mut writer = None;
        let mut absent = 0;
        for cell in self.destination.cells() {
            self.interrupt.check()?;
            let converted = self.cell(&shard, &cell, buffers, &mut report)?;
            let encoded = converted.then_some(buffers.written.as_slice());
            self.append(&mut writer, &mut absent, index, encoded)?;
        }
        self.finish(writer, &mut buffers.workspace, &mut report)?;
        Ok(report)
    }

    /// All threads convert inner chunks, a few at a time; they are appended in order.
    fn run_shared(
        &self,
        driver: &Driver,
        workspaces: &[Mutex<ObjectBuffers>],
        index: u64,
    ) -> Result<ObjectReport, Fault> {
        let mut own = ObjectBuffers::default();
        let mut report = ObjectReport::default();
        let shard = self.open(&mut own, index)?;
        let mut writer = None;
        let mut absent = 0;
        let mut cells = self.destination.cells();
        let at_once = driver.num_threads() * 2;
        loop {
            let batch: Vec<Vec<u64>> = cells.by_ref().take(at_once).collect();
            if batch.is_empty() {
                break;
            }
            let converted = driver.map(workspaces, batch.len(), |buffers, item| {
                let mut report = ObjectReport::default();
                let converted = self.cell(&shard, &batch[item], buffers, &mut report)?;
                Ok((converted.then(|| buffers.written.clone()), report))
            });
            for result in converted {
                let (encoded, of_cell) = result?;
                report.bytes_read += of_cell.bytes_read;
                report.figures.merge(&of_cell.figures);
                self.append(&mut writer, &mut absent, index, encoded.as_deref())?;
            }
        }
        self.finish(writer, &mut own.workspace, &mut report)?;
        Ok(report)
    }

    /// Converts one inner chunk into `buffers.written`; false where it is absent from the destination.
    fn cell(
        &self,
        shard: &OpenShard,
        cell: &[u64],
        buffers: &mut ObjectBuffers,
        report: &mut ObjectReport,
    ) -> Result<bool, Fault> {
        let cell_shape = &self.source.cell.decoded().shape;
        let start = cell_start(&shard.start, cell, cell_shape);
        let Some((offset, length)) = shard.index.get(self.source.entry_of(cell)).copied().flatten() else {
            let beyond = self.job.source.cropped(&start, cell_shape).is_some_and(|valid| valid.contains(&0));
            let Some(absent) = self.job.absent_element.as_ref().filter(|_| !beyond) else { return Ok(false) };
            let elements = filled(absent, &self.destination.cell);
            self.conversion
                .encode_elements(&elements, &mut buffers.written, &mut buffers.conversion)
                .map_err(|fault| at(fault, &start))?;
            return Ok(true);
        };
        let bound = self.source.cell.max_encoded_bytes();
        if length > bound {
            return Err(Fault::Other(format!(
                "inner chunk {cell:?} holds {length} bytes, at most {bound} expected"
            )));
        }
        let Some(reader) = &shard.reader else { return Ok(false) };
        reader.read_at(offset, length, &mut buffers.read)?;
        report.bytes_read += length;
        let valid = self.job.source.cropped(&start, cell_shape);
        if valid.as_ref().is_some_and(|valid| valid.contains(&0)) {
            return Ok(false); // All of it lies beyond the edge of the array.
        }
        let converted = self
            .conversion
            .run(
                &buffers.read,
                valid.as_deref(),
                &mut buffers.written,
                &mut buffers.conversion,
                &mut report.figures,
            )
            .map_err(|fault| at(fault, &start))?;
        Ok(converted == Converted::Written)
    }

    /// Appends a cell; the object is created when the first that is present comes.
    fn append(
        &self,
        writer: &mut Option<ShardWriter>,
        absent: &mut u64,
        index: u64,
        encoded: Option<&[u8]>,
    ) -> Result<(), Fault> {
        if encoded.is_none() && writer.is_none() {
            *absent += 1;
            return Ok(());
        }
        if writer.is_none() {
            let created = self.job.destination.node.create(&self.job.destination.key(index))?;
            let mut begun = ShardWriter::new(created, &self.destination.sharding)?;
            for _ in 0..*absent {
                begun.append(None)?;
            }
            *writer = Some(begun);
        }
        if let Some(writer) = writer {
            writer.append(encoded)?;
        }
        Ok(())
    }

    fn finish(
        &self,
        writer: Option<ShardWriter>,
        workspace: &mut Workspace,
        report: &mut ObjectReport,
    ) -> Result<(), Fault> {
        if let Some(writer) = writer {
            report.bytes_written = writer.finish(&self.destination.sharding, workspace)?;
            report.written = true;
        }
        Ok(())
    }
}
