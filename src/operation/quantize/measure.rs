//! Error figures of a quantisation over all data, with nothing written: for `--max-error`.

use super::quantization::Quantization;
use crate::array::fault::ChunkFault;
use crate::array::reader::{ReadBuffers, element_fault};
use crate::array::stored::StoredArray;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::kernel::quantize::QuantizeFigures;

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
struct Buffers {
    read: ReadBuffers,
    codes: Vec<u8>,
}

/// The figures of all elements that are stored.
pub(in crate::operation) fn figures(
    side: &StoredArray,
    quantization: &Quantization,
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
            let Buffers { read, codes } = buffers;
            side.each(index, read, |subchunk, elements| {
                let Some(elements) = elements else { return Ok(()) };
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
