//! Tool results of every shape: as text in several blocks, as a string, with unknown keys, next to
//! an image, empty. What Palimpsest does with a result does not depend on its shape.

use base::object::{AsOf, ObjectId};
use config::{Layout, Settings};
use live::{Wanted, replay_call};
use serde_json::{Value, json};
use session::{Shows, Treatment};
use store::ForgetOptions;

use crate::host::{Host, uncached};

/// Shapes in which [`shaped`] gives a text; those from [`WITH_IMAGE`] on hold an image.
pub(crate) const SHAPES: usize = 7;
pub(crate) const WITH_IMAGE: usize = 5;

/// The content of a result in one of the shapes in which hosts give it. Its text is the same in
/// all.
pub(crate) fn shaped(text: &str, shape: usize) -> Value {
    let block = |text: &str| json!({ "type": "text", "text": text });
    let odd = |text: &str| json!({ "annotations": { "text": "x" }, "type": "text", "text": text, "n": 1.50 });
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let two = |make: &dyn Fn(&str) -> Value| {
        if text.contains('\n') { json!([block(first), make(rest)]) } else { json!([make(text)]) }
    };
    match shape % SHAPES {
        0 => json!([block(text)]),
        1 => json!(text),
        2 => two(&block),
        3 => json!([odd(text)]),
        4 => two(&odd),
        5 => json!([block(text), image]),
        _ => json!([image, block(text), { "type": "resource", "uri": "x:y" }]),
    }
}

/// The blocks of a content; a string is one text block.
pub(crate) fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

/// The text of a message: its texts joined by line feeds.
pub(crate) fn text_of(message: &Value) -> String {
    let blocks = blocks(message);
    let texts = blocks.iter().filter(|block| block["type"] == "text");
    texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// What goes out in the place of a host's message, without notes: its own text, or the text block
/// that replaces it.
pub(crate) fn shown_text(sent: &Value, host: &Value) -> String {
    let shown = blocks(sent);
    if shown.starts_with(&blocks(host)) {
        return text_of(host);
    }
    let first = shown.iter().find(|block| block["type"] == "text");
    first.and_then(|block| block["text"].as_str()).unwrap_or_default().to_owned()
}

fn lines(name: &str, numbers: std::ops::RangeInclusive<usize>) -> String {
    let lines: Vec<String> = numbers.map(|n| format!("{name} line {n} of some words")).collect();
    lines.join("\n")
}

/// The blocks of a content that are no text.
fn others(message: &Value) -> Vec<Value> {
    blocks(message).into_iter().filter(|block| block["type"] != "text").collect()
}

fn tool(host: &mut Host, args: &Value, text: &str, shape: usize) -> String {
    let id = host.call("look_up", args);
    host.finished(&id, "look_up", args, text, false);
    host.push_result(&id, "look_up", &shaped(text, shape), false);
    id
}

fn activate(host: &mut Host, name: &str) -> String {
    host.activate(&Wanted { name: name.into(), ..Wanted::default() }, false)
}

/// Checks that a message has this text in place of its own, as one block where its first text was,
/// and that the rest stands.
fn assert_replaced(sent: &Value, host: &Value, text: &str) {
    let own = blocks(sent);
    let texts: Vec<&Value> = own.iter().filter(|block| block["type"] == "text").collect();
    assert_eq!(texts, [&json!({ "type": "text", "text": text })], "{host}");
    assert_eq!(others(sent), others(host), "{host}");
    let is_text = |block: &Value| block["type"] == "text";
    let place = blocks(host).iter().position(is_text);
    assert_eq!(own.iter().position(is_text), place, "{host}");
}

fn collapsing() -> Settings {
    Settings { keep_results: 2, collapse_tokens: 100, prices: uncached(), ..Settings::default() }
}

#[test]
fn while_it_stands_a_result_goes_out_as_the_host_gave_it() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    for shape in 0..SHAPES {
        tool(&mut host, &json!({ "n": shape }), &lines(&format!("s{shape}"), 1..=20), shape);
        assert_eq!(host.send(), host.messages, "{shape}");
    }
    let before = host.sent.clone();
    host.restart();
    assert_eq!(host.send(), before);
}

#[test]
fn a_result_of_any_shape_collapses_and_comes_back() {
    for shape in 0..SHAPES {
        let mut host = Host::new(collapsing());
        host.user("go");
        host.send();
        let text = lines("a", 1..=60);
        tool(&mut host, &json!({}), &text, shape);
        host.send();
        assert_eq!(host.sent[2], host.messages[2], "{shape}");
        for n in 0..4 {
            host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
            host.send();
        }
        let line = "[t1] ok · 60 lines · last: \"a line 60 of some words\"";
        assert_replaced(&host.sent[2], &host.messages[2], line);
        let sent = host.sent.clone();
        host.restart();
        assert_eq!(host.send(), sent, "{shape}");
        let answer = activate(&mut host, "t1");
        assert_eq!(answer, format!("[t1] look_up · lines 1-60 of 60\n{text}"), "{shape}");
        host.send();
        assert!(text_of(host.sent.last().unwrap()).ends_with(&text), "{shape}");
    }
}

