//! For tests: outputs of test runs in the style of several runners. How they are made tells which
//! lines report a failure and which a pass.

/// What a line of an output is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// A test that failed.
    Failure,
    /// A test that passed.
    Pass,
    /// Anything else.
    Plain,
}

/// A test and, if it failed, the lines of its message.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) failed: Option<Vec<String>>,
}

/// An output, line by line.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) lines: Vec<(About, String)>,
}

impl Output {
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn plain(&mut self, text: &str) {
        self.lines.extend(text.split('\n').map(|line| (About::Plain, line.to_owned())));
    }

    fn pass(&mut self, line: String) {
        self.lines.push((About::Pass, line));
    }

    fn fail(&mut self, text: &str) {
        let about = |line: &str| if line.is_empty() { About::Plain } else { About::Failure };
        self.lines.extend(text.split('\n').map(|line| (about(line), line.to_owned())));
    }

    /// The lines of a message, each after the prefix `before`.
    fn message(&mut self, before: &str, message: &[String]) {
        for line in message {
            self.fail(&format!("{before}{line}"));
        }
    }

    /// A line for each test: its verdict.
    fn verdicts(
        &mut self,
        tests: &[Test],
        passed: impl Fn(&str) -> String,
        failed: impl Fn(&str) -> String,
    ) {
        for Test { name, failed: message } in tests {
            match message {
                Some(_) => self.fail(&failed(name)),
                None => self.pass(passed(name)),
            }
        }
    }
}

