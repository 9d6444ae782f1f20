// Networks of pairs of numbers (a, b): constant_attention and embedding_mlp.
//
//     x = L_a + R_b,   h = layers of x,   logits = W_o h + b_o,   target (a + b) mod p
//
// L and R are tables with a row for each of the p numbers. In constant_attention both are the
// embedding; if p is small, x is the product of the embedding and a matrix that counts the numbers
// of each pair. In embedding_mlp they are what the halves of the first layer make of the embedding,
// so x is that layer before its activation. Until there it is linear: it is applied to p numbers,
// not to all pairs.
//
// by_v is the gradient of the loss by v.
#pragma once

#include <vector>

#include "cross_entropy.hpp"
#include "products.hpp"

namespace circlet {

enum Activation : int32_t { NONE = 0, RELU = 1, SILU = 2 };  // none: of the last layer only

extern "C" struct PairNetworkSettings {
    int64_t p, d, hidden;
    int32_t has_first_layer;  // on the embeddings of a and b side by side: embedding_mlp
    int32_t activation, is_exact;
    int64_t sizes[2];         // pairs of the train and of the test set
    const int32_t *left, *right;  // a and b of all pairs, first those of the train set
};

// A layer y = act(W x + b) of a tile, where it keeps what its gradient needs.
template <class T> struct Layer {
    int64_t inputs, outputs;
    Activation activation;
    int64_t weight, bias;  // where they begin among the weights
    // (outputs, columns). `before` is W x + b, then the slopes (`activate`) or, in the last layer,
    // the gradient of the logits.
    Numbers<T> before, after;

    Layer(int64_t inputs, int64_t outputs, Activation activation, int64_t& begins)
        : inputs(inputs), outputs(outputs), activation(activation), weight(begins),
          bias(begins + inputs * outputs), before(with_spare(outputs, TILE)),
          after(with_spare(outputs, TILE)) {
        begins = bias + outputs;
    }

    // Activates what stands in `before`, and puts the slope of the activation in its place.
    void activate(int64_t columns) {
        T *from = before.data(), *to = after.data();
        for_side_by_side<T>(outputs * columns, [&](int64_t at, auto count) {
            constexpr int N = decltype(count)::value;
            Real<T> z[N], s[N];
            for (int i = 0; i < N; ++i) s[i] = z[i] = load(from + at + i * WIDTH<T>);
            if (activation == SILU) logistic<T>(s);
            for (int i = 0; i < N; ++i) {
                Real<T> value = z[i], slope = all<T>(1);
                if (activation == RELU) {
                    slope = z[i] > Real<T>{} ? slope : Real<T>{};
                    value = larger<T>(Real<T>{}, z[i]);  // NaN stays
                }
                if (activation == SILU) {
                    value = z[i] * s[i];
                    slope = s[i] + value * (T(1) - s[i]);
                }
                store(to + at + i * WIDTH<T>, value), store(from + at + i * WIDTH<T>, slope);
            }
        });
    }

    void forward(const T* weights, const T* x, int64_t columns) {
        multiply<T>(
            {weights + weight, inputs, 1}, outputs, inputs, x, columns, before.data(),
            weights + bias
        );
        if (activation != NONE) activate(columns);
    }

    // Given the gradient by W x + b, adds that by the weights, and writes that by x, times `slopes`
    // (of the layer below, if there is one).
    void backward(
        const T* weights, const T* x, const T* by_before, int64_t columns, T* gradient, T* by_x,
        const T* slopes
    ) {
        accumulate<T>(by_before, outputs, x, inputs, columns, gradient + weight);
        accumulate_sums<T>(by_before, outputs, columns, gradient + bias);
        multiply<T>(
            {weights + weight, 1, inputs}, inputs, outputs, by_before, columns, by_x, nullptr,
            slopes
        );
    }
};

template <class T> class PairNetwork {
public:
    explicit PairNetwork(const PairNetworkSettings& s)
        : s(s), is_counted(!s.has_first_layer && s.p <= FEW),
          width(s.has_first_layer ? s.hidden : s.d), row(padded<T>(width)),
          numbers(padded<T>(s.p)), target(s.sizes[0] + s.sizes[1] + TILE) {
        auto act = static_cast<Activation>(s.activation);
        int64_t begins = s.p * s.d;
        if (s.has_first_layer) layers.emplace_back(2 * s.d, s.hidden, act, begins);
        layers.emplace_back(width, s.hidden, act, begins);
        layers.emplace_back(s.hidden, s.p, NONE, begins);
        size = begins;
        sums.resize(with_spare(width, TILE));
        for (auto* rows : {&by_sums, &by_other})
            rows->resize(with_spare(std::max(width, s.hidden), TILE));
        for (auto* table : {&left, &right, &by_left, &by_right}) table->resize(numbers * row);
        if (s.has_first_layer) {
            for (auto* table : {&left_columns, &right_columns})
                table->resize(with_spare(width, numbers));
            columns_of_embedding.resize(with_spare(s.d, numbers));
            by_embedding.resize(s.d * numbers);
        }
        for (int64_t i = 0; i < s.sizes[0] + s.sizes[1]; ++i)
            target[i] = (s.left[i] + s.right[i]) % s.p;
        if (is_counted) count();
    }

    int64_t size;  // of the weights

    // Writes the gradient of the mean cross-entropy of the train set.
    void gradient(const T* weights, int64_t, const Epochs&, T* out) {
        std::fill(out, out + size, T(0));
        if (!is_counted) {
            make_tables(weights);
            std::fill(by_left.begin(), by_left.end(), T(0));
            std::fill(by_right.begin(), by_right.end(), T(0));
        }
        for (int64_t first = 0; first < s.sizes[0]; first += TILE) {
            Tile tile = forward(weights, first, s.sizes[0]);
            auto& output = layers.back();
            logit_gradient<T>(
                output.before.data(), s.p, tile, &target[first], s.sizes[0], s.is_exact
            );
            backward(weights, first, tile, out);
        }
        if (!is_counted) gradient_of_tables(weights, out);
    }

    // Writes loss and accuracy of the train set, then of the test set.
    void metrics(const T* weights, double* out) {
        if (!is_counted) make_tables(weights);
        auto add = [&](int64_t first, int64_t end, double& loss, int64_t& right) {
            Tile tile = forward(weights, first, end);
            measure<T>(layers.back().before.data(), s.p, tile, &target[first], loss, right);
        };
        evaluate(s.sizes, add, out);
    }

private:
    static constexpr int64_t FEW = 3 * WIDTH<T>;  // numbers for which counting them is faster

    const PairNetworkSettings s;
    const bool is_counted;  // the sums of two rows are products with `counts`, not from tables
    const int64_t width, row;  // of x; and with what fills a vector
    const int64_t numbers;     // p, and what fills a vector
    std::vector<Layer<T>> layers;
    Numbers<typename Vectors<T>::Integer> target;
    Numbers<T> left, right, by_left, by_right;  // tables: (numbers, row)
    Numbers<T> left_columns, right_columns;  // tables, later their gradients: (width, numbers)
    Numbers<T> columns_of_embedding, by_embedding;
    Numbers<T> sums, by_sums, by_other;  // the last two take turns as by_before and by_x
    Numbers<T> counts;  // how often each number stands in a pair: (p, columns), tile after tile
    int32_t a[TILE], b[TILE];

    void count() {
        int64_t columns = padded<T>(s.sizes[0]) + padded<T>(s.sizes[1]);
        counts.resize(s.p * columns + with_spare(0, TILE));  // the spare rows of the last tile
        for (int64_t i = 0; i < s.sizes[0] + s.sizes[1]; ++i) {
            bool is_test = i >= s.sizes[0];
            int64_t begin = is_test ? s.sizes[0] : 0, t = (i - begin) % TILE;
            int64_t columns = padded<T>(std::min(TILE, begin + s.sizes[is_test] - i + t));
            T* column = counts_of(i - t) + t;
            column[s.left[i] * columns] += 1, column[s.right[i] * columns] += 1;
        }
    }

    // The counts of the tile that begins with pair `first`.
    T* counts_of(int64_t first) {
        int64_t rest = first - s.sizes[0];
        return counts.data() + s.p * (rest < 0 ? first : padded<T>(s.sizes[0]) + rest);
    }

    void make_tables(const T* weights) {
        if (!s.has_first_layer) {
            for (int64_t i = 0; i < s.p; ++i)
                std::copy_n(weights + i * s.d, s.d, &left[i * row]);
            right = left;
            return;
        }
        T* embedding = columns_of_embedding.data();
        write_transposed(weights, s.p, s.d, s.d, embedding, numbers);
        auto& layer = layers.front();
        const T *w = weights + layer.weight, *bias = weights + layer.bias;
        T *l = left_columns.data(), *r = right_columns.data();
        multiply<T>({w, 2 * s.d, 1}, width, s.d, embedding, numbers, l, bias);
        multiply<T>({w + s.d, 2 * s.d, 1}, width, s.d, embedding, numbers, r);
        write_transposed(l, width, s.p, numbers, left.data(), row);
        write_transposed(r, width, s.p, numbers, right.data(), row);
    }

    // Writes the transpose of a matrix (rows, columns), whose rows begin `from_row` numbers apart.
    static void write_transposed(
        const T* from, int64_t rows, int64_t columns, int64_t from_row, T* to, int64_t to_row
    ) {
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) to[j * to_row + i] = from[i * from_row + j];
    }

