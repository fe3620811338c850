//! A line as a terminal would show it: without colours, other escapes and control characters. Pure
//! text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Control sequences, strings for the terminal's title, links and other commands, two-character
/// escapes, and characters that a backspace takes back. Source: ECMA-48, section 5.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    let escapes = [
        r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]",
        r"(?:\x1b[\]PX^_]|[\x9d\x90])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?",
        r"\x1b[ -/]*[0-~]",
        r"[^\x08\x1b]\x08",
    ];
    Regex::new(&escapes.join("|")).expect("a constant that a test compiles")
});

/// A line without escapes, control characters but tabs, and white space at its end. Of what a
/// progress bar overwrote, the last state stays.
pub fn plain(line: &str) -> Cow<'_, str> {
    let line = line.trim_end();
    let acts = |letter: char| letter.is_control() && letter != '\t';
    if !line.contains(acts) {
        return Cow::Borrowed(line);
    }
    let line = ESCAPES.replace_all(line, "");
    let states = line.rsplit('\r').map(|state| state.replace(acts, ""));
    let last = states.map(|state| state.trim_end().to_owned()).find(|state| !state.is_empty());
    Cow::Owned(last.unwrap_or_default())
}

/// A line without white space at its ends.
pub fn trimmed(line: Cow<'_, str>) -> Cow<'_, str> {
    match line {
        Cow::Borrowed(line) => Cow::Borrowed(line.trim()),
        Cow::Owned(line) => Cow::Owned(line.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_line_is_what_a_terminal_shows_of_it() {
        for (line, expected) in [
            ("plain\ttext  ", "plain\ttext"),
            ("\u{1b}[1;31merror\u{1b}[0m: no", "error: no"),
            ("\u{9b}31mred\u{9b}0m", "red"),
            ("\u{1b}]8;;https://a.b\u{1b}\\link\u{1b}]8;;\u{7}", "link"),
            ("\u{1b}]0;title\u{7}$ x", "$ x"),
            ("\u{1b}(Bx\u{1b}[?25h\u{1b}=", "x"),
            ("10%\r50%\r100%\u{1b}[K\r", "100%"),
            ("\u{1b}[2K\rDone\u{1b}[2K\r\u{1b}[K", "Done"),
            ("N\u{8}NA\u{8}AME", "NAME"),
            ("a\u{0}b\u{7f}\u{85}c", "abc"),
            ("\u{1b}[31", "31"),
            ("\u{1b}", ""),
            ("👩‍👩‍👧 می‌خواهم", "👩‍👩‍👧 می‌خواهم"),
        ] {
            assert_eq!(plain(line), expected, "{line:?}");
        }
    }
}