/// A runner, by name.
pub(super) type Runner = (&'static str, fn(&[Test]) -> Output);

pub(super) const RUNNERS: [Runner; 18] = [
    ("cargo test", cargo),
    ("nextest", nextest),
    ("pytest -v", pytest),
    ("unittest", unittest),
    ("jest", jest),
    ("vitest", vitest),
    ("mocha", mocha),
    ("node --test", node),
    ("TAP", tap),
    ("go test", go),
    ("maven", maven),
    ("gradle", gradle),
    ("dotnet", dotnet),
    ("rspec", rspec),
    ("GoogleTest", google),
    ("a log with stack traces of Python", python),
    ("a log with stack traces of Java", java),
    ("a log with stack traces of Node", javascript),
];

fn failed(tests: &[Test]) -> impl Iterator<Item = (usize, &str, &[String])> {
    let failed = tests.iter().filter_map(|test| Some((&*test.name, test.failed.as_deref()?)));
    failed.zip(1..).map(|((name, message), number)| (number, name, message))
}

fn cargo(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.plain("    Finished `test` profile [unoptimized] target(s) in 0.08s");
    out.pass(format!("running {} tests", tests.len()));
    out.verdicts(
        tests,
        |name| format!("test {name} ... ok"),
        |name| format!("test {name} ... FAILED"),
    );
    out.plain("\nfailures:\n");
    for (_, name, message) in failed(tests) {
        out.fail(&format!(
            "---- {name} stdout ----\n\nthread '{name}' (812) panicked at src/a.rs:5:9:"
        ));
        out.message("", message);
        out.plain("");
    }
    out.plain("\nfailures:");
    for (_, name, _) in failed(tests) {
        out.fail(&format!("    {name}"));
    }
    out.fail("\ntest result: FAILED. 3 passed; 1 failed; 0 ignored");
    out.fail("\nerror: test failed, to rerun pass `--lib`");
    out
}

fn nextest(tests: &[Test]) -> Output {
    let mut out = Output::default();
    for Test { name, failed } in tests {
        match failed {
            None => out.pass(format!("        PASS [   0.005s] crate {name}")),
            Some(message) => {
                out.fail(&format!("        FAIL [   0.012s] crate {name}"));
                out.plain(&format!("\n--- STDERR:              crate {name} ---"));
                out.fail(&format!("thread '{name}' panicked at src/a.rs:5:9:"));
                out.message("", message);
                out.plain("");
            }
        }
    }
    out.fail("     Summary [   0.100s] 9 tests run: 8 passed, 1 failed, 0 skipped");
    out
}

fn pytest(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.plain("============================= test session starts ==============================\ncollected 9 items\n");
    let verdict =
        |name: &str, verdict: &str| format!("tests/test_a.py::test_{name} {verdict} [ 50%]");
    out.verdicts(tests, |name| verdict(name, "PASSED"), |name| verdict(name, "FAILED"));
    out.plain("\n=================================== FAILURES ===================================");
    for (_, name, message) in failed(tests) {
        out.fail(&format!("_____________________ test_{name} _____________________\n\n    def test_{name}():\n>       assert f() == 2"));
        out.message("E       ", message);
        out.fail("\ntests/test_a.py:5: AssertionError");
    }
    out.plain("=========================== short test summary info ============================");
    for (_, name, _) in failed(tests) {
        out.fail(&format!("FAILED tests/test_a.py::test_{name} - assert 1 == 2"));
    }
    out.fail("========================= 1 failed, 8 passed in 0.12s ==========================");
    out
}

fn unittest(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.verdicts(
        tests,
        |name| format!("test_{name} (tests.A.test_{name}) ... ok"),
        |name| format!("test_{name} (tests.A.test_{name}) ... FAIL"),
    );
    for (_, name, message) in failed(tests) {
        out.plain("\n======================================================================");
        out.fail(&format!("FAIL: test_{name} (tests.A.test_{name})"));
        out.plain("----------------------------------------------------------------------");
        out.fail("Traceback (most recent call last):\n  File \"/p/tests.py\", line 5, in test\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2");
        out.message("  ", message);
    }
    out.plain("\n----------------------------------------------------------------------\nRan 9 tests in 0.001s\n");
    out.fail("FAILED (failures=1)");
    out
}

fn jest(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.fail("FAIL src/a.test.js");
    out.plain("  suite");
    out.verdicts(
        tests,
        |name| format!("    ✓ {name} (2 ms)"),
        |name| format!("    ✕ {name} (5 ms)"),
    );
    for (_, name, message) in failed(tests) {
        out.fail(&format!(
            "\n  ● suite › {name}\n\n    expect(received).toBe(expected) // Object.is equality\n"
        ));
        out.message("    ", message);
        out.fail("\n      at Object.toBe (src/a.test.js:5:13)");
    }
    out.fail("\nTests:       1 failed, 8 passed, 9 total");
    out.plain("Snapshots:   0 total\nTime:        0.5 s");
    out
}

fn vitest(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.plain(" RUN  v3.0.0 /p\n");
    out.fail(" ❯ test/a.test.ts (9 tests | 1 failed) 12ms");
    out.verdicts(tests, |name| format!("   ✓ {name} 1ms"), |name| format!("   × {name} 5ms"));
    out.fail("\n⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n");
    for (_, name, message) in failed(tests) {
        out.fail(&format!(" FAIL  test/a.test.ts > {name}\nAssertionError: expected 1 to be 2 // Object.is equality\n"));
        out.message("", message);
        out.fail("\n ❯ test/a.test.ts:5:13");
        out.plain("\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯\n");
    }
    out.fail(" Test Files  1 failed (1)\n      Tests  1 failed | 8 passed (9)");
    out
}

fn mocha(tests: &[Test]) -> Output {
    let mut out = Output::default();
    let mut number = 0;
    out.plain("\n  suite");
    for Test { name, failed } in tests {
        if failed.is_some() {
            number += 1;
            out.plain(&format!("    {number}) {name}"));
        } else {
            out.pass(format!("    ✓ {name}"));
        }
    }
    out.plain("\n  8 passing (10ms)");
    out.fail("  1 failing\n");
    for (number, name, message) in failed(tests) {
        out.fail(&format!(
            "  {number}) suite\n       {name}:\n\n      AssertionError [ERR_ASSERTION]: 1 == 2"
        ));
        out.message("      ", message);
        out.fail("      at Context.<anonymous> (test/a.js:5:14)\n");
    }
    out
}

fn node(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.verdicts(tests, |name| format!("✔ {name} (1.2ms)"), |name| format!("✖ {name} (1.2ms)"));
    out.plain("ℹ tests 9\nℹ pass 8");
    out.fail("ℹ fail 1\n\n✖ failing tests:\n");
    for (_, name, message) in failed(tests) {
        out.fail(&format!(
            "test at test/a.js:3:1\n✖ {name} (1.2ms)\n  AssertionError [ERR_ASSERTION]: 1 == 2"
        ));
        out.message("  ", message);
        out.fail("      at TestContext.<anonymous> (file:///p/test/a.js:5:10)\n");
    }
    out
}

fn tap(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.plain("TAP version 13");
    for (Test { name, failed }, number) in tests.iter().zip(1..) {
        match failed {
            None => out.pass(format!("ok {number} - {name}")),
            Some(message) => {
                out.fail(&format!("not ok {number} - {name}\n  ---\n  message: 'no'"));
                out.message("  ", message);
                out.fail("  ...");
            }
        }
    }
    out.fail("1..9\n# pass 8\n# fail 1");
    let ends = out.lines.len() - 3;
    out.lines[ends..ends + 2].iter_mut().for_each(|line| line.0 = About::Plain);
    out
}

fn go(tests: &[Test]) -> Output {
    let mut out = Output::default();
    for Test { name, failed } in tests {
        out.plain(&format!("=== RUN   Test{name}"));
        match failed {
            None => out.pass(format!("--- PASS: Test{name} (0.00s)")),
            Some(message) => {
                out.message("    a_test.go:10: ", message);
                out.fail(&format!("--- FAIL: Test{name} (0.00s)"));
            }
        }
    }
    out.fail("FAIL\nFAIL\texample.com/a\t0.003s\nFAIL");
    out
}

fn maven(tests: &[Test]) -> Output {
    let mut out = Output::default();
    for Test { name, failed } in tests {
        out.plain(&format!("[INFO] Running com.x.{name}Test"));
        match failed {
            None => out.pass(format!("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in com.x.{name}Test")),
            Some(message) => {
                out.fail(&format!("[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0 <<< FAILURE! -- in com.x.{name}Test\n[ERROR] com.x.{name}Test.works -- Time elapsed: 0.01 s <<< FAILURE!\njava.lang.AssertionError: expected:<1> but was:<2>"));
                out.message("\tat com.x.", message);
                out.plain("");
            }
        }
    }
    out.fail("[ERROR] Failures: ");
    for (_, name, _) in failed(tests) {
        out.fail(&format!("[ERROR]   {name}Test.works:12 expected:<1> but was:<2>"));
    }
    out.fail("[ERROR] Tests run: 27, Failures: 1, Errors: 0, Skipped: 0");
    out.plain("[INFO]");
    out.fail("[INFO] BUILD FAILURE");
    out
}

fn gradle(tests: &[Test]) -> Output {
    let mut out = Output::default();
    for Test { name, failed } in tests {
        match failed {
            None => out.pass(format!("ATest > {name}() PASSED")),
            Some(message) => {
                out.fail(&format!(
                    "ATest > {name}() FAILED\n    java.lang.AssertionError at ATest.java:12"
                ));
                out.message("        at com.x.", message);
                out.plain("");
            }
        }
    }
    out.fail("9 tests completed, 1 failed\n> Task :test FAILED\n\nFAILURE: Build failed with an exception.");
    out
}

fn dotnet(tests: &[Test]) -> Output {
    let mut out = Output::default();
    for Test { name, failed } in tests {
        match failed {
            None => out.pass(format!("  Passed Ns.Tests.{name} [1 ms]")),
            Some(message) => {
                out.fail(&format!(
                    "  Failed Ns.Tests.{name} [2 ms]\n  Error Message:\n   Assert.Equal() Failure"
                ));
                out.message("   ", message);
                out.fail("  Stack Trace:\n     at Ns.Tests.A() in /p/A.cs:line 5");
            }
        }
    }
    out.fail("Failed!  - Failed:     1, Passed:     8, Skipped:     0, Total:     9");
    out
}

fn rspec(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.plain("Calc");
    out.fail("Failures:\n");
    for (number, name, message) in failed(tests) {
        out.fail(&format!("  {number}) Calc {name}\n     Failure/Error: expect(1).to eq(2)\n"));
        out.message("       ", message);
        out.fail("     # ./spec/a_spec.rb:5:in `block (2 levels) in <top (required)>'\n");
    }
    out.plain("Finished in 0.01 seconds");
    out.fail("9 examples, 1 failure\n\nFailed examples:\n");
    for (_, name, _) in failed(tests) {
        out.fail(&format!("rspec ./spec/a_spec.rb:4 # Calc {name}"));
    }
    out
}

fn google(tests: &[Test]) -> Output {
    let mut out = Output::default();
    out.plain("[==========] Running 9 tests from 1 test suite.");
    for Test { name, failed } in tests {
        out.plain(&format!("[ RUN      ] A.{name}"));
        match failed {
            None => out.pass(format!("[       OK ] A.{name} (0 ms)")),
            Some(message) => {
                out.fail("a_test.cc:5: Failure\nExpected equality of these values:\n  1");
                out.message("  ", message);
                out.fail(&format!("[  FAILED  ] A.{name} (0 ms)"));
            }
        }
    }
    out.plain("[  PASSED  ] 8 tests.");
    out.fail("[  FAILED  ] 1 test, listed below:\n 1 FAILED TEST");
    out
}

/// A log with a stack trace for each failure and a single line for everything else.
fn log(tests: &[Test], mut failed: impl FnMut(&mut Output, &str, &[String])) -> Output {
    let mut out = Output::default();
    for (Test { name, failed: message }, number) in tests.iter().zip(1..) {
        match message {
            None => out.plain(&format!("{number} handled {name} in 3 ms")),
            Some(message) => failed(&mut out, name, message),
        }
    }
    out
}

fn python(tests: &[Test]) -> Output {
    log(tests, |out, name, message| {
        out.fail("Traceback (most recent call last):\n  File \"/p/a.py\", line 5, in handle");
        out.message("    ", message);
        out.fail(&format!("requests.exceptions.ConnectionError: {name}"));
    })
}

fn java(tests: &[Test]) -> Output {
    log(tests, |out, name, message| {
        out.fail(&format!("Exception in thread \"main\" java.lang.IllegalStateException: {name}"));
        out.message("\tat com.x.", message);
        out.fail("Caused by: java.io.IOException: closed\n\t... 12 more");
    })
}

fn javascript(tests: &[Test]) -> Output {
    log(tests, |out, name, message| {
        out.fail(&format!("/p/a.js:5\n    throw new Error('{name}')\n    ^\n\nError: {name}"));
        out.message("    at ", message);
    })
}
