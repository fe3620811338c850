//! Finds the lines of a file most similar to a text. Equal lines and shared trigrams propose
//! places; a bounded number of them is compared line by line. Pure; the same texts give the same
//! lines.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use base::object::{DiffOp, list_diff};
use session::{LineRange, merge_ranges};

/// Lines shown before and after those that differ.
const CONTEXT_LINES: u64 = 5;
/// Most lines of the wanted text that are examined.
const MAX_WANTED: usize = 1_000;
/// A wanted line that occurs in more places than this does not help to choose one.
const MAX_EQUAL: usize = 16;
/// Number of wanted lines whose trigrams are searched for in every line of the file.
const PROBES: usize = 8;
/// Number of file lines that such a line proposes.
const PLACES_OF_A_PROBE: usize = 4;
/// Most places that are compared line by line.
const MAX_STARTS: usize = 48;
/// Number of wanted lines that are compared at each place.
const SAMPLE: usize = 64;
/// How far a line may be from its expected place, in lines.
const DRIFT: i64 = 2;
/// Similarity lost per line of drift.
const DRIFT_COST: f64 = 0.02;
/// Most characters of a line that are compared.
const MAX_CHARS: usize = 2_000;
/// Texts less similar than this are unrelated.
const MIN_SIMILARITY: f64 = 0.3;
/// Number of lines around the nearest place that are considered for matching.
const SLACK: usize = 8;

/// The lines around the differences between the file and the wanted text, at the most similar
/// place; empty if there is none.
pub(super) fn nearest(file: &[&str], wanted: &[&str]) -> Vec<LineRange> {
    let wanted = without_blank_ends(wanted);
    let wanted = &wanted[..wanted.len().min(MAX_WANTED)];
    let Some(start) = best_start(file, wanted) else { return Vec::new() };
    let ranges = differences(file, wanted, start);
    let around = ranges.into_iter().map(|(first, end)| LineRange {
        first: (first as u64 + 1).saturating_sub(CONTEXT_LINES).max(1),
        last: (end as u64 + CONTEXT_LINES).min(last_line(file)),
    });
    merge_ranges(&around.collect::<Vec<_>>())
}

/// The number of the last line. An empty rest after the last line break is not a line.
pub(super) fn last_line(file: &[&str]) -> u64 {
    let lines = if file.last() == Some(&"") { file.len() - 1 } else { file.len() };
    lines.max(1) as u64
}

fn without_blank_ends<'a, 't>(lines: &'a [&'t str]) -> &'a [&'t str] {
    let is_text = |line: &&str| !line.trim().is_empty();
    let Some(first) = lines.iter().position(is_text) else { return &[] };
    let last = lines.iter().rposition(is_text).unwrap_or(first);
    &lines[first..=last]
}

/// File index where the first wanted line would be. It may lie outside the file if the text sticks
/// out.
fn best_start(file: &[&str], wanted: &[&str]) -> Option<i64> {
    let mut starts: BTreeSet<i64> = starts_by_equal_lines(file, wanted).into_iter().collect();
    starts.extend(starts_by_trigrams(file, wanted));
    let mut compared = Comparison::new(file, wanted);
    let mut best: Option<(f64, i64)> = None;
    for start in starts {
        let similarity = compared.similarity(start);
        if best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, start));
        }
    }
    best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY).map(|(_, start)| start)
}

/// The starts suggested by rare lines of the wanted text, those with the most weight.
fn starts_by_equal_lines(file: &[&str], wanted: &[&str]) -> Vec<i64> {
    let looked_for: HashSet<&str> = wanted.iter().map(|line| line.trim()).collect();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in file.iter().enumerate() {
        let line = line.trim();
        if !line.is_empty() && looked_for.contains(line) {
            let known = places.entry(line).or_default();
            if known.len() <= MAX_EQUAL {
                known.push(at);
            }
        }
    }
    let mut votes: BTreeMap<i64, u64> = BTreeMap::new();
    for (index, line) in wanted.iter().enumerate() {
        let Some(places) = places.get(line.trim()).filter(|places| places.len() <= MAX_EQUAL)
        else {
            continue;
        };
        let weight = 100 * line.trim().len().min(40) as u64 / places.len() as u64;
        for at in places {
            *votes.entry(signed(*at) - signed(index)).or_default() += weight;
        }
    }
    let mut votes: Vec<(i64, u64)> = votes.into_iter().collect();
    votes.sort_by_key(|(start, weight)| (std::cmp::Reverse(*weight), *start));
    votes.truncate(MAX_STARTS - PROBES * PLACES_OF_A_PROBE);
    votes.into_iter().map(|(start, _)| start).collect()
}

