//! LoCoMo, long conversations with questions (Maharana et al., 2024), and the recall of what answers these.
//!
//! Recall is the share of a question's evidence among the first 5 or 10 hits, the mean over the questions; adversarial questions
//! (category 5) and those without evidence are left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Ranks up to which recall is counted.
pub const RANKS: [usize; 2] = [5, 10];

/// Categories of questions that are counted.
const CATEGORIES: [(u64, &str); 4] =
    [(1, "multi-hop"), (2, "temporal"), (3, "open-domain"), (4, "single-hop")];

/// A conversation of some months.
pub struct Conversation {
    /// Its turns, in their order.
    pub turns: Vec<Turn>,
    /// The questions that are counted.
    pub questions: Vec<Question>,
}

/// What one of two people says.
pub struct Turn {
    /// Such as `D3:12`: the twelfth turn of session 3.
    pub id: String,
    /// Date of the session.
    pub date: String,
    /// `speaker: text`, and the caption of the image.
    pub line: String,
}

impl Turn {
    /// `D3` of `D3:12`.
    pub fn session(&self) -> &str {
        session_of(&self.id)
    }
}

/// A question with the turns that answer it.
pub struct Question {
    /// Its category.
    pub category: u64,
    /// Its text.
    pub text: String,
    /// IDs of turns.
    evidence: BTreeSet<String>,
}

impl Question {
    /// The evidence: IDs of turns, or of their sessions.
    pub fn wanted(&self, of_sessions: bool) -> BTreeSet<&str> {
        let name = |id| if of_sessions { session_of(id) } else { id };
        self.evidence.iter().map(|id| name(id.as_str())).collect()
    }

    /// The share of the evidence among the first hits, at each rank.
    pub fn recall<H: AsRef<str>>(&self, hits: &[H], of_sessions: bool) -> [f64; 2] {
        let wanted = self.wanted(of_sessions);
        RANKS.map(|rank| {
            let hits: BTreeSet<&str> = hits.iter().take(rank).map(AsRef::as_ref).collect();
            count(hits.intersection(&wanted).count()) / count(wanted.len())
        })
    }
}

/// The conversations; `None` where the data is absent.
pub fn conversations() -> Option<Vec<Conversation>> {
    let file = crate::data::find("locomo-dev.json")?;
    let all: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    Some(all.iter().map(conversation).collect())
}

fn conversation(value: &Value) -> Conversation {
    let turns = turns(&value["conversation"]);
    let known: BTreeSet<&str> = turns.iter().map(|turn| &*turn.id).collect();
    let questions = value["qa"].as_array().unwrap().iter().filter_map(|question| {
        let evidence = evidence(&question["evidence"]).into_iter();
        let evidence: BTreeSet<String> = evidence.filter(|id| known.contains(&**id)).collect();
        let category = question["category"].as_u64().unwrap();
        let text = question["question"].as_str().unwrap().to_owned();
        (category != 5 && !evidence.is_empty()).then_some(Question { category, text, evidence })
    });
    let questions = questions.collect();
    Conversation { turns, questions }
}

fn turns(conversation: &Value) -> Vec<Turn> {
    let sessions = (1..).map(|number| format!("session_{number}"));
    let mut turns = Vec::new();
    for key in sessions.take_while(|key| conversation.get(format!("{key}_date_time")).is_some()) {
        let date = conversation[format!("{key}_date_time")].as_str().unwrap();
        for turn in conversation[&key].as_array().into_iter().flatten() {
            let text = |key: &str| turn[key].as_str().unwrap_or_default();
            turns.push(Turn {
                id: text("dia_id").to_owned(),
                date: date.to_owned(),
                line: format!("{}: {} {}", text("speaker"), text("text"), text("blip_caption")),
            });
        }
    }
    turns
}

fn session_of(id: &str) -> &str {
    id.split_once(':').map_or(id, |(session, _)| session)
}

/// IDs of turns: an entry may hold several (`D8:6; D9:17`), and some have a colon too many (`D:11:26`).
fn evidence(entries: &Value) -> BTreeSet<String> {
    let entries = entries.as_array().into_iter().flatten().filter_map(Value::as_str);
    let ids = entries.flat_map(|entry| entry.split(|sign: char| ";, ".contains(sign)));
    ids.map(|id| id.replace("D:", "D")).filter(|id| id.contains(':')).collect()
}

/// Recalls of questions, by category.
#[derive(Default)]
pub struct Recalls(BTreeMap<u64, Vec<[f64; 2]>>);

impl Recalls {
    /// Adds that of a question.
    pub fn add(&mut self, question: &Question, recall: [f64; 2]) {
        self.0.entry(question.category).or_default().push(recall);
    }

    /// The mean at each rank, in percent.
    pub fn means(&self) -> [f64; 2] {
        let all: Vec<[f64; 2]> = self.0.values().flatten().copied().collect();
        [0, 1].map(|place| mean(&all, place))
    }

    /// Prints a row for each category and one for all.
    pub fn print(&self, name: &str) {
        for (category, label) in CATEGORIES {
            row(name, label, self.0.get(&category).map_or(&[], Vec::as_slice));
        }
        row(name, "all", &self.0.values().flatten().copied().collect::<Vec<_>>());
    }
}

#[expect(clippy::print_stderr, reason = "the table is what the tests are run for")]
fn row(name: &str, label: &str, recalls: &[[f64; 2]]) {
    let ranks = RANKS.iter().enumerate();
    let shown = ranks.map(|(place, rank)| format!("@{rank} {:5.1} %", mean(recalls, place)));
    let shown = shown.collect::<Vec<_>>().join("  ");
    eprintln!("{name:20} {label:12} {:4} questions  {shown}", recalls.len());
}

fn mean(recalls: &[[f64; 2]], place: usize) -> f64 {
    100.0 * recalls.iter().map(|recall| recall[place]).sum::<f64>() / count(recalls.len())
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred questions")]
pub fn count(number: usize) -> f64 {
    number as f64
}
