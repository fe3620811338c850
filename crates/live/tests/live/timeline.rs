//! A session over time: what its calls consisted of, what happened between them, how objects were
//! shown; a call compared with others; and a stored session as a transcript.

use std::collections::BTreeSet;

use base::object::ObjectId;
use config::{Layout, Settings};
use live::{
    Against, Beside, ChangeKind, MarkKind, PromptTokens, Since, Timeline, inspect_beside,
    stored_chat, timeline,
};
use replay::transcript::Transcript;
use serde_json::{Value, json};
use session::{Treatment, Way};
use store::Store;

use crate::checks::for_each_call;
use crate::host::{Host, OVERHEAD_TOKENS};

/// Checks that each call of a timeline has the tokens of its record and its messages, and that its
/// objects are shown there in that way.
pub(crate) fn check(store: &Store, session: &ObjectId) {
    let over_time = timeline(store, session).unwrap();
    let numbers = 1..over_time.calls.len() as u64 + 1;
    for_each_call(store, session, numbers, |number, call| {
        let point = &over_time.calls[usize::try_from(number).unwrap() - 1];
        assert_eq!(point.number, number, "every call has its point");
        let Some(record) = &point.record else { return };
        assert_eq!(point.messages, call.messages.len() as u64);
        if record.layout == "log" {
            let kinds = point.kinds;
            let messages = kinds.person + kinds.model + kinds.outputs + kinds.files;
            let sum = messages + kinds.notes + kinds.references;
            assert_eq!(sum, record.sent_tokens, "kinds of call {number}: {kinds:?}");
            check_shown(&over_time, number, &call.about);
        }
    });
}

fn check_shown(over_time: &Timeline, number: u64, about: &[live::About]) {
    let shown: BTreeSet<&ObjectId> = about
        .iter()
        .filter(|about| about.at.is_some())
        .filter_map(|about| about.object.as_ref())
        .collect();
    let stands = |object: &ObjectId| {
        let line = over_time.objects.iter().find(|line| line.id == *object);
        line.is_none_or(|line| line.shown.iter().any(|run| (run.from..=run.to).contains(&number)))
    };
    for object in shown {
        assert!(stands(object), "{object} is shown at call {number}");
    }
}

fn marks(over_time: &Timeline) -> Vec<(MarkKind, u64)> {
    over_time.marks.iter().map(|mark| (mark.kind, mark.call)).collect()
}

fn small() -> Settings {
    Settings { keep_results: 1, collapse_tokens: 500, preview_tokens: 500, ..Settings::default() }
}

/// A session in which a file is read and changes, a long output is previewed, and an epoch starts
/// at the last call.
fn worked() -> Host {
    let mut host = Host::new(small());
    host.write_file("a.txt", &"a line of the file\n".repeat(60));
    host.user("begin");
    host.read("a.txt", None, None);
    host.send();
    host.tool("bash", &json!({ "command": "make" }), &"made it\n".repeat(900));
    host.send();
    host.write_file("a.txt", &"another line of it\n".repeat(60));
    while host.live.state().epoch() == 0 {
        let command = format!("run {}", host.live.state().calls());
        host.tool("bash", &json!({ "command": command }), "ran");
        host.send();
    }
    host
}

#[test]
fn every_call_has_the_tokens_of_its_messages_by_kind() {
    let mut host = worked();
    host.restart();
    check(&host.store, host.live.id());
    let over_time = timeline(&host.store, host.live.id()).unwrap();
    let first = over_time.calls.first().unwrap().kinds;
    assert!(first.files > 200 && first.outputs == 0 && first.references == 0, "{first:?}");
    let second = over_time.calls[1].kinds;
    assert!(second.outputs > 100 && second.files == first.files, "{second:?}");
    assert!(over_time.calls[2].kinds.notes > 0, "the model is told that the file changed");
    let last = over_time.calls.last().unwrap().kinds;
    assert!(last.references > 0 && last.outputs < second.outputs, "{last:?}");
    assert!(first.prompt > 0 && last.prompt == first.prompt);
}

#[test]
fn a_pinned_file_is_counted_among_the_files() {
    let mut host = Host::new(small());
    host.write_file("a.txt", &"a line of the file\n".repeat(60));
    host.user("begin");
    host.read("a.txt", Some(1), Some(2));
    host.send();
    let handle = host.live.state().index().entries[0].handle.to_string();
    host.activate(&live::Wanted { name: handle, ..Default::default() }, true);
    host.send();
    check(&host.store, host.live.id());
    let calls = timeline(&host.store, host.live.id()).unwrap().calls;
    let [first, second] = &calls[..] else { panic!("{calls:?}") };
    assert!(second.kinds.files > first.kinds.files + 200, "{:?}", second.kinds);
}

#[test]
fn an_object_is_shown_as_given_then_in_part_then_by_its_line() {
    let host = worked();
    let over_time = timeline(&host.store, host.live.id()).unwrap();
    let last = over_time.calls.last().unwrap().number;
    let named = |name: &str| over_time.objects.iter().find(|object| object.name.contains(name));
    let ways = |name: &str| -> Vec<_> {
        let runs = &named(name).unwrap().shown;
        runs.iter().map(|run| (run.way, run.from, run.to)).collect()
    };
    assert_eq!(ways("make"), [(Way::Excerpt, 2, last - 1), (Way::Reference, last, last)]);
    assert_eq!(ways("a.txt")[0], (Way::Given, 1, last - 1));
}

