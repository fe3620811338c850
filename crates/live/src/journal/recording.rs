//! A session as the store holds it: its newest version and all its events, read once as long as the
//! store does not change.

use std::fmt::Display;
use std::sync::Arc;

use super::events::read_event;
use super::versions::is_forgotten;
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId, ObjectType};
use session::Event;
use store::{Store, Version};

/// A session as it is recorded.
pub(crate) struct Recording {
    pub(crate) session: Version,
    pub(crate) events: Vec<Event>,
    /// Whether something was removed from each event's record, by index.
    pub(crate) redacted: Vec<bool>,
}

impl Recording {
    /// Reads a session, unless it is known already. `at`: what is looked for in it, for messages.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no such session; `FORGOTTEN` if it is forgotten.
    pub(crate) fn of(store: &Store, session: &ObjectId, at: &dyn Display) -> Result<Arc<Self>> {
        store.derived(session, || Self::read(store, session, at))
    }

    fn read(store: &Store, session: &ObjectId, at: &dyn Display) -> Result<Self> {
        let missing = || Error::NotFound { id: session.clone(), at: at.to_string() };
        let latest = store.get(session, AsOf::Latest)?;
        let latest = latest.filter(|version| version.envelope.kind == ObjectType::Session);
        let latest = latest.ok_or_else(missing)?;
        if is_forgotten(&latest) {
            return Err(Error::Forgotten { id: session.clone() });
        }
        let items = store.list_items(session, AsOf::Latest, 0..u64::MAX)?;
        let events = items.iter().map(|item| read_event(session, &item.text));
        Ok(Self {
            session: latest,
            events: events.collect::<Result<_>>()?,
            redacted: items.iter().map(|item| item.redacted.is_some()).collect(),
        })
    }
}