    // Calls act(k, t) for all squares of a tile: numbers k, ... of x for the examples t, ...
    template <class Act> void for_squares(int64_t columns, Act act) {
        for (int64_t t = 0; t < columns; t += WIDTH<T>)
            for (int64_t k = 0; k < row; k += WIDTH<T>) act(k, t);
    }

    Tile forward(const T* weights, int64_t first, int64_t end) {
        Tile tile = {std::min(TILE, end - first), 0};
        int64_t columns = tile.columns = padded<T>(tile.count);
        T* x = s.has_first_layer ? layers.front().before.data() : sums.data();
        if (is_counted) {
            multiply<T>({weights, 1, s.d}, s.d, s.p, counts_of(first), columns, x);
        } else {
            for (int64_t t = 0; t < columns; ++t) {
                int64_t i = first + std::min(t, tile.count - 1);
                a[t] = s.left[i], b[t] = s.right[i];
            }
            for_squares(columns, [&](int64_t k, int64_t t) {
                Real<T> square[WIDTH<T>];
                UNROLLED for (int i = 0; i < WIDTH<T>; ++i)
                    square[i] = load(&left[a[t + i] * row + k]) + load(&right[b[t + i] * row + k]);
                transpose<T>(square);
                UNROLLED for (int i = 0; i < WIDTH<T>; ++i)
                    store(x + (k + i) * columns + t, square[i]);
            });
        }
        if (s.has_first_layer) {
            layers.front().activate(columns);
            x = layers.front().after.data();
        }
        for (size_t i = s.has_first_layer; i < layers.size(); ++i) {
            layers[i].forward(weights, x, columns);
            x = layers[i].after.data();
        }
        return tile;
    }

