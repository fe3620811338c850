//! Lines of a cited file: what stood there when they were pinned, and whether and where it stands
//! now. What formatters change does not count: blanks, empty lines, line endings. Must not look at
//! files.

use std::cell::OnceCell;
use std::collections::HashMap;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::blocks::{Definitions, Heading, definitions, headings, section};
use crate::claim::{Said, Settings, has_word, is_plain, settings, squeezed};
use base::object::Hash;

/// Most lines that are tracked; a longer range counts as the whole file.
const MAX_LINES: usize = 500;
/// Most lines of which a mark is kept.
const MAX_MARKS: usize = 40;
/// Digits of a mark.
const MARK_CHARS: usize = 4;
/// The mark of a line that says too little to be found again.
const NO_MARK: &str = "----";
/// Least characters of a line that has a mark.
const MIN_MARKED: usize = 4;

/// Lines of a cited file. They are found wherever they move.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PinnedLines {
    /// The first, when it was pinned.
    pub first: u32,
    /// Number of lines.
    pub count: u32,
    /// SHA-256 of the lines that are not empty, without blanks, joined with LF.
    pub hash: Hash,
    /// What they define, if the name was cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Number of lines that are not empty.
    pub filled: u32,
    /// How often they stood in the file.
    pub stood: u32,
    /// Four digits for the line before, for some of the lines at equal distances, and for the line
    /// after, by which the place is found again.
    pub marks: String,
}

/// A text by its lines that are not empty, without blanks. What is asked of it more than once is
/// worked out once, since many pins and entries may ask.
#[derive(Debug)]
pub(super) struct BareLines<'a> {
    text: &'a str,
    all: Vec<&'a str>,
    /// Where each line begins in the text.
    starts: Vec<usize>,
    /// Number in the text, from 1, and what it says.
    filled: Vec<(u32, String)>,
    is_markdown: bool,
    marks: OnceCell<Marks>,
    hash: OnceCell<Hash>,
    said_hash: OnceCell<Hash>,
    said: Said<'a>,
    headings: OnceCell<Vec<Heading>>,
    settings: OnceCell<Settings>,
}

/// Where the lines with each mark stand, among those that are not empty.
type Marks = HashMap<String, Vec<usize>>;

impl<'a> BareLines<'a> {
    /// `text`: with LF line endings.
    pub(super) fn of(text: &'a str, is_markdown: bool) -> Self {
        let all: Vec<&str> = text.lines().collect();
        let starts = all.iter().map(|line| line.as_ptr() as usize - text.as_ptr() as usize);
        let numbered = (1..).zip(all.iter().map(|line| squeezed(line)));
        let filled = numbered.filter(|(_, line)| !line.is_empty()).collect();
        Self {
            text,
            starts: starts.collect(),
            all,
            filled,
            is_markdown,
            marks: OnceCell::new(),
            hash: OnceCell::new(),
            said_hash: OnceCell::new(),
            said: Said::of(text),
            headings: OnceCell::new(),
            settings: OnceCell::new(),
        }
    }

