//! `writeback-journal.jsonl`: pending writes to a folder's memory files, and their outcomes. Each
//! line is one record, durable once acknowledged; the state is the fold of all lines. Must not
//! write a memory file.
//!
//! An operation is *staged* (a person asked for it) or *proposed* (a model suggested it, and it
//! waits until a person accepts it). A flush commits it, refuses it with a reason, or holds it with
//! a reason; the next flush retries held operations.

mod record;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use settings::Identity;

use self::record::Record;
use super::checks::page_of;
use super::finding::{FindingCode, MemoryFinding};
use super::page::Page;
use super::scope::Scope;
use super::sidecar::{BadLine, FolderLock, MemoryFolder, finding_of, json_lines};
use base::error::{Error, Result};
use base::object::{Hash, Timestamp};
use redact::redact_note;

/// What stands between the headings of an entry.
pub(crate) const BETWEEN_HEADINGS: &str = " › ";

/// What stands between a heading and its entry.
const BELOW_HEADING: &str = "\n\n- ";

/// Name of the journal in a memory folder.
pub const JOURNAL_FILE: &str = "writeback-journal.jsonl";

/// Longest text of an operation, in bytes.
pub const MAX_OPERATION_BYTES: usize = 64 << 10;

/// Most operations that wait in one journal.
const MAX_WAITING: usize = 1_000;

/// From this size on the journal is rewritten without settled operations, except the last ones.
const COMPACT_BYTES: usize = 128 << 10;

/// How many settled operations stay.
const KEPT_SETTLED: usize = 50;

/// An operation's number in its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub u64);

/// Largest operation number: far beyond any real journal, and the next one is still a valid number.
const MAX_ID: u64 = 1 << 53;

/// Who asked for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A person, by a command.
    Person,
    /// An import that a person asked for.
    Import,
    /// A model that examined a session's messages.
    Capture,
}

/// Text to write: a new index entry, or a new topic file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// The file in the folder: an index gets an entry, any other file is created with this text.
    #[serde(deserialize_with = "markdown_file")]
    pub file: String,
    /// The text.
    pub text: String,
    /// The heading for the entry, behind those above it: `Backend › Build`. `None`: the one that the text
    /// suggests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// Who asked for it.
    pub by: Author,
    /// Its origin: a file path, followed by a colon and the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// An operation with its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Its number in its journal.
    #[serde(skip)]
    pub id: OperationId,
    /// Its ID, by which a person names it.
    #[serde(rename = "id")]
    pub name: String,
    /// The scope that it is for: a project's journal has what is for [`Scope::Local`], too.
    pub scope: Scope,
    /// When it was staged or proposed.
    pub at: String,
    /// The project that it was noted in, if it is for one.
    #[serde(skip)]
    pub of: Option<Identity>,
    /// The text to write.
    #[serde(flatten)]
    pub draft: Draft,
    /// Its status.
    #[serde(flatten)]
    pub status: EntryStatus,
}

/// The status of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum EntryStatus {
    /// Waits for a person's decision.
    Proposed,
    /// Waits for a flush.
    Staged,
    /// A flush could not write it; the next one tries again.
    Held {
        /// The reason as a code.
        code: String,
        /// The reason in words.
        reason: String,
    },
    /// It is in its file, or was there before.
    Committed,
    /// It will not be written.
    Refused {
        /// The reason as a code.
        code: String,
        /// The reason in words.
        reason: String,
    },
}

impl EntryStatus {
    /// Whether its status is final.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Committed | Self::Refused { .. })
    }
}

/// A begun flush step without a recorded end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Begun {
    /// The operations that it commits.
    pub(crate) ids: Vec<OperationId>,
    /// The file that it writes.
    #[serde(deserialize_with = "markdown_file")]
    pub(crate) file: String,
    /// The prepared file, which is swapped with it.
    #[serde(deserialize_with = "prepared_file")]
    pub(crate) prepared: String,
    /// SHA-256 of the file that the text was made from; `None` if there was none.
    pub(crate) before: Option<Hash>,
    /// SHA-256 of the prepared file.
    pub(crate) after: Hash,
}

/// The content of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Journal {
    operations: BTreeMap<OperationId, (Operation, String)>,
    begun: Vec<Begun>,
    bad: Vec<BadLine>,
    /// IDs of records whose operation no readable line holds.
    lost: Vec<OperationId>,
    last: u64,
    bytes: usize,
    settled: Vec<OperationId>,
}

impl Journal {
    /// Reads a folder's journal without changing it, and reports the lines that do not count. An
    /// unreadable journal counts as empty.
    pub fn read(folder: &MemoryFolder) -> (Self, Vec<MemoryFinding>) {
        Self::load(folder).unwrap_or_else(|error| (Self::default(), vec![finding_of(&error)]))
    }

