//! Slices of a text by lines: finds the lines of a file that make up a shown text, and renders the
//! same text again from the file.
//!
//! Lines are split on `
//! ` as Pi does: a text that ends with `
//! ` has an empty last line, and `\r` belongs to its line.

use serde::{Deserialize, Serialize};

/// Most bytes of the notice that may follow the shown lines.
const MAX_SUFFIX_BYTES: usize = 400;

/// A run of lines of a text, and the notice that followed them when they were shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// First line shown, from 1.
    pub first_line: u64,
    /// Last line shown; at least `first_line`.
    pub last_line: u64,
    /// What followed the lines: empty, or `\n\n[…]`.
    pub suffix: String,
}

/// Finds the lines of `file_text`, from `first_line` on, that `shown` consists of, joined by `
/// `. One notice may follow them: at most 400 bytes that begin with `
///
/// [` and end with `]`.
///
/// If several runs of lines match (the file itself may hold such a notice), the longest is taken.
/// `None` if none matches or `shown` has no line at all. The answer is exact: [`render_slice`]
/// returns `shown` byte for byte.
pub fn locate_slice(file_text: &str, shown: &str, first_line: u64) -> Option<Slice> {
    let rest = &file_text[line_start(file_text, first_line)?..];
    let body = bodies(shown).find(|body| {
        rest.starts_with(body) && matches!(rest.as_bytes().get(body.len()), None | Some(b'\n'))
    })?;
    Some(Slice {
        first_line,
        last_line: first_line + newlines(body),
        suffix: shown[body.len()..].to_owned(),
    })
}

/// The slice of the lines `first` to `last`, as people count them, if `shown` is exactly these, with
/// or without a line end behind them. The empty line after the last line end belongs to the last
/// line, as for [`locate_slice`].
pub fn slice_of_lines(text: &str, (first, last): (u64, u64), shown: &str) -> Option<Slice> {
    let lines = Slice { first_line: first, last_line: last, suffix: String::new() };
    let wanted = render_slice(text, &lines)?;
    match shown.strip_prefix(&wanted)? {
        _ if shown.is_empty() => None,
        "" => Some(lines),
        "\n" if text.ends_with('\n') && newlines(text) == last => {
            Some(Slice { last_line: last + 1, ..lines })
        }
        "\n" => Some(Slice { suffix: "\n".to_owned(), ..lines }),
        _ => None,
    }
}

/// Renders a slice again: the lines joined by `
/// `, then the suffix. `None` if `file_text` lacks one of the lines.
pub fn render_slice(file_text: &str, slice: &Slice) -> Option<String> {
    let count = slice.last_line.checked_sub(slice.first_line)?;
    let rest = &file_text[line_start(file_text, slice.first_line)?..];
    let last_start = line_start(rest, count.checked_add(1)?)?;
    let end = rest[last_start..].find('\n').map_or(rest.len(), |length| last_start + length);
    Some(format!("{}{}", &rest[..end], slice.suffix))
}

/// Byte offset of the start of a line, from 1; `None` beyond the last.
fn line_start(text: &str, line: u64) -> Option<usize> {
    match line {
        0 => None,
        1 => Some(0),
        _ => {
            let newline = usize::try_from(line - 2).ok()?;
            text.match_indices('\n').nth(newline).map(|(offset, _)| offset + 1)
        }
    }
}

/// The parts of a shown text that may be lines: all of it, or the part before a notice at its end;
/// longest first.
fn bodies(shown: &str) -> impl Iterator<Item = &str> {
    let earliest = shown.len().saturating_sub(MAX_SUFFIX_BYTES);
    let notices = shown
        .rmatch_indices("\n\n[")
        .take_while(move |(offset, _)| *offset >= earliest)
        .filter(|_| shown.ends_with(']'));
    std::iter::once(shown).chain(notices.map(|(offset, _)| &shown[..offset]))
}

/// The number of line ends in a text.
pub fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// The number of lines of a text, as people count them: what ends the last line begins none.
pub fn line_count(text: &str) -> u64 {
    newlines(text.strip_suffix('\n').unwrap_or(text)) + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slice(first_line: u64, last_line: u64, suffix: &str) -> Slice {
        Slice { first_line, last_line, suffix: suffix.into() }
    }

    #[test]
    fn whole_files_are_all_their_lines() {
        for (text, last) in
            [("", 1), ("a", 1), ("a\n", 2), ("\n\n", 3), ("a\r\nb", 2), ("é\0\n☂", 2)]
        {
            assert_eq!(locate_slice(text, text, 1), Some(slice(1, last, "")), "{text:?}");
        }
    }

    #[test]
    fn a_notice_after_the_lines_is_kept_as_suffix() {
        let notice = "\n\n[2 more lines in file. Use offset=3 to continue.]";
        let shown = format!("a\nb{notice}");
        assert_eq!(locate_slice("a\nb\nc\n", &shown, 1), Some(slice(1, 2, notice)));
    }

    #[test]
    fn a_notice_that_stands_in_the_file_counts_as_lines() {
        let text = "a\n\n[x]\n\n[y]\nb";
        assert_eq!(locate_slice(text, "a\n\n[x]", 1), Some(slice(1, 3, "")));
        assert_eq!(locate_slice(text, "a\n\n[x]\n\n[z]", 1), Some(slice(1, 3, "\n\n[z]")));
    }

    #[test]
    fn other_texts_are_no_slice() {
        let text = "abc\ndef\nghi";
        let long_notice = format!("abc\n\n[{}]", "x".repeat(MAX_SUFFIX_BYTES));
        for (shown, first) in [
            ("ab", 1),
            ("def\ngh", 2),
            ("abc\n", 1),
            ("abc", 2),
            ("abc", 0),
            ("ghi", 4),
            ("ghi", u64::MAX),
            ("abc\n\n[open", 1),
            ("abc\n[x]", 1),
            ("\n\n[no lines]", 1),
            ("", 1),
            (&long_notice, 1),
        ] {
            assert_eq!(locate_slice(text, shown, first), None, "{shown:?}");
        }
    }

    #[test]
    fn slices_beyond_the_text_do_not_render() {
        for (first, last) in [(0, 1), (2, 1), (1, 4), (4, 4), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            assert_eq!(render_slice("a\nb\nc", &slice(first, last, "")), None, "{first}-{last}");
        }
        assert_eq!(render_slice("a\nb\nc", &slice(3, 3, "!")).as_deref(), Some("c!"));
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn what_is_located_renders_to_what_was_shown(
            text in "[ab\\[\\]é\r\n]{0,40}",
            from in 1_u64..8,
            length in 0_u64..8,
            suffix in prop_oneof![Just(String::new()), "\n\n\\[[a\n\\[\\]]{0,8}\\]"],
        ) {
            let wanted = slice(from, from + length, &suffix);
            if let Some(shown) = render_slice(&text, &wanted) {
                let found = locate_slice(&text, &shown, from);
                prop_assert!(found.as_ref().is_some_and(|found| found.last_line >= wanted.last_line));
                prop_assert_eq!(found.and_then(|found| render_slice(&text, &found)), Some(shown));
            }
        }

        #[test]
        fn any_text_that_is_located_renders_again(
            text in "[a\\[\\]\n]{0,20}",
            shown in "[a\\[\\]\n]{0,20}",
            from in 0_u64..6,
        ) {
            if let Some(found) = locate_slice(&text, &shown, from) {
                prop_assert_eq!(render_slice(&text, &found), Some(shown));
            }
        }
    }
}
