//! Folded or compacted messages, and any run of turns, as objects: activated with the words of the
//! user and the model, the same after a restart, on another branch and in another store.

use base::object::{AsOf, ObjectId, ObjectType};
use config::{Layout, PriceSetting, Settings};
use live::{Wanted, replay_call, text_of};
use serde_json::json;
use store::{ArchiveScope, ForgetOptions, SearchFilter, SearchQuery, Store};

use crate::archived::import;
use crate::host::Host;
use crate::withheld::everything_in;

const KEY: &str = "the release branch is called amber-falcon";

/// Two turns, in the first of which a file was read and a command run.
fn talk(settings: Settings) -> Host {
    talk_with(Host::new(settings))
}

fn talk_with(mut host: Host) -> Host {
    host.thinking = "I had better look first.".into();
    host.write_file("a.txt", "one\ntwo\nthree\n");
    host.user(&format!("Remember: {KEY}.\nThen look at a.txt."));
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.edit("a.txt", "two", "2\n2");
    host.send();
    host.tool("bash", &json!({ "command": "make" }), "all well");
    host.send();
    host.say("It has three lines.");
    host.user("And now?");
    host.send();
    host.say("Nothing is left to do.");
    host.send();
    host
}

/// As Pi compacts: a summary first, then the newest messages.
fn compact(host: &mut Host, keep: usize) {
    host.send();
    let kept = host.messages.split_off(host.messages.len() - keep);
    host.messages.clear();
    host.push(json!({ "role": "compactionSummary", "summary": "they looked at a.txt", "tokensBefore": 9 }));
    host.messages.extend(kept);
}

fn compacted(settings: Settings) -> Host {
    let mut host = talk(settings);
    compact(&mut host, 1);
    host.user("What was the branch called?");
    host.send();
    host
}

fn activate(host: &mut Host, name: &str) -> String {
    host.activate(&Wanted { name: name.into(), ..Wanted::default() }, false)
}

fn search(store: &Store, text: &str, kinds: &[ObjectType]) -> Vec<Option<ObjectId>> {
    let filter = SearchFilter { kinds: kinds.to_vec(), ..SearchFilter::default() };
    let query = SearchQuery { filter, ..SearchQuery::new(text) };
    store.search(&query).unwrap().hits.into_iter().map(|hit| hit.segment).collect()
}

/// The newest version of the only segment.
fn words_at_rest(store: &Store) -> String {
    let segments = store.list(ObjectType::ChatSegment, None, 9).unwrap();
    assert_eq!(segments.len(), 1, "{segments:?}");
    text_of(store, &segments[0], None).unwrap().unwrap()
}

/// The first and the last line of a list of parts, which follow each other.
fn listed(parts: &[&str]) -> (u64, u64) {
    let ranges = parts.iter().map(|part| {
        let (range, _) = part.strip_prefix("lines ").unwrap().split_once(" · ").unwrap();
        let (first, last) = range.split_once('-').unwrap();
        (first.parse::<u64>().unwrap(), last.parse::<u64>().unwrap())
    });
    let all = ranges.reduce(|before, part| {
        assert_eq!(part.0, before.1 + 1, "{parts:?}");
        (before.0, part.1)
    });
    all.unwrap()
}

