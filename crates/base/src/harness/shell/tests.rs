//! The tests of `shell.rs`.

use super::*;
use testing::processor_time::spent_on;

/// The commands of a line, with a space between words. `name<path` is redirected, `?` computed, `|`
/// a filter, `-` not shown.
fn shown(line: &str) -> Vec<String> {
    let word = |word: &Word| {
        let mark = match word.redirect {
            None => "",
            Some(Redirect::Input) => "<",
            Some(Redirect::Output) => ">",
            Some(Redirect::Error) => "2>",
        };
        format!("{mark}{}{}", word.text, if word.is_computed { "?" } else { "" })
    };
    let text = |command: Command| {
        let words: Vec<String> = command.from_program().iter().map(word).collect();
        let (filter, shown) = (command.is_filter, command.is_shown);
        let marks = [(filter, "| "), (!shown, "- ")];
        let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
        format!("{marks}{}", words.join(" "))
    };
    commands(line).map(text).collect()
}

fn check(line: &str, expected: &[&str]) {
    assert_eq!(shown(line), expected, "{line}");
}

#[test]
fn words_are_those_of_a_shell() {
    check("cat a.txt 'b c.txt' \"d \\\"e\" f\\ g", &["cat a.txt b c.txt d \"e f g"]);
    check("cat a*.rs {b,c}.rs # d", &["cat a*.rs {b,c}.rs"]);
    check("cat \\\n  a \\\n  b", &["cat a b"]);
    check("echo a#b 'it'\"'\"'s'", &["echo a#b it's"]);
    check("", &[]);
    check("cat 'open", &["cat open"]);
    check("cat \"open", &["cat open"]);
}

#[test]
fn lists_and_pipes_end_commands() {
    check("a;b&&c||d & e\nf", &["a", "b", "c", "d", "e", "f"]);
    check("a | b |& c; d", &["a", "| b", "| c", "d"]);
    check("(a && b) | c", &["a", "b", "| c"]);
    check("a | { b; c; }", &["a", "| b", "| c"]);
    check("case $x in a|b) c;; esac", &["case x? in a", "| b", "c", "esac"]);
}

#[test]
fn redirections_are_told_from_words() {
    check("sort <a >b 2>c 2>&1", &["- sort <a >b 2>c"]);
    check("a &>b; a >>b; a >|b; a >&b", &["- a >b", "- a >b", "- a >b", "- a >b"]);
    check("a 2>/dev/null | b 3>&-", &["a 2>/dev/null", "| b"]);
    check("{ a; b; } > c; d", &["- a", "- b", "- ", "d"]);
    check("(a; b | c) > d", &["- a", "- b", "| - c", "- "]);
    check("a | tee b", &["a", "| tee b"]);
}

#[test]
fn what_a_shell_computes_is_marked() {
    check("cat $A \"$B/c\" ${D}/e g", &["cat A? $B/c? /e? g"]);
    check("a $((1 + 2)) b", &["a ? b"]);
    check(
        "cat $(b c)/d `e f`g \"x $(h \"y\") z\"",
        &["- b c", "- e f", "- h y", "cat /d? g? x  z?"],
    );
    check("diff <(sort a) <(sort b) c", &["- sort a", "- sort b", "diff c"]);
    check("A=$(a) b", &["- a", "b"]);
    check("A=(x y) b", &["- x y", "b"]);
}

