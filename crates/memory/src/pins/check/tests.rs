use super::*;
use crate::scope::Folders;
use config::Exclude;

/// The pins of one file of a project, which a page of the project cites.
fn pinned(path: &Path, hash: Hash) -> BTreeMap<PathBuf, Pinned> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let pins = BTreeSet::from([CitationPin::whole(name, hash)]);
    BTreeMap::from([(path.to_owned(), Pinned { pins, is_bound: true })])
}

#[cfg(unix)]
#[test]
fn what_tells_nothing_is_looked_at_once_until_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("p");
    std::fs::create_dir_all(project.join(".pi/memory")).unwrap();
    std::fs::write(folder.path().join("outside.rs"), "x").unwrap();
    let cited = project.join("a.rs");
    std::os::unix::fs::symlink(folder.path().join("outside.rs"), &cited).unwrap();
    let folders = Folders::new(Some(&folder.path().join("agent")), Some(&project), true);
    let places = Places::new(&folders, Exclude::new(&[]).unwrap());
    let pinned = pinned(&cited, Hash::of("x"));
    let mut checker = Checker::default();
    assert_eq!(checker.check(&places, pinned.clone()), BTreeMap::new());
    assert!(!checker.may_differ(), "nothing changed");
    std::fs::remove_file(&cited).unwrap();
    assert!(checker.may_differ());
    let gone: Vec<_> = checker
        .check(&places, pinned.clone())
        .into_values()
        .flat_map(BTreeMap::into_values)
        .collect();
    assert_eq!(gone, [CitedChange::Gone]);
    assert!(!checker.may_differ());
    std::fs::write(&cited, "y").unwrap();
    assert!(checker.may_differ());
    let changed: Vec<_> =
        checker.check(&places, pinned).into_values().flat_map(BTreeMap::into_values).collect();
    assert_eq!(changed, [CitedChange::Contradicted]);
}
