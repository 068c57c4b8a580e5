"""kaldi-decoder as a peer: searches with likelihoods that are there already.

usage: kaldi_decoder_search.py FOLDER

FOLDER has graph.fst (input labels are transition ids), columns.txt (line i, from 0: the label of transition id i, a column of
the matrices counted from 1), likelihoods/ID.npy (frames x columns) and words.txt (what ours found: id and output labels). Prints
a JSON object: for each decoder its CPU seconds, and in how many utterances it found the same words. Beam 13, lattice beam 6,
acoustic scale 0.1, at most 7000 and at least 200 tokens where the decoder has such limits.
"""
import importlib.metadata
import json
import os
import sys
import time

import kaldi_decoder
import kaldifst
import numpy


def read_graph(folder):
    """The graph with columns as input labels."""
    columns = [int(line) for line in open(os.path.join(folder, "columns.txt"), encoding="ascii")]
    graph = kaldifst.StdVectorFst.read(os.path.join(folder, "graph.fst"))
    result = kaldifst.StdVectorFst()
    for state in kaldifst.StateIterator(graph):
        result.add_state()
    result.start = graph.start
    for state in kaldifst.StateIterator(graph):
        final = graph.final(state)
        if float(final.value) != float("inf"):
            result.set_final(state=state, weight=final)
        for arc in kaldifst.ArcIterator(graph, state):
            label = columns[arc.ilabel] if arc.ilabel else 0
            result.add_arc(state=state, arc=kaldifst.StdArc(label, arc.olabel, arc.weight, arc.nextstate))
    return result


def words_of(decoder):
    found, path = decoder.get_best_path()
    if not found:
        return []
    _, _, words, _ = kaldifst.get_linear_symbol_sequence(path)
    return list(words)


def measure(make, graph, matrices, words):
    seconds, same = 0.0, 0
    for name, matrix in matrices.items():
        decodable = kaldi_decoder.DecodableCtc(matrix)
        decoder = make(graph)
        begin = time.process_time()
        decoder.decode(decodable)
        if hasattr(decoder, "get_raw_lattice"):
            decoder.get_raw_lattice()
        seconds += time.process_time() - begin
        same += words_of(decoder) == words[name]
    return {"seconds": seconds, "same_words": same, "utterances": len(matrices)}


def faster(graph):
    options = kaldi_decoder.FasterDecoderOptions()
    options.beam, options.max_active, options.min_active = 13.0, 7000, 200
    return kaldi_decoder.FasterDecoder(graph, options)


def with_lattice(graph):
    config = kaldi_decoder.LatticeSimpleDecoderConfig()
    config.beam, config.lattice_beam = 13.0, 6.0
    return kaldi_decoder.LatticeSimpleDecoder(graph, config)


def main():
    folder = sys.argv[1]
    graph = read_graph(folder)
    words = {}
    for line in open(os.path.join(folder, "words.txt"), encoding="utf-8"):
        name, *labels = line.split()
        words[name] = [int(label) for label in labels]
    matrices = {name: numpy.ascontiguousarray(numpy.load(os.path.join(folder, "likelihoods", name + ".npy")) * numpy.float32(0.1))
                for name in words}
    print(json.dumps({"version": importlib.metadata.version("kaldi-decoder"), "faster": measure(faster, graph, matrices, words),
                      "lattice": measure(with_lattice, graph, matrices, words)}))


if __name__ == "__main__":
    main()
