//! Real vaults in a store: links and backlinks compared with what the reader alone finds in the
//! same texts.

#![expect(clippy::disallowed_methods, reason = "the time that it takes is a figure for people")]
#![expect(clippy::print_stderr, reason = "figures for people, and a skipped test says so")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use base::markdown::{Resolution, VaultIndex, parse};
use base::object::{AsOf, ObjectId};
use flate2::read::GzDecoder;
use graph::{Graph, TargetState};
use source::{Location, Namespace};
use store::{Expected, RelationKind, Store};

const FILESYSTEM: &str = "here";

/// Unpacks an archive into a folder and returns the paths of its files from the vault's root.
fn unpack(archive: &Path, folder: &Path) -> Vec<String> {
    let mut tar = tar::Archive::new(GzDecoder::new(std::fs::File::open(archive).unwrap()));
    let mut paths = Vec::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().unwrap().to_str().unwrap().split_once('/').unwrap().1.to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let place = folder.join(&path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, bytes).unwrap();
        paths.push(path);
    }
    paths
}

/// Stores the files and returns the objects' IDs by path.
fn index(store: &Store, folder: &Path, paths: &[String]) -> BTreeMap<String, ObjectId> {
    let mut ids = BTreeMap::new();
    let mut transaction = store.begin();
    for path in paths {
        let location = Location::here(FILESYSTEM, folder.join(path));
        let reading = source::look(&location, false, 4 << 20);
        let found = source::index(&location, reading, None).unwrap().unwrap();
        ids.insert(path.clone(), found.envelope.id.clone());
        transaction.put(found.envelope, found.payload, Expected::Any).unwrap();
    }
    transaction.commit().unwrap();
    ids
}

#[test]
fn links_of_stored_vaults_lead_where_the_reader_says() {
    let Some(folder) = testing::data::find("vaults") else { return };
    let entries = std::fs::read_dir(folder).unwrap();
    let mut archives: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    if !testing::cases::is_long() {
        archives.retain(|archive| archive.metadata().unwrap().len() < 200_000);
    }
    archives.sort();
    for archive in archives {
        let name = archive.file_name().unwrap().to_str().unwrap().to_owned();
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap().join("vault");
        let paths = unpack(&archive, &root);
        std::fs::create_dir_all(root.join(".obsidian")).unwrap();
        let store = Store::open(scratch.path().join("store.sqlite").to_str().unwrap()).unwrap();
        let ids = index(&store, &root, &paths);
        let files = Namespace::here(FILESYSTEM);
        let exists = |filesystem_id: &str, path: &str| files.exists(filesystem_id, path);
        let started = Instant::now();
        let graph = Graph::open(&store, AsOf::Latest, &exists).unwrap();
        let filled_ms = started.elapsed().as_millis();
        let vault = VaultIndex::new(paths.clone());
        let (mut found, mut unresolved, mut ambiguous) = (0, 0, 0);
        let mut incoming: BTreeMap<ObjectId, BTreeSet<(ObjectId, u64)>> = BTreeMap::new();
        let started = Instant::now();
        for (path, id) in &ids {
            let links = graph.links(id).unwrap();
            let kinds = [RelationKind::Wikilink, RelationKind::Markdown];
            let links: Vec<_> =
                links.iter().filter(|link| kinds.contains(&link.relation.kind)).collect();
            let bytes = std::fs::read(root.join(path)).unwrap();
            let text = if path.to_lowercase().ends_with(".md") {
                String::from_utf8(bytes).ok()
            } else {
                None
            };
            let document = parse(&text.unwrap_or_default());
            let expected: Vec<_> = document
                .links
                .iter()
                .map(|link| (link.place.line as u64, vault.resolve(link, path)))
                .filter(|(_, resolution)| *resolution != Resolution::External)
                .collect();
            assert_eq!(links.len(), expected.len(), "{name}/{path}");
            for (link, (line, resolution)) in links.iter().zip(expected) {
                assert_eq!(link.relation.place.line, Some(line), "{name}/{path}");
                let Resolution::Resolved { path: to, others } = resolution else {
                    unresolved += 1;
                    assert_eq!(link.target.state, TargetState::Unresolved, "{name}/{path}:{line}");
                    continue;
                };
                found += 1;
                ambiguous += usize::from(!others.is_empty());
                assert_eq!(link.target.id.as_ref(), ids.get(&to), "{name}/{path}:{line}");
                assert_eq!(link.target.candidates.len(), others.len(), "{name}/{path}:{line}");
                incoming.entry(ids[&to].clone()).or_default().insert((id.clone(), line));
            }
        }
        let linked_ms = started.elapsed().as_millis();
        let started = Instant::now();
        for id in ids.values() {
            let back = graph.backlinks(id, None).unwrap();
            let lines = back
                .iter()
                .map(|link| (link.from.clone(), link.relation.place.line.unwrap()))
                .collect::<BTreeSet<_>>();
            assert_eq!(lines, incoming.remove(id).unwrap_or_default(), "{name}");
        }
        let back_ms = started.elapsed().as_millis();
        let all = found + unresolved;
        eprintln!(
            "{name:40} {} files: {found} of {all} links resolve, {ambiguous} ambiguous; filled in \
             {filled_ms} ms, all links in {linked_ms} ms, all backlinks in {back_ms} ms",
            ids.len()
        );
    }
}
