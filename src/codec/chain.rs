//! A codec chain bound to a chunk's data type, shape and fill value. Everything that depends on metadata is proved, so
//! only the data can make it fail.

mod bound_codec;
mod differences;

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, PoisonError};

pub use bound_codec::ElementSize;
use bound_codec::{bind_codec, check_size, expect_size};
use differences::DifferenceRun;

use super::fault::{ChainFault, ChainFaultKind, Result};
use super::kinds::{Contexts, Effect, Output};
use super::sharding::BoundSharding;
use super::value_program::Tiles;
use crate::grid::Grid;
use crate::metadata::CodecMetadata;
use crate::pipeline::{ArrayRepresentation, BytesSize, Completeness, Pipeline, Representation};
use crate::store::FileFormat;

/// A codec that runs on chunks.
pub type Codec = crate::pipeline::Codec<Box<BoundSharding>>;

impl Codec {
    /// Returns the greatest change of a number by encoding and decoding. `None` if every bit is kept, infinity if there
    /// is no limit.
    pub fn max_loss(&self) -> Option<f64> {
        match self {
            Codec::Array(codec) => codec.max_loss(),
            Codec::Sharding(sharding) => sharding.inner.max_loss(0),
            Codec::BytesToBytes(_) | Codec::Other => None,
        }
    }

    /// Returns the bytes of the contexts that encode or decode `decoded` bytes, including those of inner chunks.
    fn context_bytes(&self, decoded: u64) -> u64 {
        match self {
            Codec::BytesToBytes(codec) => codec.context_bytes(decoded),
            Codec::Array(codec) => codec.context_bytes(decoded),
            Codec::Sharding(sharding) => {
                let inner = &sharding.inner;
                // The chain inside has a workspace of its own, so its buffers exist at the same time as those of the
                // shard.
                inner.context_bytes().saturating_add(inner.buffer_bytes(inner.codecs.len()))
            }
            Codec::Other => 0,
        }
    }
}

/// A codec in a bound chain.
#[derive(Debug, Clone)]
pub struct BoundCodec {
    /// The metadata as in the document.
    pub metadata: CodecMetadata,
    /// The codec itself.
    pub codec: Codec,
    /// The representation of the chunk before the codec.
    pub decoded: Representation,
    /// The representation of the chunk after the codec.
    pub encoded: Representation,
}

/// A bound chain. It may end with array->array codecs.
#[derive(Debug, Clone)]
pub struct BoundChain {
    pub(super) decoded: ArrayRepresentation,
    codecs: Vec<BoundCodec>,
    /// The codecs that run as one.
    runs: Arc<[DifferenceRun]>,
    /// The options with which it was bound, to bind it again for chunks of other shapes.
    elements: ElementSize,
    /// The options for writing.
    pub writing: ChunkWriting,
    by_shape: PerShape<BoundChain>,
}

/// Options of a bound chain for writing chunks. The metadata do not contain them.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChunkWriting {
    /// `cast_value` uses the nearest code, whatever its `rounding` is. Decoded codes differ from their exact values by
    /// the rounding of two operations, in either direction. A directed rounding would change half of them to the next
    /// code, each time the chunks are encoded again.
    pub to_nearest: bool,
    /// Inner chunks that contain only the fill value are written, too.
    pub empty: bool,
}

/// Buffers and compressor contexts that a thread reuses for each chunk.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) buffers: [Vec<u8>; 2],
    /// Used for differences.
    pub(super) spare: [Vec<u8>; 2],
    /// Used for value programs.
    pub tiles: Tiles,
    /// Compressor contexts.
    pub contexts: Contexts,
    /// The most bytes that may be allocated if only the data determine the decoded size.
    pub limit: Option<u64>,
    pub(super) inner: Option<Box<Workspace>>,
}

impl Workspace {
    fn output<'a>(&'a mut self, bytes: &'a mut Vec<u8>) -> Output<'a> {
        // This is for codecs of arrays. Their shape limits the size already.
        Output { bytes, allowed: BytesSize::Bounded(u64::MAX), contexts: &mut self.contexts }
    }

    /// Returns the workspace of the chain inside a shard.
    pub(super) fn inner(&mut self) -> &mut Workspace {
        self.inner.get_or_insert_default()
    }
}