/// The starts where a long line of the wanted text shares trigrams with a line of the file.
fn starts_by_trigrams(file: &[&str], wanted: &[&str]) -> Vec<i64> {
    let mut probes: Vec<(usize, Vec<u64>)> =
        wanted.iter().enumerate().map(|(index, line)| (index, grams(line))).collect();
    probes.sort_by_key(|(index, grams)| (std::cmp::Reverse(grams.len()), *index));
    probes.truncate(PROBES);
    let mut probes_of: HashMap<u64, (Vec<usize>, usize)> = HashMap::new();
    for (probe, (_, grams)) in probes.iter().enumerate() {
        for gram in grams {
            probes_of.entry(*gram).or_insert((Vec::new(), usize::MAX)).0.push(probe);
        }
    }
    let mut found: Vec<Vec<(usize, usize)>> = vec![Vec::new(); probes.len()];
    for (at, line) in file.iter().enumerate() {
        let mut shared = vec![0; probes.len()];
        for gram in all_grams(line.chars()) {
            if let Some((probes, last)) = probes_of.get_mut(&gram)
                && *last != at
            {
                *last = at;
                for probe in probes.iter() {
                    shared[*probe] += 1;
                }
            }
        }
        for (probe, shared) in shared.into_iter().enumerate() {
            if shared * 3 >= probes[probe].1.len().max(1) {
                keep_best(&mut found[probe], (shared, at));
            }
        }
    }
    let starts = probes
        .iter()
        .zip(&found)
        .flat_map(|((index, _), found)| found.iter().map(|(_, at)| signed(*at) - signed(*index)));
    starts.collect()
}

/// Keeps the places with the most shared trigrams; among equals the first.
fn keep_best(kept: &mut Vec<(usize, usize)>, found: (usize, usize)) {
    let place = kept.partition_point(|(shared, _)| *shared >= found.0);
    if place < PLACES_OF_A_PROBE {
        kept.insert(place, found);
        kept.truncate(PLACES_OF_A_PROBE);
    }
}

/// A text that is compared with places of a file.
struct Comparison<'a> {
    file: &'a [&'a str],
    /// Index, text and trigrams of the wanted lines that are compared.
    sample: Vec<(usize, &'a str, Vec<u64>)>,
    known: HashMap<usize, Vec<u64>>,
}

impl<'a> Comparison<'a> {
    fn new(file: &'a [&'a str], wanted: &'a [&'a str]) -> Self {
        let lines: Vec<usize> =
            (0..wanted.len()).filter(|index| !wanted[*index].trim().is_empty()).collect();
        let step = lines.len().div_ceil(SAMPLE).max(1);
        let sample = lines.into_iter().step_by(step);
        let sample = sample.map(|index| (index, wanted[index], grams(wanted[index]))).collect();
        Self { file, sample, known: HashMap::new() }
    }

    /// Similarity of the lines from `start` on to the wanted lines, 0 to 1; longer lines count
    /// more.
    #[expect(clippy::cast_precision_loss, reason = "numbers of characters in a line")]
    fn similarity(&mut self, start: i64) -> f64 {
        let Self { file, sample, known } = self;
        let (mut sum, mut weights) = (0.0, 0.0);
        for (index, line, wanted) in sample.iter() {
            let place = start + signed(*index);
            let mut best: f64 = 0.0;
            for drift in -DRIFT..=DRIFT {
                let Ok(at) = usize::try_from(place + drift) else { continue };
                let Some(found) = file.get(at) else { continue };
                let grams = known.entry(at).or_insert_with(|| grams(found));
                let cost = DRIFT_COST * drift.unsigned_abs() as f64;
                best = best.max(alike((line, wanted), (found, grams)) - cost);
            }
            // Longer lines say more, but only up to a limit, so that no single line decides.
            let weight = wanted.len().min(60) as f64;
            sum += weight * best;
            weights += weight;
        }
        if weights > 0.0 { sum / weights } else { 0.0 }
    }
}

/// Similarity of two lines, 0 to 1: how much of the wanted line the other holds, and how little
/// else.
#[expect(clippy::cast_precision_loss, reason = "numbers of characters in a line")]
fn alike((wanted, of_wanted): (&str, &[u64]), (found, of_found): (&str, &[u64])) -> f64 {
    if wanted.trim() == found.trim() {
        // Prefer a line that also has the wanted indentation.
        return if wanted.trim_end() == found.trim_end() { 1.0 } else { 0.99 };
    }
    if of_wanted.is_empty() || of_found.is_empty() {
        return 0.0;
    }
    let (mut shared, mut rest) = (0, of_found);
    for gram in of_wanted {
        rest = &rest[rest.partition_point(|other| other < gram)..];
        shared += usize::from(rest.first() == Some(gram));
    }
    let held = shared as f64 / of_wanted.len() as f64;
    let common = 2.0 * shared as f64 / (of_wanted.len() + of_found.len()) as f64;
    // What is missing from the wanted line counts more than what the other line has in addition.
    0.6 * held + 0.4 * common
}

