// OpenFst behind the functions of fst_peer.h, each in the form that is fastest with this library: machines are loaded once and sorted,
// composition is lazy, queues suit the machine.
#include "../fst_peer.h"

#include <chrono>
#include <cmath>
#include <fst/fstlib.h>
#include <limits>
#include <vector>

using fst::ArcIterator;
using fst::Fst;
using fst::LogArc;
using fst::StateIterator;
using fst::StdArc;
using fst::StdVectorFst;

struct peer_fst {
    StdVectorFst machine;
};

// ---- Machines ----

static peer_fst *create(int32_t states, int32_t start)
{
    auto *made = new peer_fst;
    made->machine.ReserveStates(states);
    for (int32_t i = 0; i < states; i++)
        made->machine.AddState();
    if (start >= 0)
        made->machine.SetStart(start);
    return made;
}

static void destroy(peer_fst *machine)
{
    delete machine;
}

static void fill(peer_fst *made, int32_t state, const peer_arc *arcs, size_t count, float final)
{
    made->machine.ReserveArcs(state, count);
    for (size_t i = 0; i < count; i++)
        made->machine.AddArc(state, StdArc(arcs[i].ilabel, arcs[i].olabel, arcs[i].weight, arcs[i].next));
    if (final < std::numeric_limits<float>::infinity())
        made->machine.SetFinal(state, final);
}

static void sort_input(peer_fst *made)
{
    fst::ArcSort(&made->machine, fst::ILabelCompare<StdArc>());
    made->machine.Properties(fst::kILabelSorted | fst::kNoIEpsilons | fst::kNoOEpsilons | fst::kNoEpsilons, true);
}

static int32_t states_of(const peer_fst *made)
{
    return made->machine.NumStates();
}

static uint64_t arcs_of(const peer_fst *made)
{
    uint64_t arcs = 0;
    for (int32_t i = 0; i < made->machine.NumStates(); i++)
        arcs += made->machine.NumArcs(i);
    return arcs;
}

// ---- Sentences ----

static StdVectorFst sentence_of(const int32_t *labels, size_t count)
{
    StdVectorFst sentence;
    sentence.ReserveStates(static_cast<int>(count) + 1);
    sentence.SetStart(sentence.AddState());
    for (size_t i = 0; i < count; i++) {
        int next = sentence.AddState();
        sentence.AddArc(next - 1, StdArc(labels[i], labels[i], 0, next));
    }
    sentence.SetFinal(static_cast<int>(count), 0);
    return sentence;
}

// Of a machine with one path.
static double path_cost(const StdVectorFst &path)
{
    double cost = 0;
    int state = path.Start();
    if (state < 0)
        return std::numeric_limits<double>::infinity();
    for (; path.NumArcs(state) > 0;) {
        ArcIterator<StdVectorFst> arc(path, state);
        cost += arc.Value().weight.Value();
        state = arc.Value().nextstate;
    }
    return cost + path.Final(state).Value();
}

static double viterbi(const Fst<StdArc> &composed, bool fifo)
{
    StdVectorFst path;
    if (fifo) {
        std::vector<StdArc::Weight> distance;
        fst::FifoQueue<int> queue;
        fst::AnyArcFilter<StdArc> filter;
        fst::ShortestPathOptions<StdArc, fst::FifoQueue<int>, fst::AnyArcFilter<StdArc>> options(&queue, filter, 1);
        fst::ShortestPath(composed, &path, &distance, options);
    } else
        fst::ShortestPath(composed, &path);
    return path_cost(path);
}

using ToLog = fst::WeightConvertMapper<StdArc, LogArc>;

// Of each state: what leads to it, with a queue that works on each one once, because a sentence has no cycles.
static std::vector<LogArc::Weight> forward_distance(const Fst<LogArc> &machine)
{
    std::vector<LogArc::Weight> distance;
    fst::FifoQueue<int> queue;
    fst::AnyArcFilter<LogArc> filter;
    fst::ShortestDistanceOptions<LogArc, fst::FifoQueue<int>, fst::AnyArcFilter<LogArc>> options(&queue, filter);
    fst::ShortestDistance(machine, &distance, options);
    return distance;
}

static double total_cost(const Fst<LogArc> &machine, const std::vector<LogArc::Weight> &distance)
{
    auto total = LogArc::Weight::Zero();
    for (size_t i = 0; i < distance.size(); i++)
        total = Plus(total, Times(distance[i], machine.Final(static_cast<int>(i))));
    return total.Value();
}

static double forward(const Fst<StdArc> &composed)
{
    const fst::ArcMapFst<StdArc, LogArc, ToLog> machine(composed, ToLog());
    return total_cost(machine, forward_distance(machine));
}

// The counts are added up per input label's arc, as an EM step would; their sum is only looked at so that they are computed.
static double combined(const Fst<StdArc> &composed)
{
    fst::VectorFst<LogArc> machine;
    std::vector<LogArc::Weight> backward;
    fst::ArcMap(composed, &machine, ToLog());
    std::vector<LogArc::Weight> distance = forward_distance(machine);
    fst::ShortestDistance(machine, &backward, true);
    double total = total_cost(machine, distance), counts = 0;
    for (int state = 0; state < static_cast<int>(backward.size()) && state < static_cast<int>(distance.size()); state++)
        for (ArcIterator<fst::VectorFst<LogArc>> i(machine, state); !i.Done(); i.Next()) {
            const LogArc &arc = i.Value();
            if (arc.nextstate < static_cast<int>(backward.size()))
                counts += std::exp(total - distance[state].Value() - arc.weight.Value() - backward[arc.nextstate].Value());
        }
    return counts >= 0 ? total : std::numeric_limits<double>::quiet_NaN();
}

static double decode(const peer_fst *transducer, const int32_t *labels, size_t count, peer_task task)
{
    const StdVectorFst sentence = sentence_of(labels, count);
    const fst::ComposeFst<StdArc> composed(sentence, transducer->machine);
    if (task == PEER_COMBINED)
        return combined(composed);
    return task == PEER_FORWARD ? forward(composed) : viterbi(composed, task == PEER_VITERBI);
}

// ---- Operations ----

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static peer_fst *operate(peer_operation operation, const peer_fst *a, const peer_fst *b, void (*begins)(void),
                       double *seconds)
{
    auto *made = new peer_fst;
    StdVectorFst *out = &made->machine;
    if (operation == PEER_MINIMIZE || operation == PEER_RMEPSILON)
        *out = StdVectorFst(static_cast<const Fst<StdArc> &>(a->machine)); // a deep copy, unlike that of the same type
    if (begins)
        begins();
    double start = now();
    switch (operation) {
    case PEER_COMPOSE:
        fst::Compose(a->machine, b->machine, out);
        break;
    case PEER_DETERMINIZE:
        fst::Determinize(a->machine, out);
        break;
    case PEER_MINIMIZE:
        fst::Minimize(out);
        break;
    case PEER_RMEPSILON:
        fst::RmEpsilon(out);
        break;
    case PEER_SHORTESTPATH:
        fst::ShortestPath(a->machine, out);
        break;
    }
    *seconds = now() - start;
    return made;
}

static int equivalent(const peer_fst *a, const peer_fst *b, int paths)
{
    return fst::RandEquivalent(a->machine, b->machine, paths, 0.01f, 1, 10000);
}

const peer_functions *openfst(void)
{
    static const peer_functions functions = {BENCH_OPENFST, create,   destroy, fill,    sort_input,
                                             states_of,     arcs_of, decode,  operate, equivalent};
    return &functions;
}
