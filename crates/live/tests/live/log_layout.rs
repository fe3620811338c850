//! The `log` layout end to end: a scripted host on real files, in-memory store.

use crate::host::{Host, uncached};
use crate::shapes::text_of;
use base::object::{AsOf, Handle, Nickname, ObjectId};
use config::Settings;
use live::{Notice, Wanted, replay_call};
use serde_json::{Value, json};
use store::Expected;

fn numbered(lines: usize) -> String {
    let lines: Vec<String> = (1..=lines).map(|n| format!("line {n} of the file")).collect();
    lines.join("\n") + "\n"
}

fn log_of(lines: usize, name: &str) -> String {
    let line = |n| format!("{name} test {n} ... ok, and some more words to make it long");
    let lines: Vec<String> = (1..=lines).map(line).collect();
    lines.join("\n") + "\ntest result: ok"
}

fn settings() -> Settings {
    Settings {
        keep_results: 2,
        collapse_tokens: 1_500,
        fault_tokens: 10_000,
        preview_tokens: 4_000,
        prices: uncached(),
        ..Settings::default()
    }
}

#[test]
fn a_short_session_goes_out_as_the_host_gave_it() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered(20));
    host.user("look at a.txt");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.tool("bash", &json!({ "command": "ls" }), "a.txt\n");
    assert_eq!(host.send(), host.messages);
}

#[test]
fn a_reread_of_shown_lines_gets_one_line_unless_repeated() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered(30));
    host.user("go");
    host.send();
    host.read("a.txt", Some(1), Some(10));
    host.send();
    host.tool("bash", &json!({ "command": "true" }), "(no output)");
    host.send();
    host.read("a.txt", Some(1), Some(10));
    host.send();
    host.read("a.txt", Some(1), Some(10));
    host.send();
    host.read("a.txt", Some(8), Some(6));
    host.send();
    insta::assert_snapshot!(host.shown());
}

#[test]
fn a_changed_file_is_shown_anew_and_the_model_is_told() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered(10));
    host.user("go");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.write_file("a.txt", &numbered(10).replace("line 4 of", "LINE FOUR of"));
    host.tool("bash", &json!({ "command": "true" }), "(no output)");
    host.send();
    assert!(
        matches!(&host.notices[..], [Notice::FileChanged { added: 1, removed: 1, .. }]),
        "{:?}",
        host.notices
    );
    assert_eq!(host.told, ["[f1] a.txt changed on disk after t1 (+1 -1)"]);
    host.read("a.txt", None, None);
    host.send();
    assert!(host.told.is_empty(), "once");
    host.edit("a.txt", "line 9", "line nine");
    host.send();
    assert_eq!(host.notices, [], "the model's own edit is no news");
    insta::assert_snapshot!(host.shown());
}

/// Writes a version of an object with more fields.
fn describe(host: &Host, id: &ObjectId, fields: &Value) {
    let version = host.store.require(id, AsOf::Latest).unwrap();
    let mut payload = host.store.payload(&version).unwrap();
    payload.fields.extend(fields.as_object().unwrap().clone());
    let mut transaction = host.store.begin();
    transaction.put(version.envelope, payload, Expected::Any).unwrap();
    transaction.commit().unwrap();
}

fn nickname(host: &Host, id: &ObjectId, name: &str) {
    let mut transaction = host.store.begin();
    transaction.name(Nickname::parse(name).unwrap(), Some(id.clone()));
    transaction.commit().unwrap();
}

#[test]
fn reference_lines_describe_their_object_as_of_the_collapse() {
    let mut host = Host::new(settings());
    host.write_file("a.txt", &numbered(200));
    host.user("go");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.tool("bash", &json!({ "command": "make check" }), &log_of(60, "first"));
    host.send();
    let object = |host: &Host, handle: &str| {
        let handle = Handle::parse(handle).unwrap();
        host.live.state().index().by_handle(handle).unwrap().id.clone()
    };
    let (file, call) = (object(&host, "f1"), object(&host, "t2"));
    nickname(&host, &file, "numbers");
    describe(
        &host,
        &call,
        &json!({ "view": ["short_summary", "args.command", "tool", "gone"],
        "short_summary": "all 60\n tests pass" }),
    );
    for n in 0..3 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &format!("{n}"));
        host.send();
    }
    assert!(host.live.state().epoch() >= 1, "an epoch was due");
    let line = |host: &Host, handle: &str| {
        let shown = host.shown();
        let start = format!("[{handle}] ");
        let line = shown.lines().find(|line| line.trim_start().starts_with(&start));
        line.unwrap_or_else(|| panic!("{shown}")).trim().to_owned()
    };
    assert_eq!(line(&host, "t1"), "[t1] f1 a.txt · lines 1-200 · named numbers");
    let of_call = r#"[t2] exit 0 · 61 lines · last: "test result: ok" · short_summary: "all 60 tests pass" · args.command: "make check""#;
    assert_eq!(line(&host, "t2"), of_call);
    // What has gone out stays as it is, and after a restart too.
    describe(&host, &call, &json!({ "short_summary": "another" }));
    host.restart();
    host.tool("bash", &json!({ "command": "echo 4" }), "4");
    host.send();
    assert_eq!(line(&host, "t2"), of_call);
    let session = host.live.id().clone();
    let calls = host.live.state().calls();
    host.live.close().unwrap();
    for number in 1..=calls {
        assert!(replay_call(&host.store, &session, number).unwrap().verified, "call {number}");
    }
}