/// The error of a chain that cannot be bound.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BindError {
    /// A codec, known or not, that cannot run here.
    #[error("codec {index} ({name}) is not supported{because}")]
    Unsupported {
        /// Its index in the chain.
        index: usize,
        /// Its name.
        name: String,
        /// `: reason`, or nothing.
        because: String,
    },
    /// The array's data type cannot be decoded to elements.
    #[error("data type {0} is not decoded to elements")]
    DataType(String),
    /// A chunk whose size overflows, or is larger than this machine can address.
    #[error("a chunk of shape {shape:?} is too large for this machine")]
    TooLarge {
        /// Its shape.
        shape: Vec<u64>,
    },
}

impl BindError {
    /// Makes the error of a codec that itself has the reason.
    pub(super) fn unsupported(name: &str, because: String) -> Self {
        BindError::Unsupported { index: 0, name: name.to_owned(), because }
    }
}

impl BoundChain {
    /// Binds a pipeline without faults, for elements of a fixed size.
    pub fn bind(pipeline: &Pipeline) -> Result<Self, BindError> {
        Self::bind_elements(pipeline, ElementSize::Fixed)
    }

    /// Binds it for elements of these sizes.
    pub fn bind_elements(pipeline: &Pipeline, elements: ElementSize) -> Result<Self, BindError> {
        let decoded = pipeline.input.clone();
        check_size(&decoded, elements)?;
        let mut before = Representation::Array(decoded.clone());
        let mut codecs = Vec::with_capacity(pipeline.stages.len());
        for (index, stage) in pipeline.stages.iter().enumerate() {
            let name = &stage.metadata.name;
            let unsupported = |because: String| BindError::Unsupported { index, name: name.clone(), because };
            let unread = elements == ElementSize::Unread;
            // A codec of unknown effect counts as one that gives bytes. `Recoding` needs bytes before the codecs that
            // differ.
            let unknown = unread.then_some(Representation::Bytes(BytesSize::Unbounded));
            let encoded = stage.output.clone().or(unknown).ok_or_else(|| unsupported(String::new()))?;
            if let Representation::Array(array) = &encoded {
                // A codec may make the chunk larger, such as a cast to a wider type.
                check_size(array, elements)?;
            }
            let codec = match bind_codec(stage, &before, elements) {
                Ok(Codec::Sharding(mut sharding)) => {
                    // Only the whole chain knows the array's own fill value. A filter before the shard may have no rule
                    // for it.
                    sharding.presume_fill_value(&decoded);
                    Codec::Sharding(sharding)
                }
                Ok(codec) => codec,
                Err(_) if unread => Codec::Other,
                Err(BindError::Unsupported { because, .. }) => return Err(unsupported(because)),
                Err(error) => return Err(error),
            };
            let decoded = std::mem::replace(&mut before, encoded.clone());
            codecs.push(BoundCodec { metadata: stage.metadata.clone(), codec, decoded, encoded });
        }
        let (runs, writing) = (DifferenceRun::all(&codecs).into(), ChunkWriting::default());
        Ok(BoundChain { decoded, codecs, runs, elements, writing, by_shape: PerShape::default() })
    }

    /// Returns the representation of the chunk as an array.
    pub fn decoded(&self) -> &ArrayRepresentation {
        &self.decoded
    }

    /// Returns the codecs, in encode order.
    pub fn codecs(&self) -> &[BoundCodec] {
        &self.codecs
    }

    /// Returns the representation of the chunk after the last codec.
    pub fn encoded(&self) -> Representation {
        self.codecs.last().map_or_else(|| Representation::Array(self.decoded.clone()), |codec| codec.encoded.clone())
    }

    /// Changes how chunks are written from now on, also inside shards.
    pub fn write_with(&mut self, writing: ChunkWriting) {
        // Chains of other shapes that exist already do not have these options, and are bound again.
        (self.writing, self.by_shape) = (writing, PerShape::default());
        for codec in &mut self.codecs {
            match &mut codec.codec {
                Codec::Array(codec) if writing.to_nearest => {
                    *codec = codec.to_nearest().unwrap_or_else(|| codec.clone());
                }
                Codec::Sharding(sharding) => {
                    sharding.write_empty |= writing.empty;
                    sharding.inner.write_with(writing);
                }
                _ => {}
            }
        }
    }

    /// Returns the number of leading array->array codecs that keep the number of dimensions and can be undone value by
    /// value.
    pub fn num_array_to_array(&self) -> usize {
        use Effect::{BitRound, Cast, Filter, ScaleOffset, Transpose};
        let is_by_element = |codec: &&BoundCodec| {
            matches!(codec.codec.effect(), ScaleOffset(_) | Cast { .. } | Transpose(_) | BitRound(_) | Filter { .. })
        };
        self.codecs.iter().take_while(is_by_element).count()
    }

