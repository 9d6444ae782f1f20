// AdamW (Loshchilov and Hutter 2019), Adam (Kingma and Ba 2015) and gradient descent with momentum,
// as torch.optim has them: decay is decoupled in AdamW, and added to the gradient in the others.
#pragma once

#include <vector>

#include "vector.hpp"

namespace circlet {

enum Kind : int32_t { ADAMW = 0, ADAM = 1, SGD = 2 };

extern "C" struct Optimizer {
    int32_t kind;
    double learning_rate, weight_decay, momentum;
    int32_t parts;              // of the weights: each has a multiple of the learning rate
    const int64_t* begins;      // of each part, and the end of the last
    const double* multiples;    // 0: it neither moves nor decays
};

// What a step of an optimiser does to numbers of which all have the same learning rate.
template <class T> class Step {
public:
    // `number` counts from 1.
    Step(const Optimizer& by, double rate, int64_t number)
        : kind(by.kind), momentum(T(by.momentum)), rate(T(rate)) {
        bool decoupled = kind == ADAMW;
        shrink = T(decoupled ? 1 - rate * by.weight_decay : 1);
        decay = T(decoupled ? 0 : by.weight_decay);
        size = T(rate / (1 - std::pow(BETA1, number)));
        scale = T(1 / std::sqrt(1 - std::pow(BETA2, number)));
    }

    // Of one vector of each. `mean` and `square` are the moments of Adam; `mean` is the velocity of
    // gradient descent.
    void move(T* weights, const T* gradient, T* mean, T* square) const {
        Real<T> weight = load(weights), slope = load(gradient) + decay * weight;
        Real<T> first = load(mean);
        if (kind == SGD) {
            if (momentum != 0) store(mean, slope = momentum * first + slope);
            store(weights, weight - rate * slope);
            return;
        }
        first += T(1 - BETA1) * (slope - first);
        Real<T> second = load(square);
        second += T(1 - BETA2) * (slope * slope - second);
        store(mean, first), store(square, second);
        store(weights, weight * shrink - size * first / (root<T>(second) * scale + T(EPS)));
    }

private:
    static constexpr double BETA1 = 0.9, BETA2 = 0.999, EPS = 1e-8;
    int32_t kind;
    T momentum, rate, shrink, decay, size, scale;
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
