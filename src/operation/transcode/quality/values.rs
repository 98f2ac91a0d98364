//! The elements of a side as float64.

use crate::array::StoredArray;
use crate::codec::conversion::push_change;
use crate::codec::fault::number_value;
use crate::codec::{ValueChange, ValueProgram, Workspace, element_bits};
use crate::element::{ElementType, NumberType};
use crate::kernel::quality::Widening;
use crate::kernel::quality::distribution::{MOST_VALUES, PossibleValues};
use crate::operation::transcode::Plan;
use crate::operation::{Quantization, QuantizeForm};

/// The conversion of a side's elements to numbers.
#[derive(Debug)]
pub(super) struct Values {
    /// From integers that are packed.
    decoding: Option<ValueProgram>,
    number_type: Option<NumberType>,
    widening: Widening,
}

/// Buffers of a thread.
#[derive(Debug, Default)]
pub(super) struct ValueBuffers {
    decoded: Vec<u8>,
    workspace: Workspace,
}

impl Values {
    /// The values of SOURCE, by the change that they undergo.
    pub(super) fn of_source(side: &StoredArray, change: &ValueChange) -> Self {
        let Some(unpack) = change.unpacking() else { return Self::of(side, None) };
        let mut decoding = ValueProgram::new(unpack.source().size());
        push_change(&mut decoding, &ValueChange::Unpack(Box::new(unpack.clone()), Box::default()));
        Values { decoding: Some(decoding), number_type: Some(unpack.target()), widening: Widening::default() }
    }

    /// The values of DEST, with or without a quantisation.
    pub(super) fn of(side: &StoredArray, quantization: Option<&Quantization>) -> Self {
        let packed = quantization.filter(|quantization| quantization.form != QuantizeForm::Codecs);
        Values {
            decoding: packed.map(Quantization::decoder),
            number_type: packed
                .map(|quantization| quantization.source)
                .or_else(|| side.chain.decoded().data_type.real_number()),
            widening: Widening::default(),
        }
    }

    /// Writes elements to `numbers`, replaced; NaN where they are none.
    pub(super) fn convert(&self, elements: &[u8], numbers: &mut Vec<f64>, buffers: &mut ValueBuffers) {
        let mut elements = elements;
        if let Some(decoding) = &self.decoding {
            let ValueBuffers { decoded, workspace } = buffers;
            if decoding.run(elements, decoded, &mut workspace.tiles, None).is_err() {
                // A code that no value has, as only damage makes it.
                numbers.clear();
                numbers.resize(elements.len() / decoding.sizes().0.max(1), f64::NAN);
                return;
            }
            elements = decoded;
        }
        let is_float32 = self.number_type.is_some_and(|own| own == NumberType::of(ElementType::Float32));
        if is_float32 {
            numbers.resize(elements.len() / size_of::<f32>(), 0.0);
            return self.widening.run(elements, numbers);
        }
        numbers.clear();
        let Some(number_type) = self.number_type else { return };
        match (number_type.small_float(), number_type.element()) {
            (None, ElementType::Float64) => {
                numbers.extend(elements.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)));
            }
            _ => numbers.extend(
                elements
                    .chunks_exact(number_type.size())
                    .map(|element| number_value(number_type, element_bits(element))),
            ),
        }
    }
}

/// The values that DEST may hold where it is quantised or rounded; `None` where they are more than [`MOST_VALUES`].
pub(super) fn possible_values(plan: &Plan) -> Option<PossibleValues> {
    if let Some(quantization) = &plan.quantization {
        return PossibleValues::of_codes(of_codes(quantization)?);
    }
    let rounding = plan.rounding.as_ref()?;
    PossibleValues::of_kept_bits(rounding.number_type.float_format()?, rounding.bits()?)
}

/// The values of all codes that numbers get; `None` where they are many, or one has none.
fn of_codes(quantization: &Quantization) -> Option<Vec<f64>> {
    let codes = quantization.codes.first..=quantization.codes.last;
    let count = usize::try_from(quantization.codes.last.checked_sub(quantization.codes.first)?).ok()?;
    if count >= MOST_VALUES {
        return None;
    }
    let size = quantization.target.size();
    let mut encoded = Vec::with_capacity((count + 1) * size);
    for code in codes {
        let bytes = code.to_ne_bytes();
        encoded.extend(if cfg!(target_endian = "little") { &bytes[..size] } else { &bytes[8 - size..] });
    }
    let (mut decoded, mut workspace) = (Vec::new(), Workspace::default());
    quantization.decoder().run(&encoded, &mut decoded, &mut workspace.tiles, None).ok()?;
    let values = Values { decoding: None, number_type: Some(quantization.source), widening: Widening::default() };
    let mut numbers = Vec::new();
    values.convert(&decoded, &mut numbers, &mut ValueBuffers::default());
    numbers.iter().all(|value| value.is_finite()).then_some(numbers)
}
