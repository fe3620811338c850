//! `page-facts.jsonl`: facts that a page's Markdown cannot hold, one line per page, ordered by ID.
//! The file is in git: two versions of a line are merged, merge markers are skipped, and anything
//! that a later version of the program wrote stays.
//!
//! The user's own folder has `page-facts.local.jsonl` for facts that concern one person alone and
//! for lines that differ only because this person looked. If reading memory changed or created a
//! file in git, that file would block the next `git pull`. Must not look at pages or cited files.

mod book;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use self::book::{Book, Met};
use super::identity::{KnownPage, says_the_same};
use super::load::is_merge_mark;
use super::page::{Page, PageId};
use super::parse::without_marker;
use super::pins::CitationPin;
use super::scope::Scope;
use super::sidecar::BadLine;
use base::object::{Hash, Timestamp};
pub use settings::FACTS_FILE;

/// Name of the facts file in the user's own folder.
pub const LOCAL_FACTS_FILE: &str = "page-facts.local.jsonl";

/// Days by which a clock is not ahead of another.
const AHEAD_DAYS: i64 = 3;

/// Digits of the hash of a page's text.
const TEXT_CHARS: usize = 12;

/// What is known of a page besides its Markdown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The page's ID.
    pub id: PageId,
    /// Path in the scope's folder; empty in a line that only adds to a line of `page-facts.jsonl`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Texts of the headings above it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// Its first words, which identify it after an edit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// Hash of its text; a different hash means an edit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The day on which it was written, edited or confirmed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub confirmed: String,
    /// Its citations, as of that day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cites: Vec<CitationPin>,
    /// Number of days on which it was read or recalled.
    #[serde(default, skip_serializing_if = "session::is_default")]
    pub uses: u64,
    /// The last of them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub used: String,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// Whether nobody wrote or confirmed it here: it was met in a file that git brought, and its
    /// citations are as they were then. Whoever wrote it knows better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen: bool,
    /// The day on which the model checked that it still holds: its citations are as of then. Nobody
    /// confirmed it by that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checked: String,
    /// What was checked out where it stood, if `page-facts.jsonl` does not know it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// The day on which it was first missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub gone: String,
    /// Fields that a later version of the program added.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
    /// Its scope.
    #[serde(skip)]
    pub scope: Scope,
}

impl Fact {
    /// The facts of a new page.
    pub(super) fn new(page: &Page, confirmed: String) -> Self {
        let (id, scope) = (page.id.clone(), page.place.scope);
        let mut fact = Self { id, confirmed, scope, ..Self::default() };
        fact.describe(page);
        fact
    }

    /// Takes over a page's place and text. Returns whether it says something else: punctuation,
    /// emphasis and tags do not count.
    fn describe(&mut self, page: &Page) -> bool {
        let known = KnownPage::of(page);
        (self.file, self.headings) = (known.file, known.headings);
        let text = text_hash(&page.text);
        if self.text == text {
            return false;
        }
        self.text = text;
        let before = std::mem::replace(&mut self.words, known.words.join(" "));
        !says_the_same(&word_list(&before), &known.words)
    }

    /// Number of cited files that are pinned; a file may be at several places.
    pub(super) fn cited_files(&self) -> usize {
        let paths: std::collections::BTreeSet<&str> =
            self.cites.iter().map(|pin| pin.path.as_str()).collect();
        paths.len()
    }

    /// Days since it was last confirmed or used; `None` if unknown.
    pub(super) fn quiet_days(&self, now: Timestamp) -> Option<u32> {
        let last = self.confirmed.as_str().max(&self.used);
        u32::try_from(days_between(last, &day(now))?.max(0)).ok()
    }

    /// The page in the form that identity uses. `checked_out`: now.
    pub(super) fn known(&self, checked_out: &str) -> KnownPage {
        KnownPage {
            id: self.id.clone(),
            scope: self.scope,
            file: self.file.clone(),
            headings: self.headings.clone(),
            words: word_list(&self.words),
            is_here: self.on.is_empty() || self.on == checked_out,
        }
    }

