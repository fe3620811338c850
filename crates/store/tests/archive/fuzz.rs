//! Damaged archives: the reader never panics, and what it accepts verifies.

use std::sync::LazyLock;

use proptest::prelude::*;
use store::{ArchiveScope, ExportOptions};

use crate::world::{World, lines, sealed};

/// How an archive is damaged. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Damage {
    Flip(usize, u8),
    Cut(usize),
    Drop(usize),
    Double(usize),
    Swap(usize, usize),
    /// Some digits of a line become others.
    Digit(usize, usize, char),
    /// A part of a line goes.
    Shorten(usize, usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let number = any::<usize>;
    prop_oneof![
        (number(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        number().prop_map(Damage::Cut),
        number().prop_map(Damage::Drop),
        number().prop_map(Damage::Double),
        (number(), number()).prop_map(|(a, b)| Damage::Swap(a, b)),
        (number(), number(), prop::char::range('0', 'f'))
            .prop_map(|(line, at, to)| Damage::Digit(line, at, to)),
        (number(), number(), 1..40usize).prop_map(|(line, at, by)| Damage::Shorten(line, at, by)),
    ]
}

static PLAIN: LazyLock<Vec<u8>> =
    LazyLock::new(|| World::in_memory().with_history().export(ArchiveScope::Everything));

static COMPRESSED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let options = ExportOptions { scope: ArchiveScope::Everything, redact: true, compress: true };
    World::in_memory().with_history().export_with(&options).0
});

fn spoil_bytes(archive: &mut Vec<u8>, damage: &Damage) {
    match damage {
        Damage::Flip(at, bit) if !archive.is_empty() => {
            let at = at % archive.len();
            archive[at] ^= 1 << bit;
        }
        Damage::Cut(at) if !archive.is_empty() => archive.truncate(at % archive.len()),
        _ => {}
    }
}

fn spoil_lines(lines: &mut Vec<String>, damage: &Damage) {
    let count = lines.len();
    match *damage {
        Damage::Drop(at) => drop(lines.remove(at % count)),
        Damage::Double(at) => lines.insert(at % count, lines[at % count].clone()),
        Damage::Swap(a, b) => lines.swap(a % count, b % count),
        Damage::Digit(line, at, to) => {
            let line = &mut lines[line % count];
            let digits: Vec<usize> = line
                .char_indices()
                .filter(|(_, c)| c.is_ascii_hexdigit())
                .map(|(at, _)| at)
                .collect();
            if let Some(at) = digits.get(at % digits.len().max(1)) {
                line.replace_range(at..&(at + 1), &to.to_string());
            }
        }
        Damage::Shorten(line, at, by) => {
            let line = &mut lines[line % count];
            let kept: Vec<char> = line.chars().collect();
            let at = at % kept.len().max(1);
            let (head, tail) = (&kept[..at.min(kept.len())], kept.iter().skip(at + by));
            *line = head.iter().chain(tail).collect();
        }
        _ => {}
    }
}

/// Takes a damaged archive in: nothing of it, or what verifies and was in the archive as it was.
fn check(archive: &[u8]) {
    let there = World::in_memory();
    match there.try_import(archive) {
        Ok(_) => there.verify(),
        Err(error) => {
            assert_eq!(error.code(), "MALFORMED_ARCHIVE", "{}", error.report());
            assert!(there.versions().is_empty());
        }
    }
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn damaged_bytes_are_noticed(
        compressed in any::<bool>(),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let whole = if compressed { &*COMPRESSED } else { &*PLAIN };
        let mut archive = whole.clone();
        for damage in &damages {
            spoil_bytes(&mut archive, damage);
        }
        check(&archive);
        if archive != *whole && !compressed {
            prop_assert!(World::in_memory().try_import(&archive).is_err());
        }
    }

    #[test]
    fn damaged_lines_are_refused_or_harmless_with_a_valid_end(
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let mut all = lines(&PLAIN);
        for damage in &damages {
            spoil_lines(&mut all, damage);
            if all.is_empty() {
                break;
            }
        }
        check(&sealed(&all));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\PC|\n){0,200}") {
        check(text.as_bytes());
        check(format!("{}\n{text}", lines(&PLAIN)[0]).as_bytes());
    }
}
