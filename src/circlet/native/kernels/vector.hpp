// Vectors of a processor: as many numbers as one instruction computes, and functions of them.
//
// The compiler turns operators on vectors into the instructions that it may use: AVX-512, AVX2, or
// 16 bytes at a time, which every processor has (the file is compiled once for each).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace circlet {

#if defined(__AVX512F__) && defined(__AVX512DQ__)
constexpr int BYTES = 64;
#elif defined(__AVX2__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif

template <class T> struct Vectors;
template <> struct Vectors<float> {
    typedef float Real __attribute__((vector_size(BYTES)));
    typedef int32_t Whole __attribute__((vector_size(BYTES)));
    using Integer = int32_t;
    static constexpr Integer MANTISSA = 23, BIAS = 127;
    static constexpr float ROUNDS = 12582912.0f;  // 1.5 * 2^23: adding it leaves whole numbers
    static constexpr float LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f;
    static constexpr float LOWEST = -87.0f, HIGHEST = 88.0f;  // of exponents, with normal results
    static constexpr int TERMS = 7;  // of the series of exp on +-ln(2) / 2
};
template <> struct Vectors<double> {
    typedef double Real __attribute__((vector_size(BYTES)));
    typedef int64_t Whole __attribute__((vector_size(BYTES)));
    using Integer = int64_t;
    static constexpr Integer MANTISSA = 52, BIAS = 1023;
    static constexpr double ROUNDS = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double LN2_HIGH = 0.693147180369123816490;
    static constexpr double LN2_LOW = 1.90821492927058770002e-10;
    static constexpr double LOWEST = -708.0, HIGHEST = 709.0;
    static constexpr int TERMS = 13;
};

template <class T> using Real = typename Vectors<T>::Real;
template <class T> using Whole = typename Vectors<T>::Whole;
template <class T> constexpr int WIDTH = BYTES / sizeof(T);

// How many vectors hold some numbers, times their width.
template <class T> constexpr int64_t padded(int64_t count) {
    return (count + WIDTH<T> - 1) / WIDTH<T> * WIDTH<T>;
}

template <class T> inline Real<T> load(const T* from) {
    Real<T> v;
    std::memcpy(&v, from, BYTES);
    return v;
}

template <class T> inline void store(T* to, Real<T> v) { std::memcpy(to, &v, BYTES); }

template <class T> inline Real<T> all(T value) { return value - Real<T>{}; }

// A vector of fewer bytes.
template <class T, int SIZE> struct Part {
    typedef T Type __attribute__((vector_size(SIZE)));
};

// The sum of the parts of a vector that have 16 bytes.
template <class T, int SIZE = BYTES>
inline typename Part<T, 16>::Type folded(typename Part<T, SIZE>::Type v) {
    if constexpr (SIZE == 16) {
        return v;
    } else {
        typename Part<T, SIZE / 2>::Type halves[2];
        std::memcpy(halves, &v, SIZE);
        return folded<T, SIZE / 2>(halves[0] + halves[1]);
    }
}

// The sum of all numbers of a vector.
template <class T> inline T sum(Real<T> v) {
    auto part = folded<T>(v);
    if constexpr (sizeof(T) == 8) return part[0] + part[1];
    else return (part[0] + part[2]) + (part[1] + part[3]);
}

// Adds the sums of four vectors to four numbers.
template <class T> inline void add_sums(const Real<T>* v, T* to) {
    if constexpr (sizeof(T) == 8) {
        for (int i = 0; i < 4; ++i) to[i] += sum<T>(v[i]);
    } else {
        using Four = typename Part<T, 16>::Type;
        Four a = folded<T>(v[0]), b = folded<T>(v[1]), c = folded<T>(v[2]), d = folded<T>(v[3]);
        Four ab = Four{a[0], b[0], a[1], b[1]} + Four{a[2], b[2], a[3], b[3]};
        Four cd = Four{c[0], d[0], c[1], d[1]} + Four{c[2], d[2], c[3], d[3]};
        Four sums;
        std::memcpy(&sums, to, sizeof sums);
        sums += Four{ab[0], ab[1], cd[0], cd[1]} + Four{ab[2], ab[3], cd[2], cd[3]};
        std::memcpy(to, &sums, sizeof sums);
    }
}

template <class T> inline Real<T> larger(Real<T> a, Real<T> b) { return a > b ? a : b; }

