//! A session's state at some point in time, computed from its events. Must not write, nor open a
//! session.

use crate::journal::{is_forgotten, read_events};
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId, ObjectType};
use session::Session;
use store::{Store, Version};

/// The state of a session at some point in time, and the version of its document that was the
/// latest then. Takes time in proportion to the number of earlier events.
///
/// # Errors
/// `NOT_FOUND` if there was no such session; `FORGOTTEN` if it is forgotten; errors of the store.
pub fn session_at(store: &Store, id: &ObjectId, at: AsOf) -> Result<(Version, Session)> {
    let version = store.require(id, at)?;
    if version.envelope.kind != ObjectType::Session {
        return Err(Error::NotFound { id: id.clone(), at: "as a session".to_owned() });
    }
    if is_forgotten(&version) {
        return Err(Error::Forgotten { id: id.clone() });
    }
    let events = read_events(store, id, AsOf::Tx(version.tx_id))?;
    Ok((version, Session::replay(&events)))
}