#[test]
fn what_the_host_compacted_away_comes_back_word_for_word() {
    let mut host = compacted(Settings::default());
    let newest = host.sent.last().unwrap()["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(newest, "[s1] turns 1-2 in full · 9 messages");
    insta::assert_snapshot!(activate(&mut host, "s1"), @r#"
    [s1] turns 1-2 · lines 1-26 of 26
    user, turn 1:
    Remember: the release branch is called amber-falcon.
    Then look at a.txt.
    thinking:
    I had better look first.
    [t1] read
    path: a.txt
    [t1] ok · 3 lines · last: "three"
    thinking:
    I had better look first.
    [t2] edit
    path: a.txt
    edits[0].oldText: two
    edits[0].newText:
    2
    2
    [t2] ok · 1 line · last: "Successfully replaced 1 block(s) in a.txt."
    thinking:
    I had better look first.
    [t3] bash
    command: make
    [t3] exit 0 · 1 line · last: "all well"
    assistant:
    It has three lines.
    user, turn 2:
    And now?
    "#);
    host.send();
    assert!(host.shown().contains(KEY));
}

#[test]
fn a_segment_is_found_by_its_messages_words() {
    let host = compacted(Settings::default());
    let segment = ObjectId::chat_segment("session-1", 0, 8);
    let version = host.store.get(&segment, AsOf::Latest).unwrap().unwrap();
    assert_eq!((version.content, version.additional.len()), (None, 0));
    assert!(!json!(version.fields).to_string().contains("falcon"));
    for kinds in [&[][..], &[ObjectType::ChatSegment], &[ObjectType::Chat]] {
        assert_eq!(search(&host.store, "\"amber-falcon\"", kinds), [Some(segment.clone())]);
    }
    assert_eq!(search(&host.store, "branch called", &[ObjectType::ChatSegment]).len(), 1);
    assert_eq!(search(&host.store, "\"What was the branch\"", &[ObjectType::Chat]), [None]);
}

#[test]
fn lines_and_patterns_take_a_part_of_the_turns() {
    let mut host = compacted(Settings::default());
    let wanted = |name: &str, lines: Option<&str>, pattern: Option<&str>| Wanted {
        name: name.into(),
        lines: lines.map(str::to_owned),
        pattern: pattern.map(str::to_owned),
    };
    let answer = host.activate(&wanted("s1", Some("2"), None), false);
    assert_eq!(answer, format!("[s1] turns 1-2 · line 2 of 26\nRemember: {KEY}."));
    let answer = host.activate(&wanted("turns 1-9", None, Some("(?i)AMBER")), false);
    assert!(answer.contains(KEY) && !answer.contains("all well"), "{answer}");
    let answer = host.activate(&wanted("s1", None, Some("nowhere")), false);
    assert_eq!(answer, "[s1] turns 1-2 · no line matches `nowhere`");
    host.send();
}

#[test]
fn turns_are_activated_by_their_numbers_and_become_a_segment() {
    let mut host = talk(Settings::default());
    let answer = activate(&mut host, "turn 2");
    assert_eq!(
        answer,
        "[s1] turn 2 · lines 1-4 of 4\nuser, turn 2:\nAnd now?\nassistant:\nNothing is left to do."
    );
    host.send();
    assert_eq!(activate(&mut host, "s1"), answer);
    assert!(activate(&mut host, "turns 1-2").starts_with("[s2] turns 1-2 · lines 1-"));
    for name in ["turn 9", "turn 0", "turns 2-1", "s9", "turn"] {
        let answer = activate(&mut host, name);
        assert!(answer.contains(&format!("`{name}`")), "{answer}");
    }
    host.send();
    let index = host.live.state().index();
    let segments = index.entries.iter().filter(|entry| entry.handle.to_string().starts_with('s'));
    assert_eq!(segments.count(), 2);
}

#[test]
fn a_file_with_the_name_of_a_turn_comes_first() {
    let mut host = talk(Settings::default());
    host.write_file("turn 1", "a file\n");
    host.read("turn 1", None, None);
    host.send();
    assert_eq!(activate(&mut host, "turn 1"), "[f2] turn 1 · line 1 of 1\na file\n");
}

#[test]
fn a_later_process_shows_the_same_words() {
    let mut host = compacted(Settings::default());
    let before = activate(&mut host, "s1");
    host.send();
    host.restart();
    assert_eq!(activate(&mut host, "s1"), before);
    host.send();
    let (_, words) = before.split_once('\n').unwrap();
    assert_eq!(words_at_rest(&host.store), words);
}

#[test]
fn another_compaction_makes_one_segment_of_all_that_left() {
    let mut host = compacted(Settings::default());
    host.say("I look it up.");
    host.user("third");
    host.send();
    compact(&mut host, 1);
    host.say("so");
    host.user("fourth");
    host.send();
    assert_eq!(
        host.sent.last().unwrap()["content"][0]["text"],
        "[s2] turns 1-3 in full · 13 messages"
    );
    let answer = activate(&mut host, "s2");
    assert!(answer.contains(KEY) && answer.contains("I look it up."), "{answer}");
    assert!(activate(&mut host, "s1").starts_with("[s1] turns 1-2 · "));
    host.send();
}

#[test]
fn the_note_on_compacted_content_recurs_after_an_epoch() {
    let mut host =
        compacted(Settings { collapse_tokens: 1, keep_results: 0, ..Settings::default() });
    let noted = |host: &Host| host.shown().matches("[s1] turns 1-2 in full").count();
    for n in 0..8 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &"word ".repeat(900));
        host.send();
        assert!(noted(&host) <= 1, "{}", host.shown());
    }
    host.wait(10_000);
    host.user("go on");
    host.send();
    host.tool("bash", &json!({ "command": "echo" }), "");
    host.send();
    assert!(host.live.state().epoch() > 1);
    assert_eq!(noted(&host), 1, "{}", host.shown());
}

