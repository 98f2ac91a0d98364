//! The representation of a chunk after each codec of a chain, from the metadata alone.
//!
//! Building continues after a fault, so that `inspect` and `validate` can show the rest. Every fault is a diagnostic.
//! No codec runs on data here. Only fill values pass through the kernels.

mod binding;
mod sharding_indexed;

pub use crate::codec::kinds::{ArrayRepresentation, BytesSize, Representation};
pub use crate::codec::registry::{CodecKind, codec_kind};
pub use sharding_indexed::IndexLocation;

use std::sync::Arc;

use crate::codec::kinds::{BytesCodec, Coder, Effect};
use crate::codec::registry;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::extension::CodecMetadata;
use binding::KnownCodec;

/// A codec, bound to its input chunk. `S` contains the chains inside a shard.
#[derive(Debug, Clone)]
pub enum Codec<S> {
    /// A codec whose input is an array.
    Array(Arc<dyn Coder>),
    /// `sharding_indexed`.
    Sharding(S),
    /// A bytes->bytes codec.
    BytesToBytes(BytesCodec),
    /// Any other codec, which does not run. Its configuration and its encoded chunks are copied unchanged.
    Other,
}

/// The configuration of a codec, bound to its input chunk.
pub type BoundConfiguration = Codec<ShardingStage>;

/// A codec's configuration and the chunk after it, which is `None` after a fault.
type Bound = (BoundConfiguration, Option<Representation>);

impl<S> Codec<S> {
    /// Returns the effect on the elements of a chunk, as far as other code uses it.
    pub fn effect(&self) -> Effect<'_> {
        if let Codec::Array(codec) = self { codec.effect() } else { Effect::Other }
    }
}

/// The chains inside a shard.
#[derive(Debug, Clone)]
pub struct ShardingStage {
    /// Returns the chain of an inner chunk.
    pub inner: Pipeline,
    /// The chain of the index.
    pub index: Pipeline,
    /// The location of the index in the shard.
    pub index_location: IndexLocation,
}

/// A codec in the chain, and the representation of the chunk after it.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The codec's name.
    pub name: String,
    /// The metadata as in the document.
    pub metadata: CodecMetadata,
    /// The kinds of its input and output. `None` for an unknown codec.
    pub kind: Option<CodecKind>,
    /// Its configuration. `Other` also if it is faulty.
    pub configuration: BoundConfiguration,
    /// The chunk after it. `None` after a fault.
    pub output: Option<Representation>,
}

/// A codec chain with the representation of a chunk after each codec.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// Returns the representation of the chunk as an array.
    pub input: ArrayRepresentation,
    /// Returns the codecs, in encode order.
    pub stages: Vec<Stage>,
}

/// The end that a chain must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// It ends in bytes, as an array's chain must.
    ToBytes,
    /// It may end with array->array codecs.
    Partial,
}

