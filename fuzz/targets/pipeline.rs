//! Pipelines: any chain of any array's document is followed, whatever is wrong with it, and bound, or refused. The input
//! is the document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zarrcast::codec::BoundChain;

fuzz_target!(|document: &[u8]| {
    let Some((pipeline, _)) = zarrcast_fuzz::pipeline(document) else { return };
    let _ = (pipeline.output(), pipeline.innermost_chunk_shape());
    if let Ok(chain) = BoundChain::bind(&pipeline) {
        let _ = (chain.max_encoded_bytes(), chain.max_representation_bytes(), chain.encoded());
    }
});
