//! Pipelines: any chain of any array's document is followed and bound, or refused. The input is the document.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &[u8]| {
    if let Some(chain) = zarrcast_fuzz::chain(document) {
        let _ = (chain.max_encoded_bytes(), chain.max_representation_bytes(), chain.encoded());
    }
});
