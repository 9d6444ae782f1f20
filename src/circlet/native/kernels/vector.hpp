// Vectors of a processor: as many numbers as one instruction computes, and functions of them.
//
// The compiler turns operators on vectors into the instructions that it may use: AVX-512, AVX2, or
// 16 bytes at a time, which every processor has (the engine is compiled once for each; results
// agree up to rounding).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace circlet {

#if defined(__AVX512F__) && defined(__AVX512DQ__)
constexpr int BYTES = 64;
#elif defined(__AVX2__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif

// Before a loop with a constant number of passes, so that arrays it indexes can stay in registers.
#define UNROLLED _Pragma("GCC unroll 16")

// Of functions for a few rows, whose work takes less time than a call with many arguments.
#define INLINED __attribute__((always_inline)) inline

template <class T> struct Vectors;
template <> struct Vectors<float> {
    typedef float Real __attribute__((vector_size(BYTES)));
    typedef int32_t Whole __attribute__((vector_size(BYTES)));
    using Integer = int32_t;
    static constexpr Integer MANTISSA = 23, BIAS = 127;
    static constexpr float ROUNDS = 12582912.0f;  // 1.5 * 2^23: adding it leaves whole numbers
    static constexpr float LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f;
    static constexpr float LOWEST = -87.0f, HIGHEST = 88.0f;  // of exponents, with normal results
    // The best polynomial for exp on +-ln(2) / 2 that begins with 1 + x; relative error up to 4e-9.
    static constexpr float EXP[] = {
        1, 1, 0.499999934319743788f, 0.166665203994574858f, 0.0416683908343943319f,
        0.00836874508091688233f, 0.00138145370820633531f};
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
    static constexpr double EXP[] = {  // up to 1.2e-17
        1, 1, 0.500000000000001067, 0.166666666666664115, 0.0416666666665297294,
        0.00833333333349497964, 0.00138888889437596882, 0.000198412695057658590,
        0.0000248014929498759415, 2.75575868128949246e-6, 2.76303061786265370e-7,
        2.50000155107195864e-8};
};

template <class T> using Real = typename Vectors<T>::Real;
template <class T> using Whole = typename Vectors<T>::Whole;
template <class T> constexpr int WIDTH = BYTES / sizeof(T);

// How many vectors hold some numbers, times their width.
template <class T> constexpr int64_t padded(int64_t count) {
    return (count + WIDTH<T> - 1) / WIDTH<T> * WIDTH<T>;
}

// Memory that begins with a line of the cache, so that no vector lies across two.
template <class T> struct Aligned {
    using value_type = T;
    static constexpr std::align_val_t LINE{64};
    Aligned() = default;
    template <class U> Aligned(const Aligned<U>&) {}
    T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), LINE)); }
    void deallocate(T* p, size_t) { ::operator delete(p, LINE); }
    template <class U> bool operator==(const Aligned<U>&) const { return true; }
    template <class U> bool operator!=(const Aligned<U>&) const { return false; }
};
template <class T> using Numbers = std::vector<T, Aligned<T>>;

template <class T> inline Real<T> load(const T* from) {
    Real<T> v;
    std::memcpy(&v, from, BYTES);
    return v;
}

template <class T> inline void store(T* to, Real<T> v) { std::memcpy(to, &v, BYTES); }

template <class T> inline Real<T> all(T value) { return value - Real<T>{}; }

// The numbers 0, 1, ..., of the lanes of a vector.
template <class T> inline Whole<T> lanes() {
    Whole<T> v;
    for (int i = 0; i < WIDTH<T>; ++i) v[i] = i;
    return v;
}

// The numbers of two vectors, counted through both, at some places.
template <class T, int... PLACES> inline Real<T> shuffled(Real<T> a, Real<T> b) {
#ifdef __clang__
    return __builtin_shufflevector(a, b, PLACES...);
#else
    return __builtin_shuffle(a, b, Whole<T>{PLACES...});
#endif
}

// Lane i is a[i] + a[i + HALF] where i & HALF is 0, and b[i] + b[i - HALF] elsewhere.
template <class T, int HALF, int... LANES>
inline Real<T> paired(Real<T> a, Real<T> b, std::integer_sequence<int, LANES...>) {
    return shuffled<T, (LANES & HALF ? WIDTH<T> + LANES : LANES)...>(a, b) +
        shuffled<T, (LANES & HALF ? WIDTH<T> + LANES - HALF : LANES + HALF)...>(a, b);
}

// A vector of the sums of WIDTH vectors: its lane i is the sum of v[i]. Overwrites v.
template <class T, int HALF = WIDTH<T> / 2> inline Real<T> sums(Real<T>* v) {
    std::make_integer_sequence<int, WIDTH<T>> numbers;
    UNROLLED for (int i = 0; i < HALF; ++i) v[i] = paired<T, HALF>(v[i], v[i + HALF], numbers);
    if constexpr (HALF == 1) return v[0];
    else return sums<T, HALF / 2>(v);
}

// Exchanges the lanes of a where i & HALF is not 0 and those HALF before them of b.
template <class T, int HALF, int... LANES>
inline void exchange(Real<T>& a, Real<T>& b, std::integer_sequence<int, LANES...>) {
    Real<T> first = shuffled<T, (LANES & HALF ? WIDTH<T> + LANES - HALF : LANES)...>(a, b);
    b = shuffled<T, (LANES & HALF ? WIDTH<T> + LANES : LANES + HALF)...>(a, b);
    a = first;
}

