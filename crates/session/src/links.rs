//! Which files had their links followed, and how many tokens of metadata that brought in.

use std::collections::HashMap;

use base::object::{Hash, ObjectId};

/// The links that a session followed.
#[derive(Debug, Clone, Default)]
pub struct Links {
    followed: HashMap<ObjectId, Hash>,
    /// Tokens of the metadata lines of all files that links brought in, counted when they came in.
    pub tokens: u64,
}

impl Links {
    /// Whether the links of this version of the file were the last ones followed.
    pub fn are_followed(&self, file: &ObjectId, version: &Hash) -> bool {
        self.followed.get(file) == Some(version)
    }

    /// Forgets a moved file, so that its links are followed again: relative ones now lead
    /// elsewhere.
    pub(super) fn leave(&mut self, file: &ObjectId) {
        self.followed.remove(file);
    }

    pub(super) fn follow(&mut self, file: &ObjectId, version: &Hash, tokens: u64) {
        self.followed.insert(file.clone(), version.clone());
        self.tokens += tokens;
    }
}