    /// All of the text, in which names are looked up.
    pub(super) fn said(&self) -> &Said<'a> {
        &self.said
    }

    /// The definitions of a name.
    pub(super) fn definitions(&self, name: &str) -> Definitions {
        if self.is_markdown {
            let headings = self.headings.get_or_init(|| headings(&self.all));
            let section = section(headings, self.all.len(), name);
            return Definitions { places: section.into_iter().collect(), ..Definitions::default() };
        }
        definitions(&self.all, name, &|part| self.with(part))
    }

    /// The lines of all definitions of a name, from 1, and of what else belongs to its type.
    fn defining(&self, name: &str) -> Vec<(u32, u32)> {
        let Definitions { places, extending, .. } = self.definitions(name);
        places.into_iter().chain(extending).map(numbered).collect()
    }

    /// The lines, from 0, in which a text of one line stands.
    fn with(&self, said: &str) -> Vec<usize> {
        let found = memmem::find_iter(self.text.as_bytes(), said);
        let mut lines: Vec<usize> =
            found.map(|at| self.starts.partition_point(|start| *start <= at) - 1).collect();
        lines.dedup();
        lines
    }

    /// The lines, from 1, in which a name stands that is not a number.
    pub(super) fn saying(&self, name: &str) -> Vec<(u32, u32)> {
        if is_plain(name) {
            let lines = self.with(name).into_iter().filter(|at| has_word(self.all[*at], name));
            return lines.map(|at| numbered((at, at))).collect();
        }
        let name = squeezed(name);
        let lines = self.filled.iter().filter(|(_, line)| line.contains(&name));
        lines.map(|(line, _)| (*line, *line)).collect()
    }

    /// The lines, from 1, that set something to a number.
    pub(super) fn setting(&self, number: &str) -> &[u32] {
        let settings = self.settings.get_or_init(|| settings(&self.all));
        settings.get(number).map_or(&[], Vec::as_slice)
    }

    /// Whether some names stand together within as many lines as a place had. `telling`: one that
    /// can tell where.
    pub(super) fn say_together(&self, names: &[String], telling: &str, count: u32) -> bool {
        self.saying(telling).into_iter().any(|(line, _)| {
            let around = self.text((line.saturating_sub(count - 1).max(1), line + count - 1));
            let said = Said::of(around);
            names.iter().all(|name| said.says(name))
        })
    }

    /// The text of lines, from 1.
    pub(super) fn text(&self, (first, last): (u32, u32)) -> &'a str {
        let from = (first as usize).saturating_sub(1);
        let Some(to) = (last as usize).min(self.all.len()).checked_sub(1) else { return "" };
        let range = self.starts.get(from).map(|start| *start..self.starts[to] + self.all[to].len());
        range.and_then(|range| self.text.get(range)).unwrap_or_default()
    }

    /// SHA-256 of the text.
    pub(super) fn hash(&self) -> &Hash {
        self.hash.get_or_init(|| Hash::of(self.text))
    }

    /// SHA-256 of all that it says.
    pub(super) fn said_hash(&self) -> &Hash {
        let said = || self.filled.iter().map(|(_, line)| line.as_str()).collect::<String>();
        self.said_hash.get_or_init(|| Hash::of(said()))
    }

    /// Marks of some of its lines, at equal distances.
    pub(super) fn sampled(&self) -> String {
        sampled(&self.filled)
    }

    /// The share of some marks, in hundredths, whose lines stand in it.
    pub(super) fn percent_standing(&self, marks: &str) -> usize {
        let marks: Vec<&str> = parted(marks).filter(|mark| *mark != NO_MARK).collect();
        let held = marks.iter().filter(|mark| self.marks().contains_key(**mark)).count();
        (held * 100).checked_div(marks.len()).unwrap_or(0)
    }

    fn marks(&self) -> &Marks {
        self.marks.get_or_init(|| {
            let mut marks = Marks::new();
            for (at, (_, line)) in self.filled.iter().enumerate() {
                marks.entry(mark(line)).or_default().push(at);
            }
            marks
        })
    }

    /// Where lines with these marks may begin, among those that are not empty: by the mark that stands
    /// on the fewest lines, since files repeat many a line. `marks`: as [`sampled`] makes them of
    /// `count` lines.
    fn beginning<'m>(&self, marks: impl IntoIterator<Item = &'m str>, count: usize) -> Vec<usize> {
        let marked = marks.into_iter().map(|mark| self.marked(mark)).zip(0..);
        let rarest = marked.min_by_key(|(places, _)| places.len());
        let Some((places, nth)) = rarest else { return (0..self.filled.len()).collect() };
        let before = nth * distance(count);
        places.iter().filter_map(|at| at.checked_sub(before)).collect()
    }

    fn marked(&self, mark: &str) -> &[usize] {
        self.marks().get(mark).map_or(&[], Vec::as_slice)
    }

    fn within(&self, (first, last): (u32, u32)) -> std::ops::Range<usize> {
        let from = self.filled.partition_point(|(line, _)| *line < first);
        from..self.filled.partition_point(|(line, _)| *line <= last)
    }
}

impl PinnedLines {
    /// The pin of lines of a text, from 1; `None` if they say nothing or are too many.
    pub(super) fn of(
        text: &BareLines<'_>,
        (first, last): (u32, u32),
        symbol: Option<&str>,
    ) -> Option<Self> {
        if last as usize > text.all.len() || (last - first) as usize >= MAX_LINES {
            return None;
        }
        let range = text.within((first, last));
        let said = &text.filled[range.clone()];
        if !said.iter().any(|(_, line)| line.chars().any(char::is_alphanumeric)) {
            return None;
        }
        let at = |place: Option<usize>| {
            place
                .and_then(|at| text.filled.get(at))
                .map_or(NO_MARK.to_owned(), |(_, line)| mark(line))
        };
        let (before, after) = (at(range.start.checked_sub(1)), at(Some(range.end)));
        let says = |lines: &&[(u32, String)]| {
            lines.iter().map(|(_, line)| line).eq(said.iter().map(|(_, line)| line))
        };
        let marks = sampled(said);
        let alike = text.beginning(parted(&marks), said.len());
        let alike = alike.into_iter().filter_map(|at| text.filled.get(at..at + said.len()));
        Some(Self {
            first,
            count: last - first + 1,
            stood: whole(alike.filter(says).count()),
            filled: whole(said.len()),
            hash: hash_of(said),
            symbol: symbol.map(str::to_owned),
            marks: format!("{before}{marks}{after}"),
        })
    }

