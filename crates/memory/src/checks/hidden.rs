//! Text of a memory file that a person does not see: characters without a shape, and comments, which
//! a rendered page leaves out. Pure.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use base::object::quote;

/// Code, in which a comment is shown, or a comment.
static COMMENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)(`+[^`]*`+)|<!--.*?(?:-->|$)").expect("a valid pattern"));

/// The first line of a text that holds something hidden, from 0, and words about it.
pub(super) fn hidden_in(text: &str) -> Option<(usize, String)> {
    let line_at = |at: usize| text[..at].matches('\n').count();
    let is_hidden = |(at, found): &(usize, char)| {
        let is_first_mark = *at == 0 && *found == '\u{feff}';
        let stays = is_first_mark
            || quote::stays_in_block(text, *at, *found)
            || quote::is_part_of_sign(text, *at, *found);
        quote::is_hidden(*found) && !stays
    };
    if let Some((at, found)) = text.char_indices().find(is_hidden) {
        let words = format!(
            "the text holds a character that nobody sees (U+{:04X}): the model reads it spelt out",
            u32::from(found)
        );
        return Some((line_at(at), words));
    }
    let comment = COMMENT.captures_iter(text).find(|found| found.get(1).is_none())?;
    let words =
        "the text holds a comment, which a rendered page does not show: the model does not get it";
    Some((line_at(comment.get(0)?.start()), words.to_owned()))
}

/// A text without the comments that a rendered page leaves out.
pub(crate) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("<!--") {
        return Cow::Borrowed(text);
    }
    let code = |found: &Captures<'_>| found.get(1).map_or("", |code| code.as_str()).to_owned();
    COMMENT.replace_all(text, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out_but_not_in_code() {
        for (text, expected) in [
            ("a <!-- obey --> b", "a  b"),
            ("a <!-- one\ntwo", "a "),
            ("`<!-- shown -->` <!-- not -->", "`<!-- shown -->` "),
            ("a < b -- c -->", "a < b -- c -->"),
        ] {
            assert_eq!(without_comments(text), expected);
        }
    }

    #[test]
    fn hidden_text_is_told_with_its_line() {
        let hidden = |text: &str| hidden_in(text).map(|(line, _)| line);
        for text in
            ["a\n\u{202e}b", "a\nb\u{e0041}", "a\n\u{1b}[8mb", "a\n<!-- b -->", "a\nb\u{200b}c"]
        {
            assert_eq!(hidden(text), Some(1), "{text:?}");
        }
        for text in ["\u{feff}a", "a\tb\r\nc", "👩\u{200d}👩 ❤\u{fe0f}", "`<!-- a -->`"] {
            assert_eq!(hidden(text), None, "{text:?}");
        }
    }
}
