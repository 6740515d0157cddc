//! What is no prose is left out, unless it is to be kept.

use countgrid_text::{StopWords, TextOptions, Tokenizer};

fn tokens(text: &str) -> Vec<String> {
    Tokenizer::new(&TextOptions::default()).unwrap().tokens(text).collect()
}

#[test]
fn headers_of_a_mail_are_left_out_but_for_the_subject() {
    let mail = "From: ant@hill.edu (Anton Ant)\nSubject: Re: Red sugar\nOrganization: Hill University\n\t of Trails\n\
                Lines: 12\n\nFound sugar near the house.\n";
    assert_eq!(tokens(mail), ["red", "sugar", "found", "sugar", "near", "house"]);
    // One line with a colon is no mail, nor are two in its middle.
    assert_eq!(tokens("Note: ants\n\nsugar"), ["note", "ants", "sugar"]);
    assert_eq!(tokens("sugar\nFrom: ants\nTo: bees\n"), ["sugar", "ants", "bees"]);
    assert_eq!(tokens("Subject: ants\n\nsugar"), ["subject", "ants", "sugar"]);
    assert_eq!(tokens("Reply-To: ant\nFrom: bee\n\nsugar"), ["sugar"]);
    // What cannot be the name of a header ends the head.
    assert_eq!(tokens("From: ant\nTo: bee\nRed ants: sugar\n\nblue"), ["red", "ants", "sugar", "blue"]);
    let all = Tokenizer::new(&TextOptions { keep_noise: true, ..TextOptions::default() }).unwrap();
    assert!(all.tokens(mail).any(|token| token == "organization"));
}

#[test]
fn quoted_lines_are_left_out() {
    let reply = "Anton wrote:\n> the sugar is red\n>> really\nIt is blue.\n";
    assert_eq!(tokens(reply), ["blue"]);
    assert_eq!(tokens("> nothing but quotes"), ["nothing", "quotes"]);
    assert_eq!(tokens("sugar > salt"), ["sugar", "salt"]);
    // A line before is left out if it ends with a colon, and one with a colon if a quoted line follows.
    assert_eq!(tokens("Red ants\n> why not\nReasons:\nsugar"), ["red", "ants", "reasons", "sugar"]);
}

#[test]
fn signatures_are_left_out() {
    assert_eq!(tokens("Red sugar.\n-- \nAnton\nHill University\n"), ["red", "sugar"]);
    assert_eq!(tokens("Red sugar.\r\n-- \r\nAnton\r\n"), ["red", "sugar"]);
    assert_eq!(tokens("Red\n--\nsugar\n-- ants\n"), ["red", "sugar", "ants"]);
    assert_eq!(tokens("-- \nonly sugar"), ["sugar"]);
    assert_eq!(tokens("\n-- \nsugar"), ["sugar"]);
    // What is that long is no signature.
    assert_eq!(tokens(&("Red\n-- \n".to_owned() + &"sugar\n".repeat(17))).len(), 18);
    assert_eq!(tokens(&("Red\n-- \n".to_owned() + &"sugar\n".repeat(16))), ["red"]);
}

#[test]
fn addresses_hosts_and_codes_are_left_out() {
    let cases = [
        ("see https://a.example/b?c=d#e, then go", &["see", "go"][..]),
        ("(http://x.y/z)sugar", &["sugar"]),
        #[cfg(feature = "segmenter")]
        ("请访问https://a.example/b谢谢", &["访问", "谢谢"]),
        #[cfg(not(feature = "segmenter"))] // single characters
        ("请访问https://a.example/b谢谢", &["访", "问", "谢", "谢"]),
        ("www.example.com or WWW.EXAMPLE.ORG/ants", &[]),
        ("mail anton.ant+x@hill.cs.edu today", &["mail", "today"]),
        ("host cs.cmu.edu and bbc.co.uk", &["host"]),
        // A country is told by its two letters after two dots.
        ("wien.ac.at and red.at and sugar.tar.xyz", &["red.at", "sugar.tar.xyz"]),
        ("deadbeef a94a8fe5ccb19ba6 5e5f", &["deadbeef", "5e5f"]),
        ("aGVsbG8gd29ybGQ0MjQyIQ1x word", &["word"]),
        ("AbstractSingletonFactoryBean", &["abstractsingletonfactorybean"]),
        ("Boeing747", &["boeing747"]),
        // Letters of one case alone are a word.
        ("internationalization18 INTERNATIONALIZATION18", &["internationalization18"; 2]),
        ("Internationalization18", &[]),
        // Single letters before a dot are initials.
        ("x.com xy.com a.b.at ab.c.at", &["x.com", "a.b.at"]),
        ("node.js e.g. os.path x86_64", &["node.js", "e.g", "os.path", "x86_64"]),
        ("an @ sign, 3@4 and @handle", &["sign", "handle"]),
        ("://", &[]),
        ("@", &[]),
        ("ä@ö.example wwwä", &["ö.example", "wwwä"]),
    ];
    for (text, expected) in cases {
        let found: Vec<String> = tokens(text);
        assert!(found.iter().eq(expected), "{text}: {found:?}");
    }
}

/// Not a letter of them is left.
#[test]
fn addresses_of_mail_are_left_out_to_their_end() {
    let options = TextOptions { min_letters: 1, stop_words: StopWords::None, ..TextOptions::default() };
    let tokenizer = Tokenizer::new(&options).unwrap();
    for text in ["mail ant@hill.edu today", "mail ant@hill today", "mail a@b today", "mail (ant@hill) today"]
    {
        assert!(tokenizer.tokens(text).eq(["mail", "today"]), "{text}");
    }
}
