//! The kernels under test, called with the types of the reference.

use zarrcast::element::{ElementType, NumberType, SmallFloat};
use zarrcast::kernel::cast::{Cast, CastOptions};
use zarrcast::kernel::{self, ElementFault, FaultKind, InstructionSet};

use crate::kernels::reference::{self, Fault, Kind, OutOfRange, Rounding};

/// The eleven types of Zarr's core specification.
pub(crate) const CORE: [Kind; 11] = [
    Kind::int(8),
    Kind::int(16),
    Kind::int(32),
    Kind::int(64),
    Kind::uint(8),
    Kind::uint(16),
    Kind::uint(32),
    Kind::uint(64),
    Kind::F16,
    Kind::F32,
    Kind::F64,
];

/// Integers with fewer bits than their stored primitive.
pub(crate) const NARROW: [Kind; 10] = [
    Kind::int(2),
    Kind::int(4),
    Kind::int(12),
    Kind::int(24),
    Kind::int(63),
    Kind::uint(2),
    Kind::uint(4),
    Kind::uint(10),
    Kind::uint(24),
    Kind::uint(53),
];

/// The floats of the registry.
pub(crate) fn small_floats() -> impl Iterator<Item = Kind> + Clone {
    Kind::SMALL.into_iter().map(|(_, kind)| kind)
}

/// Returns the core types and the narrow ones.
pub(crate) fn all_kinds() -> impl Iterator<Item = Kind> + Clone {
    CORE.into_iter().chain(NARROW)
}

/// Returns the instruction sets of this machine, so that each is tested in turn.
pub(crate) fn instruction_sets() -> Vec<InstructionSet> {
    let widest = InstructionSet::detect();
    let all = [InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512];
    all.into_iter().filter(|instruction_set| *instruction_set <= widest).collect()
}

pub(crate) fn number_type(kind: Kind) -> NumberType {
    match kind {
        Kind::Int { signed, bits } => NumberType::integer(signed, bits).expect("an integer of 2 to 64 bits"),
        Kind::F16 => NumberType::of(ElementType::Float16),
        Kind::F32 => NumberType::of(ElementType::Float32),
        Kind::F64 => NumberType::of(ElementType::Float64),
        Kind::Float(_) => {
            let (name, _) = Kind::SMALL.iter().find(|(_, small)| *small == kind).expect("a float of the registry");
            NumberType::small(SmallFloat::from_name(name).expect("a small float"))
        }
    }
}

/// Returns the bits of an element in its primitive. A narrow signed integer is sign-extended.
pub(crate) fn stored(bits: u64, kind: Kind) -> u64 {
    match kind {
        Kind::Int { signed: true, bits: width } => {
            let extended = ((bits << (64 - width)).cast_signed() >> (64 - width)).cast_unsigned();
            extended & reference::number::mask(width.next_power_of_two().max(8))
        }
        _ => bits,
    }
}

/// Returns elements in native-endian bytes.
pub(crate) fn pack(elements: &[u64], kind: Kind) -> Vec<u8> {
    pack_stored(elements.iter().map(|bits| stored(*bits, kind)), kind)
}

/// Packs bits of the stored primitive, which may be outside a narrow type.
pub(crate) fn pack_stored(elements: impl Iterator<Item = u64>, kind: Kind) -> Vec<u8> {
    let mut bytes = Vec::new();
    match number_type(kind).size() {
        1 => elements.for_each(|bits| bytes.push(bits as u8)),
        2 => elements.for_each(|bits| bytes.extend_from_slice(&(bits as u16).to_ne_bytes())),
        4 => elements.for_each(|bits| bytes.extend_from_slice(&(bits as u32).to_ne_bytes())),
        _ => elements.for_each(|bits| bytes.extend_from_slice(&bits.to_ne_bytes())),
    }
    bytes
}

