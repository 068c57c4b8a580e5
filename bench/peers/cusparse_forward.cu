/* The forward algorithm by cuSPARSE, [002] 7.2's baseline: a sparse matrix of transitions for each input symbol, in CSR, times the vector of
 * forward values; the vector is rescaled at each symbol, and the logarithm of the scales is kept beside it.
 *
 *     nvcc -O3 -o cusparse_forward bench/peers/cusparse_forward.cu -lcusparse
 *     cusparse_forward MACHINE SENTENCES     (AT&T text with costs, as `trellis fst print` writes it; numbers or words for symbols)
 *
 * Prints a line for each sentence: the negative logarithm of the sum over its paths, and its seconds. Input symbols 0, <eps> and
 * <epsilon> are refused: the machine has to be free of them, as the paper's.
 */
#include <cusparse.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "cusparse_forward: %s\n", what);
    exit(1);
}

static void check(cudaError_t status)
{
    check(status == cudaSuccess, cudaGetErrorString(status));
}

static void check(cusparseStatus_t status)
{
    check(status == CUSPARSE_STATUS_SUCCESS, cusparseGetErrorString(status));
}

/* ---- The machine ---- */

struct arc {
    int from, to;
    float weight;
};

struct machine {
    int states = 0, start = -1;
    std::map<std::string, std::vector<arc>> arcs; /* by input symbol */
    std::map<int, float> final_weight;
};

static machine read_machine(const char *path)
{
    machine m;
    std::ifstream file(path);
    std::string line;
    check(file.good(), "the machine can't be read");
    while (std::getline(file, line)) {
        std::istringstream text(line);
        std::vector<std::string> words;
        for (std::string word; text >> word;)
            words.push_back(word);
        if (words.empty())
            continue;
        int from = atoi(words[0].c_str());
        m.start = m.start < 0 ? from : m.start;
        m.states = std::max(m.states, from + 1);
        if (words.size() <= 2) {
            m.final_weight[from] = words.size() == 2 ? std::exp(-strtof(words[1].c_str(), nullptr)) : 1;
            continue;
        }
        check(words.size() >= 4, "a line has neither an arc nor a final state");
        check(words[2] != "0" && words[2] != "<eps>" && words[2] != "<epsilon>", "an arc reads nothing");
        int to = atoi(words[1].c_str());
        m.states = std::max(m.states, to + 1);
        m.arcs[words[2]].push_back({from, to, words.size() > 4 ? std::exp(-strtof(words[4].c_str(), nullptr)) : 1});
    }
    return m;
}

/* ---- On the device ---- */

template <typename T> static T *send(const std::vector<T> &values)
{
    T *there;
    check(cudaMalloc(&there, std::max<size_t>(values.size(), 1) * sizeof(T)));
    check(cudaMemcpy(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return there;
}

/* Rows are the states that arcs lead to. */
static cusparseSpMatDescr_t make_matrix(std::vector<arc> arcs, int states)
{
    std::vector<int> row(states + 1, 0), column;
    std::vector<float> value;
    std::stable_sort(arcs.begin(), arcs.end(), [](const arc &a, const arc &b) { return a.to < b.to; });
    for (const arc &a : arcs) {
        row[a.to + 1]++;
        column.push_back(a.from);
        value.push_back(a.weight);
    }
    for (int s = 0; s < states; s++)
        row[s + 1] += row[s];
    cusparseSpMatDescr_t matrix;
    check(cusparseCreateCsr(&matrix, states, states, (int64_t)arcs.size(), send(row), send(column), send(value), CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    return matrix;
}

/* One block: values are divided by their sum, whose logarithm is added to *log_scale. */
static __global__ void rescale(float *values, int count, double *log_scale)
{
    __shared__ double part[256];
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        sum += (double)values[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if ((int)threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    float factor = part[0] > 0 ? (float)(1 / part[0]) : 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        values[i] *= factor;
    if (threadIdx.x == 0)
        *log_scale += log(part[0]);
}

struct forward {
    cusparseHandle_t handle;
    std::map<std::string, cusparseSpMatDescr_t> matrix;
    cusparseDnVecDescr_t vector[2];
    float *values[2];
    double *log_scale;
    void *room;
    std::vector<float> start, last;
};

static forward make_forward(const machine &m)
{
    forward f;
    size_t most = 0;
    const float one = 1, zero = 0;
    check(cusparseCreate(&f.handle));
    f.start.assign(m.states, 0);
    f.start[m.start] = 1;
    for (int i = 0; i < 2; i++) {
        f.values[i] = send(f.start);
        check(cusparseCreateDnVec(&f.vector[i], m.states, f.values[i], CUDA_R_32F));
    }
    f.log_scale = send(std::vector<double>(1));
    for (const auto &symbol : m.arcs) {
        size_t size;
        f.matrix[symbol.first] = make_matrix(symbol.second, m.states);
        check(cusparseSpMV_bufferSize(f.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, f.matrix[symbol.first], f.vector[0], &zero,
                                      f.vector[1], CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &size));
        most = std::max(most, size);
    }
    check(cudaMalloc(&f.room, most + 1));
    f.last.assign(m.states, 0);
    for (const auto &state : m.final_weight)
        f.last[state.first] = state.second;
    return f;
}

/* The negative logarithm of the sum over all paths of a sentence. */
static double run(const forward &f, const std::vector<std::string> &sentence)
{
    const float one = 1, zero = 0;
    int now = 0, states = (int)f.start.size();
    double log_scale = 0, sum = 0;
    std::vector<float> alpha(states);
    check(cudaMemcpy(f.values[0], f.start.data(), states * sizeof(float), cudaMemcpyHostToDevice));
    check(cudaMemset(f.log_scale, 0, sizeof(double)));
    for (const std::string &symbol : sentence) {
        auto matrix = f.matrix.find(symbol);
        if (matrix == f.matrix.end())
            return INFINITY;
        check(cusparseSpMV(f.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix->second, f.vector[now], &zero, f.vector[1 - now],
                           CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, f.room));
        now = 1 - now;
        rescale<<<1, 256>>>(f.values[now], states, f.log_scale);
        check(cudaGetLastError());
    }
    check(cudaMemcpy(alpha.data(), f.values[now], states * sizeof(float), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(&log_scale, f.log_scale, sizeof log_scale, cudaMemcpyDeviceToHost));
    for (int s = 0; s < states; s++)
        sum += (double)alpha[s] * (double)f.last[s];
    return -(std::log(sum) + log_scale);
}

int main(int count, char **arguments)
{
    check(count == 3, "usage: cusparse_forward MACHINE SENTENCES");
    forward f = make_forward(read_machine(arguments[1]));
    std::ifstream file(arguments[2]);
    check(file.good(), "the sentences can't be read");
    for (std::string line; std::getline(file, line);) {
        std::istringstream text(line);
        std::vector<std::string> sentence;
        for (std::string word; text >> word;)
            sentence.push_back(word);
        auto start = std::chrono::steady_clock::now();
        double total = run(f, sentence);
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        printf("%.9g %.6g\n", total, seconds.count());
    }
    return 0;
}
