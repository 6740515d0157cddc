//! Every kind of change, each of which makes the program say something else.

use std::fmt::Write;

const FIXED: usize = 2 * 3;

const fn doubled(x: usize) -> usize {
    x * 2
}

const AT_COMPILE_TIME: usize = doubled(5);

#[derive(Debug, Clone, PartialEq)]
struct Settings {
    width: u32,
    name: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { width: 1, name: String::from("none") }
    }
}

/// With `*` for `-` this is no difference of a sum any more.
fn chain(a: i64, b: i64, c: i64) -> i64 {
    a + b - c
}

fn nested(a: i64, b: i64) -> i64 {
    // Comments stay where they are.
    (a + 1 // as here
        * 2)
        * (b - a + 1)
        / (if a > b { a - 1 } else { -b } + 3)
}

fn bits(a: u32, b: u32) -> u32 {
    a << 2 | b & 6 ^ a >> 1
}

fn logical(said: &mut String, a: bool, b: bool) -> bool {
    let mut say = |name: &str, value: bool| {
        said.push_str(name);
        value
    };
    say("a", a) && say("b", b) || !say("c", a)
}

fn compared(a: f64, b: f64) -> u32 {
    let mut sum = 0;
    sum += (a < b) as u32;
    sum += (a == b) as u32 * 2;
    if a >= b {
        sum |= 16;
    }
    sum -= (a != b) as u32;
    sum
}

fn generic<T: PartialOrd + Copy>(values: &[T]) -> Option<T> {
    let mut most = *values.first()?;
    for &value in values {
        if value > most {
            most = value;
        }
    }
    Some(most)
}

fn closures(values: &[i64]) -> i64 {
    values.iter().map(|x| x * 2).sum::<i64>() - values.iter().filter(|x| **x > 1).count() as i64
}

fn bound(value: Option<i64>) -> i64 {
    if let Some(x) = value
        && x > 3
    {
        x
    } else {
        0
    }
}

fn arms(value: Option<i64>, text: &str) -> &'static str {
    match (value, text) {
        (Some(1), "one") => "one",
        (Some(x), _) if x > 5 && x < 9 => "some",
        (None, "none" | "nothing") => "none",
        _ => "other",
    }
}

fn text(settings: &Settings) -> String {
    format!("{}:{}", settings.width, settings.name)
}

fn changed(settings: Settings, name: &str) -> Settings {
    Settings { name: name.into(), ..settings }
}

fn both(name: &str) -> Settings {
    Settings {
        width: 3, // of three
        name: name.into(),
        ..Settings::default()
    }
}

fn iterator(most: u32) -> impl Iterator<Item = u32> {
    0..most
}

trait Area {
    fn side(&self) -> f64;
    fn area(&self) -> f64 {
        self.side() * self.side()
    }
}

struct Square(f64);

impl Area for Square {
    fn side(&self) -> f64 {
        self.0
    }
}

fn noted(log: &mut String) {
    let inner = |x: i64| -> i64 {
        if x < 0 {
            return -x;
        };
        x + 1
    };
    let _ = write!(log, "{} {} {}", inner(-2), inner(0), inner(2));
}

fn early(x: i64) -> Result<bool, String> {
    let wanted = match x {
        0 => return Err("zero".into()),
        other => other,
    } + 1;
    Ok(wanted % 3 == 0 && !(x > 101))
}

fn main() {
    println!("{FIXED} {} {}", AT_COMPILE_TIME, doubled(4));
    println!("{} {} {} {}", chain(7, 5, 3), nested(2, 9), nested(4, 4), nested(9, 4));
    println!("{} {}", bits(5, 3), bits(3, 6));
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut said = String::new();
        println!("{} {said}", logical(&mut said, a, b));
    }
    println!("{} {} {}", compared(1.0, 2.0), compared(2.0, 2.0), compared(3.0, 2.0));
    println!("{:?} {:?} {:?}", generic(&[2, 7, 7, 3]), generic(&[0.5, 0.25]), generic::<u8>(&[]));
    let same = [-0.0, 0.0];
    println!("{:?} {}", generic(&same), closures(&[1, 2, 4]));
    println!("{} {} {} {}", bound(Some(9)), bound(Some(3)), bound(Some(2)), bound(None));
    for (value, text) in [
        (Some(1), "one"),
        (Some(6), "six"),
        (Some(5), "five"),
        (Some(9), "nine"),
        (None, "none"),
        (None, "no"),
    ] {
        println!("{}", arms(value, text));
    }
    println!("{}", text(&changed(both("first"), "second")));
    println!("{}", text(&both("third")));
    println!("{:?} {}", iterator(3).collect::<Vec<_>>(), Square(3.0).area());
    let mut log = String::new();
    noted(&mut log);
    println!("{log} {:?} {:?} {:?} {:?}", early(0), early(1), early(101), early(104));
}
