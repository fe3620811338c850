//! What kind of thing a tool call does, by the tool's name and its arguments: of Pi's tools and of other harnesses'.
//!
//! Pure words: no output is looked at, no file, and nothing is tuned to a session. A command line is read leniently, not
//! as a shell would; where it does several things, the kind is the one whose output is least to be shortened.

use serde_json::Value;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolKind {
    /// Shows a file.
    Read,
    /// Makes a file, or writes all of it.
    Write,
    /// Changes a file.
    Edit,
    /// Lists a folder.
    List,
    /// Finds files by name.
    Find,
    /// Finds lines by a pattern.
    Search,
    /// Runs a command.
    Shell(ShellKind),
    /// Gets pages or looks for them.
    Web,
    /// Anything else.
    Other,
}

/// What a command does. In this order, least to be shortened first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ShellKind {
    /// Picks lines or fields: `sed -n`, `head`, `tail`, `awk`, a filter behind a pipe.
    Pick,
    /// Shows files whole: `cat`, `nl`.
    Read,
    /// Finds lines by a pattern: `grep`, `rg`.
    Search,
    /// Shows changes: `git diff`, `git show`.
    Diff,
    /// Builds, checks or tests.
    Build,
    /// Lists names: `ls`, `find`, `rg --files`.
    Listing,
    /// Shows a history or a log: `git log`, `docker logs`.
    Log,
    /// Anything else, and polls of a command that runs.
    Other,
}

/// Names of a tool's arguments that hold its command.
const COMMAND_ARGS: [&str; 4] = ["command", "cmd", "script", "commands"];
/// Arguments by which a reading tool is asked for certain lines.
const RANGE_ARGS: [&str; 9] = [
    "offset",
    "limit",
    "view_range",
    "lines",
    "range",
    "start_line",
    "end_line",
    "startLine",
    "endLine",
];
/// Words that come before the command proper.
const PREFIXES: [&str; 11] =
    ["sudo", "time", "env", "nice", "nohup", "exec", "command", "builtin", "then", "do", "else"];
/// Commands without an output of their own that matters.
const SILENT: [&str; 16] = [
    "cd", "export", "set", "source", ".", "echo", "printf", "mkdir", "touch", "sleep", "true",
    "rm", "cp", "mv", "pwd", "wait",
];
const PICKERS: [&str; 10] =
    ["head", "tail", "awk", "gawk", "cut", "jq", "yq", "wc", "sort", "uniq"];
