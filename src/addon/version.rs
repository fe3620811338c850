//! Versions, references and times in the shapes that JavaScript sees.

use std::collections::HashMap;

use napi::Either;
use napi_derive::napi;
use serde_json::{Value, json};

use base::error::Result;
use base::object::{Origin, RedactionReason, VersionSelector};
use store::Store;

/// A version of an object: everything but its content.
#[napi(object, use_nullable = true)]
pub struct Version {
    /// Full ID of the object.
    pub id: String,
    /// Its type.
    #[napi(js_name = "type", ts_type = "ObjectType")]
    pub kind: String,
    /// What the object tracks; null if it has no source.
    #[napi(ts_type = "Source | null")]
    pub source: Value,
    /// SHA-256 of the immutable part, as 64 hexadecimal digits like all hashes.
    pub identity_hash: String,
    /// The transaction that wrote the version in this store.
    pub tx_id: i64,
    /// Time of that transaction in this store, in RFC 3339, UTC.
    pub system_time: String,
    /// Where the version was first written: this store, unless it was imported.
    pub origin: VersionOrigin,
    /// SHA-256 of the bytes that were read from the source; null if none were.
    pub source_hash: Option<String>,
    /// SHA-256 of the payload: fields, content, items and additional contents. A change of it makes a new version.
    pub content_hash: String,
    /// Fields, such as `char_count` of a file or `tool` of a tool call, and your own.
    #[napi(ts_type = "Record<string, unknown>")]
    pub fields: Value,
    /// SHA-256 of the content's UTF-8 bytes; null if there is no content.
    pub content: Option<String>,
    /// Number of items (messages of a chat, events of a session); 0 for other objects.
    pub item_count: i64,
    /// SHA-256 of each additional content, by name.
    pub additional: HashMap<String, String>,
    /// Why text was removed from the version after it was written; null if none was.
    #[napi(ts_type = "\"secret\" | \"forgotten\"")]
    pub redacted: Option<String>,
    /// The object's nicknames.
    pub nicknames: Vec<String>,
    /// A reference to this version, which resolves in any store that holds it. See `resolve`.
    #[napi(ts_type = "StaticReference")]
    pub reference: Value,
}

/// Where a version was first written.
#[napi(object)]
pub struct VersionOrigin {
    /// ID of that store.
    pub store_id: String,
    /// Its transaction there.
    pub tx_id: i64,
    /// Its time there, in RFC 3339, UTC.
    pub time: String,
}

impl Version {
    /// A version with its object's nicknames.
    pub(super) fn of(store: &Store, version: store::Version) -> Result<Self> {
        let nicknames = store.nicknames(&version.envelope.id)?;
        let reference = json!(Store::static_reference(&version));
        let store::Version { envelope, origin, .. } = version;
        let hashes = version.additional.into_iter();
        Ok(Self {
            id: envelope.id.to_string(),
            kind: envelope.kind.as_str().to_owned(),
            source: json!(envelope.source),
            identity_hash: envelope.identity_hash.to_string(),
            tx_id: version.tx_id.0,
            system_time: version.system_time.to_string(),
            origin: origin_of(&origin),
            source_hash: version.source_hash.map(|hash| hash.to_string()),
            content_hash: version.content_hash.to_string(),
            fields: Value::Object(version.fields),
            content: version.content.map(|hash| hash.to_string()),
            item_count: count(version.item_count),
            additional: hashes.map(|(name, hash)| (name, hash.to_string())).collect(),
            redacted: version.redacted.map(|redaction| reason(redaction.reason).to_owned()),
            nicknames: nicknames.iter().map(|nickname| nickname.as_str().to_owned()).collect(),
            reference,
        })
    }

    /// Versions with the nicknames of their objects.
    pub(super) fn all(store: &Store, versions: Vec<store::Version>) -> Result<Vec<Self>> {
        versions.into_iter().map(|version| Self::of(store, version)).collect()
    }
}

/// Which version to read: a transaction, a step back or a time.
pub(super) type At = Either<f64, String>;

/// Reads which version to read.
pub(super) fn selector(argument: &str, at: Option<At>) -> Result<Option<VersionSelector>> {
    let text = match at {
        None => return Ok(None),
        Some(Either::A(number)) => number.to_string(),
        Some(Either::B(text)) => text,
    };
    VersionSelector::parse(argument, &text).map(Some)
}

/// A count as a JavaScript number.
pub(super) fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn origin_of(origin: &Origin) -> VersionOrigin {
    VersionOrigin {
        store_id: origin.store_id.clone(),
        tx_id: origin.tx_id.0,
        time: origin.time.to_string(),
    }
}

fn reason(reason: RedactionReason) -> &'static str {
    match reason {
        RedactionReason::Secret => "secret",
        RedactionReason::Forgotten => "forgotten",
    }
}