#[test]
fn dropping_the_oldest_messages_counts_as_a_compaction() {
    let mut host = talk(Settings::default());
    host.messages.drain(..7);
    host.user("What was the branch called?");
    host.send();
    assert_eq!(host.sent.last().unwrap()["content"][0]["text"], "[s1] turn 1 in full · 7 messages");
    assert!(activate(&mut host, "s1").contains(KEY));
    host.send();
}

#[test]
fn a_message_that_is_taken_out_of_the_middle_is_not_offered() {
    let mut host = talk(Settings::default());
    host.messages.remove(7);
    host.user("go on");
    host.send();
    assert!(!host.shown().contains("in full"), "{}", host.shown());
    assert_eq!(host.live.state().compacted().count(), 0);
}

#[test]
fn going_back_to_before_the_compaction_ends_the_note() {
    let mut host = talk(Settings::default());
    let all = host.messages.clone();
    compact(&mut host, 1);
    host.user("What was the branch called?");
    host.send();
    host.rewrites = true;
    host.messages = all;
    host.user("another way");
    host.send();
    assert!(!host.shown().contains("in full"), "{}", host.shown());
    assert!(activate(&mut host, "s1").contains(KEY));
    host.send();
}

#[test]
fn a_segment_of_an_old_branch_keeps_its_words() {
    let mut host = talk(Settings::default());
    let before = activate(&mut host, "turn 2");
    host.send();
    let end = host.messages.iter().position(|message| message["content"][0]["text"] == "And now?");
    host.messages.truncate(end.unwrap());
    host.user("Or rather this?");
    host.send();
    host.say("Yes.");
    host.user("well");
    host.send();
    assert_eq!(activate(&mut host, "s1"), before);
    let other = activate(&mut host, "turn 2");
    assert!(other.starts_with("[s2] turn 2") && other.contains("Or rather this?"), "{other}");
    host.send();
    host.restart();
    assert_eq!(activate(&mut host, "s1"), before);
    assert_eq!(activate(&mut host, "s2"), other);
    host.send();
}

#[test]
fn a_fork_shows_the_words_that_it_inherited() {
    let mut host = compacted(Settings::default());
    let before = activate(&mut host, "s1");
    host.send();
    host.fork("fork");
    assert_eq!(activate(&mut host, "s1"), before);
    host.send();
    let answer = activate(&mut host, "turn 3");
    assert!(answer.contains("What was the branch called?"), "{answer}");
    let newest = host.live.state().index().entries.last().unwrap().id.to_string();
    assert!(newest.starts_with("chat_segment:fork:"), "{newest}");
}

#[test]
fn a_message_that_changed_since_is_shown_as_it_is_now() {
    let mut host = talk(Settings::default());
    let before = activate(&mut host, "turn 2");
    host.send();
    host.rewrites = true;
    let place =
        host.messages.iter().position(|message| message["content"][0]["text"] == "And now?");
    host.messages[place.unwrap()]["content"][0]["text"] = json!("[redacted]");
    host.send();
    let after = activate(&mut host, "s1");
    assert_eq!(after, before.replace("And now?", "[redacted]"));
    host.send();
    let history = host.store.history(&ObjectId::chat_segment("session-1", 8, 9)).unwrap();
    let words = |at: usize| text_of(&host.store, &history[at], None).unwrap().unwrap();
    assert_eq!(
        (history.len(), words(0).contains("And now?"), words(1).contains("And now?")),
        (2, false, true)
    );
    assert!(activate(&mut host, "s1@-1").contains("(version @-1, not the latest)"));
}

