//! Files met in the output of Pi's `ls`, `find` and `grep`.
//!
//! Source: `dist/core/tools/{ls,find,grep}.js` of `@earendil-works/pi-coding-agent` 0.87.1.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{canonical_path, resolve_path};

/// Finds the regular files that the output of `ls`, `find` or `grep` names: canonical paths, in order, without
/// duplicates, at most `cap`. Other tools' output gives none.
///
/// `args`: the call's arguments; `cwd`: the folder that the tool ran in. A line counts only if the file exists now, so
/// folders, notices and whatever else an output holds drop out.
pub fn discovered_paths(
    tool: &str,
    args: &Value,
    cwd: &Path,
    output: &str,
    cap: usize,
) -> Vec<PathBuf> {
    // Pi takes an empty path for a missing one.
    let given = args["path"].as_str().filter(|path| !path.is_empty()).unwrap_or(".");
    let Ok(base) = resolve_path(given, cwd) else {
        return Vec::new();
    };
    let base = canonical_path(&base);
    let mut lines = without_notice(output).lines();
    match tool {
        "ls" | "find" => distinct(lines.filter_map(|line| listed_file(&base, line)), cap),
        "grep" if base.is_file() => {
            // A search in one file names it by its last part, so only whether it matched is read.
            let matched = lines.any(|line| mark_offsets(line).next().is_some());
            distinct(matched.then_some(base).into_iter(), cap)
        }
        "grep" => {
            let mut known = HashMap::new();
            distinct(lines.filter_map(|line| matched_file(&base, line, &mut known)), cap)
        }
        _ => Vec::new(),
    }
}

/// The paths by which lines of an output say whose text they are, as they stand there: `path:12: text`, `path-12- text` and
/// `path:text` of a search, `==> path <==`, and the headings of a difference. Most are none: nothing is looked up.
pub fn named_in_output(output: &str) -> impl Iterator<Item = &str> {
    output.lines().flat_map(|line| {
        let heading = ["+++ ", "--- ", "diff --git ", "==> "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
            .map(|rest| rest.trim_end_matches(" <=="));
        let headed = heading.into_iter().flat_map(|rest| {
            let part = |path| ["a/", "b/"].iter().find_map(|side| str::strip_prefix(path, side));
            rest.split_whitespace().map(move |path| part(path).unwrap_or(path))
        });
        // A sentence may end so too.
        let searched = line.split_once(':').map(|(path, _)| path);
        let searched = searched.filter(|path| !path.contains(char::is_whitespace));
        mark_offsets(line).map(|offset| &line[..offset]).chain(searched).chain(headed)
    })
}

/// Cuts a notice such as `[500 entries limit reached. …]` off the end, which stands after an empty line.
fn without_notice(output: &str) -> &str {
    match output.rsplit_once("\n\n[") {
        Some((before, notice)) if notice.ends_with(']') => before,
        _ => output,
    }
}

fn distinct(paths: impl Iterator<Item = PathBuf>, cap: usize) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    paths.filter(|path| seen.insert(path.clone())).take(cap).collect()
}

fn listed_file(base: &Path, line: &str) -> Option<PathBuf> {
    if line.is_empty() || line.ends_with('/') {
        return None;
    }
    regular_file(&base.join(line))
}

/// Reads `path:12: text` (a match) or `path-12- text` (its surroundings). The path may look like that too, so the
/// shortest one that exists is taken.
fn matched_file(
    base: &Path,
    line: &str,
    known: &mut HashMap<String, Option<PathBuf>>,
) -> Option<PathBuf> {
    mark_offsets(line).find_map(|offset| {
        let path = &line[..offset];
        if let Some(file) = known.get(path) {
            return file.clone();
        }
        let file = regular_file(&base.join(path));
        known.insert(path.to_owned(), file.clone());
        file
    })
}

/// Where the path of a line of `grep` may end: before `:12: ` or `-12- `.
fn mark_offsets(line: &str) -> impl Iterator<Item = usize> {
    line.match_indices([':', '-']).filter_map(|(offset, mark)| {
        let rest = &line[offset + 1..];
        let text = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        let after = text.strip_prefix(mark).filter(|_| offset > 0 && text.len() < rest.len())?;
        (after.is_empty() || after.starts_with(' ')).then_some(offset)
    })
}

