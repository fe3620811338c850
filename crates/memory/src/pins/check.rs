//! Finds out which pinned files changed, and how. Caches what it read, by stamp. Must not pin.

use files::looks;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::pinned_lines::BareLines;
use super::{CitationPin, CitedChange, MAX_BYTES, Places, is_markdown, moved, text_of};
use crate::claim::{Said, is_number};
use crate::scope::Scope;
use base::object::{FileStamp, Hash};
use source::{FileState, read_file};

/// Hundredths of a file's lines: if fewer stand, it says something else.
const STILL_SAME: usize = 50;

/// The pins of one file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pinned {
    /// Pins may differ, since entries were written at different times.
    pub(crate) pins: BTreeSet<CitationPin>,
    /// Whether one belongs to a page of the project, which may see only the project.
    pub(crate) is_bound: bool,
}

/// What became of each pin of a file; `None`: nothing.
pub(super) type Verdicts = BTreeMap<CitationPin, Option<CitedChange>>;

/// Finds out which pinned files changed.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    known: HashMap<PathBuf, CheckedFile>,
    /// The stamps of all files on which that rests.
    stamps: Arc<Vec<(PathBuf, Option<FileStamp>)>>,
    /// Whether some file may change again without another stamp.
    is_unsure: bool,
}

/// What is known of a file.
#[derive(Debug, Clone, Default)]
struct CheckedFile {
    /// Its stamp; `None` if there is no such file, or it may not be looked at.
    stamp: Option<FileStamp>,
    /// Where it went, with that file's stamp.
    moved: Option<(PathBuf, Option<FileStamp>)>,
    verdicts: Verdicts,
    /// What was pinned in a file that is not there, until it is sought elsewhere.
    missed: Option<Pinned>,
    /// Whether it could not be read this time.
    is_unsure: bool,
}

impl Checker {
    /// Whether a pinned file may say something else than at the last check: compares stamps alone.
    /// In one look, since each look has a cost and this is asked before each call.
    pub(crate) fn may_differ(&self) -> bool {
        let stamps = Arc::clone(&self.stamps);
        let is_as_read = move || stamps.iter().all(|(path, stamp)| source::stamp(path) == *stamp);
        self.is_unsure || !looks::together(is_as_read).unwrap_or(true)
    }

    /// What became of the pins of the files that changed, by path. Looks at all files at once, and
    /// reads those with a new stamp.
    pub(crate) fn check(
        &mut self,
        places: &Places,
        pinned: BTreeMap<PathBuf, Pinned>,
    ) -> BTreeMap<PathBuf, BTreeMap<CitationPin, CitedChange>> {
        let mut before = std::mem::take(&mut self.known);
        let asked: Vec<_> = pinned
            .into_iter()
            .map(|(path, pinned)| {
                let known = before.remove(&path);
                (path, pinned, known)
            })
            .collect();
        let paths: Vec<PathBuf> = asked.iter().map(|(path, ..)| path.clone()).collect();
        let of = places.clone();
        let found = looks::each(asked, &|_| (), move |(path, pinned, known)| {
            let tells = |known: &CheckedFile| {
                !known.is_unsure
                    && pinned.pins.iter().all(|pin| known.verdicts.contains_key(pin))
                    && known.is_as_read(path)
            };
            known.clone().filter(tells).unwrap_or_else(|| read(path, pinned, &of))
        });
        let unanswered = || CheckedFile { is_unsure: true, ..CheckedFile::default() };
        let found = found.into_iter().map(|found| found.unwrap_or_else(unanswered));
        self.known = paths.into_iter().zip(found).collect();
        // The files of the project are listed with looks of their own.
        let missed = self
            .known
            .iter_mut()
            .filter_map(|(path, known)| Some((path.clone(), std::mem::take(&mut known.missed)?)));
        for moved in moved::find(missed.collect(), places) {
            if let Some(known) = self.known.get_mut(&moved.from) {
                known.follow(moved);
            }
        }
        self.is_unsure = self.known.values().any(|known| known.is_unsure);
        let stamps = self.known.iter().flat_map(|(path, known)| {
            [(path.clone(), known.stamp)].into_iter().chain(known.moved.clone())
        });
        self.stamps = Arc::new(stamps.collect());
        let changes = self.known.iter().map(|(path, known)| {
            let changed = known.verdicts.iter();
            let changed = changed.filter_map(|(pin, now)| Some((pin.clone(), now.clone()?)));
            (path.clone(), changed.collect::<BTreeMap<_, _>>())
        });
        changes.filter(|(_, changed)| !changed.is_empty()).collect()
    }
}

impl CheckedFile {
    fn follow(&mut self, moved: moved::Moved) {
        // Where it is now says more than that it was touched, too.
        let change = |now: Option<CitedChange>| match now {
            Some(CitedChange::Contradicted) => CitedChange::Contradicted,
            _ => CitedChange::Moved { to: moved.name.clone() },
        };
        let verdicts = moved.verdicts.into_iter();
        self.verdicts = verdicts.map(|(pin, now)| (pin, Some(change(now)))).collect();
        let stamp = source::stamp(&moved.to);
        self.moved = Some((moved.to, stamp));
    }

