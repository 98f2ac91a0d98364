//! Error figures of a quantisation over all data, with nothing written: for `--max-error`.

use super::quantization::Quantization;
use crate::array::fault::ChunkFault;
use crate::array::reader::{ReadBuffers, element_fault};
use crate::array::stored::StoredArray;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::kernel::quantize::QuantizeFigures;
use crate::kernel::unpack::Unpack;

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
struct Buffers {
    read: ReadBuffers,
    floats: Vec<u8>,
    codes: Vec<u8>,
}

/// The figures of all elements that are stored, once they are unpacked.
pub(in crate::operation) fn figures(
    side: &StoredArray,
    (unpack, quantization): (Option<&Unpack>, &Quantization),
    driver: &Driver,
    progress: &dyn Progress,
) -> Result<QuantizeFigures, ChunkFault> {
    let kernel = quantization.bind();
    let mut all = QuantizeFigures::default();
    let (source_size, target_size) = (quantization.source.size(), quantization.target.size());
    driver.run_ahead::<Buffers, QuantizeFigures>(
        &side.objects(),
        &[side],
        |buffers, index| {
            let mut figures = QuantizeFigures::default();
            let Buffers { read, floats, codes } = buffers;
            side.each(index, read, |subchunk, elements| {
                let Some(mut elements) = elements else { return Ok(()) };
                if let Some(unpack) = unpack {
                    floats.resize(elements.len() / unpack.source().size() * source_size, 0);
                    unpack.convert(elements, floats);
                    elements = floats;
                }
                codes.resize(elements.len() / source_size * target_size, 0);
                kernel.convert(elements, codes, &mut figures).map_err(|fault| {
                    element_fault(subchunk, fault, elements, quantization.source, quantization.target)
                })
            })?;
            progress.advance(side.chunk_bytes());
            Ok(figures)
        },
        |_, figures| all.merge(&figures),
    )?;
    Ok(all)
}
