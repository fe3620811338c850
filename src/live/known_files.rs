//! Files whose text the model knows but that do not stand: what a shell command, another tool or a person did to them is
//! taken in before the next call, without a word to the model. Files that stand are looked at in `files`.
//!
//! Cheap: nothing is looked at after calls of tools that change no file unnoticed, and the work of one call is bounded.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::LiveSession;
use crate::context::placeholder::words_of;
use crate::error::Result;
use crate::object::{ObjectId, Timestamp};
use crate::session::{Cause, MessageKind, Subject, is_own_tool};
use crate::source;

/// Files whose stamp is looked at before one call.
const MAX_STAMPS: usize = 1_000;
/// Files that are read before one call.
const MAX_READS: usize = 100;
/// Words of a command that may name files.
const MAX_WORDS: usize = 64;

/// Files that may have changed and are still to be looked at, in order.
#[derive(Debug, Default)]
pub(super) struct Look {
    files: VecDeque<ObjectId>,
    /// When it began, until all were looked at.
    began: Option<Timestamp>,
}

impl LiveSession {
    /// Makes new versions of known files that changed on disk, if a message of the chat from position `first_new` on tells
    /// of something that may have changed them. Files that the newest commands name come first.
    ///
    /// `looked_at`: files that were looked at for this call.
    pub(super) fn look_at_known_files(
        &mut self,
        first_new: u64,
        looked_at: &[ObjectId],
    ) -> Result<()> {
        let new = first_new..self.state.chat().len();
        if new.clone().any(|at| self.may_change_files(at)) {
            let began = Some(self.store.now());
            self.look = Look { files: self.files_to_look_at(new)?, began };
        }
        let looked_at: HashSet<&ObjectId> = looked_at.iter().collect();
        let (mut stamps, mut reads) = (0, 0);
        let mut gone = Vec::new();
        while stamps < MAX_STAMPS && reads < MAX_READS {
            let Some(file) = self.look.files.pop_front() else { break };
            let subject = self.state.index().get(&file).map(|entry| &entry.subject);
            let Some(Subject::File { stamp, .. }) = subject else { continue };
            let stamp = *stamp;
            let Some(location) = self.location_of(&file)? else { continue };
            let Some(open) = location.open.as_ref().filter(|_| !looked_at.contains(&file)) else {
                continue;
            };
            stamps += 1;
            let now = source::stamp(open);
            if now.is_none() {
                gone.push(file);
            } else if now != stamp {
                reads += 1;
                let reading = self.look_again(&location);
                self.index_at(&location, reading, Cause::Changed, None)?;
            }
        }
        for file in self.settle_moves(gone)? {
            if let Some(location) = self.location_of(&file)? {
                self.index_known(&file, &location, Cause::Changed)?;
            }
        }
        if self.look.files.is_empty()
            && let Some(began) = self.look.began.take()
        {
            self.looked_at_known = began;
        }
        Ok(())
    }

    /// Whether a message tells of something that may have changed files: all but answers, and results of tools whose changes
    /// are taken in when they end.
    fn may_change_files(&self, at: u64) -> bool {
        let is_known = |tool: &str| {
            matches!(tool, "read" | "ls" | "find" | "grep" | "edit" | "write") || is_own_tool(tool)
        };
        match self.state.chat().get(at).map(|message| &message.kind) {
            Some(MessageKind::Result(fact)) => !is_known(&fact.tool),
            Some(MessageKind::User | MessageKind::Other) => true,
            Some(MessageKind::Assistant) | None => false,
        }
    }

    /// The files that the model saw text of; where they are many, in the order in which commands name them whose results are
    /// among the new messages: themselves, by wildcards or folders, not at all.
    fn files_to_look_at(&self, new: Range<u64>) -> Result<VecDeque<ObjectId>> {
        let mut files = self.state.seen_files().to_vec();
        if files.len() > MAX_READS {
            let named = self.named_by_commands(new)?;
            files.sort_by_cached_key(|file| {
                match self.state.index().get(file).map(|entry| &entry.subject) {
                    Some(Subject::File { path, .. }) => named.rank(path),
                    _ => u8::MAX,
                }
            });
        }
        Ok(files.into())
    }

    fn named_by_commands(&self, new: Range<u64>) -> Result<Named> {
        let mut named = Named::default();
        for at in new {
            let Some(object) = self.state.result(at).and_then(|fact| fact.object.as_ref()) else {
                continue;
            };
            let fields = self.latest_fields(object)?.unwrap_or_default();
            let command = fields.get("args").and_then(|args| args.get("command")?.as_str());
            for word in words_of(command.unwrap_or_default()).take(MAX_WORDS) {
                let literal = word.split(['*', '?', '[']).next().unwrap_or(word);
                let (folder, start) = literal.rsplit_once('/').unwrap_or((".", literal));
                let given = if literal == word { word } else { folder };
                let Ok(path) = self.resolve(given) else { continue };
                let path = self.location(&path).path;
                if literal == word {
                    named.paths.insert(path);
                } else {
                    named.starts.push(path.join(start).to_string_lossy().into_owned());
                }
            }
        }
        Ok(named)
    }
}

/// What commands name.
#[derive(Debug, Default)]
struct Named {
    /// Files and folders.
    paths: HashSet<PathBuf>,
    /// What stands before wildcards.
    starts: Vec<String>,
}

impl Named {
    /// How closely a file is named, from 0.
    fn rank(&self, path: &str) -> u8 {
        let mut ancestors = Path::new(path).ancestors();
        if ancestors.next().is_some_and(|file| self.paths.contains(file)) {
            return 0;
        }
        let is_under = ancestors.any(|folder| self.paths.contains(folder));
        let begins = || self.starts.iter().any(|start| path.starts_with(start));
        if is_under || begins() { 1 } else { 2 }
    }
}
