"""What a fit takes of memory beside its data."""

import subprocess
import sys

import pytest

#: Prints the bytes of the data, and by how many the peak of the process grew in a fit.
MEASURED = """
import resource, sys, numpy as np, scipy.sparse as sp, countgrid
countgrid.MultinomialMixture(2, max_iter=1, random_state=1).fit(np.eye(20))
rng = np.random.default_rng(0)
X = {data}
size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
countgrid.MultinomialMixture(2, max_iter=1, random_state=1, n_jobs=1).fit(X)
print(size, peak() - before)
"""
DENSE = "np.zeros((4000, 3000)); X[:, ::100] = 1"
SPARSE = "sp.csr_matrix((np.ones(6_000_000), np.tile(np.arange(0, 3000, 2, dtype=np.int32), 4000), np.arange(4001) * 1500), shape=(4000, 3000))"


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in other units")
@pytest.mark.parametrize(("data", "most"), [(DENSE, 0.25), (SPARSE, 0.95)], ids=["dense", "sparse"])
def test_a_fit_does_not_double_the_memory(data, most):
    """A matrix is read where it lies: what is fitted to has the counts above zero, in single precision, and their columns."""
    done = subprocess.run([sys.executable, "-c", MEASURED.format(data=data)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    size, grown = map(int, done.stdout.split())
    assert size > 50e6 and grown < most * size, f"{grown / size:.2f} of the data"
