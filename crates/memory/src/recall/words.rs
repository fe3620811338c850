//! Words that say nothing of what a question is about. Pure; must not know what memory holds.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use base::error::{Error, Result};
use store::{Expression, SearchUnit, each_term};

/// The function words of a language: those that show that a question is in it, and those that mean
/// something in English. Those of English are the search's own.
const LANGUAGES: [[&str; 2]; 3] = [
    [
        "aber als auch auf aus beim brauche braucht dann darf das dass dein dem den der des dürfen durch ein eine einem einen einer eines \
         euer für gegen gibt haben hatte heißt ich ihr im ist jede jeder jedes kann kein keine können lautet liegen liegt mein mit muss müssen \
         nach nicht noch nur oder ohne sein sich sie sind soll sollen steht stehen über und unser unsere unter viel viele vom von vor wann \
         waren warum welche welchem welchen welcher welches wenn wer werden weshalb wie wieso wieviel wir wird wo wofür woher wohin womit \
         worauf wozu wurde wurden zu zum zur zwischen",
        "alle also am an bei die du er es gut hat in lange man oft so um war was",
    ],
    [
        "au aux avec ce ces cette combien dans des dois doit du elle est et faut il ils je leur les mes nos notre nous où pas pouvons puis \
         quand que quel quelle quelles quels qui quoi sa ses sont un une votre vous",
        "comment de en la le mon on ou plus pour pourquoi sans se son sur ton",
    ],
    [
        "al como cómo con cual cuál cuáles cuando cuándo cuánto cuántos del donde dónde el ella está están este estos hay las los nos nuestro \
         para pero por porque qué quien quién se sin sobre una unos y",
        "a de en es la lo me mi no o para son su un",
    ],
];

/// Words by which a question says what kind of answer it wants, in English and German. Texts that
/// answer it seldom have them.
const ASKING: &str = "amount big case choice choose chosen count default defined duration example far fast find happen high kind large least \
    length like limit long look low many max maximum mean min minimum more most much name need number old order part path place possible \
    reason required right say show size small sort style thing time total type use usually version way work again allowed already always \
    any back become begin both call change come decide different each else end ever every exist first get give go handle keep know last \
    let live make may might must never new next no not now off often once only other out over own put run same see set since some \
    start still stop take tell too try under until up very want well yet \
    Anzahl Art Beispiel Datei dauert Dauer geschieht Größe groß Grund hoch lange läuft laufen macht machen Name Ort Version Zahl";

/// The words that show a language, and all its function words.
type Words = (HashSet<String>, HashSet<String>);

/// Whether a unit of a question only says what kind of answer is wanted.
pub(super) fn is_asking(unit: &SearchUnit) -> bool {
    static TERMS: LazyLock<HashSet<String>> = LazyLock::new(|| terms(ASKING));
    word_of(unit).is_some_and(|word| TERMS.contains(word))
}

/// A search without the function words of the language that it is in. In quotes they count.
///
/// # Errors
/// `INVALID_ARGUMENT` if it has nothing else.
pub(super) fn without_function_words(query: &str, mut search: Expression) -> Result<Expression> {
    static WORDS: LazyLock<[Words; 3]> = LazyLock::new(|| {
        LANGUAGES.map(|[own, shared]| (terms(own), terms(&format!("{own} {shared}"))))
    });
    if !query.contains(['"', '“', '”', '„']) {
        for (own, all) in &*WORDS {
            let is_in = |words: &HashSet<String>, unit: &SearchUnit| {
                word_of(unit).is_some_and(|word| words.contains(word))
            };
            if search.wanted.iter().any(|unit| is_in(own, unit)) {
                search.wanted.retain(|unit| !is_in(all, unit));
            }
        }
    }
    if search.wanted.is_empty() || search.has_only_function_words {
        let problem = "holds only words that any question has; in quotes they are searched for";
        return Err(Error::argument("query", problem));
    }
    Ok(search)
}

/// The word that a unit is, as it is searched for.
fn word_of(unit: &SearchUnit) -> Option<&String> {
    match &unit.phrases[..] {
        [phrase] if phrase.terms.len() == 1 && !phrase.is_prefix => phrase.terms.first(),
        _ => None,
    }
}

fn terms(words: &str) -> HashSet<String> {
    let mut terms = HashSet::new();
    each_term(words, |term, _, _| {
        terms.insert(term.to_owned());
        ControlFlow::Continue(())
    });
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(query: &str) -> Option<String> {
        let search = without_function_words(query, Expression::parse(query).unwrap()).ok()?;
        let words = search.wanted.iter().map(|unit| unit.phrases[0].terms.join("+"));
        Some(words.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_question_is_searched_without_its_function_words() {
        for (query, expected) in [
            ("which linker do we use", Some("linker use")),
            ("Wie lange dauert die Migration?", Some("dauert migrat")),
            ("où est la configuration", Some("configur")),
            ("¿cuál es el puerto?", Some("puerto")),
            ("die cast", Some("die cast")),
            ("comment style", Some("comment style")),
            ("\"wie\" ist", Some("wie ist")),
        ] {
            assert_eq!(left(query).as_deref(), expected, "{query}");
        }
    }

    #[test]
    fn function_words_alone_are_no_search() {
        for query in
            ["what is this", "how do we do it", "Was ist das?", "qui est la", "why don't they"]
        {
            assert_eq!(left(query), None, "{query}");
        }
        assert_eq!(left("\"what is this\"").as_deref(), Some("what+is+this"));
    }
}
