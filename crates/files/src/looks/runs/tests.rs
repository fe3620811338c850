//! What counts as waiting, and what becomes of a look that hangs.

use std::time::Instant;

use super::*;
use crate::looks::Late;

const LIMIT: Duration = Duration::from_millis(400);

#[expect(clippy::disallowed_methods, reason = "a test measures")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn computing_is_no_waiting_whoever_computes() {
    let compute = || {
        let began = now();
        while began.elapsed() < LIMIT * 3 {
            std::hint::spin_loop();
        }
        true
    };
    assert_eq!(run(LIMIT, compute), Some(true));
    let (answer, answers) = channel();
    let work = move || run(LIMIT, compute);
    let job = start(Kind::Work(Late::Written), LIMIT, answer, work);
    let jobs = [job.expect("a thread")];
    let done = next(&answers, LIMIT, || is_any_busy(&jobs));
    assert_eq!(taken::<Option<bool>>(done.expect("an answer")), Some(true));
}

#[test]
fn a_look_that_hangs_is_given_up_and_does_not_block_others() {
    let (end, ended) = channel::<()>();
    assert_eq!(run(LIMIT, move || ended.recv().is_ok()), None);
    assert_eq!(run(LIMIT, || true), Some(true));
    drop(end);
}
