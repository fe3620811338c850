//! A transcript's files, in a scratch folder that is removed when this is dropped.
//!
//! A transcript's path is looked up below the folder, whatever it says, and is never opened as
//! written. The folder holds no links. Besides dumps, this is the only place where a replay writes
//! files. Must not know a session or what tools do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use base::error::{Error, Result};
use config::MountMapping;
use files::Scratch;
use source::Namespace;

/// ID of the files' filesystem.
pub(super) const FILESYSTEM: &str = "replay";

/// The path that the scratch folder stands for: the root of the agent's filesystem.
const ROOT: &str = "/";

/// The files of a played session; see the module.
#[derive(Debug)]
pub(super) struct Tree {
    scratch: Scratch,
    /// The scratch folder, without links.
    root: PathBuf,
    namespace: Namespace,
    /// The agent's working folder.
    cwd: PathBuf,
    /// Number of files written so far.
    laid: u64,
}

impl Tree {
    /// An empty tree. `cwd`: the agent's working folder, which is created.
    ///
    /// # Errors
    /// `FILE` if no folder can be created.
    pub(super) fn new(cwd: &Path) -> Result<Self> {
        let scratch = Scratch::new();
        let scratch = scratch.map_err(|error| failed("create", &std::env::temp_dir(), error))?;
        let root = source::canonical_path(scratch.path());
        let namespace = Namespace::elsewhere(FILESYSTEM, &[mount(&root)])?;
        let tree = Self { scratch, root, namespace, cwd: cwd.to_owned(), laid: 0 };
        let made = tree.make_folder(&tree.cwd());
        made.map_err(|error| failed("create", &tree.root, error))?;
        Ok(tree)
    }

    /// The mapping by which a session finds the files.
    pub(super) fn mount(&self) -> MountMapping {
        mount(&self.root)
    }

    /// The agent's working folder on this machine.
    pub(super) fn cwd(&self) -> PathBuf {
        self.place(&self.cwd).unwrap_or_else(|| self.root.clone())
    }

    /// The agent's working folder as the agent sees it.
    pub(super) fn agent_cwd(&self) -> &Path {
        &self.cwd
    }

    /// The agent's absolute path for a path that a model wrote; `None` if it cannot be one.
    pub(super) fn resolve(&self, given: &str) -> Option<PathBuf> {
        source::resolve_path(given, &self.cwd).ok()
    }

    /// Like [`Self::resolve`], for reading a file: other spellings of its name are tried.
    pub(super) fn resolve_read(&self, given: &str) -> Option<PathBuf> {
        let exists = |path: &Path| self.place(path).is_some_and(|place| place.exists());
        source::read_path(given, &self.cwd, exists).ok()
    }

    /// The text of the file at an agent's path, if one is there.
    pub(super) fn text(&self, path: &Path) -> Option<String> {
        fs::read_to_string(self.place(path)?).ok()
    }

    /// Writes a file at an agent's path, replacing a file that is in the place of a parent folder.
    /// Returns whether it exists now.
    pub(super) fn lay(&mut self, path: &Path, bytes: &[u8]) -> bool {
        self.place(path).is_some_and(|place| self.write(&place, bytes).is_ok())
    }

    /// Removes the file at an agent's path. Returns whether there was one.
    pub(super) fn remove(&self, path: &Path) -> bool {
        self.place(path).is_some_and(|place| fs::remove_file(place).is_ok())
    }

