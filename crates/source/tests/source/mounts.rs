//! Where the files are that an agent in a sandbox sees: links, missing folders, and what is never
//! opened.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use config::MountMapping;
use source::{FileState, Location, Namespace, look};

/// A host with the folders `project` and `cache`, mounted at `/workspace` and
/// `/workspace/node_modules`, and `outside`.
struct Host {
    root: PathBuf,
    namespace: Namespace,
    _owner: tempfile::TempDir,
}

fn mapping(agent: &str, canonical: &Path) -> MountMapping {
    MountMapping {
        agent_prefix: agent.into(),
        canonical_prefix: canonical.to_str().unwrap().into(),
        filesystem_id: None,
        client_prefix: None,
    }
}

fn host() -> Host {
    let owner = tempfile::tempdir().unwrap();
    let root = owner.path().canonicalize().unwrap();
    for file in ["project/src/a.rs", "cache/m.js", "outside/secret"] {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file).unwrap();
    }
    let mappings = [
        mapping("/workspace/", &root.join("project")),
        mapping("/workspace/node_modules", &root.join("cache")),
    ];
    let namespace = Namespace::of_agent("host", &mappings, Some("box"), "s").unwrap();
    Host { root, namespace, _owner: owner }
}

impl Host {
    fn locate(&self, agent: &str) -> Location {
        self.namespace.locate(Path::new(agent))
    }

    /// The file of the host that an agent's path leads to, relative to the host's folder; `None`
    /// for the sandbox's own.
    fn leads_to(&self, agent: &str) -> Option<String> {
        let found = self.locate(agent);
        let Some(open) = &found.open else {
            assert_ne!(found.filesystem_id, "host", "{agent}");
            return None;
        };
        assert_eq!((&found.path, &*found.filesystem_id), (open, "host"), "{agent}");
        Some(open.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned())
    }
}

#[test]
fn mapped_paths_are_the_hosts_and_all_others_the_sandboxes() {
    let host = host();
    for (agent, expected) in [
        ("/workspace/src/a.rs", Some("project/src/a.rs")),
        ("/workspace/./src/../src//a.rs", Some("project/src/a.rs")),
        ("/workspace/node_modules/m.js", Some("cache/m.js")),
        ("/workspace/node_modules/../src/a.rs", Some("project/src/a.rs")),
        ("/workspace/new/deep", Some("project/new/deep")),
        ("/workspace", Some("project")),
        ("/workspace/../etc/passwd", None),
        ("/workspaces/a", None),
        ("/etc/passwd", None),
        ("/", None),
    ] {
        assert_eq!(host.leads_to(agent).as_deref(), expected, "{agent}");
    }
    // The same path as the host knows it is another file in the sandbox.
    let own = host.root.join("project/src/a.rs");
    assert_eq!(host.leads_to(own.to_str().unwrap()), None);
    assert_eq!(host.locate("/etc/passwd").path, Path::new("/etc/passwd"));
}

#[test]
fn links_resolve_as_for_the_agent_and_cannot_escape() {
    let host = host();
    let project = host.root.join("project");
    let link = |name: &str, target: &Path| symlink(target, project.join(name)).unwrap();
    link("inside", Path::new("src"));
    link("absolute", Path::new("/workspace/src/a.rs"));
    link("by-host", &project.join("src/a.rs"));
    link("to-cache", Path::new("node_modules/m.js"));
    link("up", Path::new("../outside/secret"));
    link("out", &host.root.join("outside/secret"));
    link("far", Path::new("../../../../../../../../../etc/passwd"));
    link("loop", Path::new("loop"));
    link("dangling", Path::new("src/later"));
    for (agent, expected) in [
        ("/workspace/inside/a.rs", Some("project/src/a.rs")),
        ("/workspace/inside/../src/a.rs", Some("project/src/a.rs")),
        ("/workspace/absolute", Some("project/src/a.rs")),
        ("/workspace/by-host", Some("project/src/a.rs")),
        ("/workspace/to-cache", Some("cache/m.js")),
        ("/workspace/dangling", Some("project/src/later")),
        ("/workspace/up", None),
        ("/workspace/out", None),
        ("/workspace/far", None),
        ("/workspace/loop", None),
    ] {
        assert_eq!(host.leads_to(agent).as_deref(), expected, "{agent}");
    }
    assert_eq!(host.locate("/workspace/up").path, Path::new("/outside/secret"));
    assert_eq!(host.locate("/workspace/far").path, Path::new("/etc/passwd"));
}

