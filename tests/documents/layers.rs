//! The rules of ARCHITECTURE.md for the source: which layers a layer may use, what the deciding ones must not know, how large
//! things get.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::circles::circles;
use crate::sources::{File, Sources, Used};

/// From the ground up. `error` belongs to the ground floor: it names IDs. `lib` only lists the modules.
const LAYERS: [&str; 14] = [
    "object", "markdown", "harness", "store", "graph", "source", "settings", "session", "context",
    "live", "tools", "memory", "replay", "addon",
];

static SOURCES: LazyLock<Sources> = LazyLock::new(Sources::read);

/// The layers that decide: by state, event and settings alone.
const DECIDING: [&str; 2] = ["session", "context"];

#[test]
fn each_layer_uses_only_those_before_it() {
    let mut wrong = Vec::new();
    for file in SOURCES.files.values() {
        let floor = match file.module.first().map(String::as_str) {
            None => continue,
            Some("error") => LAYERS[0],
            Some(layer) => layer,
        };
        let place = LAYERS.iter().position(|name| *name == floor);
        let place = place.unwrap_or_else(|| panic!("`{floor}` is no layer of this test's list"));
        let used: BTreeSet<&str> =
            ours(file).filter_map(|path| Some(path.first()?.as_str())).collect();
        for later in LAYERS[place + 1..].iter().filter(|later| used.contains(*later)) {
            wrong.push(format!("{} uses `{later}`", file.path.display()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_map_lists_the_layers_in_this_order() {
    let map = include_str!("../../ARCHITECTURE.md");
    let entries = map.lines().filter_map(|line| line.split_once(". `src/"));
    let numbered = entries.filter(|(number, _)| number.parse::<u32>().is_ok());
    let listed: Vec<&str> =
        numbered.filter_map(|(_, rest)| rest.split_once("`: ")).map(|(layer, _)| layer).collect();
    assert_eq!(listed, LAYERS);
}

#[test]
fn only_the_sqlite_backend_and_readers_of_sessions_name_sqlite_and_only_the_addon_names_napi() {
    const READERS: [&[&str]; 4] = [
        &["replay", "transcript", "database"],
        &["replay", "transcript", "foreign"],
        &["replay", "transcript", "openclaw", "database"],
        &["replay", "transcript", "opencode", "database"],
    ];
    for file in SOURCES.files.values() {
        let shown = file.path.display();
        let is_in =
            |room: &[&str]| file.module.len() >= room.len() && file.module[..room.len()] == *room;
        let may_name_sqlite =
            is_in(&["store", "sqlite"]) || READERS.iter().any(|reader| is_in(reader));
        assert!(!file.names.contains("rusqlite") || may_name_sqlite, "{shown}");
        assert!(!file.names.contains("napi") || is_in(&["addon"]), "{shown}");
    }
}

#[test]
fn only_the_client_of_xtdb_opens_connections() {
    let names = [
        "TcpListener",
        "TcpStream",
        "UdpSocket",
        "UnixStream",
        "hyper",
        "reqwest",
        "rustls",
        "tokio",
    ];
    for file in SOURCES.files.values() {
        let is_client = file.module.starts_with(&["store", "xtdb", "client"].map(str::to_owned));
        let found: Vec<_> = names.iter().filter(|name| file.names.contains(**name)).collect();
        assert!(is_client || found.is_empty(), "{} has {found:?}", file.path.display());
    }
}

#[test]
fn layers_that_decide_read_no_clock_and_make_no_ids() {
    let names = [
        "Instant",
        "RandomState",
        "SystemTime",
        "UNIX_EPOCH",
        "Uuid",
        "fastrand",
        "getrandom",
        "rand",
        "uuid",
    ];
    let calls = ["elapsed", "new_v4", "new_v7", "now", "now_v1", "now_v6", "now_v7", "random"];
    let mut wrong = Vec::new();
    for (layer, file) in deciding(&SOURCES) {
        let found = names.iter().filter(|name| file.names.contains(**name));
        let called = calls.iter().filter(|name| file.calls.contains(**name));
        wrong.extend(
            found.chain(called).map(|name| format!("`{layer}` has `{name}`: {:?}", file.path)),
        );
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn layers_that_decide_know_no_store_and_no_disk() {
    let outside = ["env", "fs", "io", "net", "os", "process", "thread"];
    let mut wrong = Vec::new();
    for (layer, file) in deciding(&SOURCES) {
        for used in &file.used {
            let is_wrong = match used {
                // How a file stood on disk, as data: a session remembers it.
                Used::Ours(path) if *path == ["source", "FileStamp"] => layer != "session",
                Used::Ours(path) => path
                    .first()
                    .is_some_and(|name| ["store", "graph", "source"].contains(&name.as_str())),
                Used::Foreign(path) => {
                    path[0] == "std"
                        && path.get(1).is_some_and(|name| outside.contains(&name.as_str()))
                }
            };
            if is_wrong {
                wrong.push(format!("{} uses {used:?}", file.path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn files_of_a_layer_do_not_use_each_other_in_circles() {
    assert_eq!(circles(&SOURCES), Vec::<String>::new());
}

#[test]
fn files_and_structs_of_the_layer_with_effects_stay_small() {
    let mut large = Vec::new();
    for file in SOURCES.within("live") {
        large.push((file.module.join("/"), file.lines, 400));
        large.extend(file.structs.iter().map(|(name, fields)| (name.clone(), *fields, 12)));
    }
    large.retain(|(_, size, limit)| size > limit);
    assert_eq!(large, Vec::new(), "name, lines or fields, limit");
}

fn ours(file: &File) -> impl Iterator<Item = &Vec<String>> {
    file.used.iter().filter_map(|used| match used {
        Used::Ours(path) => Some(path),
        Used::Foreign(_) => None,
    })
}

fn deciding(sources: &Sources) -> impl Iterator<Item = (&'static str, &File)> {
    DECIDING.iter().flat_map(|layer| sources.within(layer).map(|file| (*layer, file)))
}
