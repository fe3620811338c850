//! Instructions that the model read stand as long as they are in force, within their budget.

use config::{Layout, PriceSetting, Settings};
use live::Wanted;
use serde_json::json;

use crate::host::{Host, uncached};

fn host(prices: PriceSetting) -> Host {
    let mut host = Host::new(Settings { prices, collapse_tokens: 100, ..Settings::default() });
    host.user("Release it; follow the release skill.");
    host
}

fn rules(name: &str, count: usize) -> String {
    let rule = |rule: usize| format!("{rule}. Rule {rule} of {name}: check item {rule}, always.\n");
    (1..=count).map(rule).collect()
}

fn run(host: &mut Host, number: usize) {
    let line = |line: u32| format!("step {number}, line {line} of the log\n");
    let output = (0..60).map(line).collect::<Vec<_>>().concat();
    host.tool("bash", &json!({ "command": format!("run {number}") }), &output);
    host.send();
}

fn cat(host: &mut Host, names: &[&str]) {
    let texts = names.iter().map(|name| std::fs::read_to_string(host.path(name)).unwrap());
    let text: String = texts.collect();
    host.tool("bash", &json!({ "command": format!("cat {}", names.join(" ")) }), &text);
    host.send();
}

fn compact(host: &mut Host) {
    host.messages.clear();
    host.push(json!({ "role": "compactionSummary", "summary": "so far", "tokensBefore": 9 }));
    host.user("after the compaction");
    host.send();
}

fn says(host: &Host, name: &str, rule: usize) -> usize {
    host.shown().matches(&format!("Rule {rule} of {name}:")).count()
}

#[test]
fn rules_that_the_model_read_stand_while_outputs_leave() {
    for prices in [uncached(), PriceSetting::Named("openai".into())] {
        let mut host = host(prices);
        for (path, name) in [
            (".pi/skills/release/SKILL.md", "skill"),
            ("pkg/AGENTS.md", "agents"),
            (".cursor/rules/style.mdc", "cursor"),
        ] {
            host.write_file(path, &rules(name, 60));
            host.read(path, None, None);
            host.send();
        }
        host.write_file("lib/CLAUDE.md", &rules("shown", 60));
        host.write_file(".clinerules", &rules("together", 200));
        cat(&mut host, &["lib/CLAUDE.md", ".clinerules"]);
        for number in 0..50 {
            run(&mut host, number);
        }
        assert!(host.live.state().epoch() > 0);
        for name in ["skill", "agents", "cursor", "shown", "together"] {
            assert_eq!(says(&host, name, 47), 1, "{name}");
        }
    }
}

#[test]
fn after_a_compaction_they_are_there_again_as_they_are_now() {
    let mut host = host(uncached());
    host.write_file("AGENTS.md", &rules("agents", 30));
    host.read("AGENTS.md", None, None);
    host.write_file("docs/notes.txt", &rules("notes", 30));
    host.read("docs/notes.txt", None, None);
    host.send();
    host.write_file("AGENTS.md", &(rules("agents", 30) + "31. Rule 31 of agents: be brief.\n"));
    compact(&mut host);
    assert_eq!([says(&host, "agents", 7), says(&host, "agents", 31)], [1, 1]);
    assert_eq!(says(&host, "notes", 7), 0);
    host.restart();
    host.say("yes");
    host.user("once more");
    host.send();
    assert_eq!(says(&host, "agents", 7), 1, "after a restart, once");
    host.write_file("AGENTS.md", &rules("agents", 30));
    run(&mut host, 0);
    assert!(host.shown().contains("[f1] AGENTS.md changed on disk"), "{}", host.shown());
}

#[test]
fn of_rules_read_in_part_that_part_stands() {
    let mut host = host(uncached());
    host.write_file("AGENTS.md", &rules("agents", 90));
    host.read("AGENTS.md", Some(20), Some(30));
    host.send();
    compact(&mut host);
    let stand: Vec<usize> = [19, 20, 49, 50].map(|rule| says(&host, "agents", rule)).to_vec();
    assert_eq!(stand, [0, 1, 1, 0]);
}

