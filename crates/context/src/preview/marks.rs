//! The marks by which lines of test runs, builds and stack traces are recognised. One table for all
//! runners; each line is judged alone.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// A test or a step passed, or was left out.
const PASSED: &[&str] = &[
    // libtest, unittest, deno, elixir: the verdict ends the line.
    r"\.\.\. *(ok|passed|ignored|skipped|SKIP|bench|expected failure)(?-u:\b)",
    r"^\S+ \.{2,} ?(ok|skipped)(?-u:\b)",
    // Jest, Vitest, Mocha, node, TAP, Go, nextest, bun, GoogleTest: the verdict begins it.
    r"^\s*(✓|✔|√|✅|☑|○|↓|PASS|SKIP|Passed|Skipped|\(pass\)|\(skip\)|\(todo\))(\s|$)",
    r"^\s*ok( [0-9]+|\s+\S+\s+(\(cached\)|[0-9.]+s))(\s|$)",
    r"^\s*--- (PASS|SKIP|BENCH):",
    r"^=== (RUN|PAUSE|CONT|NAME)\s",
    r"^\?\s+\S+\s+\[no test files\]",
    r"^\[(       OK|  PASSED|  SKIPPED| RUN     |-{10}|={10})[ \]]",
    // Pytest, by test and by file.
    r"::\S.* (PASSED|SKIPPED|XFAIL|XPASS)( +\[ *[0-9]+%\])?$",
    r"^\[gw[0-9]+\] \[ *[0-9]+%\] (PASSED|SKIPPED|XFAIL|XPASS) ",
    r"^(\S+\.py )?[.sxX]+( +\[ *[0-9]+%\])?$",
    // Gradle, JUnit, Maven, XCTest, CTest.
    r"^\S.* > .* (PASSED|SKIPPED|STARTED)$",
    r"^> Task \S+( UP-TO-DATE| NO-SOURCE| FROM-CACHE| SKIPPED)?$",
    r"[├└│╷─].* (✔|\[OK\]|\[S\])",
    r"^\[INFO\] (Running |Download|Tests run: [0-9]+, Failures: 0, Errors: 0)",
    r"^Tests run: [0-9]+, Failures: 0, Errors: 0",
    r"^Test (Case|Suite) .* (started|passed)(?-u:\b)",
    r"^\s*[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed(?-u:\b)",
    r"^\s*Start +[0-9]+: ",
    r"^\s*● (Console|Validation Warning|Deprecation Warning)",
];

/// Something began. In a log that was passed on, a failure may begin so, too.
const BEGUN: &[&str] = &[
    r"^\s*(SLOW|LEAK|RUNS|START|SETUP)(\s|$)",
    r"^\s*(Compiling|Checking|Downloading|Downloaded|Fresh|Building|Running|Doc-tests|Updating|Installing|Locking) \S",
    r"^running [0-9]+ tests?$",
    r"^\[ *[0-9]+(%|/[0-9]+)\] (Building|Linking|Generating|Built|Compiling)(?-u:\b)",
];

