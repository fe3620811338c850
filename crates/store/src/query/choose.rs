//! Evaluates a query over versions already read, for backends whose server cannot evaluate it.
//! Reads nothing itself.

use serde_json::{Value, json};

use super::{Condition, Query, QueryField, QueryRoot, key_of};
use crate::Version;
use base::error::Result;
use base::object::{FieldPath, Nickname, values_at};

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
    pub fn choose(&self, candidates: Vec<QueryCandidate>) -> Result<Vec<Version>> {
        let mut chosen = Vec::new();
        for candidate in candidates {
            if match &self.condition {
                Some(condition) => candidate.fulfils(condition)?,
                None => true,
            } {
                chosen.push((self.keys(&candidate)?, candidate.version));
            }
        }
        chosen.sort_by(|(one, first), (other, second)| {
            let mut orders = self.order.iter().zip(one.iter().zip(other)).map(|(order, pair)| {
                match pair {
                    (Some(one), Some(other)) if order.descending => other.cmp(one),
                    (Some(one), Some(other)) => one.cmp(other),
                    // Without the field it comes last, in both directions.
                    (one, other) => one.is_none().cmp(&other.is_none()),
                }
            });
            let by_id = || first.envelope.id.cmp(&second.envelope.id);
            orders.find(|order| order.is_ne()).unwrap_or_else(by_id)
        });
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let rest = chosen.into_iter().skip(count(self.offset));
        let rest = rest.take(self.limit.map_or(usize::MAX, count));
        Ok(rest.map(|(_, version)| version).collect())
    }

    /// A candidate's sort keys.
    fn keys(&self, candidate: &QueryCandidate) -> Result<Vec<Option<Vec<u8>>>> {
        let key = |field: &FieldPath| Ok(candidate.values(field)?.first().map(key_of));
        self.order.iter().map(|order| key(&order.field)).collect()
    }
}

impl QueryCandidate {
    fn fulfils(&self, condition: &Condition) -> Result<bool> {
        Ok(match condition {
            Condition::All(all) => {
                for one in all {
                    if !self.fulfils(one)? {
                        return Ok(false);
                    }
                }
                true
            }
            Condition::Any(any) => {
                for one in any {
                    if self.fulfils(one)? {
                        return Ok(true);
                    }
                }
                false
            }
            Condition::Not(inner) => !self.fulfils(inner)?,
            Condition::Test(path, test) => self.values(path)?.iter().any(|value| test.fits(value)),
        })
    }

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
