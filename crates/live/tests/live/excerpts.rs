//! Outputs that are shown in part: line counts, references to lines that stand elsewhere, and that
//! those lines do stand there.

use std::sync::LazyLock;

use base::harness::Call;
use config::Settings;
use context::host::HostMessage;
use context::tokens::Counter;
use live::Wanted;
use regex::Regex;
use serde_json::{Value, json};
use session::{ResultFact, Session, Shows, Treatment};

use crate::host::{Host, uncached};
use crate::shapes::{shown_text, text_of};

static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^… ([\d,]+) lines? between \(([tf]\d+):(\d+)-(\d+)(?: of [\d,]+)?\) …$").unwrap()
});
static AS_IN: LazyLock<Regex> = LazyLock::new(|| {
    let form =
        r#"^… ([\d,]+) lines? as in ([tf]\d+):(\d+)-(\d+)(?: \((t\d+)\))?(?:, from "(.*)")? …$"#;
    Regex::new(form).unwrap()
});
/// Lines that report a failure, whatever printed them.
static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    let lines = r"^test .+ \.\.\. FAILED|^FAILED \S+::|^\S+::\S+ FAILED|^\s*--- FAIL: |^\s*not ok [0-9]|^E   \S|panicked at \S|^error(\[E\d+\])?: |\(\d+,\d+\): error TS|^Traceback \(most recent|^\s*[✕✗✖×] |^ ?FAIL  ?\S|<<< FAILURE!";
    Regex::new(lines).unwrap()
});
/// Lines that report that a test passed.
static PASSED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^test .+ \.\.\. ok|^\S+::\S+ PASSED|^\s*--- PASS: |^\s*ok [0-9]+ |^\s*[✓✔√] |^ ?PASS  ?\S").unwrap()
});
static CUT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(.*) … [\d,]+ characters between \([tf]\d+:\d+(?::\d+-\d+)?\) … (.*)$").unwrap()
});

/// Checks the text of every partly shown output of a request: each of its lines is shown, counted,
/// or claimed to stand in another message, where it does stand.
pub(crate) fn check(state: &Session, sent: &[Value], host: &[Value]) {
    let places = state.chat().window.iter().zip(host);
    let shown = places.filter(|(at, _)| !state.folds().hide(**at));
    for (index, (at, host)) in shown.enumerate() {
        let is_excerpt = matches!(state.treatment(*at), Treatment::Excerpt { .. });
        let withheld = state.chat().get(*at).is_some_and(|known| known.withheld);
        let volatile = state.chat().get(*at).is_some_and(session::ChatMessage::is_volatile);
        if is_excerpt && !withheld && !volatile {
            check_excerpt(state, sent, index, *at, host);
        }
    }
}

/// The text of an output, and what is shown of it.
fn texts(fact: &ResultFact, sent: &Value, host: &Value) -> (String, String) {
    let Some(within) = fact.within else { return (text_of(host), shown_text(sent, host)) };
    let texts = |message: &Value| HostMessage::parse(message.to_string(), Counter::Bundled).texts;
    let whole = texts(host)[within.text].clone();
    let (head, tail) = (&whole[..within.start], &whole[within.end..]);
    let is_it = |text: &String| text.starts_with(head) && text.ends_with(tail);
    let sent = texts(sent).into_iter().find(is_it).unwrap();
    let part = |text: &str| text[head.len()..text.len() - tail.len()].to_owned();
    (part(&whole), part(&sent))
}

