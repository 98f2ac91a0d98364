//! Benchmarks of the kernels: every cast, the fused quantisation compared with a memory read, and `zarr-cast-value`
//! compared with ours.
//!
//! The data exceed the cache. Throughput is in bytes read and written, for the quantisation in bytes read.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run fails")]
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use zarr_cast_value::{
    CastFloat, CastInt, CastInto, FloatToIntConfig, IntToFloatConfig, OutOfRangeMode, RoundingMode,
    convert_slice_float_to_int, convert_slice_int_to_float,
};
use zarrcast::element::{Element, ElementType, NumberType};
use zarrcast::kernel::cast::{Cast, CastOptions};
use zarrcast::kernel::differences::Differences;
use zarrcast::kernel::quantize::{Quantize, QuantizeFigures, QuantizeOptions};
use zarrcast::kernel::{OutOfRange, Rounding};

/// The number of elements of every array.
const COUNT: usize = 1 << 24;

fn cast(source: ElementType, target: ElementType, out_of_range: OutOfRange) -> Cast {
    Cast::new(CastOptions {
        source: NumberType::of(source),
        target: NumberType::of(target),
        rounding: Rounding::NearestEven,
        out_of_range,
        scalar_map: Vec::new(),
    })
}

/// Returns the numbers from 0 to 99 as elements.
fn numbers<T: Element>() -> Vec<T> {
    let numbers: Vec<u8> = (0..100).cycle().take(COUNT).collect();
    let mut elements: Vec<T> = vec![T::from_bits64(0); COUNT];
    cast(ElementType::UInt8, T::TYPE, OutOfRange::Error)
        .convert(&numbers, bytemuck::cast_slice_mut(&mut elements))
        .expect("every type holds them");
    elements
}

fn every_pair(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cast");
    group.sample_size(10);
    for source in ElementType::ALL {
        for target in ElementType::ALL {
            zarrcast::with_element!(source, S => zarrcast::with_element!(target, T => pair::<S, T>(&mut group, OutOfRange::Error)));
        }
    }
}

fn pair<S: Element, T: Element>(group: &mut BenchmarkGroup<WallTime>, out_of_range: OutOfRange) {
    let source = numbers::<S>();
    let mut target: Vec<T> = vec![T::from_bits64(0); COUNT];
    let cast = cast(S::TYPE, T::TYPE, out_of_range);
    group.throughput(Throughput::Bytes((COUNT * (size_of::<S>() + size_of::<T>())) as u64));
    group.bench_function(format!("{:?} to {:?}", S::TYPE, T::TYPE), |bencher| {
        bencher.iter(|| cast.convert(bytemuck::cast_slice(&source), bytemuck::cast_slice_mut(&mut target)));
    });
}

/// Returns values from 0 to 100 like measurements. A few repeated values would have errors that all tie.
fn measurements() -> Vec<f32> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from_bits(0x3f80_0000 | (state >> 9)).mul_add(100.0, -100.0)
    };
    (0..COUNT).map(|_| next()).collect()
}

fn fused(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("quantize");
    group.sample_size(10).throughput(Throughput::Bytes(4 * COUNT as u64));
    let source = measurements();
    group.bench_function("memory read", |bencher| {
        let words: &[u64] = bytemuck::cast_slice(&source);
        bencher.iter(|| black_box(words.iter().fold(0, |sum, word| sum | word)));
    });
    let quantize = Quantize::new(QuantizeOptions {
        source: NumberType::of(ElementType::Float32),
        target: NumberType::of(ElementType::UInt8),
        offset: Some((-1.5_f32).to_bits64()),
        scale: Some(2.43_f32.to_bits64()),
        rounding: Rounding::NearestEven,
        out_of_range: OutOfRange::Error,
        codes: (1, 255),
        nan_code: Some(0),
        negative_zero_code: None,
        missing: Vec::new(),
        cf: None,
    });
    let mut target = vec![0_u8; COUNT];
    group.bench_function("float32 to uint8, with its figures", |bencher| {
        bencher.iter(|| {
            let mut figures = QuantizeFigures::default();
            quantize.convert(bytemuck::cast_slice(&source), &mut target, &mut figures).expect("all in range");
            figures
        });
    });
}

/// Differences along each dimension of a chunk that fits in the second-level cache, encoded and decoded.
fn differences(criterion: &mut Criterion) {
    const SHAPE: [usize; 3] = [16, 128, 256];
    let mut group = criterion.benchmark_group("differences");
    for (along, order) in [("first", [1, 2, 0]), ("middle", [0, 2, 1]), ("last", [0, 1, 2])] {
        let differences = Differences::new(&SHAPE, &order);
        for size in [1, 2, 4] {
            let mut bytes = vec![7; SHAPE.iter().product::<usize>() * size];
            let mut spare = vec![0; differences.num_rows() * size];
            group.throughput(Throughput::Bytes(bytes.len() as u64));
            group.bench_function(format!("{size} bytes along the {along}"), |bencher| {
                bencher.iter(|| differences.encode(size, &mut bytes, &mut spare));
            });
            group.bench_function(format!("{size} bytes along the {along}, back"), |bencher| {
                bencher.iter(|| differences.decode(size, &mut bytes, &mut spare));
            });
        }
    }
}

fn beside_zarr_cast_value(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("beside zarr-cast-value");
    group.sample_size(10);
    both_ways::<f32, u8>(&mut group);
    both_ways::<f32, i16>(&mut group);
    both_ways::<f32, u16>(&mut group);
    both_ways::<f64, u8>(&mut group);
    both_ways::<f64, i16>(&mut group);
    both_ways::<f64, u16>(&mut group);
}

fn both_ways<F, I>(group: &mut BenchmarkGroup<WallTime>)
where
    F: Element + CastFloat + CastInto<I>,
    I: Element + CastInt + CastInto<F>,
{
    // `zarr-cast-value` has a vectorised loop for clamping.
    pair::<F, I>(group, OutOfRange::Clamp);
    pair::<I, F>(group, OutOfRange::Clamp);
    let (floats, integers) = (numbers::<F>(), numbers::<I>());
    let (mut to_integers, mut to_floats) = (integers.clone(), floats.clone());
    group.bench_function(format!("zarr-cast-value {:?} to {:?}", F::TYPE, I::TYPE), |bencher| {
        let config = FloatToIntConfig {
            map_entries: Vec::new(),
            rounding: RoundingMode::NearestEven,
            out_of_range: Some(OutOfRangeMode::Clamp),
        };
        bencher.iter(|| convert_slice_float_to_int(&floats, &mut to_integers, &config));
    });
    group.bench_function(format!("zarr-cast-value {:?} to {:?}", I::TYPE, F::TYPE), |bencher| {
        let config = IntToFloatConfig {
            map_entries: Vec::new(),
            rounding: RoundingMode::NearestEven,
            out_of_range: Some(OutOfRangeMode::Clamp),
        };
        bencher.iter(|| convert_slice_int_to_float(&integers, &mut to_floats, &config));
    });
}

criterion_group!(kernels, fused, differences, beside_zarr_cast_value, every_pair);
criterion_main!(kernels);
