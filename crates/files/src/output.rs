//! The one way in which commands write files that a person names: archives, pages, dumps of
//! requests, weights.
//!
//! A file is readable by its user alone. It is written next to its place and moved there once it is
//! complete, through a handle of the folder, so that changing links along the path cannot redirect
//! it. Must not know what is written.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use uuid::Uuid;

#[cfg(unix)]
mod left;

use super::private;
use base::error::{Error, Result};
use base::lock;

/// How the name of a temporary file ends.
const TEMPORARY_END: &str = ".new";

/// How a database of SQLite begins. Source: its file format, section 1.3.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// How the names of a store's other files end; the first is there while the store is in use.
const LOGS: [&str; 4] = ["-wal", "-shm", "-journal", "-ack"];

/// What this process wrote that is temporary and still there.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what this process wrote that is temporary: unfinished outputs, and the folders of all
/// [`Scratch`]. For a process that is told to end: none is begun until the guard is dropped, and
/// nothing is written into a folder by who asks [`Scratch::writing`].
pub fn remove_temporary() -> impl Sized {
    let mut all = lock(&TEMPORARY);
    for path in all.drain(..) {
        // What cannot be removed goes when the next process writes there.
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    all
}

/// A temporary name, and the entry of its path among those to be removed.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Temporary {
    fn in_folder(folder: &Path) -> Self {
        let path = folder.join(format!(".{}{TEMPORARY_END}", Uuid::new_v4().simple()));
        lock(&TEMPORARY).push(path.clone());
        Self(path)
    }

    fn name(&self) -> &OsStr {
        self.0.file_name().unwrap_or_default()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        lock(&TEMPORARY).retain(|path| *path != self.0);
    }
}

/// A folder for temporary files, for its user alone, which is removed when this is dropped; by
/// [`remove_temporary`]; or, if the process was killed, by the next one that writes beside it.
#[derive(Debug)]
pub struct Scratch {
    folder: Temporary,
    /// The lock by which others know that this folder is in use.
    #[cfg(unix)]
    _in_use: Option<OwnedFd>,
}

impl Scratch {
    /// Makes one in the system's folder for temporary files.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> io::Result<Self> {
        Self::in_folder(&std::env::temp_dir())
    }

    fn in_folder(parent: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        let in_use = Dir::open_ambient_dir(parent, ambient_authority())
            .ok()
            .and_then(|parent| left::tidy(&parent));
        let folder = Temporary::in_folder(parent);
        private::create_folder(&folder.0)?;
        Ok(Self {
            folder,
            #[cfg(unix)]
            _in_use: in_use,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    /// Holds off [`remove_temporary`], which would leave what is written meanwhile.
    pub fn writing(&self) -> MutexGuard<'static, Vec<PathBuf>> {
        lock(&TEMPORARY)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder.0);
    }
}

/// A file that is being written. If it is dropped before it is finished, the old file stays.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: File,
    /// The temporary file and its name; `None` if the output is written in place, as into a pipe of
    /// this process.
    beside: Option<Beside>,
}

#[derive(Debug)]
struct Beside {
    folder: Dir,
    temporary: Temporary,
    name: OsString,
    /// The lock by which others know that this file is in use.
    #[cfg(unix)]
    _in_use: Option<OwnedFd>,
}

impl Output {
    /// Begins a file. Descriptors that this process was given (`/dev/stdout`, `/dev/fd/N`) and
    /// character devices such as `/dev/null` are written to directly; a link is replaced, and its
    /// target stays as it is.
    ///
    /// # Errors
    /// `NOT_PRIVATE` for a file of another user; `FILE` if the path is a FIFO, a socket, a folder,
    /// a disk or a database or one of its logs, or the file cannot be made.
    pub fn create(path: &Path) -> Result<Self> {
        Self::create_over(path, is_database(path))
    }

