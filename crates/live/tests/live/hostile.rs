//! Hostile text in every parser that a call passes: command lines and tool arguments, lists of
//! messages, settings. Nothing panics, and time grows only with the length of the text. Archives,
//! transcripts, Markdown, queries and paths have such tests of their own: `crates/store/tests/archive/fuzz.rs`,
//! `crates/replay/tests/replay/session_files.rs`, `crates/graph/tests/graph/markdown_properties.rs`, `crates/store`.

use base::harness::{Call, has_line_numbers, shell, without_notice};
use config::{Layout, Settings};
use context::hazard::Hazards;
use live::{CallInfo, HostList, Transformed};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::host::{Host, json_of};
use testing::processor_time::spent_on;

/// Text with a meaning to a shell, a patch or a parser of outputs, and separators.
const PIECES: [&str; 44] = [
    "a", "b.txt", "/p/x", "~/", "..", "*", "?", "[a", "{a,b}", "$(", "$((", ")", "))", "`", "'",
    "\"", "\\", "\n", ";", "&&", "||", "|", "&", "<", ">", ">>", "<<EOF", "<<-'E'", "EOF", "E",
    "#", "=", "A=1", "$x", "${x", "}", "(", "bash -c ", "eval ", "git -C ", "é", "\u{202e}", "\t",
    " ",
];

fn shell_line() -> impl Strategy<Value = String> {
    let piece = prop_oneof![6 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,3}"];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const PATCH: [&str; 14] = [
    "*** Begin Patch\n",
    "*** End Patch\n",
    "*** Update File: a.txt\n",
    "*** Add File: b\n",
    "*** Delete File: c\n",
    "*** Move to: d\n",
    "*** End of File\n",
    "@@\n",
    "@@ fn main\n",
    "+new\n",
    "-old\n",
    " same\n",
    "\n",
    "é",
];

fn patch() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PATCH.to_vec()), 0..16)
        .prop_map(|parts| parts.concat())
}

