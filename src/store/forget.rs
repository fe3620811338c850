//! Forgetting: an object or a session goes, with its text in call records, and is not stored again (DESIGN.md section 4).
//! Only a person's explicit command comes here; this is the one way in which stored text is removed.
//!
//! Which text goes:
//! - Of what is forgotten: contents, additional contents, fields, nicknames, source, and all items. Hashes and times stay.
//! - Of documents that refer to it (its sessions' events and chats, calls on a file): its lines, replaced by `[forgotten]`.
//! - Of a session's files that nobody else knows, the text; reading one stores it again, as for any file.
//! - Of everything else nothing, but it is listed; with `everywhere` the lines go there too.
//!
//! Its lines are the distinct trimmed lines of 12 characters and more, of contents and items, and each content as a whole
//! from 4 characters on. Left alone and counted as common are, unless something in them looks like a key:
//! - lines that three other objects hold which are no copies of it (`import os`); a copy is a text that shares half of its
//!   own lines, or half of those to be forgotten;
//! - lines of its fields alone (arguments) that any other object holds;
//! - paths of files that stay, and where a session is forgotten, lines of files and system prompts that stay.

mod lines;
mod plan;
mod scan;
mod targets;

use self::plan::Plan;
use super::{Expected, Garbage, Store};
use crate::error::{Error, Result};
use crate::object::{Envelope, ObjectId, ObjectType, Payload, Source, file_fields};

/// How often a plan is made anew where somebody writes in between.
const TRIES: usize = 5;

/// How to forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgetOptions {
    /// Only report what would happen. Default: yes.
    pub dry_run: bool,
    /// Remove its lines also from objects and sessions that have nothing to do with it. Default: no.
    pub everywhere: bool,
}

impl Default for ForgetOptions {
    fn default() -> Self {
        Self { dry_run: true, everywhere: false }
    }
}

/// What was forgotten, or would be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForgetReport {
    /// Whether nothing was done yet.
    pub dry_run: bool,
    /// The objects that go.
    pub objects: Vec<ObjectId>,
    /// Their versions.
    pub versions: u64,
    /// Their items.
    pub items: u64,
    /// Their contents that nothing else has.
    pub contents: u64,
    /// UTF-8 bytes of these contents and of items and fields.
    pub text_bytes: u64,
    /// Files that only the session knew: their texts and fields go as well, but they may be read and stored again.
    pub emptied: Vec<ObjectId>,
    /// Objects of the session that stay, for others know them.
    pub kept: Vec<ObjectId>,
    /// Where lines are replaced by `[forgotten]`.
    pub rewritten: Vec<Holder>,
    /// What still holds lines afterwards, most lines first.
    pub holders: Vec<Holder>,
    /// Distinct lines that go.
    pub lines: u64,
    /// Distinct lines that are left alone, for they are common.
    pub common_lines: u64,
    /// Sessions concerned: their host's own files still hold the text.
    pub hosts: Vec<HostSession>,
    /// What was then dropped from the files; `None` in a dry run.
    pub collected: Option<Garbage>,
}

/// An object that holds lines of what is forgotten.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
    /// The object.
    pub object: ObjectId,
    /// Its type.
    pub kind: ObjectType,
    /// The chat or session in which it is, where there is one.
    pub session: Option<ObjectId>,
    /// Versions that hold lines in content, additional contents or fields.
    pub versions: u64,
    /// Items that do.
    pub items: u64,
    /// Distinct lines.
    pub lines: u64,
    /// Share of all lines that go, 0 to 1.
    pub share: f64,
}

/// A session as its host names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSession {
    /// Host: `pi`, `openclaw`, ...
    pub harness: String,
    /// The host's own session ID.
    pub host_session: String,
}

impl Store {
    /// Forgets an object; of a session or chat, the session with its chat, system prompt and tool calls, and the texts of
    /// those of its files that nobody else knows; such files may be stored again. Afterwards nothing that the store's files hold yields the text, unless the report lists
    /// holders or says that a reader kept the log: then [`Self::gc`] finishes it.
    ///
    /// # Errors
    /// `NOT_FOUND`; `CONFLICT` if others write all the time; `NO_SPACE` if the file cannot be written anew: the text is then
    /// out of reach, but not yet off the disk, and [`Self::gc`] finishes it.
    pub fn forget(&self, target: &ObjectId, options: ForgetOptions) -> Result<ForgetReport> {
        let mut conflict = None;
        for _ in 0..TRIES {
            let (newest, _) = self.backend().newest()?;
            let Plan { mut report, replacements, banned, emptied } =
                Plan::make(self, target, options)?;
            if options.dry_run {
                return Ok(report);
            }
            match self.backend().replace(&replacements, &banned, newest) {
                Err(error @ Error::Conflict { .. }) => conflict = Some(error),
                Err(error) => return Err(error),
                Ok(()) => {
                    self.put_unread(emptied)?;
                    report.collected = Some(self.backend().collect()?);
                    return Ok(report);
                }
            }
        }
        Err(conflict.unwrap_or_else(|| Error::internal("nothing was tried")))
    }

    /// Gives files a version that says that they were not read: what is put next differs from it, and so is stored.
    fn put_unread(&self, files: Vec<Envelope>) -> Result<()> {
        let mut transaction = self.begin();
        for file in files {
            let path = file.source.as_ref().and_then(Source::path).unwrap_or_default();
            let mut fields = file_fields(path, None);
            fields.insert("no_content".into(), "not_read".into());
            transaction.put(file, &Payload { fields, ..Payload::default() }, Expected::Any)?;
        }
        if transaction.is_empty() { Ok(()) } else { transaction.commit().map(drop) }
    }
}