template <class T> inline Real<T> root(Real<T> v) {
    for (int i = 0; i < WIDTH<T>; ++i) v[i] = std::sqrt(v[i]);  // one instruction
    return v;
}

// The coefficients 1 / k! of the series of exp.
template <class T> struct Series {
    T coefficients[Vectors<T>::TERMS + 1];
    constexpr Series() : coefficients() {
        double factorial = 1;
        for (int k = 0; k <= Vectors<T>::TERMS; factorial *= ++k)
            coefficients[k] = T(1 / factorial);
    }
};

// exp(x) = 2^n exp(r), with n the nearest whole number to x / ln 2, and the series of exp for r.
// 0 where the result would be below normal numbers; above HIGHEST, as if x were that.
template <class T> inline Real<T> exponential(Real<T> x) {
    using V = Vectors<T>;
    static constexpr Series<T> SERIES;
    Real<T> low = all<T>(V::LOWEST), high = all<T>(V::HIGHEST);
    Real<T> within = x < low ? low : x > high ? high : x;  // NaN stays
    Real<T> shifted = within * T(1.44269504088896340736) + V::ROUNDS;
    Real<T> n = shifted - V::ROUNDS;
    Real<T> r = within - n * V::LN2_HIGH - n * V::LN2_LOW;
    Real<T> series = all<T>(SERIES.coefficients[V::TERMS]);
    for (int k = V::TERMS - 1; k >= 0; --k) series = series * r + SERIES.coefficients[k];
    Whole<T> bits;
    std::memcpy(&bits, &shifted, BYTES);
    bits = (bits + V::BIAS) << V::MANTISSA;  // what n is above ROUNDS is shifted out
    Real<T> power;
    std::memcpy(&power, &bits, BYTES);
    return x < low ? Real<T>{} : series * power;
}

template <class T> inline Real<T> logistic(Real<T> x) { return T(1) / (T(1) + exponential<T>(-x)); }

// Phi(x), the normal distribution function, and its density phi(x) = exp(-x^2 / 2) / sqrt(2 pi).
//
// Phi(-|x|) = exp(-x^2 / 2) t P(2 t - 1) with t = 4 / (4 + |x|); P is the best polynomial of its
// degree, up to 6e-9 (float) and 3e-17.
template <class T> struct Normal {
    Real<T> below, density;
};

template <class T> inline Normal<T> normal(Real<T> x) {
    static constexpr double SINGLE[] = {
        0.188821282603937873, 0.15197409914727378, 0.0967843497871088795, 0.0466317014910179351,
        0.0150991512070126472, 0.00187797299196674863, -0.000869957719061672101,
        -0.000390834270970078608, 0.0000333775605675601259, 0.0000392803886986843213,
        -4.18328842719210197e-7};
    static constexpr double DOUBLE[] = {
        0.188821282603937863, 0.151974160492973031, 0.0967843501855567305, 0.0466304644899129431,
        0.01509914372258702, 0.00188504724174915577, -0.000869923089112694418,
        -0.000407704615694742203, 0.0000333360518878842813, 0.0000577737466871371169,
        -4.76917128330053642e-7, -8.78624703290085905e-6, 1.78645064804827529e-7,
        1.48032235552875712e-6, -1.56228542022516475e-7, -2.56059224714135067e-7,
        6.61711403161758924e-8, 3.97910984794872573e-8, -1.9686736076177095e-8,
        -4.35478129486472836e-9, 4.01298562857063125e-9, 1.04437096310835683e-10,
        -4.21462048431971901e-10, 3.73411987748875742e-11};
    constexpr bool single = std::is_same_v<T, float>;
    constexpr const double* coefficients = single ? SINGLE : DOUBLE;
    constexpr int degree = single ? 10 : 23;
    Real<T> size = x < Real<T>{} ? -x : x, power = exponential<T>(T(-0.5) * x * x);
    Real<T> t = T(4) / (T(4) + size), u = t + t - T(1);
    Real<T> polynomial = all<T>(T(coefficients[degree]));
    for (int k = degree - 1; k >= 0; --k) polynomial = polynomial * u + T(coefficients[k]);
    Real<T> tail = power * t * polynomial;
    return {x < Real<T>{} ? tail : T(1) - tail, power * T(0.398942280401432678)};
}

}  // namespace circlet
