// The two matrix products, in tiles that live in registers: a few keys (or value columns) × a few vectors of
// queries. Lanes are queries: scoresᵀ = key · queryᵀ and outᵀ = valueᵀ · weightsᵀ, so key and value are read in
// place, one number at a time, and softmax runs down the lanes without crossing them.
//
// All [·][queries] arrays have kQueries numbers in a row.

#pragma once

#include "exponential.hpp"

namespace headwork {
namespace HEADWORK_ISA {

constexpr int kTileRows = 6;  // 6 × kQueryVectors sums, one broadcast and kQueryVectors operands fill the registers

template <class T>
constexpr int kQueries = kQueryVectors* kLanes<T>;

template <class T, int kRows, int kVectors>
HEADWORK_INLINE void clear(Vector<T> (&sums)[kRows][kVectors]) {
    HEADWORK_UNROLL
    for (int r = 0; r < kRows; r++) {
        HEADWORK_UNROLL
        for (int j = 0; j < kVectors; j++) sums[r][j] = Vector<T>{};
    }
}

// run(r, j, lane) for every vector of a tile: row r, vector j, and where it lies in [·][queries] memory.
template <class T, int kRows, class Run>
HEADWORK_INLINE void each_of_tile(const Run& run) {
    HEADWORK_UNROLL
    for (int r = 0; r < kRows; r++) {
        HEADWORK_UNROLL
        for (int j = 0; j < kQueryVectors; j++) run(r, j, Index(r) * kQueries<T> + j * kLanes<T>);
    }
}

// sums[r][·] += Σ_x rows[r·stride + x] · columns[x·column_stride + ·]
template <class T, int kRows, int kVectors>
HEADWORK_INLINE void multiply(const T* rows, Index stride, const T* columns, Index column_stride, Index count,
                              Vector<T> (&sums)[kRows][kVectors]) {
    for (Index x = 0; x < count; x++, columns += column_stride) {
        Vector<T> column[kVectors];
        HEADWORK_UNROLL
        for (int j = 0; j < kVectors; j++) column[j] = load(columns + j * kLanes<T>);
        HEADWORK_UNROLL
        for (int r = 0; r < kRows; r++) {
            const Vector<T> number = all<T>(rows[r * stride + x]);
            HEADWORK_UNROLL
            for (int j = 0; j < kVectors; j++) sums[r][j] += number * column[j];
        }
    }
}

// to[r][·] = finish(Σ_x rows[r·stride + x] · columns[x][·], r, lane), for a tile of keys r.
template <class T, int kRows, class Finish>
static HEADWORK_APART void product_tile(const T* rows, Index stride, const T* columns, Index count, T* to,
                                        const Finish& finish) {
    Vector<T> sums[kRows][kQueryVectors];
    clear<T>(sums);
    multiply<T>(rows, stride, columns, Index(kQueries<T>), count, sums);
    HEADWORK_UNROLL
    for (int r = 0; r < kRows; r++) {
        HEADWORK_UNROLL
        for (int j = 0; j < kQueryVectors; j++) {
            const int lane = j * kLanes<T>;
            store(to + r * kQueries<T> + lane, finish(sums[r][j], r, lane));
        }
    }
}

// to[c][·] += Σ_k rows[k·stride + c] · columns[k][·], for value columns c. The sum over one block of keys starts
// from zero: one running sum over all keys would lose digits (4e-6 at 4096 keys in float).
template <class T, int kColumns>
static HEADWORK_APART void blend_tile(const T* rows, Index stride, const T* columns, Index count, T* to) {
    Vector<T> sums[kColumns][kQueryVectors];
    HEADWORK_UNROLL
    for (int c = 0; c < kColumns; c++) {
        HEADWORK_UNROLL
        for (int j = 0; j < kQueryVectors; j++) sums[c][j] = Vector<T>{};
    }
    for (Index k = 0; k < count; k++, columns += kQueries<T>, rows += stride) {
        Vector<T> column[kQueryVectors];
        HEADWORK_UNROLL
        for (int j = 0; j < kQueryVectors; j++) column[j] = load(columns + j * kLanes<T>);
        HEADWORK_UNROLL
        for (int c = 0; c < kColumns; c++) {
            const Vector<T> number = all<T>(rows[c]);
            HEADWORK_UNROLL
            for (int j = 0; j < kQueryVectors; j++) sums[c][j] += number * column[j];
        }
    }
    HEADWORK_UNROLL
    for (int c = 0; c < kColumns; c++) {
        HEADWORK_UNROLL
        for (int j = 0; j < kQueryVectors; j++) {
            T* at = to + c * kQueries<T> + j * kLanes<T>;
            store(at, load(at) + sums[c][j]);
        }
    }
}

// Calls run(tile of kMost rows) for as many as fit, then once for what is left, each with its size known to the
// compiler: `work` is a generic lambda that takes the size as a type and the first row.
template <int kSize>
struct Size {
    static constexpr int value = kSize;
};

template <int kSize, class Work>
HEADWORK_INLINE void for_size(int size, const Work& work) {
    if (size == kSize)
        work(Size<kSize>{});
    else if constexpr (kSize > 1)
        for_size<kSize - 1>(size, work);
}

template <class Work>
HEADWORK_INLINE void in_tiles(Index count, const Work& work) {
    Index first = 0;
    for (; first + kTileRows <= count; first += kTileRows) work(Size<kTileRows>{}, first);
    if (first < count)
        for_size<kTileRows - 1>(int(count - first), [&](auto size) { work(size, first); });
}

// The same in tiles of nearly equal sizes: 64 columns are ten of 6 and one of 4, or better 8 of 6 and 4 of 4.
template <class Work>
HEADWORK_INLINE void in_even_tiles(Index count, const Work& work) {
    const Index tiles = (count + kTileRows - 1) / kTileRows;
    for (Index tile = 0, first = 0; tile < tiles; tile++) {
        const Index size = count / tiles + (tile < count % tiles);
        for_size<kTileRows>(int(size), [&](auto fixed) { work(fixed, first); });
        first += size;
    }
}

// to[k][·] = finish(key_k · query_·, k, lane) for `keys` keys
template <class T, class Finish>
static void product_block(const T* key, Index stride, Index keys, const T* query_t, Index D, T* to,
                          const Finish& finish) {
    in_tiles(keys, [&](auto rows, Index k) {
        product_tile<T, decltype(rows)::value>(
            key + k * stride, stride, query_t, D, to + k * kQueries<T>,
            [&](Vector<T> sum, int r, int lane) { return finish(sum, k + r, lane); });
    });
}

// scoresᵀ of `keys` keys
template <class T>
static void score_block(const T* key, Index stride, Index keys, const T* query_t, Index D, T* to) {
    product_block(key, stride, keys, query_t, D, to, [](Vector<T> sum, Index, int) { return sum; });
}

// outᵀ += valueᵀ · weights, of `keys` keys.
template <class T>
static void blend_block(const T* value, Index stride, Index keys, const T* weights, Index Dv, T* out_t) {
    in_even_tiles(Dv, [&](auto columns, Index c) {
        blend_tile<T, decltype(columns)::value>(value + c, stride, weights, keys, out_t + c * kQueries<T>);
    });
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
