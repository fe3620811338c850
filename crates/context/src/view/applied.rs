//! Reads a request's edits as the host's side does. `lib/request.js` is the JavaScript
//! counterpart.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Edit;
use base::error::{Error, Result};

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
pub fn read_edits(edits: &str) -> Result<Vec<Edit<Inserted<'_>>>> {
    let edits: Vec<Edit<Slot<'_>>> = serde_json::from_str(edits)
        .map_err(|error| Error::internal(format!("edits cannot be read: {error}")))?;
    edits.into_iter().map(|edit| edit.try_map(Slot::inserted)).collect()
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
    fn inserted(self) -> Result<Inserted<'a>> {
        match (self.message, self.host, self.content) {
            (Some(message), ..) => Ok(Inserted::Ours(message.get())),
            (None, Some(index), Some(content)) => Ok(Inserted::Changed(index, content.get())),
            (None, Some(index), None) => Ok(Inserted::Given(index)),
            (None, None, _) => Err(Error::internal("an edit inserts no message")),
        }
    }
}
