//! Picks a cast's loop and computes its constants.

use half::f16;

use super::loops::{
    CastParameters, Copy, FloatToFloat, FloatToInteger, IntegerToFloat, IntegerToInteger, NumberToSmall,
    OfInteger, ToInteger, ToSmall, WidenBfloat16,
};
use super::{CastOptions, low_bits};
use crate::element::{Element, ElementType, FloatFormat, NumberType};
use crate::kernel::dispatch::TileKernel;
use crate::kernel::exact::Value;
use crate::kernel::integer::{CutTo, IntegerElement};
use crate::kernel::round::{FloatElement, NearestEven, RoundingMode, WideFloat, with_rounding};
use crate::kernel::small_float::SmallTarget;
use crate::kernel::{InstructionSet, OutOfRange, Rounding};
use crate::{with_element, with_float, with_integer};

/// A loop compiled for an instruction set; it tells whether its tile needs the exact path.
pub(super) type CastKernel = TileKernel<CastParameters, bool>;

/// The loop for the options; the scalar map is not its business, but for the NaN that `nan_bits` stands for.
pub(super) fn select(
    options: &CastOptions,
    nan_bits: Option<u64>,
    instruction_set: InstructionSet,
) -> (CastKernel, CastParameters) {
    if options.source == options.target && options.source.small_float().is_some() {
        return (TileKernel::select::<Copy>(instruction_set), CastParameters::default());
    }
    let element = wide_element(options.source);
    if let Some(format) = options.target.small_float().and(options.target.float_format()) {
        let CastOptions { target, rounding, out_of_range, .. } = *options;
        let parameters = CastParameters {
            is_checked: out_of_range != OutOfRange::Clamp,
            small: SmallTarget::new(format),
            ..integer_parameters(options)
        };
        let kernel = with_element!(
            element,
            S => with_rounding!(rounding, M => select_small::<S, M>(target.size(), instruction_set))
        );
        return (kernel, parameters);
    }
    with_float!(
        element,
        S => select_of_float::<S>(options, nan_bits, instruction_set),
        else with_integer!(
            element,
            S => select_of_integer::<S>(options, instruction_set),
            else (TileKernel::select::<Copy>(instruction_set), CastParameters::default())
        )
    )
}

/// The element that the loop starts from: `bfloat16` is made `float32`, as [`widening`] does.
const fn wide_element(source: NumberType) -> ElementType {
    if source.small_float().is_some() { ElementType::Float32 } else { source.element() }
}

/// What makes `float32` of `bfloat16`, the only small float of more than a byte; `None` for another source, and where
/// elements stay what they are.
pub(super) fn widening(options: &CastOptions, instruction_set: InstructionSet) -> Option<CastKernel> {
    let source = options.source.small_float().filter(|_| options.source != options.target);
    source.map(|_| TileKernel::select::<WidenBfloat16>(instruction_set))
}

fn select_small<S: ToSmall, M: RoundingMode>(target_size: usize, isa: InstructionSet) -> CastKernel {
    if target_size == 1 {
        TileKernel::select::<NumberToSmall<S, u8, M>>(isa)
    } else {
        TileKernel::select::<NumberToSmall<S, u16, M>>(isa)
    }
}

fn select_of_integer<S>(options: &CastOptions, isa: InstructionSet) -> (CastKernel, CastParameters)
where
    S: IntegerElement + CutTo<u8> + CutTo<u16> + CutTo<u32> + CutTo<u64>,
{
    let target = options.target.element();
    let parameters = integer_parameters(options);
    let kernel = match target {
        ElementType::Float16 => select_rounding::<S, f16>(options.rounding, S::BITS <= 8, isa),
        ElementType::Float32 => select_rounding::<S, f32>(options.rounding, S::BITS <= 16, isa),
        ElementType::Float64 => select_rounding::<S, f64>(options.rounding, S::BITS <= 32, isa),
        _ => match target.size() {
            1 => TileKernel::select::<IntegerToInteger<S, u8>>(isa),
            2 => TileKernel::select::<IntegerToInteger<S, u16>>(isa),
            4 => TileKernel::select::<IntegerToInteger<S, u32>>(isa),
            _ => TileKernel::select::<IntegerToInteger<S, u64>>(isa),
        },
    };
    (kernel, parameters)
}

/// Where every result is exact one loop serves every rounding.
fn select_rounding<S: IntegerElement, T: OfInteger>(
    rounding: Rounding,
    is_exact: bool,
    isa: InstructionSet,
) -> CastKernel {
    if is_exact {
        return TileKernel::select::<IntegerToFloat<S, T, NearestEven>>(isa);
    }
    with_rounding!(rounding, M => TileKernel::select::<IntegerToFloat<S, T, M>>(isa))
}

