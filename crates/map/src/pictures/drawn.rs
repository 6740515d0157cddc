//! The elements of a drawing, for tests.

/// An element with its attributes and its text.
pub(super) struct Element<'a> {
    attributes: &'a str,
    pub(super) text: &'a str,
}

impl Element<'_> {
    pub(super) fn get(&self, name: &str) -> &str {
        let (_, rest) = self.attributes.split_once(&format!(" {name}=\"")).unwrap_or(("", ""));
        rest.split('"').next().unwrap_or("")
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        self.get(name).parse().unwrap_or_else(|_| panic!("{name} of{}", self.attributes))
    }

    pub(super) fn numbers<const N: usize>(&self, names: [&str; N]) -> [f64; N] {
        names.map(|name| self.number(name))
    }

    /// The least and the largest of the points along both axes.
    pub(super) fn bounds(&self) -> [[f64; 2]; 2] {
        let numbers: Vec<f64> = self.get("points").split([' ', ',']).filter_map(|x| x.parse().ok()).collect();
        [0, 1].map(|axis| {
            let along = || numbers.iter().copied().skip(axis).step_by(2);
            [along().fold(f64::INFINITY, f64::min), along().fold(f64::NEG_INFINITY, f64::max)]
        })
    }

    /// The middle of the points.
    pub(super) fn middle(&self) -> [f64; 2] {
        self.bounds().map(|[least, most]| (least + most) / 2.0)
    }
}

/// All elements of a name, in their order.
pub(super) fn elements<'a>(svg: &'a str, name: &str) -> Vec<Element<'a>> {
    let start = format!("<{name} ");
    let of = |rest: &'a str| {
        let (attributes, rest) = rest.split_once('>').unwrap_or((rest, ""));
        let text = if attributes.ends_with('/') { "" } else { rest.split('<').next().unwrap_or("") };
        // What ends before the name is separated from attributes by a blank, which `get` looks for.
        Element { attributes, text: text.trim() }
    };
    svg.match_indices(&start).map(|(at, start)| of(&svg[at + start.len() - 1..])).collect()
}
