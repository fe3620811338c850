//! How the names that a model or a person gives are read: one name or several, in any of the forms
//! of [`Reading`], and what was meant where none of them names anything.

use super::steps::names_run;
use crate::LiveSession;
use base::error::{Error, Result};
use base::object::{Handle, HandleKind, ObjectId, Reading, quote};
use session::{IndexEntry, Session, Subject};

/// Most names that are offered where one names nothing.
const MAX_NEAR: usize = 3;
/// Kinds of handles, as they are offered.
const KINDS: [HandleKind; 3] = [HandleKind::Toolcall, HandleKind::File, HandleKind::ChatSegment];

/// The answers to several names, and why there are none to the others.
///
/// # Errors
/// Failures, and the error of the last name if none has an answer.
pub(super) fn answered<T>(
    all: impl IntoIterator<Item = Result<T>>,
) -> Result<(Vec<T>, Vec<Error>)> {
    let (mut answers, mut refused) = (Vec::new(), Vec::new());
    for answer in all {
        match answer {
            Ok(answer) => answers.push(answer),
            Err(error) if error.is_failure() => return Err(error),
            Err(error) => refused.push(error),
        }
    }
    match refused.pop() {
        Some(error) if answers.is_empty() => Err(error),
        last => {
            refused.extend(last);
            Ok((answers, refused))
        }
    }
}

/// The newest handle of a kind.
pub(super) fn newest(session: &Session, kind: HandleKind) -> Option<Handle> {
    let mut handles = session.index().entries.iter().rev().map(|entry| entry.handle);
    handles.find(|handle| handle.kind == kind)
}

impl LiveSession {
    /// Reads a text as the name of one object.
    ///
    /// # Errors
    /// `UNKNOWN_NAME`, with what may have been meant; `INVALID_ARGUMENT` if it is empty.
    pub(crate) fn named(&self, text: &str) -> Result<Reading> {
        self.reading(text)?.ok_or_else(|| self.unknown(text))
    }

    /// Reads a text as names of objects, each of which may be unknown.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is empty.
    pub(super) fn all_named<'a>(&self, text: &'a str) -> Result<Vec<(&'a str, Result<Reading>)>> {
        if let Some(reading) = self.reading(text)? {
            return Ok(vec![(text, Ok(reading))]);
        }
        let names = Reading::listed(text, |name| Ok(self.reading(name)?.is_some()))?;
        match names.as_slice() {
            [] | [_] => Ok(vec![(text, Err(self.unknown(text)))]),
            several => Ok(several.iter().map(|name| (*name, self.named(name))).collect()),
        }
    }

    /// Does something with each object that a text names, and stores what it did; the answers, and
    /// which names are none.
    ///
    /// # Errors
    /// Errors of names, if none of them names an object.
    pub(super) fn each_named(
        &mut self,
        text: &str,
        act: impl Fn(&mut Self, ObjectId) -> String,
    ) -> Result<String> {
        self.stored(|live| {
            let named = live.all_named(text)?.into_iter();
            let (mut answers, refused) = answered(named.map(|(_, reading)| {
                let object = live.find_object(&reading?.name)?;
                Ok(act(live, object))
            }))?;
            answers.extend(refused.iter().map(Error::message));
            Ok(answers.join("\n"))
        })
    }

    /// The first reading of a text that names something.
    fn reading(&self, text: &str) -> Result<Option<Reading>> {
        if text.trim().is_empty() {
            return Err(Error::argument("name", "is empty"));
        }
        for reading in Reading::all(text) {
            if self.names_something(&reading, text)? {
                return Ok(Some(reading));
            }
        }
        Ok(None)
    }

    fn names_something(&self, reading: &Reading, given: &str) -> Result<bool> {
        let name = &reading.name;
        match self.find_object(name) {
            // Why it does not do is said when it is used.
            Ok(_) | Err(Error::AmbiguousName { .. } | Error::NotActivatable { .. }) => Ok(true),
            Err(Error::UnknownName { .. }) => {
                // A path at which something is wins over any form that it may have.
                let is_there = || {
                    let disk = &self.disk;
                    name.text == given.trim()
                        && !self.state().is_confined()
                        && (disk.exists(&name.text) || disk.obstacle_given(&name.text).is_some())
                };
                Ok(names_run(name) || self.messages_named(name).is_some() || is_there())
            }
            Err(error) => Err(error),
        }
    }

    /// That nothing has a name, with the names nearest to it.
    pub(super) fn unknown(&self, text: &str) -> Error {
        let newest = |kind| newest(self.state(), kind).map(|handle| handle.to_string());
        let readings = Reading::all(text);
        let handles = readings.iter().filter_map(|reading| reading.name.handle());
        let mut near: Vec<String> =
            handles.take(1).filter_map(|handle| newest(handle.kind)).collect();
        let number = text.trim().parse::<u32>().ok();
        let numbered = KINDS.into_iter().filter_map(|kind| {
            let handle = Handle { kind, number: number? };
            self.state().index().by_handle(handle).map(|_| handle.to_string())
        });
        near.extend(numbered);
        if near.is_empty() {
            near.extend(self.paths_like(&readings));
        }
        if near.is_empty() {
            near.extend(KINDS.into_iter().filter_map(newest));
        }
        near.truncate(MAX_NEAR);
        Error::UnknownName { name: text.to_owned(), near }
    }

    /// Files that the session met whose path ends as one of these names does.
    fn paths_like(&self, readings: &[Reading]) -> Vec<String> {
        let last = |path: &str| {
            let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
            name.to_lowercase()
        };
        let wanted: Vec<String> = readings.iter().map(|reading| last(&reading.name.text)).collect();
        let state = self.state();
        let path = |entry: &IndexEntry| {
            let file @ Subject::File { .. } = &entry.subject else { return None };
            let path = state.shown_path(file.agent_path());
            let name = format!("{} {}", entry.handle, quote::name(path));
            (wanted.contains(&last(path)) && self.is_met(&entry.id)).then_some(name)
        };
        state.index().entries.iter().rev().filter_map(path).take(MAX_NEAR).collect()
    }
}
