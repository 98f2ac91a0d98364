//! The width of text on a terminal, in columns.

/// Characters that take no column of their own: combining marks of the scripts that names are written in most, marks of
/// zero width, and selectors of variants (Unicode, general categories Mn, Me and Cf).
const NARROW: [(u32, u32); 16] = [
    (0x0300, 0x036f),
    (0x0483, 0x0489),
    (0x0591, 0x05bd),
    (0x0610, 0x061a),
    (0x064b, 0x065f),
    (0x06d6, 0x06dc),
    (0x0e31, 0x0e31),
    (0x0e34, 0x0e3a),
    (0x0e47, 0x0e4e),
    (0x1ab0, 0x1aff),
    (0x1dc0, 0x1dff),
    (0x200b, 0x200f),
    (0x20d0, 0x20ff),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
    (0xe0100, 0xe01ef),
];

/// Characters that take two columns: the blocks that are Wide or Fullwidth (Unicode Standard Annex 11).
const WIDE: [(u32, u32); 14] = [
    (0x1100, 0x115f),
    (0x2e80, 0x303e),
    (0x3041, 0x4dbf),
    (0x4e00, 0x9fff),
    (0xa000, 0xa4cf),
    (0xa960, 0xa97f),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1f300, 0x1f64f),
    (0x1f900, 0x1f9ff),
    (0x20000, 0x3fffd),
];

/// Columns that text takes: two for wide characters, none for combining ones.
pub(super) fn width(text: &str) -> usize {
    // Most text is of characters that take one column each.
    if text.is_ascii() { text.len() } else { text.chars().map(width_of).sum() }
}

fn width_of(letter: char) -> usize {
    let code = u32::from(letter);
    let is_in = |ranges: &[(u32, u32)]| ranges.iter().any(|(first, last)| (*first..=*last).contains(&code));
    if is_in(&NARROW) { 0 } else { 1 + usize::from(is_in(&WIDE)) }
}

/// Text of at most so many columns; dots stand for the rest.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fits = |letter: &char| {
        let left = room.checked_sub(width_of(*letter));
        room = left.unwrap_or(room);
        left.is_some()
    };
    text.chars().take_while(fits).chain((columns > 0).then_some('\u{2026}')).collect()
}

/// Text followed by as many spaces as bring it to so many columns.
pub(super) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Text after as many spaces as bring it to so many columns.
pub(super) fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_take_the_columns_that_a_terminal_gives_them() {
        assert_eq!([width("abc"), width("\u{6e29}\u{5ea6}"), width("e\u{301}")], [3, 4, 1]);
        assert_eq!([pad("\u{6e29}", 4), pad_left("e\u{301}", 3)], ["\u{6e29}  ", "  e\u{301}"]);
    }

    #[test]
    fn cut_text_fits() {
        assert_eq!([cut("abcdef", 6), cut("abcdef", 5), cut("abc", 0)], ["abcdef", "abcd\u{2026}", ""]);
        assert_eq!(cut("\u{6e29}\u{5ea6}\u{6e29}", 4), "\u{6e29}\u{2026}");
    }
}
