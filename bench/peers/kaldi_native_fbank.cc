// The peer of `trellis-bench features`: kaldi-native-fbank's MFCC, then per-utterance mean normalisation, deltas and delta-deltas, as a careful
// C++ user would write them. Reads samples (±1, float32) from a file: per utterance an int32 count and the samples. Prints
// the CPU seconds of the best of N runs, of MFCC alone and of everything, and a checksum of the frames.
//
// usage: kaldi_native_fbank FILE RATE RUNS
#include <kaldi-native-fbank/csrc/online-feature.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

static double cpu_seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static std::vector<std::vector<float>> read_sound(const char *path)
{
    std::vector<std::vector<float>> all;
    FILE *file = std::fopen(path, "rb");
    int32_t count;
    while (file && std::fread(&count, sizeof count, 1, file) == 1) {
        std::vector<float> samples(count);
        if (std::fread(samples.data(), sizeof(float), count, file) != static_cast<size_t>(count))
            std::exit(2);
        for (float &x : samples)
            x *= 32768.0f; // Kaldi's scale
        all.push_back(std::move(samples));
    }
    if (file)
        std::fclose(file);
    return all;
}

static int mfcc(const std::vector<float> &samples, float rate, std::vector<float> *frames)
{
    knf::MfccOptions options;
    options.frame_opts.samp_freq = rate;
    options.frame_opts.dither = 0;
    knf::OnlineMfcc extractor(options);
    extractor.AcceptWaveform(rate, samples.data(), static_cast<int32_t>(samples.size()));
    extractor.InputFinished();
    int rows = extractor.NumFramesReady(), dim = extractor.Dim();
    frames->resize(static_cast<size_t>(rows) * dim);
    for (int t = 0; t < rows; t++)
        std::copy_n(extractor.GetFrame(t), dim, frames->data() + static_cast<size_t>(t) * dim);
    return rows;
}

static void normalise(std::vector<float> *frames, int rows, int dim)
{
    std::vector<double> mean(dim);
    for (int t = 0; t < rows; t++)
        for (int i = 0; i < dim; i++)
            mean[i] += (*frames)[static_cast<size_t>(t) * dim + i];
    for (int t = 0; t < rows; t++)
        for (int i = 0; i < dim; i++)
            (*frames)[static_cast<size_t>(t) * dim + i] -= static_cast<float>(mean[i] / rows);
}

// Window 2; second order as one filter of nine frames, ends repeated.
static void add_deltas(const std::vector<float> &in, int rows, int dim, std::vector<float> *out)
{
    static const float first[] = {-0.2f, -0.1f, 0, 0.1f, 0.2f};
    static const float second[] = {0.04f, 0.04f, 0.01f, -0.04f, -0.1f, -0.04f, 0.01f, 0.04f, 0.04f};
    out->assign(static_cast<size_t>(rows) * 3 * dim, 0);
    for (int t = 0; t < rows; t++) {
        float *row = out->data() + static_cast<size_t>(t) * 3 * dim;
        std::copy_n(in.data() + static_cast<size_t>(t) * dim, dim, row);
        for (int j = -4; j <= 4; j++) {
            const float *other = in.data() + static_cast<size_t>(std::clamp(t + j, 0, rows - 1)) * dim;
            for (int i = 0; i < dim; i++) {
                if (j >= -2 && j <= 2)
                    row[dim + i] += first[j + 2] * other[i];
                row[2 * dim + i] += second[j + 4] * other[i];
            }
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    auto sound = read_sound(argv[1]);
    float rate = static_cast<float>(std::atof(argv[2]));
    double best_mfcc = 1e30, best_all = 1e30, sum = 0;
    size_t frame_count = 0;
    for (int run = 0; run < std::atoi(argv[3]); run++) {
        double in_mfcc = 0, start = cpu_seconds();
        sum = 0;
        frame_count = 0;
        for (const auto &samples : sound) {
            std::vector<float> statics, frames;
            double before = cpu_seconds();
            int rows = mfcc(samples, rate, &statics);
            in_mfcc += cpu_seconds() - before;
            if (rows == 0)
                continue;
            int dim = static_cast<int>(statics.size()) / rows;
            normalise(&statics, rows, dim);
            add_deltas(statics, rows, dim, &frames);
            for (float x : frames)
                sum += x > 0 ? x : -x;
            frame_count += rows;
        }
        best_all = std::min(best_all, cpu_seconds() - start);
        best_mfcc = std::min(best_mfcc, in_mfcc);
    }
    std::printf("%.6f %.6f %zu %.6f\n", best_mfcc, best_all, frame_count, sum);
    return 0;
}
