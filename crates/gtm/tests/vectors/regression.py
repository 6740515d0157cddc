"""Zero-inflated Poisson regression by statsmodels, beside the golden file zipgtm_k1_regression.json.

    pip install statsmodels==0.15.0 && python regression.py GOLDEN > regression.txt

The crate fits the same file in the golden tests of the facade; here is what statsmodels makes of it.
"""

import json
import sys
import warnings

import numpy
import statsmodels
from statsmodels.discrete.count_model import ZeroInflatedPoisson

case = json.load(open(sys.argv[1]))
t, g = numpy.array(case["inputs"]["t"], float), numpy.array(case["inputs"]["G"], float)
model = ZeroInflatedPoisson(t, numpy.ones((len(t), 1)), exog_infl=g, inflation="logit")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    rough = model.fit(method="bfgs", maxiter=1000, gtol=1e-10, disp=0)
    found = model.fit(start_params=rough.params, method="newton", maxiter=100, tol=1e-14, disp=0)
print(f"statsmodels {statsmodels.__version__}, numpy {numpy.__version__}")
*gamma, w = found.params
expected = case["expected"]
rows = [("w", w, expected["w"])]
rows += [(f"gamma[{p}]", gamma[p], expected["gamma"][p]) for p in range(len(gamma))]
rows += [("log_likelihood", found.llf, expected["log_likelihood"])]
worst = 0.0
for name, ours, theirs in rows:
    gap = abs(ours - theirs) / (1 + abs(theirs))
    worst = max(worst, gap)
    print(f"{name:16} statsmodels {ours:.12f}  golden {theirs:.12f}  gap {gap:.1e}")
assert worst < 1e-6, worst
print(f"largest gap {worst:.1e}, allowed 1e-6")
