//! Notes about files that change and change again: how often each is told, and that all that we add
//! stays within the bound on the bill, by the ledger and by a count of the requests.

use config::{Input, PriceSetting, PriceTable, Prices, Settings};
use context::host::HostMessage;
use context::tokens::Counter;
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::cases::config;

use crate::host::Host;

/// System prompt and tools, at least as large in every host.
const PROMPT_TOKENS: u64 = 2_000;

const SMALL_WINDOW: u64 = 40_000;

/// How far the bill of a session may exceed the plain host's, whatever its files do.
const WORST: f64 = 1.1;

/// The same in a window that fills: relief that pays within a few calls starts outside the bound.
const WORST_IN_SMALL_WINDOW: f64 = 1.2;

fn lines(name: &str, count: usize) -> String {
    let line = |at| format!("line {at} of {name}, {}\n", at * 7_919 % 1_000);
    (0..count).map(line).collect::<Vec<_>>().concat()
}

/// The texts of notes in the request that tell of a change of a file.
fn told(sent: &[Value], name: &str) -> Vec<String> {
    let blocks = sent.iter().filter_map(|message| message["content"].as_array()).flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    let is_note = |text: &&str| {
        text.starts_with("[f") && text.lines().next().unwrap().contains(&format!(" {name} "))
    };
    texts.filter(is_note).map(str::to_owned).collect()
}

/// A host whose model has read files of 50 lines.
fn reader(settings: Settings, names: &[&str]) -> Host {
    let mut host = Host::new(settings);
    host.prompt_tokens = Some(20_000);
    host.user("watch them");
    for name in names {
        host.write_file(name, &lines(name, 50));
        host.read(name, None, None);
    }
    host.send();
    host
}

fn append(host: &Host, name: &str, at: usize) {
    let text = std::fs::read_to_string(host.path(name)).unwrap();
    host.write_file(name, &format!("{text}{}", lines(&format!("call {at}"), 3)));
}

fn step(host: &mut Host, at: usize) -> Vec<Value> {
    host.tool(
        "bash",
        &json!({ "command": format!("curl x{at}") }),
        &lines(&format!("out {at}"), 40),
    );
    host.send()
}

#[test]
fn a_file_that_keeps_changing_is_told_of_less_and_less() {
    let mut host = reader(Settings::default(), &["server.log"]);
    for at in 0..8 {
        append(&host, "server.log", at);
        step(&mut host, at);
    }
    let notes = told(&host.sent, "server.log");
    let heads: Vec<&str> = notes.iter().map(|note| note.lines().next().unwrap()).collect();
    let head = "[f1] server.log changed on disk after t1 (+3 -0)";
    let last = format!("{head} and keeps changing");
    let with_lines = format!("{head}:");
    assert_eq!(heads, [&*with_lines, &*with_lines, &*with_lines, &*last]);
    assert!(notes[2].contains("+line 0 of call 2") && !notes[3].contains('\n'), "{notes:#?}");
}

#[test]
fn what_happened_since_is_told_when_the_model_names_the_file() {
    let mut host = reader(Settings::default(), &["server.log"]);
    for at in 0..8 {
        append(&host, "server.log", at);
        step(&mut host, at);
    }
    host.tool("bash", &json!({ "command": "wc -l server.log" }), "74 server.log");
    host.send();
    let notes = told(&host.sent, "server.log");
    assert_eq!(notes.len(), 5);
    assert!(
        notes[4].starts_with("[f1] server.log changed on disk after t1 (+12 -0):"),
        "{notes:#?}"
    );
    assert!(notes[4].contains("+line 0 of call 4") && notes[4].contains("+line 2 of call 7"));
}

#[test]
fn a_file_that_has_rested_is_told_of_with_its_lines_again() {
    let settings = Settings { collapse_tokens: 100_000, ..Settings::default() };
    let mut host = reader(settings, &["a.rs"]);
    for at in 0..6 {
        append(&host, "a.rs", at);
        step(&mut host, at);
    }
    for at in 6..18 {
        step(&mut host, at);
    }
    append(&host, "a.rs", 18);
    step(&mut host, 18);
    let notes = told(&host.sent, "a.rs");
    assert!(notes.last().unwrap().contains("+line 2 of call 18"), "{notes:#?}");
}