#[test]
fn a_long_result_of_any_shape_is_shown_in_part_when_first_sent() {
    let mut shown = Vec::new();
    for shape in 0..SHAPES {
        let mut host = Host::new(Settings { preview_tokens: 500, ..Settings::default() });
        host.user("go");
        let text = lines("a", 1..=500);
        tool(&mut host, &json!({}), &text, shape);
        host.send();
        let part = shown_text(&host.sent[2], &host.messages[2]);
        assert!(part.len() < text.len() / 2 && part.contains(" between (t1:"), "{shape}: {part}");
        assert_replaced(&host.sent[2], &host.messages[2], &part);
        let wanted = Wanted { name: "t1".into(), lines: Some("250-251".into()), pattern: None };
        let answer = host.activate(&wanted, false);
        let expected = format!("[t1] look_up · lines 250-251 of 500\n{}", lines("a", 250..=251));
        assert_eq!(answer, expected, "{shape}");
        host.send();
        shown.push(part);
    }
    assert!(shown.iter().all(|part| *part == shown[0]), "a shape shows other lines: {shown:#?}");
}

#[test]
fn results_of_any_shape_are_shortened_to_the_window() {
    for shape in 0..SHAPES {
        let mut host = Host::new(Settings { preview_tokens: 0, ..Settings::default() });
        host.window = 40_000;
        host.user("go");
        let text = lines("a", 1..=8_000);
        tool(&mut host, &json!({}), &text, shape);
        host.send();
        let part = shown_text(&host.sent[2], &host.messages[2]);
        assert!(part.contains(" between (t1:"), "{shape}");
        assert_replaced(&host.sent[2], &host.messages[2], &part);
        let bill = &host.live.state().bill().last.as_ref().unwrap().bill;
        let sent = bill.fixed + bill.ours.messages;
        assert!((10_000..host.window - 16_384).contains(&sent), "{shape}: {sent}");
    }
}

#[test]
fn an_image_does_not_make_the_text_beside_it_long() {
    let mut host = Host::new(Settings { preview_tokens: 500, ..Settings::default() });
    host.user("go");
    tool(&mut host, &json!({}), &lines("a", 1..=30), WITH_IMAGE);
    assert_eq!(host.send(), host.messages);
}

#[test]
fn shown_lines_in_any_shape_are_named_in_later_results() {
    for shape in 0..SHAPES {
        for other in 0..SHAPES {
            let mut host = Host::new(Settings::default());
            host.user("go");
            tool(&mut host, &json!({ "n": 1 }), &lines("a", 1..=30), shape);
            host.send();
            tool(&mut host, &json!({ "n": 2 }), &format!("new\n{}", lines("a", 11..=31)), other);
            host.send();
            let expected = "new\n… 20 lines as in t1:11-30, from \"a line 11 of some words\" …\na line 31 of some words";
            assert_replaced(&host.sent[4], &host.messages[4], expected);
        }
    }
}

#[test]
fn a_read_of_any_shape_shows_lines_of_the_file() {
    for shape in 0..WITH_IMAGE {
        let mut host = Host::new(Settings::default());
        host.write_file("a.txt", &lines("a", 1..=30));
        host.user("go");
        let args = json!({ "path": "a.txt" });
        for expected in
            ["whole", "whole", "f1 unchanged; lines 1-30 stand in the read result above (t1)."]
        {
            let id = host.call("read", &args);
            host.finished(&id, "read", &args, "", false);
            host.push_result(&id, "read", &shaped(&lines("a", 1..=30), shape), false);
            host.send();
            let newest = host.messages.len() - 1;
            let shows = &host.live.state().result(newest as u64).unwrap().shows;
            assert!(matches!(shows, Shows::File { .. }), "{shape}: {shows:?}");
            if expected != "whole" {
                assert_replaced(&host.sent[newest], &host.messages[newest], expected);
            } else if newest > 2 {
                // A model that insists gets the text again; then something else comes between.
                assert_eq!(host.sent[newest], host.messages[newest], "{shape}");
                for n in 0..2 {
                    host.tool("bash", &json!({ "command": format!("echo {n}") }), "x");
                    host.send();
                }
            }
        }
    }
}

/// A session whose steps fold at the last call.
fn folded(shape: usize, text: &str) -> Host {
    let mut host = Host::new(Settings { keep_results: 2, ..Settings::default() });
    host.thinking = "What is left to do, and what was it that broke here? ".repeat(3);
    host.user("go");
    host.send();
    for n in 0..3 {
        tool(&mut host, &json!({ "n": n }), text, shape);
        host.send();
    }
    for n in 0..8 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
        host.send();
    }
    host.window = 100;
    host.tool("bash", &json!({ "command": "echo last" }), "last");
    host.send();
    host
}

#[test]
fn steps_of_any_shape_fold_unless_an_image_would_be_lost() {
    for text in ["found", "", "a\nb"] {
        for shape in 0..SHAPES {
            let host = folded(shape, text);
            let is_hidden = host.live.state().folds().hide(1);
            assert_eq!(is_hidden, shape < WITH_IMAGE, "{shape} {text:?}\n{}", host.shown());
        }
    }
}

