//! Which lines of a content somebody asks for, as people and models write it: `40-80`, `390-`,
//! `-50`, `L10-L20`, `1:3000-4000`. Parses only; how many lines there are is the content's.

use std::sync::LazyLock;

use regex::Regex;

/// A part of a content, as it was asked for. Lines and characters count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it: `all`.
    All,
    /// Lines, in either order: `40-80`, `7`.
    Lines(u64, u64),
    /// From a line to the end: `390-`.
    From(u64),
    /// This many lines at the end: `-50`.
    Last(u64),
    /// Characters of a line: `1:3000-4000`, `1:3000-`.
    Columns(u64, u64, Option<u64>),
    /// Two numbers without more, as compilers name a line and a character: `10:5`.
    Place(u64, u64),
}

/// A replacement that brings one way of writing parts to another.
struct Rule(Regex, &'static str);

/// What is written differently by different people, in lower case.
static RULES: LazyLock<[Rule; 7]> = LazyLock::new(|| {
    let rule =
        |form: &str, plain| Rule(Regex::new(form).expect("constants that tests compile"), plain);
    [
        rule(r"\s+of\s+[\d,]+\s*:?$", ""),
        rule(r"\b(?:lines?|rows?|ln)\b\s*:?\s*#?(l?-?\d)", "$1"),
        rule(r"(^|[^a-z0-9])[l#]+(\d)", "$1$2"),
        rule(r"\s*(?:[\u{2010}-\u{2015}\u{2212}]|\.\.+=?|\bto\b|\bthrough\b|\buntil\b)\s*", "-"),
        rule(r"\s*([-:])\s*(\d|end\b|eof\b)", "$1$2"),
        rule(r"\b(?:first|head|top)\s*-?(\d+)(?:\s+lines?\b)?", "1-$1"),
        rule(r"\b(?:last|tail|bottom)\s*-?(\d+)(?:\s+lines?\b)?", "-$1"),
    ]
});

/// One part.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"^(?:(\d+)|(\d+)\s*-\s*(?:\+|end|eof|last|\$)?|(\d+)\+|-(\d+)|(\d+)-(\d+)|(\d+):(\d+)-(\d*)|(\d+):(\d+)-(\d+):(\d+)|(\d+):(\d+))$";
    Regex::new(form).expect("a constant that tests compile")
});

/// What surrounds a name or a range in a sentence.
pub(super) const AROUND: &[char] =
    &['[', ']', '(', ')', '{', '}', '<', '>', '"', '\'', '`', '“', '”', '’', '‘', ',', ';'];

impl Part {
    /// The parts that a text names, separated by commas, semicolons, blanks or `and`. `None` for
    /// any other text.
    pub fn parse(text: &str) -> Option<Vec<Self>> {
        let mut plain = text.to_lowercase();
        for Rule(form, by) in RULES.iter() {
            plain = form.replace_all(&plain, *by).into_owned();
        }
        let words = plain.split([',', ';', '&']).flat_map(str::split_whitespace);
        let words = words.map(|word| word.trim_matches(AROUND).trim_end_matches([':', '.']));
        let named = words.filter(|word| !word.is_empty() && *word != "and");
        let parts: Vec<Self> = named.map(Self::of_word).collect::<Option<_>>()?;
        (!parts.is_empty()).then_some(parts)
    }

    fn of_word(word: &str) -> Option<Self> {
        if matches!(word, "all" | "*" | "everything" | "whole") {
            return Some(Self::All);
        }
        let found = PART.captures(word)?;
        let number = |group: usize| {
            let digits = found.get(group)?.as_str();
            (!digits.is_empty()).then(|| digits.parse::<u64>().unwrap_or(u64::MAX).max(1))
        };
        let pair = |first, last| Some((number(first)?, number(last)?));
        Some(if let Some(line) = number(1) {
            Self::Lines(line, line)
        } else if let Some(first) = number(2).or(number(3)) {
            Self::From(first)
        } else if let Some(count) = number(4) {
            Self::Last(count)
        } else if let Some((first, last)) = pair(5, 6) {
            Self::Lines(first, last)
        } else if let Some((line, first)) = pair(7, 8) {
            Self::Columns(line, first, number(9))
        } else if let (Some((line, first)), Some((until, last))) = (pair(10, 11), pair(12, 13)) {
            if line == until {
                Self::Columns(line, first, Some(last))
            } else {
                Self::Lines(line, until)
            }
        } else {
            let (line, column) = pair(14, 15)?;
            Self::Place(line, column)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_read_as_people_and_models_write_them() {
        for (texts, expected) in [
            (
                &["40-80", "L40-L80", "#L40-L80", "lines 40-80", "40 - 80", "40–80", "40..80"][..],
                Part::Lines(40, 80),
            ),
            (
                &["40 to 80", "lines 40 through 80", "[40-80]", "`40-80`", "40:1-80:9"],
                Part::Lines(40, 80),
            ),
            (&["40-80 of 412", "Lines: 40-80 of 1,412:", "l40-80"], Part::Lines(40, 80)),
            (&["7", "L7", "line 7", "07", "(7)"], Part::Lines(7, 7)),
            (&["20-10"], Part::Lines(20, 10)),
            (&["0-4", "first 4", "head -4", "1-4"], Part::Lines(1, 4)),
            (&["390-", "390+", "390-end", "390 - end", "lines 390-", "390.."], Part::From(390)),
            (&["-50", "last 50", "tail -50", "last 50 lines"], Part::Last(50)),
            (
                &["1:3000-4000", "L1:3000-4000", "1:3000-1:4000"],
                Part::Columns(1, 3_000, Some(4_000)),
            ),
            (&["1:3000-"], Part::Columns(1, 3_000, None)),
            (&["10:5"], Part::Place(10, 5)),
            (&["all", "ALL", "*"], Part::All),
        ] {
            for text in texts {
                assert_eq!(Part::parse(text), Some(vec![expected]), "{text}");
            }
        }
        let both = Some(vec![Part::Lines(1, 3), Part::Lines(9, 9)]);
        for text in [
            "1-3,9",
            "1-3, 9",
            "1-3; 9",
            "1-3 and 9",
            "1-3 9",
            "lines 1-3, line 9",
            "[\"1-3\", \"9\"]",
        ] {
            assert_eq!(Part::parse(text), both, "{text}");
        }
        for text in
            ["", " ", "x", "1-2-3", "412 lines", "t7", "src", "1.5", "-", ":", "10-x", "+4 -1"]
        {
            assert_eq!(Part::parse(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn no_text_makes_reading_parts_panic(text in "[0-9lL#:, .+-–toend]{0,24}") {
            let _ = Part::parse(&text);
        }
    }
}