#[test]
fn a_file_read_again_as_a_whole_needs_no_note() {
    let mut host = reader(Settings::default(), &["a.rs"]);
    append(&host, "a.rs", 1);
    host.read("a.rs", None, None);
    host.send();
    assert_eq!(told(&host.sent, "a.rs"), [""; 0]);
    append(&host, "a.rs", 2);
    step(&mut host, 2);
    assert_eq!(told(&host.sent, "a.rs").len(), 1);
}

#[test]
fn many_files_that_change_at_once_share_a_line() {
    let names: Vec<String> = (0..40).map(|at| format!("src/part-{at}.rs")).collect();
    let mut host = Host::new(Settings { collapse_tokens: 100_000, ..Settings::default() });
    host.prompt_tokens = Some(20_000);
    host.user("look");
    for name in &names {
        host.write_file(name, &lines(name, 8));
        host.read(name, None, None);
    }
    host.send();
    for name in &names {
        host.write_file(name, &lines(&format!("the new {name}"), 8));
    }
    host.tool("bash", &json!({ "command": "git checkout other" }), "Switched");
    host.send();
    let shown = host.shown();
    assert!(shown.contains(" more files changed on disk"), "{shown}");
    for at in 0..4 {
        step(&mut host, at);
    }
    let shown = host.shown();
    let is_told = |name: &String| {
        shown.lines().any(|line| line.contains(&**name) && line.contains("changed on disk"))
    };
    assert!(names.iter().all(is_told), "each is told of in the end: {shown}");
}

#[test]
fn an_epoch_takes_notes_away_that_newer_ones_supersede() {
    let prices = PriceSetting::Named("none".into());
    let settings = Settings { prices, keep_results: 1, collapse_tokens: 50, ..Settings::default() };
    let mut host = reader(settings, &["a.rs", "b.rs"]);
    let pin = live::Wanted { name: "f1".into(), ..live::Wanted::default() };
    host.activate(&pin, true);
    for at in 0..3 {
        append(&host, "a.rs", at);
        step(&mut host, at);
    }
    let epoch = host.live.state().epoch();
    for at in 3..12 {
        step(&mut host, at);
    }
    assert!(host.live.state().epoch() > epoch);
    let mut notes = told(&host.sent, "a.rs");
    notes.retain(|note| note.contains("changed on disk"));
    assert!(notes.len() <= 1, "{notes:#?}");
    assert!(host.shown().contains("line 2 of call 2"), "its present text stands, or a note");
}

/// A host with a small window after three commands with outputs of so many lines.
fn narrow_host(prices: &str, keep_results: u64, collapse_tokens: u64, output: usize) -> Host {
    let prices = PriceSetting::Named(prices.into());
    let base =
        Settings { preview_tokens: 300, keep_results, collapse_tokens, ..Settings::default() };
    let mut host = Host::new(Settings { prices, ..base });
    host.window = SMALL_WINDOW;
    host.user("go");
    for at in 100..103 {
        run(&mut host, at, output);
    }
    host
}

/// A host whose model has read three lines of a file, then all of it, and was told of a line that
/// came among the three.
fn reader_of_parts() -> Host {
    let mut host = narrow_host("openai", 1, 10, 20);
    host.write_file("a.txt", &lines("a.txt", 60));
    host.read("a.txt", Some(50), Some(3));
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.write_file("a.txt", &lines("a.txt", 60).replace("line 50 of", "INSERTED\nline 50 of"));
    host
}

fn run(host: &mut Host, at: usize, count: usize) {
    let args = json!({ "command": format!("run {at}") });
    host.tool("bash", &args, &lines(&format!("out {at}"), count));
    host.send();
}

/// The model runs commands, and a person speaks before the fourth.
fn run_on(host: &mut Host, at: usize) {
    if at == 3 {
        host.say("done");
        host.user("next");
        host.send();
    }
    run(host, at, 14);
}

/// Whether the three lines stand as they were.
fn stand_as_read(host: &Host) -> bool {
    let text = lines("a.txt", 60);
    let two: Vec<&str> = text.lines().skip(49).take(2).collect();
    host.shown().contains(&two.join("\n"))
}

#[test]
fn the_note_that_takes_others_place_comes_with_the_epoch() {
    let mut host = reader_of_parts();
    let mut renewed = 0;
    for at in 0..10 {
        let epoch = host.live.state().epoch();
        run_on(&mut host, at);
        if stand_as_read(&host) {
            let notes = told(&host.sent, "a.txt");
            assert!(notes.iter().any(|note| note.contains("+INSERTED")), "call {at}: {notes:#?}");
            renewed += u32::from(at > 0 && host.live.state().epoch() > epoch);
        }
    }
    assert!(renewed > 0, "an epoch must take the note away to prove anything");
}