#[test]
fn a_result_without_text_says_why_when_activated() {
    let image = json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" });
    for (content, why) in [
        (json!([]), "it is empty"),
        (json!(""), "it is empty"),
        (Value::Null, "it is empty"),
        (json!([{ "type": "json", "json": { "number": 4711 } }]), "it is of another type"),
        (json!({ "number": 4711 }), "it is of another type"),
        (json!([image]), "1 image"),
    ] {
        let mut host = folded(0, "found");
        let id = host.call("look_up", &json!({ "n": "none" }));
        host.push_result(&id, "look_up", &content, false);
        host.send();
        assert_eq!(host.sent.last(), host.messages.last());
        host.window = 200_000;
        host.send();
        let handle = host.live.state().handle(&ObjectId::new(id)).unwrap();
        let answer = activate(&mut host, &handle.to_string());
        assert_eq!(answer, format!("[{handle}] look_up · no text: {why}"));
    }
}

#[test]
fn in_pools_a_reference_takes_the_place_of_text_of_any_shape() {
    for shape in 0..SHAPES {
        let mut host = Host::new(Settings { layout: Layout::Pools, ..Settings::default() });
        host.user("go");
        let text = lines("a", 1..=20);
        let id = tool(&mut host, &json!({}), &text, shape);
        host.send();
        let reference = format!("toolcall_ref id={id} tool=look_up status=ok");
        assert_replaced(&host.sent[3], &host.messages[2], &reference);
        let active = text_of(host.sent.last().unwrap());
        assert_eq!(active, format!("ACTIVE_CONTENT id={id}\n{text}"), "{shape}");
        let sent = host.sent.clone();
        host.restart();
        assert_eq!(host.send(), sent, "{shape}");
    }
}

#[test]
fn an_image_alone_stays_and_so_does_its_step() {
    for layout in [Layout::Log, Layout::Pools] {
        let mut host = Host::new(Settings { layout, ..collapsing() });
        host.user("go");
        let id = host.call("look", &json!({}));
        let image = json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
        host.push_result(&id, "look", &image, false);
        for n in 0..12 {
            host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
            host.send();
        }
        let of_host = |message: &&Value| message["toolCallId"] == json!(id);
        let sent = host.sent.iter().find(of_host);
        assert_eq!(sent, host.messages.iter().find(of_host), "{layout:?}");
    }
}

#[test]
fn the_text_of_a_result_is_stored_once_whatever_its_shape() {
    for shape in 0..SHAPES {
        let mut host = Host::new(Settings::default());
        host.user("go");
        tool(&mut host, &json!({}), &lines("a", 1..=20), shape);
        host.send();
        let chat = ObjectId::new(format!("chat:{}", host.name));
        let items = host.store.items(&chat, AsOf::Latest, 0..u64::MAX).unwrap();
        assert!(!items[2].contains("line 7 of"), "{shape}: {}", items[2]);
    }
}

#[test]
fn a_forgotten_result_of_any_shape_is_forgotten_whole() {
    for shape in 0..SHAPES {
        let mut host = Host::new(Settings::default());
        host.user("go");
        let id = tool(&mut host, &json!({}), &lines("secret", 1..=20), shape);
        host.send();
        let object = ObjectId::new(id);
        host.store
            .forget(&object, ForgetOptions { dry_run: false, ..ForgetOptions::default() })
            .unwrap();
        let again = replay_call(&host.store, host.live.id(), 1).unwrap();
        assert!(!again.messages.join("\n").contains("secret line"), "{shape}: {again:?}");
        assert_eq!(again.withheld.len(), 1, "{shape}");
        host.restart();
        host.user("go on");
        host.send();
        assert_eq!(host.sent, host.messages, "{shape}");
    }
}

#[test]
fn a_note_stands_behind_a_result_of_any_shape() {
    for shape in 0..SHAPES {
        let mut host = Host::new(Settings::default());
        host.write_file("a.txt", "one\ntwo\n");
        host.user("go");
        host.read("a.txt", None, None);
        host.send();
        host.write_file("a.txt", "one\n2\n");
        tool(&mut host, &json!({}), "found\nit", shape);
        host.send();
        let (sent, given) =
            (blocks(host.sent.last().unwrap()), blocks(host.messages.last().unwrap()));
        assert!(sent.starts_with(&given), "{shape}");
        let note = sent.last().unwrap()["text"].as_str().unwrap();
        assert!(note.starts_with("[f1] a.txt changed on disk"), "{shape}: {note}");
    }
}

#[test]
fn text_that_changes_its_shape_is_the_same_text() {
    let mut host = Host::new(collapsing());
    host.rewrites = true;
    host.user("go");
    tool(&mut host, &json!({}), &lines("a", 1..=60), 2);
    host.send();
    host.messages[2]["content"] = shaped(&lines("b", 1..=60), 1);
    host.send();
    for n in 0..4 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
        host.send();
    }
    assert_eq!(*host.live.state().treatment(2), Treatment::Reference);
    assert!(activate(&mut host, "t1").ends_with(&lines("b", 1..=60)));
}
