//! What entries rest on in the text of a file that they cite: the cited lines, the definitions of the
//! cited name, or the places that hold what an entry names. Must not look at files.

use std::path::Path;

use super::blocks::Definitions;
use super::pinned_lines::{BareLines, PinnedLines, numbered};
use super::{CitationPin, is_markdown};
use crate::citations::Cite;
use crate::claim::{Claim, Said};

/// Most places of one file that an entry rests on.
const MAX_PLACES: usize = 8;
/// A name that stands on more lines tells no place.
const MAX_HOLDING: usize = 3;
/// Most names that are kept of one place.
const MAX_NAMES: usize = 12;

/// The text of a cited file.
#[derive(Debug)]
pub(super) struct Cited<'t> {
    text: BareLines<'t>,
    path: String,
}

impl<'t> Cited<'t> {
    /// `text`: with LF line endings. `path`: the file's name in pins.
    pub(super) fn of(text: &'t str, path: String) -> Self {
        Self { text: BareLines::of(text, is_markdown(&path)), path }
    }

    /// The pins of a citation by an entry that names `claim`.
    pub(super) fn pins(&self, cite: &Cite, claim: &Claim) -> Vec<CitationPin> {
        let whole = CitationPin {
            said: Some(self.text.said_hash().clone()),
            ..CitationPin::whole(self.path.clone(), self.text.hash().clone())
        };
        if cite.is_run {
            return vec![CitationPin { is_run: true, ..whole }];
        }
        let names = |said: &Said<'_>| {
            let mut names = claim.standing_in(said);
            names.retain(|name| *name != cite.path);
            names.truncate(MAX_NAMES);
            names
        };
        let places = self.places(cite, claim);
        if places.is_empty() {
            let (names, marks) = (names(self.text.said()), self.text.sampled());
            return vec![CitationPin { names, marks, ..whole }];
        }
        let pinned = places.into_iter().map(|place| {
            let names = names(&Said::of(self.text.text((place.first, place.last()))));
            CitationPin { lines: Some(place), names, ..whole.clone() }
        });
        pinned.collect()
    }

    /// The places that an entry rests on; none if that is the whole file.
    fn places(&self, cite: &Cite, claim: &Claim) -> Vec<PinnedLines> {
        let text = &self.text;
        if let Some(lines) = cite.lines {
            return PinnedLines::of(text, lines, None).into_iter().collect();
        }
        let mut resting = Resting { text, places: Vec::new(), extending: Vec::new() };
        if let Some(symbol) = &cite.symbol {
            resting.add_defined(symbol, text.definitions(symbol));
        }
        if !resting.places.is_empty() {
            resting.add_extending(claim);
            return resting.widest();
        }
        let stem = Path::new(&cite.path).file_stem().unwrap_or_default();
        let is_meant = |name: &&str| stem != *name && cite.path != *name && text.said().says(name);
        let meant = claim.telling().filter(is_meant).map(|name| (name, text.definitions(name)));
        let (used, own): (Vec<_>, Vec<_>) =
            meant.partition(|(_, found)| found.is_value || found.places.is_empty());
        for (name, found) in own {
            resting.add_defined(name, found);
        }
        for (name, found) in used {
            resting.add_used(name, found);
        }
        resting.add_extending(claim);
        resting.add_numbers(claim);
        resting.widest()
    }
}

/// The places of a text that an entry rests on, as they are found.
struct Resting<'t> {
    text: &'t BareLines<'t>,
    places: Vec<PinnedLines>,
    /// What belongs to a type that is among the places, with its name.
    extending: Vec<PinnedLines>,
}

impl Resting<'_> {
    fn pinned(&self, places: Vec<(usize, usize)>, name: &str) -> Vec<PinnedLines> {
        let places = places.into_iter().map(numbered);
        places.filter_map(|place| PinnedLines::of(self.text, place, Some(name))).collect()
    }

    /// Adds the definitions of a name.
    fn add_defined(&mut self, name: &str, found: Definitions) {
        let (places, extending) =
            (self.pinned(found.places, name), self.pinned(found.extending, name));
        self.places.extend(places);
        self.extending.extend(extending);
    }

    /// Adds where a value is defined, or where any other words stand, if these are few places; not if
    /// one is within a place that is there already.
    fn add_used(&mut self, name: &str, found: Definitions) {
        let mut found = self.pinned(found.places, name);
        if found.is_empty() {
            let holding = self.text.saying(name);
            let few = Some(holding).filter(|lines| lines.len() <= MAX_HOLDING);
            let pin = |at| PinnedLines::of(self.text, at, None);
            found = few.into_iter().flatten().filter_map(pin).collect();
        }
        if !found.iter().any(|place| self.has((place.first, place.last()))) {
            self.places.extend(found);
        }
    }

    /// Adds what belongs to a type where the entry names what stands there and not in its definition.
    fn add_extending(&mut self, claim: &Claim) {
        for place in std::mem::take(&mut self.extending) {
            let named = claim.standing_in(&Said::of(self.text.text((place.first, place.last()))));
            if named.iter().any(|name| !self.say(name)) {
                self.places.push(place);
            }
        }
    }

    /// Adds the only lines that set something to a number which the entry names and no place has.
    fn add_numbers(&mut self, claim: &Claim) {
        if self.places.is_empty() {
            return;
        }
        for number in claim.numbers() {
            if let ([only], false) = (self.text.setting(number), self.say(number)) {
                self.places.extend(PinnedLines::of(self.text, (*only, *only), None));
            }
        }
    }

    fn has(&self, (first, last): (u32, u32)) -> bool {
        self.places.iter().any(|place| place.first <= first && last <= place.last())
    }

    fn say(&self, name: &str) -> bool {
        let text = |place: &PinnedLines| self.text.text((place.first, place.last()));
        self.places.iter().any(|place| Said::of(text(place)).says(name))
    }

    /// The places without those within others, the widest first.
    fn widest(mut self) -> Vec<PinnedLines> {
        self.places.sort_by_key(|place| (std::cmp::Reverse(place.count), place.first));
        let mut kept: Vec<PinnedLines> = Vec::new();
        for place in self.places {
            let is_within =
                |other: &PinnedLines| other.first <= place.first && place.last() <= other.last();
            if kept.len() < MAX_PLACES && !kept.iter().any(is_within) {
                kept.push(place);
            }
        }
        kept
    }
}
