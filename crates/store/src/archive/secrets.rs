//! Replaces text that looks like a secret in versions that leave a store. Must not know where they
//! go.

use std::collections::BTreeMap;

use super::format::VersionLine;
use crate::{Item, Version};
use base::error::Result;
use base::object::{Hash, Redaction, RedactionReason, payload_hash};
use redact::{redact_fields, redact_json};

/// Number of replacements by rule.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// Replaces text in a version's line. `pass`: a content as it leaves, with its hash then.
pub(super) fn redact_version(
    version: &Version,
    line: &mut VersionLine,
    mut pass: impl FnMut(&Hash) -> Result<(Hash, String)>,
) -> Result<Counts> {
    let counts = redact_fields(&mut line.fields);
    let (hash, text) = version.content.as_ref().map(&mut pass).transpose()?.unzip();
    line.content = hash;
    for hash in line.additional.values_mut() {
        *hash = pass(hash)?.0;
    }
    let is_same = (&line.content, &line.additional) == (&version.content, &version.additional);
    if !is_same || !counts.is_empty() {
        let items = version.items_hash.as_ref();
        let found_hash = payload_hash(&line.fields, text.as_deref(), items, &line.additional)?;
        let reason = version.redacted.as_ref().map_or(RedactionReason::Secret, |past| past.reason);
        line.redacted = Some(Redaction { reason, found_hash });
    }
    Ok(counts)
}

/// Replaces text in an item.
pub(super) fn redact_item(item: &mut Item) -> Counts {
    let found = redact_json(&item.text);
    if let Some(changed) = found.text {
        item.redacted = Some(Hash::of(&changed));
        item.text = changed;
    }
    found.counts
}
