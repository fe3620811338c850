//! Times every call of a bench on its own and prints median and 95th percentile, because criterion only gives means.
//! `npm run bench` parses the lines.
#![expect(clippy::disallowed_methods, reason = "benches time themselves")]

use std::fmt::Display;
use std::hint::black_box;
use std::time::Instant;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId};

/// Runs a bench of a group and prints a line, unless it was filtered out:
/// `percentiles: GROUP/NAME/PARAMETER = MEDIAN P95`, in microseconds.
pub(crate) fn measure<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    (group_name, name): (&str, &str),
    parameter: impl Display,
    mut call: impl FnMut() -> T,
) {
    let mut samples = Vec::new();
    let id = BenchmarkId::new(name, &parameter);
    group.bench_function(id, |bencher| {
        bencher.iter_custom(|rounds| {
            let timed = (0..rounds).map(|_| {
                let start = Instant::now();
                black_box(call());
                start.elapsed()
            });
            let timed: Vec<_> = timed.collect();
            samples.extend_from_slice(&timed);
            timed.iter().sum()
        });
    });
    if samples.is_empty() {
        return;
    }
    samples.sort_unstable();
    let micros = |index: usize| samples[index.min(samples.len() - 1)].as_secs_f64() * 1e6;
    let (median, p95) = (micros(samples.len() / 2), micros(samples.len() * 95 / 100));
    println!("percentiles: {group_name}/{name}/{parameter} = {median:.2} {p95:.2}");
}
