//! Prints Markdown tables of what the kernels do per second, in GB/s of bytes read and written.
//!
//! `cargo run --release --example kernel_table [avx512|avx2|baseline]`. The data exceed the cache; the first line is
//! what one core reads from memory, to compare with.

use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use zarrcast::element::{Element, ElementType, NumberType};
use zarrcast::kernel::cast::{Cast, CastOptions};
use zarrcast::kernel::quantize::{Quantize, QuantizeFigures, QuantizeOptions};
use zarrcast::kernel::scale_offset::ScaleOffset;
use zarrcast::kernel::statistics::ExtentScan;
use zarrcast::kernel::{InstructionSet, OutOfRange, Rounding};

/// Elements of every array: 64 MiB at 8 bytes.
const COUNT: usize = 1 << 23;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let instruction_set = match std::env::args().nth(1).as_deref() {
        Some("avx512") => InstructionSet::Avx512,
        Some("avx2") => InstructionSet::Avx2,
        Some("baseline") => InstructionSet::Baseline,
        _ => InstructionSet::detect(),
    };
    let mut out = std::io::stdout().lock();
    let numbers: Vec<u64> = (0..COUNT as u64).map(|index| index % 100).collect();
    let mut target = vec![0_u64; COUNT];
    let read = fastest(8 * COUNT, || {
        black_box(numbers.iter().fold(0, |sum, number| sum | number));
        Ok(())
    })?;
    writeln!(out, "{instruction_set:?}; memory is read at {read:.1} GB/s\n")?;
    write!(out, "| from \\ to |")?;
    for target in ElementType::ALL {
        write!(out, " {} |", NumberType::of(target))?;
    }
    writeln!(out, " scale_offset encode | decode | extent (read) |\n|{}", "---|".repeat(15))?;
    for element in ElementType::ALL {
        let source = of_numbers(&numbers, element)?;
        write!(out, "| {} |", NumberType::of(element))?;
        for speed in row(&source, element, &mut target, instruction_set)? {
            write!(out, " {speed:.1} |")?;
        }
        writeln!(out)?;
    }
    writeln!(out, "\nQuantisation with its error figures, GB/s read:\n")?;
    for element in [ElementType::Float16, ElementType::Float32, ElementType::Float64] {
        let source = of_numbers(&numbers, element)?;
        for target_element in [ElementType::UInt8, ElementType::Int16] {
            let speed = quantize(&source, element, target_element, (&mut target, instruction_set))?;
            writeln!(out, "- {element:?} to {target_element:?}: {speed:.1}")?;
        }
    }
    Ok(())
}

/// GB/s of the fastest of seven runs over `bytes`.
#[expect(clippy::cast_precision_loss, reason = "a figure of two digits")]
fn fastest(bytes: usize, mut run: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let mut seconds = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        run()?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    Ok(bytes as f64 / seconds / 1e9)
}

fn options(source: ElementType, target: ElementType) -> CastOptions {
    CastOptions {
        source: NumberType::of(source),
        target: NumberType::of(target),
        rounding: Rounding::NearestEven,
        out_of_range: OutOfRange::Error,
        scalar_map: Vec::new(),
    }
}

/// The numbers as elements, at the start of as many words.
fn of_numbers(numbers: &[u64], element: ElementType) -> Outcome<Vec<u64>> {
    let mut words = vec![0; numbers.len()];
    let cast = Cast::new(options(ElementType::UInt64, element));
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    cast.convert(bytemuck::cast_slice(numbers), &mut bytes[..COUNT * element.size()])
        .map_err(|fault| format!("{fault:?}"))?;
    Ok(words)
}

fn row(
    source: &[u64],
    element: ElementType,
    target: &mut [u64],
    instruction_set: InstructionSet,
) -> Outcome<Vec<f64>> {
    let source: &[u8] = &bytemuck::cast_slice(source)[..COUNT * element.size()];
    let target: &mut [u8] = bytemuck::cast_slice_mut(target);
    let mut speeds = Vec::new();
    for to in ElementType::ALL {
        let cast = Cast::with_instruction_set(options(element, to), instruction_set);
        let target = &mut target[..COUNT * to.size()];
        let bytes = source.len() + target.len();
        speeds.push(fastest(bytes, || {
            cast.convert(source, target).map_err(|fault| format!("{fault:?}").into())
        })?);
    }
    let number_type = NumberType::of(element);
    let one =
        Cast::new(options(ElementType::UInt8, element)).convert_one(1).map_err(|kind| format!("{kind:?}"))?;
    let scaled = ScaleOffset::with_instruction_set(number_type, Some(0), Some(one), instruction_set);
    let target = &mut target[..source.len()];
    let bytes = 2 * source.len();
    speeds
        .push(fastest(bytes, || scaled.encode(source, target).map_err(|fault| format!("{fault:?}").into()))?);
    speeds
        .push(fastest(bytes, || scaled.decode(source, target).map_err(|fault| format!("{fault:?}").into()))?);
    let scan = ExtentScan::with_instruction_set(number_type, &[], instruction_set);
    speeds.push(fastest(source.len(), || {
        let mut extent = scan.empty();
        scan.scan(source, &mut extent);
        black_box(extent);
        Ok(())
    })?);
    Ok(speeds)
}

fn quantize(
    source: &[u64],
    element: ElementType,
    target_element: ElementType,
    (target, instruction_set): (&mut [u64], InstructionSet),
) -> Outcome<f64> {
    let source: &[u8] = &bytemuck::cast_slice(source)[..COUNT * element.size()];
    let target: &mut [u8] = &mut bytemuck::cast_slice_mut(target)[..COUNT * target_element.size()];
    let float = Cast::new(options(ElementType::Float64, element));
    let bits = |value: f64| float.convert_one(value.to_bits64()).ok();
    let quantize = Quantize::with_instruction_set(
        QuantizeOptions {
            source: NumberType::of(element),
            target: NumberType::of(target_element),
            offset: bits(-1.5),
            scale: bits(1.21875),
            rounding: Rounding::NearestEven,
            out_of_range: OutOfRange::Error,
            codes: (1, 127),
            nan_code: Some(0),
            negative_zero_code: None,
            missing: Vec::new(),
        },
        instruction_set,
    );
    fastest(source.len(), || {
        let mut figures = QuantizeFigures::default();
        quantize.convert(source, target, &mut figures).map_err(|fault| format!("{fault:?}"))?;
        black_box(figures);
        Ok(())
    })
}
