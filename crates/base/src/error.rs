//! The project's one error type, with stable codes and hints. No I/O, no policy.

use std::io::ErrorKind;
use std::path::PathBuf;

use strum::EnumMessage as _;

use crate::object::{ObjectId, TxId, quote};

/// Result with the crate's error type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A cause from another library, kept for the error chain.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Everything that can go wrong. [`Error::code`] is stable; the text is for people, as is the hint,
/// which stands as the message of `strum`.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr, strum::EnumMessage)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Error {
    /// The object has no version as of the requested transaction or time.
    #[error("object `{id}` has no version {at}")]
    NotFound {
        /// The object.
        id: ObjectId,
        /// The requested version or time, in words.
        at: String,
    },
    /// The session made no call with this number.
    #[strum(serialize = "NOT_FOUND")]
    #[error("`{session}` has no call {number}: it has made {}", calls_text(*calls))]
    NoCall {
        /// The session.
        session: ObjectId,
        /// The number that was asked for.
        number: u64,
        /// The number of its newest call; 0 if it has made none.
        calls: u64,
    },
    /// No object has this name.
    #[strum(message = "use its path, ID or nickname, or within a session a handle such as `t17`")]
    #[error("nothing is named `{name}`{}", near_text(near))]
    UnknownName {
        /// The name as given.
        name: String,
        /// Names that may have been meant.
        near: Vec<String>,
    },
    /// Several objects match this name.
    #[strum(message = "give more of the name, or the full ID")]
    #[error("`{name}` fits {} objects: {}", candidates.len(), quoted(candidates))]
    AmbiguousName {
        /// The name as given.
        name: String,
        /// The matching objects.
        candidates: Vec<String>,
    },
    /// A nickname is taken, or looks like another kind of name.
    #[error("`{name}` cannot be a nickname: {reason}")]
    InvalidNickname {
        /// The nickname as given.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A put expected a different latest version than the store has.
    #[error("object `{id}` was changed by another writer (latest is {})", winner_text(*winner))]
    Conflict {
        /// The object.
        id: ObjectId,
        /// The latest version's transaction; `None` if the object does not exist.
        winner: Option<TxId>,
    },
    /// A person removed the object with `forget`; it is not stored again.
    #[error("object `{id}` was forgotten")]
    Forgotten {
        /// The object.
        id: ObjectId,
    },
    /// A query names a field that no object in the store has.
    #[strum(message = "name a payload's field by its path (`args.command`), and quote names with \
         special characters; the text to compare with goes to the right of the operator")]
    #[error("no object has the field `{field}`{}", near_text(known))]
    UnknownField {
        /// The field as given.
        field: String,
        /// Existing fields with similar names.
        known: Vec<String>,
    },
    /// An archive cannot be read. Nothing was imported.
    #[error("line {line} of the archive {problem}")]
    MalformedArchive {
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A compressed archive or session file expands to far more than its size. Nothing was taken
    /// from it.
    #[strum(message = "if you trust it, decompress it (`zstd -d`, `gzip -d`) and take that")]
    #[error("the {what} expands to more than {limit} bytes in line {line}, far more than its size")]
    ArchiveExpands {
        /// `archive` or `session file`.
        what: &'static str,
        /// Line, from 1.
        line: u64,
        /// Most bytes accepted from an archive of this size.
        limit: u64,
    },
    /// A file is not a session file of a supported agent.
    #[strum(
        message = "supported are session files of Pi, Claude Code, Codex, Copilot CLI, Gemini \
         CLI, Qwen Code, OpenCode and OpenClaw, plain or compressed, sessions of the databases of \
         the last two as `FILE#SESSION`, messages of Anthropic's or OpenAI's API, one per line or \
         as a list, and the neutral form: a line `{\"session\":{…}}`, then one message of pi-ai \
         per line"
    )]
    #[error("line {line} of `{}` {problem}", path.display())]
    MalformedTranscript {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The sessions have too few needs to learn from.
    #[strum(message = "use more or longer sessions; until then, the built-in weights are better")]
    #[error("too few needs of {what} to learn from: {found}, at least {wanted} are required")]
    TooFewNeeds {
        /// `outputs` or `steps`.
        what: &'static str,
        /// Number of needs found.
        found: u64,
        /// Least number of needs.
        wanted: u64,
    },
    /// The object is infrastructure, which cannot be active.
    #[error("`{id}` is a {kind} and cannot be activated")]
    NotActivatable {
        /// The object.
        id: ObjectId,
        /// Its type.
        kind: &'static str,
    },
    /// Activating or pinning would take up too much of the window.
    #[strum(message = "give a line range or a pattern, or let something go first")]
    #[error("`{name}` is {tokens} tokens, {room} are free for it: lines or a pattern take a part")]
    NoRoom {
        /// The object as named.
        name: String,
        /// Tokens that it would take.
        tokens: u64,
        /// Tokens that are left.
        room: u64,
    },
    /// An argument has the wrong shape or value.
    #[error("`{argument}` {problem}")]
    InvalidArgument {
        /// The argument's name.
        argument: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A `read` starts after the file's last line. The message has Pi's own words, because the
    /// model sees it.
    #[error("Offset {offset} is beyond end of file ({total_lines} lines total)")]
    OffsetBeyondEnd {
        /// The offset as the model gave it.
        offset: String,
        /// Lines of the file.
        total_lines: u64,
    },
    /// A settings file is wrong.
    #[strum(message = "`docs/settings.md` of palimpsest has all settings, what each must be, and \
         the names of prices")]
    #[error("settings in `{path}`: {problem}")]
    InvalidSettings {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the key in backticks.
        problem: String,
    },
    /// Stored bytes do not hash to what was recorded.
    #[error("stored {what} hashes to `{found}`, recorded is `{recorded}`")]
    HashMismatch {
        /// What was checked.
        what: String,
        /// The hash of the stored bytes.
        found: String,
        /// The hash that was recorded.
        recorded: String,
    },
    /// The store's schema is newer than this program.
    #[strum(message = "update palimpsest; if that was done meanwhile, start this again")]
    #[error("store `{path}` has schema {found}, this program knows up to {known}")]
    NewerSchema {
        /// The store.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// The store cannot be opened or used.
    #[strum(message = "check the path, or set PALIMPSEST_STORE to another path")]
    #[error("cannot use the store `{path}`: {problem}")]
    StoreUnavailable {
        /// The store.
        path: PathBuf,
        /// What is wrong, in words.
        problem: String,
        /// Cause.
        source: Option<BoxError>,
    },
    /// The store's file is damaged.
    #[strum(
        message = "`palimpsest doctor` lists what is damaged; `palimpsest doctor --set-aside` \
         moves the file away, so that a new store can start"
    )]
    #[error("store `{path}` is damaged")]
    StoreCorrupt {
        /// The store.
        path: PathBuf,
        /// Cause.
        source: BoxError,
    },
    /// The file does not begin like a database: it is not a store, or little is left of one.
    #[strum(serialize = "STORE_CORRUPT")]
    #[strum(message = "check the path, or set PALIMPSEST_STORE to another path; if a store stood \
         there, `palimpsest doctor --set-aside --force` moves the file away, so that a new one can \
         start")]
    #[error("file `{path}` is not a store")]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: BoxError,
    },
    /// The store's file was removed or replaced after it was opened.
    #[strum(message = "open it again, to go on with what is there now")]
    #[error("store `{path}` was {}", if *replaced { "replaced by another file" } else { "moved or deleted" })]
    StoreGone {
        /// The store.
        path: PathBuf,
        /// Whether another file is there.
        replaced: bool,
    },
    /// The store can be read but not written.
    #[strum(message = "make the file and its folder writable, or set PALIMPSEST_STORE to another \
         path")]
    #[error("store `{path}` is read-only")]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// One of our files, or its folder, is not private to its user.
    #[strum(message = "a store, and the file of a token, has to be yours alone: `chmod 600` its \
         files and `chmod go-w` its folder if they are yours, name the file that a link leads to, \
         put a copy in the place of a file with two names, or set PALIMPSEST_STORE to a path in a \
         folder of your own")]
    #[error("`{path}` is not private: {problem}")]
    NotPrivate {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, in words.
        problem: &'static str,
    },
    /// The disk is full.
    #[strum(message = "free some space on the disk")]
    #[error("no space left for the store `{path}`")]
    NoSpace {
        /// The store.
        path: PathBuf,
    },
    /// A file outside the store cannot be read or written.
    #[error("cannot {act} `{path}`: {}", file_problem(source))]
    File {
        /// `read`, `write`, `create`, `move`, `check`.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Something in a project's memory is a link. A clone could have brought it, and it could lead
    /// anywhere.
    #[strum(message = "put the memory itself into the project's `.pi/memory`, in place of the \
         link")]
    #[error("`{}` is a link, or lies behind one: a project's memory is only what stands in its own folder", path.display())]
    OutsideProject {
        /// The file or folder as named.
        path: PathBuf,
    },
    /// A part of the store is not in an index yet.
    #[strum(message = "sessions add to it while they run")]
    #[error("{versions} versions are not in the search index yet")]
    NotIndexed {
        /// How many.
        versions: u64,
    },
    /// Another process keeps writing to a memory folder.
    #[strum(message = "try again when the other process is done")]
    #[error("another process has been writing to the memory in `{}` for too long", folder.display())]
    MemoryBusy {
        /// The folder.
        folder: PathBuf,
    },
    /// A text for memory seems to hold a secret. Nothing was written.
    #[strum(message = "say where the secret is kept instead")]
    #[error("the text looks like it holds a secret ({rule}), which memory never keeps")]
    Secret {
        /// The rule that found it.
        rule: String,
    },
    /// A memory folder's journal has no operation with this ID, or it is settled already.
    #[strum(message = "`/memory waiting` lists what waits")]
    #[error("nothing waits as `{id}`")]
    NoOperation {
        /// The ID as given.
        id: String,
    },
    /// No trace of memory has this ID.
    #[strum(message = "`/memory traces` lists them; the oldest are dropped")]
    #[error("no trace has the ID `{id}`, or several begin so")]
    NoTrace {
        /// The ID as given.
        id: String,
    },
    /// No page of memory has this ID.
    #[strum(message = "`/memory pages` lists them")]
    #[error("no page of memory has the ID `{id}`, or several begin so")]
    NoPage {
        /// The ID as given.
        id: String,
    },
    /// The backend lacks an optional feature.
    #[error("the {backend} backend has no {what}")]
    Unsupported {
        /// The feature.
        what: &'static str,
        /// The backend's name.
        backend: &'static str,
    },
    /// The store, session or tool was used after `close()`.
    #[error("the {what} is closed")]
    Closed {
        /// What is closed.
        what: &'static str,
    },
    /// A disk or another process did not answer in time.
    #[strum(message = "see whether a disk, a mount or another program that uses the store hangs; \
         the setting `deadlineSeconds` says how long to wait")]
    #[error("the {what} did not answer within {seconds} s")]
    NoAnswer {
        /// What did not answer.
        what: &'static str,
        /// The deadline.
        seconds: u64,
    },
    /// The XTDB server cannot be reached, did not answer, or has not caught up. It may do so later.
    #[strum(
        message = "see whether the server runs and the address is right; what waits to be sent \
         is kept until it answers"
    )]
    #[error("the XTDB server `{url}` cannot be used now: {problem}")]
    XtdbUnavailable {
        /// The server.
        url: String,
        /// What happened, in words.
        problem: String,
        /// Cause.
        source: Option<BoxError>,
    },
    /// The XTDB server denied access, or allowed only reading.
    #[strum(message = "see whether the token is the server's and still valid, and whether the \
         server is read-only")]
    #[error("the XTDB server `{url}` refused the request with status {status}: {problem}")]
    XtdbRefused {
        /// The server.
        url: String,
        /// 401 or 403.
        status: u16,
        /// What the server said.
        problem: String,
    },
    /// The server that answers is not XTDB 1.
    #[strum(
        message = "give the address of XTDB's HTTP server, version 1, as `http://HOST:PORT` or \
         `https://…`; XTDB 2 is another database, without such a server"
    )]
    #[error("what answers at `{url}` is not a server of XTDB 1: {found}")]
    XtdbForeign {
        /// The server.
        url: String,
        /// What was found instead.
        found: String,
    },
    /// The XTDB server reported a failure.
    #[strum(
        message = "the server's log says more; where its ingester failed, it has to be started \
         again"
    )]
    #[error("the XTDB server `{url}` failed: {problem}")]
    XtdbFailed {
        /// The server.
        url: String,
        /// Status of its answer. From 500 on, it may work later; anything else will fail again.
        status: u16,
        /// What it said, in words.
        problem: String,
    },
    /// An answer from the XTDB server cannot be read.
    #[strum(
        message = "see whether something between here and the server, such as a proxy, changes \
         or cuts answers"
    )]
    #[error("the XTDB server `{url}` gave an answer that {problem}")]
    XtdbAnswer {
        /// The server.
        url: String,
        /// What is wrong with it, as the end of a sentence.
        problem: String,
    },
    /// A document in the XTDB database is not one that this program writes.
    #[strum(
        message = "somebody else wrote it: give Palimpsest a database of its own, or have that \
         document removed"
    )]
    #[error("the document `{id}` of the XTDB database {problem}")]
    XtdbDocument {
        /// Its `xt/id`.
        id: String,
        /// What is wrong with it, as the end of a sentence.
        problem: String,
    },
    /// A bug in this program.
    #[strum(message = "please report this, with the text of the error")]
    #[error("internal error: {problem}")]
    Internal {
        /// What went wrong.
        problem: String,
    },
}

