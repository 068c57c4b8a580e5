"""A corpus of a second or two, whose words are made of tones: for tests that run commands thousands of times.

small_corpus.make(folder) makes folder/sounds/SPEAKER/ID.wav with ID.lab, folder/lexicon.txt and folder/lm.arpa.
"""

import random
from pathlib import Path

from tone_corpus import sound, write_wav

WORDS = {"AE": ["AA", "EE"], "SO": ["SS", "OO"], "EE": ["EE"]}
TEXTS = {"anna": ["AE SO", "EE AE"], "ben": ["SO EE"]}
ARPA = """\\data\\
ngram 1=5
ngram 2=4

\\1-grams:
-99 <s> -0.3
-0.6 </s>
-0.6 AE -0.3
-0.6 SO -0.3
-0.6 EE -0.3

\\2-grams:
-0.3 <s> AE
-0.3 AE SO
-0.3 SO </s>
-0.3 AE </s>

\\end\\
"""


def make(folder):
    source, folder = random.Random(1), Path(folder)
    for speaker, texts in TEXTS.items():
        place = folder / "sounds" / speaker
        place.mkdir(parents=True)
        for number, text in enumerate(texts):
            phones = ["SIL", *(phone for word in text.split() for phone in WORDS[word]), "SIL"]
            write_wav(place / f"{speaker}{number}.wav", [s for phone in phones for s in sound(phone, 0.1, source)])
            (place / f"{speaker}{number}.lab").write_text(text + "\n")
    (folder / "lexicon.txt").write_text("".join(f"{word} {' '.join(phones)}\n" for word, phones in sorted(WORDS.items())))
    (folder / "lm.arpa").write_text(ARPA)
