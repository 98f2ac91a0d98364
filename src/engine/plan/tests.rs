//! The plan compared with the array, element by element.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::array::ChunkSet;
use crate::grid::ravel;

/// Grids of 1 to 8 dimensions with ragged edges, with or without a permuted shard in the destination.
fn grids() -> impl Strategy<Value = Grids> {
    (1_usize..=8)
        .prop_flat_map(|rank| {
            let most = [40, 12, 7, 5, 4, 3, 3, 3][rank - 1];
            let lengths = |most: u64| prop::collection::vec(1..=most, rank);
            let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
            let skipped = prop_oneof![Just(vec![0; rank]), lengths(most)];
            let sides = (lengths(most), lengths(most), lengths(most / 2 + 1));
            (sides, skipped, lengths(3), order, any::<bool>())
        })
        .prop_map(|(sides, skipped, factors, order, is_sharded)| {
            let (shape, source_subchunk, destination_subchunk) = sides;
            let skipped = skipped.iter().zip(&source_subchunk).map(|(some, chunk)| some % chunk).collect();
            let factors = factors.iter().map(|factor| if is_sharded { *factor } else { 1 });
            let destination_object = destination_subchunk.iter().zip(factors).map(|(c, f)| c * f).collect();
            Grids { shape, skipped, source_subchunk, destination_subchunk, destination_object, order }
        })
}