#[test]
fn collapsed_outputs_leave_reference_lines_and_can_come_back() {
    let mut host = Host::new(settings());
    host.write_file("a.txt", &numbered(200));
    host.user("go");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.tool("bash", &json!({ "command": "make check" }), &log_of(60, "first"));
    host.send();
    for n in 0..3 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &format!("{n}"));
        host.send();
    }
    assert!(host.live.state().epoch() >= 1, "an epoch was due");
    let shown = host.shown();
    assert!(shown.contains("[t1] f1 a.txt · lines 1-200"), "{shown}");
    assert!(shown.contains(r#"[t2] exit 0 · 61 lines · last: "test result: ok""#), "{shown}");
    let answer = host
        .activate(&Wanted { name: "t2".into(), lines: Some("59-61".into()), pattern: None }, false);
    insta::assert_snapshot!(answer, @r"
    [t2] bash · lines 59-61 of 61
    first test 59 ... ok, and some more words to make it long
    first test 60 ... ok, and some more words to make it long
    test result: ok
    ");
    host.send();
    assert!(host.shown().contains("first test 59"));
    let file = host.activate(
        &Wanted { name: "t1".into(), lines: None, pattern: Some("line 77 ".into()) },
        false,
    );
    assert!(file.starts_with("[f1] a.txt · lines 75-79 of 200\nline 75"), "{file}");
}

#[test]
fn a_restart_changes_nothing() {
    let run = |restarts: bool| {
        let mut host = Host::new(Settings { extra_share: 1.0, ..settings() });
        host.write_file("a.txt", &numbered(200));
        host.user("go");
        let mut requests = Vec::new();
        for n in 0..12 {
            match n % 4 {
                0 => host.read("a.txt", Some(n * 10 + 1), Some(60)),
                1 => {
                    host.edit("a.txt", &format!("line {} of", n * 9), &format!("row {} of", n * 9));
                }
                2 => {
                    drop(host.tool("bash", &json!({ "command": n.to_string() }), &log_of(40, "n")));
                }
                _ => drop(host.activate(
                    &Wanted { name: "f1".into(), lines: Some("3-9".into()), pattern: None },
                    n > 8,
                )),
            }
            if restarts {
                host.restart();
            }
            requests.push(host.send());
        }
        (requests, host.live.state().epoch())
    };
    let (plain, epochs) = run(false);
    let (restarted, _) = run(true);
    assert!(epochs > 0, "the session must have epochs to prove anything");
    assert_eq!(plain, restarted);
}

#[test]
fn stale_text_of_a_file_being_edited_is_current_after_an_epoch() {
    let mut host = Host::new(settings());
    host.write_file("a.txt", &numbered(40));
    host.user("go");
    host.send();
    host.tool("bash", &json!({ "command": "make" }), &log_of(120, "big"));
    host.send();
    host.read("a.txt", Some(1), Some(20));
    host.edit("a.txt", "line 5 of the file\n", "line 5 of the file\nline 5b\n");
    host.send();
    let shown = host.shown();
    assert_eq!(host.live.state().epoch(), 1, "{shown}");
    assert!(
        shown.contains(
            "Successfully replaced 1 block(s) in a.txt.\n\n[f1] a.txt · lines 1-21 of 41\nline 1 of"
        ),
        "{shown}"
    );
    assert_eq!(shown.matches("line 7 of the file").count(), 1, "{shown}");
}

#[test]
fn long_outputs_are_previewed_with_a_way_to_the_rest() {
    let mut host = Host::new(Settings { preview_tokens: 500, ..Settings::default() });
    host.user("go");
    host.tool("bash", &json!({ "command": "make check" }), &log_of(900, "x"));
    host.send();
    let shown = host.shown();
    assert!(shown.contains("lines between (t1:"), "{shown}");
    assert!(shown.ends_with("test result: ok"), "{shown}");
    let rest = host.activate(
        &Wanted { name: "t1".into(), lines: Some("400-401".into()), pattern: None },
        false,
    );
    assert!(rest.contains("x test 400 ..."), "{rest}");
}

fn activate(host: &mut Host, name: &str) -> String {
    host.activate(&Wanted { name: name.into(), ..Wanted::default() }, false)
}

#[test]
fn a_read_whose_lines_are_gone_is_activated_as_it_was_read() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered(9));
    host.user("go");
    host.read("a.txt", Some(4), Some(3));
    host.send();
    let text = numbered(9);
    let stays = |line: &&str| !["4", "5", "6"].contains(&&line[5..6]);
    let without = text.lines().filter(stays).collect::<Vec<_>>().join("\n") + "\n";
    host.write_file("a.txt", &without);
    let answer = activate(&mut host, "t1");
    insta::assert_snapshot!(answer, @r"
    [f1] a.txt (these lines are gone since; as they were read) · lines 4-6 of 9
    line 4 of the file
    line 5 of the file
    line 6 of the file
    ");
    host.send();
    host.write_file("a.txt", &numbered(12));
    std::fs::remove_file(host.path("a.txt")).unwrap();
    let answer = activate(&mut host, "t1");
    assert!(answer.contains("line 4 of the file\nline 5 of the file\nline 6"), "{answer}");
    host.send();
}

#[test]
fn a_requested_toolcall_version_is_never_substituted() {
    let mut host = Host::new(Settings::default());
    host.rewrites = true;
    host.write_file("a.txt", "one\n");
    host.user("go");
    host.tool("bash", &json!({ "command": "make" }), "first");
    host.read("a.txt", None, None);
    host.send();
    host.messages[2]["content"][0]["text"] = json!("second");
    host.send();
    let earlier = "[t1] bash (version @-1, not the latest) · line 1 of 1\nfirst";
    assert_eq!(activate(&mut host, "t1@-1"), earlier);
    assert_eq!(activate(&mut host, "t1"), "[t1] bash · line 1 of 1\nsecond");
    let refusal = "nothing is named `t1@-9`; near it: `t1`, `t1@-1`";
    assert_eq!(activate(&mut host, "t1@-9"), refusal);
    assert_eq!(activate(&mut host, "f1@-1"), "nothing is named `f1@-1`; near it: `f1`");
    let refusal = "`name` asks for a version of t2, which shows lines of f1: name a version of f1";
    assert_eq!(activate(&mut host, "t2@-1"), refusal);
    host.send();
}

#[test]
fn a_note_on_a_largely_changed_file_only_gives_counts() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered(30_000));
    host.user("go");
    host.read("a.txt", Some(1), Some(5));
    host.send();
    host.write_file("a.txt", &numbered(30_000).replace("line", "row"));
    host.user("on");
    host.send();
    let shown = host.shown();
    assert!(shown.contains("[f1] a.txt changed on disk after t1 (+30000 -30000):\n… 60,000 more changed lines in f1 …\n"), "{shown}");
}

