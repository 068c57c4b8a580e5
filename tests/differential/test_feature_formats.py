"""Feature files against kaldi_native_io, NumPy and an encoder of HTK files written from its manual: the same bits both ways."""

import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import kaldi_native_io as kio
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TRELLIS = os.environ["TRELLIS"]


def trellis(*words, stdin=None):
    return subprocess.run([TRELLIS, *map(str, words)], input=stdin, capture_output=True, check=True).stdout


def same_bits(a, b):
    a, b = np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32)
    return (a.shape == b.shape or a.size == b.size == 0) and a.tobytes() == b.tobytes()


def matrices(seed):
    """Many shapes; small ones take other paths in Kaldi's compression."""
    random = np.random.default_rng(seed)
    shapes = [(1, 1), (1, 13), (2, 3), (4, 5), (5, 5), (8, 2), (9, 40), (37, 13), (200, 39), (3, 300)]
    result = {f"utt{i}": random.normal(0, 10 ** random.uniform(-3, 3), shape).astype(np.float32) for i, shape in enumerate(shapes)}
    result["constant"] = np.full((20, 4), -3.25, np.float32)
    result["integers"] = random.integers(0, 255, (30, 6)).astype(np.float32)
    return result


class FeatureFormats(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def by_trellis(self, place, stdin=None):
        out = self.folder / "npy"
        trellis("features", "copy", "-q", place, f"npy:{out}", stdin=stdin)
        read = {path.stem: np.load(path) for path in out.iterdir()}
        for path in out.iterdir():
            path.unlink()
        return read

    def by_kaldi(self, rspecifier):
        with kio.SequentialFloatMatrixReader(rspecifier) as reader:
            return {key: np.array(value) for key, value in reader}

    def assert_same(self, a, b):
        self.assertEqual(sorted(a), sorted(b))
        for key in a:
            self.assertTrue(same_bits(a[key], b[key]), key)

    def write_kaldi(self, writer_class, wspecifier, values):
        with writer_class(wspecifier) as writer:
            for key, value in values.items():
                writer.write(key, value)

    def by_trellis_text(self, place):
        out = self.folder / "read.ark"
        trellis("features", "copy", "-q", place, f"ark:{out}")
        return self.by_kaldi(f"ark:{out}")

    def test_reads_what_numpy_writes(self):
        for version, kind, order in [((1, 0), "<f4", "C"), ((1, 0), ">f4", "F"), ((2, 0), "<f8", "C"), ((3, 0), ">f8", "F")]:
            folder = self.folder / f"{kind}{order}"
            folder.mkdir()
            values = {k: np.asarray(v.astype(np.float64) * 1.1, kind, order) for k, v in matrices(11).items()}
            for key, value in values.items():
                with open(folder / f"{key}.npy", "wb") as file:
                    np.lib.format.write_array(file, value, version)
            self.assert_same(values, self.by_trellis_text(f"npy:{folder}"))
        np.save(self.folder / "flat.npy", np.array([1.5, -2], np.float32))
        self.assert_same({"flat": np.array([[1.5, -2]], np.float32)}, self.by_trellis_text(self.folder / "flat.npy"))

    def refused(self, path):
        run = subprocess.run([TRELLIS, "features", "show", path], capture_output=True, text=True)
        self.assertEqual(run.returncode, 3)
        return run.stderr

    def test_refuses_other_arrays(self):
        path = self.folder / "x.npy"
        for array, words in [(np.zeros((2, 2), np.int32), "astype('float32')"), (np.zeros((2, 2), np.complex64), "astype('float32')"),
                             (np.zeros((2, 2, 2), np.float32), "dimensions"), (np.float32(1), "dimensions"),
                             (np.zeros((2, 2), [("a", "<f4")]), "astype('float32')"), (np.array([[1, np.nan]], np.float32), "NaN"),
                             (np.array([[1e300]]), "infinity"), (np.zeros((2, 0), np.float32), "without columns")]:
            np.save(path, array)
            self.assertIn(words, self.refused(path))
        np.save(path, np.zeros((1, 2), np.float32))
        good = path.read_bytes()
        for bad, words in [(good[:-1], "more bytes should follow"), (good + b"x", "bytes after the 1 x 2 numbers"),
                           (good[:60], "more bytes should follow"), (b"RIFF" + good[4:], "not a NumPy file"),
                           (good.replace(b"(1, 2), }", b"(1, 2)   "), "not understood"),
                           (good.replace(b"'shape'", b"'Shape'"), "not understood")]:
            path.write_bytes(bad)
            self.assertIn(words, self.refused(path))

    def test_reads_what_kaldi_writes(self):
        for seed, (writer, kind) in enumerate([(kio.FloatMatrixWriter, np.float32), (kio.DoubleMatrixWriter, np.float64)]):
            for flag in ("", ",t"):
                values = {k: v.astype(kind) * kind(1.1) for k, v in matrices(seed).items()}
                ark, scp = self.folder / "a.ark", self.folder / "a.scp"
                self.write_kaldi(writer, f"ark,scp{flag}:{ark},{scp}", values)
                expected = self.by_kaldi(f"ark:{ark}") if kind is np.float32 else {
                    k: np.array(v).astype(np.float32) for k, v in kio.SequentialDoubleMatrixReader(f"ark:{ark}")}
                if not flag and kind is np.float32:
                    self.assert_same(values, expected)
                self.assert_same(expected, self.by_trellis(f"ark:{ark}"))
                self.assert_same(expected, self.by_trellis(f"scp:{scp}"))
                self.assert_same(expected, self.by_trellis("ark:-", stdin=ark.read_bytes()))

    def test_reads_vectors_as_rows(self):
        for writer, kind in [(kio.FloatVectorWriter, np.float32), (kio.DoubleVectorWriter, np.float64)]:
            values = {k: v[0].astype(kind) for k, v in matrices(3).items()}
            for flag in ("", ",t"):
                self.write_kaldi(writer, f"ark{flag}:{self.folder}/v.ark", values)
                read = self.by_trellis(f"ark:{self.folder}/v.ark")
                for key, value in values.items():
                    if flag:
                        np.testing.assert_allclose(read[key], value[None, :], rtol=1e-5)
                    else:
                        self.assertTrue(same_bits(read[key], value[None, :].astype(np.float32)), key)

    def test_decompresses_like_kaldi(self):
        tokens = set()
        for method in kio.CompressionMethod.__members__.values():
            for seed in range(3):
                ark, scp = self.folder / "c.ark", self.folder / "c.scp"
                with kio.CompressedMatrixWriter(f"ark,scp:{ark},{scp}") as writer:
                    for key, value in matrices(seed).items():
                        writer.write(key, value, method)
                data = ark.read_bytes()
                tokens |= {t for t in (b"BCM ", b"BCM2 ", b"BCM3 ") if t in data}
                expected = self.by_kaldi(f"ark:{ark}")
                self.assert_same(expected, self.by_trellis(f"ark:{ark}"))
                self.assert_same(expected, self.by_trellis(f"scp:{scp}"))
        self.assertEqual(len(tokens), 3)

    def test_ranges_like_kaldi(self):
        values = {k: v for k, v in matrices(5).items() if v.shape[0] >= 20}
        ark, scp, ranged = self.folder / "r.ark", self.folder / "r.scp", self.folder / "ranged.scp"
        self.write_kaldi(kio.FloatMatrixWriter, f"ark,scp:{ark},{scp}", values)
        for text in ("[0:10]", "[3:3]", "[0:19,1:2]", "[5:6,0:0]"):
            ranged.write_text("".join(f"{line}{text}\n" for line in scp.read_text().splitlines()))
            self.assert_same(self.by_kaldi(f"scp:{ranged}"), self.by_trellis(f"scp:{ranged}"))

    def test_kaldi_reads_what_we_write(self):
        values = matrices(8)
        source = self.folder / "in.ark"
        self.write_kaldi(kio.FloatMatrixWriter, f"ark:{source}", values)
        packed = self.folder / "p.trf"
        trellis("features", "copy", "-q", source, packed)
        for form in ("ark,scp", "ark,t,scp"):
            ark, scp = self.folder / "o.ark", self.folder / "o.scp"
            trellis("features", "copy", "-q", packed, f"{form}:{ark},{scp}")
            self.assert_same(values, self.by_kaldi(f"ark:{ark}"))
            self.assert_same(values, self.by_kaldi(f"scp:{scp}"))
        trellis("features", "copy", "-q", packed, self.folder / "binary.ark")
        self.assertEqual(source.read_bytes(), (self.folder / "binary.ark").read_bytes())

    def test_htk_both_ways(self):
        for kind, shift in ((6, 10), (9 | 0o20000, 12.5)):
            values = matrices(11)
            source, out = self.folder / "in.ark", self.folder / f"htk{kind}"
            self.write_kaldi(kio.FloatMatrixWriter, f"ark:{source}", values)
            trellis("features", "copy", "-q", "--htk-kind", kind, "--shift", shift, source, f"htk:{out}")
            for key, value in values.items():
                expected = struct.pack(">iihH", len(value), int(shift * 10000), 4 * value.shape[1], kind) + value.astype(">f4").tobytes()
                self.assertEqual((out / f"{key}.htk").read_bytes(), expected)
            script = self.folder / "htk.scp"
            script.write_text("".join(f"{key} {out}/{key}.htk\n" for key in values))
            with kio.SequentialHtkMatrixReader(f"scp:{script}") as reader:
                self.assert_same(values, {key: np.array(value[0]) for key, value in reader})
            self.assert_same(values, self.by_trellis(f"htk:{out}"))

    def test_htk_that_we_only_read(self):
        random = np.random.default_rng(4)
        folder, expected = self.folder / "htk", {}
        folder.mkdir()
        for i in range(40):
            rows, cols = int(random.integers(1, 30)), int(random.integers(1, 40))
            compressed, crc = i % 2, i // 2 % 2
            base = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11][i % 10]
            qualifiers = int(random.choice([0o100, 0o300, 0o500, 0o1500, 0o4000, 0o20000, 0o40000, 0o100000]))
            data = random.normal(0, 20, (rows, cols)).astype(np.float32)
            body, value = encode_htk(data, base, compressed)
            kind = base | qualifiers | (0o2000 if compressed else 0) | (0o10000 if crc else 0)
            size = 2 * cols if compressed or base == 5 else 4 * cols
            content = struct.pack(">iiHH", rows + 4 * compressed, 100000, size, kind) + body
            if crc:
                content += struct.pack(">H", htk_checksum(body))
            (folder / f"h{i:02}.mfc").write_bytes(content)
            expected[f"h{i:02}"] = value
        self.assert_same(expected, self.by_trellis(f"htk:{folder}"))


def encode_htk(data, base, compressed):
    """The bytes after the header, and the floats that they stand for."""
    if compressed:
        high, low = data.max(0), data.min(0)
        spread = np.where(high > low, high - low, 1).astype(np.float32)
        a = (np.float32(2 * 32767) / spread).astype(np.float32)
        b = ((high + low) * np.float32(32767) / spread).astype(np.float32)
        shorts = np.clip(np.rint(data * a - b), -32768, 32767).astype(np.int16)
        value = (shorts.astype(np.float32) + b) / a
        return a.astype(">f4").tobytes() + b.astype(">f4").tobytes() + shorts.astype(">i2").tobytes(), value
    if base == 5:
        shorts = np.clip(np.rint(data * 300), -32767, 32767).astype(np.int16)
        return shorts.astype(">i2").tobytes(), shorts.astype(np.float32) / np.float32(32767)
    return data.astype(">f4").tobytes(), data


def htk_checksum(body):
    """All 16-bit words as one long number, modulo 36897."""
    return int.from_bytes(body, "big") % 36897


if __name__ == "__main__":
    unittest.main()
