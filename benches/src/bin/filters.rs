//! One side of a race of box filters: reads commands, a line each, and answers each with a line of JSON.
//!
//! | command | what it does |
//! |---|---|
//! | `time u8 AXES SIDE RADIUS`, `time f32 ...` | means over windows of `2 RADIUS + 1` cells along each of `AXES` axes |
//! | `time imageproc AXES SIDE RADIUS` | the same of a plane of bytes by imageproc |
//! | `write u8 AXES SIDE RADIUS FILE` | writes the table and the means as bytes, one after the other |
//! | `machine` | instruction set |
//!
//! Tables have `SIDE` cells along each axis; borders replicate the last cell.
#![forbid(unsafe_code)]

use std::{
    error::Error,
    fs,
    io::{self, BufRead, Write},
};

use countgrid_benches::{Seconds, timed};
use countgrid_prefix::{Border, BoxFilter, Table, TableMut};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = answer(&words).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        let mut out = io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(words: &[&str]) -> Outcome<Value> {
    let (command, what, rest) = match *words {
        ["machine"] => return Ok(json!({ "level": countgrid_math::level().name() })),
        [command, what, ref rest @ ..] => (command, what, rest),
        _ => return Err("no command".into()),
    };
    let [axes, side, radius] = [0, 1, 2].map(|n| rest.get(n).and_then(|word| word.parse::<usize>().ok()));
    let (Some(axes), Some(side), Some(radius)) = (axes, side, radius) else {
        return Err("three numbers".into());
    };
    let file = if command == "write" { rest.get(3).copied() } else { None };
    let seconds = match (what, axes) {
        ("u8", 2) => bytes([side; 2], radius, file)?,
        ("u8", 3) => bytes([side; 3], radius, file)?,
        ("f32", 2) => floats([side; 2], radius)?,
        ("f32", 3) => floats([side; 3], radius)?,
        ("imageproc", 2) => imageproc(side, radius)?,
        _ => return Err("no such filter".into()),
    };
    Ok(json!({ "wall": seconds.wall, "cpu": seconds.cpu }))
}

fn table(cells: usize) -> Vec<u8> {
    (0..cells as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

/// The best of a few runs; the first one meets no warm caches.
fn best(mut work: impl FnMut() -> Outcome<()>) -> Outcome<Seconds> {
    let mut best = Seconds { wall: f64::INFINITY, cpu: f64::INFINITY };
    for _ in 0..5 {
        let (result, seconds) = timed(&mut work);
        result?;
        best = Seconds { wall: best.wall.min(seconds.wall), cpu: best.cpu.min(seconds.cpu) };
    }
    Ok(best)
}

fn bytes<const D: usize>(extents: [usize; D], radius: usize, file: Option<&str>) -> Outcome<Seconds> {
    let image = table(extents.iter().product());
    let filter = BoxFilter::with_radii([radius; D])?.with_border(Border::Replicate);
    let mut means = vec![0_u8; image.len()];
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    if filter.volume() <= 257 {
        narrow.resize(filter.scratch_len::<u16>(extents, 1), 0_u16);
    } else {
        wide.resize(filter.scratch_len::<u32>(extents, 1), 0_u32);
    }
    let seconds = best(|| {
        let (image, means) = (Table::new(&image, extents)?, TableMut::new(&mut means, extents)?);
        match filter.volume() {
            ..=257 => filter.means(image, means, &mut narrow)?,
            _ => filter.means(image, means, &mut wide)?,
        }
        Ok(())
    })?;
    if let Some(file) = file {
        fs::write(file, [image, means].concat())?;
    }
    Ok(seconds)
}

fn floats<const D: usize>(extents: [usize; D], radius: usize) -> Outcome<Seconds> {
    let image: Vec<f32> = table(extents.iter().product()).into_iter().map(f32::from).collect();
    let filter = BoxFilter::with_radii([radius; D])?.with_border(Border::Replicate);
    let (mut means, mut scratch) =
        (vec![0_f32; image.len()], vec![0_f32; filter.scratch_len::<f32>(extents, 1)]);
    best(|| {
        Ok(filter.means(Table::new(&image, extents)?, TableMut::new(&mut means, extents)?, &mut scratch)?)
    })
}

fn imageproc(side: usize, radius: usize) -> Outcome<Seconds> {
    let (side, radius) = (u32::try_from(side)?, u32::try_from(radius)?);
    let cells = side as usize * side as usize;
    let image = image::GrayImage::from_raw(side, side, table(cells)).ok_or("too few pixels")?;
    best(|| {
        std::hint::black_box(imageproc::filter::box_filter(&image, radius, radius));
        Ok(())
    })
}
