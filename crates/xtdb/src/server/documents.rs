//! How objects look in XTDB: one document per object, whose versions are XTDB's own, and our
//! auxiliary documents. Pure.
//!
//! | `xt/id` | attributes |
//! | --- | --- |
//! | the object's ID | `type`, `source`, `path`, `identity_hash`, `source_hash`, `content_hash`; `payload`: the fields as one JSON text, which comes back exactly; `payload/NAME`: each scalar field, to ask for; `content`: the ID of a content; `additional`: those of further contents, by name; `item_count`, `items_hash`; `origin`; `redacted`; `forgotten` |
//! | `palimpsest/content/SHA-256` | `state`: `kept` with the `text`, or `forgotten` |
//! | `palimpsest/item/POSITION/OBJECT` | `object`, `position`, `text`, `running_hash`, `redacted` |
//! | `palimpsest/origin/STORE/TX/OBJECT` | `object`, `content_hash`: this version of another store is here |
//! | `palimpsest/nickname/NAME` | `nickname`, `object` |
//! | `palimpsest/writer/STORE` | `step`, `nonce`: how far a store has written |
//! | `palimpsest/machine/STORE` | `machine`, `author`, `pulled`: where that store is, whose it is, what it had taken |
//! | `palimpsest/store` | `store_id`, `format`: the database is ours |
//!
//! XTDB would index a list attribute once per element and version, so nothing that grows is a list.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::client::{Document, Tx};
use base::error::{Error, Result};
use base::object::{
    Envelope, Hash, Nickname, ObjectId, ObjectType, Origin, Payload, Redaction, RedactionReason,
    Room, Source, TxId,
};
use store::{Item, Put, Version, rules};

/// Prefix of our own documents' IDs; no object's ID may have it.
pub(super) const OWN: &str = "palimpsest/";

/// `state` of a content whose text is there, and of one that was forgotten and is not stored again.
pub(super) const KEPT: &str = "kept";
/// See [`KEPT`].
pub(super) const FORGOTTEN: &str = "forgotten";

/// The document that marks a database as ours.
pub(super) const STORE: &str = "palimpsest/store";

/// `type` of the document of a machine, and of one that writes.
pub(super) const MACHINE: &str = "palimpsest/machine";
/// See [`MACHINE`].
pub(super) const WRITER: &str = "palimpsest/writer";

/// The form of these documents. It changes only if an older program would misread them.
pub(super) const FORMAT: u64 = 1;

/// Longest text of a queryable field, in bytes: XTDB keeps longer ones twice.
const MAX_ASKED_BYTES: usize = 200;

/// Longest name of a queryable field.
const MAX_ASKED_NAME: usize = 64;

/// Most items of an object: each is its own document, and is read and erased by its position.
const MAX_ITEMS: u64 = 1 << 20;

pub(super) fn content_id(hash: &Hash) -> String {
    format!("{OWN}content/{hash}")
}

pub(super) fn item_id(object: &ObjectId, position: u64) -> String {
    format!("{OWN}item/{position}/{object}")
}

pub(super) fn origin_id(object: &ObjectId, origin: &Origin) -> String {
    format!("{OWN}origin/{}/{}/{object}", origin.store_id, origin.tx_id)
}

pub(super) fn nickname_id(nickname: &Nickname) -> String {
    format!("{OWN}nickname/{}", nickname.as_str())
}

pub(super) fn writer_id(store_id: &str) -> String {
    format!("{WRITER}/{store_id}")
}

/// The store whose machine a document is about; `None` for every other document.
pub(super) fn machine_of(document: &Document) -> Option<&str> {
    id_of(document).strip_prefix(MACHINE)?.strip_prefix('/')
}

/// The store whose steps a document counts; `None` for every other document.
pub(super) fn writer_of(document: &Document) -> Option<&str> {
    id_of(document).strip_prefix(WRITER)?.strip_prefix('/')
}

/// The document of an object that has this version. `items`: their number and running hash.
pub(super) fn object(put: &Put, items: (u64, Option<&Hash>)) -> Result<Document> {
    let mut document = envelope(&put.envelope)?;
    let contents = put.additional.iter();
    let contents = contents.map(|(name, (hash, _))| (name.clone(), content_id(hash).into()));
    // Stored as text, because these names may be anything, unlike attribute names.
    let additional = text_of(&contents.collect::<Map<String, Value>>())?;
    let (count, items_hash) = items;
    let attributes = [
        ("content_hash", json!(put.content_hash)),
        ("payload", text_of(&put.fields)?.into()),
        ("source_hash", json!(put.source_hash)),
        ("content", json!(put.content.as_ref().map(|(hash, _)| content_id(hash)))),
        ("additional", json!((!put.additional.is_empty()).then_some(additional))),
        ("item_count", json!(items_hash.map(|_| count))),
        ("items_hash", json!(items_hash)),
        ("origin", json!(put.origin)),
        ("redacted", json!(put.redacted)),
    ];
    document.extend(present(attributes));
    for (name, value) in put.fields.iter().filter(|(name, value)| is_asked(name, value)) {
        document.insert(format!("payload/{name}"), value.clone());
    }
    Ok(document)
}

