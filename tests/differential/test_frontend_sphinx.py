#!/usr/bin/env python3
"""The front end beside Sphinx's own: MFCC before normalisation of sphinx_fe (Debian's sphinxbase-utils), with the cosine transforms, noise
removal, filters and rates that its models use; and of the Python package pocketsphinx with the stock settings.

Sphinx computes in double, the reference too, the fast kernels in float. Differences are relative to the frame's largest coefficient.
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from features_command import an4, features, np, speech_like, write_wav

EN_US = ("low_hz=130 high_hz=6800 mel_bins=25 dct=layout lifter=22", "-lowerf 130 -upperf 6800 -nfilt 25 -transform dct -lifter 22")
SETTINGS = [
    (16000, "denoise=0", "-remove_noise no"),
    (16000, "", "-remove_noise yes"),
    (16000, EN_US[0], EN_US[1] + " -remove_noise yes"),
    (16000, EN_US[0] + " denoise=0 dct=htk", EN_US[1].replace("dct", "htk") + " -remove_noise no"),
    (16000, "filter_round=0 filter_unit_area=0 remove_dc=1 preemphasis=0.9", "-round_filters no -unit_area no -remove_dc yes -alpha 0.9 -remove_noise yes"),
    (8000, "rate=8000 low_hz=200 high_hz=3500 mel_bins=15 fft_length=256 dct=layout lifter=22",
     "-samprate 8000 -lowerf 200 -upperf 3500 -nfilt 15 -nfft 256 -transform dct -lifter 22 -remove_noise yes"),
]
UTTERANCES = 3


def read_mfc(path):
    data = Path(path).read_bytes()
    order = "<" if struct.unpack_from("<i", data)[0] * 4 + 4 == len(data) else ">"
    assert 4 + 4 * struct.unpack_from(f"{order}i", data)[0] == len(data), f"{path}: another number of values than it says"
    return np.frombuffer(data, f"{order}f4", offset=4).reshape(-1, 13).astype(np.float64)


def compare(ours, theirs, tolerance, what):
    assert ours.shape == theirs.shape, f"{what}: {ours.shape[0]} frames, Sphinx has {theirs.shape[0]}"
    worst = float(np.max(np.abs(ours - theirs) / np.max(np.abs(theirs), axis=1, keepdims=True)))
    assert worst < tolerance, f"{what}: differs by {worst:.2e}"
    return worst


def sphinx_fe(wav, options, folder):
    out = Path(folder) / "out.mfc"
    subprocess.run(["sphinx_fe", "-i", str(wav), "-o", str(out), "-mswav", "yes", "-remove_silence", "no", *options.split()], check=True, capture_output=True)
    return read_mfc(out)


def sounds(folder, rate):
    for i in range(UTTERANCES):
        write_wav(folder / f"u{i}.wav", speech_like(rate, 1.3 + 0.37 * i, i), rate)
    recordings = an4(folder, UTTERANCES) if rate == 16000 else None
    for id, path in (recordings or {}).items():
        subprocess.run(["sox", str(path), str(folder / f"{id}.wav")], check=True)
    if (folder / "wav.scp").exists():
        (folder / "wav.scp").unlink()
    return sorted(folder.glob("*.wav"))


def check_sphinx_fe():
    for rate, settings, options in SETTINGS:
        with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as scratch:
            wavs = sounds(Path(name), rate)
            for level, tolerance in (("ref", 2e-6), ("", 2e-4)):
                os.environ["TRELLIS_CPU"] = level
                if not level:
                    del os.environ["TRELLIS_CPU"]
                ours = features(name, f"preset=sphinx cmvn=none {settings}")
                worst = max(compare(ours[wav.stem], sphinx_fe(wav, options, scratch), tolerance, f"{options}: {wav.stem} ({level or 'fast'})") for wav in wavs)
                print(f"{options} ({level or 'fast'}): {len(wavs)} recordings, largest difference {worst:.1e}")


def check_package():
    try:
        import pocketsphinx
    except ImportError:
        print("without the Python package pocketsphinx: it is not installed")
        return
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as log:
        wavs = sounds(Path(name), 16000)
        ours = features(name, f"preset=sphinx cmvn=none {EN_US[0]}")
        decoder = pocketsphinx.Decoder(lm=None, keyphrase="hello", mfclogdir=log, loglevel="FATAL")
        for i, wav in enumerate(wavs):
            decoder.start_stream()  # else it goes on with the noise of the last recording
            decoder.start_utt()
            decoder.process_raw(wav.read_bytes()[44:], full_utt=True)
            decoder.end_utt()
            logs = sorted(Path(log).iterdir())
            theirs = read_mfc(logs[i])
            compare(ours[wav.stem], theirs, 2e-4, f"pocketsphinx: {wav.stem}")
        print(f"pocketsphinx with the stock settings: {len(wavs)} recordings agree")


if not shutil.which("sphinx_fe"):
    print("skipped: sphinx_fe is not installed (Debian's sphinxbase-utils)")
    sys.exit(77)
check_sphinx_fe()
check_package()
