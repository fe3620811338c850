//! Whose change of a file it was: that of another session of the same store, or of something outside.
//!
//! The transaction of a version does not say it: whoever looked at the file first wrote the version. What says it is the
//! event of the session that edited or wrote it. Asked only where a file changed; best effort, within limits.

use super::LiveSession;
use crate::error::Result;
use crate::object::{AsOf, FieldPath, Hash, ObjectId, ObjectType, TxId};
use crate::session::{Event, FileEvent};
use crate::store::{Comparison, Condition, Literal, Order, Query, Test};

/// Sessions that are asked, those written last first.
const MAX_SESSIONS: u64 = 16;
/// Events of all of them that are looked at for one call, the newest of each first.
const MAX_EVENTS: u64 = 8_000;
/// Events that are read at once.
const PAGE: u64 = 256;

impl LiveSession {
    /// Whether a version of a file, newer than the one told, was made by an `edit` or `write` of another session. What cannot
    /// be read says nothing.
    pub(super) fn is_by_another_session(&self, file: &ObjectId, told: &Hash, now: &Hash) -> bool {
        self.finds_maker(file, told, now).unwrap_or(false)
    }

    /// As many events of other sessions may be read again: a look at files begins.
    pub(super) fn renew_events_left(&self) {
        self.events_left.set(MAX_EVENTS);
    }

    fn finds_maker(&self, file: &ObjectId, told: &Hash, now: &Hash) -> Result<bool> {
        let versions = self.store.history(file)?;
        let since = versions.iter().find(|version| version.content_hash == *told);
        let since = since.map_or(TxId(0), |version| version.tx_id);
        let mut left = self.events_left.get();
        for session in self.sessions_since(since)? {
            if session == self.ids.session {
                continue;
            }
            // A fork of this session has its events, and a file may be as another session made it long ago.
            let place = self.made_at(&session, file, now, &mut left)?;
            self.events_left.set(left);
            if let Some(place) = place
                && self.store.item_since(&session, place)?.is_some_and(|at| at > since)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sessions that were written after a transaction, the last first.
    fn sessions_since(&self, after: TxId) -> Result<Vec<ObjectId>> {
        let tx_id = FieldPath::key("tx_id");
        let later = Test::Compare(Comparison::Greater, Literal::Number(after.0.into()));
        let query = Query {
            condition: Some(Condition::Test(tx_id.clone(), later)),
            order: vec![Order { field: tx_id, descending: true }],
            ..Query::default()
        };
        let found =
            self.store.query(&query.within(Some(ObjectType::Session), Some(MAX_SESSIONS)))?;
        Ok(found.into_iter().map(|version| version.envelope.id).collect())
    }

    /// Where among a session's events it made this version of a file, if that is the newest that it knows of it.
    fn made_at(
        &self,
        session: &ObjectId,
        file: &ObjectId,
        now: &Hash,
        left: &mut u64,
    ) -> Result<Option<u64>> {
        let Some(document) = self.store.get(session, AsOf::Latest)? else { return Ok(None) };
        let (at, mut end) = (AsOf::Tx(document.tx_id), document.item_count);
        while end > 0 && *left > 0 {
            let first = end.saturating_sub(PAGE.min(*left));
            let items = self.store.items(session, at, first..end)?;
            for (place, item) in (first..end).rev().zip(items.iter().rev()) {
                match file_event(item, file) {
                    Some(event) if event.version != *now => return Ok(None),
                    Some(event) if event.cause.by_model() => return Ok(Some(place)),
                    _ => {}
                }
            }
            *left -= end - first;
            end = first;
        }
        Ok(None)
    }
}

/// The event of a file, if an item is one.
fn file_event(item: &str, file: &ObjectId) -> Option<FileEvent> {
    if !item.contains(file.as_str()) {
        return None;
    }
    match serde_json::from_str(item) {
        Ok(Event::File(event)) if event.object == *file => Some(event),
        _ => None,
    }
}
