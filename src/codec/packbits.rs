//! stub
use crate::pipeline::configuration::BoundPackBits;
/// stub
#[derive(Debug, Clone)]
pub struct PackBits;
/// stub
#[derive(Debug, thiserror::Error)]
#[error("packbits is not built yet")]
pub struct PackBitsError;
impl PackBits {
    /// stub
    pub fn new(_: &BoundPackBits, _: u64) -> Self {
        PackBits
    }
    /// stub
    pub fn encode(&self, _: &[u8], _: &mut Vec<u8>) -> Result<(), PackBitsError> {
        Err(PackBitsError)
    }
    /// stub
    pub fn decode(&self, _: &[u8], _: &mut Vec<u8>) -> Result<(), PackBitsError> {
        Err(PackBitsError)
    }
}
