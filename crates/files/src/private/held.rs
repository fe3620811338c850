//! A folder that is opened once and held. Operations in it take plain names and stay in it,
//! whatever its path leads to by then: no link is followed, and only regular files are read,
//! written or replaced. Must not know what the files hold.

use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, File, FileType, Metadata, OpenOptions};

/// Who may read what is made in a folder. Nobody else may ever change it, whatever the umask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderAccess {
    /// Only its user.
    Private,
    /// Everybody, as far as the umask allows: for what a project shares.
    Shared,
}

/// A folder, held open.
#[derive(Debug)]
pub struct HeldFolder {
    dir: Dir,
    path: PathBuf,
    access: FolderAccess,
}

/// What a name in a folder stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// The bytes of a regular file.
    Bytes(Vec<u8>),
    /// Nothing.
    Missing,
    /// A regular file with more bytes than allowed: how many.
    TooLarge(u64),
}

/// What happened to a prepared file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// The file that stood in its place now has its name.
    Exchanged,
    /// It took the place; the old file is gone.
    Replaced,
    /// A file stands in the place, which should be empty. Nothing was done.
    Taken,
}

/// Why an existing entry was refused.
const LINK: &str = "it is a link";
const NO_FILE: &str = "it is not a regular file";

fn refused(problem: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, problem)
}

/// Whether an error of this module says that a link was in the way.
pub fn is_link(error: &io::Error) -> bool {
    let said = error.get_ref().map(ToString::to_string);
    error.kind() == ErrorKind::InvalidInput && said.as_deref() == Some(LINK)
}

