//! Maps paths as an agent sees them to a file's identity and to the path at which this process
//! opens it, and back.
//!
//! Looks at links and folders, never into a file. Outside the mappings of a sandbox it looks at
//! nothing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::canonical_path;
use super::location::Location;
use super::mounts::{Mounts, joined};
use super::spelling::Spelling;
use super::volumes::Volumes;
use base::error::Result;
use base::object::Hash;
use base::path::AbsolutePath;
use config::MountMapping;
use files::looks;

/// Most links followed in one path; operating systems have the same limit.
const MAX_LINKS: u32 = 40;

/// The filesystems that an agent sees, and which of them this process reaches.
#[derive(Debug, Clone)]
pub struct Namespace {
    mounts: Mounts,
    /// The filesystem of paths that no mapping covers.
    filesystem_id: String,
    /// Whether this process reaches that filesystem at the same paths.
    is_reached: bool,
    /// The mounted volumes, if this process runs in a container.
    volumes: Option<Arc<Volumes>>,
    spelling: Arc<Spelling>,
}

impl Namespace {
    /// An agent that sees what this process sees.
    pub fn here(filesystem_id: &str) -> Self {
        Self::of(Mounts::default(), filesystem_id, true)
    }

    /// An agent whose files are out of reach, as in a transcript, except for mapped folders.
    ///
    /// # Errors
    /// As [`Namespace::of_agent`].
    pub fn elsewhere(filesystem_id: &str, mappings: &[MountMapping]) -> Result<Self> {
        Ok(Self::of(Mounts::read(mappings, filesystem_id)?, filesystem_id, false))
    }

    /// The namespace of an agent in a sandbox if `mappings` or `sandbox` say so; else as
    /// [`Namespace::here`].
    ///
    /// `filesystem_id`: the host's, which holds mapped folders unless a mapping says otherwise.
    /// `sandbox`: ID or name of the container. Unmapped files are out of reach; they belong to the
    /// filesystem whose ID is the SHA-256 of `sandbox`, or without it to a filesystem of `session`
    /// alone, so that two containers never share files by accident.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a mapping has a prefix that is not an absolute path, or two have one
    /// `agentPrefix`.
    pub fn of_agent(
        filesystem_id: &str,
        mappings: &[MountMapping],
        sandbox: Option<&str>,
        session: &str,
    ) -> Result<Self> {
        if mappings.is_empty() && sandbox.is_none() {
            return Ok(Self::here(filesystem_id));
        }
        let mounts = Mounts::read(mappings, filesystem_id)?;
        let sandbox = match sandbox {
            Some(sandbox) => Hash::of(sandbox.trim()),
            None => Hash::of(format!("sandbox of {session}")),
        };
        Ok(Self::of(mounts, sandbox.as_str(), false))
    }

    /// This process's own view: files under a mapping's `clientPrefix` belong to the mapping, all
    /// others to this process.
    ///
    /// # Errors
    /// As [`Namespace::of_agent`].
    pub fn of_client(filesystem_id: &str, mappings: &[MountMapping]) -> Result<Self> {
        let mut seen: Vec<MountMapping> = Vec::new();
        for mapping in mappings {
            let client = mapping.client_prefix.as_ref().unwrap_or(&mapping.canonical_prefix);
            // One folder may be mapped to several places.
            if seen.iter().all(|other| other.agent_prefix != *client) {
                seen.push(MountMapping { agent_prefix: client.clone(), ..mapping.clone() });
            }
        }
        Ok(Self::of(Mounts::read(&seen, filesystem_id)?, filesystem_id, true))
    }

    fn of(mounts: Mounts, filesystem_id: &str, is_reached: bool) -> Self {
        let filesystem_id = filesystem_id.to_owned();
        Self { mounts, filesystem_id, is_reached, volumes: None, spelling: Arc::default() }
    }

    /// For a process in a container: makes each mount from outside (a volume or a folder of the
    /// host) a filesystem of its own, identified by type, source and folder. Paths stay as they
    /// are. Mappings take precedence.
    #[must_use]
    pub fn in_container(mut self) -> Self {
        self.volumes = self.is_reached.then(Arc::default);
        self
    }

    /// Warnings about the mappings: folders that do not exist, and mappings that show the same
    /// files.
    pub fn oddities(&self) -> Vec<String> {
        let gone = self.mounts.all().iter().filter(|mount| !looks::is_dir(&mount.client)).map(|mount| {
            let (agent, client) = (&mount.agent, mount.client.display());
            format!("the mount at `{agent}` has no folder `{client}`: what is known of its files stands until it is back")
        });
        gone.chain(self.mounts.oddities()).collect()
    }

    /// Whether the agent sees the same files as this process.
    pub fn is_here(&self) -> bool {
        self.is_reached && self.mounts.all().is_empty()
    }

    /// Whether any path leads to this machine, so that it is looked at.
    pub fn is_in_reach(&self) -> bool {
        self.is_reached || !self.mounts.all().is_empty()
    }

    /// Whether something exists at a canonical path of a filesystem, as far as this process can
    /// look.
    pub fn exists(&self, filesystem_id: &str, path: &str) -> bool {
        self.known(filesystem_id, Path::new(path))
            .open
            .is_some_and(|open| looks::try_exists(&open).unwrap_or(false))
    }

    /// Where the file at an agent's absolute path is. Links are followed as far as this process can
    /// look; a link out of its mapping leads to another mapping's file or out of reach.
    pub fn locate(&self, path: &Path) -> Location {
        if self.mounts.all().is_empty() {
            return self.unmapped(path);
        }
        match path.to_str().and_then(AbsolutePath::parse) {
            Some(path) => self.followed(&path),
            // A path that is not UTF-8 has no object and may be anywhere.
            None => Location::elsewhere(&self.filesystem_id, path.to_owned()),
        }
    }

