//! The program `rounds`, spoken to as the scripts in `peers` do.

use std::{
    error::Error,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

/// Sends all commands and returns an answer for each.
fn ask(commands: &[&str]) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut program =
        Command::new(env!("CARGO_BIN_EXE_rounds")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = program.stdin.take().ok_or("no pipe")?;
    writeln!(input, "{}", commands.join("\n"))?;
    drop(input);
    let output = program.wait_with_output()?;
    let answers: Vec<Value> =
        String::from_utf8(output.stdout)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert_eq!(answers.len(), commands.len(), "an answer to each command");
    Ok(answers)
}

fn load<T: npyz::Deserialize>(path: &Path) -> Result<(Vec<u64>, Vec<T>), Box<dyn Error>> {
    let bytes = fs::read(path)?;
    let array = npyz::NpyFile::new(&bytes[..])?;
    Ok((array.shape().to_vec(), array.into_vec()?))
}

#[test]
fn a_race_on_a_small_problem() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let at = folder.path().to_str().ok_or("a path in UTF-8")?;
    let (bags, state, sums) = (format!("bags {at}"), format!("state {at}"), format!("sums {at}"));
    let answers = ask(&[
        "draw 1 bags=30 features=40 side=8 window=3",
        &bags,
        "start 1",
        "bound",
        "run 3",
        "bound",
        "time e_step",
        "time e_step_full",
        &state,
        "time m_step",
        "bound",
        &sums,
        "time iteration",
    ])?;
    assert!(answers.iter().all(|answer| answer["error"].is_null()), "{answers:?}");
    let number = |answer: usize, key: &str| answers[answer][key].as_f64().unwrap_or(f64::NAN);

    let (_, indptr) = load::<i64>(&folder.path().join("indptr.npy"))?;
    let (_, counts) = load::<f32>(&folder.path().join("counts.npy"))?;
    assert_eq!(indptr.len(), 31);
    assert_eq!((indptr[30], number(0, "nonzeros")), (counts.len() as i64, counts.len() as f64));
    assert_eq!(f64::from(counts.iter().sum::<f32>()), number(0, "tokens"));

    // A fit rises, and what is timed is the state that was asked for.
    let bounds: Vec<f64> = serde_json::from_value(answers[4]["bounds"].clone())?;
    assert_eq!((bounds.len(), bounds[0]), (3, number(3, "bound")));
    assert!(bounds[0] < bounds[1] && bounds[2] < number(5, "bound"));
    assert_eq!((number(6, "bound"), number(7, "bound")), (number(5, "bound"), number(5, "bound")));
    assert_eq!(answers[6]["digest"], answers[7]["digest"], "pruning changes no bit");
    assert!(number(10, "bound") > number(5, "bound"), "the M-step had sums of the present grid");
    assert!(number(12, "wall") > 0.0 && number(12, "cpu") >= 0.0);

    let (shape, pi) = load::<f32>(&folder.path().join("pi.npy"))?;
    let (_, log_h) = load::<f32>(&folder.path().join("log_h.npy"))?;
    assert_eq!(shape, [40, 64]);
    for (name, at) in [("pi", &pi), ("h", &log_h.iter().map(|x| x.exp()).collect())] {
        let column: f32 = at.iter().step_by(64).sum();
        assert!((column - 1.0).abs() < 1e-5, "{name} of the first cell adds up to {column}");
    }
    let (shape, table) = load::<f32>(&folder.path().join("table.npy"))?;
    let (_, sums) = load::<f32>(&folder.path().join("sums.npy"))?;
    assert_eq!(shape, [40, 8, 8]);
    let corner: f32 = [0, 1, 2, 8, 9, 10, 16, 17, 18].iter().map(|&cell| table[cell]).sum();
    assert!((sums[0] - corner).abs() < 1e-5);
    Ok(())
}

#[test]
fn a_mistake_is_answered_and_survived() -> Result<(), Box<dyn Error>> {
    let answers = ask(&[
        "start 1",
        "draw 1 side=0",
        "draw one",
        "time flight",
        "",
        "draw 1 bags=5 features=9",
        "run 1",
    ])?;
    assert!(
        answers.iter().enumerate().all(|(at, answer)| answer["error"].is_string() == (at != 5)),
        "{answers:?}"
    );
    Ok(())
}

#[test]
fn dense_counts_are_dense() -> Result<(), Box<dyn Error>> {
    let answers = ask(&["dense 1 bags=50 features=40"])?;
    let nonzeros = answers[0]["nonzeros"].as_u64().ok_or("a number")?;
    assert!((1_700..2_000).contains(&nonzeros), "10 of 11 counts are not zero, of 2,000: {nonzeros}");
    Ok(())
}
