//! Arrays as NumPy reads them: `.npy` files.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use countgrid_counts::CsrBuf;
use npyz::{AutoSerialize, WriterBuilder};

/// Writes `values`, row-major, as an array of the given shape.
///
/// # Errors
/// Those of the file; a shape of another number of elements.
pub fn save<T: AutoSerialize>(
    path: &Path,
    shape: &[usize],
    values: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let shape: Vec<u64> = shape.iter().map(|&extent| extent as u64).collect();
    let mut file = BufWriter::new(File::create(path)?);
    let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut file).begin_nd()?;
    array.extend(values)?;
    array.finish()?;
    file.flush()
}

/// Writes bags as the three arrays of compressed sparse rows: `indptr.npy` `[bag + 1]`, `indices.npy` and
/// `counts.npy` `[nonzero]`, into a folder that exists.
///
/// # Errors
/// Those of the files.
pub fn save_bags(folder: &Path, bags: &CsrBuf<f32>) -> io::Result<()> {
    let nonzeros = bags.indices().len();
    save(&folder.join("indptr.npy"), &[bags.offsets().len()], bags.offsets().iter().map(|&at| at as i64))?;
    save(&folder.join("indices.npy"), &[nonzeros], bags.indices().iter().map(|&feature| feature as i32))?;
    save(&folder.join("counts.npy"), &[nonzeros], bags.counts().iter().copied())
}

/// Reads what [`save_bags`] wrote, of whole counts.
///
/// # Errors
/// Those of the files, and of [`CsrBuf::from_parts`].
pub fn read_bags(folder: &Path, features: usize) -> Result<CsrBuf<u32>, Box<dyn std::error::Error>> {
    fn read<T: npyz::Deserialize>(folder: &Path, name: &str) -> io::Result<Vec<T>> {
        npyz::NpyFile::new(io::BufReader::new(File::open(folder.join(name))?))?.into_vec()
    }
    let offsets = read::<i64>(folder, "indptr.npy")?.into_iter().map(|at| at as usize).collect();
    let indices = read::<i32>(folder, "indices.npy")?.into_iter().map(|feature| feature as u32).collect();
    let counts = read::<f32>(folder, "counts.npy")?.into_iter().map(|count| count as u32).collect();
    Ok(CsrBuf::from_parts(features, offsets, indices, counts)?)
}