const READERS: [&str; 7] = ["cat", "nl", "bat", "batcat", "less", "more", "type"];
const SEARCHERS: [&str; 8] = ["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "findstr"];
const LISTERS: [&str; 8] = ["ls", "tree", "find", "fd", "fdfind", "dir", "du", "locate"];
const LOGS: [&str; 3] = ["journalctl", "dmesg", "logs"];
const BUILDERS: [&str; 51] = [
    "cargo",
    "rustc",
    "clippy-driver",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "bunx",
    "npx",
    "deno",
    "make",
    "gmake",
    "cmake",
    "ctest",
    "ninja",
    "meson",
    "bazel",
    "buck",
    "go",
    "pytest",
    "tox",
    "nox",
    "mypy",
    "ruff",
    "pyright",
    "flake8",
    "pylint",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "mvn",
    "mvnw",
    "gradle",
    "gradlew",
    "ant",
    "sbt",
    "dotnet",
    "tsc",
    "eslint",
    "biome",
    "jest",
    "vitest",
    "mocha",
    "playwright",
    "rspec",
    "rake",
    "bundle",
    "swift",
    "xcodebuild",
    "mise",
];

/// The kind of a call.
///
/// `tool`: its name, whatever its case. `args`: its arguments as the provider gave them.
pub fn kind(tool: &str, args: &Value) -> ToolKind {
    let name: String = tool
        .rsplit(['.', ':', '/'])
        .next()
        .unwrap_or(tool)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    match name.as_str() {
        "read" | "readfile" | "view" | "viewfile" | "openfile" | "notebookread" | "cat" => {
            ToolKind::Read
        }
        "write" | "writefile" | "create" | "createfile" | "writetofile" => ToolKind::Write,
        "edit" | "editfile" | "multiedit" | "applypatch" | "patch" | "strreplace" | "replace"
        | "notebookedit" | "strreplaceeditor" | "insert" | "searchreplace" | "applydiff" => {
            edit_kind(args)
        }
        "ls" | "list" | "listdir" | "listfiles" | "listdirectory" | "tree" => ToolKind::List,
        "find" | "glob" | "fd" | "findfiles" | "filesearch" | "globfilesearch" => ToolKind::Find,
        "grep" | "search" | "rg" | "ripgrep" | "grepsearch" | "searchfiles" | "codesearch"
        | "codebasesearch" | "searchtext" => ToolKind::Search,
        "bash" | "shell" | "sh" | "zsh" | "exec" | "execcommand" | "shellcommand"
        | "localshell" | "localshellcall" | "runcommand" | "runshellcommand" | "runterminalcmd"
        | "runinterminal" | "executecommand" | "terminal" | "powershell" | "readpowershell"
        | "writestdin" | "bashoutput" | "readbash" | "writebash" | "taskoutput" | "process" => {
            ToolKind::Shell(command_of(args).map_or(ShellKind::Other, |command| shell(&command)))
        }
        "webfetch" | "websearch" | "fetch" | "fetchurl" | "fetchcontent" | "browser"
        | "urlfetch" | "openurl" | "searxngsearch" | "getsearchcontent" => ToolKind::Web,
        _ => ToolKind::Other,
    }
}

/// Whether a call asks for certain lines: of a file by their numbers, or of anything by picking them.
pub fn picks_lines(tool: ToolKind, args: &Value) -> bool {
    match tool {
        ToolKind::Read => {
            RANGE_ARGS.iter().any(|name| args.get(*name).is_some_and(|value| !value.is_null()))
        }
        ToolKind::Shell(shell) => shell == ShellKind::Pick,
        _ => false,
    }
}

/// The command that a call runs, where it names one: a text, or a list of words.
pub fn command_of(args: &Value) -> Option<String> {
    let value = COMMAND_ARGS.iter().find_map(|name| args.get(*name))?;
    match value {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // `["bash", "-lc", "…"]` holds its command in its last word.
            Some(match words.as_slice() {
                [shell, flags, command] if is_shell(shell) && is_command_flag(flags) => {
                    (*command).to_owned()
                }
                words => words.join(" "),
            })
        }
        _ => None,
    }
}

/// One tool of some harnesses shows, makes and changes files, by the word in `command`.
fn edit_kind(args: &Value) -> ToolKind {
    match args.get("command").and_then(Value::as_str) {
        Some("view") => ToolKind::Read,
        Some("create") => ToolKind::Write,
        _ => ToolKind::Edit,
    }
}

/// The kind of a command line.
pub fn shell(command: &str) -> ShellKind {
    let kinds = pipelines(command).into_iter().filter_map(|pipeline| pipeline_kind(&pipeline));
    kinds.min().unwrap_or(ShellKind::Other)
}

/// The kind of commands joined by pipes; `None` where nothing comes of them.
fn pipeline_kind(stages: &[Vec<String>]) -> Option<ShellKind> {
    let stages: Vec<&[String]> = stages.iter().map(|words| without_prefixes(words)).collect();
    let (first, filters) = stages.split_first()?;
    if filters.iter().any(|words| is_filter(words)) {
        return Some(ShellKind::Pick);
    }
    command_kind(first)
}

fn is_filter(words: &[String]) -> bool {
    let name = base_name(words);
    name == "sed" || PICKERS.contains(&name) || SEARCHERS.contains(&name)
}

