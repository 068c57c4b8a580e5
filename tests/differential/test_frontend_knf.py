"""MFCC and filterbank against kaldi-native-fbank, on recordings (AN4) and on synthetic sound, options varied.

Criterion. On recordings and on speech-like sound: 1e-3 per coefficient. A float Fourier transform spreads noise of about
1e-7 of the frame's amplitude over all points, so a mel bin far below the frame's energy, as pure tones and silence have
them, is known only up to that noise: there the amplitude sqrt(m) of a mel bin may differ by 0.0005 sqrt(m) + 1e-6 sqrt(E),
E being the sum of the frame's bins. In the log domain that is a tolerance per bin, and through the cosine transform a
tolerance per cepstrum.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import features_command as command
from features_command import np

try:
    import kaldi_native_fbank as knf
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

DEFAULTS = dict(kind="mfcc", rate=16000, frame_ms=25, shift_ms=10, snip_edges=1, window="povey", preemphasis=0.97, remove_dc=1,
                mel_bins=23, low_hz=20, high_hz=0, num_ceps=13, lifter=22, energy="raw", layout="kaldi")
WINDOWS = {"hann": "hanning"}

# Few bins per FFT point: a bin of a single point at 30 Hz holds so little after pre-emphasis that the peer itself is 2e-3 off.
VARIED = [
    "", "kind=fbank energy=none", "kind=fbank energy=raw mel_bins=40", "kind=fbank energy=windowed layout=htk mel_bins=64 low_hz=100",
    "window=hamming", "window=hann energy=windowed", "window=rectangular energy=none", "window=blackman lifter=0",
    "energy=none layout=htk num_ceps=20 mel_bins=26", "energy=raw layout=htk", "low_hz=64 high_hz=7000 mel_bins=30",
    "high_hz=-400 num_ceps=23", "frame_ms=32 shift_ms=8", "frame_ms=20 shift_ms=12.5 snip_edges=0", "snip_edges=0",
    "kind=fbank energy=none snip_edges=0 frame_ms=10 shift_ms=15", "preemphasis=0", "remove_dc=0", "preemphasis=0.5 remove_dc=0 lifter=10",
]


def options_of(settings):
    return {**DEFAULTS, **dict(setting.split("=") for setting in settings.split())}


def by_peer(o, samples):
    p = knf.MfccOptions() if o["kind"] == "mfcc" else knf.FbankOptions()
    p.frame_opts.samp_freq, p.frame_opts.dither = float(o["rate"]), 0
    p.frame_opts.frame_length_ms, p.frame_opts.frame_shift_ms = float(o["frame_ms"]), float(o["shift_ms"])
    p.frame_opts.snip_edges, p.frame_opts.remove_dc_offset = bool(int(o["snip_edges"])), bool(int(o["remove_dc"]))
    p.frame_opts.window_type, p.frame_opts.preemph_coeff = WINDOWS.get(o["window"], o["window"]), float(o["preemphasis"])
    p.mel_opts.num_bins, p.mel_opts.low_freq, p.mel_opts.high_freq = int(o["mel_bins"]), float(o["low_hz"]), float(o["high_hz"])
    p.use_energy, p.raw_energy, p.htk_compat = o["energy"] != "none", o["energy"] != "windowed", o["layout"] == "htk"
    if o["kind"] == "mfcc":
        p.num_ceps, p.cepstral_lifter = int(o["num_ceps"]), float(o["lifter"])
    stream = knf.OnlineMfcc(p) if o["kind"] == "mfcc" else knf.OnlineFbank(p)
    stream.accept_waveform(float(o["rate"]), samples.astype(np.float32).tolist())
    stream.input_finished()
    return np.array([stream.get_frame(t) for t in range(stream.num_frames_ready)], np.float64)


def bin_tolerance(log_mel):
    """Of log mel energies, by the criterion above."""
    amplitude, total = np.exp(log_mel / 2), np.exp(log_mel).sum(axis=1, keepdims=True)
    relative = 0.0005 + 1e-6 * np.sqrt(total) / amplitude
    return 2 * relative  # d log m = 2 d sqrt(m) / sqrt(m)


def tolerance(o, samples, expected):
    """Of every coefficient of a sound with tones or silence."""
    allowed = np.full(expected.shape, 1e-3)
    width, place = int(o["mel_bins"]), int(o["energy"] != "none" and o["layout"] == "kaldi")
    bins = by_peer({**o, "kind": "fbank", "energy": "none"}, samples)
    if o["kind"] == "fbank":
        allowed[:, place : place + width] = bin_tolerance(bins)
        return allowed
    lifter, count = float(o["lifter"]), int(o["num_ceps"])
    order = np.arange(count)
    cosines = np.sqrt(2 / width) * np.abs(np.cos(np.pi / width * np.outer(order, np.arange(width) + 0.5)))
    cosines *= (np.abs(1 + lifter / 2 * np.sin(np.pi * order / lifter)) if lifter else np.ones(count))[:, None]
    spread = bin_tolerance(bins) @ cosines.T
    if o["energy"] != "none":
        spread[:, 0] = 1e-3
    return np.maximum(allowed, np.roll(spread, -1, axis=1) if o["layout"] == "htk" else spread)


def compare(folder, sounds, settings, exact):
    o = options_of(settings)
    got = command.features(folder, settings)
    assert sorted(got) == sorted(sounds), (sorted(got), sorted(sounds))
    for id, samples in sounds.items():
        expected = by_peer(o, samples)
        allowed = 1e-3 if exact(id) else tolerance(o, samples, expected)
        command.assert_close(got[id], expected, allowed, f"{id}, {settings or 'defaults'}")


def synthetic(rate):
    t = np.arange(int(0.6 * rate)) / rate
    noise = np.random.default_rng(1).standard_normal(len(t))
    sweep = np.sin(2 * np.pi * (50 + (rate / 2 - 100) / 2 * t / t[-1]) * t)
    sounds = {
        "exact-speech": command.speech_like(rate, 0.6, 1), "exact-noise": 3000 * noise, "chirp": 8000 * sweep + 10 * noise,
        "exact-soft": 2 * noise, "exact-offset": 5000 + 500 * noise, "tone": 10000 * np.sin(2 * np.pi * 1000 * t),
        "two-tones": 8000 * np.sin(2 * np.pi * 300 * t) + 8000 * np.sin(2 * np.pi * 3300 * t), "silence": 0 * t, "dc": 0 * t + 4000,
        "click": np.where(np.arange(len(t)) == len(t) // 2, 20000, 0), "exact-loud": np.clip(20000 * noise, -32768, 32767),
    }
    return {id: np.round(samples).astype(np.int16) for id, samples in sounds.items()}


def test_synthetic():
    for rate, varied in ((16000, VARIED), (8000, ["rate=8000", "rate=8000 kind=fbank energy=none mel_bins=15 high_hz=3700"])):
        with tempfile.TemporaryDirectory() as folder:
            sounds = synthetic(rate)
            for id, samples in sounds.items():
                command.write_wav(f"{folder}/{id}.wav", samples, rate)
            for settings in varied:
                compare(folder, sounds, settings, lambda id: id.startswith("exact"))
            print(f"synthetic sound at {rate} Hz: {len(sounds)} sounds, {len(varied)} descriptions agree")


def test_an4():
    """All utterances with the common descriptions, a few with every one."""
    for count, varied in ((40, VARIED[:2]), (4, VARIED[2:])):
        with tempfile.TemporaryDirectory() as folder:
            paths = command.an4(folder, count)
            if paths is None:
                print(f"AN4 is not there ({command.shared}/data/an4): only synthetic sound was compared")
                return
            sounds = {id: command.decode(path) for id, path in paths.items()}
            for settings in varied:
                compare(folder, sounds, settings, lambda id: True)
            print(f"AN4: {count} utterances, {len(varied)} descriptions agree")


test_synthetic()
test_an4()
