//! Circles among the files of a layer: A uses B and, perhaps by way of others, B uses A.
//!
//! A module and the modules inside it are one thing in several files: what they exchange is no circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::Sources;

/// The files of `src/`, and which others of its layer each uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Every circle, as `session/bill, session/event`, sorted.
pub(crate) fn circles(sources: &Sources) -> Vec<String> {
    let mut uses = Uses::new();
    for file in sources.files.values() {
        let of_the_layer = |used: &Vec<String>| {
            used.first() == file.module.first()
                && !used.starts_with(&file.module)
                && !file.module.starts_with(used)
        };
        let others = sources.modules_used(file).into_iter().filter(of_the_layer);
        uses.insert(file.module.join("/"), others.map(|other| other.join("/")).collect());
    }
    let mut found = BTreeSet::new();
    for name in uses.keys() {
        let reached = reached(&uses, name);
        if reached.contains(name.as_str()) {
            let back = |other: &&str| self::reached(&uses, other).contains(name.as_str());
            found.insert(reached.iter().copied().filter(back).collect::<Vec<_>>().join(", "));
        }
    }
    found.into_iter().collect()
}

/// What is used from `start` on, however indirectly.
fn reached<'a>(uses: &'a Uses, start: &str) -> BTreeSet<&'a str> {
    let next = |name: &str| uses.get(name).into_iter().flatten().map(String::as_str);
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = next(start).collect();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(next(name));
        }
    }
    found
}
