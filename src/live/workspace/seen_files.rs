//! Files whose text the model knows but that do not stand: what a shell command, another tool or a person did to them is
//! taken in before the next call, and the model is not told. Files that stand are looked at in `refresh`.
//!
//! Cheap: nothing is looked at after calls of tools whose changes are taken in when they end, and the work of one call is
//! bounded.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Workspace;
use crate::context::placeholder::words_of;
use crate::error::Result;
use crate::live::journal::Journal;
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

impl Workspace {
    /// Makes new versions of known files that changed on disk, if a message of the chat from position `first_new` on tells
    /// of something that may have changed them. Files that the newest commands name come first.
    ///
    /// `shown`: files that `refresh` takes care of.
    pub(super) fn look_at_seen_files(
        &mut self,
        journal: &mut Journal,
        first_new: u64,
        shown: &[ObjectId],
    ) -> Result<()> {
        let new = first_new..journal.state().chat().len();
        if new.clone().any(|at| may_change_files(journal, at)) {
            let began = Some(journal.store().now());
            self.look = Look { files: self.files_to_look_at(journal, new)?, began };
        }
        let shown: HashSet<&ObjectId> = shown.iter().collect();
        let (mut stamps, mut reads) = (0, 0);
        let mut gone = Vec::new();
        while stamps < MAX_STAMPS && reads < MAX_READS {
            let Some(file) = self.look.files.pop_front() else { break };
            let subject = journal.state().index().get(&file).map(|entry| &entry.subject);
            let Some(Subject::File { stamp, .. }) = subject else { continue };
            let Some(location) = self.disk.location_of(journal, &file)? else { continue };
            let Some(open) = location.open.as_ref().filter(|_| !shown.contains(&file)) else {
                continue;
            };
            stamps += 1;
            let now = source::stamp(open);
            if now.is_none() {
                gone.push(file);
            } else if now != *stamp {
                reads += 1;
                let reading = self.disk.read(&location);
                self.index_reading(journal, &location, reading, Cause::Changed, None)?;
            }
        }
        for file in self.follow_moves(journal, gone)? {
            if let Some(location) = self.disk.location_of(journal, &file)? {
                self.index_known(journal, &file, &location, Cause::Changed)?;
            }
        }
        if self.look.files.is_empty()
            && let Some(began) = self.look.began.take()
        {
            self.looked.known = began;
        }
        Ok(())
    }

    /// The files that the model saw text of; where they are many, in the order in which commands name them whose results are
    /// among the new messages: themselves, by wildcards or folders, not at all.
    fn files_to_look_at(&self, journal: &Journal, new: Range<u64>) -> Result<VecDeque<ObjectId>> {
        let mut files = journal.state().seen_files().to_vec();
        if files.len() > MAX_READS {
            let named = self.named_by_commands(journal, new)?;
            files.sort_by_cached_key(|file| {
                match journal.state().index().get(file).map(|entry| &entry.subject) {
                    Some(Subject::File { path, .. }) => named.rank(path),
                    _ => u8::MAX,
                }
            });
        }
        Ok(files.into())
    }

    fn named_by_commands(&self, journal: &Journal, new: Range<u64>) -> Result<Named> {
        let mut named = Named::default();
        for at in new {
            let result = journal.state().result(at);
            let Some(object) = result.and_then(|fact| fact.object.as_ref()) else { continue };
            let fields = journal.latest_fields(object)?.unwrap_or_default();
            let command = fields.get("args").and_then(|args| args.get("command")?.as_str());
            for word in words_of(command.unwrap_or_default()).take(MAX_WORDS) {
                let literal = word.split(['*', '?', '[']).next().unwrap_or(word);
                let (folder, start) = literal.rsplit_once('/').unwrap_or((".", literal));
                let given = if literal == word { word } else { folder };
                let Ok(path) = self.disk.resolve(given) else { continue };
                let path = self.disk.location(&path).path;
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

/// Whether a message tells of something that may have changed files: all but answers, and results of tools whose changes are
/// taken in when they end.
fn may_change_files(journal: &Journal, at: u64) -> bool {
    let is_known = |tool: &str| {
        matches!(tool, "read" | "ls" | "find" | "grep" | "edit" | "write") || is_own_tool(tool)
    };
    match journal.state().chat().get(at).map(|message| &message.kind) {
        Some(MessageKind::Result(fact)) => !is_known(&fact.tool),
        Some(MessageKind::User | MessageKind::Other) => true,
        Some(MessageKind::Assistant) | None => false,
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
