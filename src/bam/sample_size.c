/* How many frames does a Gaussian need? ([001] Appendix A) */
#include <math.h>
#include <trellis/bam_rescore.h>

#define STEPS 200 /* of bisection: down to the last bit of a double */

/* 2 Phi(-x) = p, by bisection: erfc falls. */
double trl_bam_frames_for_mean(double p, double q)
{
    double low = 0, high = 40;
    for (int i = 0; i < STEPS; i++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) > p)
            low = middle;
        else
            high = middle;
    }
    return low * low / (q * q);
}

/* The regularised incomplete gamma function: its series below a + 1 … */
static double lower_gamma(double a, double x)
{
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > 1e-17 * sum; n++) {
        term *= x / n;
        sum += term;
    }
    return sum * exp(a * log(x) - x - lgamma(a));
}

/* … and its continued fraction (Lentz) above. */
static double upper_gamma(double a, double x)
{
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (double i = 1, change = 0; fabs(change - 1) > 1e-16 && i < 1e5; i++) {
        double factor = i * (a - i);
        b += 2;
        d = 1 / (factor * d + b);
        c = b + factor / c;
        change = c * d;
        h *= change;
    }
    return h * exp(a * log(x) - x - lgamma(a));
}

/* P(chi-square with `freedom` degrees > x). */
static double chi_square_above(double freedom, double x)
{
    double a = freedom / 2, z = x / 2;
    if (z <= 0)
        return 1;
    return z < a + 1 ? 1 - lower_gamma(a, z) : upper_gamma(a, z);
}

static double variance_off(double n, double q)
{
    double freedom = n - 1;
    return 1 - chi_square_above(freedom, freedom * (1 - q)) + chi_square_above(freedom, freedom * (1 + q));
}

double trl_bam_frames_for_variance(double p, double q)
{
    double low = 1, high = 2;
    while (variance_off(high, q) >= p) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        double middle = floor((low + high) / 2);
        if (variance_off(middle, q) >= p)
            low = middle;
        else
            high = middle;
    }
    return high;
}
