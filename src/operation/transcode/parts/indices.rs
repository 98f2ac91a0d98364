//! Lists of indices as schedulers take them: `3,7-9`.

/// Ascending indices, those that follow each other as `first-last`.
pub(super) fn list(indices: impl IntoIterator<Item = u64>) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for index in indices {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    let text = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn indices_that_follow_each_other_are_a_range() {
        assert_eq!(list([]), "");
        assert_eq!(list([3, 7, 8, 9]), "3,7-9");
        assert_eq!(list([0, 1, 5]), "0-1,5");
    }
}
