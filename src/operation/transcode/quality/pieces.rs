//! Walks over the pieces of both sides.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Tallies;
use super::levels::{LevelBand, LevelBuffers, Levels, bands, compare};
use super::reading::{NumberBuffers, Piece, PieceReads, Reading};
use crate::array::ChunkSet;
use crate::array::chunk_set::ChunkSetBuilder;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::ReadBuffers;
use crate::engine::driver::Driver;
use crate::kernel::quality::distribution::Request;
use crate::kernel::quality::similarity::{Similarity, SimilarityScan};
use crate::kernel::quality::sums::{PairScan, PairSums};

/// What a thread keeps from piece to piece.
#[derive(Debug, Default)]
struct Buffers {
    reading: ReadBuffers,
    numbers: NumberBuffers,
    piece: Piece,
    levels: LevelBuffers,
}

/// What becomes of a piece once its points are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Forget,
    /// Its levels are compared with those of its neighbours.
    Keep,
    /// Its levels, which it has whole, are compared.
    Compare,
}

/// What a piece came to.
#[derive(Default)]
struct Measured {
    sums: PairSums,
    /// The least and greatest value of both sides in each level.
    ranges: Vec<(f64, f64)>,
    /// The piece itself, where it is kept.
    piece: Option<Piece>,
    /// Its levels, where they are compared.
    compared: Vec<(LevelBand, Similarity)>,
}

/// The walks.
pub(super) struct Pieces<'a> {
    reading: &'a Reading<'a>,
    driver: &'a Driver,
    scan: PairScan,
    similarity: SimilarityScan,
    /// Pieces that were kept, whose memory the next may have.
    spare: Mutex<Vec<Piece>>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(reading: &'a Reading<'a>, driver: &'a Driver) -> Self {
        Pieces {
            reading,
            driver,
            scan: PairScan::default(),
            similarity: SimilarityScan::default(),
            spare: Mutex::default(),
        }
    }

    /// The walk that measures all.
    pub(super) fn walk(
        &self,
        request: &Request,
        tallies: &Tallies,
        sums: &mut PairSums,
        levels: &mut Levels,
    ) -> Result<(), ChunkFault> {
        let geometry = self.reading.geometry;
        let (has_levels, compares) = (geometry.no_levels().is_none(), geometry.compares_pieces());
        if !has_levels || compares || geometry.reads_twice() {
            let all = ChunkSet::full(geometry.num_pieces());
            let then = if has_levels && compares { Then::Compare } else { Then::Forget };
            self.measure(&all, Some((request, tallies)), then, |index, measured| {
                sums.merge(&measured.sums);
                levels.widen(index, &measured.ranges);
                for (band, similarity) in &measured.compared {
                    levels.add(band, *similarity);
                }
            })?;
        }
        if !has_levels || compares {
            return Ok(());
        }
        let counts = (!geometry.reads_twice()).then_some((request, tallies));
        for slab in geometry.slabs() {
            let mut kept = Vec::new();
            self.measure(&run(&slab), counts, Then::Keep, |index, measured| {
                if counts.is_some() {
                    sums.merge(&measured.sums);
                    levels.widen(index, &measured.ranges);
                }
                kept.extend(measured.piece);
            })?;
            self.compare(&slab, &kept, levels)?;
            self.spare().append(&mut kept);
        }
        Ok(())
    }

    /// A walk that only counts values, or gathers them.
    pub(super) fn count(&self, request: &Request, tallies: &Tallies) -> Result<(), ChunkFault> {
        let reading = self.reading;
        let all = ChunkSet::full(reading.geometry.num_pieces());
        let work = |buffers: &mut Buffers, index| {
            let Buffers { reading: read, numbers, piece, .. } = buffers;
            reading.read(index, piece, read)?;
            tallies.with(|tally| {
                for elements in reading.stretches(index) {
                    reading.each_stretch(piece, elements, numbers, |x, y| request.add(x, y, tally));
                }
            });
            self.advance(index);
            Ok(())
        };
        let reads = [0, 1].map(|side| PieceReads { reading, side });
        self.driver.run_ahead::<Buffers, ()>(&all, &[&reads[0], &reads[1]], work, |_, ()| {})
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Piece>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advance(&self, index: u64) {
        let geometry = self.reading.geometry;
        let elements = geometry.region(index).num_elements();
        let of_all = geometry.shape.iter().fold(1_u64, |all, length| all.saturating_mul(*length));
        let share = u128::from(geometry.bytes()) * u128::from(elements) / u128::from(of_all.max(1));
        self.reading.progress.advance(u64::try_from(share).unwrap_or(u64::MAX));
    }

    /// Reads pieces, measures their points where that is asked for, and gives what they came to in their order; levels are
    /// compared where the points are measured.
    fn measure(
        &self,
        pieces: &ChunkSet,
        counts: Option<(&Request, &Tallies)>,
        then: Then,
        mut fold: impl FnMut(u64, Measured),
    ) -> Result<(), ChunkFault> {
        let reading = self.reading;
        let work = |buffers: &mut Buffers, index| {
            let Buffers { reading: read, numbers, piece, levels } = buffers;
            if then == Then::Keep {
                // Not sooner: what a slab may hold is all that is there.
                *piece = self.spare().pop().unwrap_or_default();
            }
            reading.read(index, piece, read)?;
            let mut measured = Measured::default();
            if let Some((request, tallies)) = counts {
                tallies.with(|tally| {
                    for elements in reading.stretches(index) {
                        let mut level = PairSums::default();
                        reading.each_stretch(piece, elements, numbers, |x, y| {
                            level.merge(&self.scan.run(x, y));
                            request.add(x, y, tally);
                        });
                        measured.ranges.push(level.joint_range());
                        measured.sums.merge(&level);
                    }
                });
            }
            if then == Then::Compare {
                let own = bands(reading.geometry, &(index..index + 1), |_, place| {
                    measured.ranges.get(place).copied()
                });
                for band in own {
                    let kept = (index, std::slice::from_ref(&*piece));
                    let similarity = compare(&self.similarity, &band, reading, kept, (levels, numbers));
                    measured.compared.push((band, similarity));
                }
            }
            if then == Then::Keep {
                measured.piece = Some(std::mem::take(piece));
            }
            self.advance(index);
            Ok(measured)
        };
        let reads = [0, 1].map(|side| PieceReads { reading, side });
        self.driver.run_ahead::<Buffers, Measured>(pieces, &[&reads[0], &reads[1]], work, &mut fold)
    }

    /// Compares the levels of pieces that are there.
    fn compare(&self, slab: &Range<u64>, kept: &[Piece], levels: &mut Levels) -> Result<(), ChunkFault> {
        let bands = levels.bands(slab);
        let buffers: Vec<Mutex<(LevelBuffers, NumberBuffers)>> =
            (0..self.driver.num_threads()).map(|_| Mutex::default()).collect();
        let compared: Vec<Result<Similarity, Fault>> = {
            self.driver.map(&buffers, bands.len(), |(buffers, numbers), item| {
                let kept = (slab.start, kept);
                Ok(compare(&self.similarity, &bands[item], self.reading, kept, (buffers, numbers)))
            })
        };
        for (band, similarity) in bands.iter().zip(compared) {
            let similarity = similarity.map_err(|fault| ChunkFault { index: slab.start, fault })?;
            levels.add(band, similarity);
        }
        Ok(())
    }
}

/// A run of pieces as a set.
fn run(pieces: &Range<u64>) -> ChunkSet {
    let mut set = ChunkSetBuilder::default();
    pieces.clone().for_each(|piece| set.insert(piece));
    set.finish()
}
