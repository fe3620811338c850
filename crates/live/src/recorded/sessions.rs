//! The sessions of a store, read from their documents and events. Opens none.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;

use super::title;
use crate::journal::{LastWritten, is_forgotten, read_events, stem, written, written_at_most};
use base::error::{Error, Result};
use base::object::{AsOf, Handle, ObjectId, ObjectType, Timestamp, TxId, session_name};
use session::{IndexEntry, Opened, Session, Subject};
use store::{Store, Version, copied_from};

/// Maximum number of candidates listed for an ambiguous name.
const MAX_CANDIDATES: usize = 8;

/// Number of events read at a time.
const PAGE: usize = 256;

/// What a store knows of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// The latest version of its document, whose fields include harness, host session, working
    /// folder and state.
    pub version: Version,
    /// The first words of the first message that a person wrote; `None` if the store does not hold
    /// them.
    pub title: Option<String>,
    /// When it was written last, not counting closing; for an imported session, in its original
    /// store.
    pub updated: Timestamp,
    /// When it was first opened.
    pub started: Timestamp,
    /// Calls to the model, including a parent's before the fork.
    pub calls: u64,
    /// The session with whose chat it began.
    pub parent: Option<ObjectId>,
    /// Whether it split off from `parent` because another process wrote to that; otherwise the host
    /// forked it.
    pub parted: bool,
}

/// Lists at most `limit` sessions, the last-written one first. Leaves out forgotten ones and those
/// without a call.
pub fn sessions(store: &Store, limit: usize) -> Result<Vec<SessionSummary>> {
    let mut found = Vec::new();
    let mut newest = Newest::of(store, |written| written.time)?;
    while found.len() < limit
        && let Some((written, version)) = newest.pop()?
    {
        let calls = calls(store, &version)?;
        if calls > 0 {
            found.push(summary(store, version, written.time, calls)?);
        }
    }
    Ok(found)
}

/// Finds a session by its ID, with or without `session:`, by the host's session ID, by a prefix of
/// either, or as `latest`: the one written last in this store. Among sessions that split off from
/// one, host ID and prefix select the one written last, and never an imported copy of a session
/// that is also here.
///
/// # Errors
/// `UNKNOWN_NAME`; `AMBIGUOUS_NAME` with the candidates; `FORGOTTEN` if it is forgotten.
pub fn find_session(store: &Store, name: &str) -> Result<ObjectId> {
    let unknown = || Error::unknown_name(name);
    // Its whole ID leaves nothing to look for.
    if let Some(named) = store.get(&ObjectId::new(name), AsOf::Latest)?
        && named.envelope.kind == ObjectType::Session
    {
        return not_forgotten(&named);
    }
    if name == "latest" {
        return not_forgotten(&latest(store)?.ok_or_else(unknown)?);
    }
    let all = named(store, name)?;
    let is: [&dyn Fn(&Version) -> bool; 3] =
        [&|version| host(version) == name, &|version| key(version) == name, &|_| true];
    let mut found = is.iter().map(|is| all.iter().filter(|it| is(it)).collect::<Vec<_>>());
    let found =
        one_of_each_family(store, found.find(|found| !found.is_empty()).unwrap_or_default())?;
    match found.as_slice() {
        [] => Err(unknown()),
        [one] => not_forgotten(one),
        several => {
            let describe = |version: &&Version| {
                let field = |name| version.fields.get(name).and_then(Value::as_str);
                let cwd = field("cwd").unwrap_or_default();
                let harness = field("harness").unwrap_or_default();
                format!("{} {harness} {cwd}", id(version)).trim_end().to_owned()
            };
            let candidates = several.iter().take(MAX_CANDIDATES).map(describe).collect();
            Err(Error::AmbiguousName { name: name.to_owned(), candidates })
        }
    }
}

fn not_forgotten(version: &Version) -> Result<ObjectId> {
    let id = version.envelope.id.clone();
    if is_forgotten(version) { Err(Error::Forgotten { id }) } else { Ok(id) }
}

