//! Sizes and counts for messages and tables.

/// Returns bytes in binary units, with three or four digits: `1.53 MiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = bytes.ilog2() / 10;
    let amount = approximate(bytes) / approximate(1 << (power * 10));
    let unit = UNITS.get(power as usize - 1).copied().unwrap_or("EiB");
    format!("{} {unit}", three_digits(amount))
}

/// Returns a count with separated thousands: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a count with its noun, plural unless the count is 1: `1 chunk`, `12,000 chunks`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", self::count(count), noun_of(count, noun))
}

/// Returns the noun of a count, plural unless the count is 1.
pub fn noun_of(count: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with(['s', 'x']) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// Returns a number with three digits, as many as needed after the point.
pub fn three_digits(value: f64) -> String {
    // From about these limits on, rounding would give a fourth digit: 10.00 with two places, 100.0 with one.
    let places = usize::from(value < 9.995) + usize::from(value < 99.95);
    format!("{value:.places$}")
}

/// Returns a count as a float, to show a few digits of it.
#[expect(clippy::cast_precision_loss, reason = "at most four digits of it are shown")]
pub fn approximate(count: u64) -> f64 {
    count as f64
}

/// Text of at most so many characters; dots stand for the rest.
pub fn shortened(mut text: String, max_characters: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(max_characters) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// Returns all digits of a number.
pub fn exact(value: f64) -> String {
    let is_plain = value == 0.0 || !value.is_finite() || (1e-4..1e15).contains(&value.abs());
    if is_plain { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_are_in_the_plural_unless_there_is_one() {
        assert_eq!(counted(1, "chunk"), "1 chunk");
        let plurals = ["chunk", "key", "entry", "index"].map(|noun| counted(0, noun));
        assert_eq!(plurals, ["0 chunks", "0 keys", "0 entries", "0 indexes"]);
    }

    #[test]
    fn bytes_use_binary_units_with_three_digits() {
        let texts = [0, 1023, 1024, 1536, 10 << 20, 1023 << 20, u64::MAX].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "10.0 MiB", "1023 MiB", "16.0 EiB"]);
    }
}