    /// Returns the number of those before the first differences. One pass over values includes no more codecs.
    pub fn num_in_one_pass(&self) -> usize {
        let first = self.runs.first().map_or(usize::MAX, |run| run.range.start);
        self.num_array_to_array().min(first)
    }

    /// Returns true if codecs that run as one begin at `index`.
    pub fn takes_differences_at(&self, index: usize) -> bool {
        self.runs.iter().any(|run| run.range.start == index)
    }

    /// Returns the greatest change of a number by the codecs from index `first` on, as [`Codec::max_loss`] does. After
    /// a codec that changes values there is no limit.
    pub fn max_loss(&self, first: usize) -> Option<f64> {
        let codecs = self.codecs.iter().skip(first);
        let keeps_values = |effect: Effect<'_>| {
            matches!(effect, Effect::Transpose(_) | Effect::Reshape | Effect::Compress | Effect::Other)
        };
        let loss = codecs.clone().filter_map(|codec| codec.codec.max_loss()).reduce(f64::max)?;
        let is_of_values = codecs.clone().all(|codec| keeps_values(codec.codec.effect()));
        Some(if is_of_values { loss } else { f64::INFINITY })
    }

    /// Returns the most bytes that an encoded chunk can have. More is a fault.
    pub fn max_encoded_bytes(&self) -> u64 {
        self.decoded.max_encoded_bytes(&self.encoded())
    }

    /// Returns true if an encoded chunk is the elements themselves, encoded by `bytes` alone.
    pub fn is_plain(&self) -> bool {
        self.codecs.len() == 1 && self.num_noop_codecs() == 1 && self.decoded.num_bytes().is_some()
    }

    /// Returns the number of leading codecs that change nothing: 1 for `bytes` in this machine's byte order, else 0.
    /// The bytes to decode are then the elements, if the length is right.
    pub fn num_noop_codecs(&self) -> usize {
        let is_moot = |codec: &BoundCodec| matches!(codec.codec.effect(), Effect::Bytes { swap: None, check: None });
        usize::from(self.codecs.first().is_some_and(is_moot))
    }

    /// Returns the index of the first of the trailing bytes->bytes codecs, or the chain's length if there are none.
    pub fn bytes_index(&self) -> usize {
        let is_of_bytes = |codec: &&BoundCodec| matches!(codec.codec, Codec::BytesToBytes(_));
        self.codecs.len() - self.codecs.iter().rev().take_while(is_of_bytes).count()
    }

    /// Fails if the length of a chunk before the codec at `index` is not that of its elements. Variable-length
    /// elements allow any length.
    pub fn check_before(&self, index: usize, length: usize) -> Result {
        if self.decoded.data_type.is_variable_length() {
            return Ok(());
        }
        let last = index.saturating_sub(1);
        let expected = match self.codecs.get(last) {
            Some(codec) if index > 0 => codec.encoded.max_bytes(),
            _ => self.decoded.num_bytes(),
        };
        expect_size(expected, length).map_err(|kind| match self.codecs.get(last) {
            Some(codec) => codec.fault(last, kind),
            None => ChainFault::new("-", "", kind),
        })
    }

    /// Returns the bytes of the largest representation between two codecs. For variable-length elements it is a usual
    /// size.
    pub fn max_representation_bytes(&self) -> u64 {
        const USUAL: u64 = 64 << 20;
        let is_variable = self.decoded.data_type.is_variable_length();
        let whole = if is_variable { USUAL } else { self.decoded.num_bytes().unwrap_or(u64::MAX) };
        self.codecs.iter().filter_map(|codec| codec.encoded.max_bytes()).fold(whole, u64::max)
    }

    /// Returns the most bytes of an encoded chunk, as limited by its codecs. Without a limit it is the decoded size.
    pub fn encoded_bytes(&self) -> u64 {
        self.encoded().max_bytes().unwrap_or_else(|| self.decoded_bytes())
    }

    /// Returns the bytes of a decoded chunk.
    pub fn decoded_bytes(&self) -> u64 {
        self.decoded().num_bytes().unwrap_or(u64::MAX)
    }

    /// Returns the bytes of its compressors' contexts, including those of inner chunks.
    pub fn context_bytes(&self) -> u64 {
        let bytes_of = |codec: &BoundCodec| codec.codec.context_bytes(codec.decoded.max_bytes().unwrap_or(0));
        self.codecs.iter().map(bytes_of).fold(0, u64::saturating_add)
    }

    /// Returns the bytes of the contexts from codec `first` on, for chunks of `bytes` instead of the chain's size.
    pub(super) fn context_bytes_of(&self, first: usize, bytes: u64) -> u64 {
        self.codecs[first..].iter().map(|codec| codec.codec.context_bytes(bytes)).fold(0, u64::saturating_add)
    }

    /// Returns the bytes of the buffers between `steps` codecs that run one by one.
    pub(super) fn buffer_bytes(&self, steps: usize) -> u64 {
        // `through` alternates between two buffers, and the last codec writes into the buffer of the caller.
        let between = steps.saturating_sub(1).min(2) as u64;
        let spare = if self.runs.is_empty() { 0 } else { 2 };
        self.max_representation_bytes().saturating_mul(between + spare)
    }

    /// Returns the bytes needed to read: the encoded chunk, the decoded one and, if the array has edges, the part
    /// inside.
    pub fn reading_bytes(&self, has_edges: bool) -> u64 {
        let decoded = self.decoded_bytes();
        // The encoded bytes of a plain chunk are its elements, so there is no second buffer for them.
        let copies = u64::from(!self.is_plain()) + u64::from(has_edges);
        let chunk = self.encoded_bytes().saturating_add(decoded.saturating_mul(copies));
        chunk.saturating_add(self.buffer_bytes(self.codecs.len())).saturating_add(self.context_bytes())
    }

    /// Encodes with the codec at `index`.
    pub fn encode_codec(&self, index: usize, decoded: &[u8], encoded: &mut Vec<u8>, scratch: &mut Workspace) -> Result {
        let codec = &self.codecs[index];
        codec.encode(decoded, encoded, scratch).map_err(|kind| codec.fault(index, kind).of_encoding())
    }

    /// Decodes with the codec at `index`.
    pub fn decode_codec(&self, index: usize, encoded: &[u8], decoded: &mut Vec<u8>, scratch: &mut Workspace) -> Result {
        let codec = &self.codecs[index];
        codec.decode(encoded, decoded, scratch).map_err(|kind| {
            // Only the last codec decodes the stored bytes themselves.
            let is_stored = index + 1 == self.codecs.len();
            let stand_in = if is_stored { FileFormat::of_stand_in(encoded) } else { None };
            codec.fault(index, stand_in.map_or(kind, ChainFaultKind::StandIn))
        })
    }

    /// Encodes with the codecs from index `first` on.
    pub fn encode_from(&self, first: usize, decoded: &[u8], encoded: &mut Vec<u8>, scratch: &mut Workspace) -> Result {
        let steps = self.steps(first..self.codecs.len()).into_iter();
        Self::through(steps, decoded, encoded, scratch, |(index, run), decoded, encoded, scratch| match run {
            Some(run) => {
                let result = run.encode(decoded, encoded, scratch);
                result.map_err(|kind| self.codecs[index].fault(index, kind).of_encoding())
            }
            None => self.encode_codec(index, decoded, encoded, scratch),
        })
    }

    /// Decodes back to the representation before the codec at index `last`.
    pub fn decode_to(&self, last: usize, encoded: &[u8], decoded: &mut Vec<u8>, scratch: &mut Workspace) -> Result {
        self.decode_between(last..self.codecs.len(), encoded, decoded, scratch)
    }

    /// Decodes from the representation before codec `range.end` to that before codec `range.start`.
    pub fn decode_between(
        &self,
        range: Range<usize>,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        scratch: &mut Workspace,
    ) -> Result {
        let steps = self.steps(range).into_iter().rev();
        Self::through(steps, encoded, decoded, scratch, |(index, run), encoded, decoded, scratch| match run {
            Some(run) => run.decode(encoded, decoded, scratch).map_err(|kind| self.codecs[index].fault(index, kind)),
            None => self.decode_codec(index, encoded, decoded, scratch),
        })
    }

    /// Returns the steps for the codecs in `range`. A step is one codec, or several that run as one. Its number is the
    /// index of the first codec.
    fn steps(&self, range: Range<usize>) -> Vec<(usize, Option<&DifferenceRun>)> {
        let mut steps = Vec::with_capacity(range.len());
        let mut index = range.start;
        while index < range.end {
            // A run is used only as a whole. If the range ends inside it, its codecs run one by one.
            let run = self.runs.iter().find(|run| run.range.start == index && run.range.end <= range.end);
            steps.push((index, run));
            index = run.map_or(index + 1, |run| run.range.end);
        }
        steps
    }

    /// Encodes a chunk of native-endian elements in C order.
    pub fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, workspace: &mut Workspace) -> Result {
        self.encode_from(0, decoded, encoded, workspace)
    }

    /// Decodes a chunk to native-endian elements in C order.
    pub fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>, workspace: &mut Workspace) -> Result {
        self.decode_to(0, encoded, decoded, workspace)?;
        // An empty chain has no codec that has checked the size.
        self.check_before(0, decoded.len())
    }

    /// Runs codecs in one direction, from buffer to buffer. The last one writes into `target`.
    fn through<S>(
        steps: impl ExactSizeIterator<Item = S>,
        source: &[u8],
        target: &mut Vec<u8>,
        workspace: &mut Workspace,
        direction: impl Fn(S, &[u8], &mut Vec<u8>, &mut Workspace) -> Result,
    ) -> Result {
        let last = steps.len().checked_sub(1);
        // The buffers are taken out because each step borrows the workspace. They are put back after an error, too.
        let [mut current, mut spare] = std::mem::take(&mut workspace.buffers);
        let result: Result = steps.enumerate().try_for_each(|(number, step)| {
            let input: &[u8] = if number == 0 { source } else { &current };
            let output = if Some(number) == last { &mut *target } else { &mut spare };
            direction(step, input, output, workspace)?;
            std::mem::swap(&mut current, &mut spare);
            Ok(())
        });
        workspace.buffers = [current, spare];
        if last.is_none() {
            target.clear();
            target.extend_from_slice(source);
        }
        result
    }
}

