//! What a tool call does, judged by its arguments and the table of tools.

use std::collections::HashSet;

use serde_json::Value;

use super::kind::{self, ShellKind, ToolKind};
use super::patch::Patched;
use super::tools::{self, Does};
use super::touch::{FileAccess, Touch};
use super::{patch, shell};

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    does: Does,
    args: &'a Value,
    /// Whether another tool was asked to make the call, so that its arguments are among that
    /// tool's.
    is_inner: bool,
    /// Whether each call that it makes itself is asked about before it runs.
    is_asked_inside: bool,
}

impl<'a> Call<'a> {
    /// Reads a call.
    ///
    /// `tool`: its name in any case. `args`: its arguments as the provider gave them.
    pub fn new(tool: &str, args: &'a Value) -> Self {
        let called = tools::called(tool, args);
        let (tool, args) = called.unwrap_or((tool, args));
        let does = match (tools::does(tool), text(args, &["command"])) {
            // The output is not the exact text of a file.
            (Does::Read | Does::ReadMany, _) if called.is_some() => Does::Search,
            (Does::ByCommand, Some("view")) => Does::Read,
            (Does::ByCommand, Some("create")) => Does::Write,
            (Does::ByCommand, _) => Does::Edit,
            // Its files are on another machine.
            (Does::Shell, _) if runs_on_node(args) => Does::Other,
            (does, _) => does,
        };
        let is_asked_inside = tools::is_asked_inside(tool);
        Self { does, args, is_inner: called.is_some(), is_asked_inside }
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

    /// The files that the call reads or changes, in the order of its arguments, without those named
    /// in a shell command.
    pub fn touches(self) -> Vec<Touch<'a>> {
        let access = match self.does {
            Does::Read | Does::ReadMany => FileAccess::Read,
            Does::Write => FileAccess::Write,
            Does::Edit => FileAccess::Edit,
            Does::Patch => {
                let patch = self.args.as_str().or_else(|| text(self.args, &tools::PATCH));
                let files = patch::files(patch.unwrap_or_default());
                if !files.is_empty() {
                    return files;
                }
                FileAccess::Edit
            }
            _ => return Vec::new(),
        };
        let one = self.path().into_iter();
        let several = self.paths().filter(|_| self.does == Does::ReadMany);
        one.chain(several).map(|path| Touch { path, access }).collect()
    }

    /// Whether the call may change files without saying which: any call that does more than show
    /// something and does not name its files.
    pub fn may_change_any_file(self) -> bool {
        matches!(self.does, Does::Shell | Does::Other | Does::Web)
            || (self.does == Does::Patch && self.touches().is_empty())
    }

    /// Whether the call may have changed files that it does not name: a command that does more than
    /// show something, or an unknown tool. Known tools name what they change in their arguments.
    pub fn may_have_changed_unnamed_files(self) -> bool {
        match self.does {
            Does::Shell => command_line(self.args).is_none_or(|line| kind::may_change_files(&line)),
            Does::Other => true,
            _ => false,
        }
    }

    /// The path of the file read or changed, or of the folder searched.
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

    /// The name and text of a shell call's argument that holds the command line; `None` if another
    /// tool makes the call.
    pub fn command_argument(self) -> Option<(&'static str, &'a str)> {
        let named =
            tools::COMMAND.iter().find_map(|name| Some((*name, self.args.get(*name)?.as_str()?)));
        named.filter(|_| self.does == Does::Shell && !self.is_inner)
    }

    /// The programs run by a call without a command line: all texts given to a shell, or an unknown
    /// tool's arguments with such names.
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

