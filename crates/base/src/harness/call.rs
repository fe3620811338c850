//! What a tool call does, by the table of tools and its arguments.

use serde_json::Value;

use super::kind::{self, ShellKind, ToolKind};
use super::patch::Patched;
use super::tools::{self, Does};
use super::touch::{Access, Touch};
use super::{patch, shell};

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    does: Does,
    args: &'a Value,
    /// Whether another tool was asked to make it, so that its arguments stand among that one's.
    is_inner: bool,
}

impl<'a> Call<'a> {
    /// Reads a call.
    ///
    /// `tool`: its name, whatever its case. `args`: its arguments as the provider gave them.
    pub fn new(tool: &str, args: &'a Value) -> Self {
        let called = tools::called(tool, args);
        let (tool, args) = called.unwrap_or((tool, args));
        let does = match (tools::does(tool), text(args, &["command"])) {
            // What is shown is not the text of a file as it stands.
            (Does::Read | Does::ReadMany, _) if called.is_some() => Does::Search,
            (Does::ByCommand, Some("view")) => Does::Read,
            (Does::ByCommand, Some("create")) => Does::Write,
            (Does::ByCommand, _) => Does::Edit,
            (does, _) => does,
        };
        Self { does, args, is_inner: called.is_some() }
    }

    /// The kind of the call.
    pub fn kind(self) -> ToolKind {
        match self.does {
            Does::Read | Does::ReadMany => ToolKind::Read,
            Does::Write => ToolKind::Write,
            Does::Edit | Does::Patch | Does::ByCommand => ToolKind::Edit,
            Does::List => ToolKind::List,
            Does::Find => ToolKind::Find,
            Does::Search => ToolKind::Search,
            Does::Shell => {
                let line = command_line(self.args);
                ToolKind::Shell(line.map_or(ShellKind::Other, |line| kind::shell_kind(&line)))
            }
            Does::Web => ToolKind::Web,
            Does::Delegate => ToolKind::Delegate,
            Does::Other => ToolKind::Other,
        }
    }

