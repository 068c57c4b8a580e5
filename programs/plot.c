#include "plot.h"
#include "cli.h"
#include "gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 1200   /* of the waveform, the spectrogram, the coefficients: as wide as the picture */
#define PICTURE_BINS 80     /* rows of the spectrogram */
#define RANGE_NEPERS 13.8   /* of log power shown below the loudest point: 60 dB */
#define LEAST_PEAK 0.005    /* what is softer stays small in the picture, and pale: */
#define LEAST_LOUDNESS 18.0 /* the log power that is dark at the least */

static const char *terminal_for(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".png") == 0)
        return "pngcairo size 1200,900 font 'Sans,11'";
    if (dot && strcmp(dot, ".svg") == 0)
        return "svg size 1200,900 font 'Sans,11' background rgb 'white'";
    if (dot && strcmp(dot, ".pdf") == 0)
        return "pdfcairo size 24cm,18cm font 'Sans,10'";
    return NULL;
}

/* Least and greatest sample per column: what the eye sees of a waveform. Columns share their border's sample, so that
 * no gap is left between them. */
static void write_waveform(FILE *to, const plot_input *in)
{
    fputs("$wave << END\n", to);
    size_t columns = in->count < MOST_COLUMNS ? in->count : MOST_COLUMNS;
    for (size_t c = 0; c < columns; c++) {
        size_t from = c * in->count / columns, end = (c + 1) * in->count / columns;
        float least = in->samples[from], most = least;
        for (size_t i = from; i <= end && i < in->count; i++) {
            least = fminf(least, in->samples[i]);
            most = fmaxf(most, in->samples[i]);
        }
        fprintf(to, "%.5f %.5f %.5f\n", (double)from / in->rate, (double)least, (double)most);
    }
    fputs("END\n", to);
}

static void write_matrix(FILE *to, const char *name, const trl_matrix *m)
{
    fprintf(to, "$%s << END\n", name);
    for (size_t c = 0; c < m->cols; c++) {
        for (size_t t = 0; t < m->rows; t++)
            fprintf(to, "%.4g ", (double)trl_matrix_row(m, t)[c]);
        fputc('\n', to);
    }
    fputs("END\n", to);
}

static int mel_spectrogram(const plot_input *in, trl_matrix *out, trl_error *err)
{
    trl_frontend_options o;
    trl_frontend *frontend = NULL;
    trl_extractor *extractor = NULL;
    int code = trl_frontend_preset(&o, "fbank", err);
    o.rate = in->rate;
    o.shift_ms = fmin(in->shift_ms, 1000 * (double)in->count / in->rate);
    o.snip_edges = 0; /* there is a column even where the sound is shorter than the window */
    o.mel_bins = PICTURE_BINS;
    o.low_hz = 0;
    o.fft_length = 16;
    while (o.fft_length < in->rate / 8) /* 8 Hz apart: every filter, down to the narrowest, covers a point */
        o.fft_length *= 2;
    if (code == 0)
        code = trl_frontend_create(&o, &frontend, err);
    if (code == 0)
        code = trl_extractor_create(frontend, &extractor, err);
    if (code == 0)
        code = trl_extractor_run(extractor, in->samples, in->count, NULL, out, err);
    trl_extractor_destroy(extractor);
    trl_frontend_destroy(frontend);
    return code;
}

/* At most MOST_COLUMNS rows: each the mean of a run of frames. */
static int shrink(const trl_matrix *m, trl_matrix *out, trl_error *err)
{
    size_t rows = m->rows < MOST_COLUMNS ? m->rows : MOST_COLUMNS;
    int code = trl_matrix_resize(out, rows, m->cols, err);
    for (size_t r = 0; code == 0 && r < rows; r++) {
        size_t from = r * m->rows / rows, end = (r + 1) * m->rows / rows;
        for (size_t c = 0; c < m->cols; c++) {
            double sum = 0;
            for (size_t t = from; t < end; t++)
                sum += (double)trl_matrix_row(m, t)[c];
            trl_matrix_row(out, r)[c] = (float)(sum / (double)(end - from));
        }
    }
    return code;
}

static double peak(const plot_input *in)
{
    float most = (float)LEAST_PEAK;
    for (size_t i = 0; i < in->count; i++)
        most = fmaxf(most, fabsf(in->samples[i]));
    return (double)most;
}

static void write_spectrogram_panel(FILE *to, const plot_input *in, const trl_matrix *mel, double step)
{
    double most = LEAST_LOUDNESS, top = in->rate / 2;
    for (size_t t = 0; t < mel->rows; t++)
        for (size_t c = 0; c < mel->cols; c++)
            most = fmax(most, (double)trl_matrix_row(mel, t)[c]);
    fprintf(to,
            "set ylabel 'Hz, on the mel scale'\nset yrange [-0.5:%g]\nset cbrange [%g:%g]\n"
            "set palette defined (0 'white', 1 '#6090c0', 2 '#102040')\nset ytics (",
            PICTURE_BINS - 0.5, most - RANGE_NEPERS, most);
    for (double hz = 250; hz < 0.8 * top; hz *= 2) /* where the frequency lies among the bins */
        fprintf(to, "'%g' %g, ", hz, log(1 + hz / 700) / log(1 + top / 700) * (PICTURE_BINS + 1) - 1);
    fprintf(to, "'%g' %g)\nplot $mel matrix using (($1 + 0.5) * %g):2:3 with image\n", top, PICTURE_BINS - 0.5, step);
}

