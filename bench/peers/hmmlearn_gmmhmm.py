"""hmmlearn as a peer: one EM iteration of a GMMHMM, 3 states x 8 Gaussians with diagonal covariances x 39 dimensions.

usage: hmmlearn_gmmhmm.py FOLDER FRAMES

Draws a sequence of frames from such a model, writes it to FOLDER/frames.f32 and prints a JSON object: the parameters that EM
starts from, the same after one iteration, the log-likelihood of all frames under the first, and the CPU seconds of the
iteration; also those of an iteration over the same frames cut into sequences of 500, which is kinder to its caches.
"""
import json
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one core on both sides

import numpy
from hmmlearn.hmm import GMMHMM

STATES, MIXTURES, DIM, SHORT = 3, 8, 39, 500


def draw(random, frames):
    """Frames, and the parameters that EM starts from: the true ones, shaken."""
    means = random.normal(0, 1.5, (STATES, MIXTURES, DIM))
    deviations = numpy.exp(random.normal(0, 0.2, (STATES, MIXTURES, DIM)))
    transitions = numpy.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]])
    states = numpy.empty(frames, int)
    for t in range(frames):
        states[t] = random.choice(STATES, p=transitions[states[t - 1]] if t else None)
    mixtures = random.integers(MIXTURES, size=frames)
    data = means[states, mixtures] + deviations[states, mixtures] * random.normal(size=(frames, DIM))
    shaken = means + random.normal(0, 0.5, means.shape)
    return data.astype(numpy.float32), shaken.astype(numpy.float32)


def parameters(model):
    return {"start": model.startprob_.tolist(), "transitions": model.transmat_.tolist(), "weights": model.weights_.tolist(),
            "means": model.means_.tolist(), "variances": model.covars_.tolist()}


def create(means):
    model = GMMHMM(STATES, MIXTURES, covariance_type="diag", init_params="")
    model.n_features = DIM
    model.startprob_ = numpy.array([0.5, 0.3, 0.2])
    model.transmat_ = numpy.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    model.weights_ = numpy.full((STATES, MIXTURES), 1 / MIXTURES)
    model.means_ = means.astype(float)
    model.covars_ = numpy.full((STATES, MIXTURES, DIM), 2.0)
    model._check()
    return model


def iterate(model, data, lengths):
    """One EM iteration; fit() would first cluster the data, which is not EM. Log-likelihood and CPU seconds."""
    begin = time.process_time()
    stats, log_likelihood = model._do_estep(data, lengths)
    model._do_mstep(stats)
    return log_likelihood, time.process_time() - begin


def main():
    folder, frames = sys.argv[1], int(sys.argv[2]) // SHORT * SHORT
    data, means = draw(numpy.random.default_rng(1), frames)
    data.tofile(os.path.join(folder, "frames.f32"))
    data = data.astype(float)
    model = create(means)
    result = {"frames": frames, "before": parameters(model)}
    result["log_likelihood"], result["seconds"] = iterate(model, data, [frames])
    result["after"] = parameters(model)
    result["seconds_short"] = iterate(create(means), data, [SHORT] * (frames // SHORT))[1]
    print(json.dumps(result))


if __name__ == "__main__":
    main()