    fn is_as_read(&self, path: &Path) -> bool {
        source::stamp(path) == self.stamp
            && self.moved.as_ref().is_none_or(|(to, stamp)| source::stamp(to) == *stamp)
    }
}

fn read(path: &Path, pinned: &Pinned, places: &Places) -> CheckedFile {
    let verdicts = |now: &dyn Fn(&CitationPin) -> Option<CitedChange>| -> Verdicts {
        pinned.pins.iter().map(|pin| (pin.clone(), now(pin))).collect()
    };
    if pinned.is_bound && !places.is_allowed(Scope::Project, path) {
        return CheckedFile {
            stamp: source::stamp(path),
            verdicts: verdicts(&|_| None),
            ..CheckedFile::default()
        };
    }
    let reading = read_file(path, MAX_BYTES);
    // It may change again unseen.
    let is_unsure = reading.stamp.is_none_or(|stamp| stamp.is_fresh);
    let of = |verdicts| CheckedFile {
        stamp: reading.stamp,
        verdicts,
        is_unsure,
        ..CheckedFile::default()
    };
    match reading.state {
        FileState::Text { ref source_hash, .. } | FileState::Binary { ref source_hash, .. } => {
            let source_hash = source_hash.clone();
            let text = text_of(path, reading.state);
            let judged = text.map(|text| Now::of(&text, path).judged(pinned));
            of(verdicts(&|pin| {
                let change = match &judged {
                    Some(judged) => judged.get(pin).cloned().flatten(),
                    None => (pin.hash != source_hash).then_some(CitedChange::Contradicted),
                };
                change.filter(|_| !pin.is_run)
            }))
        }
        // It was not that large when pinned.
        FileState::TooLarge { .. } => {
            of(verdicts(&|pin| (!pin.is_run).then_some(CitedChange::Contradicted)))
        }
        // A folder in its place means that the file is gone.
        FileState::Missing | FileState::NotAFile => {
            let (missed, gone) = (Some(pinned.clone()), verdicts(&|_| Some(CitedChange::Gone)));
            CheckedFile { missed, is_unsure: false, ..of(gone) }
        }
        // Unknown, until the file is another one.
        FileState::Unreadable { .. } | FileState::Excluded { .. } | FileState::NotRead => {
            CheckedFile { stamp: source::stamp(path), is_unsure: false, ..of(verdicts(&|_| None)) }
        }
    }
}

/// The text of a pinned file now. Its lines are parted only where it says something else.
pub(super) struct Now<'t> {
    hash: Hash,
    lines: LazyCell<BareLines<'t>, Box<dyn FnOnce() -> BareLines<'t> + 't>>,
}

impl<'t> Now<'t> {
    /// `text`: with LF line endings.
    pub(super) fn of(text: &'t str, path: &Path) -> Self {
        let is_markdown = is_markdown(&path.to_string_lossy());
        let lines: Box<dyn FnOnce() -> BareLines<'t>> =
            Box::new(move || BareLines::of(text, is_markdown));
        Self { hash: Hash::of(text), lines: LazyCell::new(lines) }
    }

    /// Whether it says all that a pinned file said.
    pub(super) fn says_all_of(&self, pin: &CitationPin) -> bool {
        pin.hash == self.hash || pin.said.as_ref().is_some_and(|it| it == self.lines.said_hash())
    }

    /// Whether what is pinned stands in it, wherever.
    pub(super) fn holds(&self, pin: &CitationPin) -> bool {
        self.says_all_of(pin) || pin.lines.as_ref().is_some_and(|it| it.stand_in(&self.lines))
    }

    /// What became of the pins of a file.
    pub(super) fn judged(&self, pinned: &Pinned) -> Verdicts {
        let change = |pin: &CitationPin| (!self.holds(pin)).then(|| change(pin, &self.lines));
        pinned.pins.iter().map(|pin| (pin.clone(), change(pin))).collect()
    }
}

/// What became of a place that does not stand any more.
fn change(pin: &CitationPin, now: &BareLines<'_>) -> CitedChange {
    let stand = |said: &Said<'_>| pin.names.iter().all(|name| said.says(name));
    let is_touched = match &pin.lines {
        Some(lines) => {
            let tells = !pin.names.is_empty() || lines.symbol.is_some();
            match lines.place_in(now) {
                Some(place) => tells && stand(&Said::of(now.text(place))),
                None => lines.symbol.is_none() && stand_elsewhere(pin, lines.count, now),
            }
        }
        None if pin.said.is_none() => false,
        None if pin.names.is_empty() => now.percent_standing(&pin.marks) > STILL_SAME,
        None => stand(now.said()),
    };
    if is_touched { CitedChange::Touched } else { CitedChange::Contradicted }
}

/// Whether all that an entry names stands together somewhere, with words that can tell that it is what
/// was meant.
fn stand_elsewhere(pin: &CitationPin, count: u32, now: &BareLines<'_>) -> bool {
    let telling = pin.names.iter().filter(|name| !is_number(name)).max_by_key(|name| name.len());
    telling.is_some_and(|telling| now.say_together(&pin.names, telling, count.max(1)))
}

#[cfg(test)]
mod tests;
