//! Names of glyphs, and letters with their accents.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Accents: the end of a glyph's name, the character that stands for it alone, and letters without and with it.
const ACCENTS: [(&str, char, &str); 14] = [
    ("acute", '´', "AÁaáCĆcćEÉeéIÍiíıíLĹlĺNŃnńOÓoóRŔrŕSŚsśUÚuúYÝyýZŹzź"),
    ("grave", '`', "AÀaàEÈeèIÌiìıìOÒoòUÙuù"),
    ("circumflex", 'ˆ', "AÂaâCĈcĉEÊeêGĜgĝHĤhĥIÎiîıîJĴjĵOÔoôSŜsŝUÛuûWŴwŵYŶyŷ"),
    ("dieresis", '¨', "AÄaäEËeëIÏiïıïOÖoöUÜuüYŸyÿ"),
    ("tilde", '˜', "AÃaãIĨiĩıĩNÑnñOÕoõUŨuũ"),
    ("ring", '˚', "AÅaåUŮuů"),
    ("caron", 'ˇ', "CČcčDĎdďEĚeěLĽlľNŇnňRŘrřSŠsšTŤtťZŽzž"),
    ("cedilla", '¸', "CÇcçGĢgģKĶkķLĻlļNŅnņRŖrŗSŞsşTŢtţ"),
    ("commaaccent", '\u{326}', "GĢgģKĶkķLĻlļNŅnņRŖrŗSȘsșTŢtţ"),
    ("macron", '¯', "AĀaāEĒeēIĪiīıīOŌoōUŪuū"),
    ("breve", '˘', "AĂaăEĔeĕGĞgğIĬiĭıĭOŎoŏUŬuŭ"),
    ("ogonek", '˛', "AĄaąEĘeęIĮiįUŲuų"),
    ("dotaccent", '˙', "CĊcċEĖeėGĠgġIİZŻzż"),
    ("hungarumlaut", '˝', "OŐoőUŰuű"),
];

/// Other glyphs that text is made of, after the names of Adobe's list.
const NAMES: &str = "exclam ! quotedbl \" numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright ) \
    asterisk * plus + comma , hyphen - period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 \
    nine 9 colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \\ bracketright ] asciicircum ^ \
    underscore _ grave ` braceleft { bar | braceright } asciitilde ~ exclamdown ¡ cent ¢ sterling £ currency ¤ yen ¥ \
    brokenbar ¦ section § dieresis ¨ copyright © ordfeminine ª guillemotleft « logicalnot ¬ registered ® macron ¯ degree ° \
    plusminus ± acute ´ mu µ paragraph ¶ periodcentered · cedilla ¸ ordmasculine º guillemotright » onequarter ¼ onehalf ½ \
    threequarters ¾ questiondown ¿ AE Æ Eth Ð multiply × Oslash Ø Thorn Þ germandbls ß ae æ eth ð divide ÷ oslash ø thorn þ \
    Dcroat Đ dcroat đ Hbar Ħ hbar ħ dotlessi ı dotlessj ȷ IJ Ĳ ij ĳ kgreenlandic ĸ Ldot Ŀ ldot ŀ Lslash Ł lslash ł Eng Ŋ eng ŋ \
    OE Œ oe œ Tbar Ŧ tbar ŧ longs ſ florin ƒ circumflex ˆ caron ˇ breve ˘ dotaccent ˙ ring ˚ ogonek ˛ tilde ˜ hungarumlaut ˝ \
    Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ \
    Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι \
    kappa κ lambda λ nu ν xi ξ omicron ο pi π rho ρ sigma1 ς sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω theta1 ϑ phi1 ϕ \
    endash – emdash — quoteleft ‘ quoteright ’ quotesinglbase ‚ quotedblleft “ quotedblright ” quotedblbase „ dagger † \
    daggerdbl ‡ bullet • ellipsis … perthousand ‰ guilsinglleft ‹ guilsinglright › fraction ⁄ Euro € numero № trademark ™ \
    arrowleft ← arrowup ↑ arrowright → arrowdown ↓ minus − infinity ∞ approxequal ≈ notequal ≠ lessequal ≤ greaterequal ≥ \
    partialdiff ∂ summation ∑ product ∏ radical √ integral ∫ element ∈ similar ∼ ff ﬀ fi ﬁ fl ﬂ ffi ﬃ ffl ﬄ sfthyphen \u{ad} \
    afii00208 ― afii61352 № afii10023 Ё afii10071 ё afii10050 Ґ afii10098 ґ afii10145 Џ afii10193 џ";

/// Cyrillic letters by the numbers in their names, which leave out Ё and ё.
const CYRILLIC: [(u32, u32, char); 8] = [
    (10017, 10022, 'А'),
    (10024, 10049, 'Ж'),
    (10065, 10070, 'а'),
    (10072, 10097, 'ж'),
    (10051, 10061, 'Ђ'),
    (10062, 10062, 'Ў'),
    (10099, 10109, 'ђ'),
    (10110, 10110, 'ў'),
];

