// Products of small matrices, whose second factor has its columns in vectors.
//
// Matrices are stored row after row. Columns are the examples of a tile: their number is a whole
// number of vectors.
#pragma once

#include <algorithm>

#include "vector.hpp"

namespace circlet {

// A matrix, or its transpose: entry (i, k) is first[i * row + k * column].
template <class T> struct Factor {
    const T* first;
    int64_t row, column;
};

// ROWS x VECTORS of c = (a b + bias) * times (entry by entry), held in registers while k runs.
template <class T, int ROWS, int VECTORS>
INLINED void multiply_block(
    const Factor<T>& a, int64_t inner, const T* b, int64_t columns, T* c, const T* bias, const T* times
) {
    Real<T> total[ROWS][VECTORS];
    UNROLLED for (int i = 0; i < ROWS; ++i)
        UNROLLED for (int v = 0; v < VECTORS; ++v) total[i][v] = all<T>(bias ? bias[i] : T(0));
    for (int64_t k = 0; k < inner; ++k) {
        Real<T> right[VECTORS];
        UNROLLED for (int v = 0; v < VECTORS; ++v) right[v] = load(b + k * columns + v * WIDTH<T>);
        UNROLLED for (int i = 0; i < ROWS; ++i) {
            Real<T> left = all<T>(a.first[i * a.row + k * a.column]);
            UNROLLED for (int v = 0; v < VECTORS; ++v) total[i][v] += left * right[v];
        }
    }
    if (times)
        UNROLLED for (int i = 0; i < ROWS; ++i, times += columns)
            UNROLLED for (int v = 0; v < VECTORS; ++v) total[i][v] *= load(times + v * WIDTH<T>);
    UNROLLED for (int i = 0; i < ROWS; ++i, c += columns)
        UNROLLED for (int v = 0; v < VECTORS; ++v) store(c + v * WIDTH<T>, total[i][v]);
}

template <class T, int ROWS>
INLINED void multiply_rows(
    const Factor<T>& a, int64_t inner, const T* b, int64_t columns, T* c, const T* bias, const T* times
) {
    auto factor = [&](int64_t at) { return times ? times + at : nullptr; };
    // AVX-512 has 32 registers, AVX2 16: enough for 3 rows of 4 vectors.
    constexpr int VECTORS = BYTES == 64 || ROWS <= 3 ? 4 : 2;
    int64_t at = 0;
    for (; at + VECTORS * WIDTH<T> <= columns; at += VECTORS * WIDTH<T>)
        multiply_block<T, ROWS, VECTORS>(a, inner, b + at, columns, c + at, bias, factor(at));
    for (; at + 2 * WIDTH<T> <= columns; at += 2 * WIDTH<T>)
        multiply_block<T, ROWS, 2>(a, inner, b + at, columns, c + at, bias, factor(at));
    for (; at < columns; at += WIDTH<T>)
        multiply_block<T, ROWS, 1>(a, inner, b + at, columns, c + at, bias, factor(at));
}

// c = (a b + bias) * times, the last entry by entry: a (rows, inner), b (inner, columns),
// c (rows, columns); bias (rows) and times (rows, columns), or none.
template <class T>
void multiply(
    const Factor<T>& a, int64_t rows, int64_t inner, const T* b, int64_t columns, T* c,
    const T* bias = nullptr, const T* times = nullptr
) {
    for (int64_t i = 0; i < rows; i += 6) {
        Factor<T> own = {a.first + i * a.row, a.row, a.column};
        const T* from = bias ? bias + i : nullptr;
        const T* factor = times ? times + i * columns : nullptr;
        T* to = c + i * columns;
        switch (rows - i) {
            case 1: multiply_rows<T, 1>(own, inner, b, columns, to, from, factor); break;
            case 2: multiply_rows<T, 2>(own, inner, b, columns, to, from, factor); break;
            case 3: multiply_rows<T, 3>(own, inner, b, columns, to, from, factor); break;
            case 4: multiply_rows<T, 4>(own, inner, b, columns, to, from, factor); break;
            case 5: multiply_rows<T, 5>(own, inner, b, columns, to, from, factor); break;
            default: multiply_rows<T, 6>(own, inner, b, columns, to, from, factor);
        }
    }
}

constexpr int MOST_ROWS = 16;  // of a block, or of a vector
static_assert(WIDTH<float> <= MOST_ROWS);

// How many numbers an operand of accumulate or accumulate_sums needs. They read whole blocks of
// rows, some beyond the last one; the squares of PairNetwork also write there. Anything may stand
// there, such as what an earlier tile left: each sum depends on its own rows only, and those of
// spare rows are dropped.
constexpr int64_t with_spare(int64_t rows, int64_t columns) {
    return (rows + MOST_ROWS - 1) * columns;
}

// ROWS x COLUMNS of c += a b^T, each the sum of a product of two rows. `rows` of a and `columns`
// rows of b remain; if the block is larger, its other sums are not added.
template <class T, int ROWS, int COLUMNS>
INLINED void accumulate_block(
    const T* a, int64_t rows, const T* b, int64_t columns, int64_t inner, T* c, int64_t row
) {
    static_assert(ROWS <= MOST_ROWS && COLUMNS <= MOST_ROWS);
    constexpr int64_t SUMS = padded<T>(ROWS * COLUMNS);
    Real<T> total[SUMS] = {};
    for (int64_t k = 0; k < inner; k += WIDTH<T>) {
        Real<T> right[COLUMNS];
        UNROLLED for (int j = 0; j < COLUMNS; ++j)
            right[j] = load(b + j * inner + k);
        UNROLLED for (int i = 0; i < ROWS; ++i) {
            Real<T> left = load(a + i * inner + k);
            UNROLLED for (int j = 0; j < COLUMNS; ++j) total[i * COLUMNS + j] += left * right[j];
        }
    }
    T sum[SUMS];
    UNROLLED for (int64_t i = 0; i < SUMS; i += WIDTH<T>) store(sum + i, sums<T>(total + i));
    if (rows >= ROWS && columns >= COLUMNS) {
        typedef T Part __attribute__((vector_size(COLUMNS * sizeof(T))));
        UNROLLED for (int i = 0; i < ROWS; ++i) {
            Part own, more;
            std::memcpy(&own, c + i * row, sizeof own);
            std::memcpy(&more, sum + i * COLUMNS, sizeof more);
            own += more;
            std::memcpy(c + i * row, &own, sizeof own);
        }
        return;
    }
    for (int64_t i = 0; i < std::min<int64_t>(rows, ROWS); ++i)
        for (int64_t j = 0; j < std::min<int64_t>(columns, COLUMNS); ++j)
            c[i * row + j] += sum[i * COLUMNS + j];
}

// c += a b^T in blocks.
template <class T, int ROWS, int COLUMNS>
INLINED void accumulate_blocks(
    const T* a, int64_t rows, const T* b, int64_t columns, int64_t inner, T* c, int64_t row
) {
    for (int64_t j = 0; j < columns; j += COLUMNS)
        for (int64_t i = 0; i < rows; i += ROWS)
            accumulate_block<T, ROWS, COLUMNS>(
                a + i * inner, rows - i, b + j * inner, columns - j, inner, c + i * row + j, row
            );
}

// c += a b^T: a (rows, inner), b (columns, inner), both with spare rows, c (rows, columns); inner
// is a whole number of vectors. A row of c begins `row` numbers after the one before, or `columns`.
// If 1 or 2 columns are left over, they have narrow blocks; rows left over go one by one, in blocks
// of WIDTH sums.
template <class T>
void accumulate(
    const T* a, int64_t rows, const T* b, int64_t columns, int64_t inner, T* c, int64_t row = 0
) {
    constexpr bool MANY = BYTES == 64;  // AVX-512 has 32 registers, not 16
    constexpr int ROWS = MANY ? 4 : 3;
    row = row ? row : columns;
    int64_t narrow = columns % 4 <= 2 ? columns % 4 : 0, wide = columns - narrow;
    int64_t full = rows / ROWS * ROWS;
    accumulate_blocks<T, ROWS, 4>(a, full, b, wide, inner, c, row);
    accumulate_blocks<T, 1, WIDTH<T>>(
        a + full * inner, rows - full, b, wide, inner, c + full * row, row
    );
    accumulate_blocks<T, MANY ? 8 : 4, 2>(
        a, rows, b + wide * inner, narrow, inner, c + wide, row
    );
}

// c_i += sum of row i of a, which has spare rows.
template <class T> void accumulate_sums(const T* a, int64_t rows, int64_t inner, T* c) {
    for (int64_t first = 0; first < rows; first += WIDTH<T>) {
        const T* row = a + first * inner;
        int64_t count = std::min<int64_t>(WIDTH<T>, rows - first);
        Real<T> total[WIDTH<T>] = {};
        for (int64_t k = 0; k < inner; k += WIDTH<T>)
            UNROLLED for (int i = 0; i < WIDTH<T>; ++i)
                total[i] += load(row + i * inner + k);
        T sum[WIDTH<T>];
        store(sum, sums<T>(total));
        for (int64_t i = 0; i < count; ++i) c[first + i] += sum[i];
    }
}

}  // namespace circlet
