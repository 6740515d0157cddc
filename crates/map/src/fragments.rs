//! Words of two letters that are no abbreviation.

use crate::Document;

/// How often two letters stand as a word by themselves: as such, and of these with a capital.
type Uses = [[u64; 2]; PAIRS];
const PAIRS: usize = 26 * 26;

/// Which words `[feature]` are left undrawn: two letters from a to z that are written with a capital less than half of the time. In prose
/// these are pieces of commands and addresses, units and function words of other languages; `OS`, `Xt` and `pH` are abbreviations.
/// Where no two letters have a capital anywhere case tells nothing, and all are drawn.
pub(crate) fn fragments<'a>(
    vocabulary: &[impl AsRef<str>],
    documents: impl Iterator<Item = &'a Document>,
) -> Vec<bool> {
    let pairs: Vec<_> = vocabulary.iter().map(|word| pair(word.as_ref().as_bytes())).collect();
    let mut uses = [[0; 2]; PAIRS];
    if pairs.iter().any(Option::is_some) {
        for document in documents {
            match document.text.as_str() {
                "" => {
                    [&document.title, &document.snippet].into_iter().for_each(|text| count(text, &mut uses))
                }
                text => count(text, &mut uses),
            }
        }
    }
    let has_case = uses.iter().any(|[_, capitals]| *capitals > 0);
    let is_fragment = |pair: Option<usize>| {
        let [all, capitals] = pair.and_then(|pair| uses.get(pair)).copied().unwrap_or_default();
        has_case && 2 * capitals < all
    };
    pairs.into_iter().map(is_fragment).collect()
}

/// The number of a word of two letters from a to z, of either case.
fn pair(word: &[u8]) -> Option<usize> {
    let &[first, second] = word else { return None };
    let letter = |byte: u8| byte.is_ascii_alphabetic().then(|| usize::from(byte.to_ascii_lowercase() - b'a'));
    Some(letter(first)? * 26 + letter(second)?)
}

/// Adds the words of two letters of a text, but for those that are parts of hosts, addresses, names of files and contractions.
fn count(text: &str, uses: &mut Uses) {
    let bytes = text.as_bytes();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80 || *byte == b'_';
    let is_joint = |byte: &u8| matches!(byte, b'.' | b'@' | b'\'');
    let mut end = 0; // of the run of letters before
    for run in bytes.chunk_by(|a, b| is_letter(a) == is_letter(b)) {
        let start = end;
        end += run.len();
        let Some(pair) = pair(run) else { continue };
        let joined = |next: Option<&u8>, beyond: Option<&u8>| {
            next.is_some_and(is_joint) && beyond.is_some_and(is_letter)
        };
        let before = |by: usize| start.checked_sub(by).and_then(|at| bytes.get(at));
        if joined(before(1), before(2)) || joined(bytes.get(end), bytes.get(end + 1)) {
            continue;
        }
        if let Some([all, capitals]) = uses.get_mut(pair) {
            *all += 1;
            *capitals += u64::from(run.iter().any(u8::is_ascii_uppercase));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undrawn(texts: &[&str]) -> Vec<&'static str> {
        let vocabulary = ["3d", "ant", "et", "os", "pp", "zz", "öl"];
        let documents: Vec<_> =
            texts.iter().map(|&text| Document { text: text.to_owned(), ..Document::default() }).collect();
        let found = fragments(&vocabulary, documents.iter());
        vocabulary
            .into_iter()
            .zip(found)
            .filter_map(|(word, is_left_out)| is_left_out.then_some(word))
            .collect()
    }

    #[test]
    fn two_letters_without_a_capital_are_fragments() {
        assert_eq!(
            undrawn(&["An ant, pp. 3 et al. on OS/2, öl, 3d", "PP is an os, pp is none."]),
            ["et", "pp"]
        );
        // As often with a capital as without, and one time more without.
        assert_eq!(undrawn(&["OS os"]), [""; 0]);
        assert_eq!(undrawn(&["OS os", "os"]), ["os"]);
        // A title at least, where there is no text.
        let title = Document { title: "pp".into(), snippet: "Os".into(), ..Document::default() };
        assert_eq!(fragments(&["pp"], [title].iter()), [true]);
    }

    /// Two letters in the other order are another word.
    #[test]
    fn pairs_are_told_apart() {
        let texts = ["ab ab ba BA BA", "az za ZA zy"]
            .map(|text| Document { text: text.into(), ..Document::default() });
        let found = fragments(&["ab", "ba", "az", "za", "zz", "zy"], texts.iter());
        assert_eq!(found, [true, false, true, false, false, true]);
    }

    #[test]
    fn case_tells_nothing_without_capitals() {
        assert_eq!(undrawn(&["an ant, pp. 3 et al."]), [""; 0]);
        assert_eq!(undrawn(&[]), [""; 0]);
    }

    #[test]
    fn parts_of_addresses_are_not_counted() {
        assert_eq!(undrawn(&["OS, x@pp.edu, pp.c, a.pp, don't pp't, pp_1, èpp"]), [""; 0]);
        assert_eq!(undrawn(&["OS pp."]), ["pp"]);
        assert_eq!(undrawn(&["OS .pp'"]), ["pp"]);
    }
}
