//! Renders a partly shown output from its pieces. Pure text.

use std::borrow::Cow;

use super::plain::{plain, trimmed};
use super::tokens::Counter;
use super::{forms, long_line};
use base::error::{Error, Result};
use base::object::Handle;
use session::{LineRange, Numbering, Piece};

/// Makes the line that says where lines stand. Arguments: position of the message, lines of the
/// object that it shows, and the line to quote, if any. `None` if that message shows no lines.
pub type StandingLine<'a> = &'a dyn Fn(u64, LineRange, Option<&str>) -> Option<String>;

/// How the omitted lines are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedLines {
    /// Handle of the output, or of the file that it shows.
    pub handle: Handle,
    /// Their line numbers in the object with that handle.
    pub numbering: Numbering,
}

/// Renders the pieces of an output.
///
/// # Errors
/// `INTERNAL` if a piece refers to a message that shows no lines.
pub fn render(
    text: &str,
    pieces: &[Piece],
    named: NamedLines,
    line: StandingLine<'_>,
) -> Result<String> {
    let NamedLines { handle, numbering } = named;
    let lines: Vec<&str> = text.split('\n').collect();
    let mut rendered: Vec<String> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Shown { shown } => {
                rendered.extend(numbered(&lines, *shown).map(|(_, line)| line.to_owned()));
            }
            Piece::Ends { ends, chars } => {
                let most = usize::try_from(*chars).unwrap_or(usize::MAX);
                rendered.extend(numbered(&lines, *ends).map(|(number, line)| {
                    let before = numbering.characters_before(number);
                    let number = numbering.line(number);
                    let columns = long_line::ends(line, number, most);
                    long_line::shown_behind(before, line, &columns, Some(handle), number)
                }));
            }
            Piece::Between { between, of } => {
                rendered.push(forms::between_line(handle, numbering.place(*between), *of));
            }
            Piece::Standing { standing: here, at, .. } => {
                let quote = saying(&lines, *here);
                let quote = quote.as_deref();
                let standing = piece.stands_at().and_then(|(at, there)| line(at, there, quote));
                rendered.push(standing.ok_or_else(|| {
                    Error::internal(format!("lines are said to stand at message {at}"))
                })?);
            }
        }
    }
    Ok(rendered.join("\n"))
}

/// Approximate tokens of an output's rendered pieces, for decisions. Approximate because handles
/// and places differ in length.
pub fn rendered_tokens(text: &str, pieces: &[Piece], counter: Counter) -> u64 {
    let Some(handle) = Handle::parse("t1000") else { return u64::MAX };
    let line = |_: u64, there: LineRange, quote: Option<&str>| {
        Some(forms::as_in_line(handle, there, None, quote))
    };
    let rendered =
        render(text, pieces, NamedLines { handle, numbering: Numbering::after(1_000) }, &line);
    rendered.map_or(u64::MAX, |text| counter.count(&text))
}

/// The first of these lines that says something.
fn saying<'a>(lines: &[&'a str], range: LineRange) -> Option<Cow<'a, str>> {
    let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX).min(lines.len());
    let here = lines.get(index(range.first - 1)..index(range.last))?;
    let mut said = here.iter().map(|line| plain(line));
    said.find(|line| line.chars().any(char::is_alphanumeric)).map(trimmed)
}

/// Lines with their numbers.
fn numbered<'a>(lines: &[&'a str], range: LineRange) -> impl Iterator<Item = (u64, &'a str)> {
    (range.first..=range.last).map(|number| {
        let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        (number, lines.get(index).copied().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn handle(name: &str) -> Handle {
        Handle::parse(name).unwrap()
    }

    fn range(first: u64, last: u64) -> LineRange {
        LineRange { first, last }
    }

    fn rendered(text: &str, pieces: &[Piece]) -> String {
        let line = |at: u64, there: LineRange, quote: Option<&str>| {
            Some(forms::as_in_line(handle(&format!("t{at}")), there, None, quote))
        };
        render(
            text,
            pieces,
            NamedLines { handle: handle("t17"), numbering: Numbering::after(0) },
            &line,
        )
        .unwrap()
    }

    #[test]
    fn pieces_stand_in_the_order_of_their_lines() {
        let log: Vec<String> = (1..=1_400).map(|n| format!("line {n} of the log")).collect();
        let pieces = [
            Piece::Shown { shown: range(1, 2) },
            Piece::Between { between: range(3, 80), of: None },
            Piece::Standing { standing: range(81, 111), at: 12, first: 40 },
            Piece::Standing { standing: range(112, 116), at: 13, first: 71 },
            Piece::Between { between: range(117, 1_398), of: None },
            Piece::Shown { shown: range(1_399, 1_400) },
        ];
        insta::assert_snapshot!(rendered(&log.join("\n"), &pieces), @r#"
        line 1 of the log
        line 2 of the log
        … 78 lines between (t17:3-80) …
        … 31 lines as in t12:40-70, from "line 81 of the log" …
        … 5 lines as in t13:71-75, from "line 112 of the log" …
        … 1,282 lines between (t17:117-1398) …
        line 1399 of the log
        line 1400 of the log
        "#);
    }

    #[test]
    fn lines_of_a_file_have_the_numbers_that_they_have_in_the_file() {
        let pieces = [
            Piece::Shown { shown: range(1, 1) },
            Piece::Between { between: range(2, 40), of: None },
        ];
        let named = NamedLines { handle: handle("f3"), numbering: Numbering::after(200) };
        let text = render("fn main() {", &pieces, named, &|_, _, _| None).unwrap();
        assert_eq!(text, "fn main() {\n… 39 lines between (f3:202-240) …");
    }

    #[test]
    fn one_endless_line_is_cut_by_characters() {
        let piece = Piece::Ends { ends: range(1, 1), chars: 400 };
        let shown = rendered(&"ä".repeat(100_000), &[piece]);
        assert!(shown.contains("ä … 99,600 characters between (t17:1:201-99800) … ä"), "{shown}");
    }

    #[test]
    fn lines_that_stand_nowhere_are_an_error() {
        let piece = Piece::Standing { standing: range(1, 9), at: 3, first: 1 };
        assert!(
            render(
                "a",
                &[piece],
                NamedLines { handle: handle("t17"), numbering: Numbering::after(0) },
                &|_, _, _| None
            )
            .is_err()
        );
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn every_line_is_shown_or_counted_once(forms in prop::collection::vec(0u8..4, 1..60)) {
            let text: Vec<String> = (1..=forms.len()).map(|n| n.to_string()).collect();
            let pieces = session::join_pieces((1..=forms.len() as u64).map(|line| {
                let one = range(line, line);
                match forms[usize::try_from(line).unwrap() - 1] {
                    0 | 1 => Piece::Shown { shown: one },
                    2 => Piece::Between { between: one, of: None },
                    _ => Piece::Standing { standing: one, at: 12, first: line + 7 },
                }
            }));
            let mut next = 1;
            for line in rendered(&text.join("\n"), &pieces).lines() {
                if let Some(rest) = line.strip_prefix("… ") {
                    next += rest.split(' ').next().unwrap().parse::<usize>().unwrap();
                } else {
                    prop_assert_eq!(line, next.to_string());
                    next += 1;
                }
            }
            prop_assert_eq!(next, forms.len() + 1);
        }
    }
}
