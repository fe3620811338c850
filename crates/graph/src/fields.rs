//! The values at paths of a version's payload, including contents and items. Must not follow
//! relations.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Graph;
use base::error::Result;
use base::object::{AsOf, FieldPath, FieldStep, ObjectType};
use store::{Store, Version};

/// The values at paths of a version's payload; of a chat also its `turns` and `toolcall_refs`.
pub(super) fn at_paths(
    graph: &Graph<'_>,
    version: &Version,
    paths: &[FieldPath],
) -> Result<Vec<(String, Value)>> {
    let store = graph.store;
    let is_chat = version.envelope.kind == ObjectType::Chat;
    let mut texts: HashMap<&str, Value> = HashMap::new();
    let mut found = Vec::new();
    for path in paths {
        let Some(FieldStep::Key(first)) = path.steps().first() else { continue };
        if !version.fields.contains_key(first) && !texts.contains_key(first.as_str()) {
            let value = match first.as_str() {
                "content" => store.content(version)?.map(Value::from),
                "turns" if is_chat => Some(graph.turns(version)?),
                "toolcall_refs" if is_chat => Some(graph.toolcall_refs(version)?),
                "items" if version.items_hash.is_some() => Some(items(store, version)?),
                "additional" => {
                    let read =
                        |name: &String| Ok((name.clone(), store.additional(version, name)?.into()));
                    let all = version.additional.keys().map(read);
                    Some(Value::Object(all.collect::<Result<Map<_, _>>>()?))
                }
                _ => None,
            };
            texts.extend(value.map(|value| (first.as_str(), value)));
        }
        let derived;
        let fields = match texts.get(first.as_str()) {
            Some(value) => {
                derived = Map::from_iter([(first.clone(), value.clone())]);
                &derived
            }
            None => &version.fields,
        };
        let values = path.values(fields);
        let value = match values.as_slice() {
            [] => continue,
            values if path.is_plural() => values.iter().copied().cloned().collect(),
            [value, ..] => (*value).clone(),
        };
        found.push((path.to_string(), value));
    }
    Ok(found)
}

/// The items of a document as JSON; an item that is not JSON becomes a string.
fn items(store: &Store, version: &Version) -> Result<Value> {
    let (id, at) = (&version.envelope.id, AsOf::Tx(version.tx_id));
    let items = store.items(id, at, 0..u64::MAX)?.into_iter();
    Ok(items.map(|item| serde_json::from_str(&item).unwrap_or(Value::String(item))).collect())
}

/// Number of characters of all texts in a value.
pub(super) fn characters(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.chars().count() as u64,
        Value::Array(elements) => elements.iter().map(characters).sum(),
        Value::Object(members) => members.values().map(characters).sum(),
        _ => 0,
    }
}
