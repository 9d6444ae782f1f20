// AdamW (Loshchilov and Hutter 2019), as torch.optim has it.
#pragma once

#include "vector.hpp"

namespace circlet {

extern "C" struct Optimizer {
    double learning_rate, weight_decay;
    int32_t parts;              // of the weights: each has a multiple of the learning rate
    const int64_t* begins;      // of each part, and the end of the last
    const double* multiples;    // 0: it neither moves nor decays
};

// What a step does to numbers of which all have the same learning rate.
template <class T> class Step {
public:
    // `number` counts from 1.
    Step(const Optimizer& by, double rate, int64_t number)
        : shrink(T(1 - rate * by.weight_decay)), size(T(rate / (1 - std::pow(BETA1, number)))),
          scale(T(1 / std::sqrt(1 - std::pow(BETA2, number)))) {}

    // Of one vector of each; `mean` and `square` are the moments.
    void move(T* weights, const T* gradient, T* mean, T* square) const {
        Real<T> slope = load(gradient), first = load(mean), second = load(square);
        first += T(1 - BETA1) * (slope - first);
        second += T(1 - BETA2) * (slope * slope - second);
        store(mean, first), store(square, second);
        store(weights, load(weights) * shrink - size * first / (root<T>(second) * scale + T(EPS)));
    }

private:
    static constexpr double BETA1 = 0.9, BETA2 = 0.999, EPS = 1e-8;
    T shrink, size, scale;
};

// Moves all weights of a run along their gradient.
template <class T>
void move(
    const Optimizer& by, int64_t number, T* weights, const T* gradient, T* mean, T* square
) {
    for (int32_t part = 0, next; part < by.parts; part = next) {
        next = part + 1;  // parts of the same multiple, side by side, are one
        while (next < by.parts && by.multiples[next] == by.multiples[part]) ++next;
        if (by.multiples[part] == 0) continue;
        Step<T> step(by, by.multiples[part] * by.learning_rate, number);
        int64_t i = by.begins[part], end = by.begins[next];
        for (; i + WIDTH<T> <= end; i += WIDTH<T>)
            step.move(weights + i, gradient + i, mean + i, square + i);
        T own[4][WIDTH<T>] = {};  // the last ones, which fill no vector
        for (int64_t k = i; k < end; ++k) {
            own[0][k - i] = weights[k], own[1][k - i] = gradient[k];
            own[2][k - i] = mean[k], own[3][k - i] = square[k];
        }
        step.move(own[0], own[1], own[2], own[3]);
        for (int64_t k = i; k < end; ++k)
            weights[k] = own[0][k - i], mean[k] = own[2][k - i], square[k] = own[3][k - i];
    }
}

}  // namespace circlet