#[test]
fn a_known_file_is_out_of_reach_once_a_link_leads_elsewhere() {
    let host = host();
    let known = host.locate("/workspace/src/a.rs");
    let again = || host.namespace.known(&known.filesystem_id, &known.path);
    assert_eq!(again(), known);
    std::fs::remove_dir_all(host.root.join("project/src")).unwrap();
    symlink(host.root.join("outside"), host.root.join("project/src")).unwrap();
    std::fs::write(host.root.join("outside/a.rs"), "of the host").unwrap();
    assert_eq!(again().open, None);
    assert_eq!(host.namespace.known("host", &host.root.join("outside/a.rs")).open, None);
}

#[test]
fn the_agent_sees_its_own_paths() {
    let host = host();
    let shown = |path: &str| host.namespace.agent_path("host", &host.root.join(path));
    assert_eq!(shown("project/src/a.rs").as_deref(), Some("/workspace/src/a.rs"));
    assert_eq!(shown("cache/m.js").as_deref(), Some("/workspace/node_modules/m.js"));
    assert_eq!(shown("outside/secret"), None);
    let folder = host.namespace.agent_folder(&host.root.join("project/src"));
    assert_eq!(folder, Path::new("/workspace/src"));
}

#[test]
fn a_missing_mapped_folder_is_reported_and_keeps_its_files() {
    let host = host();
    let state = |agent: &str| look(&host.locate(agent), false, 100).state;
    assert_eq!(state("/workspace/src/gone.rs"), FileState::Missing);
    assert_eq!(host.namespace.oddities(), Vec::<String>::new());
    std::fs::rename(host.root.join("project"), host.root.join("elsewhere")).unwrap();
    assert!(matches!(state("/workspace/src/a.rs"), FileState::Unreadable { .. }));
    let [told] = &host.namespace.oddities()[..] else { panic!("one notice") };
    assert!(told.contains("`/workspace`") && told.contains("project"), "{told}");
    std::fs::rename(host.root.join("elsewhere"), host.root.join("project")).unwrap();
    assert!(matches!(state("/workspace/src/a.rs"), FileState::Text { .. }));
}

#[test]
fn sandboxes_share_files_only_if_they_have_the_same_name() {
    let id = |sandbox: Option<&str>, session: &str| {
        let mappings = [mapping("/w", Path::new("/h"))];
        let namespace = Namespace::of_agent("host", &mappings, sandbox, session).unwrap();
        namespace.locate(Path::new("/etc/hosts")).filesystem_id
    };
    assert_eq!(id(Some("box"), "s"), id(Some(" box\n"), "other"));
    assert_ne!(id(Some("box"), "s"), id(Some("other"), "s"));
    assert_eq!(id(None, "s"), id(None, "s"));
    assert_ne!(id(None, "s"), id(None, "other"));
    // Known answer: printf box | sha256sum.
    assert_eq!(
        id(Some("box"), "s"),
        "26f8567f2569182294c3fa5b9f9cb2270b554eef628b4c149cf82a42888ff4ae"
    );
    let alone = Namespace::of_agent("host", &[], Some("box"), "s").unwrap();
    assert_eq!(alone.locate(Path::new("/etc/hosts")).open, None);
    let plain = Namespace::of_agent("host", &[], None, "s").unwrap();
    assert_eq!(plain.locate(Path::new("/")), Location::here("host", "/".into()));
}

#[test]
fn a_process_in_the_container_opens_what_its_agent_sees() {
    let host = host();
    let inside = MountMapping {
        client_prefix: Some(host.root.join("project").to_str().unwrap().into()),
        ..mapping("/workspace", Path::new("/home/me/project"))
    };
    let mappings = [inside];
    let namespace = Namespace::of_agent("host", &mappings, None, "s").unwrap();
    let found = namespace.locate(Path::new("/workspace/src/a.rs"));
    assert_eq!(found.path, Path::new("/home/me/project/src/a.rs"));
    assert_eq!(found.open, Some(host.root.join("project/src/a.rs")));
    assert_eq!(namespace.known("host", &found.path), found);
    // The command line names files as this process sees them.
    let client = Namespace::of_client("host", &mappings).unwrap();
    assert_eq!(client.locate(&host.root.join("project/src/a.rs")).path, found.path);
    assert_eq!(namespace.opened_at(&host.root.join("project/src/a.rs")), found);
    let outside = host.root.join("outside/secret");
    assert_eq!(namespace.opened_at(&outside).open, None);
    assert_eq!(client.locate(&outside), Location::here("host", outside));
}