fn id(version: &Version) -> &str {
    version.envelope.id.as_str()
}

/// The ID without `session:`.
fn key(version: &Version) -> &str {
    session_name(id(version))
}

/// The host's session ID.
fn host(version: &Version) -> &str {
    version.fields.get("host_session").and_then(Value::as_str).unwrap_or_default()
}

/// The object that a handle of a session names.
///
/// # Errors
/// `UNKNOWN_NAME` if the session gave no such handle, or to a call that was left out when the
/// session came here: another has its ID.
pub fn find_handle(store: &Store, session: &ObjectId, handle: Handle) -> Result<ObjectId> {
    let state = Session::replay(&read_events(store, session, AsOf::Latest)?);
    let entry = state.index().by_handle(handle);
    let unknown = || Error::unknown_name(handle.to_string());
    let IndexEntry { id, subject, .. } = entry.ok_or_else(unknown)?;
    if matches!(subject, Subject::Toolcall { .. })
        && store.find_version(id, subject.version())?.is_none()
    {
        return Err(unknown());
    }
    Ok(id.clone())
}

/// The number of a session's newest call.
///
/// # Errors
/// `NOT_FOUND` if it has made none.
pub fn newest_call(store: &Store, session: &ObjectId) -> Result<u64> {
    let none = || Error::NoCall { session: session.clone(), number: 1, calls: 0 };
    let version = store.get(session, AsOf::Latest)?.ok_or_else(none)?;
    Some(calls(store, &version)?).filter(|number| *number > 0).ok_or_else(none)
}

/// The latest documents of the sessions whose ID, with or without `session:`, begins with a name.
/// The host's session ID is how the key begins.
fn named(store: &Store, name: &str) -> Result<Vec<Version>> {
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let every = ObjectId::session("");
    let id = if every.as_str().starts_with(name) { every.as_str() } else { name };
    let mut ids =
        BTreeSet::from_iter(store.find_prefix(ObjectId::session(name).as_str(), usize::MAX)?);
    if id.starts_with(every.as_str()) {
        ids.extend(store.find_prefix(id, usize::MAX)?);
    }
    let mut found = Vec::new();
    for id in ids {
        let latest = store.get(&id, AsOf::Latest)?;
        found.extend(latest.filter(|it| it.envelope.kind == ObjectType::Session));
    }
    Ok(found)
}

/// The session written last in this store or, if none was, anywhere. Those without a call count
/// last.
fn latest(store: &Store) -> Result<Option<Version>> {
    let mut newest = Newest::of(store, |written| (written.is_here, written))?;
    let mut first = None;
    while let Some((_, version)) = newest.pop()? {
        if calls(store, &version)? > 0 {
            return Ok(Some(version));
        }
        first.get_or_insert(version);
    }
    Ok(first)
}

/// Picks one session from each family of split-off sessions and their copies: preferably no copy,
/// and written last.
fn one_of_each_family<'v>(store: &Store, found: Vec<&'v Version>) -> Result<Vec<&'v Version>> {
    if found.len() < 2 {
        return Ok(found);
    }
    let known = found.iter().any(|version| !is_forgotten(version));
    let mut families: BTreeMap<_, _> = BTreeMap::new();
    for version in found.into_iter().filter(|version| !known || !is_forgotten(version)) {
        let id = &version.envelope.id;
        let rank = (copied_from(id).is_none(), written(store, version)?);
        let family = families.entry((stem(id), host(version))).or_insert((rank, version));
        if family.0 < rank {
            *family = (rank, version);
        }
    }
    Ok(families.into_values().map(|(_, version)| version).collect())
}

/// The documents that are not forgotten, the one with the greatest rank first. Reads only those
/// that may come next.
struct Newest<'a, R> {
    store: &'a Store,
    rank: fn(LastWritten) -> R,
    /// By the most that their rank may be, the greatest last.
    unread: Vec<(R, TxId, ObjectId)>,
    read: BTreeMap<(R, TxId, Reverse<ObjectId>), (LastWritten, Version)>,
}

