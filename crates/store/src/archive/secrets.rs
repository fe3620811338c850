//! Replaces text that looks like a secret in versions that leave a store. Must not know where they
//! go.

use std::collections::BTreeMap;

use super::format::VersionLine;
use crate::{Item, Version};
use base::error::Result;
use base::object::{Hash, Redaction, RedactionReason, payload_hash};
use redact::{Redacted, Redactor};
use serde_json::Value;

/// Number of replacements by rule.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// Replaces text in a version's line. `pass`: a content as it leaves, with its hash then.
pub(super) fn redact_version(
    version: &Version,
    line: &mut VersionLine,
    redactor: &mut Redactor,
    mut pass: impl FnMut(&mut Redactor, &Hash) -> Result<(Hash, String)>,
) -> Result<Counts> {
    let mut pass = |hash: &Hash| pass(redactor, hash);
    let (hash, text) = version.content.as_ref().map(&mut pass).transpose()?.unzip();
    line.content = hash;
    for hash in line.additional.values_mut() {
        *hash = pass(hash)?.0;
    }
    // Last: a call's fields hold what was said of its output.
    let Redacted { text: fields, counts } =
        redactor.json(&Value::from(line.fields.clone()).to_string());
    if let Some(Ok(changed)) = fields.as_deref().map(serde_json::from_str) {
        line.fields = changed;
    }
    let is_same = (&line.content, &line.additional) == (&version.content, &version.additional);
    if !is_same || fields.is_some() {
        let items = version.items_hash.as_ref();
        let found_hash = payload_hash(&line.fields, text.as_deref(), items, &line.additional)?;
        let reason = version.redacted.as_ref().map_or(RedactionReason::Secret, |past| past.reason);
        line.redacted = Some(Redaction { reason, found_hash });
    }
    Ok(counts)
}

/// Replaces text in an item.
pub(super) fn redact_item(item: &mut Item, redactor: &mut Redactor) -> Counts {
    let found = redactor.json(&item.text);
    if let Some(changed) = found.text {
        item.redacted = Some(Hash::of(&changed));
        item.text = changed;
    }
    found.counts
}
