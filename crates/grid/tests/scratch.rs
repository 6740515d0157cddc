//! How much scratch the operations take: no element more than is asked for is needed, none less will do.

use countgrid_counts::{Bag, Csr};
use countgrid_em::{Fit, FreeEnergy, Learn, Tables};
use countgrid_grid::{
    Embedding, Grid, GridError, Grouping, LabelSums, Learner, LogHistograms, Options, Readout, Shape,
    Sources, Statistics, Terms, label_scratch_len, label_sums_len,
};
use countgrid_math::Real;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// One element less is refused, and exactly so many serve, also where every window is alive.
#[test]
fn posterior_scratch_is_minimal() {
    fn check<T: Real>(cells: usize) {
        let shape = Shape::from_sides([cells], [1], 2).unwrap();
        let grid = Grid::<T, _, 1>::uniform_in(shape, vec![T::zero(); shape.grid_len()]).unwrap();
        let packed = vec![T::zero(); shape.histograms_len::<T>()];
        let mut scratch = vec![T::zero(); shape.plane_scratch_len()];
        let histograms = LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
        let (bag, mut q) = (Bag::new(2, &[1], &[3u8]).unwrap(), vec![T::zero(); cells]);
        let needed = shape.posterior_scratch_len::<T>(1);
        let mut place = |found: usize| histograms.posterior(&bag, 0, &mut q, &mut vec![T::zero(); found]);
        let found = needed - 1;
        let short = GridError::Length { table: "scratch", expected: needed, found };
        assert_eq!(place(found), Err(short));
        let (exactly, more) = (place(needed), place(4 * needed));
        assert!(exactly.is_ok() && exactly == more, "{exactly:?} {more:?}");
    }
    for cells in [1, 15, 16, 17, 63, 64, 65, 100, 256, 1600] {
        check::<f32>(cells);
        check::<f64>(cells);
    }
}

/// One element less is refused, and exactly so many give what four times as many give.
fn minimal<R: PartialEq + std::fmt::Debug>(
    table: &'static str,
    needed: usize,
    mut work: impl FnMut(usize) -> Result<R, GridError>,
) {
    let short = GridError::Length { table, expected: needed, found: needed - 1 };
    assert_eq!(work(needed - 1).unwrap_err(), short);
    let (exactly, more) = (work(needed), work(4 * needed));
    assert!(exactly.is_ok() && exactly == more, "{needed}: {exactly:?} {more:?}");
}

/// Planes of whole pages lie apart from each other where scratch has room: the same bits as side by side, and as in the least scratch.
#[test]
fn planes_apart_give_the_same_bits() {
    fn check<T: Real, const D: usize>(extents: [usize; D], sides: [usize; D]) {
        let features = 131; // two blocks of column sums, and a few more
        let shape = Shape::from_sides(extents, sides, features).unwrap();
        let mut grid = Grid::<T, _, D>::uniform_in(shape, vec![T::zero(); shape.grid_len()]).unwrap();
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
        let counts: Vec<u8> = (0..9 * features).map(|i| (i * i % 23 / 13) as u8).collect();
        assert!(counts.contains(&0) && counts.contains(&1), "some tokens, not all");
        let bags = countgrid_counts::Dense::new(features, &counts).unwrap();
        let fit = |planes: usize| {
            let zeros = |elements| vec![T::zero(); elements];
            let mut plane = zeros(shape.plane_scratch_len().max(planes * shape.cells()));
            let packed = zeros(shape.histograms_len::<T>());
            let mut learner = Learner::new(grid.clone(), packed, &mut plane, Options::default()).unwrap();
            let scratch = zeros(shape.scratch_len::<T>(1).max(planes * shape.cells()));
            let mut statistics = Statistics::new(shape, zeros(shape.sums_len::<T>()), scratch).unwrap();
            let mut free_energies = Vec::new();
            for _ in 0..2 {
                statistics.clear();
                free_energies.push(learner.expectation(&bags, &mut statistics).unwrap());
                learner.maximization(&mut statistics).unwrap();
            }
            (free_energies, learner.grid().buffer().to_vec())
        };
        let least = fit(0);
        for planes in [8, 70, 131, 132, 140, 200, 300, 1600] {
            assert!(fit(planes) == least, "{planes}");
        }
    }
    check::<f32, 2>([32, 32], [8, 8]);
    check::<f64, 2>([32, 32], [8, 3]);
    check::<f32, 2>([40, 40], [5, 5]);
    check::<f64, 1>([512], [25]);
    check::<f32, 3>([8, 16, 16], [2, 8, 1]);
}

