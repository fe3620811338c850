//! Folded steps end to end: what goes out, what comes back, what is recorded.

use base::object::{AsOf, ObjectId};
use config::{PriceSetting, Settings};
use live::Wanted;
use serde_json::{Value, json};
use store::ForgetOptions;

use crate::host::Host;

/// A session of one turn whose steps fold at the next call: the window is much too small from now
/// on.
fn ready_to_fold() -> Host {
    let mut host = Host::new(Settings { keep_results: 2, ..Settings::default() });
    host.thinking = "What is left to do, and what was it that broke here? ".repeat(3);
    host.write_file("a.txt", "one\ntwo\nthree\n");
    host.write_file("b.txt", "four\n");
    host.user("please fix it");
    host.send();
    host.read("a.txt", None, None);
    host.read("b.txt", None, None);
    host.tool("bash", &json!({ "command": "cd /p && make check 2>&1 | tail" }), "1 failed");
    host.send();
    host.edit("a.txt", "two", "2\n2");
    host.send();
    host.edit("a.txt", "three", "3");
    host.send();
    host.tool("bash", &json!({ "command": "make check" }), "all well");
    host.send();
    for n in 0..7 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
        host.send();
    }
    host.window = 100;
    host
}

fn folded() -> Host {
    let mut host = ready_to_fold();
    host.tool("bash", &json!({ "command": "echo last" }), "last");
    host.send();
    assert!(!host.live.state().folds().is_empty(), "{}", host.shown());
    host
}

fn activate(host: &mut Host, name: &str) -> String {
    host.window = 200_000;
    host.send();
    host.activate(&Wanted { name: name.into(), ..Wanted::default() }, false)
}

#[test]
fn a_line_after_the_users_message_replaces_folded_steps() {
    insta::assert_snapshot!(folded().shown());
}

#[test]
fn a_text_that_is_no_list_of_blocks_becomes_one() {
    let mut host = ready_to_fold();
    host.messages[0]["content"] = json!("please fix it");
    host.rewrites = true;
    host.send();
    assert_eq!(host.sent[0]["content"][0], json!({ "type": "text", "text": "please fix it" }));
    let line = host.sent[0]["content"][1]["text"].as_str().unwrap();
    assert!(line.starts_with("[t1-t12] s1 · 12 steps: "), "{line}");
}

#[test]
fn an_output_of_a_folded_step_comes_back_by_its_handle() {
    let mut host = folded();
    assert_eq!(activate(&mut host, "t3"), "[t3] bash · line 1 of 1\n1 failed");
    assert_eq!(activate(&mut host, "t2"), "[f2] b.txt · line 1 of 1\nfour\n");
    host.send();
}

#[test]
fn a_read_of_lines_that_only_a_folded_step_showed_gives_them() {
    let mut host = folded();
    host.window = 200_000;
    host.read("b.txt", None, None);
    host.send();
    assert_eq!(host.sent.last().unwrap()["content"][0]["text"], "four\n");
}

#[test]
fn more_steps_join_the_line_of_those_next_to_them() {
    let mut host = folded();
    let before = host.live.state().folds().all().next().unwrap().clone();
    host.tool("bash", &json!({ "command": "make check" }), "all well again");
    host.send();
    let folds: Vec<_> = host.live.state().folds().all().cloned().collect();
    assert_eq!(folds.len(), 1, "{folds:?}");
    assert!(folds[0].first <= before.first && folds[0].last > before.last, "{folds:?}");
    assert_ne!(folds[0].line, before.line);
}

#[test]
fn going_back_to_before_what_followed_brings_folded_steps_back() {
    let mut host = folded();
    let last = host.live.state().folds().all().next().unwrap().last;
    host.messages.truncate(usize::try_from(last).unwrap() + 1);
    host.window = 200_000;
    host.user("another way");
    host.send();
    assert!(host.live.state().folds().is_empty());
    assert_eq!(host.sent.len(), host.messages.len());
    assert_eq!(host.sent[0], host.messages[0]);
}