#[test]
fn one_note_tells_all_changes_where_an_epoch_starts() {
    let mut host = reader_of_parts();
    let mut renewed = 0;
    for at in 0..14 {
        if at == 8 {
            let text = std::fs::read_to_string(host.path("a.txt")).unwrap();
            host.write_file("a.txt", &text.replace("line 3 of", "ANOTHER line 3 of"));
        }
        let epoch = host.live.state().epoch();
        run_on(&mut host, at);
        if stand_as_read(&host) {
            let notes = told(&host.sent, "a.txt").concat();
            assert!(notes.contains("+INSERTED"), "call {at}: {notes}");
            assert!(at < 8 || notes.contains("+ANOTHER"), "call {at}: {notes}");
            renewed += u32::from(at >= 8 && host.live.state().epoch() > epoch);
        }
    }
    assert!(renewed > 0, "an epoch must take notes away to prove anything");
}

#[test]
fn a_note_leaves_where_an_epoch_shows_the_present_text() {
    let mut host = narrow_host("none", 4, 200, 25);
    let text = lines("a.txt", 12);
    host.write_file("a.txt", &text);
    host.read("a.txt", None, None);
    host.send();
    let mut renewed = 0;
    for at in 0..3 {
        let line = format!("CHANGED {at} line 3 of");
        host.write_file("a.txt", &text.replace("line 3 of", &line));
        run(&mut host, at, 20);
        let (shown, notes): (Vec<_>, Vec<_>) = told(&host.sent, "a.txt")
            .into_iter()
            .partition(|said| said.starts_with("[f1] a.txt · lines"));
        if shown.iter().any(|shown| shown.contains(&line)) {
            assert_eq!(notes, [""; 0], "call {at}");
            renewed += 1;
        }
    }
    assert!(renewed > 0, "an epoch must show the present text to prove anything");
}

#[test]
fn help_for_failed_edits_in_a_loop_ends() {
    let mut host = reader(Settings::default(), &["a.rs"]);
    let mut helps = Vec::new();
    for at in 0..25 {
        let args = json!({ "path": "a.rs", "edits": [{ "oldText": "line 20 of a file, 380\n", "newText": format!("{at}") }] });
        let id = host.call("edit", &args);
        let help = host.live.explain_failed_edit(&args).unwrap().unwrap_or_default();
        host.answer(&id, "edit", &args, &format!("Could not find the text.\n\n{help}"), true);
        helps.push(help);
        host.send();
    }
    assert!(helps[0].contains("line 20 of a.rs"), "{}", helps[0]);
    let tokens: u64 = helps.iter().map(|help| context::tokens::count(help)).sum();
    let bill = host.live.state().bill();
    assert!(tokens < 2_500, "{tokens} tokens of help");
    assert!(bill.added > 0.0 && bill.added < bill.plain() / 20.0, "{}", bill.added);
}

/// What files do between two calls.
#[derive(Debug, Clone, Copy)]
enum Habit {
    /// All change.
    All,
    /// One after another.
    ByTurns,
    /// All, in every third call.
    Thirds,
    /// The first has two names by turns.
    Moves,
    /// The first is deleted and comes back.
    Flickers,
    /// All grow, and the model names them.
    Named,
    /// They are no text, and change.
    Bytes,
    /// All change, and the model reads the first anew.
    ReadAgain,
    /// The model's edits of the first fail.
    FailedEdits,
}

#[derive(Debug, Clone)]
struct Adversary {
    habit: Habit,
    files: usize,
    size: usize,
    change: usize,
    output: usize,
    calls: usize,
    prices: &'static str,
    window: u64,
    /// A person speaks after so many calls.
    turn: usize,
}

fn adversary() -> impl Strategy<Value = Adversary> {
    use Habit::{All, ByTurns, Bytes, FailedEdits, Flickers, Moves, Named, ReadAgain, Thirds};

    let habits = vec![All, ByTurns, Thirds, Moves, Flickers, Named, Bytes, ReadAgain, FailedEdits];
    let habit = prop::sample::select(habits);
    let prices = vec!["anthropic", "openai", "gemini", "deepseek", "none", "anthropic-1h"];
    let host = (prop::sample::select(prices), prop::sample::select(vec![SMALL_WINDOW, 200_000]));
    let sizes = (1..30_usize, 5..60_usize, 1..50_usize, 40..90_usize, 15..45_usize, 3..20_usize);
    (habit, host, sizes).prop_map(|(habit, (prices, window), sizes)| {
        let (files, size, change, output, calls, turn) = sizes;
        Adversary { habit, files, size, change, output, calls, prices, window, turn }
    })
}

