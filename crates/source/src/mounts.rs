//! Mount mappings: translates the paths that an agent in a sandbox sees to canonical ones, and
//! back. Works on text only, except that the links of the mapped folders are followed once when the
//! mappings are read.

use std::path::{Path, PathBuf};

use super::canonical_path;
use base::error::{Error, Result};
use base::path::AbsolutePath;
use config::MountMapping;

/// A parsed mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// The folder as the agent sees it.
    pub(super) agent: AbsolutePath,
    /// The folder in its own filesystem.
    pub(super) canonical: AbsolutePath,
    /// The ID of that filesystem.
    pub(super) filesystem_id: String,
    /// The folder as this process opens it.
    pub(super) client: PathBuf,
}

/// The mappings of a session, in the order of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    mounts: Vec<Mount>,
}

impl Mounts {
    /// Parses mappings. Those that name no filesystem belong to `filesystem_id`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the text of [`MountMapping::problem`].
    pub(super) fn read(mappings: &[MountMapping], filesystem_id: &str) -> Result<Self> {
        let refused = |problem| Error::argument("mounts", problem);
        if let Some(problem) = MountMapping::problem(mappings) {
            return Err(refused(problem));
        }
        let mounts = mappings.iter().map(|mapping| {
            mount(mapping, filesystem_id)
                .ok_or_else(|| refused("have a folder that is not UTF-8".to_owned()))
        });
        Ok(Self { mounts: mounts.collect::<Result<_>>()? })
    }

    pub(super) fn all(&self) -> &[Mount] {
        &self.mounts
    }

    /// The mapping with the longest prefix of an agent's path, and the names below its folder.
    pub(super) fn of_agent<'a>(
        &'a self,
        path: &'a AbsolutePath,
    ) -> Option<(&'a Mount, &'a [String])> {
        let found = self.mounts.iter().filter_map(|mount| Some((mount, path.below(&mount.agent)?)));
        found.min_by_key(|(_, rest)| rest.len())
    }

    /// The agent's path of a file: by the longest prefix that leads back to the same file, the
    /// first of equals. `None` if the agent cannot see it, for example because another mapping
    /// covers it.
    pub(super) fn backward(
        &self,
        filesystem_id: &str,
        path: &AbsolutePath,
    ) -> Option<AbsolutePath> {
        let holding = self.mounts.iter().filter(|mount| mount.filesystem_id == filesystem_id);
        let holding = holding.filter_map(|mount| Some((mount, path.below(&mount.canonical)?)));
        self.nearest(holding.collect())
    }

    /// The agent's path of a path on this machine, by the longest `clientPrefix`. `None` if the
    /// agent cannot see it.
    pub(super) fn of_client(&self, path: &AbsolutePath) -> Option<AbsolutePath> {
        let clients = self.mounts.iter().filter_map(|mount| {
            let client = AbsolutePath::parse(mount.client.to_str()?)?;
            Some((mount, path.below(&client)?))
        });
        self.nearest(clients.collect())
    }

    /// The agent's path of names below one of these mappings: the nearest that no deeper mapping
    /// covers.
    fn nearest(&self, mut below: Vec<(&Mount, &[String])>) -> Option<AbsolutePath> {
        below.sort_by_key(|(_, rest)| rest.len());
        let mut seen = below.into_iter().map(|(mount, rest)| (mount, mount.agent.join(rest)));
        let is_it = |mount: &Mount, agent: &AbsolutePath| {
            self.of_agent(agent).is_some_and(|(nearest, _)| nearest == mount)
        };
        seen.find(|(mount, agent)| is_it(mount, agent)).map(|(_, agent)| agent)
    }

    /// Warnings about mappings that are probably mistakes.
    pub(super) fn oddities(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (at, mount) in self.mounts.iter().enumerate() {
            for other in &self.mounts[..at] {
                let overlap = mount.filesystem_id == other.filesystem_id
                    && (mount.canonical.below(&other.canonical).is_some()
                        || other.canonical.below(&mount.canonical).is_some());
                // Mappings that are nested the same way on both sides agree.
                let agree = relative(&mount.agent, &other.agent)
                    == relative(&mount.canonical, &other.canonical);
                if overlap && !agree {
                    found.push(format!(
                        "the mounts at `{}` and `{}` show the same files; each is one object, named by the nearer mount",
                        other.agent, mount.agent
                    ));
                }
            }
        }
        found
    }
}

