//! Versions, references and times in the shapes that JavaScript sees.

use napi::Either;
use serde_json::{Value, json};

use base::error::Result;
use base::object::VersionSelector;
use store::{Store, Version};
use xtdb::Machine;

/// A version in the shape of `Version` in `types`.
pub(super) fn described(store: &Store, version: &Version) -> Result<Value> {
    let Version { envelope, origin, .. } = version;
    let machine = machine_of(store, &origin.store_id);
    Ok(json!({
        "id": envelope.id,
        "type": envelope.kind,
        "source": envelope.source,
        "identityHash": envelope.identity_hash,
        "txId": version.tx_id,
        "systemTime": version.system_time.to_string(),
        "origin": {
            "storeId": origin.store_id,
            "txId": origin.tx_id,
            "time": origin.time.to_string(),
            "machine": machine.as_ref().map(|one| &one.machine),
            "author": machine.as_ref().and_then(|one| one.author.as_ref()),
        },
        "sourceHash": version.source_hash,
        "contentHash": version.content_hash,
        "fields": version.fields,
        "content": version.content,
        "itemCount": version.item_count,
        "additional": version.additional,
        "redacted": version.redacted.as_ref().map(|redaction| redaction.reason),
        "nicknames": store.nicknames(&envelope.id)?,
        "reference": Store::static_reference(version),
    }))
}

/// The machine of another store, if it is known.
pub(super) fn machine_of(store: &Store, store_id: &str) -> Option<Machine> {
    if store_id == store.id() { None } else { xtdb::machine_of(store, store_id) }
}

pub(super) fn all_described(store: &Store, versions: &[Version]) -> Result<Vec<Value>> {
    versions.iter().map(|version| described(store, version)).collect()
}

/// Which version to read: a transaction, a step back or a time.
pub(super) type At = Either<f64, String>;

/// Reads which version to read.
pub(super) fn selector(argument: &str, at: Option<At>) -> Result<Option<VersionSelector>> {
    at.map(|at| VersionSelector::parse(argument, &text_of(at))).transpose()
}

/// As it is typed.
pub(super) fn text_of(at: At) -> String {
    match at {
        Either::A(number) => number.to_string(),
        Either::B(text) => text,
    }
}
