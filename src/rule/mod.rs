//! The rules of `validate` as their users see them: a page for each code of the table in `diagnostic::code`.
//!
//! What a rule checks stands where its facts are read: in the metadata, the data types, the pipeline, the engine.

mod page;

use crate::diagnostic::{Code, code};

pub use page::{page, reference, title};

/// Every rule, sorted by code.
pub fn all() -> impl Iterator<Item = Code> {
    code::ALL.iter().copied()
}

/// The rule of a code or a name, in upper or lower case.
pub fn find(text: &str) -> Option<Code> {
    all().find(|rule| rule.code.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text))
}

/// The rule whose code or name needs the fewest changes to become `text`.
pub fn nearest(text: &str) -> Code {
    let text = text.chars().take(64).collect::<String>().to_lowercase();
    let distance_to =
        |rule: &Code| distance(&text, &rule.code.to_lowercase()).min(distance(&text, rule.name));
    all().min_by_key(distance_to).unwrap_or(code::MEMBER_MISSING)
}

/// Letters to insert, remove or replace (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (removed, letter) in from.chars().enumerate() {
        let mut diagonal = removed;
        row[0] = removed + 1;
        for (place, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_is_found_by_code_and_name_in_any_case() {
        assert_eq!(find("zc201"), Some(code::ENDIAN_MISSING));
        assert_eq!(find("endian-missing"), Some(code::ENDIAN_MISSING));
        assert_eq!(find("endian"), None);
    }

    #[test]
    fn nearest_rule_is_the_one_with_the_fewest_changes() {
        assert_eq!(nearest("endian-mising"), code::ENDIAN_MISSING);
        assert_eq!(nearest("ZC20l"), code::ENDIAN_MISSING);
        assert_eq!(nearest("ZC2O1"), code::ENDIAN_MISSING);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
