//! The model of metadata queries: reads every version and looks at it, by the words of `store::query`'s documentation. What
//! the SQL of a backend is held to. Knows no Markdown, so tags and front matter are those of the payload.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use base::object::{FieldPath, FieldStep, TxId};
use serde_json::{Map, Value, json};
use store::{Backend, Comparison, Condition, Literal, Query, Test, Version};

/// Names that do not lead into the payload.
const NAMES: [&str; 16] = [
    "id",
    "type",
    "source",
    "identity_hash",
    "tx_id",
    "system_time",
    "origin",
    "content_hash",
    "source_hash",
    "has_content",
    "item_count",
    "redacted",
    "forgotten",
    "nickname",
    "additional",
    "fields",
];

/// The answer to a query.
pub(crate) fn answer(backend: &dyn Backend, query: &Query) -> Vec<Version> {
    let ids = backend.find_prefix("", usize::MAX).unwrap();
    let visible = ids.iter().filter_map(|id| backend.get(id, query.at).unwrap());
    let mut found: Vec<Candidate> = visible
        .map(|version| Candidate::new(backend, version))
        .filter(|candidate| query.condition.as_ref().is_none_or(|one| candidate.fulfils(one)))
        .collect();
    found.sort_by(|one, other| {
        let mut orders = query.order.iter().map(|order| {
            let first = |candidate: &Candidate| candidate.values(&order.field).into_iter().next();
            match (first(one), first(other)) {
                (Some(one), Some(other)) if order.descending => compare(&other, &one),
                (Some(one), Some(other)) => compare(&one, &other),
                // Objects without the field come last, in both directions.
                (one, other) => one.is_none().cmp(&other.is_none()),
            }
        });
        let ids = || one.version.envelope.id.cmp(&other.version.envelope.id);
        orders.find(|order| order.is_ne()).unwrap_or_else(ids)
    });
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let rest = found.into_iter().skip(count(query.offset));
    rest.take(query.limit.map_or(usize::MAX, count)).map(|candidate| candidate.version).collect()
}

/// Whether a version of any object, the latest or not, has a value at a path.
pub(crate) fn has_field(backend: &dyn Backend, path: &FieldPath) -> bool {
    let versions = backend.changes(TxId(0), usize::MAX).unwrap();
    versions.into_iter().any(|version| !Candidate::new(backend, version).values(path).is_empty())
}

/// The payload fields that there are, with the members of those that are objects.
pub(crate) fn field_paths(backend: &dyn Backend) -> Vec<FieldPath> {
    let mut paths = BTreeSet::new();
    for version in backend.changes(TxId(0), usize::MAX).unwrap() {
        for (key, value) in &version.fields {
            let members = value.as_object().into_iter().flat_map(Map::keys);
            paths.extend(members.map(|member| FieldPath::key(key).member(member)));
            paths.insert(FieldPath::key(key));
        }
    }
    paths.into_iter().collect()
}

/// A version and its names, as one JSON object.
struct Candidate {
    version: Version,
    document: Map<String, Value>,
}

impl Candidate {
    fn new(backend: &dyn Backend, version: Version) -> Self {
        let envelope = &version.envelope;
        let mut document = json!({
            "id": envelope.id,
            "type": envelope.kind,
            "identity_hash": envelope.identity_hash,
            "tx_id": version.tx_id,
            "system_time": version.system_time,
            "origin": version.origin,
            "content_hash": version.content_hash,
            "has_content": version.content.is_some(),
            "item_count": version.item_count,
            "forgotten": false,
            "nickname": backend.nicknames(&envelope.id).unwrap(),
            "additional": version.additional,
            "fields": version.fields,
        });
        let optional = [
            ("source", json!(envelope.source)),
            ("source_hash", json!(version.source_hash)),
            ("redacted", json!(version.redacted)),
        ];
        for (name, value) in optional.into_iter().filter(|(_, value)| !value.is_null()) {
            document[name] = value;
        }
        let Value::Object(document) = document else { unreachable!("it was written as one") };
        Self { version, document }
    }

    fn values(&self, path: &FieldPath) -> Vec<Value> {
        let FieldStep::Key(first) = &path.steps()[0] else { panic!("a path begins with a key") };
        let found = match first.as_str() {
            "path" => FieldPath::key("source").member("path").values(&self.document),
            "nickname" => return self.document["nickname"].as_array().unwrap().clone(),
            name if NAMES.contains(&name) => path.values(&self.document),
            _ => path.values(&self.version.fields),
        };
        found.into_iter().cloned().collect()
    }

    fn fulfils(&self, condition: &Condition) -> bool {
        match condition {
            Condition::All(all) => all.iter().all(|condition| self.fulfils(condition)),
            Condition::Any(any) => any.iter().any(|condition| self.fulfils(condition)),
            Condition::Not(inner) => !self.fulfils(inner),
            Condition::Test(path, test) => self.values(path).iter().any(|value| test.fits(value)),
        }
    }
}

/// The order of values: null, booleans, numbers, texts, then lists and objects, all equal.
fn compare(one: &Value, other: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) | Value::Object(_) => 4,
    };
    let literal = match other {
        Value::Number(number) => Literal::Number(number.clone()),
        Value::String(text) => Literal::Text(text.clone()),
        Value::Bool(value) => return rank(one).cmp(&1).then(one.as_bool().cmp(&Some(*value))),
        _ => return rank(one).cmp(&rank(other)),
    };
    let is = |comparison| Test::Compare(comparison, literal.clone()).fits(one);
    rank(one).cmp(&rank(other)).then_with(|| {
        match (is(Comparison::Less), is(Comparison::Greater)) {
            (true, _) => Ordering::Less,
            (_, true) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    })
}
