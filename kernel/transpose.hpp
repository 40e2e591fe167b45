// Squares of lanes × lanes numbers, turned over: query rows become query columns, and back.

#pragma once

#include "vector.hpp"

namespace headwork {
namespace HEADWORK_ISA {

// Pairs of vectors exchange halves of ever larger pieces: 1 lane, then 2, 4, 8. Each exchange stays in 128 bits
// where it can, which is one instruction.
template <int kCount, int kPiece, class V>
HEADWORK_INLINE void exchange(V* rows) {
    HEADWORK_UNROLL
    for (int i = 0; i < kCount; i++) {
        if (i & kPiece) continue;
        const V a = rows[i], b = rows[i + kPiece];
        if constexpr (kCount == 2) {
            rows[i] = __builtin_shufflevector(a, b, 0, 2);
            rows[i + kPiece] = __builtin_shufflevector(a, b, 1, 3);
        } else if constexpr (kCount == 4 && kPiece == 1) {
            rows[i] = __builtin_shufflevector(a, b, 0, 4, 2, 6);
            rows[i + kPiece] = __builtin_shufflevector(a, b, 1, 5, 3, 7);
        } else if constexpr (kCount == 4 && kPiece == 2) {
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
            rows[i + kPiece] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
        } else if constexpr (kCount == 8 && kPiece == 1) {
            rows[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
            rows[i + kPiece] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
        } else if constexpr (kCount == 8 && kPiece == 2) {
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
            rows[i + kPiece] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        } else if constexpr (kCount == 8 && kPiece == 4) {
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
            rows[i + kPiece] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
        } else if constexpr (kCount == 16 && kPiece == 1) {
            rows[i] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
            rows[i + kPiece] =
                __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
        } else if constexpr (kCount == 16 && kPiece == 2) {
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            rows[i + kPiece] =
                __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        } else if constexpr (kCount == 16 && kPiece == 4) {
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            rows[i + kPiece] =
                __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        } else {
            static_assert(kCount == 16 && kPiece == 8);
            rows[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            rows[i + kPiece] =
                __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        }
    }
}

// rows[i][j] becomes rows[j][i].
template <class T, class V>
HEADWORK_INLINE void transpose(V* rows) {
    constexpr int kCount = kLanes<T>;
    exchange<kCount, 1>(rows);
    if constexpr (kCount > 2) exchange<kCount, 2>(rows);
    if constexpr (kCount > 4) exchange<kCount, 4>(rows);
    if constexpr (kCount > 8) exchange<kCount, 8>(rows);
}

// to (columns, to_stride)[c][r] = factor · from (rows, from_stride)[r][c]
template <class T>
static void transposed(const T* from, Index from_stride, Index rows, Index columns, T factor, T* to,
                       Index to_stride) {
    constexpr int kCount = kLanes<T>;
    for (Index r = 0; r < rows; r += kCount)
        for (Index c = 0; c < columns; c += kCount) {
            if (r + kCount <= rows && c + kCount <= columns) {
                Vector<T> square[kCount];
                HEADWORK_UNROLL
                for (int i = 0; i < kCount; i++) square[i] = load(from + (r + i) * from_stride + c);
                transpose<T>(square);
                HEADWORK_UNROLL
                for (int i = 0; i < kCount; i++) store(to + (c + i) * to_stride + r, square[i] * factor);
            } else {
                for (Index i = r; i < rows && i < r + kCount; i++)
                    for (Index j = c; j < columns && j < c + kCount; j++)
                        to[j * to_stride + i] = factor * from[i * from_stride + j];
            }
        }
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
