"""Reference values of the f64 functions, one file a function: `python3 generate.py` (needs mpmath).

A line is an argument and the nearest f64 to the value, both as bits in hexadecimal, and how far the true value
lies above it, in units of its last place. Half of the arguments are random, the others sit where an
implementation is most likely to be wrong: next to zeros and poles, at the seams of argument reductions and
of piecewise definitions, in and next to the subnormal range, at the last finite result.
"""

from math import inf, isfinite, ldexp, nextafter, ulp
from random import Random
from struct import pack

from mpmath import mp, mpf, digamma, exp, expm1, log, loggamma, nint, psi

mp.prec = 2400  # e^x - 1 of the smallest subnormal number still has all of its bits
random = Random(1)


def bits(x):
    return pack(">d", x).hex()


def nearest(value):
    """float(value) rounds twice where the result is subnormal."""
    if abs(value) < 2.0**-1022:
        return int(nint(value * mpf(2) ** 1074)) * 2.0**-1074
    return float(value)


def around(points, count):
    """Neighbours of each point, nearest first, then at random distances."""
    for point in points:
        yield point
        for direction in (-inf, inf):
            x = point
            for _ in range(2):
                x = nextafter(x, direction)
                yield x
    for _ in range(count):
        point = random.choice(points)
        yield point + random.choice((-1, 1)) * max(abs(point), 2.0**-1022) * 2.0 ** random.uniform(-52, -1)


def log_uniform(low, high, count, signs=(1,)):
    for _ in range(count):
        yield random.choice(signs) * random.uniform(1, 2) * 2.0 ** random.randint(low, high)


def uniform(low, high, count):
    for _ in range(count):
        yield random.uniform(low, high)


def both(points):
    return [sign * point for point in points for sign in (-1, 1)]


LN2 = 0.6931471805599453
seams = both([LN2 * (n + 0.5) for n in (0, 1, 2, 9, 52, 53, 63, 64, 500, 1000)])
small = list(log_uniform(-1074, -1020, 50, (-1, 1))) + list(log_uniform(-60, 0, 300, (-1, 1)))
powers = [ldexp(m, k) for m in (2 / 3, 1.0, 4 / 3) for k in (-1073, -1022, -53, -1, 0, 1, 52, 1023) if m * 2.0 ** k < 1.7e308]
positive = (
    list(log_uniform(-1070, 1015, 400))
    + list(log_uniform(-30, 5, 400))
    + list(uniform(0, 10, 700))
    + list(around([0.5, 1.0, 1.25, 1.4616321449683623, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 500))
)
sigmoid = lambda x: 1 / (1 + exp(-x))

FUNCTIONS = {
    "exp": (exp, small + seams + list(uniform(-745, 709.7, 700)) + list(uniform(-745.2, -708, 300))
        + list(around(seams + [-745.1332191019411, -708.3964185322641, 709.782712893384], 500))),
    "exp_m1": (expm1, small + list(uniform(-40, 60, 700)) + list(uniform(-1, 1, 500))
        + list(around(seams + [-37.42994775023705, 709.782712893384], 400))),
    "ln": (log, list(log_uniform(-1074, 1023, 700)) + list(log_uniform(-1074, -1020, 200)) + list(uniform(0.3, 3, 500))
        + list(around(powers, 500))),
    "ln_1p": (lambda x: log(1 + mpf(x)), small + list(log_uniform(-2, 1023, 400)) + list(uniform(-1, 3, 700))
        + list(around([-1 / 3, 1 / 3, -0.9999999999999999, 1.0, 5 / 3, 0.5, -0.5], 400))),
    "sigmoid": (sigmoid, small + list(uniform(-745, 50, 700)) + list(uniform(-3, 3, 700)) + list(around(seams, 300))),
    "softplus": (lambda x: log(1 + exp(x)), small + list(uniform(-745, 800, 700)) + list(uniform(-3, 3, 700))
        + list(around(seams, 300))),
    "ln_gamma": (loggamma, positive + list(around([1.0, 2.0], 300))),
    "digamma": (digamma, positive + list(around([1.4616321449683623], 300))),
    "trigamma": (lambda x: psi(1, x), positive),
}


def main():
    for name, (function, arguments) in FUNCTIONS.items():
        lines = set()
        for x in arguments:
            mp.prec = 2400 if name in ("exp_m1", "ln_1p", "sigmoid", "softplus") else 200
            if name in ("ln", "ln_1p", "ln_gamma", "digamma", "trigamma") and (x <= 0 and name != "ln_1p" or x <= -1):
                continue
            value = function(mpf(x))
            y = nearest(value)
            if isfinite(y):
                lines.add(f"{bits(x)} {bits(y)} {float((value - mpf(y)) / mpf(ulp(y))):+.4f}\n")
        with open(f"{name}.txt", "w") as file:
            file.writelines(sorted(lines))
        print(name, len(lines))


if __name__ == "__main__":
    main()