    // Of a tile, given the gradient of its logits, which has taken their place.
    void backward(const T* weights, int64_t first, Tile tile, T* out) {
        T* by_before = layers.back().before.data();
        T *by_x = by_sums.data(), *other = by_other.data();
        for (size_t i = layers.size(); i-- > size_t(s.has_first_layer);) {
            const T* x = i ? layers[i - 1].after.data() : sums.data();
            const T* slopes = i ? layers[i - 1].before.data() : nullptr;
            layers[i].backward(weights, x, by_before, tile.columns, out, by_x, slopes);
            by_before = by_x;
            std::swap(by_x, other);
        }
        if (is_counted) {
            accumulate<T>(counts_of(first), s.p, by_before, s.d, tile.columns, out);
            return;
        }
        for_squares(tile.columns, [&](int64_t k, int64_t t) {
            Real<T> square[WIDTH<T>];
            UNROLLED for (int i = 0; i < WIDTH<T>; ++i)
                square[i] = load(by_before + (k + i) * tile.columns + t);
            transpose<T>(square);
            UNROLLED for (int i = 0; i < WIDTH<T>; ++i) {
                if (t + i >= tile.count) break;
                T *l = &by_left[a[t + i] * row + k], *r = &by_right[b[t + i] * row + k];
                store(l, load(l) + square[i]), store(r, load(r) + square[i]);
            }
        });
    }

    void gradient_of_tables(const T* weights, T* out) {
        if (!s.has_first_layer) {
            for (int64_t i = 0; i < s.p; ++i)
                for (int64_t k = 0; k < s.d; ++k)
                    out[i * s.d + k] = by_left[i * row + k] + by_right[i * row + k];
            return;
        }
        auto& layer = layers.front();
        const T *w = weights + layer.weight, *embedding = columns_of_embedding.data();
        T *l = left_columns.data(), *r = right_columns.data();
        write_transposed(by_left.data(), numbers, width, row, l, numbers);  // rows beyond p are 0
        write_transposed(by_right.data(), numbers, width, row, r, numbers);
        accumulate<T>(l, width, embedding, s.d, numbers, out + layer.weight, 2 * s.d);
        accumulate<T>(r, width, embedding, s.d, numbers, out + layer.weight + s.d, 2 * s.d);
        accumulate_sums<T>(l, width, numbers, out + layer.bias);
        for (auto [offset, by] : {std::pair{int64_t(0), l}, {s.d, r}}) {
            multiply<T>({w + offset, 1, 2 * s.d}, s.d, width, by, numbers, by_embedding.data());
            for (int64_t i = 0; i < s.p; ++i)
                for (int64_t k = 0; k < s.d; ++k) out[i * s.d + k] += by_embedding[k * numbers + i];
        }
    }
};

}  // namespace circlet