#[test]
fn going_back_beyond_folded_steps_leaves_them_folded() {
    let mut host = folded();
    let shown = host.sent[0].clone();
    let last = host.live.state().folds().all().next().unwrap().last;
    host.messages.truncate(usize::try_from(last).unwrap() + 3);
    host.window = 200_000;
    host.user("another way");
    host.send();
    assert_eq!(host.sent[0], shown);
    assert!(host.sent.len() < host.messages.len());
}

#[test]
fn a_change_of_what_does_not_go_out_starts_no_epoch() {
    let mut host = folded();
    host.window = 200_000;
    host.send();
    let (epoch, before) = (host.live.state().epoch(), host.sent.clone());
    assert!(host.live.state().folds().hide(4));
    host.messages[4]["content"][0]["text"] = json!("withdrawn");
    host.tool("bash", &json!({ "command": "echo on" }), "on");
    host.send();
    assert_eq!(host.live.state().epoch(), epoch);
    assert_eq!(host.sent[..before.len()], before[..]);
    // What goes out has changed here.
    host.messages[0]["content"][0]["text"] = json!("please fix that");
    host.rewrites = true;
    host.send();
    assert_eq!(host.live.state().epoch(), epoch + 1);
}

#[test]
fn a_folded_volatile_message_comes_back_in_its_current_form() {
    let mut host = folded();
    host.window = 200_000;
    host.rewrites = true;
    for n in 0..6 {
        host.messages[4]["content"][0]["text"] = json!(format!("text {n}"));
        host.send();
    }
    assert!(host.live.state().folds().hide(4));
    let last = host.live.state().folds().all().next().unwrap().last;
    host.messages.truncate(usize::try_from(last).unwrap() + 1);
    host.user("another way");
    host.send();
    assert_eq!(host.sent[4], host.messages[4]);
}

#[test]
fn a_command_that_is_forgotten_goes_from_the_line_too() {
    let mut host = ready_to_fold();
    let command = "deploy --to production-7f3a9c";
    let call = host.tool("bash", &json!({ "command": command }), "done");
    for n in 10..16 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
    }
    host.send();
    let line = |host: &Host| host.live.state().folds().all().next().unwrap().line.clone();
    assert!(line(&host).contains(command), "{}", line(&host));
    host.live.close().unwrap();
    let options = ForgetOptions { dry_run: false, everywhere: false };
    host.store.forget(&ObjectId::new(call), options).unwrap();
    let items = host.store.items(host.live.id(), AsOf::Latest, 0..u64::MAX).unwrap();
    assert!(!items.iter().any(|item| item.contains("7f3a9c")), "{items:#?}");
    host.rewrites = true;
    // The line that went out is gone from the records too: the ledger cannot know that it changed.
    host.settings.prices = PriceSetting::Named("openai".into());
    host.crash();
    assert!(line(&host).contains("[forgotten] ok"), "{}", line(&host));
    host.window = 200_000;
    host.user("go on");
    host.send();
}

#[test]
fn a_line_for_folded_steps_does_not_get_into_a_file() {
    let host = folded();
    let line = host.live.state().folds().all().next().unwrap().line.clone();
    let args = json!({ "path": "a.txt", "content": format!("one\n{line}\n") });
    let refused = host.live.check_write("write", &args).unwrap();
    assert!(refused.unwrap().contains(&line));
}

#[test]
fn the_record_of_a_fold_repeats_nothing_that_stays() {
    for restarts in [false, true] {
        let mut host = ready_to_fold();
        host.messages[0]["content"][0]["text"] = json!("a long text ".repeat(500));
        host.rewrites = true;
        host.window = 200_000;
        host.send();
        if restarts {
            host.restart();
        }
        host.window = 100;
        host.tool("bash", &json!({ "command": "echo last" }), "last");
        host.send();
        let items = host.store.items(host.live.id(), AsOf::Latest, 0..u64::MAX).unwrap();
        let record: Value = serde_json::from_str(items.last().unwrap()).unwrap();
        let edits = record["edits"].as_array().unwrap();
        let came = |edit: &Value| edit["insert"].as_array().unwrap().len();
        let came: usize = edits.iter().map(came).sum();
        assert!(came <= 3, "the user message and two new ones: {record}");
        assert!(record.to_string().len() < 2_000, "the user message is not repeated: {record}");
    }
}