fn check_excerpt(state: &Session, sent: &[Value], index: usize, at: u64, host: &Value) {
    let (own, shown) = texts(state.result(at).unwrap(), &sent[index], host);
    let own: Vec<&str> = own.split('\n').collect();
    // Lines of a file, or of an output that the host cut, have the numbers that they have there.
    let fact = state.result(at).unwrap();
    let before = match (&fact.shows, &fact.cut) {
        (Shows::File { range, .. }, _) => range.first - 1,
        (_, Some(cut)) => cut.before,
        _ => 0,
    };
    let before = usize::try_from(before).unwrap();
    let (mut next, mut hidden) = (0, Vec::new());
    for line in shown.split('\n') {
        let number = |text: &str| text.replace(',', "").parse::<usize>().unwrap();
        if let Some(found) = BETWEEN.captures(line) {
            assert_eq!(number(&found[3]), before + next + 1, "{line}");
            hidden.extend(&own[next..next + number(&found[1])]);
            next += number(&found[1]);
            assert_eq!(number(&found[4]), before + next, "{line}");
        } else if let Some(found) = AS_IN.captures(line) {
            let block = own[next..next + number(&found[1])].join("\n");
            next += number(&found[1]);
            let named = found.get(5).or(found.get(2)).unwrap().as_str();
            assert!(stands(state, &sent[..index], named, &block), "{line}\n{block}");
            let quote = found.get(6).unwrap().as_str().trim_end_matches('…');
            assert!(block.lines().any(|line| line.trim().starts_with(quote)), "{line}\n{block}");
        } else if let Some(found) = CUT.captures(line).filter(|_| line != own[next]) {
            assert!(own[next].starts_with(&found[1]) && own[next].ends_with(&found[2]), "{line}");
            next += 1;
        } else {
            assert_eq!(line, own[next]);
            next += 1;
        }
    }
    assert_eq!(next, own.len(), "all lines are shown or counted");
    let brief = fact.object.as_ref().map_or("", |object| state.brief(object));
    let args = json!({ "command": brief.strip_prefix("$ ").unwrap_or(brief) });
    if matches!(fact.shows, Shows::Own) && Call::new(&fact.tool, &args).reports_run() {
        check_failures(&hidden, &shown);
    }
}

/// Whether a line surely reports a failure.
pub(crate) fn is_failure(line: &str) -> bool {
    FAILED.is_match(line)
}

/// Whether a line surely reports that a test passed.
pub(crate) fn is_pass(line: &str) -> bool {
    PASSED.is_match(line)
}

/// Checks that no line which surely reports a failure is hidden beside a test that passed.
fn check_failures(hidden: &[&str], shown: &str) {
    let failed = hidden.iter().find(|line| is_failure(line));
    let passed = shown.lines().find(|line| line.len() > 60 && is_pass(line));
    assert!(
        failed.is_none() || passed.is_none(),
        "{passed:?} is shown, {failed:?} is not\n{shown}"
    );
}

/// Whether a block of lines stands in the message that answers the call with this name or, if the
/// lines were activated, in another one.
fn stands(state: &Session, above: &[Value], named: &str, block: &str) -> bool {
    let holds =
        |message: &Value| format!("\n{}\n", text_of(message)).contains(&format!("\n{block}\n"));
    let is_named = |index: usize| {
        let (at, _) = state.shown_window().nth(index)?;
        let object = state.result(at)?.object.as_ref()?;
        Some(state.handle(object)?.to_string() == named)
    };
    let mut places = above.iter().enumerate().filter(|(_, message)| holds(message));
    places.any(|(index, message)| {
        is_named(index) == Some(true) || text_of(message).contains(&format!("[{named}] "))
    })
}

fn text(message: &Value) -> &str {
    message["content"][0]["text"].as_str().unwrap_or_default()
}

fn settings() -> Settings {
    Settings {
        keep_results: 2,
        collapse_tokens: 400,
        fault_tokens: 10_000,
        preview_tokens: 500,
        ..Settings::default()
    }
}

fn lines(name: &str, numbers: std::ops::RangeInclusive<usize>) -> String {
    let lines: Vec<String> = numbers.map(|n| format!("{name} line {n} of some words")).collect();
    lines.join("\n")
}

fn bash(host: &mut Host, command: &str, output: &str) {
    host.tool("bash", &json!({ "command": command }), output);
    host.send();
}

fn newest(host: &Host) -> &str {
    text(host.sent.last().unwrap())
}

#[test]
fn only_names_blocks_already_in_the_request() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &lines("file", 1..=40));
    host.user("go");
    bash(&mut host, "make", &lines("build", 1..=30));
    host.read("a.txt", Some(3), Some(20));
    host.send();
    let both = format!("new\n{}\nand\n{}", lines("build", 11..=41), lines("file", 1..=12));
    bash(&mut host, "make all", &both);
    insta::assert_snapshot!(newest(&host), @r#"
    new
    … 20 lines as in t1:11-30, from "build line 11 of some words" …
    build line 31 of some words
    build line 32 of some words
    build line 33 of some words
    build line 34 of some words
    build line 35 of some words
    build line 36 of some words
    build line 37 of some words
    build line 38 of some words
    build line 39 of some words
    build line 40 of some words
    build line 41 of some words
    and
    file line 1 of some words
    file line 2 of some words
    … 10 lines as in f1:3-12 (t2), from "file line 3 of some words" …
    "#);
}

