//! A box of an array as an array of its own: the chunks that overlap it, under the keys that they have in the whole.
//!
//! Chunks keep their shape and their places beside each other, so that whoever reads an array reads a part of one. What of
//! the first chunks lies in front of the box is skipped; what of the last lies behind it is beyond the edge.

use super::array::ArrayMetadata;
use crate::grid::{PartOf, Region};

impl ArrayMetadata {
    /// The box of an array as an array: its first elements are [`skipped`](Self::skipped) ones, as far as a chunk begins in
    /// front of the box. The box lies inside the array.
    #[must_use]
    pub fn part(&self, region: &Region) -> ArrayMetadata {
        let Region { start: first_chunk, shape: counts } = self.grid.chunks_in(region);
        let start = self.grid.start_of(&first_chunk);
        let skipped = region.offset_in(&start);
        let shape: Vec<u64> = skipped.iter().zip(&region.shape).map(|(skipped, own)| skipped + own).collect();
        let grid = self.grid.part(&first_chunk, &counts, &shape);
        let last: Vec<u64> =
            first_chunk.iter().zip(&counts).map(|(first, count)| first + count.saturating_sub(1)).collect();
        let held = self.grid.region_of(&last).end().into_iter().zip(&self.shape);
        let cuts = held.zip(region.end()).map(|((end, whole), own)| own < end.min(*whole)).collect();
        let chunk_key_encoding = self.chunk_key_encoding.of_part(&first_chunk);
        let part = Some(PartOf { first_chunk, start, cuts });
        ArrayMetadata { shape, grid, chunk_key_encoding, skipped, part, ..self.clone() }
    }

    /// Elements of the array along each dimension, without those that are skipped.
    pub fn taken_shape(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.skipped).map(|(length, skipped)| length - skipped).collect()
    }

    /// The region of the whole that the part takes.
    pub fn taken(&self) -> Option<Region> {
        let start = self.part.as_ref()?.start.iter().zip(&self.skipped);
        Some(Region {
            start: start.map(|(start, skipped)| start + skipped).collect(),
            shape: self.taken_shape(),
        })
    }

    /// The part as an array of its own, as a copy of its chunks is. Its grid is that of the chunks, whether or not
    /// elements are skipped.
    #[must_use]
    pub fn by_itself(&self) -> ArrayMetadata {
        let (counts, shape) = (self.grid.counts(), self.taken_shape());
        let grid = self.grid.part(&vec![0; shape.len()], &counts, &shape);
        let chunk_key_encoding = self.chunk_key_encoding.of_whole();
        ArrayMetadata {
            grid,
            chunk_key_encoding,
            skipped: vec![0; shape.len()],
            part: None,
            shape,
            ..self.clone()
        }
    }

    /// Whether elements are skipped: its chunks are no chunks of what is taken.
    pub fn skips(&self) -> bool {
        self.skipped.iter().any(|skipped| *skipped > 0)
    }

    /// Whether chunks hold elements of the whole that lie behind it.
    pub fn is_cut(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.cuts.contains(&true))
    }

    /// Whether a box of chunks holds elements of the whole that lie behind it.
    pub fn cuts(&self, region: &Region) -> bool {
        let Some(part) = &self.part else { return false };
        region.end().iter().zip(&self.shape).zip(&part.cuts).any(|((own, end), is_cut)| *is_cut && own > end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::array::ArrayDocument;
    use crate::metadata::json::Json;

    fn array(shape: &str, grid: &str) -> ArrayMetadata {
        let text = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":"uint8","chunk_grid":{grid},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
        );
        ArrayDocument::read(&Json::parse_str(&text).unwrap()).metadata().unwrap()
    }

    fn region(start: [u64; 2], shape: [u64; 2]) -> Region {
        Region { start: start.to_vec(), shape: shape.to_vec() }
    }

    #[test]
    fn part_has_the_chunks_that_overlap_it_under_their_own_keys() {
        let whole = array("[10,10]", r#"{"name":"regular","configuration":{"chunk_shape":[4,3]}}"#);
        assert!(!whole.skips() && !whole.is_cut() && whole.taken_shape() == [10, 10]);
        let part = whole.part(&region([5, 3], [5, 4]));
        assert_eq!((part.shape.as_slice(), part.skipped.as_slice()), ([6, 4].as_slice(), [1, 0].as_slice()));
        assert_eq!((part.taken_shape(), part.chunk_grid_shape()), (vec![5, 4], vec![2, 2]));
        let keys: Vec<String> =
            [[0, 0], [1, 1]].iter().map(|chunk| part.chunk_key_encoding.key(chunk)).collect();
        assert_eq!(keys, ["c/1/1", "c/2/2"]);
        assert_eq!(part.chunk_key_encoding.linear_index("c/2/2", &[2, 2]), Some(3));
        assert_eq!(part.chunk_key_encoding.chunk_indices("c/2/2", 2), Some(vec![1, 1]));
        for outside in ["c/0/1", "c/1/0", "c/3/1", "c/1/3"] {
            assert_eq!(part.chunk_key_encoding.linear_index(outside, &[2, 2]), None, "{outside}");
        }
        let of = part.part.as_ref().unwrap();
        assert_eq!((of.start.as_slice(), of.cuts.as_slice()), ([4, 3].as_slice(), [false, true].as_slice()));
        // Along the first dimension the part ends where the array does; along the second it cuts a chunk.
        assert!(part.skips() && part.is_cut());
        assert!(!part.cuts(&region([4, 0], [4, 3])) && part.cuts(&region([0, 3], [4, 3])));
    }

    #[test]
    fn part_of_whole_chunks_cuts_none() {
        let whole = array("[10,10]", r#"{"name":"regular","configuration":{"chunk_shape":[4,3]}}"#);
        let part = whole.part(&region([4, 6], [4, 4]));
        assert!(!part.skips() && !part.is_cut());
        assert_eq!(part.chunk_grid_shape(), [1, 2]);
    }

    #[test]
    fn part_of_chunks_of_several_lengths_has_those() {
        let grid =
            r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[2,3,5],[[5,2]]]}}"#;
        let whole = array("[10,10]", grid);
        let part = whole.part(&region([3, 5], [5, 5]));
        assert_eq!(part.chunk_grid_shape(), [2, 1]);
        let shapes: Vec<Vec<u64>> =
            [[0, 0], [1, 0]].iter().map(|chunk| part.grid.shape_of(chunk).into_owned()).collect();
        assert_eq!(shapes, [[3, 5], [5, 5]]);
        assert_eq!((part.skipped.as_slice(), part.is_cut()), ([1, 0].as_slice(), true));
    }
}
