//! The bits of every function and kernel on fixed inputs, recorded once: a change on any target, in any build
//! or version is a change of values, which the changelog has to name.

use countgrid_math::*;

/// FNV-1a over the bits of results; NaN counts as one value.
struct Hash(u64);

impl Hash {
    fn add<T: Real>(&mut self, x: T) {
        // f32 is embedded exactly, so one hash serves both types
        let bits = if x.is_nan() { u64::MAX } else { Real::to_f64(x).to_bits() };
        for byte in bits.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

fn hash<T: Real>(values: impl IntoIterator<Item = T>) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    values.into_iter().for_each(|x| hash.add(x));
    hash.0
}

/// Bits from a Weyl sequence: all exponents and signs, NaN and infinities rarely.
trait Arguments: Real {
    fn from_random_bits(bits: u64) -> Self;
}
impl Arguments for f32 {
    fn from_random_bits(bits: u64) -> Self {
        Self::from_bits((bits >> 32) as u32)
    }
}
impl Arguments for f64 {
    fn from_random_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }
}

fn arguments<T: Arguments>() -> Vec<T> {
    let weyl = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let anything = (0..5000).map(|i| T::from_random_bits(weyl(i)));
    // -20 to 20
    let moderate = (0..5000).map(|i| T::from_f64((weyl(i) >> 42) as f64 / 104_857.6 - 20.0));
    anything.chain(moderate).collect()
}

fn hashes<T: Arguments>() -> Vec<(&'static str, u64)> {
    let x = arguments::<T>();
    let each = |f: fn(T) -> T| hash(x.iter().map(|&x| f(x)));
    let moderate = &x[5000..];
    let positive: Vec<T> = moderate.iter().map(|&x| exp(x)).collect();
    let roots: Vec<T> = positive.iter().map(|&x| sqrt(x)).collect();
    let (mut q, mut cut, mut y) = (moderate.to_vec(), moderate.to_vec(), positive.clone());
    axpy(x[5001], moderate, &mut y).unwrap();
    scale(x[5002], &mut y);
    let mut digammas = positive.clone();
    digamma_slice(&mut digammas);
    vec![
        ("exp", each(exp)),
        ("exp_m1", each(exp_m1)),
        ("ln", each(ln)),
        ("ln_1p", each(ln_1p)),
        ("sigmoid", each(sigmoid)),
        ("softplus", each(softplus)),
        ("sqrt", each(sqrt)),
        ("ln_gamma", each(ln_gamma)),
        ("digamma", each(digamma)),
        ("trigamma", each(trigamma)),
        ("sum", hash([sum(moderate)])),
        ("max", hash([max(moderate)])),
        ("dot", hash([dot(moderate, &positive).unwrap()])),
        ("sum_xlogx", hash([sum_xlogx(&roots)])),
        ("log_sum_exp", hash([log_sum_exp(moderate)])),
        ("softmax", hash([softmax(&mut q)].into_iter().chain(q))),
        ("softmax_cut", hash([softmax_with_threshold(&mut cut, T::one())].into_iter().chain(cut))),
        ("axpy and scale", hash(y)),
        ("digamma_slice", hash(digammas)),
    ]
}

#[track_caller]
fn unchanged<T: Arguments>(recorded: [u64; 19]) {
    let found = hashes::<T>();
    let changed: Vec<_> =
        found.iter().zip(recorded).filter(|((_, hash), recorded)| hash != recorded).collect();
    assert!(
        changed.is_empty(),
        "{changed:#x?}\nall: {:#018x?}",
        found.iter().map(|f| f.1).collect::<Vec<_>>()
    );
}

#[test]
fn of_f32() {
    unchanged::<f32>([
        0x258c_fbae_af92_c722,
        0x0bc0_6721_9b3d_056e,
        0x75f9_08e3_a4f1_87e7,
        0x942a_07ea_18c1_c421,
        0x9e39_bad5_ff89_ba88,
        0x0e79_1aaa_1775_b2f5,
        0x757b_d931_de31_9e65,
        0xa996_9142_fbc1_2591,
        0xed8e_7519_a43e_db2b,
        0xa7b3_95af_11e2_788b,
        0x888b_43c5_eaf6_8192,
        0xa002_a18f_e59c_cafa,
        0x945d_ac69_ca3e_9d4c,
        0xb07e_62f2_612f_c5d9,
        0x0b95_9460_1c63_d223,
        0xfaae_f1a2_c6c1_0d5f,
        0x6eed_fd25_cb76_00ea,
        0x064e_e944_6189_4930,
        0xe869_537c_3445_0675,
    ]);
}

#[test]
fn of_f64() {
    unchanged::<f64>([
        0xce7f_e36d_fbce_ce85,
        0x0786_b8c9_b9db_05fd,
        0x7e77_65d8_f108_e919,
        0x12d8_3cc0_314c_796c,
        0x3722_fcbd_c187_3bd3,
        0xbed6_4b44_d356_3388,
        0xab6c_36c2_f20a_d4f4,
        0x6ad6_c962_e12e_859d,
        0xe7e9_3129_2677_da13,
        0x2dde_0d0b_dc15_8de4,
        0xb7f6_31f6_b7e5_67ab,
        0xa002_a18f_e59c_cafa,
        0xe540_82d8_60ca_4925,
        0x79bc_2a6f_f282_baa2,
        0xf027_d7b2_96d3_a907,
        0x9d6a_e62e_1ea7_67db,
        0x3aa4_a206_e88b_a534,
        0x291c_0ce3_5068_b761,
        0x0a86_2400_84fd_7b98,
    ]);
}