#[test]
fn a_read_file_is_shown_in_part_only_if_settings_say_so() {
    for preview_reads in [false, true] {
        let keep_results = 10;
        let settings = Settings { keep_results, preview_reads, ..Settings::default() };
        let mut host = Host::new(Settings { preview_tokens: 500, ..settings });
        host.write_file("a.txt", &lines("file", 1..=900));
        host.user("go");
        host.read("a.txt", None, None);
        host.send();
        assert_eq!(newest(&host).contains(" lines between (f1:"), preview_reads);
        assert_eq!(newest(&host).lines().count() < 300, preview_reads);
        bash(&mut host, "true", "");
        host.read("a.txt", Some(400), Some(20));
        host.send();
        assert_eq!(newest(&host).contains("file line 410 of"), preview_reads, "what is not shown");
        bash(&mut host, "true", "");
        host.read("a.txt", Some(1), Some(20));
        host.send();
        assert!(!newest(&host).contains("file line 10 of"), "what stands is not shown again");
    }
}

#[test]
fn repeating_a_call_right_away_shows_its_lines_again() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    for expected in [30, 30, 1] {
        bash(&mut host, "make", &lines("build", 1..=30));
        assert_eq!(newest(&host).lines().count(), expected);
        if expected == 30 && host.sent.len() > 3 {
            bash(&mut host, "true", "");
            bash(&mut host, "true", "");
        }
    }
}

#[test]
fn requested_lines_are_replaced_only_if_they_are_many() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    bash(&mut host, "make", &lines("build", 1..=60));
    bash(&mut host, "sed -n 5,20p log", &lines("build", 5..=20));
    assert_eq!(newest(&host), lines("build", 5..=20));
    bash(&mut host, "sed -n 5,40p log", &lines("build", 5..=40));
    let named = "… 36 lines as in t1:5-40, from \"build line 5 of some words\" …";
    assert_eq!(newest(&host), named);
}

#[test]
fn a_failure_is_shown_each_time_and_its_context_once() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    let passing = |first: usize| {
        let names = (first..first + 12).map(|n| format!("test parser::case_{n} ... ok"));
        names.collect::<Vec<_>>().join("\n")
    };
    let failure = "---- parser::bad stdout ----\nthread 'parser::bad' panicked at src/a.rs:5:9:\n\
                   assertion `left == right` failed\n  left: 1\n right: 2";
    let run = format!("{}\n\nfailures:\n\n{failure}\n\n{}", passing(0), lines("note", 1..=12));
    bash(&mut host, "cargo test", &run);
    bash(&mut host, "true", "");
    bash(&mut host, "cargo test -q", &run);
    let again = newest(&host);
    assert!(again.contains(failure), "{again}");
    assert!(again.starts_with("… 13 lines as in t1:1-13, from \"test parser::case_0 ... ok\" …"));
    bash(&mut host, "true", "");
    bash(&mut host, "cat report.txt", &run);
    assert_eq!(newest(&host).lines().count(), 1, "text of a file is named as it is");
}

#[test]
fn a_reread_is_split_only_around_a_screenful_of_lines() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &lines("file", 1..=200));
    host.user("go");
    let mut read = |first: u32, count: u32| {
        host.read("a.txt", Some(first), Some(count));
        host.send();
        let shown = newest(&host).to_owned();
        bash(&mut host, "true", "");
        bash(&mut host, "true", "");
        shown
    };
    read(10, 10);
    assert!(!read(5, 30).contains("unchanged"), "10 lines in the middle");
    let split = read(1, 60);
    assert!(split.contains("\nf1 unchanged; lines 5-34 stand in the read result above"), "{split}");
    assert!(!read(60, 40).contains("unchanged"), "one line at the edge");
    assert!(read(12, 3).starts_with("f1 unchanged; lines 12-14 stand in"), "all of it stands");
}