/// The kind of one command.
fn command_kind(words: &[String]) -> Option<ShellKind> {
    let name = base_name(words);
    let has = |word: &str| words.iter().skip(1).any(|other| other == word);
    let second = words.iter().skip(1).find(|word| !word.starts_with('-')).map_or("", |w| w);
    let redirects = words.iter().any(|word| word.starts_with('>') || word.starts_with("1>"));
    Some(match name {
        "" => return None,
        _ if SILENT.contains(&name) => return None,
        _ if redirects => return None,
        _ if is_shell(name) => {
            let at = words.iter().position(|word| is_command_flag(word))?;
            return words.get(at + 1).map(|command| shell(command));
        }
        "sed" if words.iter().any(|word| word.starts_with("-i")) => return None,
        "sed" => ShellKind::Pick,
        "rg" if has("--files") => ShellKind::Listing,
        "git" => git_kind(words),
        "docker" | "kubectl" | "podman" | "heroku" | "fly" if has("logs") => ShellKind::Log,
        "docker" | "podman" if has("build") => ShellKind::Build,
        "python" | "python3" if ["pytest", "unittest", "mypy", "build"].iter().any(|m| has(m)) => {
            ShellKind::Build
        }
        "node" if has("--test") => ShellKind::Build,
        "xargs" => return command_kind(words.get(1..).unwrap_or_default()),
        _ if PICKERS.contains(&name) => ShellKind::Pick,
        _ if READERS.contains(&name) => ShellKind::Read,
        _ if SEARCHERS.contains(&name) => ShellKind::Search,
        _ if LISTERS.contains(&name) => ShellKind::Listing,
        _ if LOGS.contains(&name) => ShellKind::Log,
        _ if BUILDERS.contains(&name) => ShellKind::Build,
        _ if is_test_script(name) || is_test_script(second) => ShellKind::Build,
        _ => ShellKind::Other,
    })
}

fn git_kind(words: &[String]) -> ShellKind {
    // `git -C folder diff`: the option's value is no subcommand.
    let mut rest = words.iter().skip(1).peekable();
    while let Some(option) = rest.next_if(|word| word.starts_with('-')) {
        if matches!(option.as_str(), "-C" | "-c") {
            rest.next();
        }
    }
    let shows_names = |word: &String| word.starts_with("--stat") || word.starts_with("--name");
    match rest.next().map_or("", |word| word) {
        "diff" | "show" if words.iter().any(shows_names) => ShellKind::Listing,
        "diff" | "show" => ShellKind::Diff,
        "log" | "stash" if words.iter().any(|word| word == "-p" || word == "--patch") => {
            ShellKind::Diff
        }
        "log" | "reflog" => ShellKind::Log,
        "ls-files" | "ls-tree" | "status" | "branch" | "tag" => ShellKind::Listing,
        "grep" => ShellKind::Search,
        "blame" => ShellKind::Read,
        _ => ShellKind::Other,
    }
}

fn is_test_script(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.split('.').next().unwrap_or(name);
    matches!(name, "test" | "tests" | "build" | "lint" | "check")
}

fn is_shell(word: &str) -> bool {
    matches!(base(word), "bash" | "sh" | "zsh" | "dash" | "fish")
}

fn is_command_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

fn base_name(words: &[String]) -> &str {
    words.first().map_or("", |word| base(word))
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The words of a command from its name on.
fn without_prefixes(words: &[String]) -> &[String] {
    let mut rest = words;
    while let [first, after @ ..] = rest {
        let is_variable = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let is_prefix =
            PREFIXES.contains(&first.as_str()) || matches!(first.as_str(), "(" | "{" | "!");
        if first == "timeout" {
            let is_option =
                |word: &String| word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            let at = after.iter().position(|word| !is_option(word));
            rest = at.map_or(&[], |at| &after[at..]);
        } else if is_variable || is_prefix {
            rest = after;
        } else {
            break;
        }
    }
    rest
}

/// Splits a command line into pipelines, each a list of commands, each a list of words. Quotes hold together; a here
/// document's text is left out.
fn pipelines(command: &str) -> Vec<Vec<Vec<String>>> {
    let mut found = vec![vec![Vec::new()]];
    let mut word = String::new();
    let mut quote = None;
    let text = before_here_document(command);
    let mut letters = text.chars().peekable();
    let end_word = |found: &mut Vec<Vec<Vec<String>>>, word: &mut String| {
        let stage = found.last_mut().and_then(|pipeline| pipeline.last_mut());
        if let Some(stage) = stage.filter(|_| !word.is_empty()) {
            stage.push(std::mem::take(word));
        }
    };
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None | Some('"'), '\\') => match letters.next() {
                Some('\n') | None => {}
                Some(escaped) => word.push(escaped),
            },
            (None, '#') if word.is_empty() => {
                while letters.next_if(|next| *next != '\n').is_some() {}
            }
            // `2>&1` and `&>` are no separators.
            (None, '&') if word.ends_with('>') || letters.peek() == Some(&'>') => word.push('&'),
            (None, '|') if letters.peek() != Some(&'|') => {
                letters.next_if_eq(&'&');
                end_word(&mut found, &mut word);
                if let Some(pipeline) = found.last_mut() {
                    pipeline.push(Vec::new());
                }
            }
            (None, '\n' | ';' | '&' | '|') => {
                letters.next_if_eq(&letter);
                end_word(&mut found, &mut word);
                found.push(vec![Vec::new()]);
            }
            (None, '(' | ')' | '`') => end_word(&mut found, &mut word),
            (None, space) if space.is_whitespace() => end_word(&mut found, &mut word),
            _ => word.push(letter),
        }
    }
    end_word(&mut found, &mut word);
    found
}

