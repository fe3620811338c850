//! Objects of a store: writing versions; reading metadata, contents, items, history and
//! differences.

use std::collections::HashMap;

use napi::Either;
use napi::bindgen_prelude::Null;
use napi_derive::napi;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::argument::{Given, Json, Maybe};
use super::blocking::{Answer, OnWorker, Promised};
use super::names::{NameOptions, ReadOptions};
use super::store::Store;
use super::version::{At, all_described, described, selector};
use base::error::{Error, Result};
use base::object::{AsOf, Hash, ObjectId, ObjectType, Reference, line_count};
use session::{LineRange, Picked};
use store::{DEFAULT_DIFF_CONTEXT, NewVersion};

/// What says which version is meant: a reference, or what an item of a chat has for a content.
#[derive(Deserialize)]
#[serde(untagged)]
enum Resolvable {
    Item { object: ObjectId, version: Hash },
    Reference(Reference),
}

/// A version to write.
#[napi(object, object_to_js = false)]
pub struct PutOptions {
    /// Type of the object.
    #[napi(js_name = "type", ts_type = "ObjectType")]
    pub kind: String,
    /// What the object tracks. Its ID is a hash of type and source.
    #[napi(ts_type = "Source")]
    pub source: Option<Json>,
    /// ID, for an object without a source. Default for a `toolcall`: a new UUIDv7.
    pub id: Option<String>,
    /// The content, or null for none.
    pub content: Option<Either<String, Null>>,
    /// SHA-256 of the source's bytes. Default for an object with source and content: the SHA-256 of the content.
    pub source_hash: Option<String>,
    /// Fields. Any names are allowed.
    #[napi(ts_type = "Record<string, unknown>")]
    pub fields: Option<Json>,
    /// Additional contents, by name (`short_summary`, ...).
    pub additional: Option<HashMap<String, String>>,
    /// Transaction that must have written the object's latest version; 0 if there must be none yet. Default: any.
    pub expected: Option<i64>,
}

/// Which content to read.
#[napi(object)]
#[derive(Default)]
pub struct ContentOptions {
    /// As in `ReadOptions`.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
    /// Name of an additional content. Default: the content.
    pub field: Option<String>,
    /// Lines, counted from 1: `40-80`, `7`, `1-3,9`. They keep their line endings. Default: all.
    pub lines: Option<String>,
}

/// Which items to read.
#[napi(object)]
#[derive(Default)]
pub struct ItemsOptions {
    /// As in `ReadOptions`.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
    /// Position of the first item, from 0. Default: 0.
    pub from: Option<i64>,
    /// Position after the last item. Default: the end.
    pub to: Option<i64>,
    /// Only these of them, counted from 1 as lines are: `40-80`, `7`, `1-3,9`. Default: those of the name, else all.
    pub lines: Option<String>,
}

/// Which versions to compare.
#[napi(object)]
#[derive(Default)]
pub struct DiffOptions {
    /// Name of another object, to compare with: its version is the later one. Default: the object itself.
    pub other: Option<String>,
    /// The earlier one, as `at` in `ReadOptions`. Default: the version before `to`.
    #[napi(ts_type = "number | string")]
    pub from: Option<At>,
    /// The later one. Default: the latest.
    #[napi(ts_type = "number | string")]
    pub to: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
    /// Unchanged lines around each change. Default: 3.
    pub context: Option<u32>,
}

/// Which objects to list.
#[napi(object)]
#[derive(Default)]
pub struct ListOptions {
    /// Only objects whose IDs come after this one. Default: all.
    pub after: Option<String>,
    /// Largest number of objects. Default: 1,000.
    pub limit: Option<u32>,
}