impl Error {
    /// Stable code in upper snake case, for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// What the user can do about it, if anything.
    pub fn hint(&self) -> Option<&'static str> {
        self.get_message()
    }

    /// Whether stored data is damaged, which reading again does not change.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::HashMismatch { .. } | Self::StoreCorrupt { .. } | Self::XtdbDocument { .. }
        )
    }

    /// Whether our program, or something it depends on, is broken, so that asking differently would
    /// not help.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::HashMismatch { .. }
                | Self::NewerSchema { .. }
                | Self::StoreUnavailable { .. }
                | Self::StoreCorrupt { .. }
                | Self::NotAStore { .. }
                | Self::StoreGone { .. }
                | Self::ReadOnly { .. }
                | Self::NotPrivate { .. }
                | Self::NoSpace { .. }
                | Self::Closed { .. }
                | Self::NoAnswer { .. }
                | Self::XtdbUnavailable { .. }
                | Self::XtdbRefused { .. }
                | Self::XtdbForeign { .. }
                | Self::XtdbFailed { .. }
                | Self::XtdbAnswer { .. }
                | Self::XtdbDocument { .. }
                | Self::Internal { .. }
        )
    }

    /// The objects that match an ambiguous name; empty for other errors.
    pub fn candidates(&self) -> &[String] {
        match self {
            Self::AmbiguousName { candidates, .. } => candidates,
            _ => &[],
        }
    }

    /// The message in one line for a model or a person. Quoted text in it is made harmless.
    pub fn message(&self) -> String {
        quote::line(&self.to_string()).into_owned()
    }

    /// The message, its causes and the hint, one per line, for logs.
    pub fn report(&self) -> String {
        let mut text = format!("{}: {}", self.code(), self.message());
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str("\n  caused by: ");
            text.push_str(&quote::line(&error.to_string()));
            cause = error.source();
        }
        if let Some(hint) = self.hint() {
            text.push_str("\n  hint: ");
            text.push_str(hint);
        }
        text
    }

    /// Shorthand for a name that no object has.
    pub fn unknown_name(name: impl Into<String>) -> Self {
        Self::UnknownName { name: name.into(), near: Vec::new() }
    }

    /// Shorthand for a bug in this program.
    pub fn internal(problem: impl Into<String>) -> Self {
        Self::Internal { problem: problem.into() }
    }

    /// Shorthand for a wrong argument.
    pub fn argument(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidArgument { argument: argument.into(), problem: problem.into() }
    }
}