    /// Where a known file is, by filesystem and canonical path. It is out of reach if the path now
    /// leads elsewhere.
    pub fn known(&self, filesystem_id: &str, path: &Path) -> Location {
        let elsewhere = || Location::elsewhere(filesystem_id, path.to_owned());
        if self.mounts.all().is_empty() {
            let volume = self.volumes.as_ref().and_then(|volumes| volumes.filesystem_of(path));
            let is_own = filesystem_id == volume.as_deref().unwrap_or(&self.filesystem_id);
            let own = || Location::here(filesystem_id, path.to_owned());
            return if is_own && self.is_reached { own() } else { elsewhere() };
        }
        let Some(canonical) = path.to_str().and_then(AbsolutePath::parse) else {
            return elsewhere();
        };
        let agent = self.mounts.backward(filesystem_id, &canonical);
        let found = agent.or(self.is_reached.then_some(canonical)).map(|path| self.followed(&path));
        let is_it = |found: &Location| found.filesystem_id == filesystem_id && found.path == *path;
        found.filter(is_it).unwrap_or_else(elsewhere)
    }

    /// The path by which the agent sees a file; `None` if it equals the canonical one.
    pub fn agent_path(&self, filesystem_id: &str, path: &Path) -> Option<String> {
        let canonical = AbsolutePath::parse(path.to_str()?)?;
        let agent = self.mounts.backward(filesystem_id, &canonical)?.to_string();
        (path.to_str() != Some(&agent)).then_some(agent)
    }

    /// The agent's working folder on this machine, as the agent sees it.
    pub fn agent_folder(&self, folder: &Path) -> PathBuf {
        if self.mounts.all().is_empty() {
            return folder.to_owned();
        }
        let real = canonical_path(folder);
        let agent = real.to_str().and_then(AbsolutePath::parse);
        let agent = agent.and_then(|path| self.mounts.of_client(&path));
        agent.map_or_else(|| folder.to_owned(), |path| PathBuf::from(path.to_string()))
    }

    /// The file at a canonical path of this machine, as trackers report it. Within a mapping it is
    /// out of reach if a link leads elsewhere.
    pub fn opened_at(&self, path: &Path) -> Location {
        let agent = path.to_str().and_then(AbsolutePath::parse);
        let Some(agent) = agent.and_then(|path| self.mounts.of_client(&path)) else {
            return self.own(path.to_owned());
        };
        let there = self.settled(&agent);
        if self.followed(&agent) == there { there } else { Location { open: None, ..there } }
    }

    fn unmapped(&self, path: &Path) -> Location {
        let path =
            if self.is_reached { self.spelling.of(canonical_path(path)) } else { path.into() };
        self.own(path)
    }

    /// The file at a canonical path that no mapping covers.
    fn own(&self, path: PathBuf) -> Location {
        if !self.is_reached {
            return Location::elsewhere(&self.filesystem_id, path);
        }
        let volume = self.volumes.as_ref().and_then(|volumes| volumes.filesystem_of(&path));
        Location::here(volume.as_deref().unwrap_or(&self.filesystem_id), path)
    }

    /// Follows the links in an agent's path. An absolute link is relative to the agent's root or,
    /// where nothing is mapped there, to this machine's: tools that run here follow it that way.
    fn followed(&self, path: &AbsolutePath) -> Location {
        let mut links = MAX_LINKS;
        let mut at = path.root();
        let mut rest: Vec<String> = path.names().iter().rev().cloned().collect();
        let mut missing: Option<PathBuf> = None;
        while let Some(name) = rest.pop() {
            at.step(&name);
            let target = self.client(&at).and_then(|client| {
                // Nothing can exist below a missing folder.
                if missing.as_ref().is_some_and(|missing| client.starts_with(missing)) {
                    return None;
                }
                let target = looks::read_link(&client);
                if target.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                    missing = Some(client);
                }
                target.ok()
            });
            let Some(target) = target else { continue };
            let Some(target) = target.to_str().filter(|_| links > 0) else {
                // The link leads to an unknown place.
                rest.iter().rev().for_each(|name| at.step(name));
                return Location::elsewhere(&self.filesystem_id, at.to_string().into());
            };
            links -= 1;
            if let Some(absolute) = AbsolutePath::parse(target) {
                let seen = self.mounts.of_agent(&absolute).is_none();
                let seen = seen.then(|| self.mounts.of_client(&absolute)).flatten();
                let absolute = seen.unwrap_or(absolute);
                at = absolute.root();
                rest.extend(absolute.names().iter().rev().cloned());
            } else {
                at.step("..");
                rest.extend(target.split(std::path::MAIN_SEPARATOR).rev().map(str::to_owned));
            }
        }
        self.settled(&at)
    }

    /// The path to check for a link, given an agent's path. The folder of a mapping never is one.
    fn client(&self, path: &AbsolutePath) -> Option<PathBuf> {
        match self.mounts.of_agent(path) {
            Some((mount, names)) => (!names.is_empty()).then(|| joined(&mount.client, names)),
            None => self.is_reached.then(|| path.to_string().into()),
        }
    }

    /// The file at an agent's path without links.
    fn settled(&self, path: &AbsolutePath) -> Location {
        let Some((mount, names)) = self.mounts.of_agent(path) else {
            return self.unmapped(Path::new(&path.to_string()));
        };
        let names = self.spelling.of_names(&mount.client, names);
        Location {
            filesystem_id: mount.filesystem_id.clone(),
            path: mount.canonical.join(&names).to_string().into(),
            open: Some(joined(&mount.client, &names)),
            root: Some(mount.client.clone()),
        }
    }
}
