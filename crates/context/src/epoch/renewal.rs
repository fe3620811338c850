//! Further changes at the start of an epoch: files get their current text, and lines get a new
//! place when the message that showed them collapses. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::working_set::is_let_go;
use crate::standing;
use base::object::{Hash, ObjectId};
use session::{LineRange, Session, Shows, Subject, Treatment, merge_ranges};

/// All changes of an epoch: collapses, current texts of files, and repaired reads whose lines stood
/// in a collapsing message.
///
/// `held`: positions at the front of the window that stay as they are. Messages refer only to
/// earlier ones, so none of these needs repair. `kept`: positions of messages that the host sends
/// itself; a file last shown in one of them stays as it is.
pub(super) fn treatments(
    session: &Session,
    collapsing: &BTreeSet<u64>,
    working: &BTreeSet<u64>,
    (held, kept): (&BTreeSet<u64>, &BTreeSet<u64>),
) -> Vec<(u64, Treatment)> {
    let mut changes: BTreeMap<u64, Treatment> =
        collapsing.iter().map(|at| (*at, Treatment::Reference)).collect();
    for Anew { file, version, ranges, at, after_host } in files_anew(session, working) {
        if kept.contains(&at) {
            continue;
        }
        let showings = session.showings(&file).map(|showing| showing.at);
        changes.extend(showings.map(|at| (at, Treatment::Reference)));
        changes.insert(at, Treatment::Current { object: file, version, ranges, after_host });
    }
    changes.retain(|at, _| !held.contains(at));
    standing::repair_references(session, working, &mut changes);
    changes.into_iter().filter(|(at, treatment)| session.treatment(*at) != treatment).collect()
}

/// A file whose current text, at one message, replaces all its earlier showings.
struct Anew {
    file: ObjectId,
    version: Hash,
    ranges: Vec<LineRange>,
    at: u64,
    after_host: bool,
}

/// Files of the working set that stand with outdated text or with lines shown twice.
fn files_anew(session: &Session, working: &BTreeSet<u64>) -> Vec<Anew> {
    let mut needed: BTreeMap<&ObjectId, Vec<LineRange>> = BTreeMap::new();
    let mut untidy: BTreeSet<&ObjectId> = BTreeSet::new();
    for showing in session.all_showings().filter(|showing| working.contains(&showing.at)) {
        let Some(version) = file_version(session, &showing.object) else { continue };
        let lines = needed.entry(&showing.object).or_default();
        let twice = showing.now.iter().any(|range| range.without(lines) != [*range]);
        if showing.version != *version || twice {
            untidy.insert(&showing.object);
        }
        lines.extend(&showing.now);
    }
    // A read that says "stands above" must show its lines itself once that message collapses.
    for at in working {
        let shows = session.result(*at).map(|fact| &fact.shows);
        let (object, version, ranges) = match (session.treatment(*at), shows) {
            (Treatment::Reread { .. }, Some(Shows::File { object, version, range })) => {
                (object, version, std::slice::from_ref(range))
            }
            (Treatment::Reread { .. }, Some(Shows::Activated { object, version, ranges, .. })) => {
                (object, version, ranges.as_slice())
            }
            _ => continue,
        };
        let now = session.files().lines_now(object, version, ranges);
        needed.entry(object).or_default().extend(now);
    }
    untidy
        .into_iter()
        .filter_map(|file| {
            let ranges = merge_ranges(needed.get(file)?);
            let (at, after_host) = last_event(session, file, working)?;
            let version = file_version(session, file)?.clone();
            (!ranges.is_empty()).then(|| Anew {
                file: file.clone(),
                version,
                ranges,
                at,
                after_host,
            })
        })
        .collect()
}

/// The newest message that showed or changed a file, and whether it changed the file.
fn last_event(session: &Session, file: &ObjectId, working: &BTreeSet<u64>) -> Option<(u64, bool)> {
    let shows: BTreeSet<u64> = session.showings(file).map(|showing| showing.at).collect();
    session.shown_window().rev().find_map(|(at, _)| {
        let fact = session.result(at)?;
        match &fact.shows {
            _ if !working.contains(&at) && is_let_go(session, fact) => None,
            Shows::Change { object } if object == file => Some((at, true)),
            _ => shows.contains(&at).then_some((at, false)),
        }
    })
}

fn file_version<'a>(session: &'a Session, object: &ObjectId) -> Option<&'a Hash> {
    match session.subject(object)? {
        Subject::File { version, .. } => Some(version),
        Subject::Toolcall { .. } | Subject::Segment { .. } => None,
    }
}
