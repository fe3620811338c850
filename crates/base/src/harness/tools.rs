//! The table of tools and their argument names, for the harnesses Pi, Claude Code, Codex, OpenCode,
//! Copilot CLI, Gemini CLI, OpenClaw and others with tools of the same names.
//!
//! Names are compared without case, punctuation and leading namespace. Harnesses use different
//! arguments for a tool of the same name, so arguments are listed by kind, not by tool.

use serde_json::Value;

/// What a tool does, as far as its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Read,
    /// Reads several files.
    ReadMany,
    Write,
    Edit,
    /// Changes the files that a patch names.
    Patch,
    /// Reads, creates or changes a file, depending on the argument `command`.
    ByCommand,
    List,
    Find,
    Search,
    Shell,
    Web,
    /// Lets another agent do a task and gives its report.
    Delegate,
    Other,
}

/// Arguments with the path of the file read or changed, or of the folder searched.
pub(super) const PATH: [&str; 10] = [
    "path",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "target_file",
    "dir_path",
    "directory",
    "filename",
    "file",
];
/// Arguments with several paths.
pub(super) const PATHS: [&str; 3] = ["paths", "file_paths", "include"];
/// Arguments with a glob of the names to search.
pub(super) const NAME_GLOB: [&str; 3] = ["glob", "include", "include_pattern"];
/// Arguments with a command: a line, or a list of words.
pub(super) const COMMAND: [&str; 4] = ["command", "cmd", "script", "commands"];
/// Arguments with a program in a language other than a shell's.
pub(super) const PROGRAM: [&str; 4] = ["code", "program", "source", "expression"];
/// Arguments with the folder in which a command runs.
pub(super) const FOLDER: [&str; 5] =
    ["cwd", "workdir", "directory", "dir_path", "working_directory"];
/// Arguments with the first line to read.
pub(super) const FIRST_LINE: [&str; 3] = ["offset", "start_line", "startLine"];
/// The argument with the maximum number of lines to read.
pub(super) const LIMIT: &str = "limit";
/// Other arguments that ask for particular lines.
pub(super) const RANGE: [&str; 7] =
    [LIMIT, "view_range", "lines", "range", "end_line", "endLine", "cursor"];
/// Arguments with the whole text of a file.
pub(super) const CONTENT: [&str; 4] = ["content", "file_text", "contents", "new_source"];
/// Arguments with the text to replace.
pub(super) const OLD: [&str; 4] = ["oldText", "old_string", "oldString", "old_str"];
/// Arguments with the replacement text, or text to insert.
pub(super) const NEW: [&str; 6] =
    ["newText", "new_string", "newString", "new_str", "insert_text", "new_source"];
/// Arguments that ask to replace every occurrence.
pub(super) const ALL: [&str; 3] = ["replace_all", "replaceAll", "allow_multiple"];
/// Arguments with a patch.
pub(super) const PATCH: [&str; 3] = ["input", "patchText", "patch"];

/// What a tool does.
#[rustfmt::skip]
pub(super) fn does(tool: &str) -> Does {
    match plain_name(tool).as_str() {
        "read" | "readfile" | "view" | "viewfile" | "openfile" | "notebookread" | "cat" => Does::Read,
        "readmanyfiles" | "readfiles" => Does::ReadMany,
        "write" | "writefile" | "create" | "createfile" | "writetofile" => Does::Write,
        "edit" | "editfile" | "multiedit" | "strreplace" | "replace" | "notebookedit" | "insert" | "searchreplace"
        | "applydiff" => Does::Edit,
        "applypatch" | "patch" => Does::Patch,
        "strreplaceeditor" | "strreplacebasededittool" => Does::ByCommand,
        "ls" | "list" | "listdir" | "listfiles" | "listdirectory" | "tree" => Does::List,
        "find" | "glob" | "fd" | "findfiles" | "filesearch" | "globfilesearch" => Does::Find,
        "grep" | "search" | "rg" | "ripgrep" | "grepsearch" | "grepfiles" | "searchfiles" | "searchfilecontent" | "codesearch"
        | "codebasesearch" | "searchtext" | "memorysearch" | "memoryget" | "sessionssearch" | "sessionshistory" => Does::Search,
        "bash" | "shell" | "sh" | "zsh" | "exec" | "execcommand" | "shellcommand" | "localshell" | "localshellcall"
        | "runcommand" | "runshellcommand" | "runterminalcmd" | "runinterminal" | "executecommand" | "terminal" | "powershell"
        | "readpowershell" | "writepowershell" | "writestdin" | "bashoutput" | "readbash" | "writebash" | "stopbash"
        | "listbash" | "stoppowershell" | "listpowershell" | "readbackgroundoutput" | "listbackgroundprocesses" | "taskoutput"
        | "process" => Does::Shell,
        "webfetch" | "websearch" | "fetch" | "fetchurl" | "fetchcontent" | "browser" | "urlfetch" | "openurl" | "googlewebsearch"
        | "searxngsearch" | "getsearchcontent" => Does::Web,
        "task" | "agent" | "subagent" | "runsubagent" | "spawnagent" | "dispatchagent" | "delegate" | "delegatetask" | "newtask"
        | "sessionsspawn" | "sessionssend" | "agentswait" | "subagents" | "codebaseinvestigator" => Does::Delegate,
        _ => Does::Other,
    }
}

/// The tool that another tool is asked to call, and its arguments. OpenClaw's `tool_call` shows its
/// result as JSON.
pub(super) fn called<'a>(tool: &str, args: &'a Value) -> Option<(&'a str, &'a Value)> {
    let named = || Some((args.get("id")?.as_str()?, args.get("args")?));
    if plain_name(tool) == "toolcall" { named() } else { None }
}

/// Whether the host asks about each call that a tool makes itself before it runs: Pi does, for its
/// scripts.
pub(super) fn is_asked_inside(tool: &str) -> bool {
    plain_name(tool) == "codemode"
}

/// `functions.exec_command` as `execcommand`.
fn plain_name(tool: &str) -> String {
    let name = tool.rsplit(['.', ':', '/']).next().unwrap_or(tool);
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}
