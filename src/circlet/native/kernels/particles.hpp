// Particle model of embeddings: clustering and alignment forces between pairs of particles.
//
// Pair P = (i, j), i <= j, has the sum x_P = x_i + x_j and the class (i + j) mod p. With
// u = x_Q - x_P, pair Q puts on both particles of P the force
//
//     same class:       g_a u/|u|    + f_a [x_P . x_Q > 0] x_Q/|x_Q|
//     different class: -g_r u/|u|^2  - f_a [x_P . x_Q > 0] x_Q/|x_Q|, weighted down
//
// and a step moves all particles, then restores their mean, 0, and their standard deviation.
#pragma once

#include <vector>

#include "vector.hpp"

namespace circlet {

extern "C" struct ParticlesSettings {
    int64_t p, d;
    double g_a, g_r, f_a, step_size, std;
    int32_t per_coordinate;  // whether the standard deviation is that of each coordinate
};

template <class T> class Particles {
public:
    explicit Particles(const ParticlesSettings& s)
        : size(s.p * s.d), s(s), pairs(s.p * (s.p + 1) / 2), slots(padded<T>(pairs)),
          classes(slots), exists(slots), sums(s.d * slots), units(s.d * slots), forces(s.p * s.d) {
        int64_t pair = 0, same = 0;
        std::vector<int64_t> sizes(s.p);
        for (int64_t i = 0; i < s.p; ++i)
            for (int64_t j = i; j < s.p; ++j, ++pair) {
                classes[pair] = (i + j) % s.p, exists[pair] = 1;
                ++sizes[(i + j) % s.p];
            }
        for (int64_t n : sizes) same += n * (n - 1);
        int64_t other = pairs * (pairs - 1) - same;
        weight = T(double(same) / other);
    }

    int64_t size;  // of the positions

    void step(T* x) {
        s.d == 2 ? compute_forces<2>(x) : s.d == 3 ? compute_forces<3>(x) : compute_forces<0>(x);
        for (int64_t i = 0; i < size; ++i) x[i] += T(s.step_size) * forces[i];
        for (int64_t k = 0; k < s.d; ++k) shift(x, k, T(mean(x, k)));
        double squares = 0;
        for (int64_t k = 0; k < s.d; ++k) {
            double centre = mean(x, k), own = 0;
            for (int64_t i = 0; i < s.p; ++i) {
                double apart = x[i * s.d + k] - centre;
                own += apart * apart;
            }
            if (s.per_coordinate) scale(x, k, own / s.p);
            squares += own;
        }
        for (int64_t k = 0; k < s.d && !s.per_coordinate; ++k) scale(x, k, squares / size);
    }

private:
    const ParticlesSettings s;
    const int64_t pairs, slots;  // and with what fills a vector
    Numbers<typename Vectors<T>::Integer> classes;
    Numbers<T> exists, sums, units, forces;
    T weight;  // of couples of different class, so that both kinds weigh the same in total

    double mean(const T* x, int64_t k) const {
        double total = 0;
        for (int64_t i = 0; i < s.p; ++i) total += x[i * s.d + k];
        return total / s.p;
    }

    void shift(T* x, int64_t k, T by) const {
        for (int64_t i = 0; i < s.p; ++i) x[i * s.d + k] -= by;
    }

    void scale(T* x, int64_t k, double variance) const {
        for (int64_t i = 0; i < s.p; ++i) x[i * s.d + k] *= T(s.std / std::sqrt(variance));
    }

    void add_pairs(const T* x) {
        int64_t pair = 0;
        for (int64_t i = 0; i < s.p; ++i)
            for (int64_t j = i; j < s.p; ++j, ++pair) {
                T squares = 0;
                for (int64_t k = 0; k < s.d; ++k) {
                    T sum = sums[k * slots + pair] = x[i * s.d + k] + x[j * s.d + k];
                    squares += sum * sum;
                }
                T length = std::max(std::sqrt(squares), T(1e-12));
                for (int64_t k = 0; k < s.d; ++k)
                    units[k * slots + pair] = sums[k * slots + pair] / length;
            }
    }

    // For d = D, or any d if D is 0: loops of a known length stay in registers.
    template <int D> void compute_forces(const T* x) {
        const int64_t d = D ? D : s.d;
        const T g_a = T(s.g_a), g_r = T(s.g_r) * weight, f_a = T(s.f_a), f_r = -T(s.f_a) * weight;
        add_pairs(x);
        std::fill(forces.begin(), forces.end(), T(0));
        std::vector<Real<T>> total(d), u(d);
        Real<T> own_total[D ? D : 1], own_u[D ? D : 1];
        Real<T> *f = D ? own_total : total.data(), *apart = D ? own_u : u.data();
        int64_t pair = 0;
        for (int64_t i = 0; i < s.p; ++i)
            for (int64_t j = i; j < s.p; ++j, ++pair) {
                for (int64_t k = 0; k < d; ++k) f[k] = Real<T>{};
                for (int64_t at = 0; at < slots; at += WIDTH<T>) {
                    Real<T> squares = {}, product = {}, here = load(&exists[at]);
                    for (int64_t k = 0; k < d; ++k) {
                        Real<T> other = load(&sums[k * slots + at]);
                        T own = sums[k * slots + pair];
                        apart[k] = other - own;
                        squares += apart[k] * apart[k], product += other * own;
                    }
                    Whole<T> other_class;
                    std::memcpy(&other_class, &classes[at], BYTES);
                    auto same = other_class == classes[pair];
                    // Sums that coincide put no force on each other.
                    Real<T> inverse = squares == Real<T>{} ? Real<T>{} : here / root<T>(squares);
                    Real<T> along = inverse * (same ? all<T>(g_a) : -g_r * inverse);
                    Real<T> facing = here * (same ? all<T>(f_a) : all<T>(f_r));
                    facing = product > Real<T>{} ? facing : Real<T>{};
                    for (int64_t k = 0; k < d; ++k)
                        f[k] += along * apart[k] + facing * load(&units[k * slots + at]);
                }
                T product = 0;  // a pair does not align with itself
                for (int64_t k = 0; k < d; ++k)
                    product += sums[k * slots + pair] * sums[k * slots + pair];
                for (int64_t k = 0; k < d; ++k) {
                    T itself = product > 0 ? f_a * units[k * slots + pair] : T(0);
                    T force = sum<T>(f[k]) - itself;
                    forces[i * d + k] += force, forces[j * d + k] += force;
                }
            }
    }
};

}  // namespace circlet
