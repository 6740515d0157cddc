//! The posterior of one bag: `q(theta) = Dirichlet(gamma)`, and of the tokens of a feature `q(l)`.
//!
//! With `x_l = exp(ψ(gamma_l) - max ψ)` and `d_z = Σ_l x_l h_lz` the optimal `q(l | z)` is `x_l h_lz / d_z`, so that a
//! sweep
//!
//! ```text
//! gamma_l <- alpha_l + x_l Σ_z (c_z / d_z) h_lz
//! ```
//!
//! takes two products with the row `h_z` of every feature that the bag has, and never forms `q`.
//!
//! `exp(ψ(gamma))` falls off as `exp(-1/gamma)`: windows with few of the bag's tokens soon have no weight. Those of less
//! than [`least_share`] of the best are left out, by tiles of neighbours: their `gamma` is `alpha` and their tiles are read
//! no more. Of a feature with `left Σ_l h_lz ≤ u d_z`, where `left` is the largest weight of any window left out, that is
//! less than a rounding of `d_z` and of its tokens. If a feature fails that test, all windows come back for the sweep; one
//! whose `d_z` may still have underflowed goes by logarithms.

use bytemuck::{try_cast_slice, try_cast_slice_mut};
use countgrid_counts::{Bags, Count};
use countgrid_math::{
    Floats, FloatsMut, Kernel, Level, Real, digamma, digamma_slice, dispatch, exp, fold_lanes, ln, ln_gamma,
    max,
};

use super::Inference;

/// Numbers kept of a bag: each a sum of two, so that f32 holds them to twice its precision.
const RESULTS: usize = 16;

/// Elements of one bag's scratch.
pub(crate) const fn scratch_len<T: Real>(tiles: usize) -> usize {
    tiles.saturating_mul(4 * T::LANES) + tiles.next_multiple_of(T::LANES) + RESULTS
}

/// One bag's scratch.
pub(crate) struct Document<'a, T> {
    pub(crate) gamma: &'a mut [T],    // [slot]
    pub(crate) logs: &'a mut [T],     // [active tile][lane], ψ(gamma) less the best
    pub(crate) shares: &'a mut [T],   // [active tile][lane], x; zero where it is left out
    pub(crate) sums: &'a mut [T],     // [active tile][lane]
    pub(crate) active: &'a mut [u32], // [active tile], ascending; as many as there are
    pub(crate) results: &'a mut [T],  // RESULTS
}

impl<'a, T: Real> Document<'a, T> {
    /// A bag in scratch of at least [`scratch_len`] elements.
    pub(crate) fn new(tiles: usize, mut scratch: &'a mut [T]) -> Self {
        let mut take = |len: usize| {
            let (row, rest) = core::mem::take(&mut scratch).split_at_mut_checked(len).unwrap_or_default();
            scratch = rest;
            row
        };
        let slots = tiles * T::LANES;
        let [gamma, logs, shares, sums] = [(); 4].map(|()| take(slots));
        let active = match T::floats_mut(take(tiles.next_multiple_of(T::LANES))) {
            FloatsMut::Single(list) => try_cast_slice_mut(list),
            FloatsMut::Double(list) => try_cast_slice_mut(list),
        };
        let active = active.unwrap_or_default().get_mut(..tiles).unwrap_or_default();
        Self { gamma, logs, shares, sums, active, results: take(RESULTS) }
    }
}

/// What inference left in a bag's scratch, to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights<'a, T> {
    pub(crate) gamma: &'a [T],
    pub(crate) logs: &'a [T],
    pub(crate) shares: &'a [T],
    pub(crate) active: &'a [u32],
    pub(crate) left: T,
}

impl<'a, T: Real> Weights<'a, T> {
    /// Of a bag's scratch, with what [`Inferred::read`] gives of it.
    pub(crate) fn read(tiles: usize, scratch: &'a [T]) -> (Self, Inferred) {
        let slots = tiles * T::LANES;
        let row = |row: usize| scratch.get(row * slots..(row + 1) * slots).unwrap_or_default();
        let list = tiles.next_multiple_of(T::LANES);
        let rest = scratch.get(4 * slots..).unwrap_or_default();
        let found = Inferred::read(rest.get(list..list + RESULTS).unwrap_or_default());
        let active = match T::floats(rest.get(..list).unwrap_or_default()) {
            Floats::Single(list) => try_cast_slice(list),
            Floats::Double(list) => try_cast_slice(list),
        };
        let count = found.active.min(tiles);
        let active = active.unwrap_or_default().get(..count).unwrap_or_default();
        let of_active = |row: &'a [T]| row.get(..count * T::LANES).unwrap_or_default();
        let (gamma, logs, shares) = (row(0), of_active(row(1)), of_active(row(2)));
        (Self { gamma, logs, shares, active, left: T::from_f64(found.left) }, found)
    }
}

