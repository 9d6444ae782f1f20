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

// ROWS x VECTORS of c = a b + bias, held in registers while k runs.
template <class T, int ROWS, int VECTORS>
inline void multiply_block(
    Factor<T> a, int64_t inner, const T* b, int64_t columns, T* c, const T* bias
) {
    Real<T> total[ROWS][VECTORS];
    for (int i = 0; i < ROWS; ++i)
        for (int v = 0; v < VECTORS; ++v) total[i][v] = all<T>(bias ? bias[i] : T(0));
    for (int64_t k = 0; k < inner; ++k) {
        Real<T> right[VECTORS];
        for (int v = 0; v < VECTORS; ++v) right[v] = load(b + k * columns + v * WIDTH<T>);
        for (int i = 0; i < ROWS; ++i) {
            Real<T> left = all<T>(a.first[i * a.row + k * a.column]);
            for (int v = 0; v < VECTORS; ++v) total[i][v] += left * right[v];
        }
    }
    for (int i = 0; i < ROWS; ++i)
        for (int v = 0; v < VECTORS; ++v) store(c + i * columns + v * WIDTH<T>, total[i][v]);
}

template <class T, int ROWS>
void multiply_rows(
    Factor<T> a, int64_t inner, const T* b, int64_t columns, T* c, const T* bias
) {
    constexpr int VECTORS = BYTES == 64 ? 4 : 2;  // AVX-512 has 32 registers, not 16
    int64_t at = 0;
    for (; at + VECTORS * WIDTH<T> <= columns; at += VECTORS * WIDTH<T>)
        multiply_block<T, ROWS, VECTORS>(a, inner, b + at, columns, c + at, bias);
    for (; at < columns; at += WIDTH<T>)
        multiply_block<T, ROWS, 1>(a, inner, b + at, columns, c + at, bias);
}

// c = a b + bias: a (rows, inner), b (inner, columns), c (rows, columns), bias (rows) or none.
template <class T>
void multiply(
    Factor<T> a, int64_t rows, int64_t inner, const T* b, int64_t columns, T* c,
    const T* bias = nullptr
) {
    for (int64_t i = 0; i < rows; i += 6) {
        Factor<T> own = {a.first + i * a.row, a.row, a.column};
        const T* from = bias ? bias + i : nullptr;
        T* to = c + i * columns;
        switch (rows - i) {
            case 1: multiply_rows<T, 1>(own, inner, b, columns, to, from); break;
            case 2: multiply_rows<T, 2>(own, inner, b, columns, to, from); break;
            case 3: multiply_rows<T, 3>(own, inner, b, columns, to, from); break;
            case 4: multiply_rows<T, 4>(own, inner, b, columns, to, from); break;
            case 5: multiply_rows<T, 5>(own, inner, b, columns, to, from); break;
            default: multiply_rows<T, 6>(own, inner, b, columns, to, from);
        }
    }
}

// ROWS x 4 of c += a b^T, each the sum of a product of two rows.
template <class T, int ROWS>
inline void accumulate_block(const T* a, const T* b, int64_t inner, T* c, int64_t row) {
    Real<T> total[ROWS][4] = {};
    for (int64_t k = 0; k < inner; k += WIDTH<T>) {
        Real<T> right[4];
        for (int j = 0; j < 4; ++j) right[j] = load(b + j * inner + k);
        for (int i = 0; i < ROWS; ++i) {
            Real<T> left = load(a + i * inner + k);
            for (int j = 0; j < 4; ++j) total[i][j] += left * right[j];
        }
    }
    for (int i = 0; i < ROWS; ++i) add_sums<T>(total[i], c + i * row);
}

template <class T, int ROWS>
void accumulate_rows(const T* a, const T* b, int64_t columns, int64_t inner, T* c, int64_t row) {
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4)
        accumulate_block<T, ROWS>(a, b + j * inner, inner, c + j, row);
    for (; j < columns; ++j) {
        Real<T> total[(ROWS + 3) / 4 * 4] = {};  // summed by fours
        T sums[(ROWS + 3) / 4 * 4] = {};
        for (int64_t k = 0; k < inner; k += WIDTH<T>)
            for (int i = 0; i < ROWS; ++i)
                total[i] += load(a + i * inner + k) * load(b + j * inner + k);
        for (int i = 0; i < ROWS; i += 4) add_sums<T>(total + i, sums + i);
        for (int i = 0; i < ROWS; ++i) c[i * row + j] += sums[i];
    }
}

// c += a b^T: a (rows, inner), b (columns, inner), c (rows, columns); inner is a whole number of
// vectors. A row of c begins `row` numbers after the one before, or `columns`.
template <class T>
void accumulate(
    const T* a, int64_t rows, const T* b, int64_t columns, int64_t inner, T* c, int64_t row = 0
) {
    constexpr int ROWS = BYTES == 64 ? 6 : 3;  // AVX-512 has 32 registers, not 16
    row = row ? row : columns;
    int64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        accumulate_rows<T, ROWS>(a + i * inner, b, columns, inner, c + i * row, row);
    for (; i + 3 <= rows; i += 3)
        accumulate_rows<T, 3>(a + i * inner, b, columns, inner, c + i * row, row);
    for (; i < rows; ++i) accumulate_rows<T, 1>(a + i * inner, b, columns, inner, c + i * row, row);
}

// c_i += sum of row i of a.
template <class T> void accumulate_sums(const T* a, int64_t rows, int64_t inner, T* c) {
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        Real<T> total[4] = {};
        for (int64_t k = 0; k < inner; k += WIDTH<T>)
            for (int j = 0; j < 4; ++j) total[j] += load(a + (i + j) * inner + k);
        add_sums<T>(total, c + i);
    }
    for (; i < rows; ++i) {
        Real<T> total = {};
        for (int64_t k = 0; k < inner; k += WIDTH<T>) total += load(a + i * inner + k);
        c[i] += sum<T>(total);
    }
}

}  // namespace circlet
