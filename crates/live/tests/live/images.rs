//! Images in tool results, if the host's tools may answer with images: they leave with the text
//! next to them, are stored once, and come back through `activate`.

use base::object::{AsOf, ObjectId};
use config::{Layout, Settings};
use live::model_tools::Tool;
use live::{Wanted, replay_call};
use serde_json::{Value, json};
use session::Treatment;
use store::{ArchiveScope, ForgetOptions, Store};

use crate::archived::import;
use crate::host::{Host, uncached};
use crate::shapes::text_of;

const DATA: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";

fn image() -> Value {
    json!({ "type": "image", "data": DATA, "mimeType": "image/png" })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn host(settings: Settings) -> Host {
    let mut host = Host::new(settings);
    host.images = true;
    host.crash();
    host.user("go");
    host.send();
    host
}

fn collapsing() -> Settings {
    Settings { keep_results: 2, collapse_tokens: 100, prices: uncached(), ..Settings::default() }
}

fn look(host: &mut Host, content: &Value) -> String {
    let id = host.call("look", &json!({ "n": host.messages.len() }));
    host.push_result(&id, "look", content, false);
    host.send();
    assert_eq!(host.sent.last(), host.messages.last(), "an image goes out as the host gave it");
    id
}

fn steps(host: &mut Host, count: usize) {
    for n in 0..count {
        let args = json!({ "command": format!("echo {n} {}", host.messages.len()) });
        host.tool("bash", &args, &n.to_string());
        host.send();
    }
}

/// The model activates an object; returns the content of the answer.
fn activate(host: &mut Host, args: &Value) -> Value {
    let id = host.call("activate", args);
    let answer = Tool::Activate.execute(&mut host.live, &id, args).unwrap();
    let content: Value = serde_json::from_str(&answer.content()).unwrap();
    host.finished(&id, "activate", args, "", false);
    host.push_result(&id, "activate", &content, false);
    host.send();
    assert_eq!(host.sent.last(), host.messages.last());
    content
}

/// The items of the chat that hold the image's data.
fn items_with_data(host: &Host) -> usize {
    let chat = ObjectId::new(format!("chat:{}", host.name));
    let items = host.store.items(&chat, AsOf::Latest, 0..u64::MAX).unwrap();
    items.iter().filter(|item| item.contains(DATA)).count()
}

#[test]
fn an_image_leaves_and_comes_back_together_with_its_text() {
    let mut host = host(collapsing());
    look(&mut host, &json!([text("a screen\nof words"), image(), { "type": "resource" }]));
    steps(&mut host, 4);
    let line = "[t1] ok · 2 lines · 1 image · last: \"of words\"";
    assert_eq!(host.sent[2]["content"], json!([text(line), { "type": "resource" }]));
    for round in 0..2 {
        let shown = "[t1] look · 1 image · lines 1-2 of 2\na screen\nof words";
        let answer = activate(&mut host, &json!({ "name": "t1" }));
        assert_eq!(answer, json!([text(shown), image()]), "{round}");
        let at = host.messages.len() - 1;
        let sent = host.sent.clone();
        host.restart();
        assert_eq!(host.send(), sent);
        steps(&mut host, 4);
        assert_eq!(*host.live.state().treatment(at as u64), Treatment::Reference);
        let collapsed =
            host.sent.iter().find(|sent| sent["timestamp"] == host.messages[at]["timestamp"]);
        // The heading of the answer is one more line.
        let line = line.replace("2 lines", "3 lines");
        assert_eq!(collapsed.unwrap()["content"], json!([text(&line)]));
    }
    assert_eq!(items_with_data(&host), 0, "the chat refers to what the call's object holds");
}

#[test]
fn an_image_alone_is_one_line() {
    let mut host = host(collapsing());
    look(&mut host, &json!([image(), image()]));
    steps(&mut host, 4);
    assert_eq!(host.sent[2]["content"], json!([text("[t1] ok · 2 images")]));
    let answer = activate(&mut host, &json!({ "name": "t1" }));
    assert_eq!(answer, json!([text("[t1] look · 2 images · line 1 of 1\n"), image(), image()]));
}

fn read_image(host: &mut Host, bytes: &[u8]) {
    std::fs::write(host.path("shot.png"), bytes).unwrap();
    let args = json!({ "path": "shot.png" });
    let id = host.call("read", &args);
    host.finished(&id, "read", &args, "", false);
    host.push_result(&id, "read", &json!([text("Read image file"), image()]), false);
    host.send();
    steps(host, 4);
}

#[test]
fn an_image_of_a_file_that_changed_says_so() {
    let mut host = host(collapsing());
    read_image(&mut host, b"\x89PNG\0");
    let heading = |host: &mut Host| {
        let answer = activate(host, &json!({ "name": "shot.png" }));
        answer[0]["text"].as_str().unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!(heading(&mut host), "[t1] read · 1 image · line 1 of 1");
    let changed = "[t1] read (as it was read; the file changed since) · 1 image · line 1 of 1";
    std::fs::write(host.path("shot.png"), b"\x89PNG\0 changed").unwrap();
    assert_eq!(heading(&mut host), changed);
    host.send();
    steps(&mut host, 4);
    assert_eq!(heading(&mut host), changed);
    std::fs::remove_file(host.path("shot.png")).unwrap();
    assert_eq!(heading(&mut host), changed);
}

#[test]
fn an_image_that_was_pinned_by_its_file_is_unpinned_so() {
    let mut host = host(collapsing());
    read_image(&mut host, b"\x89PNG\0");
    host.live.activate("", &Wanted { name: "shot.png".into(), ..Wanted::default() }, true).unwrap();
    host.send();
    read_image(&mut host, b"\x89PNG\0");
    let refused = host.live.unpin("call", "shot.png").unwrap();
    assert_eq!(refused, "t1 stays: the user pinned it");
    assert_eq!(host.live.unpin("", "shot.png").unwrap(), "done: t1");
}

#[test]
fn an_image_comes_back_by_the_name_of_its_file() {
    let mut host = host(collapsing());
    read_image(&mut host, b"\x89PNG\0");
    for name in ["shot.png", "f1", "t1"] {
        let answer = activate(&mut host, &json!({ "name": name }));
        assert_eq!(answer[1], image(), "{name}: {answer}");
        steps(&mut host, 4);
    }
    for name in ["shot.png", "t1"] {
        host.live.activate("", &Wanted { name: "f1".into(), ..Wanted::default() }, true).unwrap();
        assert_eq!(host.live.unpin("", name).unwrap(), "done: t1", "{name}");
    }
}

#[test]
fn a_part_of_the_text_comes_back_without_the_image() {
    let mut host = host(collapsing());
    look(&mut host, &json!([text("a screen\nof words"), image()]));
    for args in
        [json!({ "name": "t1", "lines": "2" }), json!({ "name": "t1", "pattern": "nothing" })]
    {
        let answer = activate(&mut host, &args);
        assert_eq!(answer.as_array().unwrap().len(), 1, "{answer}");
    }
}

#[test]
fn an_image_stands_beside_a_text_that_is_shown_in_part() {
    let mut host = host(Settings { preview_tokens: 500, ..Settings::default() });
    let lines: Vec<String> = (0..500).map(|n| format!("line {n} of some words")).collect();
    let id = host.call("look", &json!({}));
    host.push_result(&id, "look", &json!([image(), text(&lines.join("\n"))]), false);
    host.send();
    let content = &host.sent.last().unwrap()["content"];
    assert_eq!(content[0], image());
    assert!(text_of(host.sent.last().unwrap()).contains(" between (t1:"), "{content}");
}

#[test]
fn a_folded_image_comes_back_by_its_handle() {
    let mut host = host(Settings { keep_results: 2, ..Settings::default() });
    host.thinking = "What is left to do, and what was it that broke here? ".repeat(3);
    look(&mut host, &json!([text("found"), image()]));
    steps(&mut host, 10);
    host.window = 100;
    steps(&mut host, 1);
    assert!(host.live.state().folds().hide(2), "{}", host.shown());
    host.window = 200_000;
    steps(&mut host, 1);
    let answer = activate(&mut host, &json!({ "name": "t1" }));
    assert_eq!(answer[1], image());
}

#[test]
fn images_alone_are_not_shortened_where_the_window_has_no_room() {
    let mut host = host(Settings::default());
    host.window = 20_000;
    look(&mut host, &json!([image(), image(), image(), image()]));
}

#[test]
fn the_room_for_an_image_must_be_there() {
    let mut host = host(collapsing());
    look(&mut host, &json!([text("found"), image()]));
    steps(&mut host, 4);
    host.window = 1_400;
    host.user("go on");
    host.send();
    let error = Tool::Activate.execute(&mut host.live, "c", &json!({ "name": "t1" })).unwrap_err();
    assert_eq!(error.code(), "NO_ROOM");
}

#[test]
fn in_pools_an_image_stays_in_the_chat() {
    let mut host = host(Settings { layout: Layout::Pools, ..Settings::default() });
    let id = host.call("look", &json!({}));
    host.push_result(&id, "look", &json!([text("found"), image()]), false);
    host.send();
    let reference = format!("toolcall_ref id={id} tool=look status=ok");
    assert_eq!(host.sent[3]["content"], json!([text(&reference), image()]));
    let answer = Tool::Activate.execute(&mut host.live, "c", &json!({ "name": "t1" })).unwrap();
    assert_eq!(answer.images, [""; 0]);
}

#[test]
fn a_forgotten_image_is_nowhere() {
    let mut host = host(collapsing());
    let id = look(&mut host, &json!([text("found it there"), image()]));
    steps(&mut host, 4);
    activate(&mut host, &json!({ "name": "t1" }));
    let options = ForgetOptions { dry_run: false, ..ForgetOptions::default() };
    host.store.forget(&ObjectId::new(id), options).unwrap();
    for call in 1..=host.live.state().calls() {
        let again = replay_call(&host.store, host.live.id(), call).unwrap();
        assert!(!again.messages.concat().contains(DATA), "{call}");
    }
    host.restart();
    host.user("go on");
    // The line that stood for it quoted its text.
    host.rewrites = true;
    host.send();
    assert_eq!(items_with_data(&host), 0);
}

#[test]
fn a_session_with_images_renders_in_another_store() {
    let mut host = host(collapsing());
    look(&mut host, &json!([text("found"), image()]));
    steps(&mut host, 4);
    activate(&mut host, &json!({ "name": "t1" }));
    let other = Store::open(":memory:").unwrap();
    import(&host.store, &other, ArchiveScope::Session(host.live.id().clone()), false);
    let call = host.live.state().calls();
    let again = replay_call(&other, host.live.id(), call).unwrap();
    let sent: Vec<String> = host.sent.iter().map(Value::to_string).collect();
    assert!(again.verified);
    assert_eq!(again.messages, sent);
}