#[test]
fn a_segment_without_room_gives_a_list_of_its_turns_or_steps() {
    let mut host = Host::new(Settings::default());
    host.window = 30_000;
    for turn in 1..=60 {
        host.user(&format!("question {turn}"));
        host.say(&format!("answer {turn} {}", "and so on ".repeat(150)));
    }
    host.user("a long one");
    for step in 0..9 {
        let args = json!({ "command": format!("run {step}\n{}", "and so on\n".repeat(900)) });
        host.tool("bash", &args, "ok");
    }
    host.say("done");
    compact(&mut host, 1);
    host.user("well");
    host.send();
    let answer = activate(&mut host, "turns 1-60");
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines[0].ends_with("] turns 1-60 · 240 lines:"), "{answer}");
    assert_eq!(
        (lines[1], lines[30]),
        ("lines 1-8 · turns 1-2: \"question 1\"", "lines 233-240 · turns 59-60: \"question 59\"")
    );
    assert_eq!(lines.len(), 31);
    assert_eq!(listed(&lines[1..]), (1, 240));
    let part =
        Wanted { name: "turns 1-60".into(), lines: Some("233-240".into()), ..Wanted::default() };
    assert!(host.activate(&part, false).contains("answer 60"));
    let answer = activate(&mut host, "turn 61");
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(
        lines[1..3],
        ["lines 1-2 · user: \"a long one\"", "lines 3-909 · step 61: \"bash run 0\""]
    );
    assert_eq!(listed(&lines[1..]), (1, 8_169));
    assert!(lines[10].ends_with(" · step 69: \"bash run 8\""), "{answer}");
    host.send();
}

#[test]
fn text_of_an_excluded_file_stays_out_of_a_segment() {
    let mut host = Host::new(Settings::default());
    host.write_file(".env", "KEY=sk-7f3a9c\n");
    host.user("look");
    host.read(".env", None, None);
    host.tool("write", &json!({ "path": ".env", "content": "KEY=sk-7f3a9c2\n" }), "Written.");
    host.say("done");
    compact(&mut host, 1);
    host.user("well");
    host.send();
    let answer = activate(&mut host, "s1");
    assert!(answer.contains("[withheld: ") && answer.contains("path: .env"), "{answer}");
    assert!(!answer.contains("7f3a9c"), "{answer}");
    host.send();
}

#[test]
fn forgetting_a_call_removes_its_quotes_from_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let mut host = talk_with(Host::with_store(Settings::default(), store));
    let secret = "the token of the build machine is 81-zebra-44";
    let call = host.tool("bash", &json!({ "command": "cat token" }), secret);
    host.say(&format!("So {secret}, I see."));
    compact(&mut host, 1);
    host.user("well");
    host.send();
    assert!(activate(&mut host, "s1").contains("zebra"));
    host.send();
    host.live.close().unwrap();
    let holds_it =
        || everything_in(&path).iter().any(|bytes| bytes.windows(5).any(|part| part == b"zebra"));
    assert!(holds_it());
    let options = ForgetOptions { dry_run: false, everywhere: false };
    host.store.forget(&ObjectId::new(call), options).unwrap();
    assert!(!words_at_rest(&host.store).contains("zebra") && !holds_it());
    host.crash();
    host.rewrites = true;
    let answer = activate(&mut host, "s1");
    assert!(answer.contains("[forgotten]") && answer.contains(KEY), "{answer}");
}

#[test]
fn a_forgotten_session_takes_its_segments_with_it() {
    let mut host = compacted(Settings::default());
    activate(&mut host, "turn 2");
    host.send();
    host.live.close().unwrap();
    let options = ForgetOptions { dry_run: false, everywhere: false };
    let report = host.store.forget(&host.live.id().clone(), options).unwrap();
    let gone = report.objects.iter().filter(|id| id.as_str().starts_with("chat_segment:")).count();
    assert_eq!(gone, 2, "{report:?}");
    assert_eq!(search(&host.store, "amber falcon", &[]), []);
}

#[test]
fn forgetting_a_segment_takes_the_words_out_of_its_messages() {
    let mut host = compacted(Settings::default());
    activate(&mut host, "s1");
    host.send();
    host.live.close().unwrap();
    let segment = ObjectId::chat_segment("session-1", 0, 8);
    let options = ForgetOptions { dry_run: false, everywhere: false };
    host.store.forget(&segment, options).unwrap();
    for id in [host.live.id().clone(), ObjectId::chat("session-1")] {
        let items = host.store.items(&id, AsOf::Latest, 0..u64::MAX).unwrap().concat();
        assert!(
            !items.contains("falcon") && items.contains("What was the branch called?"),
            "{items}"
        );
    }
    assert_eq!(search(&host.store, "falcon", &[]), []);
    host.rewrites = true;
    host.settings.prices = PriceSetting::Named("openai".into());
    host.crash();
    assert!(activate(&mut host, "s1").contains("forgotten"));
    assert!(!activate(&mut host, "turn 1").contains("falcon"));
    host.send();
}

