//! Writers are killed at every step of a flush, and at random moments while others write:
//! acknowledged entries exist exactly once, unacknowledged ones at most once.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use base::object::Timestamp;
use memory::Scope;
use memory::flush::{flush, flush_watched};
use memory::journal::{Draft, Journal, stage};

use crate::desk::{Desk, memory_of, options, remember, times};
use testing::cases::is_long;
use testing::child::only;

/// More than any machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Steps of a flush that writes one file.
const STEPS: usize = 7;

/// Steps more of one that ends another one before.
const RESUME_STEPS: usize = 2;

/// Not a test of its own: flushes, and stops for good at the step that it was given.
#[test]
fn acts_as_a_flusher_when_asked() {
    let Some(project) = std::env::var_os("PALIMPSEST_TEST_FLUSH") else { return };
    let stop: usize = std::env::var("PALIMPSEST_TEST_STEP").unwrap().parse().unwrap();
    let mut met = 0;
    let folder = memory_of(Path::new(&project));
    // Not strictly: what is written a second time must show, and not be refused.
    let done = flush_watched(&folder, &options(false), &mut |_| {
        if met == stop {
            println_now("= stopped");
            loop {
                std::thread::park();
            }
        }
        met += 1;
    });
    println_now(&format!("= done {}", done.is_ok()));
}

/// Not a test of its own: stages and flushes until it is killed, and says what it acknowledged.
#[test]
fn acts_as_a_writer_when_asked() {
    let Some(project) = std::env::var_os("PALIMPSEST_TEST_WRITER") else { return };
    let name = std::env::var("PALIMPSEST_TEST_NAME").unwrap();
    let folder = memory_of(Path::new(&project));
    for number in 0.. {
        let text = format!("writer {name} says number {number}");
        remember(&folder, &text);
        println_now(&format!("= {text}"));
        if number % 3 == 0 {
            flush(&folder, &options(false)).unwrap();
        }
    }
}

#[expect(clippy::print_stdout, reason = "how the process talks to the test")]
fn println_now(line: &str) {
    println!("\n{line}");
    std::io::stdout().flush().unwrap();
}