/// Something failed.
const FAILURE: &[&str] = &[
    // The verdict on a test.
    r"\.\.\. *(FAILED|FAIL|ERROR|failed|timeout)(?-u:\b)",
    r"^\s*(FAIL|FAILED|ERROR|ERRORS|FAILURES?|TIMEOUT|ABORT|SIGABRT|SIGSEGV|XPASS\(strict\))([\s:!(\[]|$)",
    r"^\s*TRY [0-9]+ (FAIL|ABORT|SIG|TIMEOUT|TMT)",
    r"^\s*(✕|✗|✖|✘|×|❌|⨯|\(fail\))(\s|$)",
    r"^\s*❯ .*[1-9][0-9]* failed",
    r"^\s*● \S",
    r"^\s*not ok(?-u:\b)",
    r"^\s*--- FAIL:",
    r"^\s*(---- .+ ----|_{3,} .+ _{3,})$",
    r"::\S.* (FAILED|ERROR)( +\[ *[0-9]+%\])?$",
    r"^\[gw[0-9]+\] \[ *[0-9]+%\] (FAILED|ERROR) ",
    r"^\S+\.py [.sxX]*[FE][.sxXFE]*( +\[ *[0-9]+%\])?$",
    r"^[.sxX]*[FE][.sxXFE]* +\[ *[0-9]+%\]$",
    r"^[sS*]*\.[.sS*]*[FE][.sSFE*]*$|^[FE]+\.[.sSFE*]*$",
    r"^\S.* > .* FAILED$",
    r"[├└│╷─].* (✘|\[X\])",
    r"\(FAILED - [0-9]+\)$",
    r"^\s+Failed \S.*\[[0-9<]",
    r"^\[ +FAILED +\]|: Failure$",
    r"\*\*\*(Failed|Exception|Timeout|Not Run)",
    r"^Test (Case|Suite) .* failed(?-u:\b)",
    r"<<< (FAILURE|ERROR)!",
    r"^\s*Failure/Error:|^# +Failed test|^rspec \S+:[0-9]+",
    // Dart, ExUnit, hspec, minitest, Playwright without Unicode, ScalaTest, behave.
    r"^[0-9:]+ \+[0-9]+( ~[0-9]+)? -[0-9]+: .*\[E\]$",
    r"^(  [0-9]| [0-9]{2}|[0-9]{3,})\) (test|doctest|property) \S.*\([A-Z][A-Za-z0-9_.]*\)$",
    r"^\s+\S.* \[✘\]$",
    r"#test_.* = [0-9.]+ s = [FE]$",
    r"^ +x +[0-9]+ .* › ",
    r" \*\*\* (FAILED|ABORTED) \*\*\*",
    r"^\s+(Assertion Failed|ASSERT FAILED): ",
    // What failed, and how.
    r"(?-u:\b)panicked at(?-u:\b)|^thread '.* has overflowed its stack|^panic: |^fatal error: ",
    r"^E( {2,}|\t)\S",
    r"^Traceback \(most recent call last\)|^Stack trace:$",
    r"^\s*(Caused by: *|\[cause\]: *|Uncaught *|Unhandled \w+ *)?([A-Za-z_$][A-Za-z0-9_$]*[.:]+)*[A-Za-z_]*(Error|Exception|Failure|Interrupt|Panic)( \[[A-Z_0-9]+\])?(: |:?$)",
    r"^\s*Caused by:|^Exception in thread |(?-u:\b)Un(caught|handled)(?-u:\b)",
    r"^(file://)?(/|[A-Za-z]:\\)\S+:[0-9]+$",
    r"(^|[^-A-Za-z0-9_/.])(?i:error)( [A-Z]{1,6}[0-9]{2,6})?(\[[A-Za-z0-9_:/-]+\])?: ",
    r"^\s+[0-9]+:[0-9]+\s+error\s",
    r"^\S+\.go:[0-9]+:[0-9]+: \S|^\S+:[0-9]+:[0-9]+: ([A-Z]{1,4}[0-9]{2,4}|[EF]:) ",
    r"(?i)^\s*\[?(error|fatal|critical|severe)\]?([:!]|\s*\|)|^\[(ERROR|FATAL)\]",
    r"(?i)(?-u:\b)fatal( [a-z]+)?: ",
    r"(?-u:\b)Assertion.* failed|(?-u:\b)assertion `",
    r"^(g?make(\[[0-9]+\])?: )?\*\*\* |^ninja: build stopped|^collect2: |^(/\S+/)?ld: |undefined reference to",
    r"^(npm|lerna) (ERR!|error )|^\s*ERR_PNPM_[A-Z_]+\s|^ELIFECYCLE(?-u:\b)|^Bail out!",
    // Lerna puts the package before each line.
    r"^@?[a-z0-9][\w./-]*: (FAIL|FAILED|ERROR|✕|✗|✖|✘|×|not ok|--- FAIL:|npm (ERR!|error))(\s|$)",
    r"Segmentation fault|core dumped|Bus error|stack overflow|out of memory|^==[0-9]+==ERROR|runtime error: ",
    r"command not found|No such file or directory|Permission denied|unresolved import",
    r"^\S+\.rb:[0-9]+:in .*\([A-Z]\w*\)$",
    // Of git, package managers, clusters, servers, Valgrind, and what logs call an error.
    r"^ ! \[(remote )?rejected\]|^[0-9a-f]{7,64} is the first bad commit$|(?-u:\b)systemd\[[0-9]+\]: .*Failed (to start|with result) ",
    r"^CONFLICT \(|^Automatic merge failed|^\s*(both (modified|added|deleted)|(added|deleted) by (us|them)): ",
    r"^(UU|AA|DD|AU|UA|DU|UD) \S|^E: \S|^e: (file:|/)|^! [A-Z]|^l\.[0-9]+ |^-- [A-Z][A-Z ]+ -{3,} \S+\.elm$",
    r"^//\S+ .*(FAILED|TIMEOUT|NO STATUS)(?-u:\b)",
    r"(?-u:\b)(CrashLoopBackOff|ImagePullBackOff|ErrImagePull|CreateContainer\w*Error)(?-u:\b)|(?-u:\b)OOMKilled(\s|$)",
    r"^==[0-9]+== (Invalid |Mismatched |Conditional jump |Use of uninit|Syscall param |Process terminating |.* definitely lost in )",
    r"^[EF][0-9]{4} [0-9]{2}:[0-9]{2}:|^< HTTP/[0-9.]+ [45][0-9]{2}(?-u:\b)",
    r"^[EF], \[[0-9]{4}-|^(fail|crit): \S+\[[0-9]+\]$|(^|\s)##\[error\]|^[0-9]{2}-[0-9]{2} [0-9:.]{12} +[0-9]+ +[0-9]+ [EF] ",
    // Of shells, of what they call, and of compilers in other languages.
    r"^\S*sh: ([0-9]+|line [0-9]+): \S+: not found$|^(Killed|Aborted|Illegal instruction)$|: line [0-9]+: +[0-9]+ (Killed|Aborted|Illegal instruction)(?-u:\b)",
    r"(^|\s)(exit status|exited with( code| status)?|with exit code) [1-9][0-9]{0,2}\.?$|^terminate called after |^rake aborted!$|^Failed to compile",
    r"^Error (response )?from (daemon|server)|^An error occurred \(\w+\) when calling |^curl: \([0-9]+\) |^ssh: (connect|Could not) |^wget: \S|^jq: (error|parse) |^Unable to connect to the server",
    r"^\S+:[0-9]+(:[0-9]+)?: (schwerwiegender )?(Fehler|erreur( fatale)?|errore|erro|ошибка|エラー|错误|錯誤): |No space left on device|hunks? FAILED",
    // Of a log: where it comes from, when, who says it, and the level.
    r"^(\S+ +\| |\[\S+/\S+\] )?[\[(]?(([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ]|[A-Z][a-z]{2} [ 0-9][0-9] )[0-9]{2}:[0-9]{2}|[0-9]{2}:[0-9]{2}:[0-9]{2})[0-9:.,+TZ\s\[\]-]{0,36}(\[(main|[^\]\s]*[0-9][^\]\s]*)\] +|- [A-Z]?[a-z_]\S* - |\S+ \S+\[[0-9]+\]: |\| +|: ?|[a-z]+\.)?(\[?(ERROR|FATAL|SEVERE|CRITICAL|PANIC)([^\w=-]|$)|(ERR|FTL)\] |\[(error|crit|alert|emerg|fatal)\] )",
    r#"^\{.*"(?i:level|severity|levelname)": ?("(?i:error|fatal|critical|panic)"|[56]0,"time":)|(^|\s)level=(error|fatal|panic)(\s|$)"#,
    r#"^\{.*"Action":"(build-)?fail""#,
    // How the run failed.
    r"^test result: FAILED|^BUILD FAIL|BUILD FAILURE|^FAILURE: |Build FAILED|^Result: FAIL",
    r"^> Task .* FAILED$|^\* What went wrong:",
];

