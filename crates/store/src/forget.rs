//! Forgetting: removes the text of an object or a session from the store, including call records,
//! and keeps it from being stored again. This is the only way to remove stored text, and runs only
//! on a person's command.
//!
//! Which text is removed:
//! - From the forgotten objects: contents, additional contents, fields, nicknames, source, and all
//!   items. Hashes and times stay.
//! - From documents that refer to them (events and chats of their sessions, calls on a file): their
//!   lines, replaced by `[forgotten]`.
//! - From files that only the forgotten session knows: the text. Reading such a file stores it
//!   again, as for any file.
//! - From everything else: nothing, but the report lists what still holds lines. With `everywhere`
//!   the lines are removed there too.
//!
//! The lines of an object are the distinct trimmed lines of its contents and items with at least 12
//! characters, and each content as a whole with at least 4. The following count as common and stay,
//! unless they contain something that looks like a key:
//! - lines that three other objects hold, apart from copies (`import os`); a copy is a text that
//!   shares half of its own lines, or half of those to be forgotten;
//! - lines that stand inside the text of 64 other objects (the path of a project's folder);
//! - lines that occur only in fields (arguments), if any other object holds them;
//! - paths of files that stay; when a session is forgotten, also lines of files and system prompts
//!   that stay.

mod find;
mod forgotten_lines;
mod plan;
mod scan;
mod targets;

pub(super) use scan::{PAGE, each_item, reference};
pub(super) use targets::{add_met, is_named, met, session_of_chat};

use std::time::Duration;

use serde::Serialize;

use self::plan::Plan;
use self::targets::Targets;
use super::{Change, Expected, Garbage, Replacement, Store};
use base::error::Result;
use base::object::{Envelope, ObjectId, ObjectType, Payload, Source, file_fields};

/// How long to bring each index up to date first.
const INDEX_PATIENCE: Duration = Duration::from_millis(500);

/// Options of forgetting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgetOptions {
    /// Only report what would happen. Default: yes.
    pub dry_run: bool,
    /// Also remove the lines from unrelated objects and sessions. Default: no.
    pub everywhere: bool,
}

impl Default for ForgetOptions {
    fn default() -> Self {
        Self { dry_run: true, everywhere: false }
    }
}

/// What was forgotten, or would be in a dry run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgetReport {
    /// Whether this is a dry run.
    pub dry_run: bool,
    /// The objects forgotten.
    pub objects: Vec<ObjectId>,
    /// Their versions.
    pub versions: u64,
    /// Number of their items.
    pub items: u64,
    /// Their contents that nothing else refers to.
    pub contents: u64,
    /// UTF-8 bytes of these contents, the items and the fields.
    pub text_bytes: u64,
    /// Files that only the session knew: their texts and fields are removed too, but reading them
    /// stores them again.
    pub emptied: Vec<ObjectId>,
    /// Objects of the session that stay because others know them.
    pub kept: Vec<ObjectId>,
    /// Objects in which lines are replaced by `[forgotten]`.
    pub rewritten: Vec<Holder>,
    /// Objects that still hold lines afterwards, most lines first.
    pub holders: Vec<Holder>,
    /// Whether more objects may hold lines: those that stand in 64 of the listed ones are not looked
    /// for any further. With `everywhere`, never.
    pub more_holders: bool,
    /// Number of distinct lines removed.
    pub lines: u64,
    /// Number of distinct lines that stay because they are common.
    pub common_lines: u64,
    /// Number of distinct lines that were not looked for in unrelated objects, because the search
    /// index has nothing of them: data, such as a key of 64 characters. With `everywhere`, none.
    pub unsearched_lines: u64,
    /// Sessions concerned. The host's own files still hold their text.
    pub hosts: Vec<HostSession>,
    /// What was dropped from the files afterwards; `None` in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collected: Option<Garbage>,
}

/// An object that holds some of the forgotten lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    /// The object.
    pub object: ObjectId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ObjectType,
    /// Its chat or session, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<ObjectId>,
    /// Versions that hold lines in content, additional contents or fields.
    pub versions: u64,
    /// Items that hold lines.
    pub items: u64,
    /// Number of distinct lines.
    pub lines: u64,
    /// Share of all lines to be removed, from 0 to 1.
    pub share: f64,
}

/// A session by its host's name for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostSession {
    /// Host: `pi`, `openclaw`, ...
    pub harness: String,
    /// The host's own session ID.
    pub host_session: String,
}

impl Store {
    /// Forgets an object. For a session or chat, forgets the session with its chat, system prompt
    /// and tool calls, and the texts of files that only it knows; such files may be stored again.
    /// Afterwards the text is in no byte of the store's files, unless the report lists holders or
    /// says that somebody kept the log or the file's free pages. In that case [`Self::gc`] finishes
    /// the work.
    ///
    /// Others may write meanwhile; what they show again passes through. If it is broken off, doing
    /// it again finishes it: what says where the text stands goes last.
    ///
    /// # Errors
    /// `NOT_FOUND`; `NO_SPACE`; `NO_ANSWER` where somebody reads an older state, so that the log does
    /// not start over.
    pub fn forget(&self, target: &ObjectId, options: ForgetOptions) -> Result<ForgetReport> {
        let upkeep = self.upkeep("`forget`")?;
        let bytes_before = upkeep.bytes();
        // What the indexes lack is read whole. Where they cannot be written, that is all of it.
        let patience = Some(INDEX_PATIENCE);
        let _ = upkeep.index_texts(patience);
        let _ = upkeep.index_relations(patience);
        let targets = Targets::of(self, target, options)?;
        let (before, _) = self.newest()?;
        let mut plan = Plan::make(self, &targets, options)?;
        if options.dry_run {
            return Ok(plan.report);
        }
        // From here on nobody adds to them, and the rest is not in the way of anybody.
        let marks = targets.ids.iter().cloned();
        let marks = marks.map(|id| Replacement { id, change: Change::Forgotten });
        upkeep.replace(&marks.collect::<Vec<_>>(), &plan.banned)?;
        if plan.is_touched(self, before)? {
            plan = Plan::make(self, &targets, options)?;
        }
        upkeep.replace(&plan.replacements, &plan.banned)?;
        self.put_unread(targets.emptied)?;
        plan.report.collected = Some(upkeep.collect(bytes_before)?);
        Ok(plan.report)
    }

    /// Gives files a version without content, so that the next put differs from it and is stored.
    fn put_unread(&self, files: Vec<Envelope>) -> Result<()> {
        let mut transaction = self.begin();
        for file in files {
            let path = file.source.as_ref().and_then(Source::path).unwrap_or_default();
            let mut fields = file_fields(path, None);
            fields.insert("no_content".into(), "not_read".into());
            transaction.put(file, Payload { fields, ..Payload::default() }, Expected::Any)?;
        }
        if transaction.is_empty() { Ok(()) } else { transaction.commit().map(drop) }
    }
}