    /// As [`Self::create`], for a database: it replaces another one, unless that is in use.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_database(path: &Path) -> Result<Self> {
        let is_in_use = with_end(path, LOGS[0]).exists();
        Self::create_over(path, is_in_use && is_database(path))
    }

    fn create_over(path: &Path, is_taken: bool) -> Result<Self> {
        let fail = |source| Error::File { act: "create", path: path.to_owned(), source };
        if is_taken || is_log(path) {
            let problem = "it is a database, or belongs to one";
            return Err(fail(io::Error::new(ErrorKind::AlreadyExists, problem)));
        }
        match fs::symlink_metadata(path) {
            _ if is_descriptor(path) => Self::in_place(path).map_err(fail),
            Ok(found) if private::is_character_device(&found) => Self::in_place(path).map_err(fail),
            Ok(found) if found.is_symlink() => Self::beside(path).map_err(fail),
            Ok(found) if !found.is_file() => {
                let is_folder = found.is_dir();
                let device = "a FIFO, a socket or a disk has this name";
                let problem = if is_folder { "it is a folder" } else { device };
                Err(fail(io::Error::new(ErrorKind::InvalidInput, problem)))
            }
            Ok(found) if private::is_of_another(&found) => {
                let problem = "it belongs to another user";
                Err(Error::NotPrivate { path: path.to_owned(), problem })
            }
            Ok(_) => Self::beside(path).map_err(fail),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::beside(path).map_err(fail),
            Err(error) => Err(fail(error)),
        }
    }

    fn in_place(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: private::open_to_append(path)?, beside: None })
    }

    fn beside(path: &Path) -> io::Result<Self> {
        let whole = std::path::absolute(path)?;
        let (Some(folder), Some(name)) = (whole.parent(), whole.file_name()) else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is a folder"));
        };
        let temporary = Temporary::in_folder(folder);
        let folder = Dir::open_ambient_dir(folder, ambient_authority())?;
        #[cfg(unix)]
        let in_use = left::tidy(&folder);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = folder.open_with(temporary.name(), &options)?.into_std();
        let beside = Beside {
            folder,
            temporary,
            name: name.to_owned(),
            #[cfg(unix)]
            _in_use: in_use,
        };
        Ok(Self { path: path.to_owned(), file, beside: Some(beside) })
    }

    /// The file to write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Where the file is until it is finished, for what writes by a path; `None` if the output is
    /// written in place.
    pub fn path_beside(&self) -> Option<PathBuf> {
        Some(self.beside.as_ref()?.temporary.0.clone())
    }

    /// Moves the file to its place once it is on the disk.
    ///
    /// # Errors
    /// `FILE`.
    pub fn finish(mut self) -> Result<()> {
        let placed = self.place();
        placed.map_err(|source| Error::File { act: "write", path: self.path.clone(), source })
    }

    fn place(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some(Beside { folder, temporary, name, .. }) = &self.beside else { return Ok(()) };
        self.file.sync_all()?;
        folder.rename(temporary.name(), folder, name)?;
        self.beside = None;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(Beside { folder, temporary, .. }) = &self.beside {
            // The error that got us here is reported; this is only cleanup.
            let _ = folder.remove_file(temporary.name());
        }
    }
}

/// Writes a whole file.
///
/// # Errors
/// As [`Output::create`] and [`Output::finish`].
pub fn write_output(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(path)?;
    let written = output.file().write_all(bytes);
    written.map_err(|source| Error::File { act: "write", path: path.to_owned(), source })?;
    output.finish()
}

/// Whether a path stands for a descriptor that this process was given.
fn is_descriptor(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return false };
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let folder = path.parent().unwrap_or(path);
    let is_numbered = ["/dev/fd", "/proc/self/fd"].iter().any(|known| folder == Path::new(known));
    (is_number && is_numbered)
        || (folder == Path::new("/dev") && ["stdout", "stderr"].contains(&name))
}

/// Whether a regular file is a database of SQLite, such as a store. A link to one is replaced.
fn is_database(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let begins = || {
        let mut start = Vec::new();
        File::open(path)?.take(SQLITE.len() as u64).read_to_end(&mut start)?;
        io::Result::Ok(start == SQLITE)
    };
    is_file && begins().unwrap_or(false)
}

/// Whether a name is that of a file beside a database, which holds what was written last.
fn is_log(path: &Path) -> bool {
    let name = path.as_os_str().to_str().unwrap_or_default();
    LOGS.iter().any(|log| name.strip_suffix(log).is_some_and(|name| is_database(Path::new(name))))
}

