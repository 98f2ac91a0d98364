//! One loop, compiled for each instruction set, chosen once.
//!
//! A [`BlockLoop`] is plain generic Rust, inlined into a function for each set of CPU features, where the compiler
//! vectorises it for them. A kernel holds a pointer to one of those functions.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::InstructionSet;
use crate::element::Element;

/// A loop over slices of elements.
pub(crate) trait BlockLoop {
    /// The slices, those that are written to among them.
    type Work<'a>;
    /// The figures of the elements.
    type Outcome;

    /// Runs.
    ///
    /// `ROUNDS` says that rounding a float to an integer and a fused multiply-add are instructions. Implementations are
    /// `#[inline(always)]`.
    fn run<const ROUNDS: bool>(work: Self::Work<'_>) -> Self::Outcome;
}

/// A loop over one tile of elements.
pub(crate) trait TileLoop {
    /// Constants of the loop, bound once.
    type Parameters;
    /// The figures of a tile.
    type Outcome;

    /// Runs over the elements of `source`, and writes as many of `target`; as [`BlockLoop::run`].
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &Self::Parameters) -> Self::Outcome;
}

/// The slices and the constants of a tile.
type Tile<'a, P> = (&'a [u8], &'a mut [u8], &'a P);

/// A [`TileLoop`] as a [`BlockLoop`]. The loop itself gets the slices apart: so the compiler knows that what is written is not
/// what is read.
struct Tiles<L>(PhantomData<L>);

impl<L: TileLoop<Parameters: 'static>> BlockLoop for Tiles<L> {
    type Work<'a> = Tile<'a, L::Parameters>;
    type Outcome = L::Outcome;

    #[inline(always)]
    fn run<const ROUNDS: bool>((source, target, parameters): Tile<'_, L::Parameters>) -> L::Outcome {
        L::run::<ROUNDS>(source, target, parameters)
    }
}

/// A conversion of one element, with its constants.
///
/// A trait, since a closure that is not inlined is compiled without the CPU features of the loop around it.
pub(crate) trait Conversion: Copy + Send + Sync + 'static {
    type Source: Element;
    type Target: Element;

    /// Converts an element, and tells whether it needs the exact path. `ROUNDS` is as in [`BlockLoop::run`];
    /// implementations are `#[inline(always)]`.
    fn convert<const ROUNDS: bool>(self, x: Self::Source) -> (Self::Target, bool);
}

/// The loop of a conversion. It tells whether an element needs the exact path, or the bytes are not aligned.
struct ConversionLoop<C>(PhantomData<C>);

impl<C: Conversion> TileLoop for ConversionLoop<C> {
    type Parameters = C;
    type Outcome = bool;

    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], conversion: &C) -> bool {
        let (Ok(source), Ok(target)) =
            (bytemuck::try_cast_slice::<u8, C::Source>(source), bytemuck::try_cast_slice_mut(target))
        else {
            return true;
        };
        let (conversion, mut is_flagged) = (*conversion, false);
        for (x, result) in source.iter().zip(target) {
            let (converted, needs_exact_path) = conversion.convert::<ROUNDS>(*x);
            *result = converted;
            is_flagged |= needs_exact_path;
        }
        is_flagged
    }
}

/// Converts a tile; `true` where it holds what only the exact path knows.
#[derive(Clone)]
pub(crate) struct TileConversion(Arc<ConvertTile>);

type ConvertTile = dyn Fn(&[u8], &mut [u8]) -> bool + Send + Sync;

impl fmt::Debug for TileConversion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TileConversion")
    }
}

impl TileConversion {
    /// Element by element.
    pub(crate) fn of_each<C: Conversion>(conversion: C) -> Self {
        let kernel = TileKernel::select::<ConversionLoop<C>>();
        Self::of_tile(move |source, target| kernel.run(source, target, &conversion))
    }

    /// By a function of whole tiles.
    pub(crate) fn of_tile(convert: impl Fn(&[u8], &mut [u8]) -> bool + Send + Sync + 'static) -> Self {
        TileConversion(Arc::new(convert))
    }

    /// Bytes as they are.
    pub(crate) fn copy() -> Self {
        Self::of_tile(|source, target| {
            target.copy_from_slice(source);
            false
        })
    }

    pub(crate) fn run(&self, source: &[u8], target: &mut [u8]) -> bool {
        (self.0)(source, target)
    }
}

/// Asks for the memory some way ahead of a row of elements: the machine's own prefetching does not keep up with loops
/// that calculate much for each element.
#[inline(always)]
pub(crate) fn prefetch<T, const N: usize>(row: &[T; N]) {
    #[cfg(target_arch = "x86_64")]
    {
        const LINE: usize = 64;
        const AHEAD: usize = 2048;
        for offset in (0..size_of_val(row)).step_by(LINE) {
            let address = row.as_ptr().wrapping_byte_add(AHEAD + offset).cast();
            // SAFETY: a hint: it faults on no address, and every x86-64 has it.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// A [`TileLoop`] compiled for one instruction set, which this machine has.
#[derive(Debug, Clone)]
pub(crate) struct TileKernel<P, O> {
    function: for<'a> unsafe fn(Tile<'a, P>) -> O,
}

impl<P: 'static, O> TileKernel<P, O> {
    /// The loop for what this machine has.
    pub(crate) fn select<L: TileLoop<Parameters = P, Outcome = O>>() -> Self {
        TileKernel { function: BlockKernel::<Tiles<L>>::default().function }
    }

    /// Runs the loop.
    #[inline]
    pub(crate) fn run(&self, source: &[u8], target: &mut [u8], parameters: &P) -> O {
        // SAFETY: `select` stores only functions whose CPU features `InstructionSet::detect` has found.
        unsafe { (self.function)((source, target, parameters)) }
    }
}

/// A [`BlockLoop`] compiled for one instruction set, which this machine has.
pub(crate) struct BlockKernel<L: BlockLoop> {
    function: for<'a> unsafe fn(L::Work<'a>) -> L::Outcome,
}

impl<L: BlockLoop> fmt::Debug for BlockKernel<L> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BlockKernel")
    }
}

impl<L: BlockLoop> Default for BlockKernel<L> {
    /// The loop for what this machine has.
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
    /// Runs the loop.
    #[inline]
    pub(crate) fn run(&self, work: L::Work<'_>) -> L::Outcome {
        // SAFETY: `default` stores only functions whose CPU features `InstructionSet::detect` has found.
        unsafe { (self.function)(work) }
    }
}

fn baseline<L: BlockLoop>(work: L::Work<'_>) -> L::Outcome {
    // Rounding and fused multiply-add are instructions of every aarch64, but not of every x86-64.
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