/// What is wrong with a file. Part of the message, because the model does not see causes.
fn file_problem(source: &std::io::Error) -> String {
    match source.kind() {
        // Not the system's: it has words of its own.
        _ if source.get_ref().is_some() => source.to_string(),
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        // Rust has a word for each kind, but for some none that says anything.
        kind => match kind.to_string() {
            word if word == "uncategorized error" => source.to_string(),
            word => word,
        },
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The rest of the message if similar names exist.
fn near_text(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; near it: {}", quoted(names)) }
}

fn calls_text(calls: u64) -> String {
    match calls {
        0 => "none".to_owned(),
        1 => "call 1 alone".to_owned(),
        _ => format!("calls 1 to {calls}"),
    }
}

fn winner_text(winner: Option<TxId>) -> String {
    winner.map_or_else(|| "none".to_owned(), |tx| format!("transaction {tx}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_a_file_says_what_failed() {
        let says = |source: std::io::Error| {
            Error::File { act: "read", path: "/a".into(), source }.to_string()
        };
        assert_eq!(says(std::io::Error::other("it is torn")), "cannot read `/a`: it is torn");
        let taken = std::io::Error::new(ErrorKind::AlreadyExists, "it is a database");
        assert_eq!(says(taken), "cannot read `/a`: it is a database");
        let many = says(std::io::Error::from_raw_os_error(24));
        assert!(!many.contains("uncategorized"), "{many}");
    }
}
