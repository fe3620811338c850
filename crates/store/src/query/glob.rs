//! Patterns with `*`, `?` and sets, translated for the crate `regex`.
//!
//! The crate `globset` matches bytes and gives `{a,b}`, `**/` and `[^a]` a special meaning. Here
//! `?` is one character, however many bytes it takes, and the others are ordinary characters.

use regex::{Regex, RegexBuilder};

use base::error::{Error, Result};

/// Most bytes that a translated pattern may take.
const MAX_BYTES: usize = 10 << 20;

/// A pattern for whole texts, see [`Self::new`].
#[derive(Debug, Clone)]
pub struct Glob {
    pub(super) pattern: String,
    regex: Regex,
}

impl Glob {
    /// Reads a pattern: `*` stands for any characters, `/` too; `?` for one; `[a-z]` and `[!a]` for
    /// one of a set; `\` takes the next character as it is. A `[` without a `]`, and a `\` at the
    /// end, stand for themselves.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a pattern that is too large to match with: several hundred kilobytes.
    pub fn new(pattern: impl Into<String>) -> Result<Self> {
        Self::within(pattern.into(), MAX_BYTES)
    }

    fn within(pattern: String, max_bytes: usize) -> Result<Self> {
        let too_large = |_| Error::argument("query", "has a pattern that is too large");
        let mut regex = RegexBuilder::new(&regex_of(&pattern));
        let regex = regex.size_limit(max_bytes).build().map_err(too_large)?;
        Ok(Self { pattern, regex })
    }

    /// Whether the whole text matches.
    pub fn fits(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

fn regex_of(pattern: &str) -> String {
    let mut regex = String::from("(?s)^");
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '\\' => push_literal(&mut regex, rest.next().unwrap_or('\\')),
            '[' => match set(rest.as_str()) {
                Some((set, after)) => {
                    regex.push_str(&set);
                    rest = after.chars();
                }
                None => push_literal(&mut regex, '['),
            },
            c => push_literal(&mut regex, c),
        }
    }
    regex.push('$');
    regex
}

fn push_literal(regex: &mut String, c: char) {
    regex.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}

/// Translates the text after a `[`; returns the set and the rest. A `]` right at the start belongs
/// to the set. `None` if no `]` closes it.
fn set(rest: &str) -> Option<(String, &str)> {
    let (negated, rest) = match rest.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let first = rest.chars().next()?.len_utf8();
    let end = first + rest[first..].find(']')?;
    let mut members: Vec<char> = rest[..end].chars().rev().collect();
    let mut ranges: Vec<String> = Vec::new();
    while let Some(first) = members.pop() {
        let last = match members[..] {
            [.., last, '-'] => {
                members.truncate(members.len() - 2);
                last
            }
            _ => first,
        };
        // A backward range is empty.
        if first <= last {
            ranges.push(format!("\\x{{{:X}}}-\\x{{{:X}}}", u32::from(first), u32::from(last)));
        }
    }
    let set = match (negated, ranges.is_empty()) {
        (false, true) => r"[^\s\S]".to_owned(),
        (true, true) => ".".to_owned(),
        (false, false) => format!("[{}]", ranges.concat()),
        (true, false) => format!("[^{}]", ranges.concat()),
    };
    Some((set, &rest[end + 1..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).unwrap().fits(text)
    }

    #[test]
    fn patterns_fit_as_a_whole() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "a/b\n"),
            ("src/*.rs", "src/a/b.rs"),
            ("a?c", "aéc"),
            ("*ab*ab", "xababab"),
            ("[a-c][!x-z]", "bw"),
            ("[]a]", "]"),
            ("[-a]", "-"),
            ("[a-]", "-"),
            ("[!é]", "👍"),
            ("[!b-a]", "a"),
            ("[^a]", "^"),
            (r"\*\[", "*["),
            ("[a", "[a"),
            (r"a\", r"a\"),
            ("{a,b}.(c)$", "{a,b}.(c)$"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", "ab"),
            ("a", "a\n"),
            ("?", ""),
            ("[a-c]", "d"),
            ("[b-a]", "a"),
            ("[!a]", "a"),
            (r"\*", "x"),
            ("A", "a"),
            ("**/a", "a"),
            ("{a,b}", "a"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_without_bounds_is_refused() {
        let pattern = "?".repeat(100);
        assert!(Glob::within(pattern.clone(), MAX_BYTES).is_ok());
        assert_eq!(Glob::within(pattern, 1 << 10).unwrap_err().code(), "INVALID_ARGUMENT");
    }

    /// The same by trying every way.
    fn plainly(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|taken| plainly(rest, &text[taken..])),
            Some((c, rest)) => text
                .split_first()
                .is_some_and(|(t, text)| (*c == '?' || c == t) && plainly(rest, text)),
        }
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn runs_fit_as_when_every_way_is_tried(pattern in "[ab*?]{0,7}", text in "[ab]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(fits(&pattern, &text), plainly(&chars(&pattern), &chars(&text)));
        }

        #[test]
        fn no_pattern_panics(pattern in "[ab*?!\\[\\]\\\\é-]{0,10}", text in "[abé\\]-]{0,6}") {
            fits(&pattern, &text);
        }
    }
}
