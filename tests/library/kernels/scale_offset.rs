//! `scale_offset` over slices compared with the reference, in every type and every instruction set.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use zarrcast::kernel::scale_offset::ScaleOffset;
use zarrcast::kernel::{FaultKind, InstructionSet};

use crate::kernels::reference::number::{Number, mask, number};
use crate::kernels::reference::{Fault, Kind, scale_offset_decode, scale_offset_encode};
use crate::kernels::strategies::{bits_of, landmarks_of};
use crate::kernels::subject::{CORE, all_kinds, check_slices, fault_kind, instruction_sets, number_type, stored};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Encode,
    Decode,
}

pub(crate) const DIRECTIONS: [Direction; 2] = [Direction::Encode, Direction::Decode];

#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaleOffsetCase {
    pub(crate) kind: Kind,
    pub(crate) offset: Option<u64>,
    pub(crate) scale: Option<u64>,
    pub(crate) direction: Direction,
}

impl ScaleOffsetCase {
    fn expected(self, bits: u64) -> Result<u64, Fault> {
        match self.direction {
            Direction::Encode => scale_offset_encode(bits, self.kind, self.offset, self.scale),
            Direction::Decode => scale_offset_decode(bits, self.kind, self.offset, self.scale),
        }
    }

    fn kernel(self, instruction_set: InstructionSet) -> ScaleOffset {
        let in_primitive = |bits: Option<u64>| bits.map(|bits| stored(bits, self.kind));
        let (offset, scale) = (in_primitive(self.offset), in_primitive(self.scale));
        instruction_set.at_most(|| ScaleOffset::new(number_type(self.kind), offset, scale))
    }

    fn one(self, kernel: &ScaleOffset, bits: u64) -> Result<u64, FaultKind> {
        match self.direction {
            Direction::Encode => kernel.encode_one(bits),
            Direction::Decode => kernel.decode_one(bits),
        }
    }

    /// Checks whether the result is a NaN. After any calculation the bits of a NaN depend on the machine.
    fn gives_nan(self, bits: u64) -> bool {
        self.expected(bits).is_ok_and(|value| number(value, self.kind) == Number::Nan)
    }

    /// Panics if any kernel differs from the reference.
    pub(crate) fn check(self, elements: &[u64]) {
        let is_free = |bits: &u64| (self.offset, self.scale) != (None, None) && self.gives_nan(*bits);
        let (nans, elements): (Vec<u64>, Vec<u64>) = elements.iter().copied().partition(is_free);
        let in_kernel_terms =
            |result: Result<u64, Fault>| result.map(|bits| stored(bits, self.kind)).map_err(fault_kind);
        let expected: Vec<_> = elements.iter().map(|bits| in_kernel_terms(self.expected(*bits))).collect();
        for instruction_set in instruction_sets() {
            let kernel = self.kernel(instruction_set);
            let convert = |source: &[u8], target: &mut [u8]| match self.direction {
                Direction::Encode => kernel.encode(source, target),
                Direction::Decode => kernel.decode(source, target),
            };
            let context = format!("{self:x?} on {instruction_set:?}");
            check_slices(&elements, self.kind, &expected, self.kind, convert, &context);
            if !nans.is_empty() {
                let source = crate::kernels::subject::pack(&nans, self.kind);
                let mut target = vec![0; source.len()];
                convert(&source, &mut target).unwrap_or_else(|fault| panic!("{context}: {fault:?} of {nans:x?}"));
                let converted = crate::kernels::subject::unpack(&target, self.kind);
                let is_nan = |bits: &u64| number(*bits, self.kind) == Number::Nan;
                assert!(converted.iter().all(is_nan), "{context}: {nans:x?} became {converted:x?}");
            }
        }
        let kernel = self.kernel(InstructionSet::Baseline);
        for (bits, expected) in elements.iter().zip(expected) {
            let actual = self.one(&kernel, stored(*bits, self.kind));
            assert_eq!(actual, expected, "{self:x?} of {bits:#x} as one value");
        }
        for bits in nans {
            let actual = self.one(&kernel, stored(bits, self.kind));
            let is_nan = actual.is_ok_and(|bits| number(bits, self.kind) == Number::Nan);
            assert!(is_nan, "{self:x?} of {bits:#x} as one value: {actual:x?}");
        }
    }
}