#[test]
fn a_segment_comes_back_in_another_store() {
    let mut host = compacted(Settings::default());
    let before = activate(&mut host, "s1");
    host.send();
    let there = Store::open(":memory:").unwrap();
    import(&host.store, &there, ArchiveScope::Session(host.live.id().clone()), false);
    assert_eq!(words_at_rest(&there), before.split_once('\n').unwrap().1);
    host.live.close().unwrap();
    host.store = there;
    host.crash();
    assert_eq!(activate(&mut host, "s1"), before);
    host.send();
}

#[test]
fn a_segment_in_pools_is_listed_and_stands_as_active_content() {
    let mut host = compacted(Settings { layout: Layout::Pools, ..Settings::default() });
    let listed = "id=chat_segment:session-1:0-8 type=chat_segment first_turn=1 last_turn=2";
    assert!(host.shown().contains(listed), "{}", host.shown());
    assert!(activate(&mut host, "s1").starts_with("done: [s1] turns 1-2 · "));
    host.send();
    let last = host.sent.last().unwrap()["content"][0]["text"].as_str().unwrap();
    assert!(
        last.starts_with("ACTIVE_CONTENT id=chat_segment:session-1:0-8\nuser, turn 1:\n"),
        "{last}"
    );
    host.restart();
    host.user("go on");
    host.send();
    // What is forgotten of it is a place of the call that showed it.
    let number = host.live.state().calls();
    let options = ForgetOptions { dry_run: false, everywhere: false };
    host.live.close().unwrap();
    host.store.forget(&ObjectId::new("call_3"), options).unwrap();
    let again = replay_call(&host.store, host.live.id(), number).unwrap();
    assert!(!again.messages.concat().contains("all well"));
}

#[test]
fn a_segment_that_ends_before_a_result_stays_as_it_was_shown() {
    for layout in [Layout::Log, Layout::Pools] {
        let mut host = Host::new(Settings { layout, ..Settings::default() });
        host.user("go");
        let id = host.call("bash", &json!({ "command": "make" }));
        host.send();
        let before = activate(&mut host, "turn 1");
        host.answer(&id, "bash", &json!({ "command": "make" }), "all well", false);
        // The result belongs to the call before, as hosts that repair their lists have it.
        let result = host.messages.pop().unwrap();
        host.messages.insert(2, result);
        host.rewrites = true;
        host.send();
        assert_eq!(activate(&mut host, "s1"), before);
        host.send();
        host.restart();
        host.user("go on");
        host.send();
    }
}

#[test]
fn images_of_the_person_come_back_with_their_words() {
    let mut host = Host::new(Settings::default());
    host.images = true;
    host.crash();
    let image = json!({ "type": "image", "data": "aGVsbG8=", "mimeType": "image/png" });
    host.push(
        json!({ "role": "user", "content": [{ "type": "text", "text": "what is this?" }, image] }),
    );
    host.say("A greeting.");
    host.user("thanks");
    host.say("bye");
    compact(&mut host, 1);
    host.user("well");
    host.send();
    let id = host.call("activate", &json!({ "name": "s1" }));
    let text = host.live.activate(&id, &Wanted { name: "s1".into(), ..Wanted::default() }, false);
    let images = host.live.activated_images(&id).unwrap();
    assert_eq!(images, [image.to_string()]);
    let text = text.unwrap();
    assert!(text.starts_with("[s1] turns 1-2 · 1 image · lines 1-7 of 7\n"), "{text}");
    let image: serde_json::Value = serde_json::from_str(&images[0]).unwrap();
    host.push_result(&id, "activate", &json!([{ "type": "text", "text": text }, image]), false);
    host.send();
    host.restart();
    host.send();
}

#[test]
fn a_line_of_a_segment_does_not_get_into_a_file() {
    let mut host = compacted(Settings::default());
    let answer = activate(&mut host, "s1");
    host.send();
    let line = answer.lines().find(|line| line.starts_with("[t3] exit 0")).unwrap();
    let args = json!({ "path": "a.txt", "content": format!("one\n{line}\n") });
    assert!(host.live.check_write("write", &args).unwrap().unwrap().contains(line));
    let args = json!({ "path": "a.txt", "content": format!("{KEY}\n") });
    assert_eq!(host.live.check_write("write", &args).unwrap(), None);
}