/// A path with something after its name.
pub fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_database_is_replaced_by_one_alone_and_only_if_unused() {
        let folder = folder();
        let [store, log] =
            ["store.sqlite", "store.sqlite-wal"].map(|name| folder.path().join(name));
        fs::write(&store, [SQLITE, b"and more"].concat()).unwrap();
        assert!(Output::create(&store).is_err() && Output::create(&log).is_err());
        Output::create_database(&store).unwrap();
        fs::write(&log, "").unwrap();
        assert!(Output::create_database(&store).is_err() && Output::create_database(&log).is_err());
        fs::write(&store, "no database").unwrap();
        Output::create(&store).unwrap();
        assert_eq!(names(folder.path()), ["store.sqlite", "store.sqlite-wal"]);
    }

    #[test]
    fn a_file_is_there_once_it_is_whole_for_its_user_alone() {
        let folder = folder();
        let path = folder.path().join("a");
        fs::write(&path, "before").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(Output::create(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_a_killed_process_left_goes_once_nobody_writes_there() {
        let folder = folder();
        let left = format!(".{}.new", Uuid::new_v4().simple());
        for name in [left.as_str(), ".mine.new", "b.new"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let create = |name: &str| Output::create(&folder.path().join(name)).unwrap();
        let first = create("a");
        assert_eq!(names(folder.path()).len(), 3);
        create("c").finish().unwrap();
        first.finish().unwrap();
        assert_eq!(names(folder.path()), [".mine.new", "a", "b.new", "c"]);
    }

    #[test]
    fn a_scratch_folder_is_private_and_goes_as_outputs_do() {
        let folder = folder();
        let left = folder.path().join(format!(".{}.new", Uuid::new_v4().simple()));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("a"), "").unwrap();
        let scratch = Scratch::in_folder(folder.path()).unwrap();
        assert!(!left.exists());
        fs::create_dir(scratch.path().join("b")).unwrap();
        assert_eq!(fs::metadata(scratch.path()).unwrap().permissions().mode() & 0o777, 0o700);
        write_output(&folder.path().join("c"), b"").unwrap();
        assert!(scratch.path().join("b").exists(), "it is in use");
        drop(scratch);
        assert_eq!(names(folder.path()), ["c"]);
    }

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_stays() {
        let folder = folder();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "mine").unwrap();
        symlink(&target, &link).unwrap();
        write_output(&link, b"written").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&link).unwrap(), "written");
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_fifo_a_socket_and_a_folder_are_refused_at_once_and_stay() {
        let folder = folder();
        let place = |name: &str| folder.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, place("fifo"), rustix::fs::Mode::RUSR).unwrap();
        let _listener = UnixListener::bind(place("socket")).unwrap();
        fs::create_dir(place("folder")).unwrap();
        for name in ["fifo", "socket", "folder"] {
            let error = write_output(&place(name), b"x").unwrap_err();
            assert_eq!(error.code(), "FILE", "{name}");
        }
        assert_eq!(names(folder.path()), ["fifo", "folder", "socket"]);
        // A link to a FIFO is a link: it is replaced.
        symlink(place("fifo"), place("link")).unwrap();
        write_output(&place("link"), b"x").unwrap();
        assert_eq!(fs::read_to_string(place("link")).unwrap(), "x");
    }

    #[test]
    fn devices_that_swallow_are_written_to() {
        write_output(Path::new("/dev/null"), b"x").unwrap();
        let error = write_output(Path::new("/nowhere/at/all"), b"x").unwrap_err();
        assert_eq!(error.code(), "FILE");
    }

    #[test]
    fn output_stays_in_its_folder_if_a_link_replaces_that() {
        let folder = folder();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        let output = Output::create(&first.join("a")).unwrap();
        fs::rename(&first, folder.path().join("moved")).unwrap();
        symlink(&second, &first).unwrap();
        output.finish().unwrap();
        assert_eq!(names(&second), [""; 0]);
        assert_eq!(names(&folder.path().join("moved")), ["a"]);
    }

    #[test]
    fn only_what_the_process_was_given_is_a_descriptor() {
        for path in ["/dev/stdout", "/dev/stderr", "/dev/fd/63", "/proc/self/fd/1"] {
            assert!(is_descriptor(Path::new(path)), "{path}");
        }
        for path in ["/dev/fd/x", "/tmp/fd/1", "stdout", "/dev/fd/../sda", "/proc/1/fd/1", "/"] {
            assert!(!is_descriptor(Path::new(path)), "{path}");
        }
    }
}
