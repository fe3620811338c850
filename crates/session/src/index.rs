//! The session index: every content object the session met, with its handle. Append-only.

use std::collections::HashMap;

use super::message::Shows;
use base::object::{FileStamp, Handle, HandleKind, Hash, ObjectId};

/// What an index entry is.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A file.
    File {
        /// Canonical absolute path.
        path: String,
        /// ID of its filesystem, if not the session's own.
        filesystem_id: Option<String>,
        /// Absolute path as the agent sees it, if it differs from `path`.
        agent_path: Option<String>,
        /// `content_hash` of the latest version known to the session.
        version: Hash,
        /// Lines of its text; `None` without text.
        lines: Option<u64>,
        /// State on disk at the last check.
        stamp: Option<FileStamp>,
    },
    /// A tool call.
    Toolcall {
        /// Tool name.
        tool: String,
        /// Whether it succeeded.
        ok: bool,
        /// `content_hash` of its version.
        version: Hash,
        /// What its result shows if not its own text.
        shows: Option<Shows>,
        /// What it asked for, in a few words; empty if `shows` already says it.
        brief: String,
    },
    /// A run of messages of the chat.
    Segment {
        /// Position of the first message.
        first: u64,
        /// Position of the last message.
        last: u64,
        /// Turns of the first and the last message.
        turns: (u32, u32),
        /// `content_hash` of its version.
        version: Hash,
        /// Whether the host went back to before its end, so that the chat now has other messages
        /// there, or none.
        is_left: bool,
    },
}

impl Subject {
    /// Absolute path of a file as the agent sees it; empty for anything else.
    pub fn agent_path(&self) -> &str {
        match self {
            Self::File { path, agent_path, .. } => agent_path.as_deref().unwrap_or(path),
            Self::Toolcall { .. } | Self::Segment { .. } => "",
        }
    }

    /// `content_hash` of the version that the session knows.
    pub fn version(&self) -> &Hash {
        match self {
            Self::File { version, .. }
            | Self::Toolcall { version, .. }
            | Self::Segment { version, .. } => version,
        }
    }
}

/// An object of the session index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexEntry {
    /// The object.
    pub id: ObjectId,
    /// Its short name in this session.
    pub handle: Handle,
    /// What it is.
    pub subject: Subject,
}

/// The session index, in order of entry.
#[derive(Debug, Clone, Default)]
pub struct SessionIndex {
    /// All entries, in order of entry.
    pub entries: Vec<IndexEntry>,
    by_id: HashMap<ObjectId, usize>,
    by_handle: HashMap<Handle, usize>,
    files: u32,
    toolcalls: u32,
    segments: u32,
}

impl SessionIndex {
    /// The entry of an object.
    pub fn get(&self, id: &ObjectId) -> Option<&IndexEntry> {
        self.by_id.get(id).map(|at| &self.entries[*at])
    }

    /// The entry with a handle.
    pub fn by_handle(&self, handle: Handle) -> Option<&IndexEntry> {
        self.by_handle.get(&handle).map(|at| &self.entries[*at])
    }

    /// Entries whose ID starts with a prefix.
    pub fn by_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a IndexEntry> {
        self.entries.iter().filter(move |entry| entry.id.as_str().starts_with(prefix))
    }

    /// The segment of the chat's messages `first` to `last`.
    pub fn segment(&self, first: u64, last: u64) -> Option<&IndexEntry> {
        self.entries.iter().rev().find(|entry| match entry.subject {
            Subject::Segment { first: from, last: to, is_left, .. } => {
                (from, to) == (first, last) && !is_left
            }
            _ => false,
        })
    }

    /// The entry of an object. For a segment, the entry of this version, which may be on an
    /// abandoned branch.
    pub fn of_version(&self, id: &ObjectId, version: &Hash) -> Option<&IndexEntry> {
        let shown = self.get(id)?;
        let is_segment = matches!(shown.subject, Subject::Segment { .. });
        if !is_segment || shown.subject.version() == version {
            return Some(shown);
        }
        let is_it = |entry: &&IndexEntry| entry.id == *id && entry.subject.version() == version;
        Some(self.entries.iter().find(is_it).unwrap_or(shown))
    }

    /// The handle of the next segment.
    pub fn next_segment(&self) -> Handle {
        Handle { kind: HandleKind::ChatSegment, number: self.segments + 1 }
    }

    /// Marks the segments that lost messages when the chat was cut to this length. Their handles
    /// keep naming them as they were.
    pub(super) fn leave_segments(&mut self, chat_len: u64) {
        for entry in &mut self.entries {
            if let Subject::Segment { last, is_left, .. } = &mut entry.subject {
                *is_left |= *last >= chat_len;
            }
        }
    }

    /// Gives the entry of a moved file to its new object. If that already has a handle, both
    /// handles name it.
    pub(super) fn move_object(&mut self, from: &ObjectId, to: &ObjectId, same: Option<&Hash>) {
        let Some(at) = self.by_id.remove(from) else { return };
        self.by_id.insert(to.clone(), at);
        for entry in self.entries.iter_mut().filter(|entry| entry.id == *from) {
            entry.id = to.clone();
        }
        if let (Subject::File { version, .. }, Some(same)) = (&mut self.entries[at].subject, same) {
            *version = same.clone();
        }
    }

    /// What each tool call shows, to be changed in place.
    pub(super) fn all_shows(&mut self) -> impl Iterator<Item = &mut Shows> {
        self.entries.iter_mut().filter_map(|entry| match &mut entry.subject {
            Subject::Toolcall { shows, .. } => shows.as_mut(),
            Subject::File { .. } | Subject::Segment { .. } => None,
        })
    }

    /// Whether its object is shown under this entry's handle. A file moved over a known one has two
    /// entries.
    pub fn is_shown(&self, entry: &IndexEntry) -> bool {
        self.get(&entry.id).is_some_and(|shown| shown.handle == entry.handle)
    }

    /// Adds an object, or updates its entry and keeps its handle. A segment at the same positions
    /// on another branch gets its own handle.
    pub(super) fn enter(&mut self, id: &ObjectId, subject: Subject) {
        let is_left =
            |entry: &IndexEntry| matches!(entry.subject, Subject::Segment { is_left: true, .. });
        if let Some(at) = self.by_id.get(id).filter(|at| !is_left(&self.entries[**at])) {
            self.entries[*at].subject = subject;
            return;
        }
        let handle = match subject {
            Subject::File { .. } => next(&mut self.files, HandleKind::File),
            Subject::Toolcall { .. } => next(&mut self.toolcalls, HandleKind::Toolcall),
            Subject::Segment { .. } => next(&mut self.segments, HandleKind::ChatSegment),
        };
        let at = self.entries.len();
        self.by_id.insert(id.clone(), at);
        self.by_handle.insert(handle, at);
        self.entries.push(IndexEntry { id: id.clone(), handle, subject });
    }
}

fn next(count: &mut u32, kind: HandleKind) -> Handle {
    *count += 1;
    Handle { kind, number: *count }
}
