"""Coefficients of the polynomials in src/: weighted least-squares fits, rounded one at a time.

`python3 minimax.py` prints those of exp and ln, `python3 minimax.py gamma > ../src/gamma/tables.rs` writes
the others (needs mpmath). After a coefficient is rounded the remaining ones are fitted again,
so that they make up for the rounding.
"""

from sys import argv

from mpmath import mp, mpf, log, exp, expm1, loggamma, digamma, psi, findroot, matrix, lu_solve, cos, pi, sqrt, nstr

mp.prec = 300


def rounded(x, bits):
    with mp.workprec(bits):
        return +x


def shortest(x, bits):
    """The shortest decimal that reads back as the same f32 or f64."""
    if bits == 53:
        return repr(float(x))
    digits = (f"{float(x):.{n}g}" for n in range(6, 10))
    return next(d for d in digits if rounded(mpf(d), 24) == x)


def least_squares(function, weight, a, b, powers):
    """The polynomial in the given powers with the least weighted squares on a Chebyshev grid of [a, b].

    That is within a factor of about 2 of the minimax error, and there is nothing to go wrong.
    """
    n = len(powers)
    system, right = matrix(n, n), matrix(n, 1)
    for x in grid(a, b, 8 * (n + 4)):
        w, y = weight(x) ** 2, function(x)
        basis = [x**power for power in powers]
        for i in range(n):
            right[i] += w * y * basis[i]
            for j in range(n):
                system[i, j] += w * basis[i] * basis[j]
    return lu_solve(system, right)


def grid(a, b, n):
    return [(a + b) / 2 - (b - a) / 2 * cos(pi * (i + mpf(1) / 2) / n) for i in range(n)]


def fit(name, function, weight, a, b, degree, bits, centre=0, public="pub(super) "):
    """Prints a Rust constant: coefficients of 1, x, ..., x^degree, where `x` counts from the centre."""
    a, b = mpf(a) - centre, mpf(b) - centre
    fixed = []

    def error(x):
        return weight(centre + x) * (sum(c * x**i for i, c in enumerate(fixed)) - function(centre + x))

    for power in range(degree + 1):
        rest = lambda x: function(centre + x) - sum(c * x**i for i, c in enumerate(fixed))
        powers = list(range(power, degree + 1))
        fixed.append(rounded(least_squares(rest, lambda x: weight(centre + x), a, b, powers)[0], bits))
    worst = max(abs(error(x)) for x in grid(a, b, 1000))
    print(f"/// Largest weighted error 2^{nstr(log(worst, 2), 4)}.")
    print(f"{public}const {name}: [f{32 if bits == 24 else 64}; {degree + 1}] = [")
    for c in fixed:
        print(f"    {shortest(c, bits)},")
    print("];")


def parts(name, x, bits, keep, public="pub(super) "):
    """x as a sum: a part with `keep` bits, so that small multiples of it are exact, and the rest."""
    high = rounded(x, keep)
    for suffix, part in [("HIGH", high), ("LOW", rounded(x - high, bits))]:
        print(f"{public}const {name}_{suffix}: f{32 if bits == 24 else 64} = {shortest(part, bits)};")


def exp_and_ln():
    half_ln2 = log(mpf(2)) / 2 * (1 + mpf(2) ** -20)
    parts("LN_2", log(mpf(2)), 24, 15)
    parts("LN_2", log(mpf(2)), 53, 41)

    # e^r = 1 + r + r^2 P(r); the weight makes the error relative to e^r - 1
    for bits, degree in [(24, 5), (53, 10)]:
        fit("EXP", lambda r: (expm1(r) - r) / r**2, lambda r: r, -half_ln2, half_ln2, degree, bits)

    # ln(1 + f) = 2 atanh s, s = f / (2 + f); 2 atanh s = 2 s + s z R(z), z = s^2, |f| <= 1/3
    def ln_tail(z):
        s = sqrt(z)
        return (log((1 + s) / (1 - s)) - 2 * s) / (s * z)

    for bits, degree in [(24, 3), (53, 7)]:
        fit("LN", ln_tail, lambda z: z, mpf(10) ** -9, mpf("0.0401"), degree, bits)


def gamma():
    print("//! Printed by `tools/minimax.py gamma`. Weighted errors are absolute.")
    root = findroot(digamma, mpf("1.46163214496836234126"))
    parts("DIGAMMA_ROOT_LESS_1", root - 1, 53, 53)
    # ln Γ(x) = (x - 1) (x - 2) G(x) and ψ(x) = (x - root) H(x); the nodes of the grids miss 1, 2 and the root
    for number, (low, degree_g, degree_h) in enumerate([(0.5, 22, 0), (1, 17, 17), (1.5, 15, 15), (2, 14, 14), (2.5, 13, 13)]):
        low, centre, high = mpf(low), mpf(low) + 0.25, mpf(low) + 0.5
        fit(f"LN_GAMMA_{number}", lambda x: loggamma(x) / ((x - 1) * (x - 2)), lambda x: 1, low, high, degree_g, 53, centre)
        if degree_h:
            fit(f"DIGAMMA_{number}", lambda x: digamma(x) / (x - root), lambda x: 1, low, high, degree_h, 53, centre)
    # z = 1 / x^2, x >= 8
    tiny, end = mpf(10) ** -12, mpf(1) / 64

    def stirling(z):
        x = 1 / sqrt(z)
        return x * (loggamma(x) - (x - 0.5) * log(x) + x - log(2 * pi) / 2)

    def digamma_tail(z):
        x = 1 / sqrt(z)
        return (log(x) - 1 / (2 * x) - digamma(x)) / z

    def trigamma_tail(z):
        x = 1 / sqrt(z)
        return (psi(1, x) - 1 / x - z / 2) * x / z

    fit("STIRLING", stirling, lambda z: 1, tiny, end, 6, 53)
    fit("DIGAMMA_TAIL", digamma_tail, lambda z: 1, tiny, end, 6, 53)
    fit("TRIGAMMA_TAIL", trigamma_tail, lambda z: 1, tiny, end, 7, 53)


if __name__ == "__main__":
    gamma() if argv[1:] == ["gamma"] else exp_and_ln()
