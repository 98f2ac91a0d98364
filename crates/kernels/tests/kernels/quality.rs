//! Compared with slow sums, sorting, single windows, and the results of ldcpy 0.20 and scipy 1.17.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and codes are a few thousand, and float32 is intended"
)]

use half::f16;
use proptest::prelude::*;

use zarrcast_kernels::element::{ElementType, NumberType};
use zarrcast_kernels::kernel::InstructionSet;
use zarrcast_kernels::kernel::keep_bits::BitRound;
use zarrcast_kernels::kernel::quality::distribution::p_value;
use zarrcast_kernels::kernel::quality::distribution::{PairCounts, PossibleValues};
use zarrcast_kernels::kernel::quality::similarity::{Band, LevelRange, RADIUS, Similarity, SimilarityScan, WINDOW};
use zarrcast_kernels::kernel::quality::sums::{PairScan, PairSums};

const SETS: [InstructionSet; 3] = [InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512];

fn near(found: Option<f64>, expected: f64, tolerance: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() <= tolerance * expected.abs().max(1.0))
}

fn values() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let value = prop_oneof![
        8 => -50.0..300.0_f64,
        2 => (-4..5_i32).prop_map(f64::from),
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-0.0)],
    ];
    let error = prop_oneof![3 => -0.5..0.5_f64, 1 => Just(0.0)];
    prop::collection::vec((value, error).prop_map(|(x, error)| (x, x + error)), 0..5000)
}

