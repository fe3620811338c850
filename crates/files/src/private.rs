//! Our files belong to their user alone: how they are made and opened, and which are refused. A
//! link planted in their place is never followed. Must not know what is in them.

mod held;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

pub use self::held::{FolderAccess, Held, HeldFolder, Placed, is_link};
pub use self::owner::{
    is_character_device, is_of_another, is_open_to_all, open_to_append, open_without_waiting,
};
use base::error::{Error, Result};

/// Refuses a file that is a link or no regular file, belongs to another user, has a second name, or
/// can be read or changed by others. A missing file passes. Windows: refuses only links; there the
/// folder's access list decides who may do what.
///
/// # Errors
/// `NOT_PRIVATE`; `FILE` if the system does not say what is there.
pub fn check_file(path: &Path) -> Result<()> {
    check(path, fs::symlink_metadata(path), problem_of_file)
}

/// Refuses a folder in which another user could replace our files. Follows links; a missing folder
/// passes.
///
/// # Errors
/// As [`check_file`].
pub fn check_folder(path: &Path) -> Result<()> {
    check(path, fs::metadata(path), owner::problem_of_folder)
}

/// As [`check_folder`], for a folder that is held open. Whether the owner of a project's folder is
/// acceptable is for the code that trusts the project to say.
///
/// # Errors
/// As [`check_file`].
pub fn check_held(folder: &HeldFolder) -> Result<()> {
    let problem = |found: &_| owner::problem_of_held(found, folder.access());
    check(folder.path(), folder.metadata(), problem)
}

/// Opens a file that [`check_file`] accepts, for reading and writing; with `create`, makes a
/// missing one.
pub fn open(path: &Path, create: bool) -> io::Result<File> {
    checked(options().read(true).write(true).create(create).truncate(false).open(path)?)
}

/// As [`open`], for reading only.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    checked(options().read(true).open(path)?)
}

/// Opens any user's file for reading if it is a regular file. Never waits for anything else, and
/// opens nothing whose opening may have effects.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let refuse = || io::Error::new(ErrorKind::InvalidInput, "it is not a regular file");
    if !fs::metadata(path)?.is_file() {
        return Err(refuse());
    }
    let file = open_without_waiting(path)?;
    // Another entry may have taken its place.
    if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
}

/// Makes a file that does not exist yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Makes a folder and its missing ancestors, accessible to their user only.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    owner::restrict(&mut options);
    options
}

fn checked(file: File) -> io::Result<File> {
    match problem_of_file(&file.metadata()?) {
        None => Ok(file),
        Some(problem) => Err(io::Error::new(ErrorKind::PermissionDenied, problem)),
    }
}

fn check<M>(
    path: &Path,
    found: io::Result<M>,
    problem: impl FnOnce(&M) -> Option<&'static str>,
) -> Result<()> {
    let path = || path.to_owned();
    match found.map(|found| problem(&found)) {
        Ok(Some(problem)) => Err(Error::NotPrivate { path: path(), problem }),
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Error::File { act: "check", path: path(), source })
        }
        _ => Ok(()),
    }
}

fn problem_of_file(found: &Metadata) -> Option<&'static str> {
    if found.is_symlink() {
        Some("it is a link")
    } else if !found.is_file() {
        Some("it is not a regular file")
    } else {
        owner::problem_of_file(found)
    }
}

#[cfg(unix)]
mod owner {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

    use super::FolderAccess;

    const ROOT: u32 = 0;

    /// Restricts a file to its user; follows no link in the last part of the path, and does not
    /// wait for the other end of a pipe.
    pub(super) fn restrict(options: &mut OpenOptions) {
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }

    /// Opens a file for reading; waits for nobody, whatever it is.
    pub fn open_without_waiting(path: &Path) -> io::Result<File> {
        File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
    }

    /// Opens an existing file to append to it, without waiting for a reader.
    pub fn open_to_append(path: &Path) -> io::Result<File> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = File::options().append(true).custom_flags(flags).open(path)?;
        // Opening waits for nobody; writing waits for the reader.
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        Ok(file)
    }

    /// Whether it is a device that keeps no bytes, such as a terminal or `/dev/null`.
    pub fn is_character_device(found: &Metadata) -> bool {
        found.file_type().is_char_device()
    }

    /// Whether it belongs to another user.
    pub fn is_of_another(found: &Metadata) -> bool {
        found.uid() != user()
    }

    /// Whether every user of the machine may change a file.
    pub fn is_open_to_all(found: &Metadata) -> bool {
        found.mode() & 0o002 != 0
    }

    pub(super) fn problem_of_file(found: &Metadata) -> Option<&'static str> {
        if is_of_another(found) {
            Some("it belongs to another user")
        } else if found.mode() & 0o077 != 0 {
            Some("others may read or change it")
        } else if found.nlink() > 1 {
            Some("it has a second name (a hard link)")
        } else {
            None
        }
    }

    pub(super) fn problem_of_folder(found: &Metadata) -> Option<&'static str> {
        if ![user(), ROOT].contains(&found.uid()) {
            Some("the folder belongs to another user")
        } else if found.mode() & 0o022 != 0 {
            Some("others may put files into the folder")
        } else {
            None
        }
    }

    /// The user's own group does not count as others: where each user has one, a umask of 002 lets
    /// it write.
    pub(super) fn problem_of_held(
        found: &cap_std::fs::Metadata,
        access: FolderAccess,
    ) -> Option<&'static str> {
        use cap_std::fs::MetadataExt;

        let is_foreign = access == FolderAccess::Private && ![user(), ROOT].contains(&found.uid());
        let own_group = rustix::process::getegid().as_raw();
        let by_others = if found.gid() == own_group { 0o002 } else { 0o022 };
        if is_foreign {
            Some("the folder belongs to another user")
        } else if found.mode() & by_others != 0 {
            Some("others may put files into the folder")
        } else {
            None
        }
    }

    fn user() -> u32 {
        rustix::process::geteuid().as_raw()
    }
}

#[cfg(not(unix))]
mod owner {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    use super::FolderAccess;

    pub(super) fn problem_of_held(
        _found: &cap_std::fs::Metadata,
        _access: FolderAccess,
    ) -> Option<&'static str> {
        None
    }

    pub(super) fn restrict(_options: &mut OpenOptions) {}

    /// Opens a file for reading; waits for nobody, whatever it is.
    pub fn open_without_waiting(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    /// Opens an existing file to append to it, without waiting for a reader.
    pub fn open_to_append(path: &Path) -> io::Result<File> {
        File::options().append(true).open(path)
    }

    /// Whether it is a device that keeps no bytes, such as a terminal or `/dev/null`.
    pub fn is_character_device(_found: &Metadata) -> bool {
        false
    }

    /// Whether it belongs to another user.
    pub fn is_of_another(_found: &Metadata) -> bool {
        false
    }

    /// Whether every user of the machine may change a file.
    pub fn is_open_to_all(_found: &Metadata) -> bool {
        false
    }

    pub(super) fn problem_of_file(_found: &Metadata) -> Option<&'static str> {
        None
    }

    pub(super) fn problem_of_folder(_found: &Metadata) -> Option<&'static str> {
        None
    }
}
