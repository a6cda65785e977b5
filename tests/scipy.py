"""Writes tests/scipy.json, which the tests of src/stats compare with: the same statistics, computed by
SciPy. Needs scipy (1.17.1 wrote the kept file): `python3 tests/scipy.py > tests/scipy.json`."""
import json
import math
import sys

# This file's own folder must not be taken for the library.
sys.path.pop(0)

import numpy as np
from scipy import stats

random = np.random.default_rng(20240607)
t = stats.t


def interval(values, confidence):
    low, high = t.interval(
        confidence, len(values) - 1, loc=np.mean(values), scale=stats.sem(values)
    )
    return {
        "values": list(values), "confidence": confidence, "mean": float(np.mean(values)),
        "sd": float(np.std(values, ddof=1)), "low": float(low), "high": float(high),
    }


def bootstrap(values, confidence):
    found = stats.bootstrap(
        (values,), np.mean, n_resamples=200_000, confidence_level=confidence,
        method="percentile", batch=10_000, rng=random,
    ).confidence_interval
    return {
        "values": list(values), "confidence": confidence,
        "low": float(found.low), "high": float(found.high),
    }


def separation(n):
    first, second = np.arange(n), np.arange(n) + n
    ranks = stats.mannwhitneyu(first, second, method="exact").pvalue
    signs = stats.binomtest(n, n, 0.5).pvalue
    return {"n": n, "p_signs": float(signs), "p_ranks": float(ranks)}


FREEDOM = [1, 2, 3, 4, 5, 6, 7, 9, 11, 17, 23, 30, 47, 60, 99, 120, 250, 499, 500, 999, 1000]
SHARES = [0.001, 0.05, 0.2, 0.51, 0.6, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.999]
# What Bonferroni makes of 95 % for so many comparisons.
SHARES += [1 - 0.025 / m for m in (2, 4, 5, 8, 16, 48, 64)]
SAMPLES = [
    (n, center, spread) for n in (2, 3, 5, 6, 12, 24, 100)
    for center, spread in ((0, 0.006), (0.01, 0.01), (-0.3, 0.1))
]

json.dump({
    "t_quantiles": [
        {"df": df, "p": p, "t": float(t.ppf(p, df))} for df in FREEDOM for p in SHARES
    ],
    "t_shares": [
        {"df": df, "p": float(t.cdf(x, df)), "t": x}
        for df in FREEDOM for x in (-50.0, -4.0, -1.0, -0.01, 0.3, 2.0, 7.0)
    ],
    "intervals": [
        interval(random.normal(center, spread, n), confidence)
        for n, center, spread in SAMPLES for confidence in (0.95, 0.99, 1 - 0.05 / 16)
    ],
    "slopes": [
        {"values": list(y), "slope": float(stats.linregress(np.arange(len(y)), y).slope)}
        for y in (random.normal(0.01 * n, 0.05, n) for n in (2, 3, 10, 10, 25))
    ],
    "bootstraps": [
        bootstrap(random.normal(0.01, 0.01, n), confidence)
        for n in (5, 6, 12, 24) for confidence in (0.95, 0.99)
    ],
    "separations": [separation(n) for n in (1, 2, 3, 6, 12)],
}, sys.stdout, indent=1)
print()
