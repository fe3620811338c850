//! Who changed a file: another session of the same store, or something outside.
//!
//! The transaction of a version does not tell: whoever looks at the file first writes the version.
//! The events of the session that edited or wrote the file do. Used only for files that changed;
//! best effort, within limits.

use crate::journal::Journal;
use base::error::Result;
use base::object::{AsOf, FieldPath, Hash, ObjectId, ObjectType, TxId};
use session::{Event, FileEvent};
use store::{Comparison, Condition, Literal, Order, Query, Store, Test};

/// Number of sessions whose events are read, those written last first.
const MAX_SESSIONS: u64 = 16;
/// Number of other sessions' events that are read for the notes of one call, the newest of each
/// session first.
pub(super) const MAX_EVENTS: u64 = 8_000;
/// Number of events that are read at a time.
const PAGE: u64 = 256;

/// Whether an `edit` or `write` of another session made the version `now` of a file, after the
/// version `told`.
///
/// `events_left`: events of other sessions that may be read; those that were read are subtracted.
pub(super) fn is_by_another_session(
    journal: &Journal,
    file: &ObjectId,
    told: &Hash,
    now: &Hash,
    events_left: &mut u64,
) -> Result<bool> {
    let store = &journal.store;
    let versions = store.history(file)?;
    let since = versions.iter().find(|version| version.content_hash == *told);
    let since = since.map_or(TxId(0), |version| version.tx_id);
    for session in sessions_since(store, since)? {
        if session == *journal.session_id() {
            continue;
        }
        // A fork of this session has its events too, and the session may have made this version
        // long ago.
        if let Some(place) = made_at(store, &session, file, now, events_left)?
            && store.item_since(&session, place)?.is_some_and(|at| at > since)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sessions that were written after a transaction, those written last first.
fn sessions_since(store: &Store, after: TxId) -> Result<Vec<ObjectId>> {
    let tx_id = FieldPath::key("tx_id");
    let later = Test::Compare(Comparison::Greater, Literal::Number(after.0.into()));
    let query = Query {
        condition: Some(Condition::Test(tx_id.clone(), later)),
        order: vec![Order { field: tx_id, descending: true }],
        ..Query::default()
    };
    let found = store.query(&query.within(Some(ObjectType::Session), Some(MAX_SESSIONS)))?;
    Ok(found.into_iter().map(|version| version.envelope.id).collect())
}

/// Position of the event by which a session made this version of a file. `None` if it knows a newer
/// one.
fn made_at(
    store: &Store,
    session: &ObjectId,
    file: &ObjectId,
    now: &Hash,
    events_left: &mut u64,
) -> Result<Option<u64>> {
    let Some(document) = store.get(session, AsOf::Latest)? else { return Ok(None) };
    let (at, mut end) = (AsOf::Tx(document.tx_id), document.item_count);
    while end > 0 && *events_left > 0 {
        let first = end.saturating_sub(PAGE.min(*events_left));
        let items = store.items(session, at, first..end)?;
        for (place, item) in (first..end).rev().zip(items.iter().rev()) {
            match file_event(item, file) {
                Some(event) if event.version != *now => return Ok(None),
                Some(event) if event.cause.by_model() => return Ok(Some(place)),
                _ => {}
            }
        }
        *events_left -= end - first;
        end = first;
    }
    Ok(None)
}

/// Reads an item, if it is an event of this file.
fn file_event(item: &str, file: &ObjectId) -> Option<FileEvent> {
    if !item.contains(file.as_str()) {
        return None;
    }
    match serde_json::from_str(item) {
        Ok(Event::File(event)) if event.object == *file => Some(event),
        _ => None,
    }
}