/// Whether one of two folders lies below the other, and by which names.
fn relative<'a>(one: &'a AbsolutePath, other: &'a AbsolutePath) -> Option<(bool, &'a [String])> {
    let down = one.below(other).map(|rest| (true, rest));
    down.or_else(|| other.below(one).map(|rest| (false, rest)))
}

/// Appends names to a folder of this machine.
pub(super) fn joined(folder: &Path, names: &[String]) -> PathBuf {
    let mut path = folder.to_owned();
    path.extend(names);
    path
}

/// Parses a mapping. Follows links in the canonical prefix if this process opens the folder there,
/// because an agent on the host would.
fn mount(mapping: &MountMapping, filesystem_id: &str) -> Option<Mount> {
    let MountMapping { agent_prefix, canonical_prefix, client_prefix, .. } = mapping;
    let client = canonical_path(Path::new(client_prefix.as_ref().unwrap_or(canonical_prefix)));
    let canonical = if client_prefix.is_none() { client.to_str()? } else { canonical_prefix };
    let filesystem_id = mapping.filesystem_id.as_deref().map_or(filesystem_id, str::trim);
    Some(Mount {
        agent: AbsolutePath::parse(agent_prefix)?,
        canonical: AbsolutePath::parse(canonical)?,
        filesystem_id: filesystem_id.to_owned(),
        client,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> AbsolutePath {
        AbsolutePath::parse(text).unwrap_or_else(|| panic!("`{text}` is absolute"))
    }

    fn mounts(pairs: &[(&str, &str)]) -> Mounts {
        let mount = |(agent, canonical): &(&str, &str)| Mount {
            agent: path(agent),
            canonical: path(canonical),
            filesystem_id: "host".into(),
            client: (*canonical).into(),
        };
        Mounts { mounts: pairs.iter().map(mount).collect() }
    }

    fn forward(mounts: &Mounts, text: &str) -> Option<String> {
        let agent = path(text);
        mounts.of_agent(&agent).map(|(mount, rest)| mount.canonical.join(rest).to_string())
    }

    fn backward(mounts: &Mounts, text: &str) -> Option<String> {
        mounts.backward("host", &path(text)).map(|path| path.to_string())
    }

    #[test]
    fn the_longest_prefix_wins_both_ways_and_whole_names_only() {
        let mounts = mounts(&[
            ("/workspace", "/home/me/project"),
            ("/workspace/node_modules/", "/var/cache/modules"),
            ("/home/me", "/srv/home"),
        ]);
        for (agent, canonical) in [
            ("/workspace", "/home/me/project"),
            ("/workspace/src/a.rs", "/home/me/project/src/a.rs"),
            ("/workspace/node_modules/x", "/var/cache/modules/x"),
            ("/workspace/node_modulesx", "/home/me/project/node_modulesx"),
            ("/home/me/a", "/srv/home/a"),
        ] {
            assert_eq!(forward(&mounts, agent).as_deref(), Some(canonical), "{agent}");
            assert_eq!(backward(&mounts, canonical).as_deref(), Some(agent), "{canonical}");
        }
        assert_eq!(forward(&mounts, "/workspacex"), None);
        assert_eq!(backward(&mounts, "/home/me/projects/a"), None);
        assert_eq!(mounts.backward("other", &path("/srv/home/a")), None);
        // Files below a deeper mount are hidden.
        assert_eq!(backward(&mounts, "/home/me/project/node_modules/x"), None);
    }

    #[test]
    fn drives_and_shares_ignore_case_and_names_compare_in_nfc() {
        let windows =
            mounts(&[("/workspace", r"C:\Users\Me\Project"), ("/data", r"\\Server\Data")]);
        assert_eq!(
            forward(&windows, "/workspace/Src/a.ts").unwrap(),
            r"C:\Users\Me\Project\Src\a.ts"
        );
        assert_eq!(
            backward(&windows, r"c:/users/ME/project/Src\a.ts").unwrap(),
            "/workspace/Src/a.ts"
        );
        assert_eq!(backward(&windows, r"\\SERVER\data\x").unwrap(), "/data/x");
        let composed = mounts(&[("/caf\u{e9}", "/host")]);
        assert_eq!(forward(&composed, "/cafe\u{301}/a").unwrap(), "/host/a");
        assert_eq!(forward(&composed, "/CAF\u{e9}/a"), None);
    }

    #[test]
    fn a_folder_mounted_twice_uses_its_first_mount_and_is_reported() {
        let twice = mounts(&[("/a", "/host"), ("/b", "/host")]);
        assert_eq!(backward(&twice, "/host/x").unwrap(), "/a/x");
        assert_eq!(forward(&twice, "/b/x").unwrap(), "/host/x");
        assert_eq!(twice.oddities().len(), 1);
        let inside = mounts(&[("/a", "/host"), ("/lib", "/host/lib")]);
        assert_eq!(backward(&inside, "/host/lib/x").unwrap(), "/lib/x");
        assert_eq!(inside.oddities().len(), 1);
        let nested = mounts(&[("/a", "/host"), ("/a/lib", "/host/lib"), ("/a/out", "/elsewhere")]);
        assert_eq!(nested.oddities(), Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_with_mappings_is_said() {
        let mapping = |agent: &str, canonical: &str| MountMapping {
            agent_prefix: agent.into(),
            canonical_prefix: canonical.into(),
            filesystem_id: None,
            client_prefix: None,
        };
        let problem = |mappings: &[MountMapping]| MountMapping::problem(mappings);
        assert_eq!(problem(&[mapping("/w", "/h"), mapping("/w/x", "/h")]), None);
        let relative = problem(&[mapping("workspace", "/h")]).unwrap();
        assert_eq!(relative, "have the agentPrefix `workspace`, which is not an absolute path");
        let repeated = problem(&[mapping("/w", "/h"), mapping("/w/../w/", "/i")]).unwrap();
        assert_eq!(repeated, "map `/w` twice");
        let blank = MountMapping { filesystem_id: Some(" ".into()), ..mapping("/w", "/h") };
        assert_eq!(problem(&[blank]).unwrap(), "have an empty filesystemId");
        let windows = mapping("/w", r"C:\x");
        assert_eq!(problem(std::slice::from_ref(&windows)).is_some(), cfg!(unix));
        let opened = MountMapping { client_prefix: Some("/w".into()), ..windows };
        assert_eq!(problem(&[opened]).is_some(), cfg!(windows));
    }

    fn names() -> impl Strategy<Value = Vec<&'static str>> {
        let name = prop::sample::select(vec!["a", "b", "c", ".", "..", "", "é", "e\u{301}"]);
        prop::collection::vec(name, 0..6)
    }

    fn roots() -> impl Strategy<Value = String> {
        let start = prop::sample::select(vec!["/", r"C:\", r"\\s\t\"]);
        (start, names()).prop_map(|(root, names)| format!("{root}{}", names.join("/")))
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn forward_then_backward_leads_back_to_the_same_file(
            pairs in prop::collection::vec((roots(), roots()), 1..5), given in roots(), at in 0..5usize,
            below in names(),
        ) {
            let pairs: Vec<(&str, &str)> = pairs.iter().map(|(a, c)| (&**a, &**c)).collect();
            let mounts = mounts(&pairs);
            let inside = format!("{}/{}", pairs[at % pairs.len()].0, below.join("/"));
            for text in [given, inside] {
                let agent = path(&text);
                let Some((mount, rest)) = mounts.of_agent(&agent) else { continue };
                let longest = mounts.all().iter().all(|other| {
                    agent.below(&other.agent).is_none_or(|other| other.len() >= rest.len())
                });
                prop_assert!(longest);
                let canonical = mount.canonical.join(rest);
                prop_assert!(canonical.below(&mount.canonical).is_some());
                // An alias may come back; it is the same file, and coming back again changes
                // nothing.
                let back = mounts.backward("host", &canonical).unwrap();
                let (again, names) = mounts.of_agent(&back).unwrap();
                prop_assert!(again.canonical.join(names).is_at(&canonical));
                prop_assert_eq!(mounts.backward("host", &canonical), Some(back.clone()));
                let alone = mounts.all().iter().filter(|other| {
                    canonical.below(&other.canonical).is_some()
                        || other.canonical.below(&canonical).is_some()
                }).count() == 1;
                if alone {
                    prop_assert!(back.is_at(&agent));
                }
            }
        }

        #[test]
        fn dots_never_lead_above_the_root_and_reading_is_idempotent(text in roots()) {
            let read = path(&text);
            prop_assert!(read.names().iter().all(|name| !matches!(&**name, "" | "." | "..")));
            prop_assert_eq!(path(&read.to_string()), read);
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            if let Some(read) = AbsolutePath::parse(&text) {
                prop_assert_eq!(path(&read.to_string()), read);
            }
        }
    }
}