/// How inference ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Inferred {
    pub(crate) bound: f64,     // evidence lower bound; not finite if the counts are too large
    pub(crate) log_theta: f64, // Σ_l E[ln theta_l]
    pub(crate) sweeps: usize,
    pub(crate) converged: bool,
    pub(crate) active: usize,             // tiles
    pub(crate) left: f64,                 // the largest weight that was left out
    pub(crate) impossible: Option<usize>, // a feature of the bag that no window has
}

impl Inferred {
    pub(crate) fn write<T: Real>(&self, results: &mut [T]) {
        let impossible = self.impossible.map_or(0.0, |feature| feature as f64 + 1.0);
        let converged = if self.converged { 1.0 } else { 0.0 };
        let (sweeps, active) = (self.sweeps as f64, self.active as f64);
        let numbers = [self.bound, self.log_theta, sweeps, converged, active, self.left, impossible];
        for (pair, number) in results.chunks_exact_mut(2).zip(numbers) {
            let high = T::from_f64(number);
            pair.copy_from_slice(&[high, T::from_f64(number - high.to_f64())]);
        }
    }

    /// What is not finite stays so.
    pub(crate) fn read<T: Real>(results: &[T]) -> Self {
        let mut numbers = [f64::NAN; 7];
        for (number, pair) in numbers.iter_mut().zip(results.chunks_exact(2)) {
            *number = pair.iter().fold(0.0, |sum, &x| sum + x.to_f64());
        }
        let [bound, log_theta, sweeps, converged, active, left, impossible] = numbers;
        Self {
            bound,
            log_theta,
            sweeps: sweeps as usize,
            converged: converged > 0.0,
            active: active as usize,
            left,
            impossible: if impossible >= 1.0 { Some(impossible as usize - 1) } else { None },
        }
    }
}

/// Sums over `alpha` that all bags share, in f64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    pub(crate) total: f64,   // A
    pub(crate) digamma: f64, // Σ_l ψ(alpha_l)
}

/// A bag of a data set under a model.
#[derive(Debug)]
pub(crate) struct Source<'a, T, B> {
    pub(crate) alpha: &'a [T],  // [slot]
    pub(crate) h: &'a [T],      // [feature][slot]
    pub(crate) totals: &'a [T], // [feature]
    pub(crate) windows: usize,
    pub(crate) bags: &'a B,
    pub(crate) bag: usize,
}

impl<T, B> Clone for Source<'_, T, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, B> Copy for Source<'_, T, B> {}

/// Weights below it are left out: far below a rounding, since `exp(-1/gamma)` falls off so steeply that little is to be
/// had by a larger one, while the test of what was left out then hardly ever fails.
#[inline(always)]
fn least_share<T: Real>() -> T {
    T::UNIT_ROUNDOFF * T::UNIT_ROUNDOFF
}

/// Below it, `d_z` may have lost more than a rounding to products that underflowed.
#[inline(always)]
fn least_mass<T: Real>() -> T {
    T::FLOOR / T::UNIT_ROUNDOFF / T::UNIT_ROUNDOFF
}

/// A function of numbers many of which are equal to the one before.
struct Repeated<F> {
    function: F,
    last: (f64, f64),
}

impl<F: Fn(f64) -> f64> Repeated<F> {
    fn new(function: F) -> Self {
        Self { function, last: (f64::NAN, f64::NAN) }
    }

    fn at(&mut self, x: f64) -> f64 {
        if x != self.last.0 {
            self.last = (x, (self.function)(x));
        }
        self.last.1
    }
}

/// One feature of a bag.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a, T> {
    pub(crate) feature: usize,
    pub(crate) h: &'a [T], // [slot]
    pub(crate) count: T,
    total: T, // Σ_l h_lz
}

