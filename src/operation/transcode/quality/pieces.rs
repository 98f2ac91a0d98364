//! Walks over the pieces of both sides.

use std::ops::Range;
use std::sync::Mutex;

use super::Tallies;
use super::levels::{LevelBuffers, Levels};
use super::reading::{NumberBuffers, Piece, PieceReads, Reading};
use crate::array::ChunkSet;
use crate::array::chunk_set::ChunkSetBuilder;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::ReadBuffers;
use crate::engine::driver::Driver;
use crate::kernel::quality::distribution::Request;
use crate::kernel::quality::similarity::Similarity;
use crate::kernel::quality::sums::{PairScan, PairSums};

/// What a thread keeps from piece to piece.
#[derive(Debug, Default)]
struct Buffers {
    reading: ReadBuffers,
    numbers: NumberBuffers,
    piece: Piece,
}

/// What a piece came to.
struct Measured {
    sums: PairSums,
    /// The least and greatest value of both sides in each level.
    ranges: Vec<(f64, f64)>,
    /// The piece itself, where its levels are compared next.
    piece: Option<Piece>,
}

/// The walks.
pub(super) struct Pieces<'a> {
    reading: &'a Reading<'a>,
    driver: &'a Driver,
    scan: PairScan,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(reading: &'a Reading<'a>, driver: &'a Driver) -> Self {
        Pieces { reading, driver, scan: PairScan::default() }
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
        if geometry.no_levels().is_some() || geometry.reads_twice() {
            let all = ChunkSet::full(geometry.num_pieces());
            self.measure(&all, Some((request, tallies)), false, |index, measured| {
                sums.merge(&measured.sums);
                levels.widen(index, &measured.ranges);
            })?;
        }
        if geometry.no_levels().is_some() {
            return Ok(());
        }
        let counts = (!geometry.reads_twice()).then_some((request, tallies));
        for slab in geometry.slabs() {
            let mut kept = Vec::new();
            self.measure(&run(&slab), counts, true, |index, measured| {
                if counts.is_some() {
                    sums.merge(&measured.sums);
                    levels.widen(index, &measured.ranges);
                }
                kept.extend(measured.piece);
            })?;
            self.compare(&slab, &kept, levels)?;
        }
        Ok(())
    }

    /// A walk that only counts values, or gathers them.
    pub(super) fn count(&self, request: &Request, tallies: &Tallies) -> Result<(), ChunkFault> {
        let reading = self.reading;
        let all = ChunkSet::full(reading.geometry.num_pieces());
        let work = |buffers: &mut Buffers, index| {
            let Buffers { reading: read, numbers, piece } = buffers;
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

    fn advance(&self, index: u64) {
        let geometry = self.reading.geometry;
        let elements = geometry.region(index).num_elements();
        let of_all = geometry.shape.iter().fold(1_u64, |all, length| all.saturating_mul(*length));
        let share = u128::from(geometry.bytes()) * u128::from(elements) / u128::from(of_all.max(1));
        self.reading.progress.advance(u64::try_from(share).unwrap_or(u64::MAX));
    }

    /// Reads pieces, measures their points where that is asked for, and gives what they came to in their order.
    fn measure(
        &self,
        pieces: &ChunkSet,
        counts: Option<(&Request, &Tallies)>,
        keeps: bool,
        mut fold: impl FnMut(u64, Measured),
    ) -> Result<(), ChunkFault> {
        let reading = self.reading;
        let work = |buffers: &mut Buffers, index| {
            let Buffers { reading: read, numbers, piece } = buffers;
            reading.read(index, piece, read)?;
            let mut measured = Measured { sums: PairSums::default(), ranges: Vec::new(), piece: None };
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
            if keeps {
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
            let levels = &*levels;
            self.driver.map(&buffers, bands.len(), |(buffers, numbers), item| {
                Ok(levels.compare(&bands[item], self.reading, (slab.start, kept), buffers, numbers))
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
