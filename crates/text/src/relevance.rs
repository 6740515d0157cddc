//! Selection of features by mutual information with labels, or by variance.

/// Features of items in a few levels each, as mutual information takes them: absent and present, or low, middle, high.
///
/// Level 0 is what most entries have, and is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    levels: usize,           // of every feature, level 0 among them
    offsets: Vec<usize>,     // [feature + 1], where each feature's entries begin
    entries: Vec<(u32, u8)>, // (item, level) of a feature, items ascending, levels above 0
    items: usize,
    by_item: Vec<Vec<(u32, u8)>>, // the same by item: (feature, level)
}

impl Levels {
    /// Whether each item has a feature: two levels. Bags are `(feature, count)`; features of `features` and above are
    /// left out, and so are counts that are not above zero.
    pub fn presence(
        features: usize,
        bags: impl IntoIterator<Item = impl IntoIterator<Item = (usize, f64)>>,
    ) -> Self {
        let by_item = bags.into_iter().map(|bag| {
            let mut bag: Vec<(u32, u8)> = bag
                .into_iter()
                .filter(|&(feature, count)| feature < features && count > 0.0)
                .filter_map(|(feature, _)| Some((u32::try_from(feature).ok()?, 1)))
                .collect();
            bag.sort_unstable();
            bag.dedup();
            bag
        });
        Self::from_items(features, 2, by_item.collect())
    }

    /// Three levels: within half a standard deviation of the feature's mean (0), below (1), above (2). For measured
    /// values, such as those of genes.
    ///
    /// # Source
    /// H. Peng, F. Long & C. Ding, Feature selection based on mutual information: criteria of max-dependency,
    /// max-relevance, and min-redundancy, IEEE Transactions on Pattern Analysis and Machine Intelligence 27(8), 2005, section
    /// 4.2.
    #[must_use]
    pub fn deviations(features: usize, bags: &[Vec<(usize, f64)>]) -> Self {
        let moments = moments(features, bags);
        let by_item = bags.iter().map(|bag| {
            let mut row = vec![0.0; features];
            bag.iter()
                .for_each(|&(feature, value)| row.iter_mut().skip(feature).take(1).for_each(|x| *x = value));
            let level = |((x, &(mean, variance)), feature): ((&f64, &(f64, f64)), u32)| {
                let half = variance.sqrt() / 2.0;
                let level = if *x < mean - half { 1 } else { 2 * u8::from(*x > mean + half) };
                (level > 0).then_some((feature, level))
            };
            row.iter().zip(&moments).zip(0u32..).filter_map(level).collect()
        });
        Self::from_items(features, 3, by_item.collect())
    }

    fn from_items(features: usize, levels: usize, by_item: Vec<Vec<(u32, u8)>>) -> Self {
        let mut offsets = vec![0; features + 1];
        by_item.iter().flatten().for_each(|&(feature, _)| offsets[feature as usize + 1] += 1);
        (0..features).for_each(|feature| offsets[feature + 1] += offsets[feature]);
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0); offsets[features]];
        for (item, bag) in (0u32..).zip(&by_item) {
            for &(feature, level) in bag {
                let at = &mut next[feature as usize];
                entries[*at] = (item, level);
                *at += 1;
            }
        }
        Self { levels, offsets, entries, items: by_item.len(), by_item }
    }

    fn features(&self) -> usize {
        self.offsets.len() - 1
    }

    fn feature(&self, feature: usize) -> &[(u32, u8)] {
        &self.entries[self.offsets[feature]..self.offsets[feature + 1]]
    }

    /// Mutual information `I(x; y)` of each feature and the labels, in nats, of presence and class. One
    /// label for each item; further items count as not labelled with any.
    ///
    /// ```
    /// use countgrid_text::Levels;
    /// let bags = [vec![(0, 1.0), (1, 2.0)], vec![(0, 3.0)], vec![(1, 1.0)], vec![]];
    /// let levels = Levels::presence(2, bags);
    /// let information = levels.information(&[0, 0, 1, 1]);
    /// assert!((information[0] - 2f64.ln()).abs() < 1e-15); // determines the label
    /// assert!(information[1].abs() < 1e-15); // independent of it
    /// ```
    #[must_use]
    pub fn information(&self, labels: &[usize]) -> Vec<f64> {
        let classes = labels.iter().max().map_or(0, |most| most + 1);
        let items = self.items.min(labels.len());
        let mut joint = vec![0u64; self.levels * classes];
        let mut sizes = vec![0u64; classes];
        labels.iter().take(items).for_each(|&label| sizes[label] += 1);
        (0..self.features())
            .map(|feature| {
                joint.fill(0);
                joint[..classes].copy_from_slice(&sizes);
                for &(item, level) in self.feature(feature) {
                    if let Some(&label) = labels.get(item as usize) {
                        joint[label] -= 1;
                        joint[usize::from(level) * classes + label] += 1;
                    }
                }
                information(&joint, classes, items)
            })
            .collect()
    }

    /// Features one after the other, each with the largest information about the labels less its average information
    /// about those chosen before it: minimum redundancy, maximum relevance, as a difference (MID). At most `count`; of
    /// equals the first.
    ///
    /// ```
    /// use countgrid_text::Levels;
    /// // Features 0 and 1 are copies of one another, feature 2 has the rest of the information.
    /// let bags = [vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0), (1, 1.0), (2, 1.0)], vec![(2, 1.0)], vec![]];
    /// let levels = Levels::presence(3, bags);
    /// assert_eq!(levels.mrmr(&[0, 1, 2, 3], 2), [0, 2]);
    /// ```
    ///
    /// # Source
    /// Peng, Long & Ding 2005, Eqs. 4 to 7.
    #[must_use]
    pub fn mrmr(&self, labels: &[usize], count: usize) -> Vec<usize> {
        let relevance = self.information(labels);
        let (features, levels) = (self.features(), self.levels);
        let mut redundancy = vec![0.0; features]; // summed over the features chosen so far
        let mut left: Vec<usize> = (0..features).collect();
        let mut chosen = Vec::with_capacity(count.min(features));
        let mut joint = vec![0u64; levels * levels];
        let mut both = vec![0u64; features * (levels - 1) * (levels - 1)]; // [feature][level][level of the chosen]
        let sizes: Vec<Vec<u64>> = (0..features).map(|feature| self.sizes(feature)).collect();
        while chosen.len() < count {
            let value = |feature: usize| match chosen.len() {
                0 => relevance[feature],
                n => relevance[feature] - redundancy[feature] / n as f64,
            };
            let best = left.iter().enumerate().fold(None, |best: Option<(usize, f64)>, (place, &feature)| {
                let value = value(feature);
                if best.is_none_or(|(_, most)| value > most) { Some((place, value)) } else { best }
            });
            let Some((place, _)) = best else { break };
            let next = left.remove(place);
            chosen.push(next);
            // How often each other feature is at a level where this one is at another.
            both.fill(0);
            for &(item, own) in self.feature(next) {
                for &(feature, level) in &self.by_item[item as usize] {
                    let cell = (feature as usize * (levels - 1) + usize::from(level) - 1) * (levels - 1);
                    both[cell + usize::from(own) - 1] += 1;
                }
            }
            let own = &sizes[next];
            for &feature in &left {
                let both = &both[feature * (levels - 1) * (levels - 1)..][..(levels - 1) * (levels - 1)];
                fill_joint(&mut joint, both, &sizes[feature], own);
                redundancy[feature] += information(&joint, levels, self.items);
            }
        }
        chosen
    }

    /// Items at each level.
    fn sizes(&self, feature: usize) -> Vec<u64> {
        let mut sizes = vec![0; self.levels];
        self.feature(feature).iter().for_each(|&(_, level)| sizes[usize::from(level)] += 1);
        sizes[0] = self.items as u64 - sizes.iter().sum::<u64>();
        sizes
    }
}

