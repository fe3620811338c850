//! A relation of an object in the shape that JavaScript sees.

use serde_json::{Value, json};

use super::blocking::present;
use graph::{ContentPart, Resolved};
use store::{Relation, Written};

pub(super) fn object_links(resolved: &[Resolved]) -> Vec<Value> {
    resolved.iter().map(object_link).collect()
}

fn object_link(resolved: &Resolved) -> Value {
    let Resolved { from, version, since, relation, target } = resolved;
    let (embed, alias, pin) = match &relation.written {
        Written::Link { embed, alias, .. } => (*embed, alias.as_ref(), None),
        Written::Object { pin, .. } => (false, None, pin.as_ref()),
        Written::Call { .. } | Written::Name { .. } | Written::Properties(_) => (false, None, None),
    };
    present(json!({
        "from": from,
        "version": version,
        "since": since,
        "kind": relation.kind,
        "written": written(relation),
        "part": ContentPart::of(&relation.written).map(|part| part.to_string()),
        "embed": embed,
        "alias": alias,
        "contentHash": pin.map(|pin| &pin.content_hash),
        "place": place(relation),
        "target": present(json!({
            "state": target.state,
            "id": target.id,
            "txId": target.tx_id,
            "path": target.path,
            "candidates": target.candidates,
        })),
    }))
}

pub(super) fn place(relation: &Relation) -> Value {
    let place = &relation.place;
    present(json!({ "field": place.field, "path": place.path, "line": place.line }))
}

pub(super) fn written(relation: &Relation) -> String {
    match &relation.written {
        Written::Object { id, .. } => id.to_string(),
        Written::Call { id, .. } => id.clone(),
        Written::Link { target, .. } => target.clone(),
        Written::Name { name } => name.clone(),
        Written::Properties(_) => String::new(),
    }
}