/// Offsets and scales of metadata: absent, small, any.
pub(crate) fn parameters(kind: Kind) -> BoxedStrategy<(Option<u64>, Option<u64>)> {
    let small = move || match kind {
        Kind::Int { .. } => (-3_i64..=7).prop_map(move |value| value.cast_unsigned() & mask(kind.width())).boxed(),
        Kind::Float(_) => {
            let bits = move |value: f64| {
                let nearest = crate::kernels::reference::Rounding::NearestEven;
                let clamp = crate::kernels::reference::OutOfRange::Clamp;
                crate::kernels::reference::cast(value.to_bits(), Kind::F64, kind, nearest, clamp, &[]).unwrap()
            };
            prop_oneof![
                (-100_i32..100).prop_map(move |tenths| bits(f64::from(tenths) / 10.0)),
                (-8_i32..8).prop_map(move |exponent| bits(2_f64.powi(exponent))),
            ]
            .boxed()
        }
    };
    let parameter = move || {
        prop_oneof![
            1 => Just(None),
            3 => small().prop_map(Some),
            2 => bits_of(kind).prop_map(Some),
        ]
    };
    // The metadata check refuses a zero scale.
    let scale = parameter().prop_map(move |scale| scale.filter(|bits| !is_zero(*bits, kind)));
    (parameter(), scale).boxed()
}

pub(crate) fn is_zero(bits: u64, kind: Kind) -> bool {
    matches!(number(bits, kind), Number::Finite(value) if value.is_zero())
}

#[test]
fn scale_offset_of_random_elements_equals_the_reference() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    for kind in all_kinds() {
        let elements = prop::collection::vec(bits_of(kind), 1..60);
        let property = |((offset, scale), elements): ((Option<u64>, Option<u64>), Vec<u64>)| {
            for direction in DIRECTIONS {
                ScaleOffsetCase { kind, offset, scale, direction }.check(&elements);
            }
            Ok(())
        };
        let mut runner = TestRunner::new(config.clone());
        runner.run(&(parameters(kind), elements), property).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn scale_offset_of_every_bound_and_its_neighbours_equals_the_reference() {
    for kind in CORE {
        let landmarks = landmarks_of(kind);
        let parameters: Vec<u64> = landmarks.iter().copied().step_by(landmarks.len() / 14 + 1).collect();
        for offset in parameters.iter().copied().map(Some).chain([None]) {
            for scale in parameters.iter().copied().filter(|bits| !is_zero(*bits, kind)).map(Some).chain([None]) {
                for direction in DIRECTIONS {
                    let elements: Vec<u64> = landmarks.iter().copied().step_by(landmarks.len() / 200 + 1).collect();
                    ScaleOffsetCase { kind, offset, scale, direction }.check(&elements);
                }
            }
        }
    }
}

#[test]
fn scale_offset_of_every_element_of_small_types_equals_the_reference() {
    for kind in [Kind::int(8), Kind::uint(8), Kind::int(4), Kind::uint(10), Kind::F16, Kind::int(16), Kind::uint(16)] {
        let elements: Vec<u64> = (0..=mask(kind.width())).collect();
        let parameters: Vec<u64> = match kind {
            Kind::F16 => vec![0x3c00, 0x2e66, 0xc900, 0x7bff, 0x0001, 0x5640],
            _ => [1, 2, 3, 7, mask(kind.width()), mask(kind.width()) >> 1].to_vec(),
        };
        for &offset in &parameters {
            for &scale in &parameters {
                for direction in DIRECTIONS {
                    let (offset, scale) = (Some(offset), Some(scale));
                    ScaleOffsetCase { kind, offset, scale, direction }.check(&elements);
                }
            }
        }
    }
}

#[test]
fn scale_offset_undoes_itself_where_nothing_is_rounded() {
    for kind in [Kind::int(8), Kind::int(32), Kind::uint(16), Kind::uint(64)] {
        let (offset, scale) = (Some(3), Some(5));
        for bits in 3..20 {
            let encoded =
                ScaleOffsetCase { kind, offset, scale, direction: Direction::Encode }.kernel(InstructionSet::detect());
            assert_eq!(encoded.decode_one(encoded.encode_one(bits).unwrap()), Ok(bits));
        }
    }
}