/// A count of failures: no details follow.
const COUNTS: &[&str] = &[
    r"(?-u:\b)[1-9][0-9,]* (tests? |examples? |suites? |specs? |subtests? )?(failed|failing|failures?|errors?|errored|broken|timed out)([^\w:=]|:( *[^ 0-9]|$)|$)",
    r"(?i)(?-u:\b)(failures?|errors?|failed|fail)[:=] *[1-9][0-9]*(?-u:\b)",
    r"(?i)(^|[^0-9 ]) *(?-u:\b)(failures?|errors?|failed|fail) +[1-9][0-9]*(?-u:\b)",
];

/// How a run ended.
const SUMMARY: &[&str] = &[
    r"^test result:|^=+ .*[0-9]+ (passed|failed|skipped|deselected|warnings?|errors?)(?-u:\b).* =+$",
    r"(?i)^\s*(tests|test suites|test files|snapshots|suites|specs|time|duration|total)(:| {2,}| +[0-9])",
    r"^Ran [0-9]+|^OK(?-u:\b)|^Finished in|^\s*Finished |^Done in|^\s*Summary(?-u:\b)|^Total",
    r"^[0-9,]+ (tests?|runs?|examples?|specs|assertions|passing|pending|passed)(?-u:\b)",
    r"^\s*[0-9,]+ (passing|pending|passed|skipped|warnings?)(?-u:\b)",
    r"^(# |ℹ )(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [0-9]",
    r"^Passed!|BUILD SUCCESS|^Build succeeded|^Result: |^All tests|^[0-9.]+\.\.[0-9]+$",
    r"(?i)^warning: .*generated [0-9]+ warning|^found [0-9]+|^[0-9]+ problems?",
    r"^Tests run: |^\[INFO\] Tests run: |^\[(WARNING|ERROR)\] Tests run: ",
];

