//! Critical values: every limit of every type and its neighbours, ties, subnormal numbers, NaNs.

use half::f16;
use proptest::prelude::*;

use crate::kernels::reference::number::mask;
use crate::kernels::reference::{Float, Kind, Special};

/// Returns float64 values around every limit and tie of any type.
pub(crate) fn float64_landmarks() -> Vec<f64> {
    let mut values = vec![
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        0.499_999_999_999_999_94,
        4_503_599_627_370_496.5,
        4_503_599_627_370_497.0,
        9_007_199_254_740_993.0,
        1.000_488_281_250_000_4,
        65_504.0,
        65_519.999_97,
        65_520.0,
        65_536.0,
        f64::from(f32::MAX),
        // Half a unit and a whole unit above the greatest float32.
        340_282_356_779_733_661_637_539_395_458_142_568_448.0,
        340_282_366_920_938_463_463_374_607_431_768_211_456.0,
        1e39,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::from(f32::MIN_POSITIVE),
        f64::from(f32::from_bits(1)),
        f64::from(f32::from_bits(1)) / 2.0,
        f16::MIN_POSITIVE.to_f64(),
        f16::from_bits(1).to_f64(),
        f16::from_bits(1).to_f64() / 2.0,
        f64::INFINITY,
    ];
    for exponent in 1..=65 {
        let power = 2_f64.powi(exponent);
        values.extend([power - 1.0, power - 0.5, power, power + 0.5, power + 1.0, power * 1.5]);
        // One unit in the last place of float16 and float32 on either side, and the ties next to it.
        for significand_bits in [11, 12, 24, 25] {
            let unit = 2_f64.powi(exponent + 1 - significand_bits);
            values.extend([power - unit / 2.0, power + unit, power + unit / 2.0, power - unit]);
        }
    }
    values
        .iter()
        .flat_map(|value| [*value, value.next_up(), value.next_down()])
        .flat_map(|value| [value, -value])
        .collect()
}

/// Any float64. Landmarks and moderate values are more frequent than bit patterns.
pub(crate) fn float64() -> impl Strategy<Value = f64> + Clone {
    let quiet_and_signalling = prop_oneof![
        Just(0x7ff8_0000_0000_0000_u64),
        Just(0xfff8_0000_0000_0000),
        Just(0x7ff0_0000_0000_0001),
        Just(0xfff7_ffff_ffff_ffff),
        Just(0x7ffb_adc0_ffee_0001),
    ];
    prop_oneof![
        4 => proptest::sample::select(float64_landmarks()),
        3 => -1e6..1e6_f64,
        2 => (-600_i32..600).prop_map(|halves| f64::from(halves) / 2.0),
        2 => (any::<u64>(), -170_i32..170).prop_map(|(bits, exponent)| {
            let significand = f64::from_bits((bits >> 12) | 0x3ff0_0000_0000_0000);
            if bits & 1 == 0 { significand * 2_f64.powi(exponent) } else { -significand * 2_f64.powi(exponent) }
        }),
        2 => any::<u64>().prop_map(f64::from_bits),
        1 => quiet_and_signalling.prop_map(f64::from_bits),
    ]
}

/// Any finite float32.
pub(crate) fn finite_float32() -> impl Strategy<Value = f32> + Clone {
    float64().prop_map(|value| Some(value as f32).filter(|value| value.is_finite()).unwrap_or(f32::MAX))
}

/// The bits of any value of a type. Values near its own limits and the limits of other types are more frequent.
pub(crate) fn bits_of(kind: Kind) -> BoxedStrategy<u64> {
    let width = kind.width();
    match kind {
        Kind::Int { .. } => {
            // 2^k - 2 to 2^k + 2 and their negatives, including ties of the significands of floats.
            let near_powers = (0..=width, -3_i64..=3, any::<bool>()).prop_map(|(power, step, negative)| {
                let power = 1_u64.checked_shl(power).unwrap_or(0);
                let value = power.wrapping_add_signed(step);
                if negative { value.wrapping_neg() } else { value }
            });
            let near_ties = (any::<u64>(), 0..64_u32, -1_i64..=1)
                .prop_map(|(value, zeros, step)| ((value >> zeros) << zeros).wrapping_add_signed(step));
            let small = (-300_i64..300).prop_map(i64::cast_unsigned);
            prop_oneof![3 => near_powers, 2 => near_ties, 2 => small, 2 => any::<u64>()]
                .prop_map(move |bits| bits & mask(width))
                .boxed()
        }
        Kind::F64 => float64().prop_map(f64::to_bits).boxed(),
        Kind::F32 => prop_oneof![
            3 => float64().prop_map(|value| u64::from((value as f32).to_bits())),
            1 => any::<u32>().prop_map(u64::from),
        ]
        .boxed(),
        Kind::Float(_) => any::<u64>().prop_map(move |bits| bits & mask(width)).boxed(),
    }
}

/// Returns every element of a narrow type. For others: the limits of all types, their neighbours, and ties.
pub(crate) fn landmarks_of(kind: Kind) -> Vec<u64> {
    let width = kind.width();
    let mut landmarks: Vec<u64> = match kind {
        Kind::Int { bits, .. } => {
            let near_powers = (0..=bits).flat_map(|power| {
                let power = 1_u64.checked_shl(power).unwrap_or(0);
                // Ties and their neighbours for 11, 24 or 53 bits of significand.
                let units = [11, 24, 53].map(|significand_bits| power >> significand_bits);
                let steps = units.into_iter().flat_map(|unit| [unit, unit / 2, unit + unit / 2, 3 * unit + unit / 2]);
                steps.chain(0..4).flat_map(move |step| {
                    let near = power.wrapping_add(step);
                    [near.wrapping_sub(1), near, near.wrapping_add(1), power.wrapping_sub(step)]
                })
            });
            let decimal = [65_504, 65_519, 65_520, 65_535, 65_536, 2_147_483_583, 2_147_483_584];
            near_powers.chain(decimal).flat_map(|bits| [bits, bits.wrapping_neg()]).collect()
        }
        Kind::F64 => float64_landmarks().into_iter().map(f64::to_bits).collect(),
        Kind::F32 => float64_landmarks()
            .into_iter()
            .map(|value| value as f32)
            .flat_map(|value| [value, value.next_up(), value.next_down()])
            .map(|value| u64::from(value.to_bits()))
            .collect(),
        Kind::Float(_) => (0..=mask(width)).step_by(7).collect(),
    };
    if let Kind::Float(Float { exponent_bits, mantissa_bits, special: Special::Ieee, .. }) = kind {
        let sign = 1 << (exponent_bits + mantissa_bits);
        let infinity = mask(exponent_bits) << mantissa_bits;
        let quiet = infinity | 1 << (mantissa_bits - 1);
        let specials = [0, infinity, infinity | 1, quiet, quiet | 1, quiet | mask(mantissa_bits)];
        landmarks.extend(specials.into_iter().flat_map(|bits| [bits, bits | sign]));
    }
    for bits in &mut landmarks {
        *bits &= mask(width);
    }
    landmarks.sort_unstable();
    landmarks.dedup();
    landmarks
}