#[test]
fn ansi_quotes_are_read_with_their_escapes() {
    check(r"cat a/$'\x2eenv' $'.e\156v' b$'\u002e'c $'\xc3\xa4'", &["cat a/.env .env b.c ä"]);
    check(r"cat $'it\'s' $'a\tb' $'a\qb' $'.env\0x' $'a'; b", &["cat it's a\tb a\\qb .env a", "b"]);
    check(r"cat $'\x' $'\Uffffffff' $'\", &["cat \\x \u{fffd} "]);
    check(r#"cat "$'\x2e'""#, &[r"cat $'\x2e'?"]);
}

#[test]
fn here_documents_are_no_commands() {
    check("cat > a <<'EOF'\nb c\n  EOF\nEOF\ncat d", &["- cat >a", "cat d"]);
    check("cat <<-E <<F - a\nb\n\tE\nc\nF\ncat d", &["cat - a", "cat d"]);
    check("cat <<< 'a b' c", &["cat c"]);
    check(
        "git commit -m \"$(cat <<'E'\nrm -r (x\nE\n)\" && ls",
        &["- cat", "git commit -m ?", "ls"],
    );
    check("cat <<EOF\nb", &["cat"]);
}

#[test]
fn command_lines_within_are_read() {
    check("bash -lc 'cd a && cat b' | c", &["cd a", "cat b", "bash -lc cd a && cat b", "| c"]);
    check("a | sudo -u me sh -c 'b'", &["a", "| b", "| sh -c b"]);
    check("eval \"a b\"", &["a b", "eval a b"]);
    check("bash -s <<'E'\na | b\nE\nc", &["a", "| b", "bash -s", "c"]);
    check("docker exec x sh -c 'a'", &["a", "docker exec x sh -c a"]);
    assert!(commands("docker exec x sh -c 'a'").all(|command| command.is_elsewhere));
    assert!(!commands("docker build -f run.txt .").any(|command| command.is_elsewhere));
}

#[test]
fn what_stands_before_a_program_is_passed_over() {
    for (line, expected) in [
        ("A=x B=y make all", "make all"),
        ("sudo -u me -E cat a", "cat a"),
        ("env -i A=b cat a", "cat a"),
        ("timeout -k 5 60 cat a", "cat a"),
        ("time -p nice -n 5 nohup cat a", "cat a"),
        ("/usr/bin/env cat a", "cat a"),
        ("if ! cat a", "cat a"),
        ("stdbuf -oL cat a", "cat a"),
        (">x cat a", "cat a"),
        ("command -v cat", "command -v cat"),
        ("sudo", "sudo"),
    ] {
        let command = commands(line).next().unwrap();
        let words: Vec<&str> = command.from_program().iter().map(|word| &*word.text).collect();
        assert_eq!(words.join(" "), expected, "{line}");
    }
    assert_eq!(commands("/bin/cat a").next().unwrap().program(), "cat");
    let by_xargs = commands("a | xargs -n 1 grep b").nth(1).unwrap();
    assert!(by_xargs.program() == "grep" && by_xargs.is_given_arguments() && !by_xargs.is_filter);
}

#[test]
fn functions_name_no_command() {
    check("f() { a; }; b", &["a", "b"]);
}

#[test]
fn the_options_of_git_are_passed_over() {
    let command = commands("git -c a=b -C sub --no-pager mv -f x y").next().unwrap();
    let git = command.git().unwrap();
    assert_eq!(git.subcommand, "mv");
    assert!(git.has_option("-f") && git.arguments.len() == 3);
    assert!(commands("cat git").next().unwrap().git().is_none());
}

#[test]
fn enters_and_leaves_are_paired() {
    let depth = |line: &str| {
        script(line).iter().fold(0, |depth: i64, step| {
            let depth = match step {
                ShellStep::Enter => depth + 1,
                ShellStep::Leave => depth - 1,
                ShellStep::Run(_) => depth,
            };
            assert!(depth >= 0, "{line}");
            depth
        })
    };
    for line in ["(a", "a)", "$(a `b", "\"$(a", "`a $(b` c)", "{ (a; }", "bash -c '(a'"] {
        assert_eq!(depth(line), 0, "{line}");
    }
}

#[test]
fn a_hostile_line_takes_linear_time_and_no_stack() {
    for unit in [
        "(", "$(", "`", "'", "\"", "\"$(", "<<E\n", "<<E ", "cd a;", "bash -c ", "{ ", "$((", "${",
        "a>", "|", "é", "x=(", "a=b ", "sudo ", "xargs ", "eval ", "(>x ", "timeout ",
    ] {
        let line = unit.repeat((1 << 16) / unit.len());
        let time = spent_on(|| drop(script(&line)));
        assert!(time.as_secs() < 5, "{unit:?} took {time:?}");
    }
}