impl<'a, R: Ord> Newest<'a, R> {
    fn of(store: &'a Store, rank: fn(LastWritten) -> R) -> Result<Self> {
        let most = |(id, tx_id, time)| (rank(written_at_most(&id, tx_id, time)), tx_id, id);
        let written = store.last_written(ObjectType::Session)?.into_iter();
        let mut unread: Vec<_> = written.map(most).collect();
        unread.sort_unstable();
        Ok(Self { store, rank, unread, read: BTreeMap::new() })
    }

    fn pop(&mut self) -> Result<Option<(LastWritten, Version)>> {
        loop {
            let best = self.read.last_key_value().map(|((rank, tx_id, _), _)| (rank, *tx_id));
            let next = self.unread.last().map(|(rank, tx_id, _)| (rank, *tx_id));
            if next.is_none() || best > next {
                return Ok(self.read.pop_last().map(|(_, found)| found));
            }
            let Some((_, _, id)) = self.unread.pop() else { continue };
            let Some(version) = self.store.get(&id, AsOf::Latest)? else { continue };
            if is_forgotten(&version) {
                continue;
            }
            let written = written(self.store, &version)?;
            let key = ((self.rank)(written), version.tx_id, Reverse(id));
            self.read.insert(key, (written, version));
        }
    }
}

fn summary(
    store: &Store,
    version: Version,
    updated: Timestamp,
    calls: u64,
) -> Result<SessionSummary> {
    let opened = opened(store, &version)?;
    let parent = opened.as_ref().and_then(|opened| opened.forked_from.clone());
    let parted = parent.as_ref().is_some_and(|parent| stem(&version.envelope.id) == stem(parent));
    let started = opened.map_or(version.system_time, |opened| opened.time);
    let title = title::of(store, &version)?;
    Ok(SessionSummary { version, title, updated, started, calls, parent, parted })
}

/// The number of the last call. Call records stand near the end, so the events are read backwards.
fn calls(store: &Store, version: &Version) -> Result<u64> {
    #[derive(Deserialize)]
    struct Called {
        event: String,
        #[serde(default)]
        number: u64,
        #[serde(default)]
        calls: Vec<Value>,
    }
    let mut failed = 0;
    let mut end = version.item_count;
    while end > 0 {
        let start = end.saturating_sub(PAGE as u64);
        for item in events(store, version, start..end)?.iter().rev() {
            let Some(called) = parse::<Called>(item) else { continue };
            match called.event.as_str() {
                "called" => return Ok(called.number + failed),
                "failed_open" => failed += called.calls.len() as u64,
                _ => {}
            }
        }
        end = start;
    }
    Ok(failed)
}

/// Where a session comes from: its own `opened` event, which is the last one, since a parent's come
/// before it. No other event has its fields.
fn opened(store: &Store, version: &Version) -> Result<Option<Opened>> {
    let first = events(store, version, 0..1)?.first().and_then(|item| parse::<Opened>(item));
    let own = version.fields.get("host_session").and_then(Value::as_str);
    let is_own = first.as_ref().is_some_and(|first| Some(first.host_session.as_str()) == own);
    // Only a session that took over another's events has more than the first.
    if is_own && stem(&version.envelope.id) == version.envelope.id.as_str() {
        return Ok(first);
    }
    let mut last = first;
    for start in (1..version.item_count).step_by(PAGE) {
        let page = events(store, version, start..start + PAGE as u64)?;
        last = page.iter().rev().find_map(|item| parse::<Opened>(item)).or(last);
    }
    Ok(last)
}

fn events(store: &Store, version: &Version, range: Range<u64>) -> Result<Vec<String>> {
    store.items(&version.envelope.id, AsOf::Tx(version.tx_id), range)
}

/// `None` for another kind of event, and for one whose text was removed.
fn parse<T: for<'de> Deserialize<'de>>(item: &str) -> Option<T> {
    serde_json::from_str(item).ok()
}