fn envelope(envelope: &Envelope) -> Result<Document> {
    let id = envelope.id.as_str();
    if id.starts_with(OWN) || id.is_empty() {
        let problem = format!("is `{id}`, which a shared store cannot keep");
        return Err(Error::argument("id", problem));
    }
    let source = envelope.source.as_ref();
    Ok(present([
        ("xt/id", id.into()),
        ("type", json!(envelope.kind)),
        ("identity_hash", json!(envelope.identity_hash)),
        ("path", json!(source.and_then(Source::path))),
        ("source", json!(source)),
    ]))
}

/// A document of those attributes that have a value.
fn present<'n>(attributes: impl IntoIterator<Item = (&'n str, Value)>) -> Document {
    let present = attributes.into_iter().filter(|(_, value)| !value.is_null());
    present.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether a field is an attribute of its own, in addition to `payload`.
fn is_asked(name: &str, value: &Value) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= MAX_ASKED_NAME
        && name.chars().all(is_plain);
    is_name
        && match value {
            Value::Bool(_) => true,
            Value::Number(number) => number.is_i64(),
            Value::String(text) => text.len() <= MAX_ASKED_BYTES,
            _ => false,
        }
}

/// The attribute by which a payload field can be queried.
pub(super) fn asked(name: &str, value: &Value) -> Option<String> {
    is_asked(name, value).then(|| format!("payload/{name}"))
}

/// The document that remains of a forgotten object.
pub(super) fn tombstone(version: &Version) -> Result<Document> {
    let found_hash = Payload::default().content_hash(None)?;
    let redacted = Redaction { reason: RedactionReason::Forgotten, found_hash };
    let Envelope { id, kind, identity_hash, .. } = &version.envelope;
    Ok(present([
        ("xt/id", json!(id)),
        ("type", json!(kind)),
        ("identity_hash", json!(identity_hash)),
        ("content_hash", json!(version.content_hash)),
        ("payload", "{}".into()),
        ("redacted", json!(redacted)),
        ("forgotten", true.into()),
    ]))
}

/// The document that remains of a forgotten content.
pub(super) fn forgotten_content(hash: &Hash) -> Document {
    own(content_id(hash), "content", [("state", FORGOTTEN.into())])
}

pub(super) fn is_forgotten_content(document: &Document) -> bool {
    document.get("state").is_some_and(|state| state == FORGOTTEN)
}

/// Whether a document is the remains of a forgotten object.
pub(super) fn is_forgotten(document: &Document) -> bool {
    document.get("forgotten") == Some(&Value::Bool(true))
}

pub(super) fn content(hash: &Hash, text: &str) -> Document {
    own(content_id(hash), "content", [("state", KEPT.into()), ("text", text.into())])
}

/// The content in a document; `None` for every other document.
pub(super) fn read_content(document: &Document) -> Option<(Hash, String)> {
    let id = id_of(document).strip_prefix(OWN)?.strip_prefix("content/")?;
    let hash = Some(Hash::from_stored(id)).filter(|hash| hash.to_bytes().is_some())?;
    let text = document.get("text")?.as_str()?;
    Some((hash, text.to_owned()))
}

pub(super) fn item(object: &ObjectId, position: u64, item: &Item) -> Document {
    let fields = [
        ("object", json!(object)),
        ("position", position.into()),
        ("text", item.text.as_str().into()),
        ("running_hash", json!(item.running_hash)),
        ("redacted", json!(item.redacted)),
    ];
    own(item_id(object, position), "item", fields)
}

pub(super) fn origin(object: &ObjectId, content_hash: &Hash, origin: &Origin) -> Document {
    let fields = [("object", json!(object)), ("content_hash", json!(content_hash))];
    own(origin_id(object, origin), "origin", fields)
}

pub(super) fn nickname(nickname: &Nickname, object: &ObjectId) -> Document {
    let fields = [("nickname", nickname.as_str().into()), ("object", json!(object))];
    own(nickname_id(nickname), "nickname", fields)
}

