//! Shows a part of a line that is too long to be shown among others: its ends, what surrounds a
//! place in it, or the characters that were asked for. What lies between is counted and named, in a
//! form that `activate` takes. Pure text.

mod difference;

use std::ops::Range;

pub use self::difference::difference;
use super::forms;
use base::object::Handle;
use session::{Columns, characters};

/// Characters shown on each side of a place in a line.
const AROUND_CHARS: u64 = 150;

/// The columns that show both ends of a line, in all at most this many characters; none if the line
/// is no longer.
pub fn ends(line: &str, number: u64, most: usize) -> Vec<Columns> {
    let length = if line.len() <= most { 0 } else { line.chars().count() };
    if length <= most {
        return Vec::new();
    }
    let (length, side) = (length as u64, most as u64 / 2);
    let head = Columns { line: number, first: 1, last: side };
    let tail = Columns { line: number, first: length - side + 1, last: length };
    vec![head, tail]
}

/// The columns around some places of a line, given in bytes and in order; none if the line has no
/// more than `most` characters. A place of more characters is shown by its ends.
pub fn around(
    line: &str,
    number: u64,
    most: usize,
    places: impl IntoIterator<Item = Range<usize>>,
) -> Vec<Columns> {
    if line.len() <= most || line.chars().count() <= most {
        return Vec::new();
    }
    let length = line.chars().count() as u64;
    let mut columns: Vec<Columns> = Vec::new();
    let (mut byte, mut character) = (0, 0);
    let mut column = |to: usize| {
        // Places overlap only where they touch.
        let from = if to < byte { (0, 0) } else { (byte, character) };
        (byte, character) = (to, from.1 + line[from.0..to].chars().count() as u64);
        character
    };
    for place in places {
        let (first, last) = (column(place.start) + 1, column(place.end));
        let is_long = last >= first + most as u64;
        let edges = if is_long { vec![first..=first, last..=last] } else { vec![first..=last] };
        for edge in edges {
            let first = edge.start().saturating_sub(AROUND_CHARS).max(1);
            let last = (edge.end().max(edge.start()) + AROUND_CHARS).min(length);
            match columns.last_mut() {
                Some(before) if first <= before.last + forms::COUNTED_CHARS => {
                    before.last = before.last.max(last);
                }
                _ => columns.push(Columns { line: number, first, last }),
            }
        }
    }
    columns
}

/// A line of which only some columns are shown, which are in order; all of it if there are none.
///
/// `place`: names what lies between; a line without a name of its own is only counted.
pub fn shown(line: &str, columns: &[Columns], place: Option<Handle>, number: u64) -> String {
    shown_behind(0, line, columns, place, number)
}

/// The same of the end of a line, behind so many characters of it.
pub fn shown_behind(
    before: u64,
    line: &str,
    columns: &[Columns],
    place: Option<Handle>,
    number: u64,
) -> String {
    if columns.is_empty() {
        return line.to_owned();
    }
    let length = line.chars().count() as u64;
    let between = |first: u64, last: u64| {
        let columns = Columns { line: number, first: before + first, last: before + last };
        (first <= last).then(|| forms::columns_between(place, columns))
    };
    let mut parts = Vec::new();
    let mut next = 1;
    for part in columns {
        parts.extend(between(next, part.first - 1));
        parts.push(characters(line, part).to_owned());
        next = part.last + 1;
    }
    parts.extend(between(next, length));
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ends_of_a_long_line_are_shown_and_the_middle_is_named() {
        let t17 = Handle::parse("t17");
        let line = format!("é{}z", "-".repeat(998));
        let columns = ends(&line, 5, 8);
        assert_eq!(
            shown(&line, &columns, t17, 5),
            "é--- … 992 characters between (t17:5:5-996) … ---z"
        );
        assert_eq!(shown(&line, &columns, None, 5), "é--- … 992 characters … ---z");
        assert_eq!(ends(&line, 5, 1_000), []);
        assert_eq!(ends("éé", 5, 3), [], "characters count, not bytes");
    }

    #[test]
    fn what_surrounds_places_is_shown_once() {
        let line = (0..1_000).map(|n| format!("{n:04}")).collect::<Vec<_>>().concat();
        let place = |word: usize| 4 * word..4 * word + 4;
        let columns = around(&line, 1, 400, [place(100), place(110), place(900)]);
        let all: Vec<(u64, u64)> = columns.iter().map(|one| (one.first, one.last)).collect();
        assert_eq!(all, [(251, 594), (3_451, 3_754)]);
        assert_eq!(around(&line, 1, 4_000, [place(100)]), []);
        let whole = around(&line, 1, 400, std::iter::once(0..line.len()));
        let all: Vec<(u64, u64)> = whole.iter().map(|one| (one.first, one.last)).collect();
        assert_eq!(all, [(1, 151), (3_850, 4_000)]);
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn every_character_is_shown_or_counted(
            line in "[aé☂]{0,900}", places in prop::collection::vec(0usize..900, 0..6),
        ) {
            let mut places: Vec<usize> = places.into_iter().filter(|at| line.is_char_boundary(*at)).collect();
            places.sort_unstable();
            let columns = around(&line, 1, 400, places.into_iter().map(|at| at..at));
            let rendered = shown(&line, &columns, None, 1);
            let (mut total, mut rest) = (0, rendered.as_str());
            while let Some((before, after)) = rest.split_once('…') {
                let (count, after) = after.split_once('…').unwrap();
                total += before.trim().chars().count();
                total += count.split_whitespace().next().unwrap().replace(',', "").parse::<usize>().unwrap();
                rest = after;
            }
            total += rest.trim().chars().count();
            prop_assert_eq!(total, line.chars().count());
        }
    }
}