#[test]
fn scratch_of_a_fit_and_of_read_outs_is_minimal() {
    fn check<T: Real, const D: usize>(extents: [usize; D], sides: [usize; D]) {
        let shape = Shape::from_sides(extents, sides, 3).unwrap();
        let mut grid = Grid::<T, _, D>::uniform_in(shape, vec![T::zero(); shape.grid_len()]).unwrap();
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
        let zeros = |elements| vec![T::zero(); elements];
        let pack = |found: usize| {
            let packed = LogHistograms::pack(&grid, zeros(shape.histograms_len::<T>()), &mut zeros(found))?;
            Ok(packed.buffer().to_vec())
        };
        minimal("scratch", shape.plane_scratch_len(), pack);
        minimal("scratch", shape.plane_scratch_len(), |found| {
            let mut h = zeros(shape.cells());
            grid.histogram(1, &mut h, &mut zeros(found)).map(|()| h)
        });

        let bags = Csr::new(3, &[0, 2, 3], &[0, 2, 1], &[3u16, 1, 4]).unwrap();
        minimal("scratch", shape.scratch_len::<T>(1), |found| {
            let packed = zeros(shape.histograms_len::<T>());
            let mut plane = zeros(shape.plane_scratch_len());
            let mut learner = Learner::new(grid.clone(), packed, &mut plane, Options::default())?;
            let mut statistics = Statistics::new(shape, zeros(shape.sums_len::<T>()), zeros(found))?;
            let free_energy = learner.expectation(&bags, &mut statistics)?;
            learner.maximization(&mut statistics)?;
            Ok((free_energy, learner.grid().buffer().to_vec()))
        });

        let packed = zeros(shape.histograms_len::<T>());
        let histograms = LogHistograms::pack(&grid, packed, &mut zeros(shape.plane_scratch_len())).unwrap();
        let bag = bags.bag(0).unwrap();
        for grouping in [Grouping::Location, Grouping::Feature, Grouping::Each] {
            let model = Terms::new(&histograms, grouping);
            minimal("scratch", model.scratch_len(&bag), |found| {
                let mut terms = zeros(model.term_count(&bag));
                model.free_energy_terms(&bag, &mut terms, &mut zeros(found)).map(|_| terms)
            });
        }
        let sources = Sources::new(&grid, &histograms).unwrap();
        minimal("scratch", sources.scratch_len(&bag), |found| {
            let mut terms = zeros(sources.term_count(&bag));
            sources.free_energy_terms(&bag, &mut terms, &mut zeros(found)).map(|_| terms)
        });

        let mut sums = LabelSums::new(shape, 2, zeros(label_sums_len(&shape, 2).unwrap())).unwrap();
        let mut q = zeros(shape.cells());
        q[0] = T::one();
        sums.add_class(q.as_slice(), 0).unwrap();
        sums.add_class(q.as_slice(), 1).unwrap();
        let needed = label_scratch_len(&shape);
        let embedding = Embedding::new(sums.clone(), &mut zeros(needed)).unwrap();
        let short = GridError::Length { table: "scratch", expected: needed, found: needed - 1 };
        assert_eq!(Embedding::new(sums, &mut zeros(needed - 1)).unwrap_err(), short);
        minimal("scratch", needed, |found| {
            let labels = embedding.labels(Readout::Window, zeros(2 * shape.cells()), &mut zeros(found))?;
            Ok(labels.buffer().to_vec())
        });
        minimal("scratch", needed, |found| {
            let mut read = zeros(2);
            let y = [T::one(), T::zero()];
            let read_out =
                embedding.leave_one_out(q.as_slice(), &y, Readout::Window, &mut read, &mut zeros(found));
            read_out.map(|()| read)
        });
    }
    for (extent, side) in [(1, 1), (5, 3), (40, 13), (100, 40)] {
        check::<f32, 1>([extent], [side]);
        check::<f64, 1>([extent], [side]);
    }
    for sides in [[1, 1], [3, 5], [9, 4]] {
        check::<f32, 2>([9, 12], sides);
        check::<f64, 2>([9, 12], sides);
    }
}

/// Storage is overwritten with a valid table, whatever was there, also where the last bounds have no tile.
#[test]
fn what_storage_had_does_not_matter() {
    fn check<T: Real>(cells: usize) {
        let shape = Shape::from_sides([cells], [3], 2).unwrap();
        let mut grid = Grid::<T, _, 1>::uniform_in(shape, vec![T::zero(); shape.grid_len()]).unwrap();
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
        let packed = |before: T| {
            let (storage, mut scratch) =
                (vec![before; shape.histograms_len::<T>()], vec![before; shape.plane_scratch_len()]);
            let table = LogHistograms::pack(&grid, storage, &mut scratch).unwrap().buffer().to_vec();
            assert!(LogHistograms::<T, _, 1>::new(shape, table.as_slice()).is_ok());
            table
        };
        let expected = packed(T::zero());
        assert!(packed(T::from_f64(7.0)) == expected && packed(T::nan()) == expected, "{cells}");
    }
    for cells in [3, 40, 130, 260, 300] {
        check::<f32>(cells);
        check::<f64>(cells);
    }
}