    /// The last line, when it was pinned.
    pub fn last(&self) -> u32 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }

    /// Whether a text still says them, wherever they are now.
    pub(super) fn stand_in(&self, text: &BareLines<'_>) -> bool {
        if let Some(symbol) = &self.symbol {
            let now = text.defining(symbol);
            let is_same =
                |place: &(u32, u32)| hash_of(&text.filled[text.within(*place)]) == self.hash;
            if now.iter().any(is_same) {
                return true;
            }
        }
        let filled = self.filled as usize;
        // Without those of the lines before and after.
        let inner = parted(&self.marks).skip(1).take(filled.div_ceil(distance(filled)));
        let alike = text.beginning(inner, filled).into_iter();
        let alike = alike.filter_map(|at| text.filled.get(at..at + filled));
        alike.filter(|lines| hash_of(lines) == self.hash).count() >= self.stood as usize
    }

    /// What stands now where they stood: first and last line; `None` if the place is not there any
    /// more.
    pub(super) fn place_in(&self, text: &BareLines<'_>) -> Option<(u32, u32)> {
        if let Some(symbol) = &self.symbol {
            let now = text.defining(symbol);
            return now.into_iter().min_by_key(|(first, _)| first.abs_diff(self.first));
        }
        let marks: Vec<&str> = parted(&self.marks).collect();
        let [before, inner @ .., after] = &marks[..] else { return None };
        let filled = self.filled as usize;
        let step = distance(filled);
        let wanted = inner.iter().enumerate().map(|(at, mark)| (at * step + 1, *mark));
        let wanted = wanted.chain([(0, *before), (filled + 1, *after)]);
        let start = most_likely_start(text, wanted, text.within((self.first, self.first)).start)?;
        // Lines may have come into the place or left it.
        let near = |from: usize, mark: &str| {
            let places = if mark == NO_MARK { &[] } else { text.marked(mark) };
            let next = places.get(places.partition_point(|at| *at < from));
            next.copied().filter(|at| *at < from + 2 * filled + 8)
        };
        let first = near(start.saturating_sub(1), before)
            .filter(|at| *at < start + filled)
            .map_or(start, |at| at + 1);
        let end = near(first, after).unwrap_or(start + filled).min(text.filled.len());
        let (one, last) = (text.filled.get(first)?, text.filled.get(end.checked_sub(1)?)?);
        (one.0 <= last.0).then_some((one.0, last.0))
    }
}

/// Where in a text the lines began that most marks speak for; near `from` where they disagree.
fn most_likely_start<'m>(
    now: &BareLines<'_>,
    wanted: impl Iterator<Item = (usize, &'m str)>,
    from: usize,
) -> Option<usize> {
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (place, mark) in wanted.filter(|(_, mark)| *mark != NO_MARK) {
        // Places count from the line before the first one.
        for start in now.marked(mark).iter().filter_map(|at| (at + 1).checked_sub(place)) {
            *votes.entry(start).or_default() += 1;
        }
    }
    let best = votes
        .into_iter()
        .max_by_key(|(start, votes)| (*votes, std::cmp::Reverse((start.abs_diff(from), *start))));
    best.map(|(start, _)| start)
}

fn hash_of(lines: &[(u32, String)]) -> Hash {
    Hash::of(lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n"))
}

fn sampled(lines: &[(u32, String)]) -> String {
    lines.iter().step_by(distance(lines.len())).map(|(_, line)| mark(line)).collect()
}

/// How far apart the lines are of which marks are kept, of so many lines.
fn distance(count: usize) -> usize {
    count.div_ceil(MAX_MARKS).max(1)
}

fn mark(line: &str) -> String {
    let says = line.chars().filter(|char| char.is_alphanumeric()).count();
    if says < MIN_MARKED {
        NO_MARK.to_owned()
    } else {
        Hash::of(line).as_str()[..MARK_CHARS].to_owned()
    }
}

fn parted(marks: &str) -> impl Iterator<Item = &str> {
    (0..marks.len() / MARK_CHARS).filter_map(|at| marks.get(at * MARK_CHARS..(at + 1) * MARK_CHARS))
}

/// Lines from 0 as numbers from 1.
pub(super) fn numbered((first, last): (usize, usize)) -> (u32, u32) {
    (whole(first).saturating_add(1), whole(last).saturating_add(1))
}

fn whole(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sought_where_the_rarest_of_them_stand() {
        let line = |at: usize| format!("repeated\n}}\nonly here {at}\n").repeat(1 + at % 2);
        let file: String = (0..2_000).map(line).collect();
        let moved = format!("another line\n{file}");
        let (before, now) = (BareLines::of(&file, false), BareLines::of(&moved, false));
        // Of more than forty lines not all have marks.
        for (first, last) in [(301, 303), (302, 303), (300, 420)] {
            let pin = PinnedLines::of(&before, (first, last), None).unwrap();
            let marks = &pin.marks[MARK_CHARS..pin.marks.len() - MARK_CHARS];
            let places = now.beginning(parted(marks), pin.filled as usize);
            assert!(places.len() <= 2, "{} places", places.len());
            assert!(places.contains(&(first as usize)), "{first}: {places:?}");
            assert!(pin.stand_in(&now));
            assert!(!pin.stand_in(&BareLines::of(&file.replace("here 67", "there"), false)));
        }
    }
}
