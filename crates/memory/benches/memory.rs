//! What memory costs at a prompt: choosing resident pages among 1,000, then reading and rendering
//! whole folders.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use memory::residency::{NO_LIMIT, PageSize, ResidencyCandidate, ResidencyLimits, choose};
use memory::{Fidelity, Folders, Memory};

/// Pages of different lengths and values; some are resident already.
fn candidates(count: u32) -> Vec<ResidencyCandidate> {
    let page = |at: u32| {
        let full = 12 + at * 7 % 60;
        let tokens = [8.min(full), 12.min(full), 30.min(full), full];
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let value = 0.5 + (at * 31 % 100) as f32 / 40.0;
        ResidencyCandidate {
            sizes: tokens.map(|tokens| PageSize { tokens, bytes: tokens * 4, lines: 1 }),
            value,
            group: u8::try_from(at % 2).unwrap_or_default(),
            is_rule: false,
            least: at.is_multiple_of(100).then_some(Fidelity::Full),
            resident: at.is_multiple_of(5).then_some(Fidelity::Compressed),
        }
    };
    (0..count).map(page).collect()
}

fn policy(bench: &mut Criterion) {
    let candidates = candidates(1_000);
    let limits =
        ResidencyLimits { tokens: 4_096, groups: vec![(8_192, 200), (NO_LIMIT, NO_LIMIT)] };
    bench.bench_function("choose among 1,000 pages", |bencher| {
        bencher.iter(|| choose(black_box(&candidates), black_box(&limits)));
    });
}

fn prompt(bench: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let memory = folder.path().join("memory");
    std::fs::create_dir(&memory).expect("a folder");
    let entries: Vec<String> = (0..1_000)
        .map(|at| {
            format!("- Key {at}: what is to be known of it, see `src/file{at}.rs` and more words")
        })
        .collect();
    std::fs::write(memory.join("MEMORY.md"), entries.join("\n")).expect("a file");
    let mut memory = Memory::new(Folders::new(Some(folder.path() as &Path), None, false));
    let mut ask = || memory.prompt(None).map(|section| section.map(|section| section.tokens));
    drop(ask());
    bench.bench_function("a prompt with 1,000 pages that did not change", |bencher| {
        bencher.iter(&mut ask);
    });
}

criterion_group!(benches, policy, prompt);
criterion_main!(benches);