    /// The globs of names to which a search is limited.
    pub fn name_globs(self) -> impl Iterator<Item = &'a str> {
        tools::NAME_GLOB.iter().filter_map(|name| self.args.get(*name)?.as_str())
    }

    /// The folder in which a command should run, as the model wrote it.
    pub fn folder(self) -> Option<&'a str> {
        text(self.args, &tools::FOLDER)
    }

    /// The first line that a reading call asks for, from 1; `None` if unstated.
    pub fn first_line(self) -> Option<u64> {
        let of_view = || self.args.get("view_range")?.get(0)?.as_u64();
        let named = tools::FIRST_LINE.iter().find_map(|name| self.args.get(*name)?.as_u64());
        named.or_else(of_view).map(|line| line.max(1))
    }

    /// Whether a reading call asks for particular lines.
    pub fn has_range(self) -> bool {
        let is_given = |name: &&str| self.args.get(*name).is_some_and(|value| !value.is_null());
        tools::FIRST_LINE.iter().chain(&tools::RANGE).any(is_given)
    }

    /// Whether a reading call that showed this many lines, from the first on, would have shown more
    /// if there were more.
    pub fn reads_beyond(self, lines: u64) -> bool {
        let is_open = |name: &&str| match self.args.get(*name) {
            None | Some(Value::Null) => true,
            Some(limit) => *name == tools::LIMIT && limit.as_u64().is_some_and(|most| most > lines),
        };
        self.first_line().unwrap_or(1) == 1 && tools::RANGE.iter().all(is_open)
    }

    /// Whether the call asks for particular lines: lines of a file by number, or lines of anything
    /// by picking them.
    pub fn picks_lines(self) -> bool {
        match self.kind() {
            ToolKind::Read => self.has_range(),
            ToolKind::Shell(shell) => shell == ShellKind::Pick,
            _ => false,
        }
    }

    /// Whether the call may show a run's report: a command that shows no text of a file, or an
    /// unknown tool.
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

    /// Whether the exit code may hide that a build, a check or a test failed: behind a pipe, or before
    /// another command of the line, that of the last one counts.
    pub fn may_hide_failure(self) -> bool {
        let Some(line) = command_line(self.args) else { return false };
        // Behind `&&` alone, each command was successful.
        if !line.contains(['|', ';', '\n']) {
            return false;
        }
        let commands: Vec<_> = shell::commands(&line).collect();
        let speaking = commands.iter().filter(|command| !kind::shows_nothing(command)).count();
        let is_last = |command| speaking == 1 && !kind::shows_nothing(command);
        commands.iter().any(kind::is_build) && !commands.last().is_some_and(is_last)
    }

    /// The whole text that a writing call gives a file.
    pub fn content(self) -> Option<&'a str> {
        if self.does == Does::Write { text(self.args, &tools::CONTENT) } else { None }
    }

    /// Each replacement that a call makes, as old and new text. An unstated text is empty.
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

    /// The texts by which a call may put something into a file: those that it writes, all of a
    /// command that does more than show something, and whatever an unknown tool is given.
    pub fn texts_for_files(self) -> Vec<&'a str> {
        let new = self.new_texts();
        match self.does {
            Does::Write | Does::Edit | Does::Patch | Does::ByCommand if !new.is_empty() => new,
            Does::Shell
                if command_line(self.args).is_some_and(|line| !kind::may_change_files(&line)) =>
            {
                Vec::new()
            }
            Does::Other if self.is_asked_inside => Vec::new(),
            Does::Write
            | Does::Edit
            | Does::Patch
            | Does::ByCommand
            | Does::Shell
            | Does::Other => texts_in(self.args),
            _ => Vec::new(),
        }
    }

    /// The lines of all texts that the call is given, trimmed, each also without the mark of a
    /// unified diff.
    pub fn named_lines(self) -> HashSet<&'a str> {
        let lines = texts_in(self.args).into_iter().flat_map(str::lines);
        lines.flat_map(|line| [line, line.get(1..).unwrap_or_default()]).map(str::trim).collect()
    }

    /// How many lines a changing call adds and removes, if a patch says so.
    pub fn patched_lines(self) -> Option<(u64, u64)> {
        self.patch().map(patch::added_removed)
    }

    /// What a patch makes of one of its files, given the patch's path for it and its previous text.
    /// `None` if uncertain.
    pub fn patched(self, path: &str, text: Option<&str>) -> Option<Patched> {
        patch::apply(self.patch()?, path, text)
    }

    fn patch(self) -> Option<&'a str> {
        let patch = self.args.as_str().or_else(|| text(self.args, &tools::PATCH));
        patch.filter(|_| self.does == Does::Patch)
    }
}

/// Whether a command runs on another machine that OpenClaw is paired with.
fn runs_on_node(args: &Value) -> bool {
    text(args, &["host"]).is_some_and(|host| host.trim().eq_ignore_ascii_case("node"))
}

fn text<'a>(args: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| args.get(*name)?.as_str())
}

/// All texts of some arguments.
fn texts_in(args: &Value) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut waiting = vec![args];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => waiting.extend(fields.values()),
            _ => {}
        }
    }
    texts
}

/// The command in some arguments: a text, or a list of words.
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
mod tests;
