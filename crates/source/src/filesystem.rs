//! The ID of the filesystem that this process runs in, and the platform's data folder.
//!
//! The ID of every stored file depends on the filesystem ID, so the way it is made must never
//! change.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::container::Clues;
use base::error::{Error, Result};
use base::object::Hash;
use files::private;

/// Name of the file in the data folder that keeps the ID of a machine without one.
const ID_FILE: &str = "filesystem-id";

/// The filesystem of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFilesystem {
    /// Its ID.
    pub id: String,
    /// Whether it is a container's. Volumes are then filesystems of their own, see
    /// [`super::Namespace::in_container`].
    pub is_container: bool,
}

/// Finds the filesystem of this process.
///
/// Tries in this order: `env` (the value of `PALIMPSEST_FILESYSTEM_ID`) and `setting`
/// (`filesystemId`), both verbatim except for surrounding white space; in a container, the SHA-256
/// of the container's ID, because an image gives all its containers one machine ID; the SHA-256 of
/// the machine's ID, trimmed, as 64 hexadecimal digits; on a machine without one (absent, empty,
/// `uninitialized`) a random UUID, created once and kept in the file `filesystem-id` of
/// `data_folder`. Processes that create it at the same time agree on one ID.
///
/// `holds_files`: whether the store holds files of a filesystem. It is called only in a container,
/// once, with the ID that this process would have outside one (the machine's or the kept one):
/// files stored under that ID keep it.
///
/// # Errors
/// `INVALID_ARGUMENT` if `env` or `setting` is given but blank; `FILE` if the kept ID cannot be
/// read or written, or is not a UUID; errors of `holds_files`.
pub fn own_filesystem(
    env: Option<&str>,
    setting: Option<&str>,
    data_folder: &Path,
    holds_files: impl Fn(&str) -> Result<bool>,
) -> Result<OwnFilesystem> {
    let machine = machine_id().as_deref().and_then(usable_machine_id).map(str::to_owned);
    let found = || Clues::found(machine.clone()).container();
    own_filesystem_of((env, setting), machine.as_deref(), found, data_folder, holds_files)
}

fn own_filesystem_of(
    (env, setting): (Option<&str>, Option<&str>),
    machine: Option<&str>,
    container: impl Fn() -> Option<String>,
    data_folder: &Path,
    holds_files: impl Fn(&str) -> Result<bool>,
) -> Result<OwnFilesystem> {
    let plain = |id| OwnFilesystem { id, is_container: false };
    for (name, value) in [("PALIMPSEST_FILESYSTEM_ID", env), ("filesystemId", setting)] {
        if let Some(value) = value {
            let value = value.trim();
            return match value {
                "" => Err(Error::argument(name, "is empty")),
                _ => Ok(plain(value.to_owned())),
            };
        }
    }
    let machine = machine.map(hashed);
    if let Some(container) = container() {
        let before = machine.clone().or_else(|| read_id(&data_folder.join(ID_FILE)));
        let is_kept = before.as_deref().map(holds_files).transpose()?.unwrap_or(false);
        if !is_kept {
            return Ok(OwnFilesystem { id: hashed(&container), is_container: true });
        }
    }
    match machine {
        Some(id) => Ok(plain(id)),
        None => kept_id(data_folder).map(plain),
    }
}

/// The platform's folder for Palimpsest's data: `$XDG_DATA_HOME/palimpsest` or
/// `~/.local/share/palimpsest`; on macOS `~/Library/Application Support/palimpsest`; on Windows
/// `%APPDATA%\palimpsest`. It may not exist yet.
///
/// # Errors
/// `INVALID_ARGUMENT` if the environment names no home folder.
pub fn data_folder() -> Result<PathBuf> {
    data_folder_in(std::env::consts::OS, std::env::home_dir(), |name| std::env::var_os(name))
}