// Chains for chunks of other shapes, which a rectilinear grid has.

/// The most shapes that are kept. One more clears the list.
const MOST_SHAPES: usize = 1 << 10;

/// Values that were made for chunks of some shapes.
#[derive(Debug)]
pub struct ShapeCache<T>(Mutex<HashMap<Vec<u64>, Arc<T>>>);

/// Such values, shared by threads and copies.
pub type PerShape<T> = Arc<ShapeCache<T>>;

/// A value for the chunks of one shape.
#[derive(Debug)]
pub enum ForShape<'a, T> {
    /// The value that is the same for all shapes.
    Same(&'a T),
    /// A value made for this shape.
    Made(Arc<T>),
}

impl<T> ShapeCache<T> {
    /// Returns the value that was made for a shape, or makes it.
    pub fn get<E>(&self, shape: &[u64], make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        // Only complete values are inserted, so the map is valid even if a thread panicked while it had the lock.
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = kept().get(shape) {
            return Ok(made.clone());
        }
        // The lock is free during this slow work. Two threads may make the same value. Either of the two results is
        // right.
        let made = Arc::new(make()?);
        let mut kept = kept();
        if kept.len() >= MOST_SHAPES {
            kept.clear();
        }
        kept.insert(shape.to_vec(), made.clone());
        Ok(made)
    }
}

