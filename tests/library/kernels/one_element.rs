//! One element through every kernel: as a slice in each instruction set and alone. All results must agree.

use zarrcast::kernel::FaultKind;

use crate::kernels::reference::Kind;
use crate::kernels::reference::number::{Number, number};
use crate::kernels::subject::{CastCase, instruction_sets, pack, stored, unpack};

pub(crate) type Outcome = Result<u64, FaultKind>;

pub(crate) const FLOATS: [Kind; 3] = [Kind::F16, Kind::F32, Kind::F64];

/// Converts one element as a slice in every instruction set, and as one value. All must agree.
pub(crate) fn convert(case: &CastCase, bits: u64) -> Outcome {
    let one = case.kernel(instruction_sets()[0]).convert_one(stored(bits, case.source));
    for instruction_set in instruction_sets() {
        // Long enough for every vector width, with a remainder.
        let mut converted = vec![0; 67 * 8];
        let size = pack(&[0], case.target).len();
        let source = pack(&[bits; 67], case.source);
        let result = case.kernel(instruction_set).convert(&source, &mut converted[..67 * size]);
        let result = result.map(|()| unpack(&converted[..67 * size], case.target)).map_err(|fault| fault.kind);
        assert_eq!(result, one.map(|value| vec![value; 67]), "{case:?} on {instruction_set:?} of {bits:#x}");
    }
    one
}

/// Converts a float64 to an integer or float type.
pub(crate) fn convert_f64(case: &CastCase, value: f64) -> Outcome {
    convert(case, value.to_bits())
}

/// Returns a cast of float64 with the default rounding and range.
pub(crate) fn from_f64(target: Kind) -> CastCase {
    CastCase::new(Kind::F64, target)
}

/// Returns the bits of a special value: NaN, an infinity, a zero.
pub(crate) fn special(value: f64, kind: Kind) -> u64 {
    match kind {
        Kind::F16 => u64::from(half::f16::from_f64(value).to_bits()),
        Kind::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

pub(crate) fn is_nan(bits: u64, kind: Kind) -> bool {
    number(bits, kind) == Number::Nan
}
