//! The width of text on a terminal, in columns (Unicode Standard Annex 11).

use unicode_width::UnicodeWidthChar;

/// Columns that text takes: two for wide characters, none for combining ones.
pub(super) fn width(text: &str) -> usize {
    // Most text is of characters that take one column each.
    if text.is_ascii() { text.len() } else { text.chars().map(width_of).sum() }
}

/// Characters one by one, so that a text and its pieces agree; what is no character for terminals takes none.
fn width_of(letter: char) -> usize {
    letter.width().unwrap_or(0)
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