    /// The files that the call reads or changes, in the order of its arguments. Not those that a shell's command names.
    pub fn touches(self) -> Vec<Touch<'a>> {
        let access = match self.does {
            Does::Read | Does::ReadMany => Access::Read,
            Does::Write => Access::Write,
            Does::Edit => Access::Edit,
            Does::Patch => {
                let patch = self.args.as_str().or_else(|| text(self.args, &tools::PATCH));
                let files = patch::files(patch.unwrap_or_default());
                if !files.is_empty() {
                    return files;
                }
                Access::Edit
            }
            _ => return Vec::new(),
        };
        let one = self.path().into_iter();
        let several = self.paths().filter(|_| self.does == Does::ReadMany);
        one.chain(several).map(|path| Touch { path, access }).collect()
    }

    /// Whether the call may change files without saying which: all but those that only show something, or name the files.
    pub fn may_change_any_file(self) -> bool {
        matches!(self.does, Does::Shell | Does::Other | Does::Web)
            || (self.does == Does::Patch && self.touches().is_empty())
    }

    /// Whether the call may have changed files that it does not name: a command that does more than show something, and a tool
    /// that is not known. What a known tool changes stands in its arguments.
    pub fn may_have_changed_unnamed_files(self) -> bool {
        match self.does {
            Does::Shell => command_line(self.args).is_none_or(|line| kind::may_change_files(&line)),
            Does::Other => true,
            _ => false,
        }
    }

    /// The path of the file that is read or changed, or of the folder that is looked through.
    pub fn path(self) -> Option<&'a str> {
        text(self.args, &tools::PATH)
    }

    /// The paths of a call that takes several.
    pub fn paths(self) -> impl Iterator<Item = &'a str> {
        let list = tools::PATHS.iter().find_map(|name| self.args.get(*name)?.as_array());
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The command line that the call runs.
    pub fn command(self) -> Option<String> {
        if self.does == Does::Shell { command_line(self.args) } else { None }
    }

    /// The argument of a shell's call that holds the command line as a text, by name; none of a call that another tool makes.
    pub fn command_argument(self) -> Option<(&'static str, &'a str)> {
        let named =
            tools::COMMAND.iter().find_map(|name| Some((*name, self.args.get(*name)?.as_str()?)));
        named.filter(|_| self.does == Does::Shell && !self.is_inner)
    }

    /// The programs that a call without a command line runs: all texts that a shell's is given, of a tool that is not known those
    /// that are named so.
    pub fn programs(self) -> Vec<&'a str> {
        let fields = self.args.as_object().into_iter().flatten();
        let is_program = |name: &str| match self.does {
            Does::Shell => true,
            Does::Other => tools::PROGRAM.contains(&name),
            _ => false,
        };
        let named = fields.filter(|(name, _)| is_program(name));
        named.filter_map(|(_, value)| value.as_str()).collect()
    }

    /// The globs of names that a search is kept to.
    pub fn name_globs(self) -> impl Iterator<Item = &'a str> {
        tools::NAME_GLOB.iter().filter_map(|name| self.args.get(*name)?.as_str())
    }

    /// The folder that a command is to run in, as the model wrote it.
    pub fn folder(self) -> Option<&'a str> {
        text(self.args, &tools::FOLDER)
    }

    /// The first line that a reading call asks for, from 1; `None` where it does not say.
    pub fn first_line(self) -> Option<u64> {
        let of_view = || self.args.get("view_range")?.get(0)?.as_u64();
        let named = tools::FIRST_LINE.iter().find_map(|name| self.args.get(*name)?.as_u64());
        named.or_else(of_view).map(|line| line.max(1))
    }

    /// Whether a reading call asks for certain lines.
    pub fn has_range(self) -> bool {
        let is_given = |name: &&str| self.args.get(*name).is_some_and(|value| !value.is_null());
        tools::FIRST_LINE.iter().chain(&tools::RANGE).any(is_given)
    }

    /// Whether a reading call that showed this many lines, from the first on, would have shown more if there were any.
    pub fn reads_beyond(self, lines: u64) -> bool {
        let is_open = |name: &&str| match self.args.get(*name) {
            None | Some(Value::Null) => true,
            Some(limit) => *name == tools::LIMIT && limit.as_u64().is_some_and(|most| most > lines),
        };
        self.first_line().unwrap_or(1) == 1 && tools::RANGE.iter().all(is_open)
    }

    /// Whether the call asks for certain lines: of a file by their numbers, or of anything by picking them.
    pub fn picks_lines(self) -> bool {
        match self.kind() {
            ToolKind::Read => self.has_range(),
            ToolKind::Shell(shell) => shell == ShellKind::Pick,
            _ => false,
        }
    }

    /// Whether the call may show what a run reports: a command that shows no text of a file, or a tool that is not known.
    pub fn reports_run(self) -> bool {
        match self.kind() {
            ToolKind::Other
            | ToolKind::Shell(ShellKind::Build | ShellKind::Log | ShellKind::Other) => true,
            ToolKind::Shell(ShellKind::Pick) => {
                command_line(self.args).is_some_and(|line| !kind::shows_file(&line))
            }
            _ => false,
        }
    }

    /// The whole text that a writing call gives a file.
    pub fn content(self) -> Option<&'a str> {
        if self.does == Does::Write { text(self.args, &tools::CONTENT) } else { None }
    }

    /// What a call puts in the place of what: of each replacement the old and the new text; one that it does not say is empty.
    pub fn replacements(self) -> Vec<(&'a str, &'a str)> {
        let edits = self.args.get("edits").and_then(Value::as_array);
        let several = edits.into_iter().flatten();
        let all = several.chain(std::iter::once(self.args));
        let pair = |edit: &'a Value| match (text(edit, &tools::OLD), text(edit, &tools::NEW)) {
            (None, None) => None,
            (old, new) => Some((old.unwrap_or_default(), new.unwrap_or_default())),
        };
        all.filter_map(pair).collect()
    }

    /// Whether a call replaces every occurrence of the old text.
    pub fn replaces_all(self) -> bool {
        tools::ALL.iter().any(|name| self.args.get(*name) == Some(&Value::Bool(true)))
    }

    /// The texts that a call puts into files.
    pub fn new_texts(self) -> Vec<&'a str> {
        match self.does {
            Does::Write => self.content().into_iter().collect(),
            Does::Edit => self.replacements().into_iter().map(|(_, new)| new).collect(),
            Does::Patch => self.patch().map(patch::added_lines).into_iter().flatten().collect(),
            _ => Vec::new(),
        }
    }

    /// How many lines a changing call adds and takes away where a patch says so.
    pub fn patched_lines(self) -> Option<(u64, u64)> {
        self.patch().map(patch::added_removed)
    }

    /// What a patch makes of one of its files, by the path that it gives and the text that the file had. `None` where that is not
    /// certain.
    pub fn patched(self, path: &str, text: Option<&str>) -> Option<Patched> {
        patch::apply(self.patch()?, path, text)
    }

    fn patch(self) -> Option<&'a str> {
        let patch = self.args.as_str().or_else(|| text(self.args, &tools::PATCH));
        patch.filter(|_| self.does == Does::Patch)
    }
}

fn text<'a>(args: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| args.get(*name)?.as_str())
}

