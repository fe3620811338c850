//! What is at a project's path, so that another repository, or one of another user, is not mistaken
//! for the trusted one; and whether git may have a file there. Reads git's own files and runs
//! nothing. Must not decide what follows from them.

use config::address_without_secret;
use files::looks;
use files::private::{FolderAccess, Held, HeldFolder};
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use source::read_text;

/// Maximum size of a git file that is read.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
const MAX_INDEX_BYTES: u64 = 256 << 20;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// User ID of the folder's owner; 0 where the system has none.
    owner: u32,
    /// The origin of the repository whose root the folder is: the URL of its remote `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// The folder's inode number; 0 where the system has none.
    inode: u64,
    /// When the folder was made, in nanoseconds since 1970, if that is known: a filesystem gives the
    /// number of a folder that is gone to the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<i64>,
}

impl Identity {
    /// What is at a real path now.
    pub fn of(project: &Path) -> Self {
        let found = looks::metadata(project).ok();
        let (owner, inode) = found.as_ref().map_or((0, 0), owner_of);
        let is_root = looks::symlink_metadata(&project.join(".git")).is_ok();
        // A repository around the folder does not say what is in it.
        let origin = origin_of(project).filter(|_| is_root);
        Self { owner, origin, inode, born: found.as_ref().and_then(born_of) }
    }

    /// Whether the same thing is still there. A repository is identified by its origin, and a
    /// folder without one by itself: the folder may become a repository later, and a repository may
    /// be cloned anew.
    pub(super) fn is_still(&self, project: &Path) -> bool {
        let now = Self::of(project);
        let is_same = if self.origin.is_some() {
            now.origin == self.origin
        } else {
            self.is_same_folder(&now)
        };
        is_same && now.owner == self.owner
    }

    /// The same without what may be a password in the origin, to keep beside other things.
    #[must_use]
    pub fn without_secret(self) -> Self {
        let origin = self.origin.as_deref().map(address_without_secret);
        Self { origin, ..self }
    }

    /// Whether the same folder is there, or the same repository, whoever owns it; also where that
    /// cannot be told, as on a disk that does not answer.
    pub fn is_at(&self, project: &Path) -> bool {
        let now = Self::of(project);
        let is_unknown = |one: &Self| one.inode == 0 && one.born.is_none();
        let origins = [self, &now].map(|one| one.origin.as_deref().map(address_without_secret));
        let is_same_repository = origins[0].is_some() && origins[0] == origins[1];
        self.is_same_folder(&now) || is_same_repository || is_unknown(self) || is_unknown(&now)
    }

    fn is_same_folder(&self, now: &Self) -> bool {
        // Not every filesystem knows the time.
        let is_same_age = self.born.zip(now.born).is_none_or(|(was, is)| was == is);
        now.inode == self.inode && is_same_age
    }
}

fn born_of(found: &Metadata) -> Option<i64> {
    let age = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(age.as_nanos()).ok()
}

#[cfg(unix)]
fn owner_of(found: &Metadata) -> (u32, u64) {
    use std::os::unix::fs::MetadataExt;

    (found.uid(), found.ino())
}

#[cfg(not(unix))]
fn owner_of(_found: &Metadata) -> (u32, u64) {
    (0, 0)
}

/// Whether git has a file, or may have it; then it belongs to the repository, or to one within it, as
/// a submodule is. `None` where there is no repository: anybody may have put the file there.
///
/// `path`: absolute.
pub fn held_by_git(path: &Path) -> Option<bool> {
    let (root, git) = repository(path.parent()?)?;
    Some(may_hold(&root, &index_of(&git), path))
}

/// What is checked out in the repository of a folder: the name of the branch's reference, or a
/// commit. `None` where there is no repository.
pub fn checked_out(folder: &Path) -> Option<String> {
    let (_, git) = repository(folder)?;
    Some(text_of(&git.join("HEAD"))?.trim().trim_start_matches("ref: ").to_owned())
}

/// Whether a file was written here since git wrote it, or is new: git's index does not
/// have it, or has it with another time or size. `false` where that cannot be told; `None` where there is
/// no repository.
///
/// `path`: absolute. Format of the index: <https://git-scm.com/docs/index-format>.
pub fn is_written_here(path: &Path) -> Option<bool> {
    let (root, git) = repository(path.parent()?)?;
    let index = index_of(&git);
    if !may_hold(&root, &index, path) {
        return Some(true);
    }
    let differs = || {
        let Ok(Held::Bytes(index)) = &index else { return None };
        let name = path.strip_prefix(&root).ok()?.to_string_lossy().replace('\\', "/");
        let stamp = source::stamp(path)?;
        let (seconds, nanos, size) = index_entry(index, &name)?;
        let now =
            (stamp.mtime_ns.div_euclid(1_000_000_000), stamp.mtime_ns.rem_euclid(1_000_000_000));
        // Git notes size 0 of a file that was changed in the same moment.
        let is_other_size = u64::try_from(size) != Ok(stamp.size);
        Some(is_other_size || now.0 != seconds || (nanos != 0 && now.1 != nanos))
    };
    Some(differs().unwrap_or(false))
}