/// One side's bill, counted from its requests.
#[derive(Default)]
struct Side {
    before: Vec<(String, u64)>,
    cost: f64,
}

impl Side {
    fn send(&mut self, request: &[Value], prices: &Prices) {
        let count = |text: &String| HostMessage::parse(text, Counter::Bundled).tokens();
        let texts: Vec<String> = request.iter().map(ToString::to_string).collect();
        let same = self.before.iter().zip(&texts).take_while(|((a, _), b)| a == *b).count();
        let known = self.before[..same].to_vec();
        let new = texts[same..].iter().map(|text| (text.clone(), count(text)));
        let now: Vec<(String, u64)> = known.into_iter().chain(new).collect();
        let sum = |messages: &[(String, u64)]| messages.iter().map(|(_, tokens)| tokens).sum();
        let cached = prices.reusable(sum(&now[..same]), same == self.before.len());
        let cached = Some(cached).filter(|_| !self.before.is_empty());
        self.cost +=
            prices.charge(&Input { fixed: PROMPT_TOKENS, messages: sum(&now), cached }).cost;
        self.before = now;
    }
}

/// A session against an adversary: the host and both bills.
struct Game {
    host: Host,
    prices: Prices,
    ours: Side,
    plain: Side,
    /// The messages that the plain host would have in place of ours, by index.
    without_help: Vec<(usize, Value)>,
}

impl Game {
    fn send(&mut self) {
        let sent = self.host.send();
        let mut plain = self.host.messages.clone();
        for (index, message) in &self.without_help {
            plain[*index] = message.clone();
        }
        self.ours.send(&sent, &self.prices);
        self.plain.send(&plain, &self.prices);
    }

    fn fail_edit(&mut self, at: usize) {
        let args = json!({ "path": "f0.txt", "edits": [{ "oldText": format!("line {} of a file\n", at % 5), "newText": "x" }] });
        let id = self.host.call("edit", &args);
        let error = "Could not find the exact text in f0.txt.";
        let help = self.host.live.explain_failed_edit(&args).unwrap().unwrap_or_default();
        self.host.answer(&id, "edit", &args, &format!("{error}\n\n{help}"), true);
        let mut plain = self.host.messages.last().unwrap().clone();
        plain["content"][0]["text"] = json!(error);
        self.without_help.push((self.host.messages.len() - 1, plain));
    }
}

fn play(game: &Adversary) -> Game {
    let prices = Prices::preset(game.prices).unwrap();
    let table = PriceTable::Own(prices.clone());
    let own = PriceSetting::ByModel([("*".to_owned(), table)].into());
    let mut host = Host::new(Settings { prices: own, ..Settings::default() });
    host.window = game.window;
    host.prompt_tokens = Some(PROMPT_TOKENS);
    let name = |at: usize| format!("f{at}.txt");
    let write = |host: &Host, at: usize, said: &str| {
        let text = lines(&format!("{said} {at}"), game.size);
        if matches!(game.habit, Habit::Bytes) {
            std::fs::write(host.path(&name(at)), [text.as_bytes(), &[0xff]].concat()).unwrap();
        } else {
            host.write_file(&name(at), &text);
        }
    };
    host.user("watch them");
    for at in 0..game.files {
        write(&host, at, "begin");
        if matches!(game.habit, Habit::Bytes) {
            let text = lines(&format!("begin {at}"), game.size);
            host.tool("read", &json!({ "path": name(at) }), &text);
        } else {
            host.read(&name(at), None, None);
        }
    }
    let (ours, plain) = (Side::default(), Side::default());
    let mut play = Game { host, prices, ours, plain, without_help: Vec::new() };
    play.send();
    for call in 0..game.calls {
        let change = |host: &Host, at: usize| {
            let text = std::fs::read(host.path(&name(at))).unwrap_or_default();
            let more = lines(&format!("call {call} of {at}"), game.change);
            std::fs::write(host.path(&name(at)), [more.as_bytes(), &text].concat()).unwrap();
        };
        let mut command = format!("make x{call}");
        match game.habit {
            Habit::All | Habit::Bytes => (0..game.files).for_each(|at| change(&play.host, at)),
            Habit::ByTurns => change(&play.host, call % game.files),
            Habit::Thirds if call % 3 == 0 => (0..game.files).for_each(|at| change(&play.host, at)),
            Habit::Thirds => {}
            Habit::Moves => {
                let (one, other) = (play.host.path("f0.txt"), play.host.path("other.txt"));
                let (from, to) = if one.exists() { (one, other) } else { (other, one) };
                std::fs::rename(from, to).unwrap();
            }
            Habit::Flickers if call % 2 == 0 => {
                drop(std::fs::remove_file(play.host.path("f0.txt")));
            }
            Habit::Flickers => write(&play.host, 0, "back"),
            Habit::Named => {
                for at in 0..game.files {
                    change(&play.host, at);
                    command = format!("{command} {}", name(at));
                }
            }
            Habit::ReadAgain => {
                (0..game.files).for_each(|at| change(&play.host, at));
                play.host.read("f0.txt", Some(1), Some(10));
            }
            Habit::FailedEdits => {
                change(&play.host, 0);
                play.fail_edit(call);
                play.send();
            }
        }
        let output = lines(&format!("out {call}"), game.output);
        play.host.tool("bash", &json!({ "command": command }), &output);
        play.send();
        if call % game.turn == game.turn - 1 {
            play.host.say("done");
            play.host.user("go on");
            play.send();
        }
    }
    play
}