impl<T> Default for ShapeCache<T> {
    fn default() -> Self {
        ShapeCache(Mutex::default())
    }
}

impl<T> Deref for ForShape<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            ForShape::Same(same) => same,
            ForShape::Made(made) => made,
        }
    }
}

impl BoundChain {
    /// Returns the chain for the chunk of a grid at `indices`: this chain if the grid is regular. Fails if the codecs
    /// do not support a chunk of that shape.
    pub fn for_chunk(&self, grid: &Grid, indices: &[u64]) -> Result<ForShape<'_, BoundChain>, BindError> {
        if grid.uniform().is_some() { Ok(ForShape::Same(self)) } else { self.for_shape(&grid.shape_of(indices)) }
    }

    /// Returns the chain for chunks of another shape.
    pub fn for_shape(&self, shape: &[u64]) -> Result<ForShape<'_, BoundChain>, BindError> {
        if self.decoded.shape == shape {
            return Ok(ForShape::Same(self));
        }
        self.by_shape.get(shape, || self.bound_anew(shape)).map(ForShape::Made)
    }

    fn bound_anew(&self, shape: &[u64]) -> Result<BoundChain, BindError> {
        let codecs: Vec<CodecMetadata> = self.codecs.iter().map(|codec| codec.metadata.clone()).collect();
        let input = ArrayRepresentation { shape: shape.to_vec(), ..self.decoded.clone() };
        // The diagnostics are not needed. A codec that does not support the shape has no output, and binding fails
        // there.
        let pipeline = Pipeline::build(input, &codecs, Completeness::Partial, "/codecs", &mut Vec::new());
        let mut chain = BoundChain::bind_elements(&pipeline, self.elements)?;
        chain.write_with(self.writing);
        Ok(chain)
    }
}