    /// Moves a file, replacing its destination. Returns whether there was one.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> bool {
        let (Some(from), Some(to)) = (self.place(from), self.place(to)) else { return false };
        let to = match from.file_name() {
            Some(name) if to.is_dir() => to.join(name),
            _ => to,
        };
        from.is_file() && self.make_folder_of(&to).is_ok() && fs::rename(from, to).is_ok()
    }

    /// Whether a folder is at an agent's path.
    pub(super) fn is_folder(&self, path: &Path) -> bool {
        self.place(path).is_some_and(|place| place.is_dir())
    }

    /// Makes the working folder a copy of a folder on this machine, without links.
    ///
    /// # Errors
    /// `FILE` if the folder cannot be read, or the working folder cannot be written.
    pub(super) fn become_folder(&mut self, snapshot: &Path) -> Result<()> {
        let cwd = self.cwd();
        let wanted = Listing::of(snapshot).map_err(|error| failed("read", snapshot, error))?;
        let found = Listing::of(&cwd).map_err(|error| failed("read", &cwd, error))?;
        self.follow(snapshot, &wanted, &cwd, &found).map_err(|error| failed("write", &cwd, error))
    }

    /// Writes a file as it is in a folder of this machine, which is a snapshot of the working
    /// folder.
    pub(super) fn lay_from(&mut self, snapshot: &Path, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.cwd) else { return false };
        let place = snapshot.join(below);
        let is_file = place.symlink_metadata().is_ok_and(|found| found.is_file());
        is_file && fs::read(place).is_ok_and(|bytes| self.lay(path, &bytes))
    }

    fn follow(
        &mut self,
        snapshot: &Path,
        wanted: &Listing,
        cwd: &Path,
        found: &Listing,
    ) -> io::Result<()> {
        let mut gone: BTreeSet<&PathBuf> = found.files.difference(&wanted.files).collect();
        let mut texts: BTreeMap<&PathBuf, Vec<u8>> = BTreeMap::new();
        for name in &wanted.files {
            texts.insert(name, fs::read(snapshot.join(name))?);
        }
        // If one file disappeared and another has its bytes now, it was moved and keeps its identity.
        for (name, bytes) in &texts {
            let has_bytes =
                |name: &PathBuf| fs::read(cwd.join(name)).is_ok_and(|known| known == *bytes);
            if !has_bytes(name)
                && let Some(old) = gone.iter().find(|old| has_bytes(old)).copied()
            {
                gone.remove(old);
                self.make_folder_of(&cwd.join(name))?;
                fs::rename(cwd.join(old), cwd.join(name))?;
            }
        }
        for name in gone {
            unless_missing(fs::remove_file(cwd.join(name)))?;
        }
        let emptied: Vec<&PathBuf> = found.folders.difference(&wanted.folders).collect();
        for folder in emptied.into_iter().rev() {
            unless_missing(fs::remove_dir(cwd.join(folder)))?;
        }
        for folder in &wanted.folders {
            self.make_folder(&cwd.join(folder))?;
        }
        for (name, bytes) in texts {
            let place = cwd.join(name);
            if !fs::read(&place).is_ok_and(|known| known == bytes) {
                self.write(&place, &bytes)?;
            }
        }
        Ok(())
    }

    /// Where the file at an agent's path is on this machine.
    fn place(&self, path: &Path) -> Option<PathBuf> {
        let place = self.namespace.locate(path).open?;
        place.starts_with(&self.root).then_some(place)
    }

    /// Writes a file with a distinct modification time in the distant past, so that its stamp can
    /// be trusted at once.
    fn write(&mut self, place: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make_folder_of(place)?;
        let _writing = self.scratch.writing();
        fs::write(place, bytes)?;
        self.laid += 1;
        let time = UNIX_EPOCH + Duration::from_secs(self.laid);
        File::options().write(true).open(place)?.set_modified(time)
    }

    /// Creates the folder of a file.
    fn make_folder_of(&self, place: &Path) -> io::Result<()> {
        let Some(folder) = place.parent() else { return Ok(()) };
        let above = folder.ancestors().take_while(|above| *above != self.root);
        if let Some(file) = above.filter(|above| above.is_file()).last() {
            fs::remove_file(file)?;
        }
        self.make_folder(folder)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        let _writing = self.scratch.writing();
        fs::create_dir_all(folder)
    }
}