    /// Merges two lines about one page: the later confirmation decides what the page is and cites;
    /// on the same day, both count. What was only seen confirms nothing: of two such lines the
    /// earlier counts, and any other one counts more. `today`: a later day is of a clock that was
    /// ahead, and counts least.
    fn join(self, other: Self, today: &str) -> Self {
        let is_past = |day: &&String| days_between(today, day).is_none_or(|days| days < AHEAD_DAYS);
        let day_of = |fact: &Self| Some(&fact.confirmed).filter(is_past).cloned();
        let (own, others) = (day_of(&self), day_of(&other));
        let is_same = self.text == other.text;
        let takes_other = match (self.seen, other.seen) {
            _ if is_same && self.is_checked_since(&other) => false,
            _ if is_same && other.is_checked_since(&self) => true,
            (true, false) if is_same => true,
            (false, true) if is_same => false,
            (true, true) if is_same => others <= own,
            _ => others > own,
        };
        let (mut newer, mut older) = if takes_other { (other, self) } else { (self, other) };
        if own == others && is_same && !newer.seen && !older.seen {
            newer.cites.append(&mut older.cites);
            newer.cites.sort();
            newer.cites.dedup();
        }
        newer.uses = newer.uses.max(older.uses);
        newer.used = newer.used.max(older.used);
        // A page that one side still has is not gone.
        newer.gone = newer.gone.min(older.gone);
        if newer.file.is_empty() {
            (newer.file, newer.headings) = (older.file, older.headings);
            (newer.words, newer.text) = (older.words, older.text);
        }
        if newer.origin.is_empty() {
            newer.origin = older.origin;
        }
        for (name, value) in older.rest {
            newer.rest.entry(name).or_insert(value);
        }
        newer
    }

    /// Whether the model checked it after its citations were pinned elsewhere.
    fn is_checked_since(&self, other: &Self) -> bool {
        !self.checked.is_empty() && self.checked >= *(&other.confirmed).max(&other.checked)
    }

    /// Adds this person's own facts to the line of `page-facts.jsonl`.
    fn add_own(&mut self, own: Self) {
        // If the line has another day, the pins belong to an entry that was edited since.
        if own.confirmed == self.confirmed {
            self.cites.extend(own.cites);
        }
        self.uses = self.uses.max(own.uses);
        self.used = self.used.clone().max(own.used);
    }

    /// The part that may be shared with others.
    fn shared(&self) -> Self {
        let cites = self.cites.iter().filter(|pin| !pin.is_private).cloned().collect();
        Self { cites, uses: 0, used: String::new(), on: String::new(), ..self.clone() }
    }

    /// The part that is private to this person; `None` if there is none.
    fn own(&self) -> Option<Self> {
        let cites: Vec<CitationPin> =
            self.cites.iter().filter(|pin| pin.is_private).cloned().collect();
        let confirmed = if cites.is_empty() { String::new() } else { self.confirmed.clone() };
        (self.uses > 0 || !cites.is_empty()).then(|| Self {
            id: self.id.clone(),
            confirmed,
            cites,
            uses: self.uses,
            used: self.used.clone(),
            scope: self.scope,
            ..Self::default()
        })
    }
}

/// The file text for some facts.
fn text_of(facts: impl IntoIterator<Item = Fact>) -> String {
    let lines = facts.into_iter().filter_map(|fact| serde_json::to_string(&fact).ok());
    lines.map(|line| line + "\n").collect()
}

/// Hash of a text as entries are compared: list markers and spacing do not count.
pub(super) fn text_hash(text: &str) -> String {
    let words: Vec<String> = without_marker(text).split_whitespace().map(str::to_owned).collect();
    Hash::of(words.join(" ")).as_str()[..TEXT_CHARS].to_owned()
}

fn word_list(words: &str) -> Vec<String> {
    words.split(' ').map(str::to_owned).collect()
}

/// The UTC day of a time, such as `2026-11-23`.
pub(super) fn day(time: Timestamp) -> String {
    time.to_string().chars().take(10).collect()
}

/// Whole days from one day to another; `None` if either is not a day.
pub(super) fn days_between(from: &str, to: &str) -> Option<i64> {
    let day = |text: &str| Some(Timestamp::parse(text)?.0.div_euclid(86_400_000));
    Some(day(to)? - day(from)?)
}

/// Merges a file's lines by page. Merge markers are dropped; other unreadable lines are returned,
/// to be set aside.
fn joined(
    entries: Vec<(Fact, String)>,
    bad: Vec<BadLine>,
    scope: Scope,
    today: &str,
) -> (BTreeMap<PageId, Fact>, Vec<String>) {
    let mut facts: BTreeMap<PageId, Fact> = BTreeMap::new();
    for (fact, _) in entries {
        let fact = Fact { scope, ..fact };
        let fact = match facts.remove(&fact.id) {
            Some(known) => known.join(fact, today),
            None => fact,
        };
        facts.insert(fact.id.clone(), fact);
    }
    let aside = bad.into_iter().map(|bad| bad.text).filter(|line| !is_merge_mark(line));
    (facts, aside.collect())
}