/// From here on the output reports only failures.
const BEGINS_SECTION: &[&str] = &[
    r"^failures:$",
    r"^=+ (FAILURES|ERRORS|short test summary info) =+$",
    r"^\s*(Failures|Failed examples|Failed tests|Failing tests|Summary of all failing tests|failing tests|✖ failing tests):?$",
    r"^The following tests FAILED:$|^Failed Tests?:$",
    r"^\s*[0-9]+ failing$",
    r"^⎯+ *(Failed (Tests|Suites)|Unhandled (Errors?|Rejections?)|Errors) *[0-9]* *⎯+",
    r"^There (was|were) [0-9]+ (failure|error)s?:$",
    r"^\[ERROR\] (Failures|Errors|Failed tests): *$",
];

/// Ends such a section.
const ENDS_SECTION: &[&str] = &[
    r"^test result:|^Ran [0-9]+ |^Finished in |^running [0-9]+ tests?$",
    r"^=+ [^=]+ =+$",
    r"^\s*(Tests|Test Suites|Test Files|Snapshots)(:| {2,}| +[0-9])",
    r"^[0-9,]+ (tests?|runs?|examples?|specs)(?-u:\b)",
    r"^\[(INFO|ERROR)\] *$|^\[(INFO|ERROR|WARNING)\] Tests run:|^Errors while running CTest",
];

/// In such a section, a line that names a failure: by number, or alone and indented.
const NAMES_FAILURE: &[&str] =
    &[r"^\s*[0-9]+\) \S", r"^ {4}[A-Za-z_][A-Za-z0-9_:<>.]*$", r"^\s+[0-9]+ - \S.*\("];

/// The message of a failure follows, up to a blank line.
const ANNOUNCES: &[&str] = &[
    r"(?-u:\b)panicked at .*:$|^panic: |^---- .+ ----$|: Failure$|Failure/Error:|^\s*Error Message:$",
    r"^\s*(AssertionError|AssertionFailedError|ComparisonFailure)(?-u:\b)|^ FAIL  ",
];

/// A stack frame.
const FRAMES: &[&str] =
    &[r#"^\s*(at \S|[0-9]+: +\S|File "|from \S+:[0-9])"#, r"^\s*\S+\(\S+:[0-9]+\)$"];

/// A line inside a stack, a code excerpt or a diff.
const INSIDE: &[&str] = &[
    r"^(\||=|-->|at |from |note: |help: |left: |right: |goroutine [0-9]|During handling|The above exception|---|\.\.\. )",
    r"^[0-9]+ *\||^#[0-9]+ |^\[[0-9]+\] ",
    r"^[-+] ?\S|^> |^\^|^~",
    r"(?i)^(expected|actual|received|got|message|details?|diff|stdout|stderr)(:| to | but |$)",
];

/// What programs that pass on a log put before each line: the container (Docker Compose), the pod
/// (kubectl), step and seconds of a build (Docker), package and task (Turborepo), job and step
/// (GitHub), the time.
static PASSED_ON: LazyLock<Regex> = LazyLock::new(|| {
    let time = r"\u{feff}?\[?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z\]?( [0-9]{2}[OE]\+?)?( |$)";
    let begins = r"(?-u:[\w.-])+[-_][0-9]+ +\|( |$)|\[pod/\S+\]( |$)|#[0-9]+ [0-9]+\.[0-9]+( |$)|@?[a-z0-9][\w./-]*:[a-z][\w.:-]*:( |$)";
    Regex::new(&format!("^({begins}|([^\t]+\t[^\t]+\t)?{time}){{1,2}}")).expect("a tested constant")
});

/// What a line is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A test or a step passed, or was left out.
    Passed,
    /// Something began.
    Begun,
    /// Something failed.
    Failure,
    /// How a run ended.
    Summary,
    /// From here on only failures are reported.
    BeginsSection,
    /// Such a section ends.
    EndsSection,
    /// It names a failure in such a section.
    NamesFailure,
    /// The message of a failure follows, up to a blank line.
    Announces,
    /// It counts failures.
    CountsFailures,
    /// It is a stack frame.
    Frame,
    /// It continues what was said before.
    Inside,
}