/// Numbers without zeros and gaps, most with errors close to the limit of a large error.
fn plain_values() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let value = prop_oneof![Just(1.0..300.0_f64), Just(-300.0..-1.0_f64)].prop_flat_map(|range| range);
    let relative = prop_oneof![
        3 => -3e-4..3e-4_f64,
        1 => (-3..4_i32).prop_map(|ulps| 1e-4 * (1.0 + f64::from(ulps) * f64::EPSILON)),
    ];
    let pair = (value, relative).prop_map(|(x, relative)| (x, x + x * relative));
    let block = (prop::collection::vec(pair, 1024), 0..3072_usize).prop_map(|(mut pairs, place)| {
        match (place % 3, pairs.get_mut(place / 3)) {
            (0, Some(pair)) => pair.1 = -pair.1,
            (1, Some(pair)) => pair.1 = 0.0,
            _ => {}
        }
        pairs
    });
    prop::collection::vec(block, 1..4).prop_map(|blocks| blocks.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sums_are_those_of_two_walks(pairs in prop_oneof![values(), plain_values()], cut in 0..5000_usize) {
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let cut = cut.min(x.len());
        let used: Vec<(f64, f64)> =
            pairs.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        let count = used.len() as f64;
        let mean = |of: &dyn Fn(f64, f64) -> f64| used.iter().map(|(x, y)| of(*x, *y)).sum::<f64>() / count;
        for set in SETS {
            let scan = set.at_most(PairScan::default);
            let mut sums = scan.run(&x[..cut], &y[..cut]);
            sums.merge(&scan.run(&x[cut..], &y[cut..]));
            prop_assert_eq!(sums.points, used.len() as u64);
            if used.is_empty() {
                prop_assert_eq!((sums.bias(), sums.psnr(), sums.pearson()), (None, None, None));
                prop_assert_eq!(sums.zeros_kept_share(), None);
                continue;
            }
            let (mean_x, mean_y) = (mean(&|x, _| x), mean(&|_, y| y));
            prop_assert!(near(sums.bias(), mean_y - mean_x, 1e-12));
            let range = sums.source.1 - sums.source.0;
            if range > 0.0 {
                let psnr = 20.0 * (range / mean(&|x, y| (y - x) * (y - x)).sqrt()).log10();
                prop_assert!(sums.psnr() == Some(psnr) || near(sums.psnr(), psnr, 1e-11), "{psnr} {:?}", sums.psnr());
            }
            if let Some(found) = sums.pearson() {
                let variance_x = mean(&|x, _| (x - mean_x).powi(2));
                let variance_y = mean(&|_, y| (y - mean_y).powi(2));
                let covariance = mean(&|x, y| (x - mean_x) * (y - mean_y));
                let expected = covariance / (variance_x * variance_y).sqrt();
                prop_assert!((found - expected).abs() < 1e-10, "{found} {expected}");
            }
            let is_large = |x: f64, y: f64| (y - x).abs() / if x == 0.0 { 1.0 } else { x.abs() } > 1e-4;
            let counted = |of: &dyn Fn(f64, f64) -> bool| used.iter().filter(|(x, y)| of(*x, *y)).count() as u64;
            prop_assert_eq!(sums.large_errors, counted(&is_large));
            prop_assert_eq!(sums.zeros, counted(&|x, _| x == 0.0));
            prop_assert_eq!(sums.zeros_kept, counted(&|x, y| x == 0.0 && y == 0.0));
            let same = |x: f64, y: f64| x != 0.0 && y != 0.0 && x.is_sign_negative() == y.is_sign_negative();
            prop_assert_eq!(sums.signs_kept, counted(&same));
        }
    }

    #[test]
    fn distance_of_codes_is_that_of_sorted_values(
        pairs in values(),
        step in prop_oneof![Just(0.25), Just(-3.0), Just(1e-7), Just(1e-14)],
        origin in prop_oneof![Just(-100.0), Just(250.0)],
        count in prop_oneof![Just(1_u32), Just(2), Just(300), Just(2000)],
        is_float32 in any::<bool>(),
    ) {
        // In float32, and in the last bits of float64, the distances are unequal and several codes may have one value.
        let narrow = |value: f64| if is_float32 { f64::from(value as f32) } else { value };
        let codes: Vec<f64> = (0..count).map(|code| narrow(origin + f64::from(code) * step)).collect();
        let x: Vec<f64> = pairs.iter().map(|(x, _)| *x).collect();
        let quantized = |(place, x): (usize, &f64)| match place % 50 {
            // Some values are far from their original, or stay the same outside all codes.
            7 => codes[place % codes.len()],
            9 => *x,
            _ if x.is_finite() => codes[((x - origin) / step).round().clamp(0.0, f64::from(count - 1)) as usize],
            _ => f64::NAN,
        };
        let y: Vec<f64> = x.iter().enumerate().map(quantized).collect();
        let possible = PossibleValues::of_codes(codes.clone()).unwrap();
        prop_assert_eq!(distance(&possible, &x, &y), distance_by_sorting(&x, &y));
    }

    #[test]
    fn distance_of_kept_bits_is_that_of_sorted_values(
        patterns in prop::collection::vec(any::<u64>(), 0..3000),
        pairs in values(),
        bits in 0..=8_u32,
        element in prop_oneof![Just(ElementType::Float16), Just(ElementType::Float32), Just(ElementType::Float64)],
    ) {
        let number_type = NumberType::of(element);
        let codec = BitRound { size: number_type.size(), fraction_bits: number_type.fraction_bits(), keepbits: bits };
        let value = |bits: u64| match element {
            ElementType::Float16 => f16::from_bits(bits as u16).to_f64(),
            ElementType::Float32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        };
        let narrow = |x: f64| match element {
            ElementType::Float16 => u64::from(f16::from_f64(x).to_bits()),
            ElementType::Float32 => u64::from((x as f32).to_bits()),
            _ => x.to_bits(),
        };
        let near_one = pairs.iter().map(|(x, _)| narrow(*x));
        let source: Vec<u64> =
            patterns.iter().map(|bits| bits & (u64::MAX >> (64 - 8 * number_type.size()))).chain(near_one).collect();
        let x: Vec<f64> = source.iter().map(|bits| value(*bits)).collect();
        // A value that would become infinite stays unchanged.
        let rounded = |bits: &u64| Some(value(codec.encode_bits(*bits))).filter(|rounded| !rounded.is_infinite());
        let y: Vec<f64> = source.iter().map(|bits| rounded(bits).unwrap_or(value(*bits))).collect();
        let possible = PossibleValues::of_kept_bits(number_type.float_format().unwrap(), bits).unwrap();
        prop_assert_eq!(distance(&possible, &x, &y), distance_by_sorting(&x, &y));
    }

    #[test]
    fn values_are_rounded_as_a_division_has_it(
        (least, range) in (-300.0..300.0_f64, prop_oneof![0.1..500.0_f64, Just(1e-300), Just(255.0)]),
        places in prop::collection::vec((0..=1020_u32, 0.0..1.0_f64, 0..8_u32), 1..600),
    ) {
        let range = LevelRange { least, greatest: least + range };
        let width = range.greatest - range.least;
        // Many values are about equally near to two steps.
        let value = |(quarters, share, kind): &(u32, f64, u32)| match kind {
            0..=4 => least + width * (f64::from(*quarters) / 1020.0),
            5 => f64::NAN,
            _ => least + width * share,
        };
        let x: Vec<f64> = places.iter().map(value).collect();
        let y: Vec<f64> = places.iter().rev().map(value).collect();
        let divisor = if width > 0.0 { width } else { 1.0 };
        let expected: Vec<Option<[f64; 2]>> = x
            .iter()
            .zip(&y)
            .map(|(x, y)| {
                let steps = [x, y].map(|value| ((value - least) / divisor * 255.0).round_ties_even());
                (x.is_finite() && y.is_finite()).then_some(steps)
            })
            .collect();
        for set in SETS {
            let (scan, mut band) = (set.at_most(SimilarityScan::default), Band::default());
            band.begin(x.len());
            band.append(&scan, &x, &y, range);
            let found: Vec<Option<[f64; 2]>> = band.points().map(|point| point.map(|steps| steps.map(f64::from))).collect();
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn windows_are_those_that_are_looked_at_one_by_one(
        (rows, width) in (11..30_usize, 11..160_usize),
        seed in 0..1000_usize,
        steps in prop_oneof![Just(4.0), Just(64.0), Just(2048.0)],
        gaps in prop_oneof![Just(0), Just(3), Just(40)],
    ) {
        let x: Vec<f64> = synthetic(rows, width, seed)
            .into_iter()
            .enumerate()
            .map(|(place, value)| if gaps > 0 && (place * 7919) % 100 < gaps { f64::NAN } else { value })
            .collect();
        let y: Vec<f64> = x.iter().map(|value| (value * steps).round_ties_even() / steps).collect();
        let expected = similarity_by_windows(&x, &y, width);
        for set in SETS {
            let found = similarity(set, &x, &y, width);
            prop_assert_eq!(found.windows, expected.windows);
            prop_assert!((found.sum - expected.sum).abs() <= 1e-9 * (1.0 + expected.windows as f64));
        }
    }
}

/// Returns the distance of pairs that two threads counted.
fn distance(possible: &PossibleValues, x: &[f64], y: &[f64]) -> u64 {
    let middle = x.len() / 2;
    let (mut counts, mut other) = (PairCounts::default(), PairCounts::default());
    possible.count(&x[..middle], &y[..middle], &mut other);
    possible.count(&x[middle..], &y[middle..], &mut counts);
    counts.merge(&other);
    possible.distance(counts)
}

fn distance_by_sorting(x: &[f64], y: &[f64]) -> u64 {
    let used = || x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite());
    let mut x: Vec<f64> = used().map(|(x, _)| *x).collect();
    let mut y: Vec<f64> = used().map(|(_, y)| *y).collect();
    x.sort_by(f64::total_cmp);
    y.sort_by(f64::total_cmp);
    let up_to = |values: &[f64], at: f64| values.partition_point(|value| *value <= at) as u64;
    x.iter().chain(&y).map(|at| up_to(&x, *at).abs_diff(up_to(&y, *at))).max().unwrap_or(0)
}

#[test]
fn possible_values_are_at_most_a_million() {
    let format = |element| NumberType::of(element).float_format().unwrap();
    let is_few = |element, bits| PossibleValues::of_kept_bits(format(element), bits).is_some();
    assert_eq!([10, 11, 12].map(|bits| is_few(ElementType::Float32, bits)), [true, true, false]);
    assert_eq!([8, 9, 52].map(|bits| is_few(ElementType::Float64, bits)), [true, false, false]);
    assert!(is_few(ElementType::Float16, 10));
    let codes = |count: u32| (0..count).map(f64::from).collect();
    assert!(PossibleValues::of_codes(codes(1 << 20)).is_some());
    assert!(PossibleValues::of_codes(codes((1 << 20) + 1)).is_none());
}

#[test]
fn p_values_are_those_of_scipy() {
    // scipy 1.17.1: `ks_2samp` for equal numbers of values.
    let known = [
        (1, 1, 1.0),
        (2, 1, 1.0),
        (5, 2, 0.873_015_873_015_873),
        (7, 7, 0.000_582_750_582_750_582_8),
        (100, 9, 0.815_414_712_466_131_3),
        (100, 20, 0.036_384_287_874_917_33),
        (9999, 60, 0.993_765_702_056_104_6),
        (10_000, 120, 0.467_577_400_820_707_37),
        (10_000, 300, 0.000_246_597_496_816_978_65),
        (10_001, 1, 1.0),
        (10_001, 70, 0.965_673_295_282_313_6),
        (10_001, 120, 0.464_119_938_865_832_14),
        (10_001, 200, 0.036_168_384_295_212_075),
        (20_000, 90, 0.986_886_109_476_602_3),
        (123_457, 300, 0.858_397_432_519_848_5),
        (123_457, 500, 0.262_680_546_572_056_2),
        (5_000_000, 1500, 0.977_987_280_519_209_4),
        (5_000_000, 3000, 0.328_974_970_347_785_8),
        (5_000_000, 6000, 0.001_491_977_523_992_425),
        (67_108_864, 4000, 0.999_767_126_114_706),
        (67_108_864, 9000, 0.582_175_099_583_382_3),
        (67_108_864, 12_400, 0.202_055_386_420_561_53),
        (67_108_864, 300_000, 0.0),
    ];
    for (count, distance, expected) in known {
        let found = p_value(count, distance);
        // For more than a million values scipy omits terms of the one-sided formula that are computed here.
        let tolerance = if count > 2_000_000 { 1e-8 } else { 1e-9 };
        assert!((found - expected).abs() < tolerance, "{count} {distance}: {found} {expected}");
    }
    assert_eq!(p_value(0, 0), 1.0);
    assert_eq!(p_value(1 << 40, 0), 1.0);
}

fn similarity(set: InstructionSet, x: &[f64], y: &[f64], width: usize) -> Similarity {
    let (scan, mut band) = (set.at_most(SimilarityScan::default), Band::default());
    let joint = PairScan::default().run(x, y).joint_range();
    let range = LevelRange { least: joint.0, greatest: joint.1 };
    let mut all = Similarity::default();
    let rows = x.len() / width;
    // In bands of 13 windows, which share rows.
    for first in (0..rows - 2 * RADIUS).step_by(13) {
        let end = (first + 13 + 2 * RADIUS).min(rows);
        band.begin(width);
        band.append(&scan, &x[first * width..end * width], &y[first * width..end * width], range);
        all.merge(scan.run(&band));
    }
    all
}

/// SSIM by its definition, window by window.
fn similarity_by_windows(x: &[f64], y: &[f64], width: usize) -> Similarity {
    let used = || x.iter().chain(y).filter(|value| value.is_finite());
    let least = used().copied().fold(f64::INFINITY, f64::min);
    let greatest = used().copied().fold(f64::NEG_INFINITY, f64::max);
    let rounded = |value: f64| ((value - least) / (greatest - least) * 255.0).round_ties_even() / 255.0;
    let mut all = Similarity::default();
    for row in RADIUS..x.len() / width - RADIUS {
        for column in RADIUS..width - RADIUS {
            if !x[row * width + column].is_finite() {
                continue;
            }
            let (mut weights, mut means) = (0.0, [0.0; 5]);
            for place in 0..WINDOW * WINDOW {
                let (down, right) = (place / WINDOW, place % WINDOW);
                let at = (row + down - RADIUS) * width + column + right - RADIUS;
                if !x[at].is_finite() {
                    continue;
                }
                let (down, right) = (down as f64 - RADIUS as f64, right as f64 - RADIUS as f64);
                let weight = (-(down * down + right * right) / 4.5).exp();
                let (a, b) = (rounded(x[at]), rounded(y[at]));
                weights += weight;
                for (mean, value) in means.iter_mut().zip([a, b, a * a, b * b, a * b]) {
                    *mean += weight * value;
                }
            }
            let [a, b, aa, bb, ab] = means.map(|mean| mean / weights);
            let luminance = (2.0 * a * b + 1e-8) / (a * a + b * b + 1e-8);
            let structure = (2.0 * (ab - a * b) + 1e-8) / (aa - a * a + bb - b * b + 1e-8);
            all.merge(Similarity { sum: luminance * structure, windows: 1 });
        }
    }
    all
}

/// Returns a level from a formula with the same result in every language.
fn synthetic(rows: usize, width: usize, seed: usize) -> Vec<f64> {
    let value = |place: usize| {
        let (i, j) = (place / width, place % width);
        let rough = ((i * 37 + j * 101 + i * j * 13 + seed * 7) % 257) as f64 / 257.0;
        let down = i as f64 - rows as f64 / 2.0;
        let smooth = down * down / (rows * rows) as f64 + j as f64 / (2.0 * width as f64);
        smooth * 4.0 + rough * 0.5
    };
    (0..rows * width).map(value).collect()
}

#[test]
fn dssim_is_that_of_ldcpy() {
    let in_steps = |x: &[f64], steps: f64| -> Vec<f64> {
        x.iter().map(|value| (value * steps).round_ties_even() / steps).collect()
    };
    let without = |x: &[f64], is_gap: &dyn Fn(usize, usize) -> bool| -> Vec<f64> {
        let value = |(place, value): (usize, &f64)| if is_gap(place / 90, place % 90) { f64::NAN } else { *value };
        x.iter().enumerate().map(value).collect()
    };
    let x = synthetic(40, 90, 1);
    let with_gaps = without(&x, &|i, j| (i * j) % 11 == 3);
    let half = without(&x, &|_, j| j < 40);
    let least = synthetic(11, 11, 2);
    let mut flat = synthetic(30, 200, 3);
    (0..6000).filter(|place| (60..140).contains(&(place % 200))).for_each(|place| flat[place] = 2.5);
    let mut spotted = in_steps(&flat, 8.0);
    let is_spot = |place: &usize| (10..14).contains(&(place / 200)) && (70..120).contains(&(place % 200));
    (0..6000).filter(is_spot).for_each(|place| spotted[place] = 2.625);
    let constant = vec![3.0; 12 * 14];
    let shifted: Vec<f64> = x.iter().map(|value| value + 0.05).collect();
    // ldcpy 0.20, `ssim_value_fp_fast` of the same float64.
    let cases = [
        (in_steps(&x, 8.0), x.clone(), 90, 0.973_653_302_872_622_4),
        (in_steps(&x, 4096.0), x.clone(), 90, 0.999_980_672_829_873_9),
        (in_steps(&with_gaps, 16.0), with_gaps, 90, 0.992_762_796_338_143),
        (shifted, x, 90, 0.998_329_001_849_355_6),
        (in_steps(&half, 4.0), half, 90, 0.907_743_502_371_298_5),
        (in_steps(&least, 8.0), least, 11, 0.994_783_123_358_218_8),
        (spotted, flat, 200, 0.767_802_006_525_544_1),
        (constant.clone(), constant, 14, 1.0),
    ];
    for (y, x, width, expected) in cases {
        for set in SETS {
            let found = similarity(set, &x, &y, width).mean();
            assert!(near(found, expected, 1e-9), "{found:?} {expected}");
        }
    }
}

#[test]
fn constant_level_has_no_correlation_and_no_noise() {
    let sums = PairScan::default().run(&vec![273.15; 3000], &vec![273.15; 3000]);
    assert_eq!((sums.pearson(), sums.psnr(), sums.bias()), (None, None, Some(0.0)));
    assert_eq!((sums.zeros_kept_share(), sums.signs_kept_share()), (Some(1.0), Some(1.0)));
    let same = PairScan::default().run(&[1.0, 2.0], &[1.0, 2.0]);
    assert_eq!((same.pearson(), same.psnr()), (Some(1.0), Some(f64::INFINITY)));
    let none = PairSums::default();
    assert_eq!((none.bias(), none.signs_kept_share()), (None, None));
}
