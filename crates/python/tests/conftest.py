"""What has to be said before SciPy is imported: without it scikit-learn skips the checks of arrays that are not NumPy's."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest  # noqa: E402


@pytest.fixture(scope="session")
def whole():
    """All rows that fits in parts are tested on."""
    from bags import ROWS, rows

    return rows(0, ROWS)


@pytest.fixture(scope="session")
def expected(whole):
    """The model of one machine."""
    from bags import GRID

    from countgrid import CountingGrid

    one = CountingGrid(**GRID, n_jobs=1).fit(whole).to_bytes()
    assert CountingGrid(**GRID, n_jobs=2).fit(whole).to_bytes() == one
    return one
