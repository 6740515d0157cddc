//! From posteriors to expected counts: `F_kz += q_tk c_tz` and `m_k += q_tk`. Every entry meets the bags in order,
//! so it does not matter whether counts are added up bag by bag or feature by feature.

use countgrid_counts::{Bags, Count};
use countgrid_em::parallel::{Rows, for_each};
use countgrid_math::{Kernel, Level, Real, dispatch, prefetch};

use super::{
    Source,
    blocks::{Blocks, Lists, QUAD, UniformBlocks, from_index, whole},
};

/// What a chunk found.
pub(super) struct Found<'a, T> {
    pub(super) blocks: Blocks<'a, T>,
    pub(super) mass: &'a [T],      // [bag]
    pub(super) starts: &'a [T],    // [tile], for blocks in lists
    pub(super) spans: &'a mut [T], // [feature][2]; empty if counts are added up bag by bag
}

impl<T: Real> Found<'_, T> {
    /// Adds blocks in lists to the sums of each tile.
    pub(super) fn lists<B: Bags>(self, source: Source<'_, T, B>, sums: &mut [T]) {
        let (tiles, size, mass) = (source.tiles, source.size(), self.mass);
        for_each(tiles, (Lists::new(self.blocks, self.starts), Rows::new(sums, size)), |_, (part, sums)| {
            dispatch(AddListed { sums: sums.elements, source, blocks: part.blocks, mass });
        });
    }

    /// Adds blocks of every bag in every tile.
    pub(super) fn quads<B: Bags>(self, source: Source<'_, T, B>, sums: &mut [T]) {
        let (quads, size, mass) = (source.tiles.div_ceil(QUAD), source.size(), self.mass);
        let blocks = UniformBlocks { blocks: self.blocks, size: QUAD * mass.len() };
        let parts = (blocks, Rows::new(sums, QUAD * size));
        if self.spans.is_empty() {
            for_each(quads, parts, |_, (part, sums)| {
                dispatch(AddDense { sums: sums.elements, source, blocks: part.blocks, mass });
            });
            return;
        }
        find_spans(source, mass.len(), self.spans);
        let spans = &*self.spans;
        for_each(quads, parts, |_, (part, sums)| {
            dispatch(Gather { sums: sums.elements, source, blocks: part.blocks, mass, spans });
        });
    }
}

/// The entries of every feature that belong to a chunk's bags.
fn find_spans<T: Real, B: Bags>(source: Source<'_, T, B>, bags: usize, spans: &mut [T]) {
    for_each(spans.len() / 2, Rows::new(spans, 2), |feature, span| {
        let (owners, _) = source.bags.column(feature).unwrap_or_default();
        let before = |owners: &[u32], end: usize| owners.partition_point(|&bag| (bag as usize) < end);
        let start = if source.first == 0 { 0 } else { before(owners, source.first) };
        let rest = owners.get(start..).unwrap_or_default();
        let end = start + before(rest.get(..bags).unwrap_or(rest), source.first + bags);
        span.elements.copy_from_slice(&[from_index(start), from_index(end)]);
    });
}

/// One bag's posterior in one tile.
#[inline(always)]
fn add<T: Real, C: Count>(sums: &mut [T], e: &[T], mass: T, entries: impl Iterator<Item = (usize, C)>) {
    let lanes = T::LANES;
    let Some((window_mass, sums)) = sums.split_at_mut_checked(lanes) else { return };
    let mut q = T::lanes();
    let q = q.as_mut();
    q.iter_mut().zip(e).for_each(|(q, &e)| *q = e / mass);
    window_mass.iter_mut().zip(&*q).for_each(|(m, &q)| *m += q);
    for (feature, count) in entries {
        let count = count.to_real::<T>();
        let Some(row) = sums.get_mut(feature * lanes..(feature + 1) * lanes) else { continue };
        row.iter_mut().zip(&*q).for_each(|(f, &q)| *f += count * q);
    }
}

/// Blocks of one tile, bag by bag.
struct AddListed<'a, T, B> {
    sums: &'a mut [T], // [row][lane]
    source: Source<'a, T, B>,
    blocks: Blocks<'a, T>,
    mass: &'a [T], // [bag]
}

impl<T: Real, B: Bags> Kernel for AddListed<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Blocks { scores, peaks, owners, .. } = self.blocks;
        super::score::prefetch_tile(self.sums, peaks.len());
        for ((e, &alive), &owner) in scores.chunks_exact(T::LANES).zip(&*peaks).zip(&*owners) {
            let bag = whole(owner);
            if alive > T::zero()
                && let Some(&mass) = self.mass.get(bag)
            {
                add(self.sums, e, mass, self.source.entries(bag));
            }
        }
    }
}

/// Blocks of all bags in a quad, bag by bag.
struct AddDense<'a, T, B> {
    sums: &'a mut [T], // [tile][row][lane]
    source: Source<'a, T, B>,
    blocks: Blocks<'a, T>,
    mass: &'a [T], // [bag]
}

