//! What a name meant in a session when somebody wrote it. Must not find anything that the session had
//! not met.

use std::cell::RefCell;

use super::session_at;
use base::error::{Error, Result};
use base::object::{AsOf, Handle, ObjectId};
use session::{Session, SessionIndex};
use store::Store;

/// Sessions as they are asked about, the last one kept: the links of one text ask about one.
#[derive(Debug)]
pub struct SessionNames<'a> {
    store: &'a Store,
    last: RefCell<Option<(ObjectId, AsOf, Session)>>,
}

impl<'a> SessionNames<'a> {
    /// The sessions of a store.
    pub fn new(store: &'a Store) -> Self {
        Self { store, last: RefCell::default() }
    }

    /// The objects that a handle, or the path of a file, could mean in a session at a time. None if
    /// the session is not there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn meant(&self, session: &ObjectId, name: &str, at: AsOf) -> Result<Vec<ObjectId>> {
        let mut last = self.last.borrow_mut();
        let is_last = |(id, of, _): &(ObjectId, AsOf, Session)| (id, *of) == (session, at);
        if !last.as_ref().is_some_and(is_last) {
            *last = match session_at(self.store, session, at) {
                Ok((_, found)) => Some((session.clone(), at, found)),
                Err(Error::NotFound { .. } | Error::Forgotten { .. }) => None,
                Err(error) => return Err(error),
            };
        }
        let named = |(.., found): &(_, _, Session)| named(found.index(), name);
        Ok(last.as_ref().map(named).unwrap_or_default())
    }
}

fn named(index: &SessionIndex, name: &str) -> Vec<ObjectId> {
    if let Some(handle) = Handle::parse(name) {
        return index.by_handle(handle).map(|entry| entry.id.clone()).into_iter().collect();
    }
    let files = || index.entries.iter().filter(|entry| !entry.subject.agent_path().is_empty());
    if let Some(exact) = files().find(|entry| entry.subject.agent_path() == name) {
        return vec![exact.id.clone()];
    }
    let ends = format!("/{name}");
    let named = files().filter(|entry| entry.subject.agent_path().ends_with(&ends));
    named.map(|entry| entry.id.clone()).collect()
}