fn mount(root: &Path) -> MountMapping {
    MountMapping {
        agent_prefix: ROOT.to_owned(),
        canonical_prefix: ROOT.to_owned(),
        filesystem_id: Some(FILESYSTEM.to_owned()),
        client_prefix: Some(root.to_string_lossy().into_owned()),
    }
}

/// The files and folders below a folder, by their paths in it.
#[derive(Debug, Default)]
struct Listing {
    files: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Listing {
    fn of(folder: &Path) -> io::Result<Self> {
        let mut listing = Self::default();
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            for entry in folder.join(&below).read_dir()? {
                let entry = entry?;
                let (kind, name) = (entry.file_type()?, below.join(entry.file_name()));
                if kind.is_dir() {
                    listing.folders.insert(name.clone());
                    open.push(name);
                } else if kind.is_file() {
                    listing.files.insert(name);
                }
            }
        }
        Ok(listing)
    }
}

/// A new folder may have replaced a file being removed, or vice versa.
fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn failed(act: &'static str, path: &Path, source: io::Error) -> Error {
    Error::File { act, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        Tree::new(Path::new("/home/me/project")).unwrap()
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn every_path_stays_in_the_folder_which_goes_away() {
        let mut tree = tree();
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        fs::write(&secret, "mine").unwrap();
        let up = format!("{}{}", "../".repeat(40), secret.display());
        let long = "x".repeat(5_000);
        let given =
            [secret.to_str().unwrap(), &up, &long, "/etc/passwd", "../../x", "a/../../../../b"];
        let odd = ["~/c", "file:///etc/hosts", "..", "nul\0byte", "", "/proc/self/mem", "C:\\x"];
        for given in given.into_iter().chain(odd) {
            let Some(path) = tree.resolve(given) else { continue };
            assert!(tree.text(&path).is_none_or(|text| text == "theirs"), "{given}");
            if tree.lay(&path, b"theirs") {
                let place = tree.place(&path).unwrap();
                assert!(place.starts_with(&tree.root), "{given} is {}", place.display());
                assert_eq!(tree.text(&path).as_deref(), Some("theirs"), "{given}");
            }
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "mine");
        let root = tree.root.clone();
        drop(tree);
        assert!(!root.exists());
    }

    #[test]
    fn a_file_in_the_place_of_a_folder_goes() {
        let mut tree = tree();
        assert!(tree.lay(Path::new("/w/src"), b"a listing"));
        assert!(tree.lay(Path::new("/w/src/a/b"), b"text"));
        assert_eq!(tree.text(Path::new("/w/src/a/b")).as_deref(), Some("text"));
        assert!(!tree.lay(Path::new("/w/src"), b"a listing"), "a folder stays");
    }

    #[cfg(unix)]
    #[test]
    fn the_snapshot_has_the_working_folder_and_follows_moves() {
        use std::os::unix::fs::{MetadataExt, symlink};

        let mut tree = tree();
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(one.path(), "a", "text of a");
        write(one.path(), "old/b", "text of b");
        write(one.path(), "d", "text of d");
        tree.become_folder(one.path()).unwrap();
        let inode = |name: &str| fs::metadata(tree.cwd().join(name)).unwrap().ino();
        let before = (inode("a"), inode("old/b"));
        write(two.path(), "new/c", "text of a");
        write(two.path(), "d", "text of b");
        symlink("/etc/passwd", two.path().join("link")).unwrap();
        tree.become_folder(two.path()).unwrap();
        let Listing { files, folders } = Listing::of(&tree.cwd()).unwrap();
        assert_eq!(files, ["d", "new/c"].map(PathBuf::from).into());
        assert_eq!(folders, ["new"].map(PathBuf::from).into());
        let inode = |name: &str| fs::metadata(tree.cwd().join(name)).unwrap().ino();
        assert_eq!((inode("new/c"), inode("d")), before, "also over another");
    }
}
