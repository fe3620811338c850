//! The sessions of a store, read from their documents and events. Opens none.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;

use super::title;
use crate::journal::{Written, is_forgotten, read_events, stem, written};
use base::error::{Error, Result};
use base::object::{AsOf, Handle, ObjectId, ObjectType, Timestamp, session_name};
use session::{Opened, Session};
use store::{Store, Version, copied_from};

/// Maximum number of candidates listed for an ambiguous name.
const MAX_CANDIDATES: usize = 8;

/// Number of versions or events read at a time.
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
    let known = Documents::read(store)?;
    let mut found = Vec::new();
    for (written, version) in known.newest_first(|written| written.time)? {
        if found.len() == limit {
            break;
        }
        let calls = calls(store, version)?;
        if calls > 0 {
            found.push(summary(store, version.clone(), written.time, calls)?);
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
    let all = Documents::read(store)?;
    let named: [&dyn Fn(&Version) -> bool; 3] =
        [&|version| host(version) == name, &|version| key(version) == name, &|version| {
            let names = [id(version), key(version), host(version)];
            !name.is_empty() && names.iter().any(|full| full.starts_with(name))
        }];
    let found: Vec<&Version> = if name == "latest" {
        all.latest()?.into_iter().collect()
    } else {
        let mut found =
            named.iter().map(|is| all.latest.iter().filter(|v| is(v)).collect::<Vec<_>>());
        all.one_of_each_family(found.find(|found| !found.is_empty()).unwrap_or_default())?
    };
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
/// `UNKNOWN_NAME` if the session gave no such handle.
pub fn find_handle(store: &Store, session: &ObjectId, handle: Handle) -> Result<ObjectId> {
    let state = Session::replay(&read_events(store, session, AsOf::Latest)?);
    let entry = state.index().by_handle(handle);
    let id = entry.map(|entry| entry.id.clone());
    id.ok_or_else(|| Error::unknown_name(handle.to_string()))
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

/// All session documents.
struct Documents<'a> {
    store: &'a Store,
    /// Their latest versions.
    latest: Vec<Version>,
    /// The versions before these, once something asks when one was written.
    before: OnceCell<HashMap<ObjectId, Version>>,
}

impl<'a> Documents<'a> {
    fn read(store: &'a Store) -> Result<Self> {
        let mut latest: Vec<Version> = Vec::new();
        loop {
            let after = latest.last().map(|version| version.envelope.id.clone());
            let page = store.list(ObjectType::Session, after.as_ref(), PAGE)?;
            if page.is_empty() {
                return Ok(Self { store, latest, before: OnceCell::new() });
            }
            latest.extend(page);
        }
    }

    fn written(&self, document: &Version) -> Result<Written> {
        if self.before.get().is_none() {
            let before = self.store.list_before_latest(ObjectType::Session)?.into_iter();
            let before = before.map(|version| (version.envelope.id.clone(), version)).collect();
            self.before.get_or_init(|| before);
        }
        let before = self.before.get().and_then(|before| before.get(&document.envelope.id));
        written(self.store, document, before)
    }

    /// The documents that are not forgotten, the one with the greatest `rank` first.
    fn newest_first<R: Ord>(&self, rank: fn(Written) -> R) -> Result<Vec<(Written, &Version)>> {
        let known = self.latest.iter().filter(|version| !is_forgotten(version));
        let ranked = known.map(|version| Ok((self.written(version)?, version)));
        let mut ranked: Vec<_> = ranked.collect::<Result<_>>()?;
        ranked.sort_by_key(|(written, version)| Reverse((rank(*written), version.tx_id)));
        Ok(ranked)
    }

    /// The session written last in this store or, if none was, anywhere. Those without a call count
    /// last.
    fn latest(&self) -> Result<Option<&Version>> {
        let ranked = self.newest_first(|written| (written.is_here, written))?;
        for (_, version) in &ranked {
            if calls(self.store, version)? > 0 {
                return Ok(Some(version));
            }
        }
        Ok(ranked.first().map(|(_, version)| *version))
    }

    /// Picks one session from each family of split-off sessions and their copies: preferably no
    /// copy, and written last.
    fn one_of_each_family<'v>(&self, found: Vec<&'v Version>) -> Result<Vec<&'v Version>> {
        if found.len() < 2 {
            return Ok(found);
        }
        let known = found.iter().any(|version| !is_forgotten(version));
        let mut families: BTreeMap<_, _> = BTreeMap::new();
        for version in found.into_iter().filter(|version| !known || !is_forgotten(version)) {
            let id = &version.envelope.id;
            let rank = (copied_from(id).is_none(), self.written(version)?);
            let family = families.entry((stem(id), host(version))).or_insert((rank, version));
            if family.0 < rank {
                *family = (rank, version);
            }
        }
        Ok(families.into_values().map(|(_, version)| version).collect())
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
