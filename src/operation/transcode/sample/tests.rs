use super::*;

fn population(units: u64, bytes: u64) -> Population {
    Population {
        units,
        chunks_per_unit: 1,
        unit_bytes: bytes,
        amplification: 1,
        array_bytes: units * bytes,
        memory: 1 << 30,
    }
}

#[test]
fn sample_is_a_hundredth_within_bounds() {
    let (kib, mib) = (1 << 10, 1 << 20);
    let tiny = Population { chunks_per_unit: 256, ..population(1_000_000, 256 * 4) };
    let in_memory = |memory| Population { memory, ..population(400, mib) };
    let amplified = Population { amplification: 4, ..population(40_000, mib) };
    let by_default = [
        // For a large array a hundredth, and at least 16 chunks.
        (population(1_000_000, kib), 10_000),
        (population(1600, 8 * kib), 16),
        (population(400, mib), 16),
        (population(9, mib), 9),
        (population(0, mib), 0),
        // Chunks of a few bytes do not make a sample of millions.
        (population(1_000_000_000_000, kib), MOST_CHUNKS),
        (tiny, MOST_CHUNKS / 256),
        // For a small array, as much as is read at once.
        (population(100, kib), 100),
        (population(2000, kib), 2000),
        (population(1000, 1 << 15), 512),
        // Limited by memory, but at least one unit.
        (in_memory(5 * (CHUNK_OVERHEAD + mib)), 5),
        (Population { chunks_per_unit: 8, ..population(400, 64 * mib) }, 4),
        (amplified, 100),
    ];
    for (population, expected) in by_default {
        assert_eq!(population.num_drawn(SampleSize::ByDefault), expected, "{population:?}");
    }
    assert_eq!(population(400, mib).num_drawn(SampleSize::Chunks(40)), 40);
    assert_eq!(in_memory(0).num_drawn(SampleSize::Chunks(9)), 1);
    let asked = Population { memory: mib, ..population(1_000_000_000_000, 4) };
    assert_eq!(asked.num_drawn(SampleSize::Chunks(u64::MAX)), mib / (CHUNK_OVERHEAD + 4));
}

#[test]
fn sample_has_one_of_each_stretch_and_is_the_same_each_time() {
    let all = ChunkSet::from_ranges(vec![5..505, 1000..1500]);
    let drawn = spread(&all, 10);
    assert_eq!(drawn.len(), 10);
    let stretches: Vec<u64> =
        drawn.iter().map(|index| if index < 505 { (index - 5) / 100 } else { (index - 1000) / 100 + 5 }).collect();
    assert_eq!(stretches, (0..10).collect::<Vec<u64>>());
    assert!(spread(&all, 10).iter().eq(drawn.iter()));
    assert!(spread(&all, 1000).iter().eq(all.iter()));
    assert!(spread(&ChunkSet::default(), 0).is_empty());
}