impl<'a, T: Real, B: Bags> Source<'a, T, B> {
    /// The bag's features.
    #[inline(always)]
    pub(crate) fn rows(self) -> impl Iterator<Item = Entry<'a, T>> {
        let slots = self.alpha.len();
        self.bags.entries(self.bag).map(move |(feature, count)| {
            let start = feature.saturating_mul(slots);
            Entry {
                feature,
                h: self.h.get(start..start.saturating_add(slots)).unwrap_or_default(),
                count: count.to_real(),
                total: self.totals.get(feature).copied().unwrap_or(T::zero()),
            }
        })
    }

    /// `Σ alpha_l` and `Σ ψ(alpha_l)`.
    pub(crate) fn prior(self) -> Prior {
        let (mut total, mut sum, mut psi) = (0.0, 0.0, Repeated::new(digamma::<f64>));
        for &alpha in self.alpha.iter().filter(|&&alpha| alpha > T::zero()) {
            total += alpha.to_f64();
            sum += psi.at(alpha.to_f64());
        }
        Prior { total, digamma: sum }
    }

    /// `gamma_l = alpha_l + N / P`.
    pub(crate) fn start(self, gamma: &mut [T]) {
        let even = T::from_f64(self.bags.total(self.bag) / self.windows as f64);
        for (gamma, &alpha) in gamma.iter_mut().zip(self.alpha) {
            *gamma = if alpha > T::zero() { alpha + even } else { T::zero() };
        }
    }

    /// Sweeps until `gamma` stands still; weights and bound are those of the last `gamma`.
    pub(crate) fn infer(
        self,
        inference: Inference,
        prior: &Prior,
        document: &mut Document<'_, T>,
    ) -> Inferred {
        let tokens = self.bags.total(self.bag);
        let mut found = Inferred::default();
        if let Some(entry) = self.rows().find(|entry| !(entry.total > T::zero())) {
            found.impossible = Some(entry.feature);
            return found;
        }
        if !(tokens > 0.0) {
            document.gamma.iter_mut().zip(self.alpha).for_each(|(gamma, &alpha)| *gamma = alpha);
            found.converged = true;
            found.log_theta = prior.digamma - self.windows as f64 * digamma(prior.total);
            return found;
        }
        // Tiles where gamma is alpha begin outside; if they matter, the first weighing brings them in.
        let mut active = Active::new(self.alpha, document);
        while !found.converged && found.sweeps < inference.sweeps {
            active.weigh(document, true);
            let change = active.sweep(self, document);
            found.converged = change <= inference.tolerance * tokens;
            found.sweeps += 1;
        }
        active.weigh(document, true);
        let (mut psi, mut log_gamma) = (Repeated::new(digamma::<f64>), Repeated::new(ln_gamma::<f64>));
        let (mut total, mut bound) = (prior.total, ln_gamma(prior.total));
        found.log_theta = prior.digamma;
        for (&tile, logs) in active.list(document).iter().zip(document.logs.chunks_exact(T::LANES)) {
            let (gamma, alpha) = (lanes(document.gamma, tile), lanes(self.alpha, tile));
            for ((&gamma, &alpha), &log) in gamma.iter().zip(alpha).zip(logs) {
                let (gamma, alpha) = (gamma.to_f64(), alpha.to_f64());
                if gamma != alpha {
                    total += gamma - alpha;
                    bound += ln_gamma(gamma) - log_gamma.at(alpha) - (gamma - alpha) * log.to_f64();
                    found.log_theta += log.to_f64() + active.best.to_f64() - psi.at(alpha);
                }
            }
        }
        active.drop_tiles(document);
        bound += active.expected(self, document);
        // Relative to the best weight both: ψ(Σ gamma) and the best cancel, as Σ (gamma - alpha) = N.
        found.bound = bound - ln_gamma(total);
        found.log_theta -= self.windows as f64 * digamma(total);
        (found.active, found.left) = (active.count, active.left.to_f64());
        found
    }

    /// Expected tokens of active windows, `x_l Σ_z (c_z / d_z) h_lz`, in `sums`, after [`Source::infer`].
    pub(crate) fn tokens(self, found: &Inferred, document: &mut Document<'_, T>) {
        let active = Active {
            count: found.active,
            largest: T::zero(),
            best: T::zero(),
            left: T::from_f64(found.left),
        };
        let is_complete = active.sums(self, document);
        let Document { shares, sums, .. } = &mut *document;
        sums.iter_mut().zip(&**shares).for_each(|(sum, &share)| *sum = share * *sum);
        if !is_complete {
            add_left(active.left, self, document); // all tiles are active: the bound needed them
        }
    }
}