/// The marks of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks([bool; 11]);

impl Marks {
    pub(super) fn has(self, mark: Mark) -> bool {
        self.0[mark as usize]
    }

    /// Whether nothing failed: something passed or began.
    pub(super) fn is_routine(self) -> bool {
        self.has(Mark::Passed) || self.has(Mark::Begun)
    }
}

static ALL: LazyLock<[RegexSet; 11]> = LazyLock::new(|| PATTERNS.map(set));

/// Most lines have no mark: one search tells.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| set(&PATTERNS.concat()));

/// The patterns of each mark, in the order of [`Mark`].
const PATTERNS: [&[&str]; 11] = [
    PASSED,
    BEGUN,
    FAILURE,
    SUMMARY,
    BEGINS_SECTION,
    ENDS_SECTION,
    NAMES_FAILURE,
    ANNOUNCES,
    COUNTS,
    FRAMES,
    INSIDE,
];

fn set(patterns: &[&str]) -> RegexSet {
    RegexSet::new(patterns).expect("constants that a test compiles")
}

/// A line, which has no escapes and no trailing white space, without what a log that passed it on put
/// before it, and its marks.
pub(super) fn read(line: &str) -> (&str, Marks) {
    let Some(before) = PASSED_ON.find(line) else { return (line, of_whole(line)) };
    let passed = &line[before.end()..];
    let (mut marks, whole) = (of_whole(passed), of_whole(line));
    // An entry's level is known by the time before it.
    marks.0[Mark::Failure as usize] |= whole.has(Mark::Failure);
    marks.0[Mark::Begun as usize] &= !whole.has(Mark::Failure) || whole.is_routine();
    (passed, marks)
}

