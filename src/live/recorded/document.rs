//! A session as its document stood at some time: what it knew then, folded from its events. Must not write, nor open a session.

use crate::error::{Error, Result};
use crate::live::journal::{is_forgotten, read_events};
use crate::object::{AsOf, ObjectId, ObjectType};
use crate::session::Session;
use crate::store::{Store, Version};

/// The state of a session at some time, and the version of its document that was the latest then. Takes time in proportion to the
/// events before.
///
/// # Errors
/// `NOT_FOUND` if there was no such session; `FORGOTTEN` if a person had it forgotten; whatever the store reports.
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