/// The lanes of a tile in a plane of slots.
#[inline(always)]
fn lanes<T: Real>(plane: &[T], tile: u32) -> &[T] {
    let start = tile as usize * T::LANES;
    plane.get(start..start + T::LANES).unwrap_or_default()
}

#[inline(always)]
fn lanes_mut<T: Real>(plane: &mut [T], tile: u32) -> &mut [T] {
    let start = tile as usize * T::LANES;
    plane.get_mut(start..start + T::LANES).unwrap_or_default()
}

/// Tiles that are read, and what is known of the others.
struct Active<T> {
    count: usize,
    largest: T, // of alpha where gamma is alpha because the tile was left out
    best: T,    // max ψ(gamma)
    left: T,    // the largest weight left out
}

impl<T: Real> Active<T> {
    fn new(alpha: &[T], document: &mut Document<'_, T>) -> Self {
        let mut active = Self { count: 0, largest: T::zero(), best: T::zero(), left: T::zero() };
        let tiles = document.gamma.chunks_exact(T::LANES).zip(alpha.chunks_exact(T::LANES));
        for (tile, (gamma, alpha)) in tiles.enumerate() {
            if gamma == alpha {
                active.largest = largest(active.largest, alpha);
            } else if let Some(place) = document.active.get_mut(active.count) {
                *place = tile as u32;
                active.count += 1;
            }
        }
        active
    }

    fn all(&mut self, document: &mut Document<'_, T>) {
        document.active.iter_mut().enumerate().for_each(|(tile, place)| *place = tile as u32);
        (self.count, self.largest) = (document.active.len(), T::zero());
    }

    fn list<'a>(&self, document: &'a Document<'_, T>) -> &'a [u32] {
        document.active.get(..self.count).unwrap_or_default()
    }

    /// `logs` and `shares` of the active tiles. With `sparse` leaves weights below [`least_share`] out, and brings all
    /// tiles back if one left out has more by now; without it leaves out what would underflow.
    fn weigh(&mut self, document: &mut Document<'_, T>, sparse: bool) {
        let outside = loop {
            let Document { gamma, logs, active, .. } = &mut *document;
            let list = active.get(..self.count).unwrap_or_default();
            for (&tile, logs) in list.iter().zip(logs.chunks_exact_mut(T::LANES)) {
                logs.iter_mut().zip(lanes(gamma, tile)).for_each(|(log, &gamma)| *log = gamma);
            }
            let logs = logs.get_mut(..self.count * T::LANES).unwrap_or_default();
            digamma_slice(logs);
            self.best = max(logs);
            if !(self.largest > T::zero()) {
                break T::zero();
            }
            let outside = exp(psi(self.largest) - self.best);
            if !sparse || outside < least_share() {
                break outside;
            }
            self.all(document);
        };
        let Document { logs, shares, .. } = document;
        let logs = logs.get_mut(..self.count * T::LANES).unwrap_or_default();
        let shares = shares.get_mut(..self.count * T::LANES).unwrap_or_default();
        let least = if sparse { least_share() } else { T::FLOOR / T::UNIT_ROUNDOFF };
        let left = dispatch(Weigh { logs, shares, best: self.best, least });
        self.left = if left > outside { left } else { outside };
    }

