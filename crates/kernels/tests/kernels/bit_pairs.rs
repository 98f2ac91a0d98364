use zarrcast_kernels::element::{ElementType, NumberType};
use zarrcast_kernels::kernel::InstructionSet;
use zarrcast_kernels::kernel::bit_pairs::*;

/// Pseudorandom numbers, equal in each run.
fn noise(count: usize, mut state: u64) -> Vec<u64> {
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state ^ (state >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Counts the pairs along a dimension, one by one and bit by bit.
fn slow(elements: &[Option<u64>], shape: &[usize], dimension: usize) -> BitPairs {
    let inner: usize = shape[dimension + 1..].iter().product();
    let mut pairs = BitPairs::default();
    for (index, element) in elements.iter().enumerate() {
        if index / inner % shape[dimension] + 1 == shape[dimension] {
            continue;
        }
        let (Some(first), Some(second)) = (element, elements[index + inner]) else { continue };
        pairs.pairs += 1;
        for position in 0..POSITIONS {
            let (one, other) = (first >> position & 1, second >> position & 1);
            pairs.first[position] += one;
            pairs.second[position] += other;
            pairs.both[position] += one & other;
        }
    }
    pairs
}

fn block(elements: &[Option<u64>], size: usize) -> Block {
    let mut block = Block::default();
    for element in elements {
        block.patterns.extend_from_slice(&element.unwrap_or(0).to_ne_bytes()[..size]);
        block.valid.extend(vec![if element.is_some() { u8::MAX } else { 0 }; size]);
    }
    block.has_missing = elements.contains(&None);
    block
}

#[test]
#[cfg(target_endian = "little")]
fn pairs_are_counted_as_one_by_one() {
    for (size, shape) in [
        (1, vec![5, 7, 301]),
        (2, vec![3, 1000, 9]),
        (4, vec![2, 3, 4, 5]),
        (4, vec![70, 131]),
        (8, vec![11, 13, 17]),
        (8, vec![1, 5000]),
        (4, vec![20_000]),
    ] {
        let count: usize = shape.iter().product();
        let mask = u64::MAX >> (64 - 8 * size);
        let values = noise(count, size as u64);
        for missing_in in [0, 7, 1] {
            let element = |(index, value): (usize, &u64)| {
                let is_missing = missing_in > 0 && (value >> 7) % missing_in == 0 && index % 3 > 0;
                (!is_missing).then_some(value & mask & (value >> 9))
            };
            let elements: Vec<Option<u64>> = values.iter().enumerate().map(element).collect();
            let block = block(&elements, size);
            for set in [InstructionSet::Baseline, InstructionSet::detect()] {
                let mut counter = set.at_most(|| PairCounter::new(size));
                let ones = counter.ones(&block);
                for dimension in 0..shape.len() {
                    let mut pairs = BitPairs::default();
                    counter.add_inside(&block, &ones, BlockAxis::new(&shape, dimension, size), &mut pairs);
                    assert_eq!(pairs, slow(&elements, &shape, dimension), "{size} {shape:?} {dimension}");
                }
            }
        }
    }
}

#[test]
#[cfg(target_endian = "little")]
fn two_halves_and_what_is_between_are_the_whole() {
    let shape = [6, 10, 8];
    let elements: Vec<Option<u64>> =
        noise(480, 3).into_iter().map(|value| (value % 11 > 0).then_some(value >> 32)).collect();
    let whole = block(&elements, 4);
    let mut counter = PairCounter::new(4);
    let axis = BlockAxis::new(&shape, 0, 4);
    let half_axis = BlockAxis::new(&[3, 10, 8], 0, 4);
    let halves = [&elements[..240], &elements[240..]].map(|half| block(half, 4));
    let mut pairs = BitPairs::default();
    for half in &halves {
        let ones = counter.ones(half);
        counter.add_inside(half, &ones, half_axis, &mut pairs);
    }
    counter.add_between(&halves[0].face(half_axis, 2), &halves[1].face(half_axis, 0), &mut pairs);
    assert_eq!(pairs, slow(&elements, &shape, 0));
    assert_eq!(whole.face(axis, 2).patterns, halves[0].face(half_axis, 2).patterns);
}

#[test]
fn constant_pairs_are_pairs_of_one_pattern() {
    let mut pairs = BitPairs::default();
    pairs.add_constant(0b101, 9);
    let expected = slow(&[Some(0b101); 10], &[10], 0);
    assert_eq!(pairs, expected);
    assert!(pairs.information(8).by_position.iter().all(|found| *found == 0.0));
    assert_eq!(pairs.information(8).kept(0.99), None);
}

#[test]
fn exponents_are_looked_at_as_sign_and_magnitude() {
    let float32 = BitPatterns::new(NumberType::of(ElementType::Float32), &[]);
    // For 0.03125, 2^-5: as in the documentation of xbitinfo's `signed_exponent`.
    assert_eq!(float32.pattern(u64::from(0.03125_f32.to_bits())), Some(133 << 23));
    assert_eq!(float32.pattern(u64::from(2.0_f32.to_bits())), Some(1 << 23));
    assert_eq!(float32.pattern(u64::from((-1.5_f32).to_bits())), Some(1 << 31 | 1 << 22));
    assert_eq!(float32.pattern(u64::from(f32::NAN.to_bits())), None);
    assert_eq!(float32.pattern(0), Some(1 << 30 | 127 << 23));
    let float64 = BitPatterns::new(NumberType::of(ElementType::Float64), &[7.0_f64.to_bits()]);
    assert_eq!(float64.pattern(0.03125_f64.to_bits()), Some(1029 << 52));
    assert_eq!(float64.pattern(7.0_f64.to_bits()), None);
    let float16 = BitPatterns::new(NumberType::of(ElementType::Float16), &[]);
    assert_eq!(float16.pattern(u64::from(half::f16::from_f32(0.5).to_bits())), Some(17 << 10));
    let integers = BitPatterns::new(NumberType::of(ElementType::Int8), &[3]);
    assert_eq!(integers.pattern(0xff), Some(0xff));
    assert_eq!(integers.pattern(3), None);
}

#[test]
fn information_is_that_of_the_joint_shares() {
    // A bit that always equals its neighbour's bit and is set half of the time: 1 bit. A random one: 0.
    let pairs = BitPairs {
        pairs: 1000,
        first: with(&[(0, 500), (1, 500), (2, 250)]),
        second: with(&[(0, 500), (1, 500), (2, 250)]),
        both: with(&[(0, 500), (1, 250), (2, 125)]),
    };
    let information = pairs.information(8);
    assert_eq!(information.by_position.len(), 8);
    assert!((information.by_position[7] - 1.0).abs() < 1e-15);
    assert!(information.by_position[6].abs() < 1e-15);
    // Shares: both 0.125, only one 0.125 each, neither 0.625. Each bit alone: 0.25.
    let expected = 0.125 * (0.125_f64 / 0.0625).log2()
        + 2.0 * 0.125 * (0.125_f64 / 0.1875).log2()
        + 0.625 * (0.625_f64 / 0.5625).log2();
    assert!((information.by_position[5] - expected).abs() < 1e-15);
    // 0.5 + 2.5758 / (2 sqrt(1000)) has the entropy 0.99521...
    assert!((information.insignificant - 0.004_791_372_8).abs() < 1e-9, "{}", information.insignificant);
}

#[test]
fn kept_bits_are_the_first_that_pass_the_share() {
    let of =
        |by_position: &[f64]| Information { pairs: 1 << 40, by_position: by_position.to_vec(), insignificant: 1e-6 };
    let information = of(&[0.5, 0.4, 0.09, 0.009, 0.001, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(information.kept(0.95), Some(3));
    assert_eq!(information.kept(0.999), Some(5));
    assert_eq!(information.kept(0.998), Some(4));
    // Up to 1.5 times the maximum of the last four is not counted.
    let information = of(&[0.5, 0.02, 0.01, 0.01, 0.01, 0.014]);
    assert_eq!(information.real(), [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(of(&[0.0; 8]).kept(0.99), None);
}

fn with(counts: &[(usize, u64)]) -> Ones {
    let mut ones = [0; POSITIONS];
    for (position, count) in counts {
        ones[*position] = *count;
    }
    ones
}

#[test]
fn bits_have_the_names_of_their_parts() {
    let names = bit_names(NumberType::of(ElementType::Float32));
    assert_eq!((names.len(), names[0].as_str(), names[1].as_str()), (32, "sign", "e1"));
    assert_eq!((names[8].as_str(), names[9].as_str(), names[31].as_str()), ("e8", "m1", "m23"));
    assert_eq!(bit_names(NumberType::of(ElementType::UInt8))[0], "m1");
    assert_eq!(bit_names(NumberType::of(ElementType::Int16))[15], "m15");
}