fn grid_shape(shape: &[u64], subchunk: &[u64]) -> Vec<u64> {
    shape.iter().zip(subchunk).map(|(length, subchunk)| length.div_ceil(*subchunk)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn plan_writes_each_element_once_and_reads_as_often_as_it_says(
        grids in grids(), budget in 1_u64..4000, subchunk in 0_u64..3,
    ) {
        let costs = Costs { element: 2, subchunk, worker: 5 };
        let plan = match RechunkPlan::new(grids.clone(), costs, budget) {
            Ok(plan) => plan,
            Err(error) => {
                prop_assert!(error.least > budget);
                let plan = RechunkPlan::new(grids, costs, error.least).unwrap();
                prop_assert!(plan.unit_bytes() <= error.least);
                return Ok(());
            }
        };
        walk(&plan, budget)?;
    }

    #[test]
    fn staged_plan_does_so_in_both_passes_and_again_with_another_budget(
        grids in grids(), budget in 200_u64..8000, other in 200_u64..8000, subchunks in 0_u64..4,
    ) {
        let costs = StagedCosts {
            element: 2,
            subchunk: 1,
            workers: [20, 30],
            subchunks: [subchunks, 1],
            entry: 3,
        };
        let Some(staged) = StagedPlan::new(&grids, costs, budget) else {
            // Whoever has room for two passes could do it in one.
            return Ok(());
        };
        let StagingShape { subchunk, shard } = &staged.shape;
        prop_assert!(shard.iter().zip(subchunk).all(|(shard, subchunk)| *subchunk > 0 && shard % subchunk == 0));
        prop_assert_eq!(&staged.first.grids.destination_subchunk, &staged.second.grids.source_subchunk);
        walk(&staged.first, budget)?;
        walk(&staged.second, budget)?;
        match StagedPlan::of_shape(&grids, costs, staged.shape.clone(), other) {
            Ok(again) => {
                walk(&again.first, other)?;
                walk(&again.second, other)?;
            }
            Err(error) => {
                prop_assert!(error.least > other);
                // Each pass reports its own minimum.
                let least = error.least.max(budget);
                prop_assert!(StagedPlan::of_shape(&grids, costs, staged.shape, least).is_ok());
            }
        }
    }

    #[test]
    fn plan_reads_each_source_chunk_once_with_room_for_the_array(grids in grids()) {
        let costs = Costs { element: 4, subchunk: 8, worker: 0 };
        let plan = RechunkPlan::new(grids, costs, u64::MAX).unwrap();
        prop_assert_eq!(plan.reads(), plan.source_subchunks());
    }
}

/// Checks a plan's blocks: no unit exceeds the budget, and every element of the destination is written once. One group
/// writes the subchunks of an object, in their order. The source reads are as many as planned.
fn walk(plan: &RechunkPlan, budget: u64) -> Result<(), TestCaseError> {
    let grids = &plan.grids;
    prop_assert!(plan.unit_bytes() <= budget, "{} bytes of {}", plan.unit_bytes(), budget);
    let total: u64 = grids.shape.iter().product();
    let mut written = vec![0_u8; usize::try_from(total).unwrap()];
    let mut reads = 0_u128;
    let mut groups_of_object = HashMap::new();
    for number in 0..plan.num_groups() {
        let of_group = ChunkSet::from_ranges(plan.groups().objects(number).collect());
        prop_assert!(plan.groups().of(&of_group).iter().eq([number]));
        let mut latest = HashMap::new();
        for block in plan.blocks(number) {
            for position in block.cells() {
                written[usize::try_from(ravel(&position, &grids.shape)).unwrap()] += 1;
            }
            let of_source = block.moved_by(&grids.skipped).chunks(&grids.source_subchunk);
            reads += u128::from(of_source.num_elements());
            let of_block = block.chunks(&grids.destination_subchunk);
            let subchunks = of_block.num_elements();
            let elements = subchunks * grids.destination_subchunk.iter().product::<u64>();
            let held = elements * plan.costs.element + subchunks * plan.costs.subchunk;
            prop_assert!(held <= plan.block_bytes() && held + plan.costs.worker <= budget);
            let mut subchunks: Vec<Vec<u64>> = of_block.cells().collect();
            subchunks.sort_by_key(|subchunk| in_object(grids, subchunk).1);
            for subchunk in subchunks {
                let (object, inside) = in_object(grids, &subchunk);
                let owner = *groups_of_object.entry(object.clone()).or_insert(number);
                prop_assert_eq!(owner, number, "an object of two groups");
                // Each subchunk comes after the earlier ones of the object.
                if let Some(before) = latest.insert(object, inside.clone()) {
                    prop_assert!(before < inside, "{:?} after {:?}", inside, before);
                }
            }
        }
    }
    prop_assert!(written.iter().all(|count| *count == 1));
    prop_assert_eq!(reads, plan.reads());
    let with_skipped: Vec<u64> = grids.shape.iter().zip(&grids.skipped).map(|(own, more)| own + more).collect();
    let source_subchunks = grid_shape(&with_skipped, &grids.source_subchunk).iter().product::<u64>();
    prop_assert_eq!(plan.source_subchunks(), u128::from(source_subchunks));
    prop_assert!(plan.read_amplification() >= 1.0);
    Ok(())
}

/// Returns the object of a subchunk, and its position in the object's own order.
fn in_object(grids: &Grids, subchunk: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let per_object = grid_shape(&grids.destination_object, &grids.destination_subchunk);
    let object = subchunk.iter().zip(&per_object).map(|(index, count)| index / count).collect();
    let inside = grids.order.iter().map(|&dimension| subchunk[dimension] % per_object[dimension]).collect();
    (object, inside)
}

/// Returns grids for an array shape, from subchunks to subchunks in objects.
fn of_shapes(shapes: [&[u64]; 4]) -> Grids {
    let [shape, source_subchunk, destination_subchunk, destination_object] = shapes.map(<[u64]>::to_vec);
    let (skipped, order) = (vec![0; shape.len()], (0..shape.len()).collect());
    Grids { shape, skipped, source_subchunk, destination_subchunk, destination_object, order }
}

#[test]
fn aligned_grids_are_read_once_in_blocks_of_the_least_common_shape() {
    let grids = of_shapes([&[512, 512, 512], &[16, 256, 256], &[256, 64, 64], &[256, 64, 64]]);
    let costs = Costs { element: 4, subchunk: 0, worker: 1 << 24 };
    let plan = RechunkPlan::new(grids.clone(), costs, 1 << 30).unwrap();
    assert_eq!(plan.block_shape, [256, 256, 256]);
    assert_eq!((plan.read_amplification(), plan.num_groups()), (1.0, 8));
    let narrow = RechunkPlan::new(grids, costs, 48 << 20).unwrap();
    assert!(narrow.unit_bytes() <= 48 << 20 && narrow.read_amplification() > 1.0);
}

#[test]
fn transposing_in_two_passes_reads_once_in_each() {
    let grids = of_shapes([&[1000, 100, 100], &[1, 100, 100], &[1000, 1, 1], &[1000, 1, 1]]);
    let budget = 4_000_000; // A tenth of the array.
    let costs = Costs { element: 4, subchunk: 128, worker: 200_000 };
    let one = RechunkPlan::new(grids.clone(), costs, budget).unwrap();
    assert!(one.read_amplification() > 10.0, "{}", one.read_amplification());
    let costs = StagedCosts { element: 4, subchunk: 128, workers: [200_000, 100_000], subchunks: [3, 1], entry: 72 };
    let staged = StagedPlan::new(&grids, costs, budget).unwrap();
    assert!(staged.read_amplification() < 1.1, "{staged:?}");
    let subchunk: u64 = staged.shape.subchunk.iter().product();
    assert!(subchunk > 10_000, "pass two reads pieces of {subchunk} elements");
    assert!(staged.first.num_groups() < 50, "{} files", staged.first.num_groups());
}

#[test]
fn shard_larger_than_the_budget_is_written_in_parts() {
    let grids = of_shapes([&[64, 64], &[8, 64], &[8, 8], &[64, 64]]);
    let plan = RechunkPlan::new(grids, Costs { element: 1, subchunk: 0, worker: 0 }, 600).unwrap();
    assert_eq!(plan.block_shape, [8, 64]);
    assert_eq!((plan.num_groups(), plan.blocks(0).len()), (1, 8));
    assert_eq!(plan.reads(), 8);
}

#[test]
fn array_without_elements_or_dimensions_has_a_plan() {
    let grids = |shape: &[u64]| {
        let ones = &vec![1; shape.len()][..];
        of_shapes([shape, ones, ones, ones])
    };
    let costs = Costs { element: 4, subchunk: 0, worker: 0 };
    let empty = RechunkPlan::new(grids(&[0, 3]), costs, 100).unwrap();
    assert_eq!((empty.num_groups(), empty.read_amplification()), (0, 1.0));
    let scalar = RechunkPlan::new(grids(&[]), costs, 4).unwrap();
    assert_eq!((scalar.num_groups(), scalar.blocks(0).len()), (1, 1));
    let error = RechunkPlan::new(grids(&[2]), costs, 3).unwrap_err();
    assert_eq!(error.least, 4);
}
