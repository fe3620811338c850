//! Checks files whose text the model knows but that do not stand: changes by a shell command,
//! another tool or a person are recorded before the next call, and the model is not told. `refresh`
//! checks files that stand.
//!
//! Cheap: does nothing after tools whose changes are recorded when they end, and bounds the work of
//! one call.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::moves::places;
use crate::LiveSession;
use crate::journal::Journal;
use base::error::Result;
use base::harness::Call;
use base::harness::shell::path_words;
use base::object::{ObjectId, Timestamp};
use session::{Cause, MessageKind, ResultFact, Subject};
use source::FileReading;

/// Number of files whose stamps are compared before one call.
const MAX_STAMPS: usize = 1_000;
/// Number of files that are read before one call.
const MAX_READS: usize = 100;
/// Number of words of a command that may name files.
const MAX_WORDS: usize = 64;

/// Files that may have changed and were not checked yet, in order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    files: VecDeque<ObjectId>,
    /// When the check of these files began; `None` once all are checked.
    began: Option<Timestamp>,
}

impl LiveSession {
    /// Checks the files whose text the model knows, if a message of the chat from position
    /// `first_new` on indicates that something may have changed them. Files that the newest
    /// commands name come first; files beyond the limits wait for the next call.
    pub(super) fn check_seen_files(&mut self, first_new: u64) -> Result<()> {
        let new = first_new..self.state().chat().len();
        if new.clone().any(|at| may_change_files(&self.journal, at)) {
            let began = Some(self.journal.store.now());
            self.workspace.pending = Pending { files: self.files_to_check(new)?, began };
        }
        let count = self.workspace.pending.files.len().min(MAX_STAMPS);
        let mut files: Vec<ObjectId> = self.workspace.pending.files.drain(..count).collect();
        files.retain(|file| !self.stands(file));
        let files = self.find_differing(&files, &|_| {})?;
        let (now, later) = files.split_at(files.len().min(MAX_READS));
        // A file out of reach keeps its known state: nobody needs it now.
        self.read_known_files(now, Cause::Changed)?;
        for file in later.iter().rev() {
            self.workspace.pending.files.push_front(file.clone());
        }
        if self.workspace.pending.files.is_empty()
            && let Some(began) = self.workspace.pending.began.take()
        {
            self.workspace.looked.known = began;
            self.check_met_files()?;
            self.remember_neighbours()?;
        }
        Ok(())
    }

    /// Checks whether the files that are known by path alone are there. None is opened.
    fn check_met_files(&mut self) -> Result<()> {
        let mut met = places::met(self.state());
        met.retain(|file| self.state().files().seen(file).is_none());
        for file in self.find_differing(&met, &|_| {})? {
            let Some(location) = self.location_of(&file)? else { continue };
            let reading = FileReading { stamp: None, ..self.disk.look(&location) };
            self.index_reading(&location, reading, Cause::Changed, None)?;
        }
        Ok(())
    }

    /// The files whose text the model saw. If there are many, those named in the commands of new
    /// results come first, then those that their wildcards or folders may name.
    fn files_to_check(&self, new: Range<u64>) -> Result<VecDeque<ObjectId>> {
        let mut files = self.state().files().all_seen().to_vec();
        if files.len() > MAX_READS {
            let named = self.named_by_commands(new)?;
            files.sort_by_cached_key(|file| match self.state().subject(file) {
                Some(Subject::File { path, .. }) => named.rank(path),
                _ => u8::MAX,
            });
        }
        Ok(files.into())
    }

    fn named_by_commands(&self, new: Range<u64>) -> Result<Named> {
        let mut named = Named::default();
        for at in new {
            let Some(fact) = self.state().result(at) else { continue };
            let Some(object) = &fact.object else { continue };
            let fields = self.journal.latest_fields(object)?.unwrap_or_default();
            let command = fields.get("args").and_then(|args| Call::new(&fact.tool, args).command());
            for word in path_words(&command.unwrap_or_default()).iter().take(MAX_WORDS) {
                let word = &*word.text;
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

/// Whether a message indicates that files may have changed: any except an answer, or the result of
/// a tool whose changes are recorded when it ends.
fn may_change_files(journal: &Journal, at: u64) -> bool {
    let is_known = |fact: &ResultFact| {
        fact.is_own() || !Call::new(&fact.tool, &Value::Null).may_change_any_file()
    };
    match journal.state().chat().get(at).map(|message| &message.kind) {
        Some(MessageKind::Result(fact)) => !is_known(fact),
        Some(MessageKind::User | MessageKind::Other) => true,
        Some(MessageKind::Assistant) | None => false,
    }
}

/// The paths that commands name.
#[derive(Debug, Default)]
struct Named {
    /// Files and folders.
    paths: HashSet<PathBuf>,
    /// Paths up to their first wildcard.
    starts: Vec<String>,
}

impl Named {
    /// 0 for a file that is named itself, 1 for one named by its folder or a wildcard, 2 otherwise.
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
