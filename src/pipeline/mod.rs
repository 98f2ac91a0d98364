//! What a codec chain makes of a chunk, from the metadata alone: the representation after each codec.
//!
//! Building goes on after a fault, so that `inspect` and `validate` can show the rest; every fault is a diagnostic.
//! Nothing here runs a codec over data; fill values alone pass through the kernels.

mod binding;
mod sharding_indexed;

pub use crate::codec::kinds::{ArrayRepresentation, BytesSize, Representation};
pub use crate::codec::registry::{CodecKind, codec_kind};
pub use sharding_indexed::IndexLocation;

use std::sync::Arc;

use crate::codec::kinds::{BytesCodec, Coder, Role};
use crate::codec::registry;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::extension::CodecMetadata;
use binding::Known;

/// A codec, bound to the chunk that reaches it. `S` has the chains inside a shard.
#[derive(Debug, Clone)]
pub enum Codec<S> {
    /// A codec that takes an array.
    Array(Arc<dyn Coder>),
    /// `sharding_indexed`.
    Sharding(S),
    /// A bytes->bytes codec.
    BytesToBytes(BytesCodec),
    /// Any other codec, which is not run: its configuration stands as it is, and chunks as it has encoded them.
    Other,
}

/// A codec's configuration, bound to the chunk that reaches it.
pub type BoundConfiguration = Codec<ShardingStage>;

impl<S> Codec<S> {
    /// The effect on the elements of a chunk, as far as others make use of it.
    pub fn role(&self) -> Role<'_> {
        if let Codec::Array(codec) = self { codec.role() } else { Role::Other }
    }
}

/// The chains inside a shard.
#[derive(Debug, Clone)]
pub struct ShardingStage {
    /// The chain of an inner chunk.
    pub inner: Pipeline,
    /// The chain of the index.
    pub index: Pipeline,
    /// Where the index stands.
    pub index_location: IndexLocation,
}

/// A codec in the chain, and the chunk after it.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The codec's name.
    pub name: String,
    /// As the document has it.
    pub metadata: CodecMetadata,
    /// The kinds of its input and output; `None` for a codec that is not known.
    pub kind: Option<CodecKind>,
    /// Its configuration; `Other` also where it is faulty.
    pub configuration: BoundConfiguration,
    /// The chunk after it; `None` after a fault.
    pub output: Option<Representation>,
}

/// A chunk's way through a chain.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// The chunk as an array.
    pub input: ArrayRepresentation,
    /// The codecs, in encode order.
    pub stages: Vec<Stage>,
}

/// The end that a chain must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// It ends in bytes, as an array's must.
    ToBytes,
    /// It may stop at array->array codecs.
    Partial,
}

