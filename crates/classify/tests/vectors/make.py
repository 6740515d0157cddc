"""Makes svm.json, what scikit-learn's SVC(kernel='precomputed') says of some random data.

    python3 make.py > svm.json        (needs numpy and scikit-learn)
"""

import json

import numpy as np
from sklearn.svm import SVC

cases = []
for seed, (items, columns, classes, penalty, apart) in enumerate(
    [(40, 3, 2, 1.0, 1.5), (60, 5, 3, 10.0, 1.0), (50, 2, 4, 0.1, 3.0), (30, 8, 2, 100.0, 0.0), (24, 2, 2, 1e3, 6.0)]
):
    rng = np.random.default_rng(seed)
    labels = np.arange(items) % classes
    centres = rng.normal(size=(classes, columns)) * apart
    # Few digits, so that the file holds exactly what was computed with.
    rows = np.round(centres[labels] + rng.normal(size=(items, columns)), 3)
    new = np.round(centres[labels[:20]] + rng.normal(size=(20, columns)), 3)
    distance = lambda a, b: ((a[:, None] - b[None]) ** 2).sum(2)
    gamma = 1.0 / columns
    svc = SVC(C=penalty, kernel="precomputed", tol=1e-11, decision_function_shape="ovo")
    svc.fit(np.exp(-gamma * distance(rows, rows)), labels)
    kernel = np.exp(-gamma * distance(new, rows))
    decision = svc.decision_function(kernel)
    cases.append(
        {
            "rows": rows.tolist(),
            "labels": labels.tolist(),
            "classes": classes,
            "new": new.tolist(),
            "gamma": gamma,
            "penalty": penalty,
            # Of two classes scikit-learn's decision is positive for the second; with more, for the first.
            "decision": (-decision[:, None] if classes == 2 else decision).tolist(),
            "predicted": svc.predict(kernel).tolist(),
        }
    )
print(json.dumps(cases))
