"""pocketsphinx as a peer: recognises sound files with its stock en-us model.

usage: pocketsphinx_decode.py LIST OUT LM PASSES:SCALE …

LIST has a line `id TAB path` per recording, mono at 16 kHz. LM is a language model that pocketsphinx reads; "" is the stock one. Each
further argument is a run: all beams raised to the power SCALE (1: its defaults) with as many PASSES (3: its defaults, tree search, flat
search, best path of the lattice; 1: the first alone). Words go to OUT-PASSES-SCALE.txt, a line `id word …` per recording.

Prints a JSON object: version, and for each run name, cpu (seconds of this process inside the decoder: front end and search), wall, seconds
(of sound) and peak_mb (of the run: each has a process of its own).
"""
import importlib.metadata
import json
import multiprocessing
import re
import resource
import subprocess
import sys
import time

BEAMS = {"beam": 1e-48, "wbeam": 7e-29, "pbeam": 1e-48, "lpbeam": 1e-40, "lponlybeam": 7e-29, "fwdflatbeam": 1e-64,
         "fwdflatwbeam": 7e-29}


def read_sound(path):
    """16 kHz, 16 bit, one channel, as bytes."""
    command = ["sox", path, "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def create_decoder(lm, passes, scale):
    from pocketsphinx import Decoder

    options = {name: value ** scale for name, value in BEAMS.items()} if scale != 1 else {}
    if passes == 1:
        options.update(fwdflat=False, bestpath=False)
    if lm:
        options["lm"] = lm
    return Decoder(loglevel="FATAL", **options)


def words_of(decoder):
    """What it heard, without the numbers of pronunciations."""
    hypothesis = decoder.hyp()
    return re.sub(r"\(\d+\)", "", hypothesis.hypstr) if hypothesis else ""


def run(recordings, out, lm, name):
    passes, scale = name.split(":")
    decoder = create_decoder(lm, int(passes), float(scale))
    result = {"name": name, "cpu": 0.0, "wall": 0.0, "seconds": 0.0}
    with open(f"{out}-{passes}-{scale}.txt", "w", encoding="utf-8") as file:
        for utterance, path in recordings:
            sound = read_sound(path)
            cpu, wall = time.process_time(), time.perf_counter()
            decoder.start_utt()
            decoder.process_raw(sound, full_utt=True)
            decoder.end_utt()
            words = words_of(decoder)
            result["cpu"] += time.process_time() - cpu
            result["wall"] += time.perf_counter() - wall
            result["seconds"] += len(sound) / 32000
            print(utterance, words, file=file)
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return result


def main():
    list_path, out, lm, *names = sys.argv[1:]
    recordings = [line.rstrip("\n").split("\t") for line in open(list_path, encoding="utf-8")]
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        runs = [pool.apply(run, (recordings, out, lm, name)) for name in names]
    print(json.dumps({"version": importlib.metadata.version("pocketsphinx"), "runs": runs}))


if __name__ == "__main__":
    main()
