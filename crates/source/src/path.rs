//! Paths as a model writes them, as Pi opens them, and in canonical form.
//!
//! Pi removes `.` and `..` from the text of a path before it opens the file, so this module does
//! too, and resolves symlinks after that. Source: `dist/core/tools/path-utils.js` and
//! `dist/utils/paths.js` of `@earendil-works/pi-coding-agent` 0.87.1.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use base::error::{Error, Result};
use base::path::{expand_tilde, without_dots};
use files::looks;

/// Most dangling symlinks followed in a row; operating systems have the same limit.
const MAX_LINKS: u32 = 40;

/// Resolves a `path` argument as Pi's tools do: expands `~`, drops a leading `@`, makes Unicode
/// spaces plain, reads `file://` URLs, translates Git Bash and WSL drive paths on Windows, makes
/// the path absolute against `cwd`, and removes `.` and `..`. Symlinks stay.
///
/// # Errors
/// `INVALID_ARGUMENT` if the path is a `file://` URL that names no local path.
pub fn resolve_path(given: &str, cwd: &Path) -> Result<PathBuf> {
    resolve_with_home(given, cwd, std::env::home_dir().as_deref())
}

/// Resolves a path as Pi's `read` does: as [`resolve_path`]; if nothing exists there, takes the
/// first existing spelling that macOS may have used instead: a narrow no-break space before AM or
/// PM, decomposed letters (NFD), a typographic apostrophe, or the last two together.
///
/// `exists`: whether something exists at an absolute path.
pub fn read_path(given: &str, cwd: &Path, exists: impl Fn(&Path) -> bool) -> Result<PathBuf> {
    let path = resolve_path(given, cwd)?;
    let Some(text) = path.to_str().filter(|_| !exists(&path)) else {
        return Ok(path);
    };
    let decomposed: String = text.nfd().collect();
    let variants = [
        narrow_space_before_am_pm(text),
        decomposed.clone(),
        text.replace('\'', "\u{2019}"),
        decomposed.replace('\'', "\u{2019}"),
    ];
    let found = variants.into_iter().map(PathBuf::from).find(|variant| exists(variant));
    Ok(found.unwrap_or(path))
}

/// The canonical form of an absolute path: symlinks resolved, spelled as on disk. If the file does
/// not exist or cannot be reached, resolves its nearest reachable ancestor and keeps the rest;
/// follows links that point nowhere.
///
/// The result serves for opening as well as for identity, so it is not normalised; see
/// [`base::path::comparison_key`].
pub fn canonical_path(path: &Path) -> PathBuf {
    let path = without_dots(path);
    let asked = path.clone();
    let found = looks::together(move || canonical_within(&asked, MAX_LINKS));
    found.unwrap_or(path)
}

fn resolve_with_home(given: &str, cwd: &Path, home: Option<&Path>) -> Result<PathBuf> {
    let mut text: String = given.chars().map(plain_space).collect();
    if text.starts_with('@') {
        text.remove(0);
    }
    if cfg!(windows) {
        text = native_drive_path(&text);
    }
    let expanded = match home.and_then(|home| expand_tilde(&text, home)) {
        Some(expanded) => expanded,
        None => match text.strip_prefix("file://") {
            Some(rest) => path_of_url(rest)?,
            None => PathBuf::from(text),
        },
    };
    Ok(without_dots(&cwd.join(expanded)))
}