pub(super) fn writer(store_id: &str, step: u64, nonce: &str) -> Document {
    own(writer_id(store_id), "writer", [("step", step.into()), ("nonce", nonce.into())])
}

pub(super) fn machine(store_id: &str, fields: [(&str, Value); 3]) -> Document {
    own(format!("{MACHINE}/{store_id}"), "machine", fields)
}

pub(super) fn store(store_id: &str) -> Document {
    own(STORE.to_owned(), "store", [("store_id", store_id.into()), ("format", FORMAT.into())])
}

fn own<'n>(id: String, kind: &str, fields: impl IntoIterator<Item = (&'n str, Value)>) -> Document {
    let head = [("xt/id", id.into()), ("type", format!("{OWN}{kind}").into())];
    present(head.into_iter().chain(fields))
}

/// Whether a document is one of our objects, by its attributes: other people's documents in the
/// database are not.
pub(super) fn is_object(document: &Document) -> bool {
    document.get("identity_hash").is_some_and(Value::is_string)
        && document.get("payload").is_some_and(Value::is_string)
        && !id_of(document).starts_with(OWN)
}

pub(super) fn id_of(document: &Document) -> &str {
    document.get("xt/id").and_then(Value::as_str).unwrap_or_default()
}

/// The version in a document. `store_id`: that of the database.
///
/// # Errors
/// `XTDB_DOCUMENT` if it is not one.
pub(super) fn version(document: &Document, tx: Tx, store_id: &str, room: &Room) -> Result<Version> {
    let envelope = read_envelope(document)?;
    let own = || Origin { store_id: store_id.to_owned(), tx_id: TxId(tx.id), time: tx.time };
    let payload = document
        .get("payload")
        .and_then(Value::as_str)
        .ok_or_else(|| broken(document, "has no `payload`".to_owned()))?;
    let fields = room.object(payload).map_err(|error| wrong(document, "payload", error))?;
    let items_hash: Option<Hash> = optional(document, "items_hash")?;
    Ok(Version {
        tx_id: TxId(tx.id),
        system_time: tx.time,
        origin: optional(document, "origin")?.unwrap_or_else(own),
        source_hash: optional(document, "source_hash")?,
        content_hash: field(document, "content_hash")?,
        fields,
        content: content_of(document)?,
        item_count: item_count(document)?,
        items_hash,
        additional: additional(document, room)?,
        redacted: optional(document, "redacted")?,
        envelope,
    })
}

/// The properties of the latest version that the rules of a commit need.
pub(super) fn latest(document: &Document, tx_id: TxId) -> Result<rules::Latest> {
    Ok(rules::Latest {
        tx_id,
        identity_hash: field(document, "identity_hash")?,
        content_hash: field(document, "content_hash")?,
        source_hash: optional(document, "source_hash")?,
        item_count: item_count(document)?,
        forgotten: optional(document, "forgotten")?.unwrap_or(false),
    })
}

/// A writer's step after the one in a document.
pub(super) fn next_step(writer: &Document) -> Result<u64> {
    let next = field::<u64>(writer, "step")?.checked_add(1);
    next.ok_or_else(|| broken(writer, "has the last `step` that there is".to_owned()))
}

/// The running hash of the items of a document's object.
pub(super) fn items_hash(document: &Document) -> Result<Option<Hash>> {
    optional(document, "items_hash")
}

/// The position and the item in a document.
pub(super) fn read_item(document: &Document) -> Result<(u64, Item)> {
    let item = Item {
        text: field(document, "text")?,
        running_hash: field(document, "running_hash")?,
        redacted: optional(document, "redacted")?,
    };
    Ok((field(document, "position")?, item))
}

fn text_of(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal(error.to_string()))
}

/// An optional field of one of our documents, which anybody may have written.
pub(super) fn optional<T: DeserializeOwned>(document: &Document, name: &str) -> Result<Option<T>> {
    let Some(value) = document.get(name) else { return Ok(None) };
    T::deserialize(value).map(Some).map_err(|error| wrong(document, name, error))
}

/// A field of one of our documents.
pub(super) fn field<T: DeserializeOwned>(document: &Document, name: &str) -> Result<T> {
    optional(document, name)?.ok_or_else(|| broken(document, format!("has no `{name}`")))
}

fn wrong(document: &Document, name: &str, error: impl std::fmt::Display) -> Error {
    broken(document, format!("has a `{name}` that is none: {error}"))
}

fn broken(document: &Document, problem: String) -> Error {
    Error::XtdbDocument { id: id_of(document).to_owned(), problem }
}