static void write_coefficient_panel(FILE *to, const plot_input *in, const trl_matrix *frames, double step)
{
    for (size_t c = in->block; in->block > 0 && c < frames->cols; c += in->block)
        fprintf(to, "set arrow from graph 0, first %g to graph 1, first %g nohead front lc rgb '#404040'\n",
                (double)c - 0.5, (double)c - 0.5);
    fprintf(to,
            "set ylabel 'coefficient'\nset ytics autofreq\nset yrange [%g:-0.5]\n"
            "set cbrange [-3:3]\nset format x '%%g'\nset xlabel 'seconds; each coefficient blue below and red above "
            "its mean'\n"
            "set palette defined (-3 '#204080', 0 'white', 3 '#a03020')\n"
            "plot $frames matrix using (($1 + 0.5) * %g):2:3 with image\nunset multiplot\n",
            (double)frames->cols - 0.5, step);
}

static void write_panels(FILE *to, const plot_input *in, const trl_matrix *mel, const trl_matrix *frames)
{
    double seconds = (double)in->count / in->rate, covered = (double)in->frames->rows * in->shift_ms / 1000;
    fprintf(to, "set lmargin 9\nset rmargin 3\nset xrange [0:%g]\nunset key\nunset colorbox\nset style fill solid\n",
            seconds);
    fputs("set multiplot layout 3,1 title ", to);
    gnuplot_quote(to, in->title);
    fprintf(to,
            " noenhanced\nset ylabel 'amplitude'\nset yrange [%g:%g]\nset format x ''\n"
            "plot $wave using 1:2:3 with filledcurves lc rgb '#30507a', $wave using 1:2 with lines lc rgb '#30507a'\n",
            -1.1 * peak(in), 1.1 * peak(in));
    write_spectrogram_panel(to, in, mel, seconds / (double)mel->rows);
    write_coefficient_panel(to, in, frames, covered / (double)frames->rows);
}

/* Each coefficient to mean 0 and variance 1, so that one scale of colours serves all. */
static int standardised(const trl_matrix *frames, trl_matrix *out, trl_error *err)
{
    int code = trl_matrix_resize(out, frames->rows, frames->cols, err);
    for (size_t c = 0; code == 0 && c < frames->cols; c++) {
        double sum = 0, square = 0, n = (double)frames->rows;
        for (size_t t = 0; t < frames->rows; t++) {
            double x = (double)trl_matrix_row(frames, t)[c];
            sum += x;
            square += x * x;
        }
        double mean = sum / n, spread = sqrt(fmax(square / n - mean * mean, 1e-12));
        for (size_t t = 0; t < frames->rows; t++)
            trl_matrix_row(out, t)[c] = (float)(((double)trl_matrix_row(frames, t)[c] - mean) / spread);
    }
    return code;
}

typedef struct panels {
    const plot_input *input;
    const trl_matrix *mel, *frames;
} panels;

static void write_script(FILE *script, const void *user)
{
    const panels *p = user;
    write_waveform(script, p->input);
    write_matrix(script, "mel", p->mel);
    write_matrix(script, "frames", p->frames);
    write_panels(script, p->input, p->mel, p->frames);
}

static int draw(const char *path, const panels *p, trl_error *err)
{
    char *picture;
    size_t size;
    int code = gnuplot_draw(terminal_for(path), write_script, p, &picture, &size, err);
    if (code == 0)
        code = cli_save(path, picture, size, err);
    free(picture);
    return code;
}

int plot_check_name(const char *path, trl_error *err)
{
    return terminal_for(path)
               ? 0
               : cli_error(err, TRL_EUNSUPPORTED, "%s: a picture's name ends in .png, .svg or .pdf", path);
}

int plot_utterance(const char *path, const plot_input *input, trl_error *err)
{
    trl_matrix mel = {0}, small_mel = {0}, small_frames = {0}, frames = {0};
    int code = plot_check_name(path, err);
    if (code == 0 && input->frames->rows == 0)
        code = cli_error(err, TRL_EINVAL, "%s: there are no frames to draw", input->title);
    if (code == 0)
        code = mel_spectrogram(input, &mel, err);
    if (code == 0)
        code = shrink(&mel, &small_mel, err);
    if (code == 0)
        code = shrink(input->frames, &small_frames, err);
    if (code == 0)
        code = standardised(&small_frames, &frames, err);
    if (code == 0)
        code = draw(path, &(panels){input, &small_mel, &frames}, err);
    trl_matrix_free(&mel);
    trl_matrix_free(&frames);
    trl_matrix_free(&small_mel);
    trl_matrix_free(&small_frames);
    return code;
}
