"""LDA against SciPy's generalized eigenvectors, semi-tied covariances against its optimizer, on the same random frames."""

import os
import subprocess
import sys
from pathlib import Path

try:
    import numpy as np
    import scipy.linalg
    import scipy.optimize
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

program = Path(os.environ["TRELLIS_BUILD_DIR"]) / "tests" / "estimate_transform"
random = np.random.default_rng(1)


def run(words, classes, frames, *arrays):
    head = np.array([*frames.shape, classes, 0], "i4")
    data = b"".join(x.tobytes() for x in (head, frames, *arrays))
    done = subprocess.run([str(program), *map(str, words)], input=data, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, "f8")


def random_frames(count, dim, classes, spread):
    """With a covariance that is not diagonal, and means of the classes."""
    mix = random.normal(size=(dim, dim)) + np.eye(dim)
    of = random.integers(classes, size=count).astype("i4")
    means = spread * random.normal(size=(classes, dim))
    return (means[of] + random.normal(size=(count, dim)) @ mix.T).astype("f4"), of


def compare_lda(count, dim, classes, keep):
    frames, of = random_frames(count, dim, classes, 1)
    x = frames.astype("f8")
    means = np.stack([x[of == c].mean(0) for c in range(classes)])
    within = (x - means[of]).T @ (x - means[of]) / count
    between = (means[of] - x.mean(0)).T @ (means[of] - x.mean(0)) / count
    values, vectors = scipy.linalg.eigh(between, within)
    values, expected = values[::-1], vectors[:, ::-1].T[:keep]
    expected = expected * np.sign(expected[np.arange(keep), np.abs(expected).argmax(1)])[:, None]
    out = run(["lda", keep], classes, frames, of)
    kept, constant, got = out[0], out[1], out[2:].reshape(keep, dim + 1)
    assert constant == 0 and abs(kept - values[:keep].sum() / values.sum()) < 1e-9
    padded = np.concatenate(([np.inf], values, [-np.inf]))  # rows whose eigenvalue is nobody else's are comparable
    gap = np.minimum(padded[:-2] - values, values - padded[2:])[:keep] / values[:keep]
    alone = np.flatnonzero(gap > 1e-3)
    for row in alone:
        error = np.abs(got[row, :-1] - expected[row]).max() / np.abs(expected[row]).max()
        assert error < 1e-5, f"row {row} of {keep} x {dim}: off by {error}"
    offset = -got[:, :-1] @ x.mean(0)
    assert np.allclose(got[:, -1], offset, atol=1e-4)
    return len(alone)


def compare_stc(count, dim, gaussians):
    frames, of = random_frames(count, dim, gaussians, 2)
    x = frames.astype("f8")
    mean = np.stack([x[of == g].mean(0) for g in range(gaussians)]).astype("f4")
    variance = np.stack([x[of == g].var(0) for g in range(gaussians)]).astype("f4")
    residual, weight = x - mean[of], 1 / variance.astype("f8")[of]
    g = np.einsum("tr,ti,tj->rij", weight, residual, residual) / count

    def loss(flat):
        a = flat.reshape(dim, dim)
        sign, log_det = np.linalg.slogdet(a)
        if sign <= 0:
            return 1e9, np.zeros_like(flat)
        turned = np.einsum("rij,rj->ri", g, a)
        return (a * turned).sum() / 2 - log_det, (turned - np.linalg.inv(a).T).ravel()

    out = run(["stc", 10000], gaussians, frames, of, mean, variance)
    gain, log_det, a = out[0], out[1], out[2:].reshape(dim, dim)
    start = loss(np.eye(dim).ravel())[0]
    assert abs(start - loss(a.ravel())[0] - gain) < 1e-9
    assert abs(np.linalg.slogdet(a)[1] - log_det) < 1e-9
    best = scipy.optimize.minimize(loss, np.eye(dim).ravel(), jac=True, method="BFGS", options={"gtol": 1e-9})
    polished = scipy.optimize.minimize(loss, a.ravel(), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert polished.fun > loss(a.ravel())[0] - 1e-6, "the optimizer finds a better transform next to ours"
    return gain - (start - best.fun)


rows = sum(compare_lda(count, dim, classes, keep)
           for count, dim, classes, keep in [(300, 1, 2, 1), (500, 5, 4, 3), (2000, 20, 50, 20), (5000, 117, 100, 39)] * 5)
assert rows > 200, "too few rows were comparable"
better = [compare_stc(count, dim, gaussians) for count, dim, gaussians in [(500, 1, 3), (1000, 4, 6), (2000, 10, 20)] * 6]
assert min(better) > -1e-6, f"gains below the optimizer's: {better}"
print(f"{rows} rows of LDA, {len(better)} semi-tied transforms; gains over the optimizer's {np.round(better, 7)}")