/// A command up to the text of its first here document, and from there on its first line alone.
fn before_here_document(command: &str) -> &str {
    let Some(at) = command.find("<<").filter(|at| !command[*at..].starts_with("<<<")) else {
        return command;
    };
    command[at..].find('\n').map_or(command, |end| &command[..at + end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_of_several_harnesses_have_their_kinds() {
        for (tool, expected) in [
            ("read", ToolKind::Read),
            ("Read", ToolKind::Read),
            ("read_file", ToolKind::Read),
            ("view", ToolKind::Read),
            ("Write", ToolKind::Write),
            ("MultiEdit", ToolKind::Edit),
            ("apply_patch", ToolKind::Edit),
            ("LS", ToolKind::List),
            ("Glob", ToolKind::Find),
            ("Grep", ToolKind::Search),
            ("WebFetch", ToolKind::Web),
            ("write_stdin", ToolKind::Shell(ShellKind::Other)),
            ("functions.exec_command", ToolKind::Shell(ShellKind::Other)),
            ("TodoWrite", ToolKind::Other),
        ] {
            assert_eq!(kind(tool, &json!({})), expected, "{tool}");
        }
        let view = json!({ "command": "view", "path": "a" });
        assert_eq!(kind("str_replace_editor", &view), ToolKind::Read);
    }

    #[test]
    fn commands_are_found_in_every_shape() {
        let cargo = ToolKind::Shell(ShellKind::Build);
        for args in [
            json!({ "command": "cargo test" }),
            json!({ "cmd": "cd x && cargo test" }),
            json!({ "command": ["bash", "-lc", "cargo test"] }),
            json!({ "command": ["cargo", "test"] }),
            json!({ "command": "bash -lc 'cargo test'" }),
        ] {
            assert_eq!(kind("Bash", &args), cargo, "{args}");
        }
    }

    #[test]
    fn a_command_is_what_it_shows() {
        use ShellKind::{Build, Diff, Listing, Log, Other, Pick, Read, Search};
        for (command, expected) in [
            ("RUST_LOG=debug timeout -k 5 60 cargo test 2>&1", Build),
            ("cargo test 2>&1 | tail -n 400", Pick),
            ("cargo test |& grep FAILED", Pick),
            ("sed -n '1,900p' a.rs", Pick),
            ("sed -i s/a/b/ a.rs && make", Build),
            ("cd x && grep -n \"a | b; c\" a", Search),
            ("rg --files src", Listing),
            ("git -C x diff --stat", Listing),
            ("git -C x diff HEAD~1", Diff),
            ("git log --oneline -n 20", Log),
            ("git log -p", Diff),
            ("git grep foo", Search),
            ("cat big.log", Read),
            ("cat > a.rs <<'EOF'\nfn main() { head }\ncargo test\nEOF", Other),
            ("cat a.rs; ls", Read),
            ("ls -la && npm run build", Build),
            ("find . -name '*.rs' -exec ls {} \\;", Listing),
            ("headless --run", Other),
            ("./scripts/test.sh --all", Build),
            ("docker compose logs web", Log),
            ("python -m pytest -q", Build),
            ("# how many\nmake", Build),
            ("", Other),
        ] {
            assert_eq!(shell(command), expected, "{command}");
        }
    }

    #[test]
    fn asking_for_lines_is_noticed() {
        let read = |args: Value| picks_lines(kind("Read", &args), &args);
        assert!(read(json!({ "file_path": "a", "offset": 5 })));
        assert!(!read(json!({ "file_path": "a", "offset": null })));
        let bash = |command: &str| {
            let args = json!({ "command": command });
            picks_lines(kind("bash", &args), &args)
        };
        assert!(bash("head -50 a") && !bash("cat a"));
    }

    proptest::proptest! {
        #[test]
        fn any_command_line_has_a_kind(command in "[a-z |&;<>()'\"\\\\#\n$-]{0,60}") {
            shell(&command);
        }
    }
}