/// Returns the bits of the stored primitives.
pub(crate) fn unpack(bytes: &[u8], kind: Kind) -> Vec<u64> {
    let size = number_type(kind).size();
    let elements = bytes.chunks_exact(size);
    match size {
        1 => elements.map(|bytes| u64::from(bytes[0])).collect(),
        2 => elements.map(|bytes| u64::from(u16::from_ne_bytes([bytes[0], bytes[1]]))).collect(),
        4 => elements.map(|bytes| u64::from(u32::from_ne_bytes(bytes.try_into().unwrap()))).collect(),
        _ => elements.map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap())).collect(),
    }
}

pub(crate) fn fault_kind(fault: Fault) -> FaultKind {
    match fault {
        Fault::OutOfRange => FaultKind::OutOfRange,
        Fault::NotANumber => FaultKind::NotANumber,
        Fault::Infinite => FaultKind::Infinite,
        Fault::Inexact => FaultKind::Remainder,
        Fault::Overflow => FaultKind::Overflow,
        Fault::ZeroScale => unreachable!("a zero scale is refused before a kernel is bound"),
    }
}

pub(crate) fn kernel_rounding(rounding: Rounding) -> kernel::Rounding {
    match rounding {
        Rounding::NearestEven => kernel::Rounding::NearestEven,
        Rounding::TowardsZero => kernel::Rounding::TowardsZero,
        Rounding::TowardsPositive => kernel::Rounding::TowardsPositive,
        Rounding::TowardsNegative => kernel::Rounding::TowardsNegative,
        Rounding::NearestAway => kernel::Rounding::NearestAway,
    }
}

pub(crate) fn kernel_out_of_range(out_of_range: OutOfRange) -> kernel::OutOfRange {
    match out_of_range {
        OutOfRange::Error => kernel::OutOfRange::Error,
        OutOfRange::Clamp => kernel::OutOfRange::Clamp,
        OutOfRange::Wrap => kernel::OutOfRange::Wrap,
    }
}

/// One direction of a `cast_value`, for the reference and for the kernel.
#[derive(Clone, Debug)]
pub(crate) struct CastCase {
    pub(crate) source: Kind,
    pub(crate) target: Kind,
    pub(crate) rounding: Rounding,
    pub(crate) out_of_range: OutOfRange,
    pub(crate) scalar_map: Vec<(u64, u64)>,
}

impl CastCase {
    pub(crate) fn new(source: Kind, target: Kind) -> CastCase {
        let (rounding, out_of_range) = (Rounding::NearestEven, OutOfRange::Error);
        CastCase { source, target, rounding, out_of_range, scalar_map: Vec::new() }
    }

    pub(crate) fn rounding(self, rounding: Rounding) -> CastCase {
        CastCase { rounding, ..self }
    }

    pub(crate) fn out_of_range(self, out_of_range: OutOfRange) -> CastCase {
        CastCase { out_of_range, ..self }
    }

    pub(crate) fn scalar_map(self, scalar_map: &[(u64, u64)]) -> CastCase {
        CastCase { scalar_map: scalar_map.to_vec(), ..self }
    }

