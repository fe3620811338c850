//! Which lines of a text are shown: those asked for, those that match a pattern, and of long lines
//! only a part. What was not searched, or not found, is said.
//!
//! Knows no session: what there is of the text comes in.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::Wanted;
use base::error::Result;
use base::object::{Handle, Part, line_count};
use context::log_layout::{counted_of, lines_of};
use context::{forms, long_line};
use session::{Columns, LINE_CHARS, LineRange, Numbering, Picked, line_of, merge_ranges};

/// Lines shown before and after each line that matches a pattern.
const PATTERN_CONTEXT: u64 = 2;
/// Longest line that is shown whole where it was asked for by its number, in characters.
const ASKED_CHARS: usize = 4_000;
/// Matches of one line around which it is shown.
const MATCHES_OF_A_LINE: usize = 10;
/// Lines that are named as the last ones where others are past the end.
const LAST_LINES: u64 = 39;

/// A text, as far as it is stored.
pub(super) struct Kept<'a> {
    /// What is stored.
    pub(super) text: &'a str,
    /// Which part of the whole it is; `None` for all of it.
    pub(super) part: Option<&'a PartKept>,
}

/// What is stored of a text of which the store has a part.
pub(super) struct PartKept {
    /// The numbers of the stored lines in the whole.
    pub(super) numbering: Numbering,
    /// The stored lines, by their numbers in the whole.
    pub(super) stored: Vec<LineRange>,
    /// Lines of the whole.
    pub(super) lines: u64,
    /// Why the others are not stored, in our words.
    pub(super) why: &'static str,
}

/// What is shown of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Lines of the stored text.
    pub(super) ranges: Vec<LineRange>,
    /// The characters that are shown of some of them.
    pub(super) columns: Vec<Columns>,
    /// What the heading says of the search.
    pub(super) remarks: Vec<String>,
}

impl Selection {
    /// The lines that are shown in part.
    pub(super) fn cut(&self) -> Vec<LineRange> {
        let lines = self.columns.iter().map(|part| LineRange { first: part.line, last: part.line });
        merge_ranges(&lines.collect::<Vec<_>>())
    }

    /// The content below a heading. Lines between those shown are counted, and what lies between
    /// characters of a line is named by its place in the object with this handle.
    pub(super) fn shown(&self, kept: &Kept<'_>, handle: Handle) -> String {
        let mut shown = Vec::new();
        let mut next = None;
        for range in &self.ranges {
            if let Some(gap) = next.filter(|next| *next < range.first) {
                shown.push(forms::gap_line(range.first - gap));
            }
            let lines = lines_of(kept.text, *range);
            let lines = (range.first..=range.last).zip(lines.split('\n'));
            shown.extend(lines.map(|(number, line)| self.line(line, number, kept, handle)));
            next = Some(range.last + 1);
        }
        shown.join("\n")
    }

    fn line(&self, line: &str, number: u64, kept: &Kept<'_>, handle: Handle) -> String {
        let columns = self.columns.iter().filter(|part| part.line == number);
        let columns: Vec<Columns> = columns.copied().collect();
        let number = kept.number(number);
        let columns: Vec<Columns> =
            columns.into_iter().map(|part| Columns { line: number, ..part }).collect();
        long_line::shown(line, &columns, Some(handle), number)
    }

    /// Shows only the ends of lines that are longer than this.
    fn cut_long_lines(&mut self, text: &str, most: usize) {
        let of_range = |range: &LineRange| {
            let lines = lines_of(text, *range);
            let lines = (range.first..=range.last).zip(lines.split('\n'));
            let is_whole = |line: &u64| self.columns.iter().all(|part| part.line != *line);
            let long = lines.filter(|(number, _)| is_whole(number));
            long.flat_map(|(number, line)| long_line::ends(line, number, most)).collect::<Vec<_>>()
        };
        let ends: Vec<Columns> = self.ranges.iter().flat_map(of_range).collect();
        self.columns.extend(ends);
        self.columns.sort_unstable();
    }
}