    /// Takes tiles without weight off the list.
    fn drop_tiles(&mut self, document: &mut Document<'_, T>) {
        let Document { logs, shares, active, .. } = document;
        let mut kept = 0;
        for place in 0..self.count {
            let (from, to) = (place * T::LANES, kept * T::LANES);
            let own = shares.get(from..from + T::LANES).unwrap_or_default();
            if own.iter().any(|&share| share > T::zero()) {
                if kept < place {
                    shares.copy_within(from..from + T::LANES, to);
                    logs.copy_within(from..from + T::LANES, to);
                    active.copy_within(place..place + 1, kept);
                }
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Sets `gamma` to `alpha` in tiles that are off the list, where it is something else since a sweep. Returns by how
    /// much in all.
    fn reset_dropped(&mut self, alpha: &[T], document: &mut Document<'_, T>) -> f64 {
        let Document { gamma, active, .. } = document;
        let (mut kept, mut change) = (active.iter().take(self.count).peekable(), 0.0);
        let tiles = gamma.chunks_exact_mut(T::LANES).zip(alpha.chunks_exact(T::LANES));
        for (tile, (gamma, alpha)) in tiles.enumerate() {
            if kept.next_if(|&&next| next as usize == tile).is_none() && gamma != alpha {
                self.largest = largest(self.largest, alpha);
                for (gamma, &alpha) in gamma.iter_mut().zip(alpha) {
                    change += (gamma.to_f64() - alpha.to_f64()).abs();
                    *gamma = alpha;
                }
            }
        }
        change
    }

    /// From the weights to the next `gamma`. Returns `Σ_l |change of gamma_l|`.
    fn sweep<B: Bags>(&mut self, source: Source<'_, T, B>, document: &mut Document<'_, T>) -> f64 {
        let weighed = self.count;
        self.drop_tiles(document);
        let mut change = 0.0;
        if self.sums(source, document) {
            if self.count < weighed {
                change += self.reset_dropped(source.alpha, document);
            }
            self.finish_sums(source.alpha, document);
        } else {
            self.weigh_all(document); // by the gamma that those dropped had
            let is_complete = self.sums(source, document);
            self.finish_sums(source.alpha, document);
            if !is_complete {
                add_left(self.left, source, document);
            }
        }
        let Document { gamma, sums, active, .. } = document;
        let list = active.get(..self.count).unwrap_or_default();
        for (&tile, sums) in list.iter().zip(sums.chunks_exact(T::LANES)) {
            let mut moved = T::lanes();
            for ((gamma, &new), moved) in lanes_mut(gamma, tile).iter_mut().zip(sums).zip(moved.as_mut()) {
                *moved = (new - *gamma).abs();
                *gamma = new;
            }
            change += fold_lanes::<T>(moved, |a, b| a + b).to_f64();
        }
        change
    }

    /// Weights of all tiles.
    fn weigh_all(&mut self, document: &mut Document<'_, T>) {
        self.all(document);
        self.weigh(document, false);
    }

    /// `Σ_z (c_z / d_z) h_lz` of active windows. Whether that was all there is to it.
    fn sums<B: Bags>(&self, source: Source<'_, T, B>, document: &mut Document<'_, T>) -> bool {
        let Document { shares, sums, active, .. } = document;
        let len = self.count * T::LANES;
        let shares = shares.get(..len).unwrap_or_default();
        let sums = sums.get_mut(..len).unwrap_or_default();
        let active = active.get(..self.count).unwrap_or_default();
        dispatch(Sweep { source, active, shares, left: self.left, sums })
    }

    /// `alpha + x Σ`.
    fn finish_sums(&self, alpha: &[T], document: &mut Document<'_, T>) {
        let Document { shares, sums, active, .. } = document;
        let rows = sums.chunks_exact_mut(T::LANES).zip(shares.chunks_exact(T::LANES));
        for (&tile, (sums, shares)) in active.iter().take(self.count).zip(rows) {
            for ((sum, &share), &alpha) in sums.iter_mut().zip(shares).zip(lanes(alpha, tile)) {
                *sum = alpha + share * *sum;
            }
        }
    }

    /// `Σ_z c_z ln d_z`, less the best.
    fn expected<B: Bags>(&mut self, source: Source<'_, T, B>, document: &mut Document<'_, T>) -> f64 {
        let mut sum = |active: &mut Self| {
            let Document { logs, shares, active: list, .. } = &mut *document;
            let len = active.count * T::LANES;
            let shares = shares.get(..len).unwrap_or_default();
            let (logs, list) = (&**logs, list.get(..active.count).unwrap_or_default());
            dispatch(Expected { source, active: list, logs, shares, left: active.left })
        };
        if let Some(found) = sum(self) {
            return found;
        }
        self.weigh_all(document);
        let Document { logs, shares, active: list, .. } = document;
        dispatch(Expected { source, active: list, logs, shares, left: self.left }).unwrap_or(f64::NAN)
    }
}

/// `ψ`, the same bits as [`digamma_slice`].
fn psi<T: Real>(x: T) -> T {
    let mut x = [x];
    digamma_slice(&mut x);
    x[0]
}

/// The largest of some numbers and one more.
fn largest<T: Real>(first: T, others: &[T]) -> T {
    others.iter().fold(first, |most, &x| if x > most { x } else { most })
}

/// `logs` less the best, and their exponentials. Returns the largest of those left out.
struct Weigh<'a, T> {
    logs: &'a mut [T],
    shares: &'a mut [T],
    best: T,
    least: T,
}

impl<T: Real> Kernel for Weigh<'_, T> {
    type Output = T;
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) -> T {
        let mut most = T::lanes();
        let rows = self.shares.chunks_exact_mut(T::LANES).zip(self.logs.chunks_exact_mut(T::LANES));
        for (shares, logs) in rows {
            for ((share, log), most) in shares.iter_mut().zip(logs).zip(most.as_mut()) {
                *log -= self.best;
                let power = exp(*log);
                let left = if power < self.least { power } else { T::zero() };
                *share = if power < self.least { T::zero() } else { power };
                *most = if left > *most { left } else { *most };
            }
        }
        fold_lanes::<T>(most, |a, b| if a > b { a } else { b })
    }
}