/// Any JSON, with some keys and values that have a meaning to us.
fn any_json() -> impl Strategy<Value = Value> {
    let keys = [
        "role",
        "content",
        "type",
        "text",
        "toolCallId",
        "toolName",
        "id",
        "name",
        "arguments",
        "timestamp",
        "isError",
        "details",
        "diff",
        "fullOutputPath",
        "thinking",
        "data",
        "mimeType",
        "usage",
        "path",
        "command",
        "edits",
        "oldText",
        "newText",
        "offset",
        "limit",
        "input",
        "patch",
        "file_path",
        "__proto__",
    ];
    let texts = [
        "user",
        "assistant",
        "toolResult",
        "system",
        "compactionSummary",
        "text",
        "toolCall",
        "thinking",
        "image",
        "bash",
        "read",
        "edit",
        "write",
        "apply_patch",
        "call_0",
        "[t1] exit 0 · 3 lines",
        "f1 unchanged; lines 1-3 stand in the read result above.",
    ];
    let text = prop_oneof![
        4 => prop::sample::select(texts.to_vec()).prop_map(str::to_owned),
        1 => shell_line(),
        1 => patch(),
        1 => "\\PC{0,20}",
    ];
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => prop_oneof![any::<i64>().prop_map(Value::from), any::<f64>().prop_map(Value::from)],
        4 => text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        let key = prop_oneof![6 => prop::sample::select(keys.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,4}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

type Reader = fn(&str);

/// Asks everything that is asked about a call.
fn ask(tool: &str, args: &Value) {
    let call = Call::new(tool, args);
    let touched: Vec<&str> = call.touches().iter().map(|touch| touch.path).collect();
    for path in touched {
        let _ = call.patched(path, Some("same\nold\nsame\n"));
        let _ = call.patched(path, None);
    }
    let _ = (call.kind(), call.may_change_any_file(), call.may_have_changed_unnamed_files());
    let _ = (call.paths().count(), call.command(), call.programs(), call.name_globs().count());
    let _ = (call.folder(), call.first_line(), call.has_range(), call.reads_beyond(7));
    let _ = (call.picks_lines(), call.reports_run(), call.content(), call.replacements());
    let _ = (call.new_texts(), call.patched_lines());
}

fn read_command(line: &str) {
    for command in shell::commands(line) {
        let _ = (command.program(), command.git(), command.runs_script());
        let _ = shell::patterns(&command);
    }
    let _ = (shell::path_words(line), shell::program_words(line), shell::script(line));
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn any_command_line_is_read(line in shell_line()) {
        read_command(&line);
        ask("bash", &json!({ "command": line }));
        ask("shell", &json!({ "command": ["bash", "-lc", line] }));
        let _ = without_notice(&line, &Value::Null);
        let _ = has_line_numbers(&line);
    }

    #[test]
    fn any_patch_is_read(patch in patch()) {
        ask("apply_patch", &json!({ "input": patch }));
        ask("apply_patch", &json!({ "patch": patch }));
        read_command(&format!("apply_patch <<'EOF'\n{patch}EOF\n"));
    }

    #[test]
    fn any_arguments_of_any_tool_are_read(
        tool in prop::sample::select(vec!["bash", "read", "edit", "write", "apply_patch", "grep", "ls", "multiedit", "é"]),
        args in any_json(),
    ) {
        ask(tool, &args);
    }

    #[test]
    fn any_settings_and_weights_are_taken_or_refused(
        key in prop::sample::select(config::SETTINGS.iter().map(|doc| doc.key).collect::<Vec<_>>()),
        value in any_json(),
    ) {
        match Settings::from_json(json!({ key: value })) {
            Ok(settings) => {
                prop_assert!(settings.excluded().is_ok());
                let again = Settings::from_json(serde_json::to_value(&settings).unwrap()).unwrap();
                prop_assert_eq!(again, settings);
            }
            Err(error) => prop_assert_eq!(error.code(), "INVALID_ARGUMENT"),
        }
        let _ = Settings::from_json(value.clone());
        let _ = Settings::default().in_environment(&|name| match name {
            "PALIMPSEST_MOUNTS" => Some(value.to_string()),
            _ => value.as_str().map(str::to_owned),
        });
        let _ = Hazards::parse(&value.to_string());
    }
}

proptest! {
    #![proptest_config(testing::cases::config(24, 1))]

    #[test]
    fn any_list_of_messages_passes_and_the_session_goes_on(
        lists in prop::collection::vec(prop::collection::vec(any_json(), 0..8), 1..4),
        pools in any::<bool>(),
    ) {
        let layout = if pools { Layout::Pools } else { Layout::Log };
        let mut host = Host::new(Settings { layout, ..Settings::default() });
        let mut call = |messages: &[Value]| {
            host.live.transform(HostList::whole(json_of(messages)), &CallInfo::default())
        };
        for list in lists {
            for _ in 0..2 {
                let passes = matches!(call(&list), Ok(Transformed::Edits { .. }));
                prop_assert!(passes, "{:?}", list);
            }
        }
        let plain = [json!({ "role": "user", "content": "and on", "timestamp": 1 })];
        let passes = matches!(call(&plain), Ok(Transformed::Edits { .. }));
        prop_assert!(passes);
    }
}

#[test]
fn reading_takes_time_in_proportion_to_the_text() {
    let readers: [(&str, Reader); 3] = [
        ("command line", |text| read_command(text)),
        ("arguments", |text| ask("bash", &json!({ "command": text }))),
        ("patch", |text| {
            ask(
                "apply_patch",
                &json!({ "input": format!("*** Begin Patch\n*** Update File: a\n{text}") }),
            );
        }),
    ];
    let seconds = |read: Reader, text: &str| spent_on(|| read(text)).as_secs_f64();
    for (what, read) in readers {
        for part in PIECES.iter().chain(&PATCH).chain(&[
            "bash -c 'bash -c \"",
            "a|",
            "<<A <<B\n",
            "cat a b; ",
            "@@\n-old\n+new\n",
        ]) {
            let text = |bytes: usize| part.repeat(bytes / part.len());
            // Eight times the text; a square would take 64 times as long.
            let is_linear = (0..5).any(|_| {
                seconds(read, &text(32_000)) < 24.0 * seconds(read, &text(4_000)).max(0.005)
            });
            assert!(is_linear, "{what} of `{part}`");
        }
    }
}