#[test]
fn the_lines_of_an_output_are_counted_one_way() {
    let mut host = Host::new(settings());
    host.user("go");
    let log = log_of(300, "x").replace(" ... ok", "");
    host.tool("bash", &json!({ "command": "make" }), &(log + "\n"));
    for n in 0..4 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), "n");
        host.send();
    }
    assert!(host.shown().contains("[t1] exit 0 · 301 lines"), "{}", host.shown());
    let answer = activate(&mut host, "t1");
    assert!(answer.starts_with("[t1] bash · lines 1-301 of 301\n"), "{answer}");
}

#[test]
fn a_collapsed_activate_keeps_the_exit_of_its_run() {
    let settings = Settings {
        keep_results: 1,
        collapse_tokens: 100,
        fault_tokens: 10_000,
        prices: uncached(),
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    let output = "a line of the log with some words\n".repeat(60);
    host.user("go");
    for (tool, ending) in
        [("bash", "\n\nCommand exited with code 101"), ("deploy", ""), ("check", "")]
    {
        let (args, is_error) = (json!({ "command": "make" }), tool != "check");
        let id = host.call(tool, &args);
        host.answer(&id, tool, &args, &format!("{output}{tool}{ending}"), is_error);
        host.send();
    }
    for name in ["t1", "t2", "t3"] {
        host.activate(&Wanted { name: name.into(), ..Wanted::default() }, false);
        host.send();
    }
    for n in 0..3 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), "");
        host.send();
    }
    host.user("on");
    host.send();
    for (name, status) in [("t1", "exit 101"), ("t2", "failed"), ("t3", "ok")] {
        let line = format!("[{name}] {status} · ");
        let lines = host.sent.iter().filter(|message| text_of(message).starts_with(&line));
        assert_eq!(lines.count(), 2, "{name}: {}", host.shown());
    }
}
