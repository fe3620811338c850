//! The difference of two versions of an object. Compares what is stored; must not look at files.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::{Store, Version};
use crate::error::{Error, Result};
use crate::object::AsOf;

/// Unchanged lines shown around each change, unless asked otherwise.
pub const DEFAULT_DIFF_CONTEXT: usize = 3;

/// After this time a difference that is still correct, if longer than it might be, is taken.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How one version differs from another.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The earlier version.
    pub from: Version,
    /// The later version.
    pub to: Version,
    /// Lines that only `to` has.
    pub added: u64,
    /// Lines that only `from` has.
    pub removed: u64,
    /// Unified diff of the contents, with headings; empty where they are equal. A null content counts as an empty text.
    pub unified: String,
    /// Fields that differ, by name.
    pub fields: Vec<FieldChange>,
}

/// A field that differs between two versions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// Its name.
    pub name: String,
    /// Its value in the earlier version; `None` where that has no such field.
    pub before: Option<Value>,
    /// Its value in the later version; `None` where that has no such field.
    pub after: Option<Value>,
}

impl Store {
    /// Compares two versions by lines: their contents, or where the documents have items, these, one per line.
    ///
    /// `context`: unchanged lines around each change.
    ///
    /// # Errors
    /// As [`Self::content`] and [`Self::items`]; `INVALID_ARGUMENT` if the versions are of different objects.
    pub fn diff(&self, from: Version, to: Version, context: usize) -> Result<Difference> {
        let id = &from.envelope.id;
        if *id != to.envelope.id {
            let problem = format!("is a version of `{}`, not of `{id}`", to.envelope.id);
            return Err(Error::argument("to", problem));
        }
        let (old, new) = (self.document(&from)?, self.document(&to)?);
        let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(&old, &new);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        let heading = |version: &Version| format!("{id}@{}", version.tx_id);
        let unified = diff
            .unified_diff()
            .context_radius(context)
            .header(&heading(&from), &heading(&to))
            .to_string();
        Ok(Difference {
            added: added as u64,
            removed: removed as u64,
            unified,
            fields: changed_fields(&from, &to),
            from,
            to,
        })
    }

    /// What a version says, as one text: its content, or its items, each with a `\n`.
    fn document(&self, version: &Version) -> Result<String> {
        if version.item_count == 0 {
            return Ok(self.content(version)?.unwrap_or_default());
        }
        let at = AsOf::Tx(version.tx_id);
        let items = self.items(&version.envelope.id, at, 0..version.item_count)?;
        Ok(items.into_iter().map(|item| item + "\n").collect())
    }
}

fn changed_fields(from: &Version, to: &Version) -> Vec<FieldChange> {
    let names: BTreeSet<&String> = from.fields.keys().chain(to.fields.keys()).collect();
    let changes = names.into_iter().map(|name| FieldChange {
        name: name.clone(),
        before: from.fields.get(name).cloned(),
        after: to.fields.get(name).cloned(),
    });
    changes.filter(|change| change.before != change.after).collect()
}
