//! One loop, compiled for each instruction set, selected once.
//!
//! A [`BlockLoop`] is plain generic Rust. It is inlined into a function for each set of CPU features, for which the
//! compiler vectorises it. A kernel stores a pointer to one of those functions.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use super::{FaultKind, InstructionSet};
use crate::element::{Element, with_bits};

/// A loop over slices of elements.
pub(crate) trait BlockLoop {
    /// The slices, including those that are written to.
    type Work<'a>;
    /// The figures of the elements.
    type Outcome;

    /// Runs the loop.
    ///
    /// `ROUNDS` is true if the CPU has instructions for rounding a float to an integer and for a fused multiply-add.
    /// Implementations are `#[inline(always)]`.
    fn run<const ROUNDS: bool>(work: Self::Work<'_>) -> Self::Outcome;
}

/// A loop over one tile of elements, with its constants. `S` is state that the tiles before have left.
pub(crate) trait TileLoop<S = ()>: Send + Sync + 'static {
    /// The figures of a tile.
    type Outcome: 'static;

    /// Runs over the elements of `source`, and writes as many of `target`. Loops that only count write nothing. The
    /// rules of [`BlockLoop::run`] apply.
    fn run<const ROUNDS: bool>(&self, source: &[u8], target: &mut [u8], state: &S) -> Self::Outcome;
}

/// A [`TileLoop`] as a [`BlockLoop`]. The loop itself has separate slices as arguments. So the compiler knows that the
/// written memory is not the read memory.
struct Tiles<L, S>(PhantomData<(L, S)>);

impl<S: 'static, L: TileLoop<S>> BlockLoop for Tiles<L, S> {
    type Work<'a> = (&'a L, &'a [u8], &'a mut [u8], &'a S);
    type Outcome = L::Outcome;

    #[inline(always)]
    fn run<const ROUNDS: bool>((own, source, target, state): Self::Work<'_>) -> L::Outcome {
        own.run::<ROUNDS>(source, target, state)
    }
}

/// A conversion of one element, with its constants.
///
/// It is a trait, because a closure that is not inlined is compiled without the CPU features of its loop.
pub(crate) trait Conversion: Copy + Send + Sync + 'static {
    type Source: Element;
    type Target: Element;

    /// Converts an element, and returns true if it needs the exact path. `ROUNDS` is as in [`BlockLoop::run`].
    /// Implementations are `#[inline(always)]`.
    fn convert<const ROUNDS: bool>(self, x: Self::Source) -> (Self::Target, bool);
}

/// The loop of a conversion. It returns true if an element needs the exact path, or if the bytes are not aligned.
struct EachElement<C>(C);

impl<C: Conversion> TileLoop for EachElement<C> {
    type Outcome = bool;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], target: &mut [u8], (): &()) -> bool {
        let (Ok(source), Ok(target)) =
            (bytemuck::try_cast_slice::<u8, C::Source>(source), bytemuck::try_cast_slice_mut(target))
        else {
            return true;
        };
        let (conversion, mut is_flagged) = (self.0, false);
        for (x, result) in source.iter().zip(target) {
            let (converted, needs_exact_path) = conversion.convert::<ROUNDS>(*x);
            *result = converted;
            is_flagged |= needs_exact_path;
        }
        is_flagged
    }
}

/// Prefetches memory some distance after a row of elements. The CPU's own prefetching is too slow for loops with many
/// calculations per element.
#[inline(always)]
pub(crate) fn prefetch<T, const N: usize>(row: &[T; N]) {
    #[cfg(target_arch = "x86_64")]
    {
        const LINE: usize = 64;
        const AHEAD: usize = 2048;
        for offset in (0..size_of_val(row)).step_by(LINE) {
            let address = row.as_ptr().wrapping_byte_add(AHEAD + offset).cast();
            // SAFETY: it is a hint that faults on no address, and every x86-64 has it.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Combines all lanes, half with half.
///
/// It is a separate function, so that the order of its steps does not determine the lanes of the loops.
#[inline(never)]
pub(crate) fn fold<T: Copy, const LANES: usize>(lanes: &[T; LANES], combine: impl Fn(T, T) -> T) -> T {
    let mut lanes = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// A [`TileLoop`] compiled for an instruction set of this machine.
#[derive(Clone)]
pub(crate) struct TileKernel<O, S = ()>(Arc<RunTile<O, S>>);

type RunTile<O, S> = dyn Fn(&[u8], &mut [u8], &S) -> O + Send + Sync;

impl<O, S> fmt::Debug for TileKernel<O, S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TileKernel")
    }
}

impl<O, S: 'static> TileKernel<O, S> {
    /// Selects the loop for the CPU features of this machine.
    pub(crate) fn new<L: TileLoop<S, Outcome = O>>(own: L) -> Self {
        let kernel = BlockKernel::<Tiles<L, S>>::default();
        TileKernel(Arc::new(move |source: &[u8], target: &mut [u8], state: &S| {
            kernel.run((&own, source, target, state))
        }))
    }

    pub(crate) fn run_after(&self, state: &S, source: &[u8], target: &mut [u8]) -> O {
        (self.0)(source, target, state)
    }
}

impl<O> TileKernel<O> {
    pub(crate) fn run(&self, source: &[u8], target: &mut [u8]) -> O {
        (self.0)(source, target, &())
    }
}

/// Converts a tile. Returns true if the tile needs the exact path.
pub(crate) type TileConversion = TileKernel<bool>;

impl TileConversion {
    /// Makes a conversion of each element.
    pub(crate) fn of_each<C: Conversion>(conversion: C) -> Self {
        TileKernel::new(EachElement(conversion))
    }

    /// Makes a conversion of whole tiles.
    pub(crate) fn of_tile(convert: impl Fn(&[u8], &mut [u8]) -> bool + Send + Sync + 'static) -> Self {
        TileKernel(Arc::new(move |source: &[u8], target: &mut [u8], (): &()| convert(source, target)))
    }

    /// Makes a copy of the bytes.
    pub(crate) fn copy() -> Self {
        Self::of_tile(|source, target| {
            target.copy_from_slice(source);
            false
        })
    }
}

/// A [`BlockLoop`] compiled for an instruction set of this machine.
pub(crate) struct BlockKernel<L: BlockLoop> {
    function: for<'a> unsafe fn(L::Work<'a>) -> L::Outcome,
}

