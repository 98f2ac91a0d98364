//! Sizes, rates, durations, counts and shapes for people.

use std::cmp::Ordering;
use std::time::Duration;

use crate::diagnostic::quantity::three_digits;
pub use crate::diagnostic::quantity::{approximate, bytes, count, counted, exact, shortened};
use crate::metadata::Json;
use crate::operation::inspect_result::RepresentationResult;

/// Returns a rate, from bytes per second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of three digits, which saturates")]
pub fn rate(bytes_per_second: f64) -> String {
    format!("{}/s", bytes(bytes_per_second as u64))
}

/// The whole part of a number; 0 of a negative one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
pub fn whole(number: f64) -> usize {
    number as usize
}

/// Returns a duration, from seconds: `12.3 ms`, `4.56 s`, `3 min 20 s`, `2 h 5 min`.
pub fn seconds(seconds: f64) -> String {
    if seconds <= 0.0 {
        return "0 s".to_owned();
    }
    let whole = Duration::try_from_secs_f64(seconds).unwrap_or_default().as_secs();
    if seconds < 1e-3 {
        format!("{} us", three_digits(seconds * 1e6))
    } else if seconds < 1.0 {
        format!("{} ms", three_digits(seconds * 1e3))
    } else if whole < 60 {
        format!("{} s", three_digits(seconds))
    } else if whole < 3600 {
        format!("{} min {} s", whole / 60, whole % 60)
    } else {
        format!("{} h {} min", whole / 3600, whole % 3600 / 60)
    }
}

/// Returns a measured number with six significant digits, as if written by hand.
pub fn figure(value: f64) -> String {
    exact(format!("{value:.5e}").parse().unwrap_or(value))
}

/// Returns a share in per cent.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    match (approximate(part) / approximate(whole) * 1e4).round() / 100.0 {
        0.0 if part > 0 => "< 0.01 %".to_owned(),
        percent => format!("{} %", figure(percent)),
    }
}

/// Returns the ratio of two sizes: `3.97 times smaller`. `None` if one is 0.
pub fn ratio(before: u64, after: u64) -> Option<String> {
    if before == 0 || after == 0 {
        return None;
    }
    let share = approximate(before) / approximate(after);
    Some(match before.cmp(&after) {
        Ordering::Equal => "same size".to_owned(),
        _ if (share - 1.0).abs() < 0.005 => "about the same size".to_owned(),
        Ordering::Greater => format!("{} times smaller", three_digits(share)),
        Ordering::Less => format!("{} times larger", three_digits(share.recip())),
    })
}

/// Returns a shape: `12, 180, 360`, or `scalar` for 0-D.
pub fn shape(shape: &[u64]) -> String {
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    if shape.is_empty() { "scalar".to_owned() } else { lengths.join(", ") }
}

/// The maximum bytes of JSON in text. `--json` has all of it.
const MAX_JSON_BYTES: usize = 4000;

/// Returns JSON on one line, and a plain name without its quotes. It is cut if it is very long.
pub fn json(json: &Json) -> String {
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != '"');
    let plain = json.as_str().filter(|text| text.len() <= MAX_JSON_BYTES && is_name(text));
    plain.map_or_else(|| json_text(json), str::to_owned)
}

/// Returns the data type, shape and fill value of an array. Each is empty if unknown.
pub fn array_cells(RepresentationResult { data_type, shape, fill_value, .. }: &RepresentationResult) -> [String; 3] {
    let text = |value: &Option<Json>| value.as_ref().map_or_else(String::new, json);
    [text(data_type), shape.as_deref().map_or_else(String::new, self::shape), text(fill_value)]
}

/// Returns the name of an extension, which may be alone or in an object with its configuration.
pub fn name(extension: &Json) -> String {
    json(extension.get("name").unwrap_or(extension))
}

/// Returns JSON on one line. It is cut if it is very long.
pub fn json_text(json: &Json) -> String {
    shortened(json.to_string_cut(MAX_JSON_BYTES + 1), MAX_JSON_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_choose_their_unit() {
        let texts = [0.000_012_3, 0.123, 4.56, 200.0, 7500.0].map(seconds);
        assert_eq!(texts, ["12.3 us", "123 ms", "4.56 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn percent_of_a_few_is_not_none() {
        assert_eq!(
            [(0, 9), (1, 288_000), (1, 10_000), (1, 3)].map(|(part, whole)| percent(part, whole)),
            ["0 %", "< 0.01 %", "0.01 %", "33.33 %"]
        );
    }

    #[test]
    fn count_sets_thousands_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn figure_keeps_six_significant_digits() {
        let texts = [0.062_745_098, 0.0, -1234.5, 1.234_567_89e-7, 5e300].map(figure);
        assert_eq!(texts, ["0.0627451", "0", "-1234.5", "1.23457e-7", "5e300"]);
    }

    #[test]
    fn shortened_text_ends_in_dots() {
        assert_eq!(shortened("\u{e9}t\u{e9}".to_owned(), 3), "\u{e9}t\u{e9}");
        assert_eq!(shortened("\u{e9}t\u{e9}s".to_owned(), 3), "\u{e9}t\u{e9}...");
    }

    #[test]
    fn ratio_says_which_way() {
        assert_eq!(ratio(400, 100).as_deref(), Some("4.00 times smaller"));
        assert_eq!(ratio(1000, 1001).as_deref(), Some("about the same size"));
        assert_eq!([counted(1, "element"), counted(2000, "element")], ["1 element", "2,000 elements"]);
        assert_eq!(ratio(100, 150).as_deref(), Some("1.50 times larger"));
        assert_eq!(ratio(100, 100).as_deref(), Some("same size"));
        assert_eq!(ratio(0, 100), None);
    }
}