#[napi]
impl Store {
    /// Writes a version of an object, unless the latest one has the same fields, contents and source hash. The items of chats and
    /// sessions stay as they are.
    ///
    /// Rejects with `CONFLICT` if `expected` is not the latest version, even if that is equal; with `FORGOTTEN` if the object was
    /// forgotten, `INVALID_ARGUMENT`, and with what the store reports.
    #[napi(ts_args_type = "version: PutOptions", ts_return_type = "Promise<PutResult>")]
    pub fn put(&self, version: Given<PutOptions>) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let (written, version) = store.write(new_version(version.named("version")?)?)?;
            Ok(json!({ "written": written, "version": described(store, &version)? }))
        })
    }

    /// Reads a version without its content.
    ///
    /// `name`: full ID, nickname, path or ID prefix, see `find`. Rejects as `find`, and with `NOT_FOUND` if the object had no
    /// version then.
    #[napi(
        ts_args_type = "name: string, options?: ReadOptions",
        ts_return_type = "Promise<Version>"
    )]
    pub fn get(&self, name: Given<String>, options: Maybe<ReadOptions>) -> Promised<Answer> {
        self.answer(move |store| {
            let options = options.or_default("options")?;
            let version = store.version(&name.named("name")?, options)?;
            described(&store.core, &version)
        })
    }

    /// Reads the content of a version, or an additional content, and checks it against its hash; of a chat segment, the words of its
    /// messages. Null if there is none.
    ///
    /// Rejects as `get`; with `INVALID_ARGUMENT` for lines that the text does not have and for an additional content that the
    /// version does not have; with `HASH_MISMATCH`.
    #[napi(
        ts_args_type = "name: string, options?: ContentOptions",
        ts_return_type = "Promise<string | null>"
    )]
    pub fn content(
        &self,
        name: Given<String>,
        options: Maybe<ContentOptions>,
    ) -> Promised<Option<String>> {
        self.with(move |store| {
            let ContentOptions { at, cwd, field, lines } = options.or_default("options")?;
            let (version, of_name) = store.part(&name.named("name")?, ReadOptions { at, cwd })?;
            let text = live::text_of(&store.core, &version, field.as_deref())?;
            let (Some(text), Some(lines)) = (&text, lines.or(of_name)) else { return Ok(text) };
            let picked = Picked::parse(&lines, text)?;
            if picked.ranges.is_empty() {
                let all = line_count(text);
                let problem =
                    format!("`{lines}` is past the end of the text, which has lines 1-{all}");
                return Err(Error::argument("lines", problem));
            }
            Ok(Some(picked.cut(text)))
        })
    }

    /// Reads the items of a chat (its messages) or a session (its events), each as the JSON that was stored. Other objects have none.
    ///
    /// Rejects as `get`; with `INVALID_ARGUMENT` for lines of which there is no item; with `HASH_MISMATCH`.
    #[napi(
        ts_args_type = "name: string, options?: ItemsOptions",
        ts_return_type = "Promise<string[]>"
    )]
    pub fn items(
        &self,
        name: Given<String>,
        options: Maybe<ItemsOptions>,
    ) -> Promised<Vec<String>> {
        self.with(move |store| {
            let ItemsOptions { at, cwd, from, to, lines } = options.or_default("options")?;
            let position = |name, given: Option<i64>, default| match given.map(u64::try_from) {
                None => Ok(default),
                Some(Ok(position)) => Ok(position),
                Some(Err(_)) => Err(Error::argument(name, "is below 0")),
            };
            let range = position("from", from, 0)?..position("to", to, u64::MAX)?;
            let (version, of_name) = store.part(&name.named("name")?, ReadOptions { at, cwd })?;
            let items =
                |range| store.core.items(&version.envelope.id, AsOf::Tx(version.tx_id), range);
            let Some(lines) = lines.or(of_name) else { return items(range) };
            let picked = Picked::among(&lines, version.item_count, &|_| "")?;
            if picked.ranges.is_empty() {
                let all = version.item_count;
                let problem = format!("`{lines}` is past the end of the items, which are 1-{all}");
                return Err(Error::argument("lines", problem));
            }
            let within =
                |lines: &LineRange| range.start.max(lines.first - 1)..range.end.min(lines.last);
            let ranges = picked.ranges.iter().map(within).filter(|range| !range.is_empty());
            Ok(ranges.map(items).collect::<Result<Vec<_>>>()?.concat())
        })
    }

    /// Lists the versions of an object, newest first. For a file that moved, the versions before the move follow; they belong to another
    /// object, whose ID is in the field `moved_from` of the first version after the move.
    ///
    /// Rejects as `find`.
    #[napi(
        ts_args_type = "name: string, options?: NameOptions",
        ts_return_type = "Promise<Version[]>"
    )]
    pub fn history(&self, name: Given<String>, options: Maybe<NameOptions>) -> Promised<Answer> {
        self.answer(move |store| {
            let options = options.or_default("options")?;
            let found = store.place(options.cwd)?.find(&store.core, &name.named("name")?)?;
            all_described(&store.core, &store.core.lineage(&found.id)?)
        })
    }

    /// Compares two versions of an object, or two objects, by lines.
    ///
    /// Rejects as `get`.
    #[napi(
        ts_args_type = "name: string, options?: DiffOptions",
        ts_return_type = "Promise<Difference>"
    )]
    pub fn diff(&self, name: Given<String>, options: Maybe<DiffOptions>) -> Promised<Answer> {
        self.answer(move |store| {
            let options = options.or_default("options")?;
            let (place, name) = (store.place(options.cwd)?, name.named("name")?);
            let (from, to) = (selector("from", options.from)?, selector("to", options.to)?);
            let (from, to) = match options.other {
                Some(other) => (
                    place.version(&store.core, &name, from)?.0,
                    place.version(&store.core, &other, to)?.0,
                ),
                None => store.core.pair(&place.find(&store.core, &name)?.id, from, to)?,
            };
            let context = options.context.map_or(DEFAULT_DIFF_CONTEXT, |lines| lines as usize);
            let diff = store.core.diff(from, to, context)?;
            Ok(json!({
                "from": described(&store.core, &diff.from)?,
                "to": described(&store.core, &diff.to)?,
                "added": diff.added,
                "removed": diff.removed,
                "unified": diff.unified,
                "fields": diff.fields,
            }))
        })
    }

    /// Reads the version that a reference points to. `{ id }` points to the latest version. With `content_hash` and `origin` it points
    /// to that version, in whatever store it was first written; its payload is checked against the hash. So does what an item of a chat
    /// has in the place of an output.
    ///
    /// Rejects with `NOT_FOUND` if the store does not hold it, and with `HASH_MISMATCH`, naming both hashes.
    #[napi(
        ts_args_type = "reference: Reference | ItemContent",
        ts_return_type = "Promise<Version>"
    )]
    pub fn resolve(&self, reference: Given<Json>) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let given = reference.named("reference")?.0;
            let form = |_| Error::argument("reference", "has not the form of a reference");
            let version = match serde_json::from_value(given).map_err(form)? {
                Resolvable::Item { object, version } => store.resolve_version(&object, &version)?,
                Resolvable::Reference(reference) => store.resolve(&reference)?,
            };
            described(store, &version)
        })
    }

    /// Lists the latest versions of all objects of a type, ordered by ID.
    #[napi(
        ts_args_type = "type: ObjectType, options?: ListOptions",
        ts_return_type = "Promise<Version[]>"
    )]
    pub fn list(&self, kind: Given<String>, options: Maybe<ListOptions>) -> Promised<Answer> {
        /// Default of `limit`.
        const DEFAULT_LIMIT: u32 = 1_000;

        self.answer(move |Self { core: store, .. }| {
            let ListOptions { after, limit } = options.or_default("options")?;
            let limit = limit.unwrap_or(DEFAULT_LIMIT) as usize;
            let after = after.map(ObjectId::new);
            let found = store.list(object_type(&kind.named("type")?)?, after.as_ref(), limit)?;
            all_described(store, &found)
        })
    }
}

/// Reads the name of a type.
pub(super) fn object_type(name: &str) -> Result<ObjectType> {
    let known = ObjectType::ALL.map(|kind| format!("`{}`", kind.as_str())).join(", ");
    ObjectType::parse(name)
        .ok_or_else(|| Error::argument("type", format!("is `{name}`; it must be one of {known}")))
}

fn new_version(options: PutOptions) -> Result<NewVersion> {
    let source = parsed("source", options.source)?;
    let fields: Option<_> = parsed("fields", options.fields)?;
    Ok(NewVersion {
        kind: object_type(&options.kind)?,
        source,
        id: options.id,
        content: match options.content {
            Some(Either::A(text)) => Some(text),
            Some(Either::B(Null)) | None => None,
        },
        source_hash: options.source_hash,
        fields: fields.unwrap_or_default(),
        additional: options.additional.unwrap_or_default().into_iter().collect(),
        expected: options.expected,
    })
}

/// Reads an argument that is an object of a known form.
fn parsed<T: DeserializeOwned>(argument: &str, given: Option<Json>) -> Result<Option<T>> {
    let parsed = given.map(|Json(given)| serde_json::from_value(given)).transpose();
    parsed.map_err(|error| Error::argument(argument, format!("is refused: {error}")))
}
