//! The one table of tools by name, for the harnesses Pi, Claude Code, Codex, OpenCode, Copilot CLI, Gemini CLI, OpenClaw and
//! others with tools of the same names; and of the names that their arguments have.
//!
//! Names are compared without case, marks and the namespace before them. Arguments differ by harness for a tool of the same
//! name, so those of a kind are listed, not those of a tool.

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
    /// Reads, makes or changes a file, by the word in the argument `command`.
    ByCommand,
    List,
    Find,
    Search,
    Shell,
    Web,
    /// Has another agent do a task, and gives its report.
    Delegate,
    Other,
}

/// Arguments that hold the path of the file that is read or changed, or of the folder that is looked through.
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
/// Arguments that hold several paths.
pub(super) const PATHS: [&str; 3] = ["paths", "file_paths", "include"];
/// Arguments that hold a glob of the names that are searched.
pub(super) const NAME_GLOB: [&str; 3] = ["glob", "include", "include_pattern"];
/// Arguments that hold a command: a line, or a list of words.
pub(super) const COMMAND: [&str; 4] = ["command", "cmd", "script", "commands"];
/// Arguments that hold a program in another language than a shell's.
pub(super) const PROGRAM: [&str; 4] = ["code", "program", "source", "expression"];
/// Arguments that hold the folder in which a command runs.
pub(super) const FOLDER: [&str; 5] =
    ["cwd", "workdir", "directory", "dir_path", "working_directory"];
/// Arguments that hold the first line to be read.
pub(super) const FIRST_LINE: [&str; 3] = ["offset", "start_line", "startLine"];
/// The argument that holds the greatest number of lines to be read.
pub(super) const LIMIT: &str = "limit";
/// Other arguments by which certain lines are asked for.
pub(super) const RANGE: [&str; 7] =
    [LIMIT, "view_range", "lines", "range", "end_line", "endLine", "cursor"];
/// Arguments that hold the whole text of a file.
pub(super) const CONTENT: [&str; 4] = ["content", "file_text", "contents", "new_source"];
/// Arguments that hold the text that is replaced.
pub(super) const OLD: [&str; 4] = ["oldText", "old_string", "oldString", "old_str"];
/// Arguments that hold the text put in its place, or in a place of its own.
pub(super) const NEW: [&str; 6] =
    ["newText", "new_string", "newString", "new_str", "insert_text", "new_source"];
/// Arguments that say that every occurrence is replaced.
pub(super) const ALL: [&str; 3] = ["replace_all", "replaceAll", "allow_multiple"];
/// Arguments that hold a patch.
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

/// The tool that another one is asked to call, and its arguments. OpenClaw's `tool_call` shows what it returned in JSON.
pub(super) fn called<'a>(tool: &str, args: &'a Value) -> Option<(&'a str, &'a Value)> {
    let named = || Some((args.get("id")?.as_str()?, args.get("args")?));
    if plain_name(tool) == "toolcall" { named() } else { None }
}

/// `functions.exec_command` as `execcommand`.
fn plain_name(tool: &str) -> String {
    let name = tool.rsplit(['.', ':', '/']).next().unwrap_or(tool);
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}
