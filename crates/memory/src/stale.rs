//! Finds stale pages, whose cited files changed since they were written or confirmed, and pages
//! that nobody has looked at for a long time. Only suggests; changes nothing. Must not say how a
//! stale page is shown.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use serde::Serialize;

use super::facts::{Book, Fact, day, days_between};
use super::page::{Page, PageId};
use super::pins::{Checker, CitationPin, CitedChange, Pinned, Places};
use base::object::Timestamp;

/// Days without confirmation or use after which an entry is suggested.
const OLD_DAYS: i64 = 180;
/// Days after which a never-used page of a topic file is suggested.
const NEVER_USED_DAYS: i64 = 90;

/// Why a page is stale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staleness {
    /// The cited files that changed, by path.
    pub cited: Vec<CitedFile>,
}

/// A cited file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedFile {
    /// The pin, with the path as shown.
    pub pin: CitationPin,
    /// Where it is.
    pub path: PathBuf,
    /// How it changed.
    pub change: CitedChange,
}

impl Staleness {
    /// What became of the cited place that matters most.
    pub fn worst(&self) -> Option<&CitedChange> {
        self.cited.iter().map(|cited| &cited.change).min()
    }

    /// Whether a cited place says something else or is gone; if not, it only moved.
    pub fn is_changed(&self) -> bool {
        self.cited.iter().any(|cited| !matches!(cited.change, CitedChange::Moved { .. }))
    }
}

/// Why a person may want to look at a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Doubt {
    /// A place that it cites changed, and something that it names stands there no more.
    CitedContradicted {
        /// The places.
        paths: Vec<String>,
    },
    /// A place that it cites changed, and what it names still stands there.
    CitedTouched {
        /// The places.
        paths: Vec<String>,
    },
    /// A file that it cites stands elsewhere.
    CitedMoved {
        /// The files, each as `before → now`.
        paths: Vec<String>,
    },
    /// A file that it cites is gone.
    CitedGone {
        /// The files.
        paths: Vec<String>,
    },
    /// It was marked, and the model checked that it still holds; no person did since.
    CheckedByModel {
        /// The day.
        day: String,
    },
    /// It was not confirmed or used for a long time.
    Old {
        /// Days since the last time.
        days: i64,
    },
    /// No session starts with it, and none ever read or recalled it.
    NeverUsed {
        /// Days for which it has been known.
        days: i64,
    },
}

/// The stale pages, by the facts. Looks at each cited file once, and reads only those not read
/// before.
pub(super) fn check(
    book: &Book,
    checker: &mut Checker,
    places: &Places,
    pages: &[&Page],
) -> BTreeMap<PageId, Staleness> {
    let mut pinned: BTreeMap<PathBuf, Pinned> = BTreeMap::new();
    let mut wanted: Vec<(&PageId, PathBuf, &CitationPin)> = Vec::new();
    for page in pages {
        let Some(fact) = book.get(&page.id) else { continue };
        for pin in &fact.cites {
            let Some(path) = places.open(page.place.scope, pin) else { continue };
            let file = pinned.entry(path.clone()).or_default();
            file.pins.insert(pin.clone());
            file.is_bound |= places.is_bound(page.place.scope);
            wanted.push((&page.id, path, pin));
        }
    }
    let changes = checker.check(places, pinned);
    let mut stale: BTreeMap<PageId, Staleness> = BTreeMap::new();
    if changes.is_empty() {
        return stale;
    }
    let change_of = |(_, path, pin): &(&PageId, PathBuf, &CitationPin)| {
        changes.get(path).and_then(|of_file| of_file.get(*pin)).cloned()
    };
    // If two branches pinned the same citation, one matching pin is enough.
    let holding: HashSet<_> = wanted
        .iter()
        .filter(|one| change_of(one).is_none())
        .map(|(id, path, pin)| (*id, path, place_of(pin)))
        .collect();
    for one in &wanted {
        let (id, path, pin) = one;
        let Some(change) = change_of(one) else { continue };
        if holding.contains(&(*id, path, place_of(pin))) {
            continue;
        }
        let staleness =
            stale.entry((*id).clone()).or_insert_with(|| Staleness { cited: Vec::new() });
        let (pin, path) = ((*pin).clone(), path.clone());
        // One line for a file: the place that matters most.
        match staleness.cited.iter_mut().find(|cited| cited.path == path) {
            Some(known) if change < known.change => *known = CitedFile { pin, path, change },
            Some(_) => {}
            None => staleness.cited.push(CitedFile { pin, path, change }),
        }
    }
    stale
}

/// The lines that a pin covers.
fn place_of(pin: &CitationPin) -> Option<(u32, u32)> {
    pin.lines.as_ref().map(|lines| (lines.first, lines.count))
}

/// Why a person may want to look at a page; empty for most pages.
pub(super) fn doubts(
    page: &Page,
    fact: &Fact,
    staleness: Option<&Staleness>,
    now: Timestamp,
) -> Vec<Doubt> {
    let mut found = Vec::new();
    let paths = |wanted: &str| -> Vec<String> {
        let cited = staleness.iter().flat_map(|staleness| &staleness.cited);
        let meant = cited.filter(|cited| cited.change.as_str() == wanted);
        let shown = meant.map(|cited| match &cited.change {
            CitedChange::Moved { to } => format!("{} → {to}", cited.pin.path),
            CitedChange::Gone => cited.pin.path.clone(),
            _ => cited.pin.place(),
        });
        shown.collect()
    };
    let mut doubt = |paths: Vec<String>, doubt: fn(Vec<String>) -> Doubt| {
        if !paths.is_empty() {
            found.push(doubt(paths));
        }
    };
    doubt(paths("contradicted"), |paths| Doubt::CitedContradicted { paths });
    doubt(paths("gone"), |paths| Doubt::CitedGone { paths });
    doubt(paths("moved"), |paths| Doubt::CitedMoved { paths });
    doubt(paths("touched"), |paths| Doubt::CitedTouched { paths });
    if !fact.checked.is_empty() {
        found.push(Doubt::CheckedByModel { day: fact.checked.clone() });
    }
    let today = day(now);
    let since = |day: &str| days_between(day, &today);
    let quiet = fact.quiet_days(now).map(i64::from);
    let never_used = since(&fact.confirmed).filter(|days| *days > NEVER_USED_DAYS);
    match (quiet, never_used) {
        _ if page.is_pinned => {}
        (Some(days), _) if days > OLD_DAYS => found.push(Doubt::Old { days }),
        // Sessions start with entries, so that their use cannot be counted.
        (_, Some(days)) if fact.uses == 0 && !page.is_entry() => {
            found.push(Doubt::NeverUsed { days });
        }
        _ => {}
    }
    found
}
