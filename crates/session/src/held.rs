//! Content that must stand in every request: what a person or the model pinned, and instructions
//! that the model read. Plain data.

use super::line_ranges::{LineRange, merge_ranges};
use base::object::{Hash, ObjectId};

/// Lines of an object that must stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLines {
    /// The object.
    pub object: ObjectId,
    /// `content_hash` of the version that has the lines.
    pub version: Hash,
    /// The lines.
    pub ranges: Vec<LineRange>,
    /// What of a changing file they are.
    pub extent: Extent,
    /// Their tokens when this was decided.
    pub tokens: u64,
    /// Why they must stand.
    pub why: Why,
    /// Whether a person pinned them or some of them: the model lets those go no more.
    pub by_person: bool,
}

/// What of an object that may change must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of a file, as it is now.
    Whole,
    /// Lines of a file, which move as it changes.
    Lines,
    /// Lines of this version, whatever becomes of the object.
    Version,
}

/// Why something must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A person or the model pinned it.
    Pinned,
    /// It is instructions that the model read.
    Instructions {
        /// Position of the message that showed them first.
        since: u64,
    },
}

impl HeldLines {
    /// Whether these lines and others of the same object are held as one.
    pub(super) fn is_joined_by(&self, other: &Self) -> bool {
        let are_alike = matches!(
            (self.why, other.why),
            (Why::Pinned, Why::Pinned) | (Why::Instructions { .. }, Why::Instructions { .. })
        );
        // All of a file as it is now has whatever was held of it.
        let is_within = other.extent == Extent::Whole && self.extent != Extent::Version;
        are_alike && self.object == other.object && (is_within || self.version == other.version)
    }

    /// These lines with those that were held before.
    pub(super) fn joined(self, before: &Self) -> Self {
        let why = match (before.why, self.why) {
            (Why::Instructions { since }, Why::Instructions { .. }) => Why::Instructions { since },
            (_, why) => why,
        };
        let by_person = before.by_person || self.by_person;
        if self.extent == Extent::Whole {
            return Self { why, by_person, ..self };
        }
        let ranges = merge_ranges(&[before.ranges.clone(), self.ranges.clone()].concat());
        let tokens = if ranges == before.ranges {
            before.tokens
        } else if ranges == self.ranges {
            self.tokens
        } else {
            before.tokens + self.tokens
        };
        let extent = if before.extent == Extent::Whole { Extent::Whole } else { self.extent };
        Self { ranges, extent, tokens, why, by_person, ..self }
    }

    /// The file moved. `same`: the version of both objects that has the same text.
    pub(super) fn move_to(&mut self, to: &ObjectId, same: Option<(&Hash, &Hash)>) {
        self.object = to.clone();
        if let Some((_, now)) = same.filter(|(was, _)| self.version == **was) {
            self.version = now.clone();
        }
    }

    /// A pin of the first line of an object, for tests of this crate.
    #[cfg(test)]
    pub(super) fn for_tests(object: &str) -> Self {
        Self {
            object: ObjectId::new(object),
            version: Hash::of(""),
            ranges: vec![LineRange { first: 1, last: 1 }],
            extent: Extent::Whole,
            tokens: 1,
            why: Why::Pinned,
            by_person: false,
        }
    }
}
