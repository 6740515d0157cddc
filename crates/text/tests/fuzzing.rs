//! Replays the fuzz body on fixed inputs, those that were once interesting and many that are not text.

use countgrid_text::fuzzing;

#[test]
fn tokens() {
    let seeds: [&[u8]; 13] = [
        b"",
        b"\x00",
        b"\x00The cat's mat\nisn't flat",
        b"\x03running runs ran\nrunner",
        b"\x07a b c d e f\naa bb cc dd",
        b"\x02'''s 's'' y'y yyy'yy 's",
        "\x02Ünï cödé’s ’’’ \u{202e}\u{ad}\u{feff}".as_bytes(),
        b"\x01\xff\xfe\xc3\x28\xf0\x9f\x98",
        "\x02İI\u{307}ſs ﬀ ǅ ΣΑΣ".as_bytes(),
        "\x02क्षत्रिय ไทยแลนด์ 한국어 日本語テキスト".as_bytes(),
        b"\x02yyyyingly eedly ational izer ement sion",
        "\x00\u{3}\u{7ad}".as_bytes(), // a combining letter binds the control character before it
        b"\x02aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    seeds.iter().for_each(|seed| fuzzing::tokens(seed));

    // Letters that stemming rules look at, and raw bytes, from a xorshift generator.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..20_000 {
        let length = next() % 64;
        let letters = b"aeiouyYlstingdrfzx' \n\xc3\xa9";
        let letter = |x: u64| letters[(x >> 32) as usize % letters.len()];
        let data: Vec<u8> =
            (0..length).map(|_| if round % 2 == 0 { (next() >> 32) as u8 } else { letter(next()) }).collect();
        fuzzing::tokens(&data);
    }
}
