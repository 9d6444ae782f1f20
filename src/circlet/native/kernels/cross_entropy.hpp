// Cross-entropy of classes, and its gradient without cancellation (see circlet/systems/loss.py).
#pragma once

#include "vector.hpp"

namespace circlet {

constexpr int64_t TILE = 192;  // examples that go through all layers before the next ones do
static_assert(TILE % WIDTH<float> == 0, "a full tile fills its vectors");

// Examples of a tile: `count` of them, in `columns` columns. The rest repeat the last one or are
// those of x = 0 (their classes may be any of those that exist).
struct Tile {
    int64_t count, columns;
};

// The order of the train set in some epochs, where a system has batches, and which numbers dropout
// keeps.
extern "C" struct Epochs {
    int64_t first;          // of these epochs, counted from 0
    const int32_t* orders;  // (epochs, examples); none: as they are
    const uint8_t* kept;    // (epochs, d, places in the order); none: all
};

// Turns logits (classes, columns) into the gradient of the mean over `examples` examples: softmax
// minus one-hot. Its entry of the right class is minus the sum of the other probabilities (exact),
// or softmax - 1, as is usual. Columns beyond the tile's examples become 0.
template <class T>
void logit_gradient(
    T* logits, int64_t classes, Tile tile, const typename Vectors<T>::Integer* target,
    int64_t examples, bool exact
) {
    int64_t columns = tile.columns;
    using Integer = typename Vectors<T>::Integer;
    for (int64_t at = 0; at < columns; at += WIDTH<T>) {
        T* column = logits + at;
        Real<T> largest = load(column);
        for (int64_t c = 1; c < classes; ++c)
            largest = larger<T>(largest, load(column + c * columns));
        Whole<T> right;
        std::memcpy(&right, target + at, BYTES);
        Real<T> others = {}, own = {};
        for (int64_t c = 0; c < classes; ++c) {
            Real<T> power = exponential<T>(load(column + c * columns) - largest);
            auto is_right = right == Integer(c);
            others += is_right ? Real<T>{} : power;
            own = is_right ? power : own;
            store(column + c * columns, power);
        }
        auto is_example = lanes<T>() < Integer(tile.count - at);
        Real<T> scale = is_example ? T(1) / (T(examples) * (others + own)) : Real<T>{};
        Real<T> one = is_example ? all<T>(T(1) / T(examples)) : Real<T>{};
        Real<T> entry = exact ? -others * scale : own * scale - one;
        for (int64_t c = 0; c < classes; ++c) {
            Real<T> share = load(column + c * columns) * scale;
            store(column + c * columns, right == Integer(c) ? entry : share);
        }
    }
}

// Adds the cross-entropies (nat) of a tile's examples, and how many of them are right: have their
// class's logit as the largest, as the first of equal ones.
template <class T>
void measure(
    const T* logits, int64_t classes, Tile tile, const typename Vectors<T>::Integer* target,
    double& loss, int64_t& right
) {
    int64_t columns = tile.columns;
    for (int64_t at = 0; at < tile.count; at += WIDTH<T>) {
        const T* column = logits + at;
        Whole<T> classes_right;
        std::memcpy(&classes_right, target + at, BYTES);
        Real<T> own = {};
        for (int lane = 0; lane < WIDTH<T>; ++lane)
            own[lane] = column[classes_right[lane] * columns + lane];
        Real<T> largest = {};  // by how much another logit is above that of the right class
        Whole<T> wrong = {};
        for (int64_t c = 0; c < classes; ++c) {
            Real<T> above = load(column + c * columns) - own;
            largest = larger<T>(above, largest);
            auto is_before = classes_right > static_cast<typename Vectors<T>::Integer>(c);
            wrong |= (above > Real<T>{}) | ((above == Real<T>{}) & is_before);
        }
        Real<T> others = {};
        for (int64_t c = 0; c < classes; ++c) {
            auto is_right = classes_right == static_cast<typename Vectors<T>::Integer>(c);
            Real<T> power = exponential<T>(load(column + c * columns) - own - largest);
            others += is_right ? Real<T>{} : power;
        }
        for (int lane = 0; lane < WIDTH<T> && at + lane < tile.count; ++lane) {
            // log(1 + sum of exp(above)), with the largest exponent outside.
            T most = largest[lane], sum = others[lane];
            double value = most > 0 ? most + std::log(std::exp(-most) + sum) : std::log1p(sum);
            loss += value;
            right += !wrong[lane] && value == value;
        }
    }
}

// Writes loss and accuracy of the train set, then of the test set. add(first, end, loss, right)
// adds those of the tile that begins with example `first` of a set that ends before `end`.
template <class Add> void evaluate(const int64_t* sizes, Add add, double* out) {
    int64_t begin = 0;
    for (int part = 0; part < 2; ++part) {
        int64_t end = begin + sizes[part], right = 0;
        double loss = 0;
        for (int64_t first = begin; first < end; first += TILE) add(first, end, loss, right);
        out[2 * part] = loss / sizes[part];
        out[2 * part + 1] = double(right) / sizes[part];
        begin = end;
    }
}

}  // namespace circlet