fn data_folder_in(
    system: &str,
    home: Option<PathBuf>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf> {
    // The XDG specification says to ignore relative paths; the same is right for `%APPDATA%`.
    let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.filter(|home| home.is_absolute());
    let data = match system {
        "windows" => folder("APPDATA").or_else(|| Some(home?.join("AppData").join("Roaming"))),
        "macos" => home.map(|home| home.join("Library").join("Application Support")),
        _ => folder("XDG_DATA_HOME").or_else(|| Some(home?.join(".local").join("share"))),
    };
    data.map(|data| data.join("palimpsest"))
        .ok_or_else(|| Error::argument("HOME", "names no folder for data"))
}

fn usable_machine_id(text: &str) -> Option<&str> {
    // systemd writes `uninitialized` while the first boot has not finished.
    Some(text.trim()).filter(|id| !id.is_empty() && *id != "uninitialized")
}

/// The filesystem ID of what identifies a machine or a container.
fn hashed(identity: &str) -> String {
    Hash::of(identity).as_str().to_owned()
}

#[cfg(target_os = "macos")]
fn machine_id() -> Option<String> {
    let output = std::process::Command::new("/usr/sbin/ioreg")
        .args(["-rd1", "-c", "IOPlatformExpertDevice"])
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    platform_uuid(&String::from_utf8_lossy(&output.stdout)).map(str::to_owned)
}

#[cfg(windows)]
fn machine_id() -> Option<String> {
    use std::os::windows::process::CommandExt;

    /// Keeps a console window from flashing up.
    const CREATE_NO_WINDOW: u32 = 0x0800_0000;

    let system = PathBuf::from(std::env::var_os("SystemRoot")?).join("System32");
    let output = std::process::Command::new(system.join("reg.exe"))
        .args(["query", r"HKLM\SOFTWARE\Microsoft\Cryptography", "/v", "MachineGuid", "/reg:64"])
        .stdin(std::process::Stdio::null())
        .creation_flags(CREATE_NO_WINDOW)
        .output()
        .ok()?;
    machine_guid(&String::from_utf8_lossy(&output.stdout)).map(str::to_owned)
}

#[cfg(not(any(target_os = "macos", windows)))]
fn machine_id() -> Option<String> {
    first_usable(&["/etc/machine-id", "/var/lib/dbus/machine-id"])
}

#[cfg(any(test, not(any(target_os = "macos", windows))))]
fn first_usable(files: &[&str]) -> Option<String> {
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    texts.into_iter().find(|text| usable_machine_id(text).is_some())
}

/// Finds the UUID in what `ioreg` prints: a line `"IOPlatformUUID" = "…"`.
#[cfg(any(test, target_os = "macos"))]
fn platform_uuid(output: &str) -> Option<&str> {
    let (_, rest) = output.split_once("\"IOPlatformUUID\"")?;
    rest.split('"').nth(1)
}

/// Finds the GUID in what `reg query` prints: a line `MachineGuid    REG_SZ    …`.
#[cfg(any(test, windows))]
fn machine_guid(output: &str) -> Option<&str> {
    let line = output.lines().find(|line| line.trim_start().starts_with("MachineGuid"))?;
    line.split_whitespace().nth(2)
}

/// Reads the kept ID, or creates it.
fn kept_id(folder: &Path) -> Result<String> {
    let path = folder.join(ID_FILE);
    if let Some(id) = read_id(&path) {
        return Ok(id);
    }
    make_id(folder, &path).map_err(|source| Error::File { act: "read or create", path, source })
}

fn read_id(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().and_then(|text| parse_id(&text).ok())
}

/// Reads the ID under a lock, or writes a new one. The lock makes all processes see the first one's
/// ID, and the next process completes what a crash left unwritten.
fn make_id(folder: &Path, path: &Path) -> std::io::Result<String> {
    private::create_folder(folder)?;
    let mut file = private::open(path, true)?;
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if text.trim().is_empty() {
        let id = Uuid::new_v4().to_string();
        file.write_all(format!("{id}\n").as_bytes())?;
        file.sync_all()?;
        return Ok(id);
    }
    parse_id(&text)
        .map_err(|()| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not a UUID"))
}

fn parse_id(text: &str) -> Result<String, ()> {
    Uuid::parse_str(text.trim()).map(|id| id.to_string()).map_err(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_id_wins_and_is_taken_as_it_is() {
        let find = |env, setting| {
            own_filesystem(env, setting, Path::new("/nonexistent"), |_| panic!("nothing is asked"))
        };
        let explicit = |id: &str| OwnFilesystem { id: id.into(), is_container: false };
        assert_eq!(find(Some(" env\n"), Some("set")).unwrap(), explicit("env"));
        assert_eq!(find(None, Some("set")).unwrap(), explicit("set"));
        for (env, setting) in [(Some(" "), Some("set")), (None, Some(""))] {
            assert_eq!(find(env, setting).unwrap_err().code(), "INVALID_ARGUMENT");
        }
    }

    #[test]
    fn a_container_has_its_own_id_unless_stored_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let find = |container: Option<&str>, holds: bool| {
            let container = || container.map(str::to_owned);
            let holds_files = |id: &str| {
                assert_eq!(id, hashed("baked"));
                Ok(holds)
            };
            let found = own_filesystem_of(
                (None, None),
                Some("baked"),
                container,
                folder.path(),
                holds_files,
            );
            let OwnFilesystem { id, is_container } = found.unwrap();
            (id, is_container)
        };
        let machine = (hashed("baked"), false);
        assert_eq!(find(None, false), machine);
        assert_eq!(find(Some("one"), true), machine);
        assert_eq!(find(Some("one"), false), (Hash::of("one").as_str().to_owned(), true));
        assert_ne!(find(Some("one"), false), find(Some("two"), false));
    }

    #[test]
    fn a_container_without_machine_id_keeps_its_stored_id() {
        let folder = tempfile::tempdir().unwrap();
        let find = |holds: bool| {
            let container = || Some("one".to_owned());
            let found =
                own_filesystem_of((None, None), None, container, folder.path(), |_| Ok(holds));
            found.unwrap().id
        };
        let containers = Hash::of("one").as_str().to_owned();
        // No earlier run has made an ID, and none is made.
        assert_eq!(find(true), containers);
        assert!(!folder.path().join(ID_FILE).exists());
        let kept = kept_id(folder.path()).unwrap();
        assert_eq!((find(true), find(false)), (kept, containers));
    }

    #[test]
    fn the_machine_id_is_hashed_without_surrounding_white_space() {
        // Known answer: printf 0123456789abcdef0123456789abcdef | sha256sum. Another ID would
        // orphan every stored file.
        let id = usable_machine_id("0123456789abcdef0123456789abcdef\n").map(hashed);
        let expected = "3eb1bd439947eb762998e566ccc2e099c791118b2f40579cc4f7da2b5061b7f9";
        assert_eq!(id.as_deref(), Some(expected));
        assert_eq!(usable_machine_id(" \n"), None);
        assert_eq!(usable_machine_id("uninitialized\n"), None);
    }

    #[test]
    fn the_first_file_with_a_usable_machine_id_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (empty, good) = (file("empty", "\n"), file("good", "abc\n"));
        let absent = folder.path().join("absent").to_str().unwrap().to_owned();
        assert_eq!(first_usable(&[&absent, &empty, &good]).as_deref(), Some("abc\n"));
        assert_eq!(first_usable(&[&absent, &empty]), None);
    }

    #[test]
    fn machine_ids_are_found_in_the_output_of_system_tools() {
        let ioreg = "+-o J314 <class IOPlatformExpertDevice>\n  {\n    \"IOPlatformSerialNumber\" = \"C02\"\n    \
                     \"IOPlatformUUID\" = \"9B2D1C6E-0000-5AAB-8000-123456789ABC\"\n  }\n";
        assert_eq!(platform_uuid(ioreg), Some("9B2D1C6E-0000-5AAB-8000-123456789ABC"));
        assert_eq!(platform_uuid("no such key"), None);
        let reg = "\r\nHKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Cryptography\r\n    MachineGuid    REG_SZ    \
                   3f0a8c1e-1111-2222-3333-444455556666\r\n\r\n";
        assert_eq!(machine_guid(reg), Some("3f0a8c1e-1111-2222-3333-444455556666"));
        assert_eq!(machine_guid("ERROR: not found"), None);
    }

    #[test]
    fn processes_that_race_for_an_id_end_with_one() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("deep").join("data");
        let ids: Vec<String> = std::thread::scope(|scope| {
            let racers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| kept_id(&folder).unwrap())).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        assert_eq!(kept_id(&folder).unwrap(), ids[0]);
    }

    #[test]
    fn an_unwritten_id_file_is_completed_and_a_foreign_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ID_FILE);
        private::create_new(&path).unwrap();
        let id = kept_id(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{id}\n"));
        std::fs::write(&path, "something else").unwrap();
        assert_eq!(kept_id(folder.path()).unwrap_err().code(), "FILE");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else");
    }

    #[cfg(unix)]
    #[test]
    fn the_kept_id_is_for_the_user_only() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("data");
        kept_id(&folder).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join(ID_FILE)), 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn each_platform_has_its_data_folder() {
        let find = |system: &str, xdg: Option<&str>| {
            data_folder_in(system, Some("/home/u".into()), |name| {
                (name == "XDG_DATA_HOME").then(|| xdg.map(OsString::from)).flatten()
            })
            .unwrap()
        };
        let expected = |path: &str| PathBuf::from(path);
        assert_eq!(find("linux", Some("/d")), expected("/d/palimpsest"));
        assert_eq!(find("linux", Some("relative")), expected("/home/u/.local/share/palimpsest"));
        assert_eq!(find("linux", None), expected("/home/u/.local/share/palimpsest"));
        let macos = "/home/u/Library/Application Support/palimpsest";
        assert_eq!(find("macos", Some("/d")), expected(macos));
        assert_eq!(find("windows", None), expected("/home/u/AppData/Roaming/palimpsest"));
        assert!(data_folder_in("linux", None, |_| None).is_err());
    }
}