#[test]
fn instructions_are_in_force_where_read_and_still_there() {
    let mut host = host(uncached());
    for name in ["a/AGENTS.md", "b/AGENTS.md", "c/AGENTS.md"] {
        host.write_file(name, &rules(&name[..1], 30));
    }
    host.read("a/AGENTS.md", None, None);
    host.read("b/AGENTS.md", None, None);
    host.send();
    let way = host.messages.clone();
    host.read("c/AGENTS.md", None, None);
    host.send();
    host.messages = way;
    std::fs::remove_file(host.path("b/AGENTS.md")).unwrap();
    host.user("another way");
    host.send();
    compact(&mut host);
    assert_eq!(["a", "b", "c"].map(|name| says(&host, name, 7)), [1, 0, 0]);
    host.live.deactivate("", "f1").unwrap();
    compact(&mut host);
    assert_eq!(says(&host, "a", 7), 0, "let go");
}

#[test]
fn a_clone_full_of_rules_does_not_fill_the_window() {
    let mut host = host(uncached());
    host.window = 40_000;
    for number in 0..40 {
        let name = format!("pkg{number}/AGENTS.md");
        host.write_file(&name, &rules(&format!("pkg{number}"), 60));
        host.read(&name, None, None);
        host.send();
    }
    for number in 0..12 {
        run(&mut host, number);
    }
    let standing: Vec<usize> =
        (0..40).filter(|number| says(&host, &format!("pkg{number}"), 7) > 0).collect();
    assert!(standing.contains(&39) && !standing.contains(&10), "the newest: {standing:?}");
    let tokens = host.live.state().sent().unwrap().sent_tokens;
    assert!(tokens < 20_000, "{tokens}");
}

#[test]
fn the_settings_say_which_files_and_how_much() {
    for (tokens, expected) in [(16_000, 1), (0, 0)] {
        let mut host = host(uncached());
        host.settings.instruction_files = Some(vec!["docs/rules/*.md".into()]);
        host.settings.instruction_tokens = tokens;
        host.restart();
        host.write_file("docs/rules/style.md", &rules("style", 30));
        host.read("docs/rules/style.md", None, None);
        host.send();
        compact(&mut host);
        assert_eq!(says(&host, "style", 7), expected, "{tokens}");
    }
}

#[test]
fn a_called_skill_is_there_again_after_a_compaction() {
    let mut host = host(uncached());
    let (path, body) = (".pi/skills/release/SKILL.md", rules("skill", 30));
    host.write_file(path, &format!("---\nname: release\n---\n{body}"));
    let place = host.path(path);
    let block = format!(
        "<skill name=\"release\" location=\"{}\">\n{body}\n</skill>\n\nnow",
        place.display()
    );
    host.user(&block);
    host.send();
    run(&mut host, 0);
    assert_eq!(says(&host, "skill", 7), 1);
    compact(&mut host);
    assert_eq!(says(&host, "skill", 7), 1);
}

#[test]
fn rules_are_never_shown_in_part_and_a_tool_of_skills_counts() {
    let mut host = host(uncached());
    host.settings.preview_tokens = 100;
    host.settings.preview_reads = true;
    host.restart();
    host.write_file("AGENTS.md", &rules("agents", 60));
    host.read("AGENTS.md", None, None);
    host.tool("skill", &json!({ "name": "release" }), &rules("skill", 60));
    host.send();
    assert_eq!([says(&host, "agents", 30), says(&host, "skill", 30)], [1, 1]);
    compact(&mut host);
    assert_eq!([says(&host, "agents", 30), says(&host, "skill", 30)], [1, 1]);
}

#[test]
fn in_pools_rules_come_after_what_is_pinned() {
    let mut host = host(uncached());
    host.settings.layout = Layout::Pools;
    host.restart();
    host.write_file("AGENTS.md", &rules("agents", 30));
    host.write_file("a.txt", &rules("pinned", 30));
    host.read("AGENTS.md", None, None);
    host.read("a.txt", None, None);
    host.live.activate("", &Wanted { name: "a.txt".into(), ..Wanted::default() }, true).unwrap();
    host.send();
    compact(&mut host);
    assert_eq!([says(&host, "agents", 7), says(&host, "pinned", 7)], [1, 1]);
}
