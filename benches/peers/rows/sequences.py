"""Hidden Markov models: an iteration of Baum-Welch, from the same model over the same sequences."""

import tempfile

from hmmlearn.hmm import CategoricalHMM

from pairs import race
from rows.problem import load


def rows(run):
    """Against hmmlearn by scaled recursions; its default is by logarithms."""
    ours = run.ours
    ours.ask("sequences", 1, *run.chains)
    with tempfile.TemporaryDirectory() as folder:
        ours.ask("sequences_state", folder)
        x, lengths, start, trans, emit = (
            load(folder, name) for name in ("x", "lengths", "start", "trans", "emit")
        )
    x = x.reshape(-1, 1)
    found = ours.ask("time", "baum_welch")["log_likelihood"]
    apart = []

    def theirs():
        states, symbols = emit.shape
        model = CategoricalHMM(
            states, n_iter=1, init_params="", implementation="scaling", n_features=symbols
        )
        model.startprob_, model.transmat_, model.emissionprob_ = start, trans, emit
        seconds = run.clock(lambda: model.fit(x, lengths))
        apart.append(abs(model.monitor_.history[0] - found) / len(x))
        return seconds

    what = f"Baum-Welch, {len(x):,} symbols, {len(start)} states"
    row = race(what, "hmmlearn, scaling", lambda: ours.seconds("baum_welch"), theirs, run.pairs, 1)
    row.note = f"log-likelihood per symbol apart {max(apart):.0e}"
    yield row