/// What is shown of a text; a sentence if nothing is.
///
/// `default`: the lines if none are asked for; empty for all. `cuts`: whether long lines are cut.
///
/// # Errors
/// `INVALID_ARGUMENT` for lines that are none.
pub(super) fn select(
    kept: &Kept<'_>,
    default: &[LineRange],
    wanted: &Wanted,
    cuts: bool,
) -> Result<Result<Selection, String>> {
    let all = LineRange { first: kept.first(), last: kept.text.split('\n').count() as u64 };
    let lines = wanted.lines.as_deref().filter(|lines| !is_all(lines));
    let pattern = wanted.pattern.as_deref().filter(|pattern| !pattern.is_empty());
    let mut selection = match lines {
        Some(lines) => match kept.pick(lines)? {
            Ok(picked) => picked,
            Err(problem) => return Ok(Err(problem)),
        },
        None if default.is_empty() || pattern.is_some() || wanted.lines.is_some() => {
            let why = kept.part.map(|part| part.why.to_owned());
            Selection { ranges: vec![all], columns: Vec::new(), remarks: why.into_iter().collect() }
        }
        None => Selection { ranges: default.to_vec(), ..Selection::default() },
    };
    if let Some(pattern) = pattern {
        selection = match kept.search(pattern, lines, &selection.ranges) {
            Ok(found) => found,
            Err(problem) => return Ok(Err(problem)),
        };
    }
    match (lines, pattern) {
        _ if !cuts => selection.columns.clear(),
        (_, Some(_)) => selection.cut_long_lines(kept.text, LINE_CHARS),
        (Some(_), None) => selection.cut_long_lines(kept.text, ASKED_CHARS),
        (None, None) => {}
    }
    Ok(Ok(selection))
}

impl Kept<'_> {
    /// Lines of the whole, and where some stored lines are in it, as people count them.
    pub(super) fn counted(&self, ranges: &[LineRange]) -> (Vec<LineRange>, u64) {
        let Some(part) = self.part else { return counted_of(self.text, ranges) };
        let places = ranges.iter().flat_map(|range| part.numbering.places(*range));
        (merge_ranges(&places.collect::<Vec<_>>()), part.lines)
    }

    /// The first stored line that is the output's: a host may have put its own above.
    fn first(&self) -> u64 {
        let gap = self.part.and_then(|part| part.numbering.gap);
        gap.map_or(1, |gap| gap.above + 1)
    }

    fn lines(&self) -> impl Iterator<Item = u64> + use<> {
        self.first()..=line_count(self.text)
    }

    /// The number of a stored line in the whole.
    fn number(&self, line: u64) -> u64 {
        self.part.map_or(line, |part| part.numbering.line(line))
    }

    /// The stored line with a number of the whole.
    fn stored(&self, number: u64) -> Option<u64> {
        match self.part {
            None => Some(number),
            Some(_) => self.lines().find(|line| self.number(*line) == number),
        }
    }

    /// The lines that are asked for by their numbers in the whole; a sentence if there are none.
    fn pick(&self, wanted: &str) -> Result<Result<Selection, String>> {
        let lines = self.part.map_or_else(|| line_count(self.text), |part| part.lines);
        let line_at = |number| self.stored(number).map_or("", |line| line_of(self.text, line));
        let Picked { ranges, columns } = Picked::among(wanted, lines, &line_at)?;
        if ranges.is_empty() {
            let (all, first) =
                (forms::count(lines, "line"), lines.saturating_sub(LAST_LINES).max(1));
            let last = forms::lines_phrase(&[LineRange { first, last: lines }]);
            let wanted = Wanted::quoted(wanted);
            return Ok(Err(format!("{wanted} is past the end of its {all}; the last are {last}")));
        }
        let Some(part) = self.part else {
            return Ok(Ok(Selection { ranges, columns, ..Selection::default() }));
        };
        let is_asked = |line: &u64| {
            let number = self.number(*line);
            ranges.iter().any(|range| range.first <= number && number <= range.last)
        };
        let here = self.lines().filter(is_asked);
        let here = here.map(|line| LineRange { first: line, last: line }).collect::<Vec<_>>();
        if here.is_empty() {
            let stored = forms::lines_phrase(&part.stored);
            return Ok(Err(format!("{stored} are stored; {}", part.why)));
        }
        let asked: u64 = ranges.iter().map(|range| range.len()).sum();
        let remarks = if (here.len() as u64) < asked { vec![part.why.to_owned()] } else { vec![] };
        let columns = columns
            .into_iter()
            .filter_map(|columns| Some(Columns { line: self.stored(columns.line)?, ..columns }));
        let (columns, ranges) = (columns.collect(), merge_ranges(&here));
        Ok(Ok(Selection { ranges, columns, remarks }))
    }

    /// Which lines were searched, if these are not all.
    fn searched(&self) -> Option<String> {
        let part = self.part?;
        Some(format!("searched {}; {}", forms::lines_phrase(&part.stored), part.why))
    }

    /// What matches a pattern in some stored lines; a sentence if nothing does. `lines`: these, as
    /// they were asked for.
    fn search(
        &self,
        pattern: &str,
        lines: Option<&str>,
        within: &[LineRange],
    ) -> Result<Selection, String> {
        let mut search = Search::of(pattern, false);
        let mut found = search.within(self.text, within);
        if found.ranges.is_empty() {
            search = Search::of(pattern, true);
            found = search.within(self.text, within);
        }
        if found.ranges.is_empty() {
            let pattern = Wanted::quoted(pattern);
            let how = search.remark.map_or_else(String::new, |remark| format!(" ({remark})"));
            return Err(match (self.searched(), lines.map(Wanted::quoted)) {
                (Some(searched), _) => format!("{searched} · {pattern} is not in them{how}"),
                (None, Some(lines)) => format!("no line of {lines} matches {pattern}{how}"),
                (None, None) => format!("no line matches {pattern}{how}"),
            });
        }
        found.remarks.extend(self.searched());
        found.remarks.extend(search.ignores_case.then(|| "in another case".to_owned()));
        found.remarks.extend(search.remark.map(str::to_owned));
        Ok(found)
    }
}

