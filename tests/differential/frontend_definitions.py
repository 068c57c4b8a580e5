"""The front end from its definitions, in double precision with NumPy: nothing is shared with the library.

Sources: the HTK book (3.4) chapter 5 for HTK's conventions; Kaldi's documented defaults for the others; Hermansky, "Perceptual
linear predictive (PLP) analysis of speech", 1990; Furui's regression formula for deltas. Samples are in 16-bit units.
"""

import numpy as np


def frames(samples, length, shift):
    """The windows that lie in the sound, one per row."""
    count = 0 if len(samples) < length else 1 + (len(samples) - length) // shift
    return np.array([samples[t * shift : t * shift + length] for t in range(count)], np.float64).reshape(count, length)


def window(name, length):
    phase = 2 * np.pi * np.arange(length) / (length - 1)
    return {"hamming": 0.54 - 0.46 * np.cos(phase), "hann": (1 - np.cos(phase)) / 2, "povey": ((1 - np.cos(phase)) / 2) ** 0.85}[name]


def emphasised(x, k):
    """x(n) - k x(n-1); the first sample is its own predecessor."""
    return x - k * np.concatenate([x[:, :1], x[:, :-1]], axis=1)


def mel(hz):
    return 1127 * np.log(1 + hz / 700)


def mel_filters(bins, points, rate, low, high):
    """Triangles with centres evenly spaced on the mel axis; rows are filters, columns FFT points below Nyquist."""
    corners = np.linspace(mel(low), mel(high), bins + 2)
    position = mel(np.arange(points // 2) * rate / points)
    rising = (position - corners[:-2, None]) / (corners[1:-1] - corners[:-2])[:, None]
    falling = (corners[2:, None] - position) / (corners[2:] - corners[1:-1])[:, None]
    return np.maximum(0, np.minimum(rising, falling)), 700 * (np.exp(corners[1:-1] / 1127) - 1)


def spectrum(x, points):
    """Amplitudes below Nyquist."""
    return np.abs(np.fft.rfft(x, points, axis=1))[:, : points // 2]


def lifter(count, constant):
    n = np.arange(count)
    return 1 + constant / 2 * np.sin(np.pi * n / constant) if constant else np.ones(count)


def log_energy(x):
    return np.log(np.maximum((x**2).sum(axis=1), np.finfo(np.float32).eps))


def htk_mfcc(samples, rate, count=13, bins=26, constant=22, energy=False):
    """MFCC_0 (or MFCC_E): Hamming window, amplitudes, floor 1, c_i = sqrt(2/N) sum m_j cos(pi i/N (j - 0.5)); c_0 or the log
    energy of the raw samples last."""
    length, shift = int(rate * 0.025), int(rate * 0.010)
    raw = frames(samples, length, shift)
    points = 1 << (length - 1).bit_length()
    x = emphasised(raw, 0.97) * window("hamming", length)
    filters, _ = mel_filters(bins, points, rate, 0, rate / 2)
    m = np.log(np.maximum(spectrum(x, points) @ filters.T, 1))
    j = np.arange(1, bins + 1)
    c = [np.sqrt(2 / bins) * (m * np.cos(np.pi * i / bins * (j - 0.5))).sum(axis=1) for i in range(count)]
    c = [value * factor for value, factor in zip(c, lifter(count, constant))]
    return np.stack(c[1:] + [log_energy(raw) if energy else c[0]], axis=1)


def all_pole_cepstrum(r, order, count):
    """Normal equations solved as they stand; c_0 = log of the prediction error, the others from log 1/|A|² on a fine grid."""
    toeplitz = r[np.abs(np.subtract.outer(np.arange(order), np.arange(order)))]
    predictor = np.linalg.solve(toeplitz, r[1 : order + 1])
    error = r[0] - predictor @ r[1 : order + 1]
    inverse = np.concatenate([[1], -predictor])
    cepstrum = np.fft.irfft(-np.log(np.abs(np.fft.rfft(inverse, 1 << 12)) ** 2))
    return np.concatenate([[max(np.log(error), np.finfo(np.float32).eps)], cepstrum[1:count]])


def plp(samples, rate, shape="povey", points=None, count=13, order=12, bins=23, low=20, constant=22, energy=True, compress=0.33333):
    """Power in mel filters, equal loudness at their centres, intensity to loudness by `compress`, the outer bins doubled, inverse
    cosine transform to autocorrelation, linear prediction, cepstrum."""
    length, shift = int(rate * 0.025), int(rate * 0.010)
    points = points or 1 << (length - 1).bit_length()
    raw = frames(samples, length, shift)
    raw = raw - raw.mean(axis=1, keepdims=True)
    x = emphasised(raw, 0.97) * window(shape, length)
    filters, centres = mel_filters(bins, points, rate, low, rate / 2)
    square = centres**2
    loudness = (square / (square + 1.6e5)) ** 2 * (square + 1.44e6) / (square + 9.61e6)
    loud = (np.maximum(spectrum(x, points) ** 2 @ filters.T, np.finfo(np.float32).eps) * loudness) ** compress
    loud = np.concatenate([loud[:, :1], loud, loud[:, -1:]], axis=1)
    even = np.concatenate([loud, loud[:, -2:0:-1]], axis=1)  # a whole turn of the unit circle
    r = np.fft.ifft(even, axis=1).real
    c = np.array([all_pole_cepstrum(row, order, count) for row in r]) * lifter(count, constant)
    if energy:
        c[:, 0] = log_energy(raw)
    return c


def clamped(x, t):
    return x[np.clip(t, 0, len(x) - 1)]


def deltas(x, order, width):
    """Regression slopes; a higher order is the slope of the slopes, the sound's first and last frames repeated for ever."""
    reach = order * width
    current = clamped(x, np.arange(-reach, len(x) + reach))
    parts = [x]
    norm = 2 * sum(j * j for j in range(1, width + 1))
    for _ in range(order):
        n = len(current) - 2 * width
        current = sum(j * (current[width + j : width + j + n] - current[width - j : width - j + n]) for j in range(1, width + 1)) / norm
        spare = (len(current) - len(x)) // 2
        parts.append(current[spare : spare + len(x)])
    return np.concatenate(parts, axis=1)


def normalised(x, reference, variance):
    y = x - reference.mean(axis=0)
    return y / np.sqrt(np.maximum(reference.var(axis=0), 1e-10)) if variance else y


def sliding(x, width, least, center, variance):
    """Frame t by the frames t - width … t, or at the beginning the first `least`; centred: `width` frames around it."""
    rows, n = [], len(x)
    for t in range(n):
        if center:
            size = min(width, n)
            begin = min(max(t - width // 2, 0), n - size)
            part = x[begin : begin + size]
        else:
            part = x[max(0, t - width) : max(t + 1, least)]
        rows.append(normalised(x[t], part, variance))
    return np.array(rows)


def spliced(x, left, right):
    return np.concatenate([clamped(x, np.arange(len(x)) + j) for j in range(-left, right + 1)], axis=1)
