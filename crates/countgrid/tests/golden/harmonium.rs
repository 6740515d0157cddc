//! Kinds `efh_*`: what is exact, one Gibbs, gradient and Langevin step from given noise, perfect draws, what samples say.

use countgrid::{
    counts::Dense,
    em::TablesMutExt,
    harmonium::{
        Chains, Gradient, Guard, Harmonium, IsingModel, Noise, Prior, Rates, Shape, Sharing, Step, add_gram,
        add_rotated, align, align_scratch_len, coupling_errors, empirical_bayes,
    },
    math::{Real, dot, sigmoid},
};

use crate::case::{Array, Case, Failure, Tolerance};

type Model<T> = Harmonium<T, Vec<T>>;

/// Inputs are rounded once, `2^-24` relative each; energies of tens of nats sum some hundred of them, in gradients
/// multiplied by counts of documents: 1e-5 of the sum of magnitudes. Fifty times that, since what is expected may be a
/// difference of such sums.
const SINGLE: Tolerance = Tolerance { rel: 5e-4, abs: 5e-4 };

fn narrow<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&x| T::from_f64(x)).collect()
}

/// `log Z`, the exact expectations, and the gradient table by table.
type Exact = (f64, Gradient<f64, Vec<f64>>, Vec<Vec<f64>>);
/// States at the ends of chains, and the gradient from them.
type Sampled<T> = (Vec<T>, Gradient<T, Vec<T>>);

/// Noise from tables, in the order in which one chain asks for it.
struct Tables<'a, T> {
    normals: &'a [T],
    uniforms: &'a [T],
}

impl<T: Real> Noise<T> for Tables<'_, T> {
    fn uniform(&mut self) -> T {
        let (&first, rest) = self.uniforms.split_first().expect("as many numbers as are asked for");
        self.uniforms = rest;
        first
    }
    fn normal(&mut self) -> T {
        let (&first, rest) = self.normals.split_first().expect("as many numbers as are asked for");
        self.normals = rest;
        first
    }
}

struct Run<'a, T> {
    case: &'a Case,
    tolerance: Tolerance,
    model: Model<T>,
    shape: Shape,
    exact: Vec<f64>,
    scratch: Vec<T>,
}

impl<'a, T: Real> Run<'a, T> {
    /// The model of the tables `alpha`, `W`, `n`, `beta`, `s`, `U`, as far as there are.
    fn new(case: &'a Case) -> Result<Self, Failure> {
        let (alpha, w) = (case.input("alpha")?, case.input("W")?);
        let [words, topics] = w.shape[..] else { return Err(Failure("W: not [M, J]".into())) };
        let optional = |name| Ok::<_, Failure>(case.input_or_none(name)?.map(|array: Array| array.data));
        let (beta, s, u, n) = (optional("beta")?, optional("s")?, optional("U")?, optional("n")?);
        let shape = match (&beta, &s) {
            (Some(_), Some(s)) => Shape::dual_wing(words, s.len(), topics)?,
            (Some(_), None) => Shape::rate_adapting(words, topics)?,
            _ => Shape::words(words, topics)?,
        };
        // `U` of a case without features is a table of uniform numbers.
        let u = u.filter(|_| s.is_some());
        let n = n.unwrap_or_else(|| vec![1.0; words]);
        let tables = [Some(alpha.data), Some(w.data), Some(n), beta, s, u];
        let storage = narrow(&tables.into_iter().flatten().flatten().collect::<Vec<_>>());
        let scratch = shape.gibbs_scratch_len::<T>().max(shape.step_scratch_len());
        let mut scratch = vec![T::zero(); scratch];
        let model = Harmonium::new(shape, storage, &mut scratch)?;
        let exact = vec![0.0; shape.exact_scratch_len()];
        Ok(Self { case, tolerance: case.tolerance::<T>(SINGLE)?, model, shape, exact, scratch })
    }

    fn check<U: Real>(&self, name: &str, found: &[U]) -> Result<(), Failure> {
        self.case.check(name, found, self.tolerance)
    }

