//! What each crate may depend on, by the manifests: Cargo holds that no two use each other, this holds the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The crates that decide, and what they stand on.
const PURE: [&str; 4] = ["base", "config", "context", "session"];

/// What reaches beyond the process, and who may name it.
const REACHING: [(&str, &[&str]); 10] = [
    ("cap-std", &["files", "memory"]),
    ("hostname", &["xtdb"]),
    ("hyper", &["xtdb"]),
    ("napi", &["palimpsest"]),
    ("notify", &["source"]),
    ("reqwest", &["xtdb"]),
    ("rusqlite", &["replay", "store"]),
    ("rustix", &["files", "store"]),
    ("tempfile", &["files", "replay", "source", "store"]),
    ("tokio", &["xtdb"]),
];

/// The crates, and what each names in `[dependencies]`.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let members = std::fs::read_dir(root.join("crates")).unwrap();
    let members = members.map(|entry| entry.unwrap().path()).filter(|member| member.is_dir());
    members.chain([root.to_owned()]).map(|folder| manifest(&folder.join("Cargo.toml"))).collect()
}

fn manifest(path: &Path) -> (String, BTreeSet<String>) {
    let text = std::fs::read_to_string(path).unwrap();
    let package = text.split("[package]\n").nth(1).unwrap();
    let name = package.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
    let sections = text.split("\n[").filter_map(|section| section.split_once("]\n"));
    let named = sections.filter(|(head, _)| {
        *head == "dependencies" || (head.starts_with("target") && head.ends_with(".dependencies"))
    });
    let used = named.flat_map(|(_, body)| body.lines().filter_map(|line| line.split_once('.')));
    (name.trim_matches('"').to_owned(), used.map(|(used, _)| used.to_owned()).collect())
}

#[test]
fn crates_that_decide_reach_nothing() {
    let crates = crates();
    for name in PURE {
        let ours = crates[name].iter().filter(|used| crates.contains_key(*used));
        let impure: Vec<_> =
            ours.filter(|used| !PURE.contains(&used.as_str()) && *used != "o200k").collect();
        assert!(impure.is_empty(), "{name} uses {impure:?}");
    }
}

#[test]
fn what_reaches_beyond_the_process_is_named_where_it_belongs() {
    for (name, used) in crates().into_iter().filter(|(name, _)| name != "testing") {
        for (reaching, allowed) in REACHING {
            assert!(!used.contains(reaching) || allowed.contains(&&*name), "{name}: {reaching}");
        }
    }
}

#[test]
fn the_map_has_each_crate_with_the_crates_that_it_uses() {
    let map = include_str!("../../ARCHITECTURE.md");
    let crates = crates();
    for (name, used) in crates.iter().filter(|(name, _)| *name != "palimpsest") {
        let row = map.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for `{name}`"));
        let listed =
            row.split('|').nth(3).unwrap().split(',').map(|one| one.trim().trim_matches('`'));
        let listed: BTreeSet<&str> = listed.filter(|one| !one.is_empty()).collect();
        let ours = used.iter().map(String::as_str).filter(|one| crates.contains_key(*one));
        assert_eq!(listed, ours.collect(), "{name}");
    }
}

/// The public types below a folder, each with its file.
fn public_types(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            public_types(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let kinds = ["pub struct ", "pub enum ", "pub trait "];
            let named = |line: &str| {
                kinds.iter().find_map(|kind| Some(line.strip_prefix(kind)?.to_owned()))
            };
            for rest in text.lines().filter_map(named) {
                let name = rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap();
                found.push((name.to_owned(), path.display().to_string()));
            }
        }
    }
}

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut found = Vec::new();
    for name in crates().keys().filter(|name| !["palimpsest", "testing"].contains(&name.as_str())) {
        public_types(&root.join(name).join("src"), &mut found);
    }
    assert!(found.len() > 300, "{}", found.len());
    found.sort();
    let twice: Vec<_> = found.windows(2).filter(|pair| pair[0].0 == pair[1].0).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}
