//! Names that are nearly another one, to find the intended name.

use strsim::damerau_levenshtein;

/// The most characters of a name that are compared, since a document may contain a name of any length.
const MAX_CHARACTERS: usize = 64;

/// The most names that [`near`] returns.
const MOST_OFFERED: usize = 3;

/// Returns the nearest known name if it is within two edits, or within one for names under six characters.
///
/// An edit inserts, removes or replaces a character, or exchanges two neighbours (Damerau and Levenshtein).
pub fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = if name.chars().count() < 6 { 1 } else { 2 };
    // A name that is not longer than its edits has nothing in common with the other one.
    let length = name.chars().count();
    let name: String = name.chars().take(MAX_CHARACTERS).collect();
    let distances = known.into_iter().map(|known| (damerau_levenshtein(&name, known), known));
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed && distance < length).then_some(nearest)
}

/// Returns true if a name has the form of an extension name in the Zarr v3 core: `^[a-z][a-z0-9-_.]+$`, or a URI.
pub fn is_extension_name(name: &str) -> bool {
    let is_raw = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    let has_raw_form =
        name.len() > 1 && name.starts_with(|letter: char| letter.is_ascii_lowercase()) && name.bytes().all(is_raw);
    has_raw_form || is_uri(name)
}

/// Returns true for a scheme, a colon, and one or more of the characters of a URI (RFC 3986).
fn is_uri(name: &str) -> bool {
    let Some((scheme, rest)) = name.split_once(':') else { return false };
    let of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let of_rest = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(of_scheme)
        && !rest.is_empty()
        && rest.bytes().all(of_rest)
}

/// Returns the known names that differ from `text` in a few letters, or begin or end with it. The nearest are first, at
/// most three.
///
/// Upper and lower case are equal. A letter may be inserted, removed, replaced, or exchanged with its neighbour. One
/// such change is allowed, and one more for each four letters of `text` before its last dot.
pub fn near<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let text = text.chars().take(MAX_CHARACTERS).collect::<String>().to_lowercase();
    let allowed = 1 + text.rsplit_once('.').map_or(&*text, |(stem, _)| stem).chars().count() / 4;
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = damerau_levenshtein(&text, &lower);
            let is_part = text.len() > 2 && (lower.starts_with(&text) || lower.ends_with(&text));
            let is_near = distance <= allowed && distance < text.len().max(lower.len());
            (is_near || is_part).then_some((distance, name))
        })
        .collect();
    // Names at equal distance are sorted by name, so that the offer does not depend on the order of a listing.
    near.sort_unstable();
    near.truncate(MOST_OFFERED);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns names as a sentence lists them: "`a`", "`a` or `b`", "`a`, `b` or `c`".
pub fn alternatives(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["zstd", "blosc", "transpose", "float32"];

    #[test]
    fn short_name_is_meant_within_one_edit_and_a_long_one_within_two() {
        assert_eq!(meant("zsdt", KNOWN), Some("zstd"));
        assert_eq!(meant("zsxx", KNOWN), None);
        assert_eq!(meant("blos", KNOWN), Some("blosc"));
        assert_eq!(meant("tranpsoes", KNOWN), Some("transpose"));
        assert_eq!(meant("flaot3", KNOWN), Some("float32"));
        assert_eq!(meant("float", KNOWN), None);
        assert_eq!(meant(&"x".repeat(1 << 20), KNOWN), None);
    }

    #[test]
    fn near_names_are_few_letters_away_or_begin_so() {
        let known = ["temperature", "salinity", "time", "lat"];
        assert_eq!(near("temprature", known), ["temperature"]);
        assert_eq!(near("Time", known), ["time"]);
        assert_eq!(near("temp", known), ["time", "temperature"]);
        assert_eq!(near("zsdt", ["zstd", "gzip", "blosc"]), ["zstd"]);
        assert!(near("pressure", known).is_empty());
        assert!(near("x", ["y"]).is_empty());
        assert!(near("", known).is_empty());
    }

    #[test]
    fn alternatives_are_joined_by_or() {
        assert_eq!(alternatives(&["a"]), "`a`");
        assert_eq!(alternatives(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