fn of_whole(line: &str) -> Marks {
    if line.is_empty() || !ANY.is_match(line) {
        return Marks::default();
    }
    Marks(ALL.each_ref().map(|set| set.is_match(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Marks {
        read(line).1
    }

    #[test]
    fn a_passing_test_is_none_that_failed_whatever_its_name() {
        for line in [
            "test error::a_panic_is_reported ... ok",
            "test src/lib.rs - fails (line 5) ... ignored",
            "  ✓ throws Error: no such file (2 ms)",
            "✔ rejects with TypeError: x (1.2ms)",
            "ok 12 - fails with error: 5 failed",
            "PASS src/error.test.ts",
            "--- PASS: TestError (0.00s)",
            "ok  \texample.com/failures\t0.012s",
            "tests/test_error.py::test_fails[1 failed] PASSED [ 10%]",
            "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0 - in com.ErrorTest",
            "ErrorTest > failsWithError() PASSED",
            "        PASS [   0.005s] palimpsest error::fails",
            "  Passed Errors.Test.Throws [3 ms]",
            "[       OK ] Error.Fails (0 ms)",
            "   Compiling thiserror v2.0.1",
            "test_error (tests.Errors.test_error) ... ok",
        ] {
            assert!(of(line).is_routine(), "{line}");
        }
    }

    #[test]
    fn a_failure_is_known_by_its_line_alone() {
        for line in [
            "test a::b ... FAILED",
            "thread 'a::b' panicked at src/lib.rs:5:9:",
            "error[E0308]: mismatched types",
            "src/a.ts(5,3): error TS2322: Type 'x'",
            "src/a.ts:5:3 - error TS2322: Type 'x'",
            "a.c:5:3: error: expected ';'",
            "./a.go:5:2: undefined: x",
            "FAILED tests/test_a.py::test_x - assert 1 == 2",
            "tests/test_a.py::test_x FAILED [ 50%]",
            "tests/test_a.py ..F. [ 50%]",
            "E       assert 1 == 2",
            "___________ test_x ____________",
            "ValueError: bad",
            "requests.exceptions.ConnectionError: no",
            "java.lang.IllegalStateException: no",
            "Caused by: java.io.IOException",
            " FAIL  test/b.test.ts > name",
            "  ● suite › name",
            "   ✕ name (5 ms)",
            "✖ name (1ms)",
            "not ok 2 - name",
            "--- FAIL: TestB (0.00s)",
            "FAIL\tpkg\t0.003s",
            "[ERROR] com.x.ATest.testB  Time elapsed: 0.01 s  <<< FAILURE!",
            "ATest > testB() FAILED",
            "  Failed Ns.Test [2 ms]",
            "Failed!  - Failed:     1, Passed:     2, Skipped: 0",
            "[  FAILED  ] A.B (0 ms)",
            "2/3 Test #2: b ......***Failed  0.01 sec",
            "rspec ./spec/a_spec.rb:4 # Calc adds",
            "3 examples, 1 failure",
            "FAILED (failures=1)",
            "Found 3 errors:",
            "ended with 2 errors: one is fatal",
            "  2 failing",
            "# fail 3",
            "make: *** [all] Error 1",
            "npm ERR! code 1",
            "lerna ERR! npm run test exited 1 in 'web'",
            "web: npm ERR! code 1",
            "@acme/web-ui: FAIL src/a.test.ts",
            "web:build: ERROR in ./src/a.ts",
            "bash: line 1: foo: command not found",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored",
            "panic: runtime error: index out of range",
            "  5:3  error  x is unused  no-unused-vars",
            "00:02 +701 -1: test/math_test.dart: subtracts [E]",
            "01:02 +70 ~3 -12: subtracts [E]",
            "  1) test subtracts (MathTest)",
            " 12) doctest App.Math.sub/2 (3) (App.MathTest)",
            "  subtracts [✘]",
            "MathTest#test_subtracts = 0.01 s = F",
            "Math::when small#test_0001_it subtracts = 0.01 s = E",
            "  x  701 [chromium] › a.spec.ts:9:1 › subtracts (1.2s)",
            "[info] - should subtract *** ABORTED ***",
            "[info] - should subtract *** FAILED *** (3 milliseconds)",
            "      Assertion Failed: 1 != 2",
            " ERR_PNPM_NO_MATCHING_VERSION  No matching version found for a@9",
            "\u{2009}ERR_PNPM_OUTDATED_LOCKFILE\u{2009} Cannot install",
            "thread 'main' (1234) has overflowed its stack",
            "fatal runtime error: stack overflow, aborting",
            "CONFLICT (content): Merge conflict in src/a.ts",
            " ! [rejected]        main -> main (fetch first)",
            " ! [remote rejected] main -> main (pre-receive hook declined)",
            "3f1c0a9 is the first bad commit",
            "Jan 05 12:07:31 host systemd[1]: Failed to start nginx.service - A server.",
            "Jan 05 12:07:31 host systemd[1]: nginx.service: Failed with result 'exit-code'.",
            "/usr/bin/ld: main.o: in function `main':",
            "app/a.rb:7:3: E: Lint/Syntax: unexpected token kEND",
            "l.5 \\usepackage",
            "2026-01-05T12:07:32Z PANIC main: lost the database",
            "Automatic merge failed; fix conflicts and then commit the result.",
            "\tboth modified:   src/a.ts",
            "UU src/a.ts",
            "E: Unable to locate package libfoo-dev",
            "e: file:///x/src/Main.kt:12:5 Unresolved reference: foo",
            "! Undefined control sequence.",
            "-- NAMING ERROR -------------- src/Main.elm",
            "//a/c:t                        TIMEOUT in 60.2s",
            "prod  web-7d9f  0/1  CrashLoopBackOff  22  12d",
            "==12== Invalid read of size 4",
            "E0101 12:00:00.1234       1 reflector.go:138] watch lost its lease",
            "< HTTP/2 503",
            "2024-01-01 12:00:05,123 ERROR [main] com.x.App - lost the database",
            "[2024-01-01T12:00:05Z FATAL app] lost the database",
            r#"{"level":50,"time":1700000000,"msg":"lost the database"}"#,
            r#"{"ts":1,"severity":"ERROR","message":"lost the database"}"#,
            r#"time="2024-01-01T12:00:05Z" level=error msg="lost the database""#,
            r#"{"Action":"fail","Package":"p","Test":"TestSub"}"#,
        ] {
            let marks = of(line);
            let fails = marks.has(Mark::Failure) || marks.has(Mark::CountsFailures);
            assert!(fails && !marks.is_routine(), "{line}");
        }
    }

    #[test]
    fn what_shells_clients_and_compilers_say_of_failures_is_known() {
        for line in [
            "sh: 1: foo: not found",
            "/bin/sh: line 1: foo: not found",
            "./ci.sh: line 3: 12345 Killed                  ./build",
            "Killed",
            "exit status 2",
            "app exited with code 137",
            "terminate called after throwing an instance of 'std::out_of_range'",
            "rake aborted!",
            "Failed to compile.",
            "Error response from daemon: pull access denied for x",
            "Error from server (NotFound): pods \"x\" not found",
            "An error occurred (AccessDenied) when calling the GetObject operation: no",
            "curl: (7) Failed to connect to localhost port 80",
            "ssh: connect to host x port 22: Connection refused",
            "Unable to connect to the server: dial tcp",
            "main.c:5:3: Fehler: »x« nicht deklariert",
            "main.c:9:3: erreur: « y » non déclaré",
            "main.c:9:3: ошибка: x",
            "main.c:9:3: エラー: x",
            "1 out of 2 hunks FAILED -- saving rejects to file a.rej",
        ] {
            assert!(of(line).has(Mark::Failure) && !of(line).is_routine(), "{line}");
        }
    }

    #[test]
    fn counts_of_none_and_plain_words_are_no_failure() {
        for line in [
            "test result: ok. 96 passed; 0 failed; 0 ignored",
            "Found 0 errors. Watching for file changes.",
            "    0 Error(s)",
            "  error_kind: Option<Error>,",
            "Passed!  - Failed:     0, Passed:     2",
            "# fail 0",
            "5 passing (10ms)",
            "warning: unused variable: `error`",
            "src/error.rs",
            "A    src/failures.rs",
            "OK (12 tests, 0 failures)",
            "00:02 +801 -1: adds",
            "00:02 +801: reads the flag [E]",
            "1) test the parser (Linux)",
            "  2) test on a (real) machine",
            "MathTest#test_adds = 0.00 s = .",
            "  x  3 of the y",
            "the code ERR_PNPM_OUTDATED_LOCKFILE is for a lock file of another day",
            "a recursion whose depth never has overflowed its stack",
            " M src/a.ts",
            "==12== Memcheck, a memory checker",
            "< HTTP/1.1 200 OK",
            "2024-01-01 12:00:05 INFO  [main] level-ERROR-count=0",
            r#"{"level":30,"time":500,"msg":"ok"}"#,
            r#"{"Action":"pass","Package":"p"}"#,
            "![A picture](a.png)",
            "Jan 05 12:07:31 host systemd[1]: Started nginx.service - A server.",
            "app/a.rb:7:3: C: Style/Foo: Do not.",
            "bisecting: the first bad commit is near",
            r#"level=info msg="batch done" processed=120 errors=0 took=5ms"#,
            "Checked 12 failures: 0",
            "> esbuild src/a.ts --bundle --log-level=error",
            r#"        "OOMKilled": false,"#,
            r#"{"name":"orc","level":50,"hp":3}"#,
            r#"{"Action":"output","Package":"p","Output":"    calc_test.go:9: got -1\n"}"#,
            "-- USERS -----------------",
            "2024-01-01 12:00:05 INFO found 0 ERROR lines",
            "-- a comment in SQL",
            "web:build: compiled in 2 s",
            "web: passed 12 tests",
            "exit status 0",
            "app exited with code 0",
            "Killed 3 idle workers",
            "Fehler: keine",
            "curl: a tool",
        ] {
            let marks = of(line);
            assert!(!marks.has(Mark::Failure) && !marks.has(Mark::CountsFailures), "{line}");
        }
    }

    #[test]
    fn a_count_of_failures_is_one_behind_other_counts() {
        for line in [
            r#"level=info msg="batch done" processed=120 errors=5 took=5ms"#,
            "total=15 passed=12 failed=3",
            "passed: 12 failed: 3",
            "ok=10 failed=1",
        ] {
            assert!(of(line).has(Mark::CountsFailures), "{line}");
        }
    }

    #[test]
    fn a_log_entry_that_failed_is_no_routine() {
        for entry in [
            "2026-01-05T12:07:31Z Checking database: fatal: no answer",
            "2026-01-05T12:07:31Z Downloading artifact failed: error: 403",
        ] {
            assert!(of(entry).has(Mark::Failure) && !of(entry).is_routine(), "{entry}");
        }
        for passed in
            ["2026-01-05T12:07:31Z ✓ says error: 403", "2026-01-05T12:07:31Z PASS error: 4"]
        {
            assert!(of(passed).is_routine(), "{passed}");
        }
    }

    #[test]
    fn an_entry_of_a_log_is_known_by_its_level() {
        for (entry, error, info) in [
            ("2026-01-05 12:07:31,120 - app.db - LEVEL - no answer", "ERROR", "INFO"),
            ("12:07:31.120 [worker-2] LEVEL com.x.Db - no answer", "ERROR", "INFO "),
            ("2026-01-05 12:07:31,120 [main] LEVEL com.x.Db - no answer", "FATAL", "INFO "),
            ("2026-01-05T12:07:31.120Z LEVEL 1 --- [main] com.x.Db : no answer", "ERROR", " INFO"),
            ("[2026-01-05T12:07:31Z LEVEL app::db] no answer", "ERROR", "INFO "),
            ("[2026-01-05T12:07:31,120][LEVEL][o.e.Db] no answer", "ERROR", "INFO"),
            ("[2026-01-05 12:07:31,120: LEVEL/MainProcess] no answer", "ERROR", "INFO"),
            ("[2026-01-05 12:07:31] app.LEVEL: no answer", "ERROR", "INFO"),
            ("2026-01-05 12:07 LEVEL no answer", "ERROR", "INFO"),
            ("2026/01/05 12:07:31 LEVEL no answer", "ERROR", "INFO"),
            ("2026/01/05 12:07:31 [LEVEL] 12#12: *77 no answer", "error", "notice"),
            ("12:07:31.120 [LEVEL] no answer", "error", "info"),
            ("[12:07:31 LEVEL] no answer", "ERR", "INF"),
            ("[12:07:31.120] LEVEL (12): no answer", "ERROR", "INFO"),
            ("2026-01-05 12:07:31.120 | LEVEL    | app:get:12 - no answer", "ERROR", "INFO "),
            ("Jan  5 12:07:31 host app[123]: LEVEL no answer", "ERROR", "INFO"),
            ("2026-01-05T12:07:31+0000 host app[123]: LEVEL no answer", "ERROR", "INFO"),
            ("db-1   | 2026-01-05 12:07:31 LEVEL no answer", "ERROR", "INFO"),
            ("[pod/web-1/app] 2026-01-05T12:07:31Z LEVEL no answer", "ERROR", "INFO"),
            ("build\tRun tests\t2026-01-05T12:07:31.12Z ##[LEVEL]no answer", "error", "group"),
            ("LEVEL, [2026-01-05T12:07:31.120123 #12]  MAIN -- : no answer", "E", "I"),
            ("LEVEL: App.Db[12]", "fail", "info"),
            ("01-05 12:07:31.120  1000  1012 LEVEL Db      : no answer", "E", "I"),
        ] {
            assert!(of(&entry.replace("LEVEL", error)).has(Mark::Failure), "{entry}");
            let fine = entry.replace("LEVEL", info) + ", ERROR=0, 0 ERROR lines";
            let marks = of(&fine);
            assert!(!marks.has(Mark::Failure) && !marks.has(Mark::CountsFailures), "{fine}");
        }
        for line in [
            "12:00:05 - INFO - ERROR count is 0",
            "2026-01-05 12:00:05 [INFO] ERROR codes were loaded",
            "12:30:ERROR = 5",
            "2026-01-05 ERROR codes of the day",
            "fail: whatever",
            "[a/b] ERROR codes",
        ] {
            assert!(!of(line).has(Mark::Failure), "{line}");
        }
    }
}
