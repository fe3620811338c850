//! Which files had their links followed, and what the files met that way cost (memory-system-v0 section 5.2).

use std::collections::HashMap;

use crate::object::{Hash, ObjectId};

/// The links that a session followed.
#[derive(Debug, Clone, Default)]
pub struct Links {
    followed: HashMap<ObjectId, Hash>,
    tokens: u64,
}

impl Links {
    /// Tokens of the metadata lines of all files that links brought in, as they were when they came.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Whether the links of this version of a file were followed last.
    pub fn are_followed(&self, file: &ObjectId, version: &Hash) -> bool {
        self.followed.get(file) == Some(version)
    }

    /// A file was moved. Its links are followed anew: those that are relative lead elsewhere.
    pub(super) fn leave(&mut self, file: &ObjectId) {
        self.followed.remove(file);
    }

    pub(super) fn follow(&mut self, file: &ObjectId, version: &Hash, tokens: u64) {
        self.followed.insert(file.clone(), version.clone());
        self.tokens += tokens;
    }
}