    /// Returns the case with every rounding and every `out_of_range`.
    pub(crate) fn variants(&self) -> impl Iterator<Item = CastCase> + '_ {
        let pairs =
            Rounding::ALL.into_iter().flat_map(|rounding| OutOfRange::ALL.map(|behaviour| (rounding, behaviour)));
        pairs.map(|(rounding, behaviour)| self.clone().rounding(rounding).out_of_range(behaviour))
    }

    fn options(&self) -> CastOptions {
        CastOptions {
            source: number_type(self.source),
            target: number_type(self.target),
            rounding: kernel_rounding(self.rounding),
            out_of_range: kernel_out_of_range(self.out_of_range),
            scalar_map: self
                .scalar_map
                .iter()
                .map(|(key, value)| (stored(*key, self.source), stored(*value, self.target)))
                .collect(),
        }
    }

    pub(crate) fn kernel(&self, instruction_set: InstructionSet) -> Cast {
        instruction_set.at_most(|| Cast::new(self.options()))
    }

    /// Returns the result of the reference in the kernel's types.
    pub(crate) fn expected(&self, bits: u64) -> Result<u64, FaultKind> {
        let CastCase { source, target, rounding, out_of_range, ref scalar_map } = *self;
        reference::cast(bits, source, target, rounding, out_of_range, scalar_map)
            .map(|converted| stored(converted, target))
            .map_err(fault_kind)
    }

    /// Panics unless every kernel returns the same as the reference for `elements`.
    pub(crate) fn check(&self, elements: &[u64]) {
        let expected: Vec<_> = elements.iter().map(|bits| self.expected(*bits)).collect();
        for instruction_set in instruction_sets() {
            let kernel = self.kernel(instruction_set);
            let convert = |source: &[u8], target: &mut [u8]| kernel.convert(source, target);
            let context = format!("{self:?} on {instruction_set:?}");
            check_slices(elements, self.source, &expected, self.target, convert, &context);
        }
        let kernel = self.kernel(InstructionSet::Baseline);
        for (bits, expected) in elements.iter().zip(&expected) {
            let actual = kernel.convert_one(stored(*bits, self.source));
            assert_eq!(actual, *expected, "{self:?} of {bits:#x} as one value");
        }
    }
}

/// Panics unless `convert` returns the expected result of each element. It checks all valid elements together and the
/// whole slice with its first fault. It also checks faulty elements among copies of themselves.
pub(crate) fn check_slices(
    elements: &[u64],
    source: Kind,
    expected: &[Result<u64, FaultKind>],
    target: Kind,
    convert: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault>,
    context: &str,
) {
    let (size, target_size) = (number_type(source).size(), number_type(target).size());
    let run = |bytes: &[u8]| {
        let mut converted = vec![0xa5; bytes.len() / size * target_size];
        convert(bytes, &mut converted).map(|()| converted)
    };
    let pairs = || elements.iter().zip(expected);
    let (good, values): (Vec<u64>, Vec<u64>) =
        pairs().filter_map(|(bits, expected)| expected.ok().map(|value| (*bits, value))).unzip();
    let converted = run(&pack(&good, source)).unwrap_or_else(|fault| {
        panic!("{context}: {fault:?} at {:#x}, which is no fault", good[fault.index]);
    });
    let converted = unpack(&converted, target);
    assert_eq!(converted.len(), values.len(), "{context}");
    for (position, (actual, expected)) in converted.iter().zip(&values).enumerate() {
        let bits = good[position];
        assert_eq!(actual, expected, "{context}: {bits:#x} became {actual:#x}, not {expected:#x} (at {position})");
    }
    let faults = || pairs().enumerate().filter_map(|(index, (bits, result))| Some((index, *bits, result.err()?)));
    if let Some((index, bits, kind)) = faults().next() {
        let fault = run(&pack(elements, source));
        assert_eq!(fault, Err(ElementFault { kind, index }), "{context}: the first fault is {bits:#x}");
    }
    let num_faults = faults().count();
    // Copies prevent that a lane hides a fault. Of very many faults a part is tried, of many a few among valid
    // elements.
    for (count, (index, bits, kind)) in faults().enumerate().step_by(num_faults / 4096 + 1) {
        let element = pack(&[bits], source);
        let fault = run(&element.repeat(67));
        assert_eq!(fault, Err(ElementFault { kind, index: 0 }), "{context}: {bits:#x} among copies");
        if !good.is_empty() && (num_faults < 50 || count % (num_faults / 50) < num_faults / 4096 + 1) {
            let mut mixed = pack(&[good[index % good.len()]], source).repeat(131);
            mixed[index % 131 * size..][..size].copy_from_slice(&element);
            let fault = run(&mixed);
            assert_eq!(fault, Err(ElementFault { kind, index: index % 131 }), "{context}: {bits:#x} among others");
        }
    }
}