fn plain_space(character: char) -> char {
    match character {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// Translates `/c/x`, `/mnt/c/x` and `/cygdrive/c/x` to `C:\x`; other paths stay.
fn native_drive_path(path: &str) -> String {
    let translated = || {
        let rest = path.strip_prefix('/').filter(|_| !path.contains('\\'))?;
        let rest = rest.strip_prefix("mnt/").or(rest.strip_prefix("cygdrive/")).unwrap_or(rest);
        let (drive, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let letter = drive.chars().next().filter(char::is_ascii_alphabetic)?;
        let drive = (drive.len() == 1).then(|| letter.to_ascii_uppercase())?;
        Some(format!("{drive}:\\{}", rest.replace('/', "\\")))
    };
    translated().unwrap_or_else(|| path.to_owned())
}

/// Reads what follows `file://`, as Node's `fileURLToPath` does.
fn path_of_url(rest: &str) -> Result<PathBuf> {
    let refused = |problem: &str| Error::argument("path", format!("is a file URL that {problem}"));
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (host, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(refused("names another host"));
    }
    let path = percent_decoded(path).ok_or_else(|| refused("is not well formed"))?;
    if !cfg!(windows) {
        return Ok(PathBuf::from(path));
    }
    let local = PathBuf::from(path.trim_start_matches('/').replace('/', "\\"));
    if local.is_absolute() { Ok(local) } else { Err(refused("has no drive letter")) }
}

/// `None` for a broken escape, an escaped `/` or what is not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let digits = Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let byte = u8::from_str_radix(digits, 16).ok().filter(|byte| *byte != b'/')?;
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn narrow_space_before_am_pm(path: &str) -> String {
    let mut changed = String::with_capacity(path.len() + 2);
    let mut parts = path.split(' ');
    changed.extend(parts.next());
    for part in parts {
        let marker = part.get(..3).is_some_and(|start| {
            start.eq_ignore_ascii_case("am.") || start.eq_ignore_ascii_case("pm.")
        });
        changed.push(if marker { '\u{202f}' } else { ' ' });
        changed.push_str(part);
    }
    changed
}

fn canonical_within(path: &Path, links: u32) -> PathBuf {
    let mut rest: Vec<OsString> = Vec::new();
    let mut known = path;
    loop {
        if let Ok(resolved) = looks::canonicalize(known) {
            let resolved = without_verbatim_prefix(resolved);
            return rest.iter().rev().fold(resolved, |path, name| path.join(name));
        }
        // A file written through a link that points nowhere appears at the link's target.
        if let Some(target) = looks::read_link(known).ok().filter(|_| links > 0) {
            let target = known.parent().unwrap_or(known).join(target);
            let whole = rest.iter().rev().fold(target, |path, name| path.join(name));
            return canonical_within(&whole, links - 1);
        }
        let (Some(parent), Some(name)) = (known.parent(), known.file_name()) else {
            return path.to_owned();
        };
        rest.push(name.to_owned());
        known = parent;
    }
}

/// Removes the `\\?\` that Windows puts before resolved paths and that nobody writes.
fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    if !cfg!(windows) {
        return path;
    }
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) {
        Some(rest) => match rest.strip_prefix(r"UNC\") {
            Some(share) => PathBuf::from(format!(r"\\{share}")),
            None if rest.get(1..2) == Some(":") => PathBuf::from(rest),
            None => path,
        },
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn arguments_resolve_as_in_pi() {
        // Checked against `resolveToCwd` of Pi 0.87.1.
        for (given, expected) in [
            ("a.rs", "/work/a.rs"),
            ("", "/work"),
            (".", "/work"),
            ("./a/../b/./c", "/work/b/c"),
            ("../../../../x", "/x"),
            ("/abs//b/", "/abs/b"),
            ("~", "/home/u"),
            ("~/x/../y", "/home/u/y"),
            ("~other/x", "/work/~other/x"),
            ("@src/a.rs", "/work/src/a.rs"),
            ("@~/a", "/home/u/a"),
            ("@@a", "/work/@a"),
            ("a\u{a0}b\u{202f}c", "/work/a b c"),
            ("file:///a%20b/%C3%A9?q#h", "/a b/é"),
            ("file://localhost/a", "/a"),
            ("file:/a", "/work/file:/a"),
            ("~//x", "/home/u/x"),
            ("a\\b", "/work/a\\b"),
        ] {
            let path = resolve_with_home(given, Path::new("/work"), Some(Path::new("/home/u")));
            assert_eq!(path.unwrap(), Path::new(expected), "{given:?}");
        }
        for given in ["file://host/a", "file:///a%2fb", "file:///a%zz", "file:///%ff", "file:///%é"]
        {
            let path = resolve_with_home(given, Path::new("/work"), None);
            assert_eq!(path.unwrap_err().code(), "INVALID_ARGUMENT", "{given:?}");
        }
    }

    #[test]
    fn shell_paths_with_drives_become_native() {
        for (given, expected) in [
            ("/c/a/b", r"C:\a\b"),
            ("/mnt/d", r"D:\"),
            ("/cygdrive/e/x", r"E:\x"),
            ("/usr/bin", "/usr/bin"),
            ("//server/c", "//server/c"),
            ("c/a", "c/a"),
            ("/c\\a", "/c\\a"),
        ] {
            assert_eq!(native_drive_path(given), expected, "{given}");
        }
    }

    #[test]
    fn read_finds_the_spellings_of_macos() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path();
        let shot = "Shot 9.41\u{202f}AM.png";
        let decomposed = "e\u{301}te\u{301}.txt";
        let both = "Capture d\u{2019}e\u{301}cran.png";
        for name in [shot, decomposed, both, "it\u{2019}s"] {
            std::fs::write(cwd.join(name), "").unwrap();
        }
        for (given, expected) in [
            ("Shot 9.41 AM.png", shot),
            ("été.txt", decomposed),
            ("Capture d'écran.png", both),
            ("it's", "it\u{2019}s"),
            ("absent", "absent"),
        ] {
            let found = canonical_path(&read_path(given, cwd, Path::exists).unwrap());
            assert_eq!(found, canonical_path(&cwd.join(expected)), "{given}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_resolve_and_what_does_not_exist_keeps_its_rest() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("link/later", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for (path, expected) in [
            ("link/file", "real/file"),
            ("link/new/deep", "real/new/deep"),
            ("dangling", "real/later"),
            ("dangling/under", "real/later/under"),
            ("real/file/under", "real/file/under"),
            ("link/../other", "other"),
            ("loop", "loop"),
        ] {
            assert_eq!(canonical_path(&root.join(path)), root.join(expected), "{path}");
        }
    }
}