    /// Data minus `documents` times the expectations.
    fn exact_gradient(&mut self, x: &Array, z: &[T]) -> Result<Exact, Failure> {
        let mut expected = Gradient::allocate(self.shape)?;
        let log_z = self.model.expectations(&mut expected, &mut self.exact)?;
        let data = Dense::new(self.shape.word_count(), &x.data)?;
        let mut sums = Gradient::allocate(self.shape)?;
        self.model.add_data(&data, z, T::one(), &mut sums, &mut self.scratch)?;
        let documents = x.shape[0] as f64;
        let difference = |sums: &[T], expected: &[f64]| -> Vec<f64> {
            sums.iter().zip(expected).map(|(s, e)| Real::to_f64(*s) - documents * e).collect()
        };
        let tables = sums.parts().into_iter().zip(expected.parts());
        let gradient = tables.map(|(sums, expected)| difference(sums, expected)).collect();
        Ok((log_z, expected, gradient))
    }

    /// `E[x xᵀ]`.
    fn second_moment(&mut self, log_z: f64) -> Result<Vec<f64>, Failure> {
        let words = self.shape.word_count();
        let mut moment = vec![0.0; words * words];
        self.model.for_each_state(&mut self.exact, |x, log_p| {
            let p = (log_p - log_z).exp();
            for (x_i, row) in x.iter().zip(moment.chunks_exact_mut(words)) {
                row.iter_mut().zip(x).for_each(|(sum, x_l)| *sum += p * x_i * x_l);
            }
        })?;
        Ok(moment)
    }

    /// One Gibbs step from every document, one chain at a time so that tables of noise are asked row by row; and the
    /// gradient of CD-1 with it.
    fn step(
        &mut self,
        x: &Array,
        z: &[T],
        normals: &[Vec<T>],
        uniforms: &[T],
    ) -> Result<Sampled<T>, Failure> {
        let (words, features) = (self.shape.word_count(), self.shape.features());
        let (mut states, mut gradient) = (Vec::new(), Gradient::allocate(self.shape)?);
        for (t, x) in x.data.chunks_exact(words).enumerate() {
            let (data, z) = (Dense::new(words, x)?, &z[t * features..(t + 1) * features]);
            let mut noise = Tables { normals: &normals[t], uniforms: &uniforms[t * words..(t + 1) * words] };
            let storage = vec![T::zero(); self.shape.state_len()];
            let mut chain = Chains::at_documents(&self.model, &data, z, storage)?;
            chain.sweep(&self.model, 1, &mut noise, &mut self.scratch)?;
            states.extend_from_slice(chain.states());
            // The same numbers again through contrastive divergence.
            let mut noise = Tables { normals: &normals[t], uniforms: &uniforms[t * words..(t + 1) * words] };
            self.model.contrastive_divergence(&data, z, 1, &mut gradient, &mut noise, &mut self.scratch)?;
        }
        Ok((states, gradient))
    }
}

