//! Token counts: time per byte must not grow with text length, whatever the text
//! (`cargo bench --bench tokens`).

use std::hint::black_box;

use context::tokens;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Texts that are hard for a byte pair encoder or its splitting pattern: one endless word, runs
/// that split depending on their ends, letters with and without case, and ordinary code for
/// comparison.
const UNITS: [(&str, &str); 5] = [
    ("word", "a"),
    ("spaces", " "),
    ("near-merges", "aaaaab"),
    ("caseless-letters", "漢A"),
    ("code", "    let value = compute(&input[17])?; // the seventeenth\n"),
];

fn count(criterion: &mut Criterion) {
    tokens::preload();
    let mut group = criterion.benchmark_group("count");
    group.sample_size(10);
    for (name, unit) in UNITS {
        // The last size is beyond the limit for exact counts and takes as long as the limit.
        for kib in [64, 256, 1_024, 4_096] {
            let text = unit.repeat(kib * 1_024 / unit.len());
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_with_input(BenchmarkId::new(name, kib), &text, |bencher, text| {
                bencher.iter(|| tokens::count(black_box(text)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, count);
criterion_main!(benches);