/// The error for a document that must be there.
pub(super) fn gone(id: String) -> Error {
    Error::XtdbDocument { id, problem: "is gone".to_owned() }
}

fn item_count(document: &Document) -> Result<u64> {
    match optional(document, "item_count")? {
        Some(count) if count > MAX_ITEMS => {
            Err(broken(document, format!("has an `item_count` above {MAX_ITEMS}")))
        }
        count => Ok(count.unwrap_or(0)),
    }
}

/// The envelope, checked against its hash: somebody else may have written this.
fn read_envelope(document: &Document) -> Result<Envelope> {
    let kind: String = field(document, "type")?;
    let Some(kind) = ObjectType::parse(&kind) else {
        return Err(broken(document, format!("has the type `{kind}`, which is not an object's")));
    };
    let source: Option<Source> = optional(document, "source")?;
    let id = ObjectId::new(id_of(document));
    let identity_hash: Hash = field(document, "identity_hash")?;
    let forgotten = optional(document, "forgotten")? == Some(true);
    // One that was forgotten in another store comes redacted, without any text.
    let has = |name: &str| document.contains_key(name);
    let is_bare = has("redacted") && !has("content") && !has("additional");
    let nameless = is_bare && id.as_str() == identity_hash.as_str();
    let envelope = match source {
        Some(source) => Envelope::sourced(kind, source)?,
        // A forgotten object has lost its source, which its hash covers.
        None if forgotten || nameless => {
            Envelope { id: id.clone(), kind, source: None, identity_hash: identity_hash.clone() }
        }
        None => Envelope::unsourced(id.clone(), kind)?,
    };
    if envelope.id != id || envelope.identity_hash != identity_hash {
        return Err(broken(document, "has another ID than its type and source give".to_owned()));
    }
    Ok(envelope)
}

fn content_of(document: &Document) -> Result<Option<Hash>> {
    optional::<String>(document, "content")?.map(|id| hash(document, "content", &id)).transpose()
}

fn additional(document: &Document, room: &Room) -> Result<BTreeMap<String, Hash>> {
    let Some(text) = document.get("additional").and_then(Value::as_str) else {
        return Ok(BTreeMap::new());
    };
    let contents = room.object(text).map_err(|error| wrong(document, "additional", error))?;
    let hash = |id: Value| hash(document, "additional", id.as_str().unwrap_or_default());
    contents.into_iter().map(|(name, id)| Ok((name, hash(id)?))).collect()
}

fn hash(document: &Document, name: &str, id: &str) -> Result<Hash> {
    let prefix = content_id(&Hash::from_stored(""));
    let hash = id.strip_prefix(&prefix).map(Hash::from_stored);
    hash.filter(|hash| hash.to_bytes().is_some())
        .ok_or_else(|| wrong(document, name, format!("`{id}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_nobody_can_have_counted_to_are_refused() {
        let step = next_step(&writer("s", u64::MAX, "n")).unwrap_err();
        assert_eq!(step.code(), "XTDB_DOCUMENT");
        assert_eq!(next_step(&writer("s", 6, "n")).unwrap(), 7);
        let counted = |count: u64| {
            let hash = "0".repeat(64);
            let document =
                json!({ "identity_hash": hash, "content_hash": hash, "item_count": count });
            latest(document.as_object().unwrap(), TxId(i64::MAX))
        };
        assert_eq!(counted(MAX_ITEMS).unwrap().item_count, MAX_ITEMS);
        for count in [MAX_ITEMS + 1, u64::MAX] {
            assert_eq!(counted(count).unwrap_err().code(), "XTDB_DOCUMENT");
        }
    }

    #[test]
    fn a_payload_of_many_small_values_is_read_within_a_bound() {
        let payload = format!("{{\"a\":[{}0]}}", "{\"a\":1},".repeat(10_000));
        let object = Envelope::unsourced(ObjectId::new("t"), ObjectType::Toolcall).unwrap();
        let hash = "0".repeat(64);
        let document = json!({
            "xt/id": "t",
            "type": "toolcall",
            "identity_hash": object.identity_hash,
            "content_hash": hash,
            "payload": payload,
        });
        let tx = Tx { id: 1, time: base::object::Timestamp(0) };
        let read = |room: &Room| version(document.as_object().unwrap(), tx, "s", room);
        assert_eq!(read(&Room::of(100_000)).unwrap_err().code(), "XTDB_DOCUMENT");
        assert_eq!(read(&Room::for_answers()).unwrap().fields.len(), 1);
    }
}
