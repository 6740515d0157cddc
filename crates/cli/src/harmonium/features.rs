//! The numeric features of a dual wing: read, matched with documents, standardised.

use std::{collections::HashMap, path::Path};

use crate::{corpus::Entry, failure::Failure, harmonium::FeatureArgs};

/// Mean and standard deviation of each feature.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standardizer {
    pub(crate) names: Vec<String>,
    pub(crate) means: Vec<f64>,
    pub(crate) deviations: Vec<f64>, // finite, above 0
}

impl Standardizer {
    /// Of values `[document][feature]`.
    pub(crate) fn fit(names: Vec<String>, values: &[f64]) -> Result<Self, Failure> {
        let (columns, rows) = (names.len(), (values.len() / names.len().max(1)) as f64);
        let column = |c: usize| values.iter().skip(c).step_by(columns.max(1));
        let means: Vec<_> = (0..columns).map(|c| column(c).sum::<f64>() / rows).collect();
        let spread = |(c, mean): (usize, &f64)| {
            (column(c).map(|x| (x - mean) * (x - mean)).sum::<f64>() / rows).sqrt()
        };
        let deviations: Vec<_> = means.iter().enumerate().map(spread).collect();
        for (name, deviation) in names.iter().zip(&deviations) {
            if !(*deviation > 0.0 && deviation.is_finite()) {
                return Err(Failure::new(
                    format_args!("the feature `{name}` has the standard deviation {deviation}"),
                    "leave it out: name the others with --feature-columns",
                ));
            }
        }
        Ok(Self { names, means, deviations })
    }

    /// Values less their mean, in standard deviations.
    pub(crate) fn apply(&self, values: &mut [f64]) {
        for row in values.chunks_exact_mut(self.names.len().max(1)) {
            for ((x, mean), deviation) in row.iter_mut().zip(&self.means).zip(&self.deviations) {
                *x = (*x - mean) / deviation;
            }
        }
    }
}

/// Features of documents `[document][feature]` and their names: those `wanted`, or what the options say.
pub(crate) fn read(
    path: &Path,
    args: &FeatureArgs,
    id_column: Option<&str>,
    wanted: &[String],
    entries: &[Entry],
) -> Result<(Vec<String>, Vec<f64>), Failure> {
    let shown = path.display();
    let broken = |error: csv::Error| {
        Failure::new(
            format_args!("{shown}: {error}"),
            "name a CSV or TSV table with a header (--features-from)",
        )
    };
    let tabs = path.extension().is_some_and(|extension| extension == "tsv");
    let mut table = csv::ReaderBuilder::new()
        .delimiter(if tabs { b'\t' } else { b',' })
        .from_path(path)
        .map_err(broken)?;
    let header: Vec<String> = table.headers().map_err(broken)?.iter().map(str::to_owned).collect();
    let find = |name: &str| header.iter().position(|column| column == name);
    let id = match id_column {
        Some(name) => Some(find(name).ok_or_else(|| missing(path, name, &header))?),
        None => find("id"),
    };
    let chosen = if wanted.is_empty() { &args.feature_columns } else { wanted };
    let columns: Vec<usize> = match chosen.is_empty() {
        true => (0..header.len()).filter(|&column| Some(column) != id).collect(),
        false => {
            let found = chosen.iter().map(|name| find(name).ok_or_else(|| missing(path, name, &header)));
            found.collect::<Result<_, _>>()?
        }
    };
    if columns.is_empty() {
        return Err(Failure::new(
            format_args!("{shown}: no column is a feature"),
            "name them with --feature-columns",
        ));
    }
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut row_of: HashMap<String, usize> = HashMap::new();
    for record in table.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let number = |&column: &usize| {
            let field = record.get(column).unwrap_or_default();
            field.trim().parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| {
                Failure::new(
                    format_args!("{shown}, line {line}, column `{}`: `{field}` is no number", header[column]),
                    "mend it, or name the columns of numbers with --feature-columns",
                )
            })
        };
        rows.push(columns.iter().map(number).collect::<Result<_, _>>()?);
        if let Some(key) = id.and_then(|id| record.get(id))
            && row_of.insert(key.to_owned(), rows.len() - 1).is_some()
        {
            return Err(Failure::new(
                format_args!("{shown}, line {line}: the id `{key}` is there twice"),
                "give each document one row of features",
            ));
        }
    }
    let names = columns.iter().map(|&column| header[column].clone()).collect();
    if id.is_none() && rows.len() != entries.len() {
        return Err(Failure::new(
            format_args!(
                "{shown}: {} rows for {} documents, and no column of ids",
                rows.len(),
                entries.len()
            ),
            "give it the column of the documents' ids, or a row for each document in their order",
        ));
    }
    let mut values = Vec::with_capacity(entries.len() * columns.len());
    for (place, entry) in entries.iter().enumerate() {
        let row = if id.is_some() { row_of.get(&entry.id).copied() } else { Some(place) };
        let row = row.and_then(|row| rows.get(row)).ok_or_else(|| {
            Failure::new(
                format_args!("{shown}: no row for the document `{}`", entry.id),
                "give each document a row of features",
            )
        })?;
        values.extend(row);
    }
    Ok((names, values))
}

fn missing(path: &Path, name: &str, header: &[String]) -> Failure {
    Failure::new(
        format_args!("{}: no column `{name}`", path.display()),
        format_args!("it has the columns {}", header.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::Standardizer;

    #[test]
    fn standard_features_have_mean_0_and_variance_1() {
        let mut values = vec![1.0, -2.0, 3.0, 4.0, 5.0, 10.0];
        let standard = Standardizer::fit(vec!["a".into(), "b".into()], &values).unwrap();
        standard.apply(&mut values);
        for c in 0..2 {
            let own: Vec<f64> = values.iter().skip(c).step_by(2).copied().collect();
            // Sums of three numbers up to 2: rounding stays below 1e-14.
            assert!(own.iter().sum::<f64>().abs() < 1e-14);
            assert!((own.iter().map(|x| x * x).sum::<f64>() - 3.0).abs() < 1e-14);
        }
        assert!(Standardizer::fit(vec!["same".into()], &[2.0, 2.0]).is_err());
    }
}