#[test]
fn lines_are_shown_once_more_when_their_output_collapses() {
    let prices = uncached();
    let mut host =
        Host::new(Settings { keep_results: 3, collapse_tokens: 150, prices, ..settings() });
    host.user("go");
    bash(&mut host, "make", &lines("build", 1..=60));
    host.tool("bash", &json!({ "command": "make b" }), &lines("build", 11..=30));
    host.tool("bash", &json!({ "command": "make c" }), &(lines("build", 5..=25) + "\nend"));
    host.send();
    let named = "… 21 lines as in t1:5-25, from \"build line 5 of some words\" …\nend";
    assert_eq!(newest(&host), named);
    assert_eq!(host.live.state().epoch(), 0);
    bash(&mut host, "make d", &lines("other", 1..=3));
    host.user("on");
    host.send();
    insta::assert_snapshot!(host.shown());
}

#[test]
fn changed_lines_are_shown_whichever_tool_returned_them() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    bash(&mut host, "make", &lines("build", 1..=30));
    bash(&mut host, "make b", &lines("build", 11..=30));
    let named = "… 20 lines as in t1:11-30, from \"build line 11 of some words\" …";
    assert_eq!(newest(&host), named);
    host.rewrites = true;
    host.messages[2]["content"][0]["text"] = json!("something else");
    host.send();
    assert_eq!(newest(&host), lines("build", 11..=30));
}

#[test]
fn lines_that_the_model_wrote_do_not_count_as_shown() {
    let mut host = Host::new(Settings::default());
    host.user(&lines("build", 1..=30));
    host.say(&lines("build", 1..=30));
    host.user("go");
    bash(&mut host, &lines("build", 1..=30), &lines("build", 1..=30));
    assert_eq!(newest(&host), lines("build", 1..=30));
}

#[test]
fn a_restart_names_the_same_lines() {
    let run = |restarts: bool| {
        let mut requests = Vec::new();
        let mut host = Host::new(settings());
        host.write_file("a.txt", &lines("file", 1..=40));
        host.user("go");
        for n in 0..8 {
            bash(&mut host, &format!("make {n}"), &lines("build", n * 7 + 1..=n * 7 + 24));
            host.read("a.txt", Some(1 + u32::try_from(n).unwrap()), Some(15));
            host.send();
            bash(&mut host, &format!("show {n}"), &lines("file", n + 3..=n + 30));
            requests.push(host.shown());
            if restarts {
                host.restart();
            }
        }
        (requests, host.live.state().epoch())
    };
    let (plain, epochs) = run(false);
    let says = |what: &str| plain.iter().any(|request| request.contains(what));
    assert!(epochs > 0 && says(" lines as in t") && says(" lines as in f"));
    assert_eq!(run(true).0, plain);
}

#[test]
fn a_preview_keeps_what_the_model_named() {
    let mut host = Host::new(settings());
    host.user("go");
    let output = lines("build", 1..=400).replace("line 200 of", "splitRead of");
    let args = json!({ "command": "make -f splitRead.mk" });
    host.tool("bash", &args, &output.replace("splitRead", "splitRead.mk"));
    host.send();
    let shown = newest(&host);
    assert!(
        shown.contains("line 199 of some words\nbuild splitRead.mk of some words\nbuild line 201"),
        "{shown}"
    );
    let wanted = Wanted { name: "t1".into(), lines: Some("100-101".into()), pattern: None };
    assert!(host.activate(&wanted, false).contains("build line 100 of some words"));
}

#[test]
fn a_change_of_a_line_that_is_not_shown_starts_no_epoch() {
    let mut host = Host::new(Settings::default());
    let log = |word: &str| {
        let line = |n: u32| format!("step {n} of the job went {word} as it should\n");
        let lines = (1..=900).map(|n| if n == 450 { line(n) } else { line(n).replace(word, "on") });
        lines.collect::<String>()
    };
    host.user("run the job");
    host.send();
    host.tool("bash", &json!({ "command": "make job" }), &log("well"));
    host.send();
    let (epoch, before) = (host.live.state().epoch(), host.sent.clone());
    assert!(before[2].to_string().contains(" lines between (t1:"), "{}", before[2]);
    host.messages[2]["content"][0]["text"] = json!(log("ill"));
    host.say("done");
    host.user("thanks");
    host.send();
    assert_eq!(host.live.state().epoch(), epoch);
    assert_eq!(host.sent[..before.len()], before[..]);
}
