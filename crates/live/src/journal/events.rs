//! The events of a session as its document holds them.

use base::error::{Error, Result};
use base::object::{AsOf, ObjectId};
use session::Event;
use store::Store;

/// The events of a session, in order.
pub(crate) fn read_events(store: &Store, session: &ObjectId, at: AsOf) -> Result<Vec<Event>> {
    let items = store.items(session, at, 0..u64::MAX)?;
    items.iter().map(|item| read_event(session, item)).collect()
}

/// One event, from its item of the document.
pub(super) fn read_event(session: &ObjectId, item: &str) -> Result<Event> {
    serde_json::from_str(item)
        .map_err(|error| Error::internal(format!("event of `{session}` cannot be read: {error}")))
}
