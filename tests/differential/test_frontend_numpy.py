"""PLP, HTK's MFCC, deltas, normalisation and splicing against frontend_definitions.py: within 1e-3 on speech."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import features_command as command
import frontend_definitions as definitions
from features_command import np

RATES = (16000, 8000)


def compare(got, sounds, define, what, tolerance=1e-3):
    assert sorted(got) == sorted(sounds)
    for id, samples in sounds.items():
        command.assert_close(got[id], define(samples), tolerance, f"{what}, {id}")
    print(f"{what}: {sum(map(len, got.values()))} frames agree")


def check_statics(folder, sounds, rate):
    at = f"rate={rate}"
    htk, plp = definitions.htk_mfcc, definitions.plp
    compare(command.features(folder, f"preset=htk {at}"), sounds, lambda x: htk(x, rate), f"htk {at}")
    compare(command.features(folder, f"preset=htk {at} energy=raw num_ceps=10 lifter=0 mel_bins=20"), sounds,
            lambda x: htk(x, rate, 10, 20, 0, True), f"htk with energy {at}")
    compare(command.features(folder, f"preset=plp {at}"), sounds, lambda x: plp(x, rate), f"plp {at}")
    compare(command.features(folder, f"preset=plp {at} energy=none lpc_order=8 num_ceps=9 lifter=0 mel_bins=18 low_hz=100"), sounds,
            lambda x: plp(x, rate, order=8, count=9, constant=0, bins=18, low=100, energy=False), f"plp of order 8 {at}")
    if rate == 8000:
        compare(command.features(folder, "preset=plp8k"), sounds, lambda x: plp(x, rate, "hann", 512), "plp8k")
        compare(command.features(folder, "preset=plp8k splice_left=4 splice_right=4"), sounds,
                lambda x: definitions.spliced(plp(x, rate, "hann", 512), 4, 4), "plp8k spliced to 117 values")


def check_rest(folder, sounds, speakers):
    """The steps after the static coefficients, from the static coefficients that trellis gives."""
    statics = command.features(folder, "")
    d = definitions
    by_samples = {id(sounds[key]): statics[key] for key in sounds}
    of_speaker = {id(sounds[key]): np.concatenate([statics[k] for k in sounds if speakers[k] == speakers[key]]) for key in sounds}
    cases = [
        ("deltas=2", lambda x, s: d.deltas(x, 2, 2)),
        ("deltas=3 delta_window=4", lambda x, s: d.deltas(x, 3, 4)),
        ("splice_left=4 splice_right=4", lambda x, s: d.spliced(x, 4, 4)),
        ("deltas=1 splice_left=3 splice_right=1", lambda x, s: d.spliced(d.deltas(x, 1, 2), 3, 1)),
        ("cmvn=utterance", lambda x, s: d.normalised(x, x, False)),
        ("cmvn=utterance cmvn_variance=1 deltas=2", lambda x, s: d.deltas(d.normalised(x, x, True), 2, 2)),
        ("cmvn=speaker", lambda x, s: d.normalised(x, s, False)),
        ("cmvn=speaker cmvn_variance=1", lambda x, s: d.normalised(x, s, True)),
        ("cmvn=sliding cmvn_window=50 cmvn_min_window=20", lambda x, s: d.sliding(x, 50, 20, False, False)),
        ("cmvn=sliding cmvn_window=50 cmvn_min_window=20 cmvn_variance=1 deltas=1",
         lambda x, s: d.deltas(d.sliding(x, 50, 20, False, True), 1, 2)),
        ("cmvn=sliding cmvn_window=51 cmvn_min_window=20 cmvn_center=1 cmvn_variance=1", lambda x, s: d.sliding(x, 51, 20, True, True)),
        ("cmvn=sliding", lambda x, s: d.sliding(x, 600, 100, False, False)),
    ]
    for settings, define in cases:
        compare(command.features(folder, settings), sounds, lambda x: define(by_samples[id(x)], of_speaker[id(x)]), settings)


def make_synthetic(folder, rate):
    sounds, speakers = {}, {}
    for i in range(5):
        key = f"u{i}"
        sounds[key], speakers[key] = command.speech_like(rate, 0.3 + 0.4 * i, i), f"s{i % 2}"
        command.write_wav(f"{folder}/{key}.wav", sounds[key], rate)
    Path(folder, "wav.scp").write_text("".join(f"{key} {key}.wav\n" for key in sounds))
    Path(folder, "utt2spk").write_text("".join(f"{key} {speakers[key]}\n" for key in sounds))
    return sounds, speakers


for rate in RATES:
    with tempfile.TemporaryDirectory() as folder:
        sounds, speakers = make_synthetic(folder, rate)
        check_statics(folder, sounds, rate)
        if rate == 16000:
            check_rest(folder, sounds, speakers)
with tempfile.TemporaryDirectory() as folder:
    paths = command.an4(folder, 6)
    if paths:
        check_statics(folder, {id: command.decode(path) for id, path in paths.items()}, 16000)
    else:
        print(f"AN4 is not there ({command.shared}/data/an4): only synthetic sound was compared")
