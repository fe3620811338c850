//! Evaluates a query over the versions that may fulfil it. Reads nothing itself.

use serde_json::{Value, json};

use super::fit::order_of;
use super::{Condition, Order, Query, QueryField, QueryRoot};
use crate::Version;
use base::error::{Error, Result};
use base::object::{FieldPath, Nickname, ObjectId, values_at};

/// What a version is ordered by, for each criterion of the order.
type Keys = Vec<Option<Value>>;

/// The versions that fulfil a query, as they are found.
pub(crate) struct Chosen<'q, T> {
    query: &'q Query,
    /// Most that are kept: those to skip, and those within the limit.
    most: usize,
    found: Vec<(Keys, ObjectId, T)>,
}

impl<'q, T> Chosen<'q, T> {
    pub(crate) fn new(query: &'q Query) -> Self {
        let most =
            query.limit.map_or(usize::MAX, |limit| count(limit.saturating_add(query.offset)));
        Self { query, most, found: Vec::new() }
    }

    /// Takes a version if it fulfils the condition. `values`: what it has at a path.
    ///
    /// # Errors
    /// Those of `values`.
    pub(crate) fn consider<E: From<Error>>(
        &mut self,
        id: &ObjectId,
        version: T,
        values: &impl Fn(&FieldPath) -> Result<Vec<Value>, E>,
    ) -> Result<(), E> {
        if let Some(condition) = &self.query.condition
            && !condition.holds(values)?
        {
            return Ok(());
        }
        let key = |order: &Order| Ok(values(&order.field)?.into_iter().next().map(key_of));
        let keys = self.query.order.iter().map(key).collect::<Result<Keys, E>>()?;
        self.found.push((keys, id.clone(), version));
        if self.found.len() / 2 > self.most {
            self.sort();
        }
        Ok(())
    }

    /// Whether there are as many as are wanted: where they come in order, no more are.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= self.most
    }

    /// The versions in order, within offset and limit.
    pub(crate) fn into_list(mut self) -> impl Iterator<Item = T> {
        self.sort();
        self.found.into_iter().skip(count(self.query.offset)).map(|(.., version)| version)
    }

    fn sort(&mut self) {
        let orders = &self.query.order;
        self.found.sort_by(|(one, first, _), (other, second, _)| {
            let mut orders = orders.iter().zip(one.iter().zip(other)).map(|(order, pair)| {
                match pair {
                    (Some(one), Some(other)) if order.descending => order_of(other, one),
                    (Some(one), Some(other)) => order_of(one, other),
                    // Without the field it comes last, in both directions.
                    (one, other) => one.is_none().cmp(&other.is_none()),
                }
            });
            orders.find(|order| order.is_ne()).unwrap_or_else(|| first.cmp(second))
        });
        self.found.truncate(self.most);
    }
}

/// What is kept of a value to order by: lists and objects are all equal, and may be large.
fn key_of(value: Value) -> Value {
    if value.is_array() || value.is_object() { Value::Array(Vec::new()) } else { value }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Condition {
    fn holds<E: From<Error>>(
        &self,
        values: &impl Fn(&FieldPath) -> Result<Vec<Value>, E>,
    ) -> Result<bool, E> {
        // Ends at the first that decides.
        let is_any = |all: &[Self], wanted: bool| {
            for one in all {
                if one.holds(values)? == wanted {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        match self {
            Self::All(all) => is_any(all, false).map(|is_any| !is_any),
            Self::Any(any) => is_any(any, true),
            Self::Not(inner) => inner.holds(values).map(|holds| !holds),
            Self::Test(path, test) => Ok(values(path)?.iter().any(|value| test.fits(value))),
        }
    }
}

/// A version, with the object data that a query may ask for.
#[derive(Debug, Clone)]
pub struct QueryCandidate {
    /// The version.
    pub version: Version,
    /// The object's nicknames, in order.
    pub nicknames: Vec<Nickname>,
    /// Whether a person chose to forget the object.
    pub is_forgotten: bool,
}

impl Query {
    /// The candidates that fulfil the condition, in order, within offset and limit. Derived
    /// properties (`tags`, `front_matter`) count only as payload fields.
    pub fn choose(&self, candidates: &[QueryCandidate]) -> Result<Vec<Version>> {
        let mut chosen = Chosen::new(self);
        for candidate in candidates {
            let version = &candidate.version;
            chosen.consider(&version.envelope.id, version, &|path| candidate.values(path))?;
        }
        Ok(chosen.into_list().cloned().collect())
    }
}

impl QueryCandidate {
    /// Whether a path has a value.
    pub fn has(&self, path: &FieldPath) -> Result<bool> {
        Ok(!self.values(path)?.is_empty())
    }

    fn values(&self, path: &FieldPath) -> Result<Vec<Value>> {
        let version = &self.version;
        let Version { envelope, origin, .. } = version;
        let QueryField { root, steps } = QueryField::of(path)?;
        let value = match root {
            QueryRoot::Id => json!(envelope.id),
            QueryRoot::Kind => json!(envelope.kind),
            QueryRoot::Source => json!(envelope.source),
            QueryRoot::IdentityHash => json!(envelope.identity_hash),
            QueryRoot::TxId => json!(version.tx_id),
            QueryRoot::SystemTime => json!(version.system_time),
            QueryRoot::OriginStore => json!(origin.store_id),
            QueryRoot::OriginTx => json!(origin.tx_id),
            QueryRoot::OriginTime => json!(origin.time),
            QueryRoot::ContentHash => json!(version.content_hash),
            QueryRoot::SourceHash => json!(version.source_hash),
            QueryRoot::HasContent => json!(version.content.is_some()),
            QueryRoot::ItemCount => json!(version.item_count),
            QueryRoot::Redacted => json!(version.redacted),
            QueryRoot::Forgotten => json!(self.is_forgotten),
            QueryRoot::Nickname => {
                return Ok(self.nicknames.iter().map(|name| json!(name.as_str())).collect());
            }
            QueryRoot::Additional => json!(version.additional),
            QueryRoot::Payload => json!(version.fields),
            QueryRoot::Tags | QueryRoot::FrontMatter => {
                return Ok(path.values(&version.fields).into_iter().cloned().collect());
            }
        };
        // What the version does not have, has no parts either.
        let values = if value.is_null() { Vec::new() } else { values_at(&value, &steps) };
        Ok(values.into_iter().cloned().collect())
    }
}