/// Whether all lines are asked for.
fn is_all(lines: &str) -> bool {
    Part::parse(lines).is_some_and(|parts| parts == [Part::All])
}

/// A pattern to search for.
struct Search {
    regex: Regex,
    ignores_case: bool,
    /// How it was read, if not as it stands.
    remark: Option<&'static str>,
}

impl Search {
    /// A pattern that is not a regular expression is searched as it stands.
    fn of(pattern: &str, ignores_case: bool) -> Self {
        let build = |pattern: &str| {
            RegexBuilder::new(pattern).multi_line(true).case_insensitive(ignores_case).build()
        };
        if let Ok(regex) = build(pattern) {
            return Self { regex, ignores_case, remark: None };
        }
        let regex = build(&regex::escape(pattern)).unwrap_or_else(|_| nothing());
        let remark = Some("searched as plain text, since it is not a regular expression");
        Self { regex, ignores_case, remark }
    }

    /// The matching lines of a text among some of them, with lines around, and the places of
    /// matches in long ones.
    fn within(&self, text: &str, within: &[LineRange]) -> Selection {
        let last = line_count(text);
        let mut selection = Selection::default();
        let mut hits: Vec<LineRange> = Vec::new();
        for (number, line) in (1..=last).zip(text.split('\n')) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let is_within =
                within.iter().any(|range| range.first <= number && number <= range.last);
            if is_within && self.is_in(line) {
                hits.push(LineRange { first: number, last: number });
                selection.add_matches(line, number, self.matches(line));
            }
        }
        if hits.is_empty() {
            hits = self.across_lines(text, within);
        }
        if hits.is_empty() && self.matches_anything() {
            hits = within.to_vec();
        }
        let around = hits.into_iter().map(|hit| LineRange {
            first: hit.first.saturating_sub(PATTERN_CONTEXT).max(1),
            last: (hit.last + PATTERN_CONTEXT).min(last),
        });
        selection.ranges = merge_ranges(&around.collect::<Vec<_>>());
        selection
    }

    /// Whether a line has a match. Where the pattern also matches no characters, as `x*` does in any
    /// line, only a match of some counts.
    fn is_in(&self, line: &str) -> bool {
        if self.matches_anything() {
            return self.matches(line).next().is_some();
        }
        self.regex.is_match(line)
    }

    /// Whether it matches no characters of a line that has nothing of it.
    fn matches_anything(&self) -> bool {
        self.regex.find("\u{e000}").is_some_and(|found| found.is_empty())
    }

    /// The places of the matches that have characters.
    fn matches<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> {
        self.regex.find_iter(line).map(|found| found.range()).filter(|place| !place.is_empty())
    }

    /// The lines of matches of several lines.
    fn across_lines(&self, text: &str, within: &[LineRange]) -> Vec<LineRange> {
        let mut hits = Vec::new();
        let (mut byte, mut line) = (0, 1);
        for place in self.matches(text) {
            line += text[byte..place.start].matches('\n').count() as u64;
            let lines = text[place.clone()].trim_end_matches('\n').matches('\n').count() as u64;
            let hit = LineRange { first: line, last: line + lines };
            if lines > 0 && within.iter().any(|range| range.intersect(hit) == Some(hit)) {
                hits.push(hit);
            }
            line += text[place.clone()].matches('\n').count() as u64;
            byte = place.end;
        }
        hits
    }
}

impl Selection {
    /// Shows a long line around its first matches.
    fn add_matches(
        &mut self,
        line: &str,
        number: u64,
        matches: impl Iterator<Item = Range<usize>>,
    ) {
        if line.len() <= LINE_CHARS {
            return;
        }
        let places: Vec<Range<usize>> = matches.collect();
        let first = places.iter().take(MATCHES_OF_A_LINE).cloned();
        let columns = long_line::around(line, number, LINE_CHARS, first);
        if places.len() > MATCHES_OF_A_LINE && !columns.is_empty() {
            let all = forms::count(places.len() as u64, "place");
            self.remarks.push(format!("the first {MATCHES_OF_A_LINE} of {all} in line {number}"));
        }
        self.columns.extend(columns);
    }
}

/// An expression that matches nothing.
fn nothing() -> Regex {
    Regex::new(r"[^\s\S]").expect("a constant that a test compiles")
}
