// One-layer transformer on sparse modular addition: sparse_transformer.
//
//     e = E[x_t] + P[t],   z = norm(e),   alpha = softmax_t(<q, z> / sqrt(d)),
//     xi = sum_t alpha_t W_V z_t,   r = xi + W_2 gelu(W_1 norm(xi) + b_1) + b_2,   logits = E r,
//
// with norm(v) = v / (rms(v) + EPS), and dropout of what the MLP adds to r. Both E are the same
// weights. The target is the sum of the first k tokens mod p; a vocabulary of more than p tokens
// serves a later run with a larger p.
//
// z depends on nothing but a token and its position: scores and values are tables over the
// p * length entries (token, position). The attention of a sequence is stored over these entries,
// too, and is 0 where another token stands.
#pragma once

#include <numeric>
#include <utility>

#include "cross_entropy.hpp"
#include "products.hpp"

namespace circlet {

extern "C" struct SparseTransformerSettings {
    int64_t p, d, length, k, vocabulary, hidden, batch_size;
    int32_t has_bias;
    double dropout;
    int64_t sizes[2];       // sequences of the train and of the test set
    const uint8_t* tokens;  // (sequences, length), first those of the train set
};

template <class T> class SparseTransformer {
public:
    explicit SparseTransformer(const SparseTransformerSettings& s)
        : s(s), entries(s.p * s.length), slots(padded<T>(entries)),
          words((s.length + BYTES_OF_WORD - 1) / BYTES_OF_WORD) {
        int64_t end = 0;
        auto array = [&](int64_t numbers) { return std::exchange(end, end + numbers); };
        at.embedding = array(s.vocabulary * s.d), at.position = array(s.length * s.d);
        at.query = array(s.d), at.value = array(s.d * s.d);
        at.hidden = array(s.hidden * s.d), at.output = array(s.d * s.hidden);
        if (s.has_bias) at.hidden_bias = array(s.hidden), at.output_bias = array(s.d);
        size = end;
        auto resize = [](Numbers<T>& to, int64_t rows, int64_t columns) {
            to.resize(with_spare(rows, columns));
        };
        for (auto* table : {&e, &values, &by_z}) table->resize(s.d * slots);
        for (auto* table : {&z, &by_values}) resize(*table, s.d, slots);
        for (auto* table : {&scores, &divisors}) table->resize(slots);
        resize(by_scores, 1, slots);
        for (auto* rows : {&xi, &normed, &r, &by_r, &by_m, &by_xi}) resize(*rows, s.d, TILE);
        for (auto* rows : {&h, &slopes, &by_h}) resize(*rows, s.hidden, TILE);
        for (auto* rows : {&alpha, &by_alpha}) resize(*rows, entries, TILE);
        resize(logits, s.vocabulary, TILE);
        tokens.resize(words * BYTES_OF_WORD * TILE);
        attention.resize(s.length * WIDTH<T>);
        sequences.resize((s.sizes[0] + s.sizes[1]) * words);
        for (int64_t i = 0; i < s.sizes[0] + s.sizes[1]; ++i) {
            const uint8_t* sequence = s.tokens + i * s.length;
            for (int64_t j = 0; j < s.length; ++j)
                sequences[i * words + j / BYTES_OF_WORD] |=
                    Integer(sequence[j]) << 8 * (j % BYTES_OF_WORD);
            classes.push_back(std::accumulate(sequence, sequence + s.k, Integer(0)) % s.p);
        }
    }

    int64_t size;  // of the weights

    // Writes the gradient of the mean cross-entropy of the batch of a step, or, in step 0, of the
    // train set.
    void gradient(const T* weights, int64_t step, const Epochs& epochs, T* out) {
        int64_t n = s.sizes[0], begin = 0, end = n;
        const int32_t* order = nullptr;
        const uint8_t* kept = nullptr;
        if (step) {
            int64_t batches = (n + s.batch_size - 1) / s.batch_size;
            int64_t epoch = (step - 1) / batches - epochs.first;
            begin = (step - 1) % batches * s.batch_size, end = std::min(n, begin + s.batch_size);
            if (epochs.orders) order = epochs.orders + epoch * n;
            if (epochs.kept) kept = epochs.kept + epoch * s.d * n;
        }
        std::fill(out, out + size, T(0));
        std::fill_n(by_values.begin(), s.d * slots, T(0));
        std::fill_n(by_scores.begin(), slots, T(0));
        make_tables(weights);
        for (int64_t first = begin; first < end; first += TILE) {
            Tile tile = select(first, end, order);
            forward(weights, tile, kept ? kept + first : nullptr);
            logit_gradient<T>(logits.data(), s.vocabulary, tile, target, end - begin, true);
            backward(weights, tile, kept ? kept + first : nullptr, out);
        }
        gradient_of_tables(weights, out);
    }

    // Writes loss and accuracy of the train set, then of the test set.
    void metrics(const T* weights, double* out) {
        make_tables(weights);
        auto add = [&](int64_t first, int64_t end, double& loss, int64_t& right) {
            Tile tile = select(first, end, nullptr);
            forward(weights, tile, nullptr);
            measure<T>(logits.data(), s.vocabulary, tile, target, loss, right);
        };
        evaluate(s.sizes, add, out);
    }

private:
    static constexpr T EPS = T(1e-5);
    static constexpr int64_t FEW = 8;  // numbers for which comparing is faster than looking up
    using Integer = typename Vectors<T>::Integer;
    // Tokens of a sequence are fetched as words, one token in each byte.
    static constexpr int64_t BYTES_OF_WORD = sizeof(Integer);

    const SparseTransformerSettings s;
    const int64_t entries, slots;  // of the tables: (token, position), and with what fills a vector
    const int64_t words;  // of a sequence
    const T per_feature = T(1) / T(s.d);
    struct {
        int64_t embedding, position, query, value, hidden, output, hidden_bias, output_bias;
    } at;  // where arrays begin among the weights
    // Tables: e, z and W_V z, (d, slots); scores <q, z> / sqrt(d); divisors rms(e) + EPS.
    Numbers<T> e, z, values, by_values, by_z, scores, by_scores, divisors;
    // Of a tile: (features, columns). `h` is after gelu, `by_h` before it; `slopes` are those of
    // gelu.
    Numbers<T> xi, normed, r, by_r, by_m, by_xi, h, slopes, by_h, alpha, by_alpha, logits;
    Numbers<T> attention;
    T divisor[TILE];
    Integer target[TILE];
    Numbers<Integer> classes;  // of all sequences
    Numbers<Integer> sequences;  // (sequences, words)
    Numbers<Integer> tokens;  // of a tile, (length, columns)

    // norm of columns of x, (d, columns), and their divisors.
    void norm(const T* x, int64_t columns, T* to, T* divisor) {
        for (int64_t t = 0; t < columns; t += WIDTH<T>) {
            Real<T> squares = {};
            for (int64_t k = 0; k < s.d; ++k) {
                Real<T> v = load(x + k * columns + t);
                squares += v * v;
            }
            Real<T> by = root<T>(squares * per_feature) + EPS, scale = T(1) / by;
            store(divisor + t, by);
            for (int64_t k = 0; k < s.d; ++k)
                store(to + k * columns + t, load(x + k * columns + t) * scale);
        }
    }

    // Gradient before the norm, in place of that after it.
    void norm_back(T* by, const T* x, const T* divisor, int64_t columns) {
        for (int64_t t = 0; t < columns; t += WIDTH<T>) {
            Real<T> product = {}, over = load(divisor + t), scale = T(1) / over;
            for (int64_t k = 0; k < s.d; ++k)
                product += load(by + k * columns + t) * load(x + k * columns + t);
            Real<T> along = product * per_feature / (over * over * (over - EPS));
            for (int64_t k = 0; k < s.d; ++k) {
                T* own = by + k * columns + t;
                store(own, load(own) * scale - load(x + k * columns + t) * along);
            }
        }
    }

    void make_tables(const T* weights) {
        const T *embedding = weights + at.embedding, *positions = weights + at.position;
        for (int64_t k = 0; k < s.d; ++k) {
            T* row = &e[k * slots];
            for (int64_t v = 0; v < s.p; ++v)
                for (int64_t j = 0; j < s.length; ++j)
                    row[v * s.length + j] = embedding[v * s.d + k] + positions[j * s.d + k];
        }
        norm(e.data(), slots, z.data(), divisors.data());
        multiply<T>({weights + at.query, s.d, 1}, 1, s.d, z.data(), slots, scores.data());
        multiply<T>({weights + at.value, s.d, 1}, s.d, s.d, z.data(), slots, values.data());
        T scale = T(1) / std::sqrt(T(s.d));
        for (int64_t i = 0; i < slots; ++i) scores[i] *= scale;
    }

    // Fetches the tokens and classes of the sequences of a tile.
    Tile select(int64_t first, int64_t end, const int32_t* order) {
        Tile tile = {std::min(TILE, end - first), 0};
        tile.columns = padded<T>(tile.count);
        for (int64_t t = 0; t < tile.columns; ++t) {
            int64_t i = first + std::min(t, tile.count - 1);
            int64_t own = order ? order[i] : i;
            target[t] = classes[own];
            for (int64_t w = 0; w < words; ++w)
                tokens[w * BYTES_OF_WORD * tile.columns + t] = sequences[own * words + w];
        }
        for (int64_t w = 0; w < words; ++w)
            for (int64_t t = 0; t < tile.columns; t += WIDTH<T>) {
                Integer* to = &tokens[w * BYTES_OF_WORD * tile.columns + t];
                Whole<T> word;
                std::memcpy(&word, to, BYTES);
                for (int64_t i = 0; i < BYTES_OF_WORD; ++i, word >>= 8) {
                    Whole<T> token = word & 255;
                    std::memcpy(to + i * tile.columns, &token, BYTES);
                }
            }
        return tile;
    }

    void attend(int64_t columns) {
        T* weight = attention.data();  // of each position, to the sequences of a vector
        for (int64_t t = 0; t < columns; t += WIDTH<T>) {
            Real<T> largest = all<T>(-std::numeric_limits<T>::infinity()), total = {};
            for (int64_t j = 0; j < s.length; ++j) {
                const Integer* token = &tokens[j * columns + t];
                T* own = weight + j * WIDTH<T>;
                if (s.p <= FEW) {
                    Whole<T> at_lanes;
                    std::memcpy(&at_lanes, token, BYTES);
                    Real<T> score = all<T>(scores[j]);
                    for (int64_t v = 1; v < s.p; ++v)
                        score = at_lanes == Integer(v) ? all<T>(scores[v * s.length + j]) : score;
                    store(own, score);
                } else {
                    for (int lane = 0; lane < WIDTH<T>; ++lane)
                        own[lane] = scores[token[lane] * s.length + j];
                }
                largest = larger<T>(largest, load(own));
            }
            for (int64_t j = 0; j < s.length; ++j) {
                Real<T> power = exponential<T>(load(weight + j * WIDTH<T>) - largest);
                store(weight + j * WIDTH<T>, power);
                total += power;
            }
            Real<T> scale = T(1) / total;
            for (int64_t j = 0; j < s.length; ++j) {
                Real<T> own = load(weight + j * WIDTH<T>) * scale;
                Whole<T> token;
                std::memcpy(&token, &tokens[j * columns + t], BYTES);
                for (int64_t v = 0; v < s.p; ++v)
                    store(&alpha[(v * s.length + j) * columns + t],
                          token == Integer(v) ? own : Real<T>{});
            }
        }
    }

    // Leaves out what dropout drops: kept has a row of a number for each feature.
    void drop(T* rows, Tile tile, const uint8_t* kept) {
        if (!kept) return;
        T scale = T(1 / (1 - s.dropout));
        for (int64_t k = 0; k < s.d; ++k)
            for (int64_t t = 0; t < tile.count; ++t)
                rows[k * tile.columns + t] *= kept[k * s.sizes[0] + t] ? scale : T(0);
    }

    void forward(const T* weights, Tile tile, const uint8_t* kept) {
        int64_t columns = tile.columns;
        attend(columns);
        multiply<T>({values.data(), slots, 1}, s.d, entries, alpha.data(), columns, xi.data());
        norm(xi.data(), columns, normed.data(), divisor);
        const T* bias = s.has_bias ? weights + at.hidden_bias : nullptr;
        multiply<T>(
            {weights + at.hidden, s.d, 1}, s.hidden, s.d, normed.data(), columns, h.data(), bias
        );
        for_side_by_side<T>(s.hidden * columns, [&](int64_t first, auto count) {
            constexpr int N = decltype(count)::value;
            Real<T> x[N], below[N], density[N];
            for (int i = 0; i < N; ++i) below[i] = x[i] = load(&h[first + i * WIDTH<T>]);
            normal<T>(below, density);
            for (int i = 0; i < N; ++i) {
                store(&h[first + i * WIDTH<T>], x[i] * below[i]);
                store(&slopes[first + i * WIDTH<T>], below[i] + x[i] * density[i]);
            }
        });
        bias = s.has_bias ? weights + at.output_bias : nullptr;
        multiply<T>(
            {weights + at.output, s.hidden, 1}, s.d, s.hidden, h.data(), columns, r.data(), bias
        );
        drop(r.data(), tile, kept);
        for (int64_t i = 0; i < s.d * columns; i += WIDTH<T>)
            store(&r[i], load(&r[i]) + load(&xi[i]));
        multiply<T>(
            {weights + at.embedding, s.d, 1}, s.vocabulary, s.d, r.data(), columns, logits.data()
        );
    }

    // Of a tile, given the gradient of its logits, which has taken their place.
    void backward(const T* weights, Tile tile, const uint8_t* kept, T* out) {
        int64_t columns = tile.columns;
        accumulate<T>(logits.data(), s.vocabulary, r.data(), s.d, columns, out + at.embedding);
        multiply<T>(
            {weights + at.embedding, 1, s.d}, s.d, s.vocabulary, logits.data(), columns, by_r.data()
        );
        std::copy(by_r.begin(), by_r.begin() + s.d * columns, by_m.begin());
        drop(by_m.data(), tile, kept);
        accumulate<T>(by_m.data(), s.d, h.data(), s.hidden, columns, out + at.output);
        multiply<T>(
            {weights + at.output, 1, s.hidden}, s.hidden, s.d, by_m.data(), columns, by_h.data(),
            nullptr, slopes.data()
        );
        accumulate<T>(by_h.data(), s.hidden, normed.data(), s.d, columns, out + at.hidden);
        if (s.has_bias) {
            accumulate_sums<T>(by_m.data(), s.d, columns, out + at.output_bias);
            accumulate_sums<T>(by_h.data(), s.hidden, columns, out + at.hidden_bias);
        }
        multiply<T>(
            {weights + at.hidden, 1, s.d}, s.d, s.hidden, by_h.data(), columns, by_xi.data()
        );
        norm_back(by_xi.data(), xi.data(), divisor, columns);
        for (int64_t i = 0; i < s.d * columns; i += WIDTH<T>)
            store(&by_xi[i], load(&by_xi[i]) + load(&by_r[i]));

        accumulate<T>(by_xi.data(), s.d, alpha.data(), entries, columns, by_values.data(), slots);
        multiply<T>(
            {values.data(), 1, slots}, entries, s.d, by_xi.data(), columns, by_alpha.data()
        );
        for (int64_t t = 0; t < columns; t += WIDTH<T>) {
            Real<T> total = {};
            for (int64_t i = t; i < entries * columns; i += columns)
                total += load(&alpha[i]) * load(&by_alpha[i]);
            for (int64_t i = t; i < entries * columns; i += columns)  // from here on, by the scores
                store(&by_alpha[i], load(&alpha[i]) * (load(&by_alpha[i]) - total));
        }
        accumulate_sums<T>(by_alpha.data(), entries, columns, by_scores.data());
    }

    void gradient_of_tables(const T* weights, T* out) {
        T scale = T(1) / std::sqrt(T(s.d));
        for (int64_t i = 0; i < slots; ++i) by_scores[i] *= scale;
        accumulate<T>(by_values.data(), s.d, z.data(), s.d, slots, out + at.value);
        accumulate<T>(by_scores.data(), 1, z.data(), s.d, slots, out + at.query);
        multiply<T>({weights + at.value, 1, s.d}, s.d, s.d, by_values.data(), slots, by_z.data());
        for (int64_t k = 0; k < s.d; ++k)
            for (int64_t i = 0; i < slots; ++i)
                by_z[k * slots + i] += weights[at.query + k] * by_scores[i];
        norm_back(by_z.data(), e.data(), divisors.data(), slots);
        for (int64_t k = 0; k < s.d; ++k)
            for (int64_t v = 0; v < s.p; ++v) {
                T total = 0;
                for (int64_t j = 0; j < s.length; ++j) {
                    T by_e = by_z[k * slots + v * s.length + j];
                    total += by_e, out[at.position + j * s.d + k] += by_e;
                }
                out[at.embedding + v * s.d + k] += total;
            }
    }
};

}  // namespace circlet
