//! The layers of ARCHITECTURE.md, checked on the source: each may use those before it, never those after it.

use std::path::{Path, PathBuf};

/// From the ground up. `error` belongs to the ground floor: it names IDs. `lib` only lists the modules.
const LAYERS: [&str; 13] = [
    "object", "markdown", "harness", "store", "graph", "source", "settings", "session", "context",
    "live", "tools", "replay", "addon",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

fn layer_of(path: &Path) -> String {
    let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The code of a file without its unit tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_layer_uses_only_those_before_it() {
    let mut wrong = Vec::new();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let layer = layer_of(&path);
        let floor = match layer.as_str() {
            "lib" => continue,
            "error" => LAYERS[0],
            layer => layer,
        };
        let place = LAYERS.iter().position(|name| *name == floor);
        let place = place.unwrap_or_else(|| panic!("`{layer}` is no layer of this test's list"));
        let text = code(&path);
        for later in &LAYERS[place + 1..] {
            if text.contains(&format!("crate::{later}")) {
                wrong.push(format!("{} uses `{later}`", path.display()));
            }
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
fn only_backends_know_sql_and_only_the_addon_knows_node() {
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = code(&path);
        let shown = path.to_string_lossy().replace('\\', "/");
        assert!(
            !text.contains("rusqlite") || shown.contains("/store/sqlite"),
            "{shown} names rusqlite"
        );
        assert!(!text.contains("napi") || shown.contains("/addon"), "{shown} names napi");
    }
}

#[test]
fn decisions_never_look_at_the_clock() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let deciding = ["harness", "session", "context"];
    for path in
        sources(&root).into_iter().filter(|path| deciding.contains(&layer_of(path).as_str()))
    {
        let text = code(&path);
        for clock in ["SystemTime", "Instant", "rand::"] {
            assert!(!text.contains(clock), "{} names {clock}", path.display());
        }
    }
}
