//! How the user or the model changes the sets of a session by name. Changes are stored when a
//! method returns.

use super::LiveSession;
use crate::model_tools::OURS;
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, Reading};
use session::Event;

impl LiveSession {
    /// Whether our tools have a prefix in this session: they get one for good if another extension
    /// has a tool with one of their names.
    ///
    /// `taken`: names of the host's other tools.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the names with the prefix are taken as well; errors of the store.
    pub fn prefix_tools(&mut self, taken: &[String]) -> Result<bool> {
        let of_ours = |prefixed: bool| {
            let mut ours = OURS.iter().map(|tool| tool.called(prefixed));
            ours.find(|name| taken.contains(name))
        };
        self.durably(|live| {
            if !live.state().has_prefixed_tools() {
                if of_ours(false).is_none() {
                    return Ok(false);
                }
                live.journal.record(Event::ToolsPrefixed);
                live.commit_staged()?;
            }
            match of_ours(true) {
                Some(name) => Err(Error::argument(
                    "taken",
                    format!("has `{name}`, the name that ours would take"),
                )),
                None => Ok(true),
            }
        })
    }

    /// The object of a name among those that the session itself met, and the versions of it that it
    /// met, oldest first: for readers who may see nothing else of the store. A file counts only if
    /// the model saw text of it.
    ///
    /// # Errors
    /// Errors of names.
    pub fn met(&mut self, name: &str) -> Result<(ObjectId, Vec<Hash>)> {
        let _bounded = self.bounded();
        self.reload_if_in_doubt()?;
        let object = self.find_met(&self.named(name)?.name)?;
        let versions = self.versions_met(&object);
        Ok((object, versions))
    }

    /// The object of a name of this session, in any form that the tools take, with the version and
    /// the lines that the name names.
    ///
    /// # Errors
    /// Errors of names.
    pub fn find(&mut self, name: &str) -> Result<(ObjectId, Reading)> {
        let _bounded = self.bounded();
        self.reload_if_in_doubt()?;
        let reading = self.named(name)?;
        Ok((self.find_object(&reading.name)?, reading))
    }
}
