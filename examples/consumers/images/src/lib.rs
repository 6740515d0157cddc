//! Smoothing and local contrast of grey images, `[row][column]`, by box filters whose time does not depend on the radius.

use countgrid_prefix::{Border, BoxFilter, FilterError, Moments, Table, TableMut};

/// The window of a pixel: the pixels at most `radius` rows and columns away, of which the image continues as `border` says.
fn filter(radius: usize, border: Border) -> Result<BoxFilter<2>, FilterError> {
    Ok(BoxFilter::with_radii([radius; 2])?.with_border(border))
}

/// The mean around every pixel, rounded to the nearest, halves up.
///
/// # Errors
/// An image whose length is not `height * width`, or a window too large for its sums to be formed in 32 bits.
pub fn smooth(
    image: &[u8],
    [height, width]: [usize; 2],
    radius: usize,
    border: Border,
) -> Result<Vec<u8>, FilterError> {
    let (filter, extents) = (filter(radius, border)?, [height, width]);
    let mut scratch = vec![0_u32; filter.scratch_len::<u32>(extents, 1)];
    let mut means = vec![0; image.len()];
    filter.means(Table::new(image, extents)?, TableMut::new(&mut means, extents)?, &mut scratch)?;
    Ok(means)
}

/// How far every pixel is from the mean around it, in standard deviations there: 0 where all pixels are equal.
///
/// # Errors
/// As [`smooth`].
pub fn contrast(image: &[f32], extents: [usize; 2], radius: usize) -> Result<Vec<f32>, FilterError> {
    let filter = filter(radius, Border::Clip)?;
    let table = Table::new(image, extents)?;
    let (mut means, mut variances) = (vec![0.0_f32; image.len()], vec![0.0_f32; image.len()]);

    let mut scratch = vec![0.0_f64; filter.scratch_len::<f64>(extents, 1)];
    filter.means(table, TableMut::new(&mut means, extents)?, &mut scratch)?;
    let mut scratch = vec![Moments::<f64>::default(); filter.scratch_len::<Moments<f64>>(extents, 1)];
    filter.variances(table, TableMut::new(&mut variances, extents)?, &mut scratch)?;

    let standardised = |((&x, &mean), &variance): ((&f32, &f32), &f32)| {
        if variance > 0.0 { (x - mean) / variance.sqrt() } else { 0.0 }
    };
    Ok(image.iter().zip(&means).zip(&variances).map(standardised).collect())
}