impl<T: Real, B: Bags> Kernel for AddDense<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        /// Bags from one whose block is added to the one whose block is fetched: mostly some of those between have none.
        const AHEAD: usize = 32;
        let Blocks { scores, peaks, .. } = self.blocks;
        let width = peaks.len() / self.mass.len().max(1);
        for (tile, sums) in self.sums.chunks_exact_mut(self.source.size()).enumerate() {
            super::score::prefetch_tile(sums, self.mass.len());
            let blocks = scores.chunks_exact(width * T::LANES).zip(peaks.chunks_exact(width));
            for (bag, ((block_scores, alive), &mass)) in blocks.zip(self.mass).enumerate() {
                let next = (bag + AHEAD) * width + tile;
                if peaks.get(next).is_some_and(|&alive| alive > T::zero()) {
                    prefetch(scores, next * T::LANES);
                }
                if alive.get(tile).is_some_and(|&alive| alive > T::zero())
                    && let Some(e) = block_scores.get(tile * T::LANES..(tile + 1) * T::LANES)
                {
                    add(sums, e, mass, self.source.entries(bag));
                }
            }
        }
    }
}

/// The same feature by feature: an entry of the sums stays in registers while the bags go by, and a feature's few
/// bags are looked up once for all tiles of the quad.
struct Gather<'a, T, B> {
    sums: &'a mut [T], // [tile][row][lane]
    source: Source<'a, T, B>,
    blocks: Blocks<'a, T>,
    mass: &'a [T],  // [bag]
    spans: &'a [T], // [feature][2]
}

impl<T: Real, B: Bags> Kernel for Gather<'_, T, B> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { sums, source, blocks, mass, spans } = self;
        let (lanes, size) = (T::LANES, source.size());
        let Blocks { scores, peaks, .. } = blocks;
        let width = peaks.len() / mass.len().max(1);
        let mut window_mass = [T::lanes(); QUAD];
        for (m, sums) in window_mass.iter_mut().zip(sums.chunks_exact(size)) {
            m.as_mut().iter_mut().zip(sums).for_each(|(m, &sum)| *m = sum);
        }
        let rows = scores.chunks_exact_mut(width * lanes).zip(peaks.chunks_exact(width)).zip(mass);
        for ((q, alive), &mass) in rows {
            for ((q, &alive), m) in q.chunks_exact_mut(lanes).zip(alive).zip(&mut window_mass) {
                if alive > T::zero() {
                    q.iter_mut().for_each(|q| *q /= mass);
                } else {
                    q.fill(T::zero()); // what will be added changes nothing
                }
                m.as_mut().iter_mut().zip(&*q).for_each(|(m, &q)| *m += q);
            }
        }
        for (m, sums) in window_mass.iter().zip(sums.chunks_exact_mut(size)) {
            sums.iter_mut().zip(m.as_ref()).for_each(|(sum, &m)| *sum = m);
        }
        match width {
            1 => gather::<T, B, 1>(sums, source, spans, scores),
            2 => gather::<T, B, 2>(sums, source, spans, scores),
            3 => gather::<T, B, 3>(sums, source, spans, scores),
            _ => gather::<T, B, QUAD>(sums, source, spans, scores),
        }
    }
}

/// `F += c q` in the lanes of a tile.
#[inline(always)]
fn add_row<T: Real>(f: &mut T::Lanes, count: T, q: &T::Lanes) {
    f.as_mut().iter_mut().zip(q.as_ref()).for_each(|(f, &q)| *f += count * q);
}

#[inline(always)]
fn gather<T: Real, B: Bags, const N: usize>(
    sums: &mut [T],
    source: Source<'_, T, B>,
    spans: &[T],
    q: &[T], // [bag][tile][lane]
) {
    let (lanes, size, q) = (T::LANES, source.size(), T::rows(q).as_chunks::<N>().0);
    for (feature, span) in spans.chunks_exact(2).enumerate() {
        let span = whole(span[0])..whole(span[1]);
        let Some((owners, counts)) = source.bags.column(feature) else { return };
        let (Some(owners), Some(counts)) = (owners.get(span.clone()), counts.get(span)) else { return };
        let row = (1 + feature) * lanes;
        let mut f = [T::lanes(); N];
        for (tile, f) in f.iter_mut().enumerate() {
            if let Some(sums) = sums.get(tile * size + row..tile * size + row + lanes) {
                f.as_mut().copy_from_slice(sums);
            }
        }
        for (&owner, &count) in owners.iter().zip(counts) {
            let count = count.to_real::<T>();
            let Some(q) = q.get(owner as usize - source.first) else { continue };
            if let ([f0, f1, f2, f3], [q0, q1, q2, q3]) = (&mut f[..], &q[..]) {
                // Spelled out: of a loop over tiles, compilers for 512 bits make vectors of one lane of each.
                add_row::<T>(f0, count, q0);
                add_row::<T>(f1, count, q1);
                add_row::<T>(f2, count, q2);
                add_row::<T>(f3, count, q3);
            } else {
                f.iter_mut().zip(q).for_each(|(f, q)| add_row::<T>(f, count, q));
            }
        }
        for (tile, f) in f.iter().enumerate() {
            if let Some(sums) = sums.get_mut(tile * size + row..tile * size + row + lanes) {
                sums.copy_from_slice(f.as_ref());
            }
        }
    }
}
