"""The same sound in many forms gives the same features, or features that differ for a known reason.

Lossless forms hold the same samples: the same bits must come out. Lossy and resampled forms differ, and how much is said where they are
compared, in log-mel energies (nepers) over all frames: at quiet places the difference is the coder's or resampler's own noise, so the
median over frames and bins is held to a bound, and where nothing but noise is lost the bulk of the frames is too.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import features_command as command
from features_command import np

FBANK = "preset=fbank mel_bins=40"

if not shutil.which("sox"):
    print("skipped: sox is not installed")
    sys.exit(77)


def sox(*words):
    subprocess.run(["sox", "-D", *map(str, words)], check=True)


def mel_centres(rate, bins=40):
    corners = np.linspace(1127 * np.log(1 + 20 / 700), 1127 * np.log(1 + rate / 2 / 700), bins + 2)
    return 700 * (np.exp(corners[1:-1] / 1127) - 1)


def differences(a, b, bins):
    assert sorted(a) == sorted(b) and a
    return np.concatenate([np.abs(a[id] - b[id])[:, bins].ravel() for id in a])


def assert_differs_by(a, b, bins, median, most, what):
    """At most `median` in the median, and `most` in 95 of 100 values."""
    d = differences(a, b, bins)
    seen = np.median(d), np.quantile(d, 0.95)
    assert seen[0] <= median and seen[1] <= most, f"{what}: median {seen[0]:.4f}, 95 % {seen[1]:.4f}, allowed {median}, {most}"
    print(f"{what}: median {seen[0]:.4f}, 95 % {seen[1]:.4f}")


def assert_same(a, b, what):
    assert sorted(a) == sorted(b) and a, (what, sorted(a), sorted(b))
    for id in a:
        assert a[id].tobytes() == b[id].tobytes(), f"{what}: {id} differs"
    print(f"{what}: the same bits")


class Sounds:
    """A folder of 16-bit WAV files, and folders of the same sounds in other forms."""

    def __init__(self, folder):
        self.root = Path(folder)
        self.ids = []

    def add(self, id, samples):
        (self.root / "wav").mkdir(exist_ok=True)
        command.write_wav(self.root / f"wav/{id}.wav", samples, 16000)
        self.ids.append(id)

    def made(self, name, ending, *options, effects=()):
        folder = self.root / name
        folder.mkdir()
        for id in self.ids:
            sox(self.root / f"wav/{id}.wav", *options, folder / f"{id}.{ending}", *effects)
        return folder


def check_lossless(sounds, original):
    forms = [("flac", "flac"), ("wav24", "wav", "-b", 24), ("float", "wav", "-e", "floating-point", "-b", 32), ("wav32", "wav", "-b", 32),
             ("aiff", "aiff"), ("sphere", "sph")]
    for name, ending, *options in forms:
        assert_same(command.features(sounds.made(name, ending, *options), FBANK), original, name)
    both = sounds.made("stereo", "wav", effects=("remix", 1, 1))
    for channel in ("0", "1", "mix"):  # the mean of two equal samples is exact
        assert_same(command.features(both, FBANK, "--channel", channel), original, f"stereo, channel {channel}")


def check_two_voices(sounds, original):
    """Two utterances, cut to the same length, as the channels of one file."""
    folder = sounds.root / "two"
    folder.mkdir()
    one, two = (command.decode(sounds.root / f"wav/{id}.wav") for id in sounds.ids[:2])
    length = min(len(one), len(two))
    one, two = one[:length], two[:length]
    for name, samples in (("one", one), ("two", two)):
        (folder / name).mkdir()
        command.write_wav(folder / name / "x.wav", samples, 16000)
    sox("-M", folder / "one/x.wav", folder / "two/x.wav", folder / "x.flac")
    assert_same(command.features(folder / "x.flac", FBANK), command.features(folder / "one", FBANK), "the first of two voices")
    assert_same(command.features(folder / "x.flac", FBANK, "--channel", "1"), command.features(folder / "two", FBANK), "the second")
    mean = ((one.astype(np.float64) + two) / 2 / 32768).astype("<f4")  # exact in a float
    (folder / "mean.f32").write_bytes(mean.tobytes())
    sox("-t", "f32", "-r", 16000, "-c", 1, folder / "mean.f32", "-e", "floating-point", "-b", 32, folder / "one/x.wav")
    assert_same(command.features(folder / "x.flac", FBANK, "--channel", "mix"), command.features(folder / "one", FBANK), "their mean")


def check_lossy(sounds, original):
    """Vorbis keeps what can be heard: loud bins are near, quiet ones are replaced by its noise."""
    ogg = command.features(sounds.made("ogg", "ogg", "-C", 8), FBANK)
    assert_differs_by(ogg, original, mel_centres(16000) < 6000, 0.1, 0.5, "Ogg Vorbis, bins below 6 kHz")


def check_resampled(sounds, original):
    """Up to 44.1 kHz and back only the resamplers' filters act, near 8 kHz: the bins below 7 kHz stay."""
    high = sounds.made("44100", "wav", "-r", 44100, "-e", "floating-point", "-b", 32)
    assert_differs_by(command.features(high, FBANK), original, mel_centres(16000) < 7000, 0.001, 0.005, "44.1 kHz, bins below 7 kHz")
    # At 8 kHz a front end of 8 kHz sees the same whether sox or trellis halves the rate, below the filters' edges.
    low = sounds.made("8000", "wav", "-r", 8000, "-e", "floating-point", "-b", 32)
    narrow = FBANK + " rate=8000 mel_bins=25"
    assert_differs_by(command.features(low, narrow), command.features(sounds.root / "wav", narrow), mel_centres(8000, 25) < 3400, 0.001,
                      0.005, "8 kHz, bins below 3.4 kHz")
    # A front end of 16 kHz on sound of 8 kHz: the lower bins stay, the upper ones are empty.
    wide = command.features(low, FBANK)
    assert_differs_by(wide, original, mel_centres(16000) < 3300, 0.001, 0.005, "8 kHz as 16 kHz, bins below 3.3 kHz")
    upper = mel_centres(16000) > 4800
    lost = np.concatenate([(original[id] - wide[id])[:, upper].ravel() for id in original])
    assert np.median(lost) > 3, f"upper bins of 8 kHz sound hold energy: only {np.median(lost)} nepers less"


with tempfile.TemporaryDirectory() as folder:
    sounds = Sounds(folder)
    for i in range(2):
        sounds.add(f"made{i}", command.speech_like(16000, 1.5 + i / 3, i))
    (sounds.root / "an4").mkdir()
    for id, path in (command.an4(sounds.root / "an4", 3) or {}).items():
        sounds.add(id, command.decode(path))
    print(f"{len(sounds.ids)} sounds" + ("" if len(sounds.ids) > 2 else f"; AN4 is not there ({command.shared}/data/an4)"))
    original = command.features(sounds.root / "wav", FBANK)
    check_lossless(sounds, original)
    check_two_voices(sounds, original)
    check_lossy(sounds, original)
    check_resampled(sounds, original)
