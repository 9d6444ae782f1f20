// The functions that Python calls (circlet/native/__init__.py). One object is one run.

#pragma once

#include <new>

#include "optimizers.hpp"
#include "orders.hpp"
#include "pair_network.hpp"
#include "particles.hpp"
#include "sparse_transformer.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace circlet {

// While this exists, the thread takes subnormal numbers (below 1.2e-38 in float) for 0. Gradients
// have many of them, and on many processors a product with one takes a hundred times as long.
struct SubnormalsAreZero {
#if defined(__x86_64__)
    const unsigned int before = _mm_getcsr();
    SubnormalsAreZero() { _mm_setcsr(before | 0x8040); }  // of results, and of what is read
    ~SubnormalsAreZero() { _mm_setcsr(before); }
#elif defined(__aarch64__)
    uint64_t before;
    SubnormalsAreZero() {
        asm volatile("mrs %0, fpcr" : "=r"(before));
        set(before | 1 << 24);
    }
    ~SubnormalsAreZero() { set(before); }
    static void set(uint64_t value) { asm volatile("msr fpcr, %0" ::"r"(value)); }
#endif
};

// A run of any system, in float or in double.
struct Run {
    virtual ~Run() = default;
    virtual int64_t size() const = 0;
    virtual void gradient(const void*, int64_t, const Epochs&, void*) {}  // of a simulation: none
    virtual void metrics(const void*, double*) {}
    virtual void train(
        const Optimizer& by, const Epochs& epochs, int64_t done, int64_t steps, void* weights,
        void* mean, void* square
    ) = 0;
};

template <class T, template <class> class Network> struct Trained final : Run {
    Network<T> network;
    Numbers<T> slope;

    template <class Settings>
    explicit Trained(const Settings& settings) : network(settings), slope(network.size) {}

    int64_t size() const override { return network.size; }

    void gradient(const void* weights, int64_t step, const Epochs& epochs, void* out) override {
        network.gradient(static_cast<const T*>(weights), step, epochs, static_cast<T*>(out));
    }

    void metrics(const void* weights, double* out) override {
        network.metrics(static_cast<const T*>(weights), out);
    }

    void train(
        const Optimizer& by, const Epochs& epochs, int64_t done, int64_t steps, void* weights,
        void* mean, void* square
    ) override {
        auto* values = static_cast<T*>(weights);
        for (int64_t step = done + 1; step <= done + steps; ++step) {
            network.gradient(values, step, epochs, slope.data());
            move(by, step, values, slope.data(), static_cast<T*>(mean), static_cast<T*>(square));
        }
    }
};

// A simulation: nothing is trained.
template <class T, template <class> class System> struct Simulated final : Run {
    System<T> system;

    template <class Settings> explicit Simulated(const Settings& settings) : system(settings) {}

    int64_t size() const override { return system.size; }

    void train(
        const Optimizer&, const Epochs&, int64_t, int64_t steps, void* state, void*, void*
    ) override {
        for (int64_t i = 0; i < steps; ++i) system.step(static_cast<T*>(state));
    }
};

template <
    template <class, template <class> class> class Kind, template <class> class System,
    class Settings>
Run* made(const Settings& settings, bool is_double) try {
    if (is_double) return new Kind<double, System>(settings);
    return new Kind<float, System>(settings);
} catch (const std::bad_alloc&) {
    return nullptr;
}

}  // namespace circlet

using namespace circlet;

extern "C" {

// Bytes of the widest vectors that this processor has.
int32_t widest() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return 64;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 32;
#endif
    return 16;
}

Run* pair_network(const PairNetworkSettings* settings, int32_t is_double) {
    return made<Trained, PairNetwork>(*settings, is_double);
}

Run* sparse_transformer(const SparseTransformerSettings* settings, int32_t is_double) {
    return made<Trained, SparseTransformer>(*settings, is_double);
}

Run* particles(const ParticlesSettings* settings, int32_t is_double) {
    return made<Simulated, Particles>(*settings, is_double);
}

int64_t size(const Run* run) { return run->size(); }

// Writes the gradient of the batch of a step, or, in step 0, of the whole train set.
void gradient(Run* run, const void* weights, int64_t step, const Epochs* epochs, void* out) {
    SubnormalsAreZero here;
    run->gradient(weights, step, *epochs, out);
}

void metrics(Run* run, const void* weights, double* out) {
    SubnormalsAreZero here;
    run->metrics(weights, out);
}

void train(
    Run* run, const Optimizer* by, const Epochs* epochs, int64_t done, int64_t steps,
    void* weights, void* mean, void* square
) {
    SubnormalsAreZero here;
    run->train(*by, *epochs, done, steps, weights, mean, square);
}

void end(Run* run) { delete run; }

// Writes the orders (epochs, n) of n examples in some epochs, and which numbers (epochs, d, n) a
// dropout of this rate keeps, unless there is none. The last word of the seed is the epoch.
void draw(
    uint32_t* seed, int64_t words, int64_t first, int64_t epochs, int64_t n, int64_t d, double rate,
    int32_t* orders, uint8_t* kept
) {
    for (int64_t epoch = first; epoch < first + epochs; ++epoch, orders += n) {
        seed[words - 1] = uint32_t(epoch);
        Generator generator(seed, words);
        shuffle(generator, int32_t(n), orders);
        for (int64_t i = 0; kept && i < d * n; ++i)
            *kept++ = float(generator() >> 8) * 0x1p-24f >= float(rate);
    }
}
}