pub fn exact<T: Real>(case: &Case) -> Result<(), Failure> {
    let mut run = Run::<T>::new(case)?;
    let x = case.input("X")?;
    let (words, topics) = (run.shape.word_count(), run.shape.topics());
    let (log_z, expected, gradient) = run.exact_gradient(&x, &[])?;
    let data = Dense::new(words, &x.data)?;
    for name in case.expected_names() {
        match name {
            "log_z_x" => run.check(name, &[log_z])?,
            "log_z_joint" => run.check(name, &[run.model.joint_log_partition(log_z)])?,
            "mean_x" => run.check(name, expected.parts()[0])?,
            "grad_log_z_W" => run.check(name, expected.parts()[1])?,
            "grad_alpha" => run.check(name, &gradient[0])?,
            "grad_W" => run.check(name, &gradient[1])?,
            "second_moment" => {
                let moment = run.second_moment(log_z)?;
                run.check(name, &moment)?;
            }
            "V" => {
                let mut v = vec![0.0; words * words];
                add_gram(run.model.w(), topics, 1.0, &mut v)?;
                run.check(name, &v)?;
            }
            "log_unnorm" => {
                let row = |t| run.model.log_unnormalised(&data, t, &[], &mut vec![T::zero(); topics]);
                let rows = (0..x.shape[0]).map(row).collect::<Result<Vec<_>, _>>()?;
                run.check(name, &rows)?;
            }
            "log_likelihood" => {
                let found = run.model.log_likelihood(&data, &[], log_z, &mut run.scratch)?;
                run.check(name, &[found])?;
            }
            "naive_relative_variance" => {
                let mut tables = countgrid::em::Tables::buffer(&run.model).to_vec();
                let two = T::from_f64(2.0);
                tables[words + words * topics..].iter_mut().for_each(|n| *n *= two);
                let double = Harmonium::new(run.shape, tables, &mut [])?;
                let log_z_2 = double.log_partition(&mut run.exact)?;
                // In f32 an error of 1e-6 nats in the exponent comes on top.
                run.check(name, &[(log_z_2 - 2.0 * log_z).exp() - 1.0])?;
            }
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn langevin<T: Real>(case: &Case) -> Result<(), Failure> {
    let mut run = Run::<T>::new(case)?;
    let x = case.input("X")?;
    let (documents, topics) = (x.shape[0], run.shape.topics());
    let prior = Prior::new(narrow::<T>(&case.input("mu")?.data), narrow(&case.input("sigma2")?.data))?;
    let (xi, u, noise) = (case.input("xi")?, case.input("u")?, case.input("noise")?);
    let epsilon = case.number("eps", 0.0);
    let data = Dense::new(run.shape.word_count(), &x.data)?;
    let prior_gradient = |model: &Model<T>| -> Vec<T> {
        let rows = model.w().chunks_exact(topics).zip(prior.means()).zip(prior.variances());
        rows.flat_map(|((row, &m), &s)| row.iter().map(move |&w| -(w - m) / s)).collect()
    };
    let (mut means, mut probabilities) = (Vec::new(), Vec::new());
    for t in 0..documents {
        let mut h = vec![T::zero(); topics];
        run.model.topics(&data, t, &[], &mut h)?;
        // The conditional of words, at the draw of topics of the first step.
        let draw = h.iter().zip(&xi.data[t * topics..]).map(|(&h, &xi)| h + T::from_f64(xi));
        let draw: Vec<T> = draw.collect();
        for (row, &alpha) in run.model.w().chunks_exact(topics).zip(run.model.alpha()) {
            probabilities.push(sigmoid(alpha + dot(row, &draw)?));
        }
        means.extend(h);
    }
    let log_prior = prior.log_density(&run.model)?;
    let prior_slope = prior_gradient(&run.model);
    let (mut x1, mut gradients, mut ws, mut first) = (Vec::new(), Vec::new(), Vec::new(), None);
    for step in 0..xi.shape[0] {
        let normals: Vec<Vec<T>> =
            xi.data.chunks_exact(topics).skip(step * documents).take(documents).map(narrow).collect();
        let uniforms = narrow(&u.data[step * x.data.len()..(step + 1) * x.data.len()]);
        let (states, gradient) = run.step(&x, &[], &normals, &uniforms)?;
        x1.extend(states);
        let slope = prior_gradient(&run.model);
        gradients.extend(gradient.parts()[1].iter().zip(slope).map(|(&g, p)| g + p));
        let (len, w) = (run.model.w().len(), narrow(&noise.data));
        let mut noise = Tables { normals: &w[step * len..], uniforms: &[] };
        let taken = run.model.langevin(&gradient, &prior, epsilon, &mut noise, &mut run.scratch)?;
        assert_eq!(taken, Step::Taken);
        ws.extend_from_slice(run.model.w());
        first.get_or_insert(gradient);
    }
    let first = first.ok_or_else(|| Failure("no step".into()))?;
    for name in case.expected_names() {
        match name {
            "cond_h_mean_first" => run.check(name, &means)?,
            "cond_x_prob_first" => run.check(name, &probabilities)?,
            "X1" => run.check(name, &x1)?,
            "gradient" => run.check(name, &gradients)?,
            "W" => run.check(name, &ws)?,
            "cd1_grad_alpha_first" => run.check(name, first.parts()[0])?,
            "cd1_grad_W_first" => run.check(name, first.parts()[1])?,
            "log_prior_first" => run.check(name, &[log_prior])?,
            "log_prior_gradient_first" => run.check(name, &prior_slope)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn bayes<T: Real>(case: &Case) -> Result<(), Failure> {
    let tolerance = case.tolerance::<T>(SINGLE)?;
    let (ws, x) = (case.input("Ws")?, case.input("X")?);
    let [samples, words, topics] = ws.shape[..] else { return Err(Failure("Ws: not [S, M, J]".into())) };
    let data = narrow::<T>(&ws.data);
    let one = words * topics;
    let sample = |s: usize| &data[s * one..(s + 1) * one];
    let prior = |samples: &[T], guard| {
        let (mut mean, mut variance) = (vec![T::zero(); words], vec![T::zero(); words]);
        empirical_bayes(samples, topics, Sharing::PerRow, guard, &mut mean, &mut variance)?;
        Ok::<_, Failure>((mean, variance))
    };
    let gram = |samples: &[usize]| {
        let mut v = vec![0.0; words * words];
        for &s in samples {
            add_gram(sample(s), topics, 1.0 / samples.len() as f64, &mut v)?;
        }
        Ok::<_, Failure>(v)
    };
    let rotation = |s: usize| {
        let mut q = vec![0.0; topics * topics];
        align(sample(s), sample(0), topics, &mut q, &mut vec![0.0; align_scratch_len(topics)])?;
        Ok::<_, Failure>(q)
    };
    let topics_by = |aligned: bool| {
        let mut mean = vec![T::zero(); one];
        for s in 0..samples {
            let q = rotation(s)?;
            add_rotated(sample(s), aligned.then_some(&q[..]), topics, 1.0 / samples as f64, &mut mean)?;
        }
        let tables: Vec<T> =
            [vec![T::zero(); words], mean, vec![T::one(); words]].into_iter().flatten().collect();
        let model = Harmonium::new(Shape::words(words, topics)?, tables, &mut [])?;
        let (bags, mut all) = (Dense::new(words, &x.data)?, Vec::new());
        for t in 0..x.shape[0] {
            let mut h = vec![T::zero(); topics];
            model.topics(&bags, t, &[], &mut h)?;
            all.extend(h);
        }
        Ok::<_, Failure>(all)
    };
    let [a, b] = ["inverse_gamma_a", "inverse_gamma_b"].map(|name| case.number(name, 0.0));
    let (mean_v, first_v) = (gram(&(0..samples).collect::<Vec<_>>())?, gram(&[0])?);
    let (mae, mre) = coupling_errors(&first_v, &mean_v)?;
    let bare = Guard::Floor(0.0);
    for name in case.expected_names() {
        match name {
            "mu" => case.check(name, &prior(&data, bare)?.0, tolerance)?,
            "sigma2" => case.check(name, &prior(&data, bare)?.1, tolerance)?,
            "mu_first_sample_only" => case.check(name, &prior(sample(0), bare)?.0, tolerance)?,
            "sigma2_first_sample_only" => case.check(name, &prior(sample(0), bare)?.1, tolerance)?,
            "sigma2_inverse_gamma" => {
                case.check(name, &prior(&data, Guard::InverseGamma { a, b })?.1, tolerance)?;
            }
            "mean_V" => case.check(name, &mean_v, tolerance)?,
            "mae_first_vs_mean" => case.check(name, &[mae], tolerance)?,
            "mre_first_vs_mean" => case.check(name, &[mre], tolerance)?,
            "procrustes_last_to_first" => case.check(name, &rotation(samples - 1)?, tolerance)?,
            "posterior_mean_h" => case.check(name, &topics_by(false)?, tolerance)?,
            "posterior_mean_h_aligned_to_first" => case.check(name, &topics_by(true)?, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn cftp<T: Real>(case: &Case) -> Result<(), Failure> {
    let mut run = Run::<T>::new(case)?;
    let words = run.shape.word_count();
    let u = case.input("U")?;
    let ising = IsingModel::new(&run.model, vec![0.0; IsingModel::<()>::len(words)])?;
    let (mut states, mut horizons) = (Vec::new(), Vec::new());
    for u in u.data.chunks_exact(u.shape[1] * words) {
        let mut state = vec![0_u8; words];
        let past = |time: usize, own: &mut [f64]| own.copy_from_slice(&u[time * words..(time + 1) * words]);
        let draw = ising.draw(past, u.len() / words, &mut state, &mut vec![0.0; 3 * words])?;
        horizons.push(draw.sweeps as f64);
        states.extend(state.iter().map(|&x| f64::from(x)));
    }
    let mut expected = Gradient::allocate(run.shape)?;
    let log_z = run.model.expectations(&mut expected, &mut run.exact)?;
    for name in case.expected_names() {
        match name {
            "x" => run.check(name, &states)?,
            "horizon" => run.check(name, &horizons)?,
            "exact_mean_x" => run.check(name, expected.parts()[0])?,
            "exact_log_z_x" => run.check(name, &[log_z])?,
            "exact_second_moment" => {
                let moment = run.second_moment(log_z)?;
                run.check(name, &moment)?;
            }
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn dual_wing<T: Real>(case: &Case) -> Result<(), Failure> {
    let mut run = Run::<T>::new(case)?;
    let (x, z) = (case.input("X")?, narrow::<T>(&case.input("Z")?.data));
    let (log_z, expected, exact) = run.exact_gradient(&x, &z)?;
    let (words, features, topics) = (run.shape.word_count(), run.shape.features(), run.shape.topics());
    let (xi, zeta) = (narrow::<T>(&case.input("xi")?.data), narrow::<T>(&case.input("zeta")?.data));
    let rows = xi.chunks_exact(topics).zip(zeta.chunks_exact(features));
    let normals: Vec<Vec<T>> = rows.map(|(h, z)| [h, z].concat()).collect();
    let (states, gradient) = run.step(&x, &z, &normals, &narrow(&case.input("u")?.data))?;
    let data = Dense::new(words, &x.data)?;
    let likelihood = run.model.log_likelihood(&data, &z, log_z, &mut run.scratch)?;

    let both = |a: &str, b: &str| {
        Ok::<_, Failure>(narrow::<T>(&[case.input(a)?.data, case.input(b)?.data].concat()))
    };
    let prior = Prior::new(both("mu_w", "mu_u")?, both("sigma2_w", "sigma2_u")?)?;
    let noise = both("noise_w", "noise_u")?;
    let (mut moved, mut refused) = (run.model.clone(), run.model.clone());
    let mut step = |model: &mut Model<T>, normals: &[T]| {
        let mut noise = Tables { normals, uniforms: &[] };
        model.langevin(&gradient, &prior, case.number("eps", 0.0), &mut noise, &mut run.scratch)
    };
    let accepted = step(&mut moved, &noise)? == Step::Taken;
    let far =
        noise.iter().enumerate().map(|(at, &n)| if at < words * topics { n } else { n + T::from_f64(100.0) });
    let far_accepted = step(&mut refused, &far.collect::<Vec<_>>())? == Step::Taken;
    if refused.u() != run.model.u() || refused.w() != run.model.w() {
        return Err(Failure("a refused move has changed the model".into()));
    }
    let part = |from: usize, to: usize| -> Vec<T> {
        states.chunks_exact(words + features).flat_map(|state| state[from..to].to_vec()).collect()
    };
    let flag = |name: &str, found: bool| {
        if case.expected_flag(name) == Some(found) {
            Ok(())
        } else {
            Err(Failure(format!("{name}: {found}")))
        }
    };
    for name in case.expected_names() {
        match name {
            "log_z" => run.check(name, &[run.model.joint_log_partition(log_z)])?,
            "mean_x" => run.check(name, expected.parts()[0])?,
            "mean_xh" => run.check(name, expected.parts()[1])?,
            "mean_z" => run.check(name, expected.parts()[2])?,
            "mean_zh" => run.check(name, expected.parts()[3])?,
            "log_likelihood" => run.check(name, &[likelihood])?,
            "grad_alpha" => run.check(name, &exact[0])?,
            "grad_W" => run.check(name, &exact[1])?,
            "grad_beta" => run.check(name, &exact[2])?,
            "grad_U" => run.check(name, &exact[3])?,
            "X1" => run.check(name, &part(0, words))?,
            "Z1" => run.check(name, &part(words, words + features))?,
            "cd_alpha" => run.check(name, gradient.parts()[0])?,
            "cd_W" => run.check(name, gradient.parts()[1])?,
            "cd_beta" => run.check(name, gradient.parts()[2])?,
            "cd_U" => run.check(name, gradient.parts()[3])?,
            "langevin_W" => run.check(name, moved.w())?,
            "langevin_U" => run.check(name, moved.u())?,
            "accepted" => flag(name, accepted)?,
            "refused_move_accepted" => flag(name, far_accepted)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn rate_adapting<T: Real>(case: &Case) -> Result<(), Failure> {
    let mut run = Run::<T>::new(case)?;
    let x = case.input("X")?;
    let (log_z, expected, exact) = run.exact_gradient(&x, &[])?;
    let (data, negative) = (case.input("X")?.data, case.input("X1")?.data);
    let words = run.shape.word_count();
    let (data, negative) = (Dense::new(words, &data)?, Dense::new(words, &negative)?);
    let likelihood = run.model.log_likelihood(&data, &[], log_z, &mut run.scratch)?;
    let mut gradient = Gradient::allocate(run.shape)?;
    gradient.clear();
    run.model.add_data(&data, &[], T::one(), &mut gradient, &mut run.scratch)?;
    let storage = vec![T::zero(); x.data.len()];
    let mut chains = Chains::at_documents(&run.model, &negative, &[], storage)?;
    chains.add_to(&run.model, -T::one(), &mut gradient, &mut run.scratch)?;
    for name in case.expected_names() {
        match name {
            "log_z" => run.check(name, &[run.model.joint_log_partition(log_z)])?,
            "mean_x" => run.check(name, expected.parts()[0])?,
            "mean_xh" => run.check(name, expected.parts()[1])?,
            "mean_h" => run.check(name, expected.parts()[2])?,
            "log_likelihood" => run.check(name, &[likelihood])?,
            "grad_alpha" => run.check(name, &exact[0])?,
            "grad_W" => run.check(name, &exact[1])?,
            "grad_beta" => run.check(name, &exact[2])?,
            "cd_alpha" => run.check(name, gradient.parts()[0])?,
            "cd_W" => run.check(name, gradient.parts()[1])?,
            "cd_beta" => run.check(name, gradient.parts()[2])?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn metropolis<T: Real>(case: &Case) -> Result<(), Failure> {
    let mut run = Run::<T>::new(case)?;
    let (x, y, h) = (case.input("X")?, case.input("Y")?, case.input("H")?);
    let words = run.shape.word_count();
    let mut proposed = run.model.clone();
    let target = narrow::<T>(&case.input("W_proposed")?.data);
    let difference: Vec<T> = target.iter().zip(run.model.w()).map(|(&new, &old)| new - old).collect();
    let mut move_there = Gradient::allocate(run.shape)?;
    move_there.parts_mut()[1].copy_from_slice(&difference);
    proposed.ascend(&move_there, Rates { biases: 0.0, couplings: 1.0 }, &mut run.scratch)?;
    let prior = Prior::new(narrow::<T>(&case.input("mu")?.data), narrow(&case.input("sigma2")?.data))?;
    let (data, samples) = (Dense::new(words, &x.data)?, Dense::new(words, &y.data)?);
    let documents = x.shape[0] as f64;
    let scratch = &mut run.scratch.clone();
    let estimate = run.model.log_partition_ratio(&proposed, &samples, &mut vec![0.0; y.shape[0]], scratch)?;
    let log_z = run.model.log_partition(&mut run.exact)?;
    let exact = log_z - proposed.log_partition(&mut run.exact)?;
    let exchanged = run.model.log_ratio(&proposed, &samples, scratch)?;
    let accept = |log_partitions: f64| {
        run.model.log_acceptance(&proposed, &data, &prior, log_partitions, &mut scratch.clone())
    };
    let likelihood = run.model.log_likelihood(&data, &[], log_z, &mut scratch.clone())?;
    let posterior = likelihood + prior.log_density(&run.model)?;
    for name in case.expected_names() {
        match name {
            "log_z_ratio_estimate" => run.check(name, &[estimate])?,
            "log_z_ratio_exact" => run.check(name, &[exact])?,
            "log_accept_estimate" => run.check(name, &[accept(documents * estimate)?])?,
            "log_accept_exact" => run.check(name, &[accept(documents * exact)?])?,
            "log_accept_exchange" => run.check(name, &[accept(-exchanged)?])?,
            "naive_log_z_x" => {
                let found = run.model.naive_log_partition(&h.data, &mut vec![0.0; h.shape[0]])?;
                run.check(name, &[found])?;
            }
            "log_posterior_unnorm" => run.check(name, &[posterior])?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}