proptest! {
    #![proptest_config(config(6, 47))]

    #[test]
    fn no_habit_of_files_costs_more_than_a_tenth(game in adversary()) {
        let played = play(&game);
        let bill = played.host.live.state().bill();
        let counted = played.ours.cost / played.plain.cost;
        let ledger = bill.ratio().unwrap();
        let worst = if game.window == SMALL_WINDOW { WORST_IN_SMALL_WINDOW } else { WORST };
        prop_assert!(counted <= worst, "by the requests {counted:.3}, by the ledger {ledger:.3}");
        prop_assert!(ledger <= worst, "by the ledger {ledger:.3}");
    }
}

/// The note on a file that the model read with one text and that has another now.
fn note_of(old: &str, new: &str) -> String {
    let mut host = Host::new(Settings::default());
    host.user("watch it");
    host.write_file("a.txt", old);
    host.read("a.txt", None, None);
    host.send();
    host.write_file("a.txt", new);
    let sent = step(&mut host, 0);
    told(&sent, "a.txt").remove(0)
}

#[test]
fn a_note_counts_what_its_difference_shows() {
    for (old, new, counts) in [
        ("one\ntwo\nthree", "one\ntwo\nthree\n", (1, 1)),
        ("one\ntwo\nthree\n", "one\ntwo\nthree", (1, 1)),
        ("one\ntwo\nthree", "one\ntwo\nthree\nfour\n", (2, 1)),
        ("one\ntwo\n", "one\ntwo\nthree\n", (1, 0)),
    ] {
        let note = note_of(old, new);
        let of = |sign: char| note.lines().filter(|line| line.starts_with(sign)).count();
        assert_eq!((of('+'), of('-')), counts, "{note}");
        assert!(note.contains(&format!("(+{} -{}):\n", counts.0, counts.1)), "{note}");
    }
}

#[test]
fn a_note_on_line_ends_shows_no_lines_that_are_the_same() {
    let head = "[f1] a.txt changed on disk after t1";
    for (old, new, expected) in [
        ("one\ntwo\n", "one\r\ntwo\r\n", "(+0 -0):\nline ends: LF before, CRLF now"),
        ("one\r\ntwo\r\n", "one\ntwo\n", "(+0 -0):\nline ends: CRLF before, LF now"),
        ("one\r\ntwo\r\n", "one\r\ntwo\n", "(+0 -0):\nline ends: CRLF before, CRLF and LF now"),
        (
            "one\ntwo\n",
            "one\r\n2\r\n",
            "(+1 -1):\nline ends: LF before, CRLF now\n@@ -1,2 +1,2 @@\n one\n-two\n+2",
        ),
        ("one\r\ntwo\r\n", "one\r\n2\r\n", "(+1 -1):\n@@ -1,2 +1,2 @@\n one\n-two\n+2"),
    ] {
        assert_eq!(note_of(old, new), format!("{head} {expected}"), "{old:?} {new:?}");
    }
}