/// The same, to be looked up: a hostile document has very many fonts.
static KNOWN: OnceLock<HashMap<&str, char>> = OnceLock::new();

/// The letter with the accent that this character is alone.
pub(super) fn accented(accent: char, letter: char) -> Option<char> {
    let accent = match accent {
        '^' => 'ˆ',
        '~' => '˜',
        accent => accent,
    };
    let (.., pairs) = ACCENTS.iter().find(|(_, alone, _)| *alone == accent)?;
    with_accent(pairs, letter)
}

pub(super) fn is_accent(c: char) -> bool {
    matches!(c, '^' | '~') || ACCENTS.iter().any(|(_, alone, _)| *alone == c)
}

fn with_accent(pairs: &str, letter: char) -> Option<char> {
    let mut pairs = pairs.chars();
    while let (Some(plain), Some(accented)) = (pairs.next(), pairs.next()) {
        if plain == letter {
            return Some(accented);
        }
    }
    None
}

/// What a glyph's name says that it is, ligatures as letters; none of names such as `g42`.
pub(super) fn text_of(name: &str) -> Option<String> {
    let name = name.split('.').next().filter(|name| !name.is_empty())?; // `a.alt` is an `a`
    name.split('_').map(character).collect::<Option<String>>().map(|text| letters(&text))
}

fn character(name: &str) -> Option<char> {
    let mut letters = name.chars();
    let first = letters.next()?;
    if first.is_ascii_alphabetic() {
        let rest = letters.as_str();
        if rest.is_empty() {
            return Some(first);
        }
        let accent = ACCENTS.iter().find(|(accent, ..)| *accent == rest);
        if let Some(letter) = accent.and_then(|(.., pairs)| with_accent(pairs, first)) {
            return Some(letter);
        }
    }
    let names = KNOWN.get_or_init(|| {
        let mut names = NAMES.split_whitespace();
        let pairs = std::iter::from_fn(|| Some((names.next()?, names.next()?.chars().next()?)));
        pairs.collect()
    });
    if let Some(&known) = names.get(name) {
        return Some(known);
    }
    if matches!(name, "space" | "nbspace" | "nonbreakingspace") {
        return Some(' ');
    }
    if let Some(number) = name.strip_prefix("afii").and_then(|number| number.parse().ok()) {
        let (first, _, letter) =
            CYRILLIC.iter().find(|(first, last, _)| (*first..=*last).contains(&number))?;
        return char::from_u32(u32::from(*letter) + number - first);
    }
    let code = match name.strip_prefix("uni") {
        Some(code) => Some(code).filter(|code| code.len() == 4),
        None => name.strip_prefix('u').filter(|code| (4..=6).contains(&code.len())),
    };
    let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    char::from_u32(u32::from_str_radix(code, 16).ok()?)
}

/// Ligatures and other presentation forms as the letters that they show, and without characters that mean nothing here.
pub(super) fn letters(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ﬀ' => plain.push_str("ff"),
            'ﬁ' => plain.push_str("fi"),
            'ﬂ' => plain.push_str("fl"),
            'ﬃ' => plain.push_str("ffi"),
            'ﬄ' => plain.push_str("ffl"),
            'ﬅ' | 'ﬆ' => plain.push_str("st"),
            '\t' | '\n' | '\r' | '\u{a0}' => plain.push(' '),
            '\u{fffd}' | '\u{e000}'..='\u{f8ff}' => {}
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_adobe() {
        let names = [
            ("A", "A"),
            ("space", " "),
            ("Adieresis", "Ä"),
            ("ccaron", "č"),
            ("fi", "fi"),
            ("f_f_i", "ffi"),
            ("a.sc", "a"),
            ("uni0416", "Ж"),
            ("u1F600", "😀"),
            ("afii10017", "А"),
            ("afii10049", "Я"),
            ("afii10065", "а"),
            ("afii10097", "я"),
            ("afii10071", "ё"),
            ("afii10055", "І"),
            ("afii10103", "і"),
            ("hyphen", "-"),
            ("quoteright", "’"),
            ("one", "1"),
            ("eacute", "é"),
            ("eogonek", "ę"),
            ("ohungarumlaut", "ő"),
            ("Idotaccent", "İ"),
            ("germandbls", "ß"),
            ("sfthyphen", "\u{ad}"),
        ];
        for (name, text) in names {
            assert_eq!(text_of(name).as_deref(), Some(text), "{name}");
        }
        for name in ["", ".notdef", "g42", "union", "uniD800", "afii1", "Qacute", "_"] {
            assert_eq!(text_of(name), None, "{name}");
        }
        assert_eq!(
            (accented('¨', 'u'), accented('´', 'ı'), accented('´', '1')),
            (Some('ü'), Some('í'), None)
        );
    }
}
