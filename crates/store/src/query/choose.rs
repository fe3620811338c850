//! Evaluates a query over versions already read, for backends whose server cannot evaluate it.
//! Reads nothing itself.

use serde_json::{Value, json};

use super::{Condition, Query, QueryField, key_of};
use crate::Version;
use base::error::Result;
use base::object::{FieldPath, FieldStep, Nickname, values_at};

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
        let Version { envelope, origin, .. } = &self.version;
        let version = &self.version;
        let within = |value: &Value, steps: &[FieldStep]| -> Vec<Value> {
            values_at(value, steps).into_iter().cloned().collect()
        };
        let optional = |value: Value, steps: &[FieldStep]| match value {
            Value::Null => Vec::new(),
            value => within(&value, steps),
        };
        Ok(match QueryField::of(path)? {
            QueryField::Id => vec![json!(envelope.id)],
            QueryField::Kind => vec![json!(envelope.kind)],
            QueryField::Source(steps) => optional(json!(envelope.source), &steps),
            QueryField::IdentityHash => vec![json!(envelope.identity_hash)],
            QueryField::TxId => vec![json!(version.tx_id)],
            QueryField::SystemTime => vec![json!(version.system_time)],
            QueryField::OriginStore => vec![json!(origin.store_id)],
            QueryField::OriginTx => vec![json!(origin.tx_id)],
            QueryField::OriginTime => vec![json!(origin.time)],
            QueryField::ContentHash => vec![json!(version.content_hash)],
            QueryField::SourceHash => optional(json!(version.source_hash), &[]),
            QueryField::HasContent => vec![json!(version.content.is_some())],
            QueryField::ItemCount => vec![json!(version.item_count)],
            QueryField::Redacted(steps) => optional(json!(version.redacted), &steps),
            QueryField::Forgotten => vec![json!(self.is_forgotten)],
            QueryField::Nickname => {
                self.nicknames.iter().map(|name| json!(name.as_str())).collect()
            }
            QueryField::Additional(steps) => within(&json!(version.additional), &steps),
            QueryField::Payload(steps) => within(&json!(version.fields), &steps),
            QueryField::Tags(steps) => self.property("tags", &steps),
            QueryField::FrontMatter(steps) => self.property("front_matter", &steps),
        })
    }

    fn property(&self, name: &str, steps: &[FieldStep]) -> Vec<Value> {
        let value = self.version.fields.get(name);
        value.into_iter().flat_map(|value| values_at(value, steps)).cloned().collect()
    }
}