/// The canonical path, if a regular file is there.
fn regular_file(path: &Path) -> Option<PathBuf> {
    path.is_file().then(|| canonical_path(path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Folder {
        root: PathBuf,
        _owner: tempfile::TempDir,
    }

    fn folder(files: &[&str]) -> Folder {
        let owner = tempfile::tempdir().unwrap();
        let root = owner.path().canonicalize().unwrap();
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        Folder { root, _owner: owner }
    }

    fn check(folder: &Folder, tool: &str, args: &Value, output: &str, expected: &[&str]) {
        let found = discovered_paths(tool, args, &folder.root, output, 100);
        let expected: Vec<_> = expected.iter().map(|path| folder.root.join(path)).collect();
        assert_eq!(found, expected, "{tool} {output:?}");
    }

    #[test]
    fn ls_names_the_files_of_its_folder() {
        let folder = folder(&["src/a.rs", "src/b c.rs", "src/sub/x", "top"]);
        let output =
            "a.rs\nb c.rs\nsub/\ngone.rs\n\n[500 entries limit reached. Use limit=1000 for more]";
        check(&folder, "ls", &json!({"path": "src"}), output, &["src/a.rs", "src/b c.rs"]);
        check(&folder, "ls", &json!({}), "src/\ntop", &["top"]);
        check(&folder, "ls", &json!({"path": ""}), "top", &["top"]);
        check(&folder, "ls", &json!({"path": "file://host/x"}), "top", &[]);
        check(&folder, "ls", &json!({}), "(empty directory)", &[]);
    }

    #[test]
    fn a_notice_is_no_file_even_where_one_has_its_name() {
        let folder = folder(&["a", "[50.0KB limit reached]"]);
        check(&folder, "find", &json!({}), "a\n\n[50.0KB limit reached]", &["a"]);
        let listing = "[50.0KB limit reached]\na";
        check(&folder, "ls", &json!({}), listing, &["[50.0KB limit reached]", "a"]);
    }

    #[test]
    fn find_names_files_below_its_folder_once() {
        let folder = folder(&["src/a.rs", "src/sub/b.rs"]);
        let output = "sub/b.rs\nsub/\na.rs\na.rs";
        check(&folder, "find", &json!({"path": "./src"}), output, &["src/sub/b.rs", "src/a.rs"]);
        check(&folder, "find", &json!({}), "No files found matching pattern", &[]);
    }

    #[test]
    fn grep_names_files_of_matches_and_of_their_surroundings() {
        let folder = folder(&["src/a.rs", "src/b-3-c.rs", "src/d:4: e"]);
        let output = "a.rs-9- let x:10: y\na.rs:10: fn f()\nb-3-c.rs:3: z-4- q\nb-3-c.rs-4- \nd:4: e:5: text\n\
                      gone.rs:1: x\nno line\n\n[100 matches limit reached. Use limit=200 for more, or refine pattern]";
        let expected = ["src/a.rs", "src/b-3-c.rs", "src/d:4: e"];
        check(&folder, "grep", &json!({"path": "src", "pattern": "x"}), output, &expected);
        check(&folder, "grep", &json!({"pattern": "x"}), "No matches found", &[]);
    }

    #[test]
    fn grep_in_one_file_names_that_file() {
        let folder = folder(&["src/a.rs", "a.rs"]);
        check(&folder, "grep", &json!({"path": "src/a.rs"}), "a.rs:1: x", &["src/a.rs"]);
        check(&folder, "grep", &json!({"path": "src/a.rs"}), "No matches found", &[]);
    }

    #[test]
    fn other_tools_name_nothing_and_the_cap_holds() {
        let folder = folder(&["a", "b", "c"]);
        check(&folder, "bash", &json!({}), "a\nb", &[]);
        let found = discovered_paths("ls", &json!({}), &folder.root, "a\nb\nc", 2);
        assert_eq!(found, [folder.root.join("a"), folder.root.join("b")]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_named_by_their_target_once() {
        let folder = folder(&["a"]);
        std::os::unix::fs::symlink("a", folder.root.join("link")).unwrap();
        check(&folder, "ls", &json!({}), "a\nlink", &["a"]);
    }
}
