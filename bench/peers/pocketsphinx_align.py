"""pocketsphinx as a peer: forced alignment of sound files with its stock en-us model.

usage: pocketsphinx_align.py LIST

LIST has a line `path TAB words` per recording. Prints a JSON object: utterances, aligned, seconds (of sound that was aligned) and
cpu (seconds of this process for it: both passes, words and then phones; reading the sound is not counted).
"""
import json
import subprocess
import sys
import time

FRAMES_PER_SECOND = 100


def read_sound(path):
    """16 kHz, 16 bit, one channel, as bytes."""
    command = ["sox", path, "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def create_decoder():
    from pocketsphinx import Decoder

    return Decoder(lm=None, loglevel="FATAL")


def run(decoder, sound):
    decoder.start_utt()
    decoder.process_raw(sound, full_utt=True)
    decoder.end_utt()


def align(decoder, sound, words):
    """[(word, start, end, [(phone, start, end), …]), …] in seconds, silences included; None when it finds none."""
    try:
        decoder.set_align_text(words)
        run(decoder, sound)
        if decoder.hyp() is None:
            return None
        decoder.set_alignment()
        run(decoder, sound)
    except RuntimeError:  # a word that its dictionary lacks, or no path
        return None
    second = 1 / FRAMES_PER_SECOND
    return [(word.name, word.start * second, (word.start + word.duration) * second,
             [(phone.name, phone.start * second, (phone.start + phone.duration) * second) for phone in word])
            for word in decoder.get_alignment()]


def main():
    decoder = create_decoder()
    lines = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")]
    result = {"utterances": len(lines), "aligned": 0, "seconds": 0.0, "cpu": 0.0}
    for path, words in lines:
        sound = read_sound(path)
        start = time.process_time()
        aligned = align(decoder, sound, words.lower())
        used = time.process_time() - start
        if aligned:
            result["aligned"] += 1
            result["seconds"] += len(sound) / 32000
            result["cpu"] += used
    print(json.dumps(result))


if __name__ == "__main__":
    main()
