//! The difference between two versions, of an object or of two. Compares stored data; must not look at files.

use super::{Store, Version};
use base::error::Result;
use base::object::{AsOf, Envelope, FieldChange, changed_fields, unified_diff};

/// Unchanged lines around each change, by default.
pub const DEFAULT_DIFF_CONTEXT: usize = 3;

/// The difference between two versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The earlier version.
    pub from: Version,
    /// The later version.
    pub to: Version,
    /// Number of lines that only `to` has.
    pub added: u64,
    /// Number of lines that only `from` has.
    pub removed: u64,
    /// Unified diff of the contents, with headers that name the path, or the object's ID; empty if
    /// they are equal. A null content counts as an empty text.
    pub unified: String,
    /// Fields that differ, by name.
    pub fields: Vec<FieldChange>,
}

impl Store {
    /// Compares two versions line by line, of one object or of two: their contents, or for documents with items, the items,
    /// one per line.
    ///
    /// `context`: unchanged lines around each change.
    ///
    /// # Errors
    /// As [`Self::content`] and [`Self::items`].
    pub fn diff(&self, from: Version, to: Version, context: usize) -> Result<Difference> {
        let (old, new) = (self.document(&from)?, self.document(&to)?);
        let changes = unified_diff(&old, &new, context);
        let count = |sign: char| {
            let lines = changes.split_inclusive('\n');
            lines.filter(|line| line.starts_with(sign)).count() as u64
        };
        let (added, removed) = (count('+'), count('-'));
        let unified = if changes.is_empty() {
            changes
        } else {
            format!("--- {}\n+++ {}\n{changes}", header(&from), header(&to))
        };
        let fields = changed_fields(&from.fields, &to.fields);
        Ok(Difference { from, to, added, removed, unified, fields })
    }

    /// A version as one text: its content, or its items, each followed by `\n`.
    fn document(&self, version: &Version) -> Result<String> {
        if version.item_count == 0 {
            return Ok(self.content(version)?.unwrap_or_default());
        }
        let at = AsOf::Tx(version.tx_id);
        let items = self.items(&version.envelope.id, at, 0..version.item_count)?;
        Ok(items.into_iter().map(|item| item + "\n").collect())
    }
}

/// The header of a version, like a file's in `diff` and `patch`: the path, a tab, and the time.
/// Without a path, the object's ID.
fn header(version: &Version) -> String {
    let Envelope { id, source, .. } = &version.envelope;
    let path = source.as_ref().and_then(|source| source.path());
    // A name that would end the line or the header is left out.
    let path = path.filter(|path| !path.contains(char::is_control));
    format!("{}\t@{} {}", path.unwrap_or(id.as_str()), version.tx_id, version.system_time)
}