#[inline(always)]
fn add_products<T: Real>(h: &T::Lanes, shares: &T::Lanes, mut sum: T::Lanes) -> T::Lanes {
    let mut products = T::lanes(); // two short loops, which are unrolled: a longer one keeps its lanes in memory
    for ((product, &h), &share) in products.as_mut().iter_mut().zip(h.as_ref()).zip(shares.as_ref()) {
        *product = h * share;
    }
    for (sum, &product) in sum.as_mut().iter_mut().zip(products.as_ref()) {
        *sum += product;
    }
    sum
}

/// The sum of the lanes. Not inlined: the compiler would else cut the loop before it into the pairs in which it ends.
#[inline(never)]
fn fold<T: Real>(sum: &T::Lanes) -> T {
    fold_lanes::<T>(*sum, |a, b| a + b)
}

/// `d_z`, without the windows left out; `None` if they may matter, or if it may have underflowed.
#[inline(always)]
pub(crate) fn mass<T: Real>(entry: &Entry<'_, T>, active: &[u32], shares: &[T], left: T) -> Option<T> {
    let rows = T::rows(entry.h);
    let mass = if shares.len() == entry.h.len() {
        let mut sum = T::lanes();
        for (h, shares) in rows.iter().zip(T::rows(shares)) {
            sum = add_products::<T>(h, shares, sum);
        }
        fold::<T>(&sum)
    } else {
        // The same sums: what is left out there is zero here.
        let mut sum = T::lanes();
        for (&tile, shares) in active.iter().zip(T::rows(shares)) {
            let Some(h) = rows.get(tile as usize) else { break };
            sum = add_products::<T>(h, shares, sum);
        }
        fold::<T>(&sum)
    };
    let is_complete = left * entry.total <= T::UNIT_ROUNDOFF * mass;
    if is_complete && mass >= least_mass() { Some(mass) } else { None }
}

/// `Σ_z (c_z / d_z) h_lz` of features whose `d_z` is known; whether that was all of them.
struct Sweep<'a, T, B> {
    source: Source<'a, T, B>,
    active: &'a [u32],
    shares: &'a [T],
    left: T,
    sums: &'a mut [T],
}

impl<T: Real, B: Bags> Kernel for Sweep<'_, T, B> {
    type Output = bool;
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { source, active, shares, left, sums } = self;
        sums.fill(T::zero());
        let mut all = true;
        for entry in source.rows() {
            let Some(mass) = mass(&entry, active, shares, left) else {
                all = false;
                continue;
            };
            let weight = entry.count / mass;
            add_row(weight, entry.h, active, sums);
        }
        all
    }
}