/// The joint counts `[level of one][level of the other]` from those where neither is 0 and from the margins.
fn fill_joint(joint: &mut [u64], both: &[u64], rows: &[u64], columns: &[u64]) {
    let levels = rows.len();
    joint.fill(0);
    for (row, both) in both.chunks(levels - 1).enumerate() {
        joint[(row + 1) * levels + 1..][..levels - 1].copy_from_slice(both);
        joint[(row + 1) * levels] = rows[row + 1] - both.iter().sum::<u64>();
    }
    for column in 0..levels {
        let below: u64 = (1..levels).map(|row| joint[row * levels + column]).sum();
        joint[column] = columns[column] - below;
    }
}

/// Mutual information of the rows and columns of joint counts, in nats.
fn information(joint: &[u64], columns: usize, items: usize) -> f64 {
    let mut of_column = vec![0u64; columns];
    joint
        .chunks(columns.max(1))
        .for_each(|row| row.iter().zip(&mut of_column).for_each(|(n, sum)| *sum += n));
    let items = items as f64;
    let mut sum = 0.0;
    for row in joint.chunks(columns.max(1)) {
        let of_row = row.iter().sum::<u64>() as f64;
        for (&both, &of_column) in row.iter().zip(&of_column) {
            if both > 0 {
                let both = both as f64;
                sum += both / items * countgrid_math::ln(both * items / (of_row * of_column as f64));
            }
        }
    }
    sum
}

/// Variance of each feature over bags `(feature, value)`, absent features being zero; the mean square deviation.
///
/// ```
/// assert_eq!(countgrid_text::variances(2, &[vec![(0, 1.0)], vec![(0, 3.0), (1, 2.0)]]), [1.0, 1.0]);
/// ```
#[must_use]
pub fn variances(features: usize, bags: &[Vec<(usize, f64)>]) -> Vec<f64> {
    moments(features, bags).into_iter().map(|(_, variance)| variance).collect()
}

/// Mean and variance of each feature, in two passes.
fn moments(features: usize, bags: &[Vec<(usize, f64)>]) -> Vec<(f64, f64)> {
    let (mut mean, items) = (vec![0.0; features], bags.len().max(1) as f64);
    let entries = || bags.iter().flatten().filter(|&&(feature, _)| feature < features);
    entries().for_each(|&(feature, value)| mean[feature] += value / items);
    let (mut squares, mut stored) = (vec![0.0; features], vec![0usize; features]);
    for &(feature, value) in entries() {
        squares[feature] += (value - mean[feature]) * (value - mean[feature]);
        stored[feature] += 1;
    }
    let absent = |feature: usize| (bags.len() - stored[feature].min(bags.len())) as f64;
    (0..features)
        .map(|feature| {
            let mean = mean[feature];
            (mean, (squares[feature] + absent(feature) * mean * mean) / items)
        })
        .collect()
}