    /// Reads a folder's journal for writing, and reports the lines that do not count.
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT`; `FILE` if it cannot be read: a new operation would reuse an existing
    /// number, and be lost.
    pub(crate) fn load(folder: &MemoryFolder) -> Result<(Self, Vec<MemoryFinding>)> {
        let (found, findings) = folder.lines::<Record>(JOURNAL_FILE)?;
        let mut journal = Self::default();
        for (record, line) in found.entries {
            journal.bytes += line.len() + 1;
            journal.apply(record, line, folder);
        }
        journal.bytes += found.bad.iter().map(|bad| bad.text.len() + 1).sum::<usize>();
        let named = found.bad.iter().filter_map(|bad| id_in(&bad.text));
        journal.last = named.chain([journal.last]).max().unwrap_or_default();
        journal.bad = found.bad;
        Ok((journal, findings))
    }

    /// All operations, in the order of their IDs.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.values().map(|(operation, _)| operation)
    }

    /// Operations for the next flush.
    pub fn waiting(&self) -> impl Iterator<Item = &Operation> {
        self.operations()
            .filter(|one| matches!(one.status, EntryStatus::Staged | EntryStatus::Held { .. }))
    }

    /// Proposals that wait for a person's decision.
    pub fn proposed(&self) -> impl Iterator<Item = &Operation> {
        self.operations().filter(|one| one.status == EntryStatus::Proposed)
    }

    /// The journal's flush misses: acknowledged operations that no readable line holds any more.
    pub fn lost(&self) -> &[OperationId] {
        &self.lost
    }

    /// Whether a flush was interrupted.
    pub fn is_interrupted(&self) -> bool {
        !self.begun.is_empty()
    }

    pub(crate) fn begun(&self) -> &[Begun] {
        &self.begun
    }

    fn apply(&mut self, record: Record, line: String, folder: &MemoryFolder) {
        match record {
            Record::Stage { id, at, draft, proposed, of } => {
                self.last = self.last.max(id.0);
                let status = if proposed { EntryStatus::Proposed } else { EntryStatus::Staged };
                let (name, scope) = (folder.name_of(id), folder.scope_of(&draft.file));
                let operation = Operation { id, name, scope, at, of, draft, status };
                self.operations.entry(id).or_insert((operation, line));
            }
            Record::Accept { id } => self.settle(id, EntryStatus::Staged),
            Record::Hold { id, code, reason } => {
                self.settle(id, EntryStatus::Held { code, reason });
            }
            Record::Refuse { id, code, reason } => {
                self.settle(id, EntryStatus::Refused { code, reason });
            }
            Record::Begin(begun) => self.begun.push(begun),
            Record::Abandon {} => self.begun.clear(),
            Record::Commit { ids } => {
                self.begun.clear();
                for id in ids {
                    self.settle(id, EntryStatus::Committed);
                }
            }
        }
    }

    fn settle(&mut self, id: OperationId, status: EntryStatus) {
        self.last = self.last.max(id.0);
        let Some((operation, _)) = self.operations.get_mut(&id) else {
            if !self.lost.contains(&id) {
                self.lost.push(id);
            }
            return;
        };
        // A settled operation stays settled, even if another copy of the journal left a later line
        // about it.
        if !operation.status.is_settled() {
            operation.status = status;
            if operation.status.is_settled() {
                self.settled.push(id);
            }
        }
    }

    /// Rewrites the journal if it is too long (dropping settled operations), has unreadable lines
    /// (which are set aside) or holds a secret (which is removed). Not while a flush is under way.
    pub(crate) fn compact(
        &self,
        folder: &MemoryFolder,
        _lock: &FolderLock,
    ) -> Result<Option<MemoryFinding>> {
        let has_secret = |operation: &Operation| {
            let secret = FindingCode::Secret.as_str();
            matches!(&operation.status, EntryStatus::Refused { code, .. } if code == secret)
        };
        let is_due = self.bytes >= COMPACT_BYTES || !self.bad.is_empty();
        if self.is_interrupted() || !(is_due || self.operations().any(has_secret)) {
            return Ok(None);
        }
        let mut said = None;
        if !self.bad.is_empty() {
            let lines: Vec<String> = self.bad.iter().map(|bad| bad.text.clone()).collect();
            let aside = folder.set_aside(JOURNAL_FILE, &lines)?;
            let words = format!("{} unreadable lines of the journal stand here now", lines.len());
            said = Some(MemoryFinding::new(FindingCode::SetAside, words).at(aside, None));
        }
        let old = self.settled.len().saturating_sub(KEPT_SETTLED);
        let dropped = &self.settled[..old];
        let mut text = String::new();
        for (id, (operation, line)) in &self.operations {
            if dropped.contains(id) || has_secret(operation) {
                continue;
            }
            text.push_str(line);
            text.push('\n');
            if let Some(record) = Record::of_status(*id, &operation.status) {
                text.push_str(&record.line());
                text.push('\n');
            }
        }
        folder.write(JOURNAL_FILE, text.as_bytes())?;
        Ok(said)
    }
}

/// Stages or proposes operations, which are on disk when this returns. Returns their IDs.
///
/// # Errors
/// `SECRET`, and nothing is written, not even here; `INVALID_ARGUMENT` for a text that is empty or
/// too long; those of [`MemoryFolder`].
pub fn stage(
    folder: &MemoryFolder,
    drafts: Vec<Draft>,
    proposed: bool,
    now: Timestamp,
) -> Result<Vec<OperationId>> {
    for draft in &drafts {
        check_draft(draft)?;
    }
    let lock = folder.lock()?;
    let (journal, _) = Journal::load(folder)?;
    let waiting = journal.operations().filter(|one| !one.status.is_settled()).count();
    if waiting + drafts.len() > MAX_WAITING {
        let problem = format!("is one too many: {waiting} operations wait in the journal already");
        return Err(Error::argument("text", problem));
    }
    let ids: Vec<OperationId> = (journal.last + 1..).map(OperationId).take(drafts.len()).collect();
    let record = |(id, draft): (&OperationId, Draft)| {
        let held = folder.holding(&draft.file);
        let of = held.project().map(|project| Identity::of(project).without_secret());
        Record::Stage { id: *id, at: now.to_string(), draft, proposed, of }.line()
    };
    let lines: Vec<String> = ids.iter().zip(drafts).map(record).collect();
    append(folder, &lock, &lines)?;
    Ok(ids)
}

impl MemoryFolder {
    /// The ID by which a person names an operation of its journal. The user's own journal numbers
    /// for itself, beside each project's, so its IDs have a letter of their own.
    pub(crate) fn name_of(&self, id: OperationId) -> String {
        let letter = if self.scope() == Scope::Global { 'g' } else { 'w' };
        format!("{letter}{}", id.0)
    }
}

/// Accepts a proposal; the next flush writes it, as it does what waits without a decision.
///
/// # Errors
/// `NO_OPERATION`; those of [`MemoryFolder`].
pub fn accept(folder: &MemoryFolder, id: OperationId) -> Result<()> {
    let lock = folder.lock()?;
    let (journal, _) = Journal::load(folder)?;
    let found = journal.operations().find(|one| one.id == id && !one.status.is_settled());
    let found = found.ok_or(Error::NoOperation { id: folder.name_of(id) })?;
    if found.status != EntryStatus::Proposed {
        return Ok(());
    }
    append(folder, &lock, &[Record::Accept { id }.line()])
}

/// Withdraws a waiting operation, or rejects a proposal.
///
/// # Errors
/// As [`accept`].
pub fn withdraw(folder: &MemoryFolder, id: OperationId) -> Result<()> {
    let lock = folder.lock()?;
    let (journal, _) = Journal::load(folder)?;
    let found = journal.operations().find(|one| one.id == id && !one.status.is_settled());
    found.ok_or(Error::NoOperation { id: folder.name_of(id) })?;
    let reason = "a person took it back".to_owned();
    append(folder, &lock, &[Record::Refuse { id, code: "withdrawn".to_owned(), reason }.line()])
}

/// The lines of a journal that count.
pub(crate) fn own_lines(bytes: &[u8]) -> Vec<String> {
    let found = json_lines::read::<Record>(bytes).entries;
    found.into_iter().map(|(_, line)| line).collect()
}

/// Records that a flush begins to write a file.
pub(crate) fn record_begin(folder: &MemoryFolder, lock: &FolderLock, begun: Begun) -> Result<()> {
    append(folder, lock, &[Record::Begin(begun).line()])
}

/// Records that the begun step is done, or given up if there are no IDs.
pub(crate) fn record_end(
    folder: &MemoryFolder,
    lock: &FolderLock,
    ids: Vec<OperationId>,
) -> Result<()> {
    let record = if ids.is_empty() { Record::Abandon {} } else { Record::Commit { ids } };
    append(folder, lock, &[record.line()])
}

/// Records operations that a flush does not write.
pub(crate) fn record_not_written(
    folder: &MemoryFolder,
    lock: &FolderLock,
    operations: &[(OperationId, EntryStatus)],
) -> Result<()> {
    let record = |(id, status): &(OperationId, EntryStatus)| Record::of_status(*id, status);
    let lines: Vec<String> =
        operations.iter().filter_map(record).map(|record| record.line()).collect();
    if lines.is_empty() { Ok(()) } else { append(folder, lock, &lines) }
}

fn append(folder: &MemoryFolder, _lock: &FolderLock, lines: &[String]) -> Result<()> {
    folder.append(JOURNAL_FILE, lines)
}

/// Whether a name is that of a Markdown file directly in a memory folder.
fn is_markdown_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "md")
        && !name.starts_with('.')
        && !name.contains(['/', '\\', '\0'])
}

/// A name that passes [`is_markdown_file`]: a journal names no other.
fn markdown_file<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    named(deserializer, is_markdown_file)
}

/// A name that [`MemoryFolder::temporary`] makes.
fn prepared_file<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    named(deserializer, |name| {
        let stem = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
        let parts = stem.and_then(|stem| stem.rsplit_once('.'));
        parts.is_some_and(|(file, tag)| is_markdown_file(file) && OperationId::parse(tag).is_ok())
    })
}

fn named<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
    is_right: fn(&str) -> bool,
) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if is_right(&name) { Ok(name) } else { Err(serde::de::Error::custom("it names another file")) }
}

fn check_draft(draft: &Draft) -> Result<()> {
    if !is_markdown_file(&draft.file) {
        let problem = format!("`{}` is not a Markdown file of a memory folder", draft.file);
        return Err(Error::argument("file", problem));
    }
    if draft.text.trim().is_empty() {
        return Err(Error::argument("text", "is empty"));
    }
    if draft.text.len() > MAX_OPERATION_BYTES {
        let problem = format!("has {} bytes, at most {MAX_OPERATION_BYTES} fit", draft.text.len());
        return Err(Error::argument("text", problem));
    }
    super::checks::refuse_secret(draft)
}

/// The number in an unreadable line, so that it is not reused.
fn id_in(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("\"id\":\"w")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|number| *number <= MAX_ID)
}

impl Draft {
    /// An entry for a scope's index, requested by a person.
    pub fn entry(scope: Scope, text: impl Into<String>) -> Self {
        let file = scope.index_file().to_owned();
        Self { file, text: text.into(), heading: None, by: Author::Person, origin: None }
    }

    /// The headings for the entry, outermost first; empty: the one that the text suggests.
    pub(crate) fn path(&self) -> Vec<String> {
        let parts = self.heading.iter().flat_map(|heading| heading.split(BETWEEN_HEADINGS));
        parts.map(str::to_owned).collect()
    }

    /// The text below its heading, which may say that it is a secret.
    pub(crate) fn as_noted(&self) -> Cow<'_, str> {
        let below = |heading| Cow::from(format!("## {heading}{BELOW_HEADING}{}", self.text));
        self.heading.as_ref().map_or(Cow::from(&self.text), below)
    }

    /// The same without its secrets, for those who read why it is refused.
    #[must_use]
    pub(crate) fn redacted(self) -> Self {
        let Some(clean) = redact_note(&self.as_noted()).text else { return self };
        match clean.split_once(BELOW_HEADING) {
            Some((heading, text)) if self.heading.is_some() => {
                let heading = heading.trim_start_matches("## ").to_owned();
                Self { heading: Some(heading), text: text.to_owned(), ..self }
            }
            _ => Self { text: clean, ..self },
        }
    }

    /// The page that it would be, below its headings.
    pub(crate) fn page(&self, scope: Scope) -> Option<Page> {
        let mut page = page_of(self.text.trim(), scope)?;
        page.place.headings = self.path();
        Some(page)
    }
}

impl OperationId {
    /// Reads an ID as a person names it, such as `w12` or `g3`.
    ///
    /// # Errors
    /// `NO_OPERATION` for anything else.
    pub(crate) fn named(text: &str) -> Result<Self> {
        Self::read(text, &['w', 'g'])
    }

    /// Reads a number as journals have it, such as `w12`.
    ///
    /// # Errors
    /// `NO_OPERATION` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(text, &['w'])
    }

    fn read(text: &str, letters: &[char]) -> Result<Self> {
        let number: Option<u64> =
            text.trim().strip_prefix(letters).and_then(|number| number.parse().ok());
        number
            .filter(|number| *number <= MAX_ID)
            .map(Self)
            .ok_or_else(|| Error::NoOperation { id: text.to_owned() })
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "w{}", self.0)
    }
}

impl Serialize for OperationId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OperationId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