impl HeldFolder {
    /// Opens a folder at the path that its user gave; links along that path are followed.
    pub fn open(path: &Path, access: FolderAccess) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { dir, path: path.to_owned(), access })
    }

    /// Opens the folder `name` in this one.
    pub fn within(&self, name: &str) -> io::Result<Self> {
        let found = self.dir.symlink_metadata(name)?;
        if found.is_symlink() {
            return Err(refused(LINK));
        }
        let dir = self.dir.open_dir_nofollow(name)?;
        Ok(Self { dir, path: self.path.join(name), access: self.access })
    }

    /// As [`Self::within`], after making the folder if it is missing.
    pub fn made_within(&self, name: &str) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        cap_std::fs::DirBuilderExt::mode(
            &mut builder,
            if self.access == FolderAccess::Private { 0o700 } else { 0o755 },
        );
        match self.dir.create_dir_with(name, &builder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => self.within(name),
        }
    }

    /// The path at which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who may read what is made in it.
    pub fn access(&self) -> FolderAccess {
        self.access
    }

    /// Metadata of the folder itself.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.dir.dir_metadata()
    }

    /// Metadata of the regular file `name`; `None` if nothing is there.
    pub fn metadata_of(&self, name: &str) -> io::Result<Option<Metadata>> {
        match self.dir.symlink_metadata(plain(name)?) {
            Ok(found) if found.is_symlink() => Err(refused(LINK)),
            Ok(found) if !found.is_file() => Err(refused(NO_FILE)),
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a file of at most `max_bytes`.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Held> {
        let Some(found) = self.metadata_of(name)? else { return Ok(Held::Missing) };
        if found.len() > max_bytes {
            return Ok(Held::TooLarge(found.len()));
        }
        let file = match self.open_file(name, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Held::Missing),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        let size = bytes.len() as u64;
        Ok(if size > max_bytes { Held::TooLarge(size) } else { Held::Bytes(bytes) })
    }

    /// Opens a file to append to it; makes it if it is missing.
    pub fn open_to_append(&self, name: &str) -> io::Result<File> {
        self.metadata_of(name)?;
        self.open_file(name, OpenOptions::new().read(true).append(true).create(true))
    }

    /// Writes a file that [`Self::place`] later moves to `target`; it is on the disk when this
    /// returns. Nothing may have its name yet.
    pub fn prepare(&self, prepared: &str, target: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.open_file(prepared, OpenOptions::new().write(true).create_new(true))?;
        file.write_all(bytes)?;
        self.keep_permissions(target, &file)?;
        file.sync_all()?;
        self.sync()
    }

    /// Writes a file in one step: beside it, onto the disk, and then into its place.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.metadata_of(name)?;
        let prepared = format!(".{name}.{}.tmp", uuid::Uuid::new_v4().simple());
        self.prepare(&prepared, name, bytes)?;
        let placed = self.dir.rename(&prepared, &self.dir, name);
        if placed.is_err() {
            // The first error is the one to report.
            drop(self.remove(&prepared));
        }
        placed?;
        self.sync()
    }

    /// Moves a prepared file to its place. `is_empty`: whether the place should be empty. Where the
    /// system can, the two files swap places, so that whatever stood there at that moment is kept.
    pub fn place(&self, prepared: &str, target: &str, is_empty: bool) -> io::Result<Placed> {
        self.metadata_of(prepared)?;
        self.metadata_of(target)?;
        let placed = match atomic::rename(&self.dir, prepared, target, is_empty) {
            Ok(()) if is_empty => Placed::Replaced,
            Ok(()) => Placed::Exchanged,
            Err(error) if is_empty && error.kind() == ErrorKind::AlreadyExists => Placed::Taken,
            // Nothing is left there to swap with.
            Err(error) if !is_empty && error.kind() == ErrorKind::NotFound => Placed::Taken,
            Err(error) if atomic::is_unknown(&error) => {
                if is_empty && self.metadata_of(target)?.is_some() {
                    return Ok(Placed::Taken);
                }
                self.dir.rename(prepared, &self.dir, target)?;
                Placed::Replaced
            }
            Err(error) => return Err(error),
        };
        self.sync()?;
        Ok(placed)
    }

    /// Renames a file. Its new name must be free or belong to a regular file.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.metadata_of(from)?;
        self.metadata_of(to)?;
        self.dir.rename(from, &self.dir, to)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        if self.metadata_of(name)?.is_none() {
            return Ok(());
        }
        match self.dir.remove_file(plain(name)?) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Lists the folder: at most `max` names that are valid text, each with its file type, in no
    /// order.
    pub fn entries(&self, max: usize) -> io::Result<Vec<(String, FileType)>> {
        let entries = self.dir.entries()?.take(max).flatten();
        let named = entries.filter_map(|entry| {
            Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?))
        });
        Ok(named.collect())
    }

    /// Waits until the names in the folder are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        // Windows has no such call: there a rename is on the disk when the file is.
        if cfg!(unix) {
            match self.dir.open(".")?.sync_all() {
                // Filesystems served by another program often have no such call.
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Opens a file without following a link or waiting for the other end of a pipe.
    pub fn open_file(&self, name: &str, options: &mut OpenOptions) -> io::Result<File> {
        options.follow(FollowSymlinks::No).nonblock(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(
            options,
            if self.access == FolderAccess::Private { 0o600 } else { 0o644 },
        );
        let file = self.dir.open_with(plain(name)?, options)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(refused(NO_FILE)) }
    }

    /// A replaced file passes on its permissions, except those that would let others change it. If
    /// they cannot be set because the file belongs to another user, they stay as they are.
    fn keep_permissions(&self, of: &str, to: &File) -> io::Result<()> {
        #[cfg(unix)]
        if let Some(found) = self.metadata_of(of)? {
            use cap_std::fs::{MetadataExt, Permissions, PermissionsExt};
            drop(to.set_permissions(Permissions::from_mode(found.mode() & 0o755)));
        }
        #[cfg(not(unix))]
        if let Some(found) = self.metadata_of(of)? {
            drop(to.set_permissions(found.permissions()));
        }
        Ok(())
    }
}

/// A name without a folder in it.
fn plain(name: &str) -> io::Result<&str> {
    let is_plain =
        !name.is_empty() && ![".", ".."].contains(&name) && !name.contains(['/', '\\', '\0']);
    if is_plain { Ok(name) } else { Err(refused("its name is not a plain name")) }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod atomic {
    use std::io;

    use cap_std::fs::Dir;
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    /// Swaps two files, or moves one to a place that is empty.
    pub(super) fn rename(dir: &Dir, from: &str, to: &str, is_empty: bool) -> io::Result<()> {
        let flags = if is_empty { RenameFlags::NOREPLACE } else { RenameFlags::EXCHANGE };
        Ok(renameat_with(dir, from, dir, to, flags)?)
    }

    /// Whether the system, or this filesystem, has no such call.
    pub(super) fn is_unknown(error: &io::Error) -> bool {
        let unknown = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
        error
            .raw_os_error()
            .is_some_and(|code| unknown.iter().any(|one| one.raw_os_error() == code))
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod atomic {
    use std::io::{self, ErrorKind};

    use cap_std::fs::Dir;

    pub(super) fn rename(_dir: &Dir, _from: &str, _to: &str, _is_empty: bool) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn is_unknown(error: &io::Error) -> bool {
        error.kind() == ErrorKind::Unsupported
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