// Transposes the square of WIDTH vectors: lane j of v[i] becomes lane i of v[j].
template <class T, int HALF = WIDTH<T> / 2> inline void transpose(Real<T>* v) {
    std::make_integer_sequence<int, WIDTH<T>> numbers;
    UNROLLED for (int i = 0; i < WIDTH<T>; ++i)
        if (!(i & HALF)) exchange<T, HALF>(v[i], v[i + HALF], numbers);
    if constexpr (HALF > 1) transpose<T, HALF / 2>(v);
}

template <class T> inline T sum(Real<T> v) {
    Real<T> only[WIDTH<T>] = {v};
    return sums<T>(only)[0];
}

// The second if one is not a number.
template <class T> inline Real<T> larger(Real<T> a, Real<T> b) { return a > b ? a : b; }

template <class T> inline Real<T> magnitude(Real<T> v) {
    Whole<T> bits;
    std::memcpy(&bits, &v, BYTES);
    bits &= std::numeric_limits<typename Vectors<T>::Integer>::max();  // clears the sign
    std::memcpy(&v, &bits, BYTES);
    return v;
}

template <class T> inline Real<T> root(Real<T> v) {
    for (int i = 0; i < WIDTH<T>; ++i) v[i] = std::sqrt(v[i]);  // one instruction
    return v;
}

// How many vectors are computed side by side: their instructions need not wait for each other, as
// those for a single one must. AVX-512 has 32 registers, AVX2 16.
constexpr int SIDE = BYTES == 64 ? 8 : 4;

// Calls act(i, n) for the numbers 0 to `count`, which fill their vectors: n vectors, a constant,
// that begin with number i.
template <class T, class Act> inline void for_side_by_side(int64_t count, Act act) {
    int64_t i = 0, most = SIDE * WIDTH<T>;
    for (; i + most <= count; i += most) act(i, std::integral_constant<int, SIDE>());
    for (; i < count; i += WIDTH<T>) act(i, std::integral_constant<int, 1>());
}

// exp(x) = 2^n exp(r), with n the nearest whole number to x / ln 2, and a polynomial for exp(r).
// 0 below LOWEST; x must not be above HIGHEST (a finite number if it is).
template <class T, int N> inline void exponential(Real<T> (&x)[N]) {
    using V = Vectors<T>;
    constexpr int degree = std::size(V::EXP) - 1;
    Real<T> shifted[N], r[N], polynomial[N];
    for (int i = 0; i < N; ++i) {
        shifted[i] = x[i] * T(1.44269504088896340736) + V::ROUNDS;
        Real<T> n = shifted[i] - V::ROUNDS;
        r[i] = x[i] - n * V::LN2_HIGH - n * V::LN2_LOW;
        polynomial[i] = all<T>(V::EXP[degree]);
    }
    UNROLLED for (int k = degree - 1; k >= 0; --k)
        for (int i = 0; i < N; ++i) polynomial[i] = polynomial[i] * r[i] + V::EXP[k];
    for (int i = 0; i < N; ++i) {
        Whole<T> bits;
        std::memcpy(&bits, &shifted[i], BYTES);
        bits = (bits + V::BIAS) << V::MANTISSA;  // what n is above ROUNDS is shifted out
        Real<T> power;
        std::memcpy(&power, &bits, BYTES);
        x[i] = x[i] < V::LOWEST ? Real<T>{} : polynomial[i] * power;  // NaN stays
    }
}

template <class T> inline Real<T> exponential(Real<T> x) {
    Real<T> own[1] = {x};
    exponential<T>(own);
    return own[0];
}

template <class T, int N> inline void logistic(Real<T> (&x)[N]) {
    const Real<T> highest = all<T>(Vectors<T>::HIGHEST);
    for (auto& v : x) v = highest < -v ? highest : -v;  // NaN stays
    exponential<T>(x);
    for (auto& v : x) v = T(1) / (T(1) + v);
}

// Phi(x), the normal distribution function, and its density phi(x) = exp(-x^2 / 2) / sqrt(2 pi).
//
// Phi(-|x|) = exp(-x^2 / 2) t P(2 t - 1) with t = 4 / (4 + |x|); P is the best polynomial of its
// degree, up to 6e-9 (float) and 3e-17.
template <class T, int N> inline void normal(Real<T> (&x)[N], Real<T> (&density)[N]) {
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
    Real<T> t[N], u[N], polynomial[N];
    for (int i = 0; i < N; ++i) {
        density[i] = T(-0.5) * x[i] * x[i];
        t[i] = T(4) / (T(4) + magnitude<T>(x[i])), u[i] = T(2) * t[i] - T(1);
        polynomial[i] = all<T>(T(coefficients[degree]));
    }
    exponential<T>(density);
    UNROLLED for (int k = degree - 1; k >= 0; --k)
        for (int i = 0; i < N; ++i) polynomial[i] = polynomial[i] * u[i] + T(coefficients[k]);
    for (int i = 0; i < N; ++i) {
        Real<T> tail = density[i] * t[i] * polynomial[i];
        x[i] = x[i] < Real<T>{} ? tail : T(1) - tail;
        density[i] *= T(0.398942280401432678);
    }
}

}  // namespace circlet