/// Index ranges of the file that differ from the wanted lines, end excluded; the whole place if no
/// line differs.
fn differences(file: &[&str], wanted: &[&str], start: i64) -> Vec<(usize, usize)> {
    let place = |at: i64| usize::try_from(at.max(0)).unwrap_or(0).min(file.len());
    let from = place(start - signed(SLACK));
    let to = place(start + signed(wanted.len() + SLACK.max(wanted.len() / 2)));
    let ends = |lines: &[&str]| lines.iter().map(|line| line.trim_end().to_owned()).collect();
    let (old, new): (Vec<String>, Vec<String>) = (ends(wanted), ends(&file[from..to]));
    let ops = list_diff(&old, &new);
    let whole = vec![(place(start), place(start + signed(wanted.len())))];
    let is_anchor = |op: &&DiffOp| matches!(op, DiffOp::Equal { .. });
    let Some(first) = ops.iter().position(|op| is_anchor(&op)) else { return whole };
    let last = ops.iter().rposition(|op| is_anchor(&op)).unwrap_or(first);
    let mut found = Vec::new();
    for (index, op) in ops.iter().enumerate().filter(|(_, op)| !is_anchor(op)) {
        let (gone, mut here) = (op.old_range().len(), op.new_range());
        if (index < first || index > last) && gone == 0 {
            continue;
        }
        // Outside the equal lines, take as many file lines as the wanted text has there.
        if index < first {
            here.start = here.start.max(here.end.saturating_sub(gone));
        } else if index > last {
            here.end = here.end.min(here.start + gone);
        }
        found.push((from + here.start, from + here.end));
    }
    if found.is_empty() { whole } else { found }
}

/// Trigrams of a text that is searched for in long lines.
pub(super) struct Grams(HashSet<u64>);

impl Grams {
    /// The trigrams of some lines.
    pub(super) fn of(lines: &[&str]) -> Self {
        Self(lines.iter().take(MAX_WANTED).flat_map(|line| grams(line)).collect())
    }

    /// The start of the run of `length` characters with the most trigrams; among equals the first.
    pub(super) fn densest(&self, characters: &[char], length: usize) -> usize {
        let is_hit = |three: &[char]| self.0.contains(&gram(three));
        let hits: Vec<bool> = characters.windows(3).map(is_hit).collect();
        let mut inside = hits.iter().take(length).filter(|hit| **hit).count();
        let (mut best, mut most) = (0, inside);
        for start in 1..=characters.len().saturating_sub(length) {
            inside -= usize::from(hits[start - 1]);
            inside += usize::from(hits.get(start + length - 1).copied().unwrap_or(false));
            if inside > most {
                (best, most) = (start, inside);
            }
        }
        // Put the wanted part in the middle, not at the end.
        let spare = hits[best..].iter().take(length).rev().take_while(|hit| !**hit).count();
        let begins = hits[best..].iter().take_while(|hit| !**hit).count();
        let shift = signed(begins) - signed(spare);
        let latest = signed(characters.len().saturating_sub(length));
        usize::try_from((signed(best) + shift / 2).clamp(0, latest)).unwrap_or(best)
    }
}

/// The trigrams of a line without white space, sorted and unique. A shorter line is one gram.
fn grams(line: &str) -> Vec<u64> {
    let mut grams: Vec<u64> = all_grams(line.chars().take(MAX_CHARS)).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

fn all_grams(characters: impl Iterator<Item = char>) -> impl Iterator<Item = u64> {
    let mut last = 0;
    let mut count = 0;
    let mut solid = characters.filter(|character| !character.is_whitespace()).peekable();
    std::iter::from_fn(move || {
        loop {
            last = (last << 21 | u64::from(solid.next()?)) & GRAM;
            count += 1;
            if count >= 3 || solid.peek().is_none() {
                return Some(last);
            }
        }
    })
}

/// Three characters, each in 21 bits.
const GRAM: u64 = (1 << 63) - 1;

fn gram(characters: &[char]) -> u64 {
    characters.iter().fold(0, |gram, character| (gram << 21 | u64::from(*character)) & GRAM)
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