#[test]
fn what_happened_is_marked_at_the_first_call_after_it() {
    let mut host = worked();
    let epoch = host.live.state().calls();
    let handle = host.live.state().index().entries[0].handle.to_string();
    host.activate(&live::Wanted { name: handle, ..Default::default() }, true);
    host.send();
    host.live.record_failed_call("DISK_FULL");
    host.user("on");
    host.send();
    let over_time = timeline(&host.store, host.live.id()).unwrap();
    let found = marks(&over_time);
    for mark in [
        (MarkKind::FileChanged, 3),
        (MarkKind::Note, 3),
        (MarkKind::Epoch, epoch),
        (MarkKind::Pinned, epoch + 1),
        (MarkKind::FailedOpen, epoch + 2),
    ] {
        assert!(found.contains(&mark), "{mark:?} of {found:?}");
    }
    assert_eq!(
        over_time.calls[usize::try_from(epoch).unwrap() + 1].failed_open.as_deref(),
        Some("DISK_FULL")
    );
    let reason = over_time.marks.iter().find(|mark| mark.kind == MarkKind::Epoch).unwrap();
    assert!(reason.text.as_ref().is_some_and(|text| !text.is_empty()));
    assert!(over_time.objects.iter().any(|object| object.is_pinned));
}

#[test]
fn a_call_stands_beside_what_the_plain_host_would_have_sent() {
    let host = worked();
    let last = host.live.state().calls();
    let beside =
        |call, against| inspect_beside(&host.store, host.live.id(), call, against).unwrap();
    let Beside { other: plain, changes, .. } = beside(last, Against::Plain);
    let of_plain = plain.unwrap();
    let plain: Vec<Value> =
        of_plain.messages.iter().map(|json| serde_json::from_str(json).unwrap()).collect();
    assert_eq!(plain, host.messages, "plain is the host's own list");
    assert!(of_plain.record.is_none());
    let treatments = of_plain.about.iter().filter_map(|about| about.treatment.as_ref());
    assert!(treatments.into_iter().all(|treatment| *treatment == Treatment::Given));
    assert!(
        of_plain
            .about
            .iter()
            .all(|about| about.notes.is_empty() && about.since == Since::default())
    );
    let shorter = changes.iter().any(|change| change.change == ChangeKind::Changed);
    assert!(shorter, "{changes:?}");
    assert_eq!(beside(last, Against::Before).other.unwrap().call, last - 1);
    assert!(beside(1, Against::Before).other.is_none());
}

#[test]
fn in_the_layout_pools_files_and_lines_are_counted_apart() {
    let mut host = Host::new(Settings { layout: Layout::Pools, ..small() });
    host.write_file("a.txt", &"a line of the file\n".repeat(60));
    host.user("begin");
    host.read("a.txt", None, None);
    host.send();
    let over_time = timeline(&host.store, host.live.id()).unwrap();
    let kinds = over_time.calls.last().unwrap().kinds;
    assert!(kinds.files > 200 && kinds.references > 0, "{kinds:?}");
}

#[test]
fn a_stored_session_is_a_transcript_of_its_branch() {
    let mut host = worked();
    host.say("done");
    host.user("more");
    host.send();
    let chat = stored_chat(&host.store, host.live.id()).unwrap();
    let stored: Vec<Value> =
        chat.messages.iter().map(|json| serde_json::from_str(json).unwrap()).collect();
    assert_eq!(stored, host.messages);
    let transcript = Transcript::of_messages("name", &chat.cwd, &chat.messages);
    assert_eq!(transcript.cwd.as_deref(), Some(chat.cwd.as_str()));
    assert_eq!(transcript.messages.len(), host.messages.len());
}

#[test]
fn a_stored_session_has_its_calls_average_prompt_tokens() {
    let mut host = worked();
    let calls = timeline(&host.store, host.live.id()).unwrap().calls;
    let known = |host: &Host| stored_chat(&host.store, host.live.id()).unwrap().prompt.unwrap();
    let before = calls[0].kinds.prompt;
    assert!(calls.iter().all(|call| call.kinds.prompt == before) && before > OVERHEAD_TOKENS);
    assert_eq!(known(&host), PromptTokens { all: before, ours: OVERHEAD_TOKENS });
    host.prompt_tokens = Some(before + 10 * (calls.len() as u64 + 1));
    host.user("more");
    host.send();
    assert_eq!(known(&host), PromptTokens { all: before + 10, ours: OVERHEAD_TOKENS });
}

#[test]
fn a_session_without_calls_has_no_prompt_tokens() {
    let mut host = Host::new(Settings::default());
    let turn = json!({ "role": "user", "content": "hello", "timestamp": 1 });
    host.live.commit_turn("a turn", vec![turn.to_string()]).unwrap();
    assert_eq!(stored_chat(&host.store, host.live.id()).unwrap().prompt, None);
}
