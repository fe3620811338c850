//! Reads and applies a request's edits as the host's side does. `lib/request.js` is the JavaScript
//! counterpart.

use serde::Deserialize;
use serde_json::value::RawValue;

use base::error::{Error, Result};

/// A change to the outgoing list of messages.
#[derive(Debug, Clone)]
pub struct HostEdit<'a> {
    /// Index at which the edit applies, after all earlier edits.
    pub at: usize,
    /// Number of messages to remove there.
    pub remove: usize,
    /// Messages to insert in their place.
    pub insert: Vec<Inserted<'a>>,
}

/// A message to insert.
#[derive(Debug, Clone, Copy)]
pub enum Inserted<'a> {
    /// The host's own message at this index of its list.
    Given(usize),
    /// The host's message at this index with another content, as JSON.
    Changed(usize, &'a str),
    /// A message of our own, as JSON.
    Ours(&'a str),
}

/// Reads the edits in a session's answer.
///
/// # Errors
/// `INTERNAL` if they cannot be read.
pub fn read_edits(edits: &str) -> Result<Vec<HostEdit<'_>>> {
    let edits: Vec<Edit<'_>> = serde_json::from_str(edits)
        .map_err(|error| Error::internal(format!("edits cannot be read: {error}")))?;
    edits.into_iter().map(Edit::read).collect()
}

/// Applies edits to the messages last sent. `build` makes a message.
pub fn apply_edits<T>(
    sent: &mut Vec<T>,
    edits: &[HostEdit<'_>],
    build: impl Fn(Inserted<'_>) -> T,
) {
    for edit in edits {
        let insert: Vec<T> = edit.insert.iter().map(|inserted| build(*inserted)).collect();
        drop(sent.splice(edit.at..edit.at + edit.remove, insert));
    }
}

#[derive(Deserialize)]
struct Edit<'a> {
    at: usize,
    remove: usize,
    #[serde(borrow)]
    insert: Vec<Slot<'a>>,
}

impl<'a> Edit<'a> {
    fn read(self) -> Result<HostEdit<'a>> {
        let insert = self.insert.into_iter().map(Slot::inserted).collect::<Option<_>>();
        let insert = insert.ok_or_else(|| Error::internal("an edit inserts no message"))?;
        Ok(HostEdit { at: self.at, remove: self.remove, insert })
    }
}

#[derive(Deserialize)]
struct Slot<'a> {
    host: Option<usize>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

impl<'a> Slot<'a> {
    fn inserted(self) -> Option<Inserted<'a>> {
        if let Some(message) = self.message {
            return Some(Inserted::Ours(message.get()));
        }
        let index = self.host?;
        Some(match self.content {
            Some(content) => Inserted::Changed(index, content.get()),
            None => Inserted::Given(index),
        })
    }
}
