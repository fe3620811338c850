//! Queries over a store's metadata.

use napi_derive::napi;

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised};
use super::objects::object_type;
use super::store::Store;
use super::version::{At, all_described, text_of};
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId, TxId, VersionSelector};
use store::Query;

/// How to answer a query.
#[napi(object)]
#[derive(Default)]
pub struct QueryOptions {
    /// A point in the store's history: a transaction (`12`), or a time (RFC 3339, or a date: its first moment in UTC). Default: the
    /// latest versions.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// Only objects of this type.
    #[napi(js_name = "type", ts_type = "ObjectType")]
    pub kind: Option<String>,
    /// Largest number of objects, even if the query has a larger `limit`.
    pub limit: Option<u32>,
    /// The last version of the page before: the next page of a query without `order by` and `offset`.
    pub after: Option<VersionPlace>,
}

/// Where a version stands among all.
#[napi(object, js_name = "VersionPlace")]
pub struct VersionPlace {
    /// Its object.
    pub id: String,
    /// Its transaction.
    pub tx_id: i64,
}

#[napi]
impl Store {
    /// Finds versions by their metadata, one per object, without reading contents:
    /// `tool = bash and args.command contains "cargo test" order by system_time desc limit 20`.
    ///
    /// A test is a field, then `=`, `!=`, `<`, `<=`, `>`, `>=`, `contains`, `starts_with` or `~` (`*`, `?`, `[a-z]`) with a
    /// value, or `in (a, b)`, `exists`, `missing`; `and`, `or`, `not` and parentheses join tests; `order by FIELD [desc]`,
    /// `limit N` and `offset N` follow. Without an order the newest versions come first; ties are by ID. Fields: `id`, `type`, `path`, `source.*`, `tx_id`, `system_time`,
    /// `origin.store_id`, `origin.tx_id`, `origin.time`, `content_hash`, `source_hash`, `identity_hash`, `has_content`,
    /// `item_count`, `redacted.*`, `additional.*`, `forgotten`, `nickname`, `tags` and `front_matter.KEY` of Markdown, and every field of a payload by its path
    /// (`args.command`, `tags[0]`, `tags[*]`; odd keys in `"`). A test of a missing field is false, `!=` too. Types that
    /// differ are unequal and have no order. A time as a value is a date or RFC 3339.
    ///
    /// Rejects with `INVALID_ARGUMENT`, naming the column, and with `UNKNOWN_FIELD` for a field that no object has.
    #[napi(
        ts_args_type = "query: string, options?: QueryOptions",
        ts_return_type = "Promise<Version[]>"
    )]
    pub fn query(&self, query: Given<String>, options: Maybe<QueryOptions>) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let options = options.or_default("options")?;
            let query = Query::parse(&query.named("query")?)?;
            let kind = options.kind.as_deref().map(object_type).transpose()?;
            let query = query.within(kind, options.limit.map(u64::from));
            let after = options.after.map(|last| (TxId(last.tx_id), ObjectId::new(last.id)));
            let query = query.newest_first(after.as_ref().map(|(tx_id, id)| (*tx_id, id)))?;
            let query = Query { at: as_of(options.at)?, ..query };
            all_described(store, &store.query(&query)?)
        })
    }
}

/// A point in the store's history. A step back is not one, since it counts the versions of one
/// object.
pub(super) fn as_of(at: Option<At>) -> Result<AsOf> {
    let Some(text) = at.map(text_of) else { return Ok(AsOf::Latest) };
    match VersionSelector::parse("at", &text) {
        Ok(VersionSelector::Latest) => Ok(AsOf::Latest),
        Ok(VersionSelector::Tx(tx_id)) => Ok(AsOf::Tx(tx_id)),
        Ok(VersionSelector::Time(time)) => Ok(AsOf::Time(time)),
        Ok(VersionSelector::Back(_)) | Err(_) => {
            let forms = "a transaction such as `12`, or a time such as `2026-03-01T12:30:00Z`";
            Err(Error::argument("at", format!("is `{text}`; it must be {forms}")))
        }
    }
}