impl Pipeline {
    /// Follows a chunk through `codecs`. Faults go to `diagnostics`; `pointer` is where the list stands. A codec that is not
    /// known and need not be understood is passed over, with a warning (Zarr v3 core, "extension definition").
    pub fn build(
        input: ArrayRepresentation,
        codecs: &[CodecMetadata],
        completeness: Completeness,
        pointer: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Pipeline {
        let (passed_over, codecs): (Vec<_>, Vec<_>) =
            codecs.iter().map(Known::of).partition(|known| !known.codec.must_understand && known.kind().is_none());
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
                kind: known.kind(),
                configuration,
                output: output.clone(),
            });
            before = output;
        }
        Pipeline { input, stages }
    }

    /// The way of a chunk of another shape through the same codecs. Faults go to `diagnostics`.
    #[must_use]
    pub fn for_shape(&self, shape: &[u64], diagnostics: &mut Vec<Diagnostic>) -> Pipeline {
        let codecs: Vec<CodecMetadata> = self.stages.iter().map(|stage| stage.metadata.clone()).collect();
        let input = ArrayRepresentation { shape: shape.to_vec(), ..self.input.clone() };
        Pipeline::build(input, &codecs, Completeness::Partial, "/codecs", diagnostics)
    }

    /// The chunk after the last codec; `None` after a fault.
    pub fn output(&self) -> Option<Representation> {
        let input = || Some(Representation::Array(self.input.clone()));
        self.stages.last().map_or_else(input, |stage| stage.output.clone())
    }

    /// True if some codec stores a checksum of each chunk, or of what is inside it; that of a shard's index alone is
    /// none. What a codec that is not known stores is not known either: it counts as none.
    pub fn has_checksum(&self) -> bool {
        self.stages.iter().any(|stage| match &stage.configuration {
            BoundConfiguration::Sharding(sharding) => sharding.inner.has_checksum(),
            _ => registry::find(&stage.name)
                .and_then(|entry| entry.bytes)
                .is_some_and(|kind| (kind.stores_checksum)(stage.metadata.configuration.as_ref())),
        })
    }

    /// The `sharding_indexed` stage and its place, where there is one.
    pub fn sharding(&self) -> Option<(usize, &ShardingStage)> {
        self.stages.iter().enumerate().find_map(|(place, stage)| match &stage.configuration {
            BoundConfiguration::Sharding(sharding) => Some((place, sharding)),
            _ => None,
        })
    }

    /// Bytes of the index of a shard, where it has a fixed size and nothing compresses shards as a whole.
    pub fn shard_index_bytes(&self) -> Option<u64> {
        let (place, sharding) = self.sharding()?;
        let Some(Representation::Bytes(BytesSize::Fixed(bytes))) = sharding.index.output() else { return None };
        (place + 1 == self.stages.len()).then_some(bytes)
    }

    /// The shape of the innermost chunk, in the dimensions of the array that goes in.
    ///
    /// Permuted back through the transposes in front of each `sharding_indexed`.
    pub fn innermost_chunk_shape(&self) -> Vec<u64> {
        let Some((place, sharding)) = self.sharding() else { return self.input.shape.clone() };
        let mut shape = sharding.inner.innermost_chunk_shape();
        for stage in self.stages[..place].iter().rev() {
            if let Role::Transpose(order) = stage.configuration.role() {
                let encoded = shape.clone();
                encoded.iter().zip(order).for_each(|(length, dimension)| shape[*dimension] = *length);
            }
        }
        shape
    }
}

/// Zero or more array->array codecs, exactly one array->bytes, zero or more bytes->bytes (Zarr v3 core, "codecs").
fn check_order(codecs: &[Known<'_>], completeness: Completeness, pointer: &str, diagnostics: &mut Vec<Diagnostic>) {
    let kinds: Vec<_> = codecs.iter().map(Known::kind).collect();
    if kinds.contains(&None) {
        return; // What an unknown codec takes and gives is not known; it is reported by itself.
    }
    let mut is_bytes = false;
    for (Known { codec, .. }, kind) in codecs.iter().zip(&kinds) {
        let (takes_bytes, gives_bytes) = match kind {
            Some(CodecKind::ArrayToArray) | None => (false, false),
            Some(CodecKind::ArrayToBytes) => (false, true),
            Some(CodecKind::BytesToBytes) => (true, true),
        };
        if takes_bytes != is_bytes {
            let (found, wanted) = if is_bytes { ("bytes", "an array") } else { ("an array", "bytes") };
            let message = format!("codec `{}` takes {wanted}, but its input is {found}", codec.name);
            let help = "order the codecs: array->array, then one array->bytes (`bytes`), then bytes->bytes";
            let found = Diagnostic::new(code::CODEC_ORDER, message).with_help(help);
            diagnostics.push(found.at_pointer(codec.pointer.clone()));
            return;
        }
        is_bytes = gives_bytes;
    }
    // That there is no codec at all was said when the list was read.
    if !is_bytes && completeness == Completeness::ToBytes && !codecs.is_empty() {
        let help = "add an array->bytes codec: {\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
        let found = Diagnostic::new(code::CODEC_ORDER, "no codec turns the array into bytes").with_help(help);
        diagnostics.push(found.at_pointer(pointer));
    }
}

#[cfg(test)]
mod tests;