/// When a file was changed that git last wrote or compared, in seconds and nanoseconds, and its size.
fn index_entry(index: &[u8], name: &str) -> Option<(i64, i64, i64)> {
    let number = |at: usize| {
        let bytes = index.get(at..at + 4)?.try_into().ok()?;
        Some(i64::from(u32::from_be_bytes(bytes)))
    };
    let named = [name.as_bytes(), b"\0"].concat();
    let length = |flags: usize| {
        let bytes = index.get(flags..flags + 2)?;
        Some((usize::from(bytes[0] & 0x0f) << 8) | usize::from(bytes[1]))
    };
    memchr::memmem::find_iter(index, &named).find_map(|at| {
        // The name stands behind 62 bytes, or 64 in an entry with more flags.
        let start = [62, 64].into_iter().find_map(|before| {
            let start = at.checked_sub(before)?;
            (length(start + 60)? == name.len()).then_some(start)
        })?;
        Some((number(start + 8)?, number(start + 12)?, number(start + 36)?))
    })
}

fn index_of(git: &Path) -> io::Result<Held> {
    let git = git.to_owned();
    let read = looks::together(move || match HeldFolder::open(&git, FolderAccess::Shared) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Held::Missing),
        opened => opened?.read("index", MAX_INDEX_BYTES),
    });
    read.unwrap_or_else(|| Err(looks::no_answer()))
}

fn may_hold(root: &Path, index: &io::Result<Held>, path: &Path) -> bool {
    let Ok(within) = path.strip_prefix(root) else { return true };
    let name = within.to_string_lossy().replace('\\', "/").to_lowercase();
    let index = match index {
        Ok(Held::Bytes(bytes)) => bytes,
        Ok(Held::Missing) => return false,
        Ok(Held::TooLarge(_)) | Err(_) => return true,
    };
    // Version 4 shortens names, and other forms keep some entries elsewhere, so the answer is
    // unknown.
    let version = index.get(4..8);
    let is_plain = index.starts_with(b"DIRC")
        && (version == Some(&[0, 0, 0, 2]) || version == Some(&[0, 0, 0, 3]));
    let names_others = ["link\0\0", "sdir\0\0"].iter().any(|part| contains(index, part.as_bytes()));
    !is_plain || names_others || contains(&index.to_ascii_lowercase(), name.as_bytes())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(bytes, part).is_some()
}

/// The root of the repository that a folder is in, and its git folder.
fn repository(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let root =
        folder.ancestors().find(|above| looks::symlink_metadata(&above.join(".git")).is_ok())?;
    let git = root.join(".git");
    match text_of(&git) {
        // A worktree or a submodule.
        Some(text) => Some((root.to_owned(), root.join(text.strip_prefix("gitdir:")?.trim()))),
        None => Some((root.to_owned(), git)),
    }
}

/// What all worktrees of a repository have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Main {
    /// The main checkout: where the folder asked about is in it.
    Checkout(PathBuf),
    /// The git folder of a repository without one, as worktrees around a bare repository have it.
    GitFolder(PathBuf),
}

/// What a folder of a linked worktree has in common with the repository's others; `None` in any other
/// folder.
pub fn main_of(folder: &Path) -> Option<Main> {
    let (root, git) = repository(folder)?;
    let git = looks::canonicalize(&git).ok()?;
    let common = looks::canonicalize(&git.join(text_of(&git.join("commondir"))?.trim())).ok()?;
    // Files that come with a folder may name any repository: one that has the worktree holds its git
    // folder, and names in there where it is. A link in the place of `.git` is not where it is.
    let back = git.join(text_of(&git.join("gitdir"))?.trim());
    let is_of_it = git.parent() == Some(common.join("worktrees").as_path())
        && looks::canonicalize(&back).ok()? == looks::canonicalize(&root).ok()?.join(".git");
    match common.parent().filter(|_| is_of_it)? {
        main if common.ends_with(".git") => {
            let within = folder.strip_prefix(&root).ok()?;
            Some(Main::Checkout(main.components().chain(within.components()).collect()))
        }
        _ => Some(Main::GitFolder(common)),
    }
}

/// The origin of the repository that a folder is in.
fn origin_of(folder: &Path) -> Option<String> {
    let (_, git) = repository(folder)?;
    let common = text_of(&git.join("commondir")).map(|text| git.join(text.trim()));
    let config = text_of(&common.unwrap_or(git).join("config"))?;
    let mut lines =
        config.lines().map(str::trim).skip_while(|line| *line != "[remote \"origin\"]").skip(1);
    let of_origin = lines.by_ref().take_while(|line| !line.starts_with('['));
    of_origin
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| key.trim() == "url")
        .map(|(_, url)| url.trim().to_owned())
}

fn text_of(file: &Path) -> Option<String> {
    read_text(file, MAX_CONFIG_BYTES)
}
