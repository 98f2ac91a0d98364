//! stub
use crate::metadata::json::Object;
/// stub
#[derive(Debug, Default)]
pub struct Contexts;
/// stub
#[derive(Debug, Clone, Copy)]
pub enum DecodedSize {
    /// stub
    Exact(u64),
    /// stub
    AtMost(u64),
}
/// stub
#[derive(Debug, Clone)]
pub enum BytesCodec {
    /// stub
    Zstd(i32),
    /// stub
    Crc,
}
/// stub
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BytesCodecError(String);
impl BytesCodec {
    /// stub
    pub fn new(name: &str, _c: Option<&Object>) -> Result<Self, BytesCodecError> {
        match name {
            "zstd" => Ok(Self::Zstd(1)),
            "crc32c" => Ok(Self::Crc),
            _ => Err(BytesCodecError(format!("{name} not built"))),
        }
    }
    /// stub
    pub fn encode(&self, d: &[u8], e: &mut Vec<u8>, _: &mut Contexts) -> Result<(), BytesCodecError> {
        match self {
            Self::Zstd(l) => {
                *e = zstd::bulk::compress(d, *l).map_err(|e| BytesCodecError(e.to_string()))?;
            }
            Self::Crc => {
                e.clear();
                e.extend_from_slice(d);
                e.extend_from_slice(&crc32c::crc32c(d).to_le_bytes());
            }
        }
        Ok(())
    }
    /// stub
    pub fn decode(
        &self,
        e: &[u8],
        d: &mut Vec<u8>,
        s: DecodedSize,
        _: &mut Contexts,
    ) -> Result<(), BytesCodecError> {
        let n = match s {
            DecodedSize::Exact(n) | DecodedSize::AtMost(n) => n,
        };
        match self {
            Self::Zstd(_) => {
                *d = zstd::bulk::decompress(e, n as usize).map_err(|e| BytesCodecError(e.to_string()))?;
            }
            Self::Crc => {
                d.clear();
                d.extend_from_slice(&e[..e.len() - 4]);
            }
        }
        Ok(())
    }
}