impl<L: BlockLoop> fmt::Debug for BlockKernel<L> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BlockKernel")
    }
}

impl<L: BlockLoop> Default for BlockKernel<L> {
    /// Selects the loop for the CPU features of this machine.
    fn default() -> Self {
        match InstructionSet::detect() {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => BlockKernel { function: avx512::<L> },
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => BlockKernel { function: avx2::<L> },
            _ => BlockKernel { function: baseline::<L> },
        }
    }
}

impl<L: BlockLoop> BlockKernel<L> {
    #[inline]
    pub(crate) fn run(&self, work: L::Work<'_>) -> L::Outcome {
        // SAFETY: `default` stores only functions whose CPU features `InstructionSet::detect` has found.
        unsafe { (self.function)(work) }
    }
}

fn baseline<L: BlockLoop>(work: L::Work<'_>) -> L::Outcome {
    // Every aarch64 has instructions for rounding and fused multiply-add, but not every x86-64.
    #[cfg(target_arch = "aarch64")]
    return L::run::<true>(work);
    #[cfg(not(target_arch = "aarch64"))]
    L::run::<false>(work)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<L: BlockLoop>(work: L::Work<'_>) -> L::Outcome {
    L::run::<true>(work)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,fma")]
fn avx512<L: BlockLoop>(work: L::Work<'_>) -> L::Outcome {
    L::run::<true>(work)
}

// A conversion of elements of one or two bytes as a table of all results.

/// The results for all values of a source type of one or two bytes.
#[derive(Debug, Clone)]
pub(crate) struct ResultTable {
    /// The results, one after the other, each with its own number of bytes. They are stored in words, so that they are
    /// aligned.
    results: Vec<u64>,
    is_fault: Vec<bool>,
    has_faults: bool,
    /// Bytes of an element and of a result.
    sizes: (usize, usize),
}

const BYTES: usize = 1 << 8;
const PAIRS: usize = 1 << 16;

impl ResultTable {
    /// Calls `convert` for all elements of one or two bytes.
    fn new(sizes: (usize, usize), convert: impl Fn(u64) -> Result<u64, FaultKind>) -> Self {
        let count = if sizes.0 == 1 { BYTES } else { PAIRS };
        let mut results = vec![0_u64; count * sizes.1 / 8];
        let mut is_fault = vec![false; count];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut results);
        for (index, is_fault) in is_fault.iter_mut().enumerate() {
            let converted = convert(index as u64);
            // The result of a fault is not used: a tile with one takes the exact path.
            super::tile::write_bits(bytes, sizes.1, index, converted.unwrap_or_default());
            *is_fault = converted.is_err();
        }
        let has_faults = is_fault.contains(&true);
        ResultTable { results, is_fault, has_faults, sizes }
    }

    /// Makes a conversion of tiles. It makes the table when it first runs.
    pub(crate) fn conversion(
        sizes: (usize, usize),
        convert: impl Fn(u64) -> Result<u64, FaultKind> + Send + Sync + 'static,
    ) -> TileConversion {
        let table = OnceLock::new();
        TileConversion::of_tile(move |source, target| {
            !table.get_or_init(|| Self::new(sizes, &convert)).convert(source, target)
        })
    }

    /// Looks up each element. Returns false if one is a fault.
    fn convert(&self, source: &[u8], target: &mut [u8]) -> bool {
        with_bits!(self.sizes.1, T => match self.sizes.0 {
            1 => self.look_up::<u8, T, BYTES>(source, target),
            _ => self.look_up::<u16, T, PAIRS>(source, target),
        })
    }

    /// Looks up each element. The compiler knows the length of the table, so it checks no index.
    fn look_up<S: Element + Into<usize>, T: Element, const COUNT: usize>(
        &self,
        source: &[u8],
        target: &mut [u8],
    ) -> bool {
        let results = bytemuck::try_cast_slice::<u64, T>(&self.results).ok();
        let results: Option<&[T; COUNT]> = results.and_then(|results| results.try_into().ok());
        let is_fault: Option<&[bool; COUNT]> = self.is_fault.as_slice().try_into().ok();
        let source: &[S] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let (Some(results), Some(faults), Ok(target)) =
            (results, is_fault, bytemuck::try_cast_slice_mut::<u8, T>(target))
        else {
            return false;
        };
        for (x, result) in source.iter().zip(target) {
            *result = results[(*x).into() % COUNT];
        }
        !self.has_faults || !source.iter().fold(false, |is_any, x| is_any | faults[(*x).into() % COUNT])
    }
}