fn start(test: &str, environment: &[(&str, &str)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(only(module_path!(), test)).stdout(Stdio::piped());
    command.envs(environment.iter().copied()).spawn().unwrap()
}

/// Flushes in another process that is killed at a step. Returns whether it came that far.
fn flush_killed_at(project: &Path, step: usize) -> bool {
    let project = project.to_str().unwrap();
    let step = step.to_string();
    let mut child = start(
        "acts_as_a_flusher_when_asked",
        &[("PALIMPSEST_TEST_FLUSH", project), ("PALIMPSEST_TEST_STEP", &step)],
    );
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.map_while(Result::ok).find(|line| line.starts_with("= ")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    said == "= stopped"
}

/// Steps at which the journal has a beginning without an end.
fn numbered_steps_after_begin() -> std::ops::RangeInclusive<usize> {
    2..=4
}

#[test]
fn a_killed_flush_neither_loses_nor_doubles_an_entry() {
    for before in ["", "- old\n\n## Notes\n- one\n"] {
        for step in 0..STEPS {
            let desk = Desk::new();
            if !before.is_empty() {
                desk.write("MEMORY.md", before);
            }
            desk.remember("first entry");
            desk.remember("second entry");
            assert!(flush_killed_at(desk.root(), step), "{step} is not a step");
            if numbered_steps_after_begin().contains(&step) {
                // Whoever ends the flush tells what it wrote.
                let report = desk.flush_freely();
                assert_eq!((report.resumed, report.committed.len()), (true, 2), "step {step}");
            }
            // The next session may be killed as well.
            flush_killed_at(desk.root(), step);
            let report = desk.flush_freely();
            let text = desk.text("MEMORY.md");
            for entry in ["first entry", "second entry"] {
                assert_eq!(times(&text, entry), 1, "step {step}: {entry} in {text}");
            }
            assert!(text.starts_with(before.trim_end()), "step {step}: {text}");
            assert_eq!((desk.waiting(), report.refused.len(), report.lost.len()), (0, 0, 0));
            let left: Vec<String> =
                desk.names().into_iter().filter(|name| name.contains("tmp")).collect();
            assert_eq!(left, Vec::<String>::new(), "step {step}");
        }
    }
    let desk = Desk::new();
    desk.remember("an entry");
    assert!(!flush_killed_at(desk.root(), STEPS), "a flush has more steps than {STEPS}");
}

#[test]
fn a_killed_resume_neither_loses_nor_doubles_an_entry() {
    let mut resumed = 0;
    let files: &[&str] = if is_long() { &["", "- old\n"] } else { &["- old\n"] };
    for before in files {
        for first in 0..STEPS {
            for second in 0..STEPS + RESUME_STEPS {
                let desk = Desk::new();
                if !before.is_empty() {
                    desk.write("MEMORY.md", before);
                }
                desk.remember("an entry");
                assert!(flush_killed_at(desk.root(), first), "{first} is not a step");
                let was_killed = flush_killed_at(desk.root(), second);
                resumed += usize::from(was_killed && second >= STEPS);
                let report = desk.flush_freely();
                let text = desk.text("MEMORY.md");
                let when = format!("killed at {first}, then at {second}: {text}");
                assert_eq!(times(&text, "an entry"), 1, "{when}");
                assert!(text.starts_with(before.trim_end()), "{when}");
                assert_eq!((desk.waiting(), report.lost.len()), (0, 0), "{when}");
            }
        }
    }
    assert!(resumed > 0, "a flush that resumes another one has more steps");
}

#[test]
fn an_entry_overwritten_by_a_save_during_a_kill_is_written() {
    // What a kill leaves when others saved the file before and after the two files changed places.
    let desk = Desk::new();
    desk.write("MEMORY.md", "- old\n");
    desk.remember("an entry");
    assert!(flush_killed_at(desk.root(), 3), "the files changed places");
    let prepared = desk.names().into_iter().find(|name| name.starts_with(".MEMORY.md.w")).unwrap();
    desk.write(&prepared, "- saved before\n");
    desk.write("MEMORY.md", "- saved after\n");
    let report = desk.flush_freely();
    let text = desk.text("MEMORY.md");
    assert_eq!((times(&text, "saved after"), times(&text, "an entry")), (1, 1), "{text}");
    assert!(desk.names().iter().any(|name| name.ends_with(".set-aside")), "{report:?}");
    assert_eq!(desk.waiting(), 0);
}

#[test]
fn a_save_between_a_kill_and_the_next_flush_is_kept() {
    for step in 0..STEPS {
        for from_what_stands in [true, false] {
            let desk = Desk::new();
            desk.write("MEMORY.md", "- old\n");
            desk.remember("from the journal");
            flush_killed_at(desk.root(), step);
            let base = if from_what_stands { desk.text("MEMORY.md") } else { String::new() };
            desk.write("MEMORY.md", format!("{base}- by hand\n"));
            let report = desk.flush_freely();
            let text = desk.text("MEMORY.md");
            assert_eq!(times(&text, "by hand"), 1, "step {step}: {text}");
            // A person who saves something else over an entry that stands has removed it.
            let least = usize::from(from_what_stands);
            let found = times(&text, "from the journal");
            assert!((least..=1).contains(&found), "step {step}: {text}");
            assert_eq!((desk.waiting(), report.lost.len()), (0, 0));
        }
    }
}

/// A generator of numbers that look random (SplitMix64), the same on every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// A number that `npm run soak` sets.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn concurrent_killed_writers_lose_and_double_nothing() {
    let seed = setting("PROPTEST_RNG_SEED", 20_260_101);
    let rounds = setting("PROPTEST_CASES", 3);
    let mut numbers = Numbers(seed);
    let desk = Desk::new();
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();
    for round in 0..rounds {
        let names: Vec<String> = (0..3).map(|writer| format!("{round}.{writer}")).collect();
        let project = desk.root().to_str().unwrap();
        let mut writers: Vec<(Child, std::thread::JoinHandle<Vec<String>>)> = Vec::new();
        let (began, has_begun) = mpsc::channel();
        for name in &names {
            let environment = [("PALIMPSEST_TEST_WRITER", project), ("PALIMPSEST_TEST_NAME", name)];
            let mut child = start("acts_as_a_writer_when_asked", &environment);
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let began = began.clone();
            let said = move || {
                let lines = lines.map_while(Result::ok);
                let said = lines.filter_map(|line| line.strip_prefix("= ").map(str::to_owned));
                said.inspect(|_| began.send(()).unwrap_or_default()).collect()
            };
            writers.push((child, std::thread::spawn(said)));
        }
        // One of them; the others may be at their start.
        has_begun.recv_timeout(PATIENCE).unwrap();
        std::thread::sleep(Duration::from_millis(numbers.below(300)));
        for (child, _) in &mut writers {
            std::thread::sleep(Duration::from_millis(numbers.below(60)));
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success(), "round {round}: a writer ended by itself");
        }
        let said = writers.into_iter().flat_map(|(_, said)| said.join().unwrap());
        acknowledged.extend(said);
        // A session that begins.
        let report = desk.flush_freely();
        assert!(report.lost.is_empty(), "round {round}, seed {seed}");
        let text = desk.text("MEMORY.md");
        for entry in &acknowledged {
            assert_eq!(times(&text, entry), 1, "round {round}, seed {seed}: {entry}");
        }
        let mut entries: Vec<&str> =
            text.lines().filter(|line| line.starts_with("- writer")).collect();
        let all = entries.len();
        entries.sort_unstable();
        entries.dedup();
        assert_eq!(entries.len(), all, "round {round}, seed {seed}: an entry stands twice");
        assert_eq!(Journal::read(&desk.memory()).0.waiting().count(), 0);
    }
    assert!(acknowledged.len() as u64 >= rounds, "{} acknowledged", acknowledged.len());
}

#[test]
fn two_sessions_that_flush_at_once_lose_and_double_nothing() {
    let desk = Desk::new();
    std::thread::scope(|scope| {
        for session in 0..4 {
            let folder = desk.memory();
            scope.spawn(move || {
                for number in 0..10 {
                    let text = format!("session {session} learned thing {number}");
                    let draft = Draft::entry(Scope::Project, text);
                    stage(&folder, vec![draft], false, Timestamp(0)).unwrap();
                    flush(&folder, &options(false)).unwrap();
                }
            });
        }
    });
    let text = desk.text("MEMORY.md");
    for session in 0..4 {
        for number in 0..10 {
            assert_eq!(times(&text, &format!("session {session} learned thing {number}")), 1);
        }
    }
}