fn integer_parameters(options: &CastOptions) -> CastParameters {
    let CastOptions { source, target, out_of_range, .. } = *options;
    let own = source.integer_bounds().unwrap_or_default();
    let both = target.integer_bounds().map_or(own, |target| (own.0.max(target.0), own.1.min(target.1)));
    let whole = NumberType::of(source.element()).integer_bounds().unwrap_or_default();
    let (accepted, bounds) = match out_of_range {
        OutOfRange::Error => (both, both),
        OutOfRange::Clamp => (own, both),
        // Cutting wraps at the size of the element, which is that of a type without unused bits.
        OutOfRange::Wrap if target.is_whole() => (own, whole),
        OutOfRange::Wrap => (both, both),
    };
    let bits = |(least, greatest)| (low_bits(least, source), low_bits(greatest, source));
    CastParameters {
        accepted: bits(accepted),
        bounds: bits(bounds),
        is_checked: out_of_range != OutOfRange::Clamp,
        ..CastParameters::default()
    }
}

fn select_of_float<S>(
    options: &CastOptions,
    nan_bits: Option<u64>,
    isa: InstructionSet,
) -> (CastKernel, CastParameters)
where
    S: FloatElement<Wide: ToInteger> + SelectFloat,
{
    if options.target.is_float() {
        let is_checked = options.out_of_range != OutOfRange::Clamp;
        let parameters = CastParameters { is_checked, ..CastParameters::default() };
        let kernel =
            with_rounding!(options.rounding, M => S::select_float::<M>(options.target.element(), isa));
        return (kernel, parameters);
    }
    let kernel = with_rounding!(options.rounding, M => match options.target.element() {
        ElementType::Int8 | ElementType::UInt8 => TileKernel::select::<FloatToInteger<S, u8, M>>(isa),
        ElementType::Int16 | ElementType::UInt16 => TileKernel::select::<FloatToInteger<S, u16, M>>(isa),
        ElementType::Int32 => TileKernel::select::<FloatToInteger<S, i32, M>>(isa),
        ElementType::UInt32 => TileKernel::select::<FloatToInteger<S, u32, M>>(isa),
        ElementType::Int64 => TileKernel::select::<FloatToInteger<S, i64, M>>(isa),
        _ => TileKernel::select::<FloatToInteger<S, u64, M>>(isa),
    });
    (kernel, float_parameters::<S::Wide>(options, nan_bits))
}

fn float_parameters<W: WideFloat>(options: &CastOptions, nan_bits: Option<u64>) -> CastParameters {
    let CastOptions { target, out_of_range, .. } = *options;
    let format = FloatFormat::of(W::TYPE).unwrap_or(FloatFormat::BINARY64);
    // The float next to a bound inside the range: the bound itself, where the float type holds it.
    let inside = |integer| Value::from_integer(integer).to_float(format, Rounding::TowardsZero).unwrap_or(0);
    let bits = |(least, greatest)| (inside(least), inside(greatest));
    let range = target.integer_bounds().unwrap_or_default();
    let finite = (format.sign() | (format.infinity() - 1), format.infinity() - 1);
    let through = NumberType::of(ElementType::Int32).integer_bounds().unwrap_or_default();
    let (accepted, bounds) = match out_of_range {
        OutOfRange::Error => (bits(range), bits(range)),
        OutOfRange::Clamp => (finite, bits(range)),
        // Codes of 8 and 16 bits are the low bits of an i32: within it, cutting wraps.
        OutOfRange::Wrap if target.is_whole() && target.size() <= 2 => (bits(through), bits(through)),
        OutOfRange::Wrap => (bits(range), bits(range)),
    };
    CastParameters {
        accepted,
        bounds,
        greatest: low_bits(range.1, target),
        nan: nan_bits.or(format.canonical_nan()).unwrap_or_default(),
        is_checked: true,
        ..CastParameters::default()
    }
}

/// The loops of one float type to the others.
trait SelectFloat: Element {
    fn select_float<M: RoundingMode>(target: ElementType, isa: InstructionSet) -> CastKernel;
}

macro_rules! select_float {
    ($source:ty: $first:ty, $second:ty) => {
        impl SelectFloat for $source {
            fn select_float<M: RoundingMode>(target: ElementType, isa: InstructionSet) -> CastKernel {
                if target == <$first>::TYPE {
                    TileKernel::select::<FloatToFloat<$source, $first, M>>(isa)
                } else if target == <$second>::TYPE {
                    TileKernel::select::<FloatToFloat<$source, $second, M>>(isa)
                } else {
                    TileKernel::select::<Copy>(isa)
                }
            }
        }
    };
}

select_float!(f16: f32, f64);
select_float!(f32: f16, f64);
select_float!(f64: f16, f32);

/// The bits, in the float that a source is calculated in, of an integer that stands for NaN; `None` where inexact.
pub(super) fn nan_bits(target_bits: u64, options: &CastOptions) -> Option<u64> {
    let source = options.source;
    let wide = if source.element() == ElementType::Float64 { source.element() } else { ElementType::Float32 };
    let code = Value::of(target_bits, options.target);
    let bits = code.to_float(FloatFormat::of(wide)?, Rounding::NearestEven).ok()?;
    let back = Value::of(bits, NumberType::of(wide)).to_integer(Rounding::NearestEven)?;
    let integer = super::integer_of(target_bits, options.target.element());
    let (least, greatest) = options.target.integer_bounds()?;
    let is_exact = back.value == Some(integer) && (least..=greatest).contains(&integer);
    (is_exact && source.is_float()).then_some(bits)
}