impl Pipeline {
    /// Follows a chunk through `codecs`. Faults are added to `diagnostics`, and `pointer` is that of the list. An
    /// unknown codec that need not be understood is skipped with a warning (Zarr v3 core, "extension definition").
    pub fn build(
        input: ArrayRepresentation,
        codecs: &[CodecMetadata],
        completeness: Completeness,
        pointer: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Pipeline {
        let (passed_over, codecs): (Vec<_>, Vec<_>) =
            codecs.iter().map(KnownCodec::new).partition(|known| !known.codec.must_understand && known.kind.is_none());
        for known in passed_over {
            binding::report_passed_over(known.codec, diagnostics);
        }
        check_order(&codecs, completeness, pointer, diagnostics);
        let mut before = Some(Representation::Array(input.clone()));
        let mut stages = Vec::with_capacity(codecs.len());
        for known in codecs {
            let (configuration, output) = binding::bind(&known, before.as_ref(), diagnostics);
            stages.push(Stage {
                name: known.codec.name.clone(),
                metadata: known.codec.clone(),
                kind: known.kind,
                configuration,
                output: output.clone(),
            });
            before = output;
        }
        Pipeline { input, stages }
    }

    /// Follows a chunk of another shape through the same codecs. Faults are added to `diagnostics`.
    #[must_use]
    pub fn for_shape(&self, shape: &[u64], diagnostics: &mut Vec<Diagnostic>) -> Pipeline {
        let codecs: Vec<CodecMetadata> = self.stages.iter().map(|stage| stage.metadata.clone()).collect();
        let input = ArrayRepresentation { shape: shape.to_vec(), ..self.input.clone() };
        Pipeline::build(input, &codecs, Completeness::Partial, "/codecs", diagnostics)
    }

    /// Returns the chunk after the last codec. `None` after a fault.
    pub fn output(&self) -> Option<Representation> {
        let input = || Some(Representation::Array(self.input.clone()));
        self.stages.last().map_or_else(input, |stage| stage.output.clone())
    }

    /// Returns true if a codec stores a checksum of each chunk, or of the inner chunks. A checksum of only a shard's
    /// index does not count. Nor does an unknown codec, which may store one.
    pub fn has_checksum(&self) -> bool {
        self.stages.iter().any(|stage| match &stage.configuration {
            BoundConfiguration::Sharding(sharding) => sharding.inner.has_checksum(),
            _ => registry::find(&stage.name)
                .and_then(|entry| entry.bytes)
                .is_some_and(|kind| (kind.stores_checksum)(stage.metadata.configuration.as_ref())),
        })
    }

    /// Returns the `sharding_indexed` stage and its index in the chain, if there is one.
    pub fn sharding(&self) -> Option<(usize, &ShardingStage)> {
        self.stages.iter().enumerate().find_map(|(place, stage)| match &stage.configuration {
            BoundConfiguration::Sharding(sharding) => Some((place, sharding)),
            _ => None,
        })
    }

    /// Returns the bytes of a shard's index. `None` if its size is not fixed, or if a later codec compresses whole
    /// shards.
    pub fn shard_index_bytes(&self) -> Option<u64> {
        let (place, sharding) = self.sharding()?;
        let Some(Representation::Bytes(BytesSize::Fixed(bytes))) = sharding.index.output() else { return None };
        (place + 1 == self.stages.len()).then_some(bytes)
    }

    /// Returns the shape of the innermost chunk, in the dimensions of the input array.
    ///
    /// The shape is permuted back through the transposes before each `sharding_indexed`.
    pub fn innermost_chunk_shape(&self) -> Vec<u64> {
        let Some((place, sharding)) = self.sharding() else { return self.input.shape.clone() };
        let mut shape = sharding.inner.innermost_chunk_shape();
        for stage in self.stages[..place].iter().rev() {
            if let Effect::Transpose(order) = stage.configuration.effect() {
                let encoded = shape.clone();
                encoded.iter().zip(order).for_each(|(length, dimension)| shape[*dimension] = *length);
            }
        }
        shape
    }
}

/// Checks the order: zero or more array->array codecs, exactly one array->bytes, zero or more bytes->bytes (Zarr v3
/// core, "codecs").
fn check_order(
    codecs: &[KnownCodec<'_>],
    completeness: Completeness,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // The input and output of an unknown codec are unknown. It is reported separately.
    let Some(kinds) = codecs.iter().map(|known| known.kind).collect::<Option<Vec<_>>>() else { return };
    let mut is_bytes = false;
    for (KnownCodec { codec, .. }, kind) in codecs.iter().zip(kinds) {
        if (kind == CodecKind::BytesToBytes) != is_bytes {
            let (found, wanted) = if is_bytes { ("bytes", "an array") } else { ("an array", "bytes") };
            let message = format!("codec `{}` takes {wanted}, but its input is {found}", codec.name);
            let help = "order the codecs: array->array, then one array->bytes (`bytes`), then bytes->bytes";
            let found = Diagnostic::new(code::CODEC_ORDER, message).with_help(help);
            diagnostics.push(found.at_pointer(codec.pointer.clone()));
            return;
        }
        is_bytes = kind != CodecKind::ArrayToArray;
    }
    // An empty list was reported when it was read.
    if !is_bytes && completeness == Completeness::ToBytes && !codecs.is_empty() {
        let help = "add an array->bytes codec: {\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
        let found = Diagnostic::new(code::CODEC_ORDER, "no codec turns the array into bytes").with_help(help);
        diagnostics.push(found.at_pointer(pointer));
    }
}

#[cfg(test)]
mod tests;