#[test]
fn a_run_of_calls_is_listed_with_one_line_per_step() {
    let mut host = folded();
    let line = host.live.state().folds().all().next().unwrap().line.clone();
    let run = line.split(['[', ']']).nth(1).unwrap().to_owned();
    let listed = activate(&mut host, &run);
    insta::assert_snapshot!(listed);
    assert_eq!(listed, activate(&mut host, &format!("[{run}]")));
    for (name, expected) in [
        ("t2-t2", "[t2] 1 step:\n[t2] read f2 b.txt · line 1\nName one"),
        ("t14-t99", "[t14-t99] 1 step:\n[t14] echo last ok\nThe newest call is t14.\nName one"),
        ("t50-t60", "[t50-t60] names no calls of this conversation.\nThe newest call is t14."),
        ("f1-f2", "`name` `f1-f2` names several objects: activate them one by one"),
        ("t1-t5@-1", "`name` `t1-t5` names several calls, which have versions of their own"),
        ("t1-x5", "nothing is named `t1-x5`"),
    ] {
        let answer = activate(&mut host, name);
        assert!(answer.starts_with(expected), "{name}: {answer}");
    }
    let wanted = Wanted { name: run, lines: None, pattern: Some("failed".into()) };
    assert_eq!(host.activate(&wanted, true), listed, "which of them is asked for is not known");
    host.send();
}

#[test]
fn a_long_run_of_calls_is_listed_in_parts() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    for n in 0..70 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
    }
    host.send();
    let listed = activate(&mut host, "t1-t70");
    assert!(listed.starts_with("[t1-t70] 70 steps:\n[t1] echo 0 ok\n"), "{listed}");
    assert!(
        listed.contains("\n[t60] echo 59 ok\n`t61-t70` lists 10 more steps.\nName"),
        "{listed}"
    );
}

#[test]
fn calls_of_a_branch_that_was_left_are_said_to_be() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    for n in 0..3 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
    }
    host.send();
    host.messages.truncate(3);
    host.rewrites = true;
    host.user("otherwise");
    host.send();
    let left = "2 of t2-t3 had no result, or belong to a branch of the conversation that was left.";
    assert!(activate(&mut host, "t1-t3").contains(left));
}

#[test]
fn the_segment_in_a_fold_line_brings_back_its_words() {
    let mut host = folded();
    assert_eq!(host.live.state().folds().all().count(), 1);
    assert!(host.shown().contains("[t1-t13] s1 · 13 steps: "), "{}", host.shown());
    let answer = activate(&mut host, "s1");
    assert!(answer.starts_with("[s1] turn 1 · lines 1-"), "{answer}");
    let first = "thinking:\nWhat is left to do, and what was it that broke here? ";
    let rest = answer.split_once('\n').unwrap().1;
    assert!(
        rest.starts_with(first) && rest.contains("\n[t3] bash\ncommand: cd /p && make"),
        "{rest}"
    );
    host.send();
    host.restart();
    assert_eq!(activate(&mut host, "s1"), answer);
}

#[test]
fn the_line_of_a_folded_edit_names_its_lines_as_they_are_now() {
    let mut host = ready_to_fold();
    host.edit("a.txt", "one", "zero\none");
    host.edit("b.txt", "four\n", "");
    host.tool("bash", &json!({ "command": "echo last" }), "last");
    host.send();
    let shown = host.shown();
    assert!(shown.contains("edit f1:3-5 (+3 -2)"), "{shown}");
    let answer = activate(&mut host, "f1:3-5");
    assert_eq!(answer, "[f1] a.txt · lines 3-5 of 5\n2\n2\n3");
}

#[test]
fn a_longer_fold_line_names_a_new_segment_and_keeps_the_old() {
    let mut host = folded();
    let before = activate(&mut host, "s1");
    host.window = 100;
    for n in 20..23 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
        host.send();
    }
    let folds: Vec<_> = host.live.state().folds().all().cloned().collect();
    let handle = host.live.state().index().segment(folds[0].first, folds[0].last).unwrap().handle;
    assert!(folds[0].line.contains(&format!("] {handle} · ")) && handle.number > 1, "{folds:?}");
    assert_eq!(activate(&mut host, "s1"), before);
}