/// The command that arguments hold: a text, or a list of words.
pub fn command_line(args: &Value) -> Option<String> {
    match tools::COMMAND.iter().find_map(|name| args.get(*name))? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // `["bash", "-lc", "…"]` holds its command in its last word.
            Some(match words.as_slice() {
                [program, flags, command]
                    if super::programs::is_shell(shell::base_name(program))
                        && shell::is_command_flag(flags) =>
                {
                    (*command).to_owned()
                }
                words => words.join(" "),
            })
        }
        _ => None,
    }
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
            ("replace", ToolKind::Edit),
            ("LS", ToolKind::List),
            ("list_directory", ToolKind::List),
            ("Glob", ToolKind::Find),
            ("Grep", ToolKind::Search),
            ("search_file_content", ToolKind::Search),
            ("WebFetch", ToolKind::Web),
            ("write_stdin", ToolKind::Shell(ShellKind::Other)),
            ("functions.exec_command", ToolKind::Shell(ShellKind::Other)),
            ("stop_bash", ToolKind::Shell(ShellKind::Other)),
            ("read_background_output", ToolKind::Shell(ShellKind::Other)),
            ("Task", ToolKind::Delegate),
            ("Agent", ToolKind::Delegate),
            ("subagent", ToolKind::Delegate),
            ("sessions_spawn", ToolKind::Delegate),
            ("sessions_send", ToolKind::Delegate),
            ("agents_wait", ToolKind::Delegate),
            ("subagents", ToolKind::Delegate),
            ("exec", ToolKind::Shell(ShellKind::Other)),
            ("process", ToolKind::Shell(ShellKind::Other)),
            ("ls", ToolKind::List),
            ("web_fetch", ToolKind::Web),
            ("web_search", ToolKind::Web),
            ("browser", ToolKind::Web),
            ("memory_search", ToolKind::Search),
            ("memory_get", ToolKind::Search),
            ("sessions_search", ToolKind::Search),
            ("sessions_history", ToolKind::Search),
            // They are of another machine.
            ("file_fetch", ToolKind::Other),
            ("file_write", ToolKind::Other),
            ("dir_list", ToolKind::Other),
            ("TodoWrite", ToolKind::Other),
        ] {
            assert_eq!(Call::new(tool, &json!({})).kind(), expected, "{tool}");
        }
        let view = json!({ "command": "view", "path": "a" });
        assert_eq!(Call::new("str_replace_editor", &view).kind(), ToolKind::Read);
    }

    #[test]
    fn a_call_that_a_tool_is_asked_to_make_is_that_call() {
        let of = |id: &str, args: Value| json!({ "id": id, "args": args });
        for (args, expected) in [
            (of("openclaw:core:web_fetch", json!({ "url": "x" })), ToolKind::Web),
            (of("sessions_spawn", json!({ "task": "x" })), ToolKind::Delegate),
            (of("exec", json!({ "command": "cargo test" })), ToolKind::Shell(ShellKind::Build)),
            // It shows the file in JSON.
            (of("read", json!({ "path": "a" })), ToolKind::Search),
            (of("tool_call", of("read", json!({}))), ToolKind::Other),
            (json!({ "id": "read" }), ToolKind::Other),
            (json!({}), ToolKind::Other),
        ] {
            assert_eq!(Call::new("tool_call", &args).kind(), expected, "{args}");
        }
        let write = of("write", json!({ "path": "a", "content": "b" }));
        let call = Call::new("tool_call", &write);
        assert_eq!((call.touches().len(), call.path(), call.content()), (1, Some("a"), Some("b")));
        let exec = of("exec", json!({ "command": "rm a", "workdir": "/w" }));
        let call = Call::new("tool_call", &exec);
        assert_eq!((call.command().as_deref(), call.folder()), (Some("rm a"), Some("/w")));
        assert!(call.may_have_changed_unnamed_files());
        assert_eq!(call.command_argument(), None, "it is no argument of the tool that is asked");
        // Other tools have arguments of these names too.
        assert_eq!(Call::new("automations", &exec).kind(), ToolKind::Other);
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
            assert_eq!(Call::new("Bash", &args).kind(), cargo, "{args}");
        }
    }

    #[test]
    fn the_files_of_a_call_are_found_in_the_arguments_of_every_harness() {
        use Access::{Edit, Read, Write};
        let patch =
            "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Add File: b\n+z\n*** End Patch";
        for (tool, args, expected) in [
            ("read", json!({ "path": "a" }), vec![("a", Read)]),
            ("Read", json!({ "file_path": "a", "limit": 3 }), vec![("a", Read)]),
            ("read", json!({ "filePath": "a" }), vec![("a", Read)]),
            ("read_file", json!({ "absolute_path": "/a" }), vec![("/a", Read)]),
            ("read_many_files", json!({ "include": ["a", "b"] }), vec![("a", Read), ("b", Read)]),
            ("view", json!({ "path": "a", "view_range": [1, 5] }), vec![("a", Read)]),
            ("NotebookEdit", json!({ "notebook_path": "a" }), vec![("a", Edit)]),
            ("create", json!({ "path": "a", "file_text": "x" }), vec![("a", Write)]),
            ("apply_patch", json!({ "input": patch }), vec![("a", Edit), ("b", Write)]),
            ("apply_patch", json!({ "patchText": patch }), vec![("a", Edit), ("b", Write)]),
            ("apply_patch", json!(patch), vec![("a", Edit), ("b", Write)]),
            ("bash", json!({ "command": "cat a" }), vec![]),
            ("grep", json!({ "path": "a" }), vec![]),
            ("read", json!({ "path": 5 }), vec![]),
        ] {
            let found: Vec<_> = Call::new(tool, &args).touches();
            let found: Vec<_> = found.iter().map(|touch| (touch.path, touch.access)).collect();
            assert_eq!(found, expected, "{tool} {args}");
        }
    }

    #[test]
    fn replacing_all_and_globs_of_names_are_found_in_the_arguments_of_every_harness() {
        for name in ["replace_all", "replaceAll", "allow_multiple"] {
            let (all, one) = (json!({ name: true }), json!({ name: false }));
            assert!(Call::new("edit", &all).replaces_all(), "{name}");
            assert!(!Call::new("edit", &one).replaces_all(), "{name}");
        }
        for name in ["glob", "include", "include_pattern"] {
            let args = json!({ name: "*.rs" });
            assert_eq!(Call::new("grep", &args).name_globs().collect::<Vec<_>>(), ["*.rs"]);
        }
    }

    #[test]
    fn programs_are_found_in_tools_without_a_command_line() {
        let args = json!({ "input": "read('.env')", "code": "x", "n": 5 });
        assert_eq!(Call::new("exec", &args).programs(), ["read('.env')", "x"]);
        assert_eq!(Call::new("python", &args).programs(), ["x"]);
        assert_eq!(Call::new("read", &args).programs(), [""; 0]);
    }

    #[test]
    fn asking_for_lines_is_noticed() {
        let first = |args: Value| Call::new("Read", &args).first_line();
        assert_eq!(first(json!({ "offset": 5 })), Some(5));
        assert_eq!(first(json!({ "view_range": [7, 9] })), Some(7));
        assert_eq!(first(json!({ "limit": 5 })), None);
        let beyond = |args: Value| Call::new("Read", &args).reads_beyond(20);
        for args in [
            json!({}),
            json!({ "offset": 1 }),
            json!({ "offset": 0, "limit": 21 }),
            json!({ "lines": null, "cursor": null }),
        ] {
            assert!(beyond(args.clone()), "{args}");
        }
        for args in [
            json!({ "limit": 20 }),
            json!({ "offset": 2 }),
            json!({ "view_range": [1, 90] }),
            json!({ "offset": 1, "cursor": 40 }),
        ] {
            assert!(!beyond(args.clone()), "{args}");
        }
        assert!(Call::new("Read", &json!({ "offset": 5 })).picks_lines());
        assert!(!Call::new("Read", &json!({ "offset": null })).picks_lines());
        let picks = |command: &str| Call::new("bash", &json!({ "command": command })).picks_lines();
        assert!(picks("head -50 a") && !picks("cat a"));
    }

    #[test]
    fn the_texts_that_a_call_puts_in_are_found() {
        let patch = "*** Update File: a\n@@\n-x\n+y\n+z";
        for (tool, args, expected) in [
            ("write", json!({ "content": "a" }), vec!["a"]),
            ("create", json!({ "file_text": "a" }), vec!["a"]),
            (
                "edit",
                json!({ "edits": [{ "oldText": "a", "newText": "b" }], "newText": "c" }),
                vec!["b", "c"],
            ),
            ("Edit", json!({ "old_string": "a", "new_string": "b" }), vec!["b"]),
            ("edit", json!({ "oldString": "a", "newString": "" }), vec![""]),
            ("apply_patch", json!({ "patchText": patch }), vec!["y", "z"]),
            ("read", json!({ "content": "a" }), vec![]),
        ] {
            assert_eq!(Call::new(tool, &args).new_texts(), expected, "{tool} {args}");
        }
        assert_eq!(Call::new("apply_patch", &json!(patch)).patched_lines(), Some((2, 1)));
    }
}