/// `sums_l += weight h_l` of every active window.
#[inline(always)]
fn add_row<T: Real>(weight: T, h: &[T], active: &[u32], sums: &mut [T]) {
    if sums.len() == h.len() {
        sums.iter_mut().zip(h).for_each(|(sum, &h)| *sum += weight * h);
        return;
    }
    let rows = T::rows(h);
    for (&tile, sums) in active.iter().zip(sums.chunks_exact_mut(T::LANES)) {
        let Some(h) = rows.get(tile as usize) else { continue };
        let mut row = T::lanes(); // of a known length, so that the loop is one of vectors
        row.as_mut().copy_from_slice(sums);
        row.as_mut().iter_mut().zip(h.as_ref()).for_each(|(sum, &h)| *sum += weight * h);
        sums.copy_from_slice(row.as_ref());
    }
}

/// Gives `q_zl` of every slot to `take`, by logarithms of all of them; returns `ln d_z`.
pub(crate) fn by_logarithms<T: Real>(h: &[T], logs: &[T], mut take: impl FnMut(usize, T)) -> T {
    let joints =
        || h.iter().zip(logs).map(|(&h, &log)| if h > T::zero() { log + ln(h) } else { T::neg_infinity() });
    let best = joints().fold(T::neg_infinity(), |best, x| if x > best { x } else { best });
    let mass = joints().fold(T::zero(), |mass, x| mass + exp(x - best));
    joints().enumerate().for_each(|(slot, x)| take(slot, exp(x - best) / mass));
    best + ln(mass)
}

/// Adds the features that have to go by logarithms; all tiles are active.
#[cold]
fn add_left<T: Real, B: Bags>(left: T, source: Source<'_, T, B>, document: &mut Document<'_, T>) {
    let Document { logs, shares, sums, active, .. } = document;
    for entry in source.rows() {
        if mass(&entry, active, shares, left).is_none() {
            by_logarithms(entry.h, logs, |slot, q| {
                if let Some(sum) = sums.get_mut(slot) {
                    *sum += entry.count * q;
                }
            });
        }
    }
}

/// `Σ_z c_z ln d_z` in f64; `None` if a feature needs windows that are left out.
struct Expected<'a, T, B> {
    source: Source<'a, T, B>,
    active: &'a [u32],
    logs: &'a [T],
    shares: &'a [T],
    left: T,
}

impl<T: Real, B: Bags> Kernel for Expected<'_, T, B> {
    type Output = Option<f64>;
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) -> Option<f64> {
        let Self { source, active, logs, shares, left } = self;
        let mut sum = 0.0;
        for entry in source.rows() {
            let ln_mass = match mass(&entry, active, shares, left) {
                Some(mass) => ln(mass),
                None if shares.len() < entry.h.len() => return None,
                None => by_logarithms(entry.h, logs, |_, _| {}),
            };
            sum += entry.count.to_f64() * ln_mass.to_f64();
        }
        Some(sum)
    }
}

/// Adds a bag's expected counts `c_z q_zl` to planes `first` and on of a table `[feature][slot]`.
pub(crate) struct AddCounts<'a, T, B> {
    pub(crate) source: Source<'a, T, B>,
    pub(crate) weights: Weights<'a, T>,
    pub(crate) first: usize,
    pub(crate) table: &'a mut [T],
}

impl<T: Real, B: Bags> Kernel for AddCounts<'_, T, B> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { source, weights: Weights { logs, shares, active, left, .. }, first, table } = self;
        for entry in source.rows() {
            let Some(place) = entry.feature.checked_sub(first) else { continue };
            let slots = entry.h.len();
            let Some(sums) = table.get_mut(place * slots..(place + 1) * slots) else { return };
            match mass(&entry, active, shares, left) {
                Some(mass) => {
                    let weight = entry.count / mass;
                    let rows = T::rows(entry.h);
                    for (&tile, shares) in active.iter().zip(T::rows(shares)) {
                        let Some(h) = rows.get(tile as usize) else { continue };
                        let (first, mut row) = (tile as usize * T::LANES, T::lanes());
                        let Some(sums) = sums.get_mut(first..first + T::LANES) else { continue };
                        row.as_mut().copy_from_slice(sums);
                        let terms = row.as_mut().iter_mut().zip(h.as_ref()).zip(shares.as_ref());
                        terms.for_each(|((sum, &h), &share)| *sum += weight * (h * share));
                        sums.copy_from_slice(row.as_ref());
                    }
                }
                None => {
                    by_logarithms(entry.h, logs, |slot, q| {
                        if let Some(sum) = sums.get_mut(slot) {
                            *sum += entry.count * q;
                        }
                    });
                }
            }
        }
    }
}
