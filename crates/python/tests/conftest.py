"""What has to be said before SciPy is imported: without it scikit-learn skips the checks of arrays that are not NumPy's."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")
