//! Patterns with `*`, `?` and sets. Pure; at most (length of pattern) × (length of text) steps.

/// Whether a text fits a pattern as a whole, see [`super::Test::Glob`]. A `[` that no `]` closes, and a `\` at the end, stand
/// for themselves.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let pattern = parts(pattern);
    let text: Vec<char> = text.chars().collect();
    let (mut part, mut place) = (0, 0);
    // Where the last `*` stood, and how far into the text it reaches so far.
    let mut star: Option<(usize, usize)> = None;
    while place < text.len() {
        match pattern.get(part) {
            Some(Part::Run) => {
                star = Some((part, place));
                part += 1;
            }
            Some(one) if one.fits(text[place]) => {
                part += 1;
                place += 1;
            }
            _ => {
                let Some((run, reach)) = star else { return false };
                star = Some((run, reach + 1));
                (part, place) = (run + 1, reach + 1);
            }
        }
    }
    pattern[part..].iter().all(|part| matches!(part, Part::Run))
}

enum Part {
    /// Any characters.
    Run,
    /// One character.
    One,
    /// This character.
    Char(char),
    /// One of a set of ranges, or of none of them.
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Part {
    fn fits(&self, c: char) -> bool {
        match self {
            Self::Run => false,
            Self::One => true,
            Self::Char(wanted) => *wanted == c,
            Self::Set { negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *negated
            }
        }
    }
}

fn parts(pattern: &str) -> Vec<Part> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut parts = Vec::with_capacity(chars.len());
    let mut place = 0;
    while let Some(c) = chars.get(place) {
        place += 1;
        parts.push(match c {
            '*' => Part::Run,
            '?' => Part::One,
            '\\' => {
                let taken = chars.get(place).copied();
                place += usize::from(taken.is_some());
                Part::Char(taken.unwrap_or('\\'))
            }
            '[' => match set(&chars[place..]) {
                Some((set, length)) => {
                    place += length;
                    set
                }
                None => Part::Char('['),
            },
            c => Part::Char(*c),
        });
    }
    parts
}

/// Reads what follows `[`; returns it with the number of its characters. A `]` right at the start belongs to the set.
fn set(chars: &[char]) -> Option<(Part, usize)> {
    let negated = chars.first() == Some(&'!');
    let start = usize::from(negated);
    let end = (start + 1..chars.len()).find(|place| chars[*place] == ']')?;
    let mut ranges = Vec::new();
    let mut rest = &chars[start..end];
    while let Some((first, after)) = rest.split_first() {
        rest = match after {
            ['-', last, after @ ..] => {
                ranges.push((*first, *last));
                after
            }
            after => {
                ranges.push((*first, *first));
                after
            }
        };
    }
    Some((Part::Set { negated, ranges }, end + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            (r"\*\[", "*["),
            ("[a", "[a"),
            (r"a\", r"a\"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", "ab"),
            ("?", ""),
            ("[a-c]", "d"),
            ("[!a]", "a"),
            (r"\*", "x"),
            ("A", "a"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
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
