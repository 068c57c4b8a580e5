"""A corpus whose truth is known: each phone is a sound of its own, and words are phones in a row, with pauses in between.

    python3 tests/tone_corpus.py FOLDER [SEED]

makes FOLDER/sounds/SPEAKER/ID.wav with ID.lab beside it, FOLDER/lexicon.txt, and FOLDER/truth.txt with lines `ID START END LABEL`, the
label being word/phone or SIL/SIL. Needs nothing but Python.
"""

import math
import random
import struct
import sys
import wave
from pathlib import Path

RATE = 16000
TONES = {"AA": (300, 900), "EE": (500, 2400), "OO": (250, 600), "SS": None}
# Every phone before and after every other: what always stands together could be divided anywhere.
WORDS = {a + b: [a, b] for a in TONES for b in TONES if a != b} | {"EE": ["EE"], "SSOOSS": ["SS", "OO", "SS"]}


def sound(phone, seconds, source):
    """Samples of a phone: two tones, hissing, or for silence a little noise."""
    count = round(seconds * RATE)
    if phone == "SIL":
        return [source.gauss(0, 20) for _ in range(count)]
    if phone == "SS":
        white = [source.gauss(0, 2500) for _ in range(count + 1)]
        return [white[i + 1] - white[i] for i in range(count)]
    low, high = TONES[phone]
    return [
        4000 * math.sin(2 * math.pi * low * i / RATE) + 3000 * math.sin(2 * math.pi * high * i / RATE) + source.gauss(0, 60)
        for i in range(count)
    ]


def utterance(source, words):
    """Phones with their words and lengths, silence at both ends, sometimes in between, and always between two phones of a kind."""
    yield "SIL", "SIL", source.uniform(0.15, 0.4)
    for number, word in enumerate(words):
        if number > 0 and (source.random() < 0.4 or WORDS[words[number - 1]][-1] == WORDS[word][0]):
            yield "SIL", "SIL", source.uniform(0.15, 0.4)
        for phone in WORDS[word]:
            yield word, phone, source.uniform(0.08, 0.2)
    yield "SIL", "SIL", source.uniform(0.15, 0.4)


def write_wav(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(struct.pack(f"<{len(samples)}h", *(max(-32768, min(32767, round(s))) for s in samples)))


def make(folder, seed=1, count=24):
    source, folder, truth = random.Random(seed), Path(folder), []
    for n in range(count):
        speaker = "anna" if n < count // 2 else "ben"
        words = [source.choice(sorted(WORDS)) for _ in range(source.randint(2, 5))]
        samples = []
        for word, phone, seconds in utterance(source, words):
            piece = sound(phone, seconds, source)
            start, samples = len(samples), samples + piece
            truth.append(f"{speaker}{n:02} {start / RATE:.6f} {len(samples) / RATE:.6f} {word}/{phone}\n")
        place = folder / "sounds" / speaker
        place.mkdir(parents=True, exist_ok=True)
        write_wav(place / f"{speaker}{n:02}.wav", samples)
        (place / f"{speaker}{n:02}.lab").write_text(" ".join(words) + "\n")
    (folder / "lexicon.txt").write_text("".join(f"{word} {' '.join(phones)}\n" for word, phones in sorted(WORDS.items())))
    (folder / "truth.txt").write_text("".join(truth))


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
