// The forward pass for few queries and many keys: decoding with a cache. Reading key and value once is all the
// work there is, so lanes are columns here, every row of a key/value head is read once for all the query heads that
// share it, and the keys are split over threads in pieces of fixed length, merged by their logsumexp.

#pragma once

#include <cmath>

#include "forward.hpp"

namespace headwork {
namespace HEADWORK_ISA {

constexpr Index kFewQueries = 4;    // from five queries of a head on, lanes of queries are faster
constexpr Index kPiece = 1024;      // keys of an item
constexpr Index kStretch = 32;      // keys whose scores are kept: their rows stay in the first or second cache
constexpr Index kAhead = 64;        // keys: how far ahead rows are fetched
constexpr int kBlendVectors = 8;    // vectors of value columns that are summed in registers

// What a query knows after some keys, as in forward.hpp.
template <class T>
struct Partial {
    T row_max, row_sum;
    T* out;  // [Dv]
};

template <class T>
bool has_few_queries(const Task<T>& task) {
    return task.Tq <= kFewQueries;
}

template <class T>
Index rows_per_shared_head(const Task<T>& task) {
    return task.H / task.Hkv * task.Tq;
}

template <class T>
Index pieces(const Task<T>& task) {
    return std::max(Index(1), (task.Tk + kPiece - 1) / kPiece);
}

template <class T>
Index few_items(const Task<T>& task) {
    return task.B * task.Hkv * pieces(task);
}

// Numbers that the partial results of all items take.
template <class T>
Index partial_size(const Task<T>& task) {
    return few_items(task) * rows_per_shared_head(task) * (task.Dv + 2);
}

template <class T>
Index few_scratch(const Task<T>& task) {
    const Index rows = rows_per_shared_head(task);
    return rows * (task.D + kLanes<T>) + rows * kStretch;
}

template <class T>
HEADWORK_INLINE Partial<T> partial_of(const Task<T>& task, T* partials, Index item, Index row) {
    T* at = partials + (item * rows_per_shared_head(task) + row) * (task.Dv + 2);
    return {at[0], at[1], at + 2};
}

// scores[k] = query · key_k, one vector of keys at a time.
template <class T>
static HEADWORK_APART void score_row(const T* key, Index stride, Index keys, const T* query, Index D, bool fetch,
                                     T* scores) {
    constexpr int kCount = kLanes<T>;
    const Index whole = D / kCount * kCount;
    for (Index k = 0; k < keys; k += kCount) {
        const T* rows[kCount];
        HEADWORK_UNROLL
        for (int i = 0; i < kCount; i++) rows[i] = key + std::min(k + i, keys - 1) * stride;
        Vector<T> sums[kCount] = {};
        for (Index x = 0; x < whole; x += kCount) {
            const Vector<T> q = load(query + x);
            HEADWORK_UNROLL
            for (int i = 0; i < kCount; i++) sums[i] += q * load(rows[i] + x);
        }
        transpose<T>(sums);
        Vector<T> sum = sums[0];
        HEADWORK_UNROLL
        for (int i = 1; i < kCount; i++) sum += sums[i];
        for (Index x = whole; x < D; x++)
            for (int i = 0; i < kCount; i++) sum[i] += query[x] * rows[i][x];
        store(scores + k, sum);
        if (fetch)
            for (int i = 0; i < kCount; i++)
                for (Index x = 0; x < D; x += 64 / Index(sizeof(T)))
                    __builtin_prefetch(rows[i] + kAhead * stride + x, 0, 2);
    }
}

// out += Σ_k weights[k] · value_k, of kVectors vectors of columns.
template <class T, int kVectors>
HEADWORK_INLINE void blend_columns(const T* value, Index stride, Index keys, const T* weights, T* out) {
    Vector<T> sums[kVectors];
    HEADWORK_UNROLL
    for (int c = 0; c < kVectors; c++) sums[c] = Vector<T>{};
    for (Index k = 0; k < keys; k++) {
        const Vector<T> weight = all<T>(weights[k]);
        HEADWORK_UNROLL
        for (int c = 0; c < kVectors; c++) sums[c] += weight * load(value + k * stride + c * kLanes<T>);
    }
    HEADWORK_UNROLL
    for (int c = 0; c < kVectors; c++) store(out + c * kLanes<T>, load(out + c * kLanes<T>) + sums[c]);
}

template <class T>
static HEADWORK_APART void blend_row(const T* value, Index stride, Index keys, const T* weights, Index Dv, T* out) {
    constexpr Index kWide = kBlendVectors * kLanes<T>;
    Index c = 0;
    for (; c + kWide <= Dv; c += kWide)
        blend_columns<T, kBlendVectors>(value + c, stride, keys, weights, out + c);
    for (; c + kLanes<T> <= Dv; c += kLanes<T>) blend_columns<T, 1>(value + c, stride, keys, weights, out + c);
    for (; c < Dv; c++)
        for (Index k = 0; k < keys; k++) out[c] += weights[k] * value[k * stride + c];
}

// A weight of 0 adds nothing, whatever the value is: for keys that are hidden and may hold NaN.
template <class T>
static void blend_row_carefully(const T* value, Index stride, Index keys, const T* weights, Index Dv, T* out) {
    for (Index k = 0; k < keys; k++)
        for (Index c = 0; c < Dv && weights[k] != 0; c++) out[c] += weights[k] * value[k * stride + c];
}

// Softcap, ALiBi, masks and the visible interval, for the scores of keys first … of one query. True: some are hidden.
template <class T>
static bool change_row(const Task<T>& task, Index b, Index h, Index query, Index first, Index keys, T* scores) {
    const Index position = query + task.offset[b];
    const Interval seen = seen_by(task, b, query);
    if (task.softcap != 0) {
        const T softcap = task.softcap * unit(task);
        for (Index k = 0; k < keys; k += kLanes<T>) store(scores + k, softcap * tanh<T>(load(scores + k) / softcap));
    }
    if (task.alibi)
        for (Index k = 0; k < keys; k++)
            scores[k] -= task.alibi[h] * unit(task) * std::abs(T(position - first - k));
    const auto add = [&](const auto* mask, const MaskStrides& strides) {
        const auto* from = mask + b * strides.batch + h * strides.head + query * strides.query + first * strides.key;
        for (Index k = 0; k < keys; k++) {
            const T added = mask_entry<T>(from + k * strides.key);
            scores[k] = added == -kInfinity<T> ? added : scores[k] + added;
        }
    };
    if (task.float_mask) add(task.float_mask, task.float_strides);
    if (task.bool_mask) add(task.bool_mask, task.bool_strides);
    const bool all_seen = seen.first <= first && first + keys <= seen.end;
    for (Index k = 0; k < keys && !all_seen; k++)
        if (first + k < seen.first || first + k >= seen.end) scores[k] = -kInfinity<T>;
    return !all_seen || task.float_mask || task.bool_mask;
}

// Scores to weights, and the query's maximum and sum with them.
template <class T>
static void weigh_row(const Task<T>& task, Partial<T>& part, Index keys, T* scores) {
    T row_max = part.row_max;
    Index at = 0;
    Vector<T> most = all<T>(row_max);
    for (; at + kLanes<T> <= keys; at += kLanes<T>) most = larger<T>(load(scores + at), most);
    row_max = largest<T>(most);
    for (; at < keys; at++) row_max = scores[at] > row_max ? scores[at] : row_max;
    const T base = std::max(row_max, std::numeric_limits<T>::lowest());
    if (row_max != part.row_max) {
        const T factor = exp2<T>(all<T>((part.row_max - base) * to_log2(task)))[0];
        part.row_sum *= factor;
        for (Index c = 0; c < task.Dv; c++) part.out[c] *= factor;
        part.row_max = row_max;
    }
    Index k = 0;
    Vector<T> sum{};
    for (; k + kLanes<T> <= keys; k += kLanes<T>) {
        const Vector<T> weight = exp2<T>((load(scores + k) - base) * to_log2(task));
        store(scores + k, weight);
        sum += weight;
    }
    part.row_sum += total<T>(sum);
    for (; k < keys; k++) {
        scores[k] = exp2<T>(all<T>((scores[k] - base) * to_log2(task)))[0];
        part.row_sum += scores[k];
    }
}

// One piece of the keys of one key/value head, for all queries of the heads that share it.
template <class T>
static void few_item(const Task<T>& task, Index item, T* partials, T* scratch) {
    const Index piece = item % pieces(task), shared = item / pieces(task) % task.Hkv;
    const Index b = item / pieces(task) / task.Hkv;
    const Index heads = task.H / task.Hkv, rows = rows_per_shared_head(task);
    const Index width = (task.D + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
    T *queries = scratch, *scores = scratch + rows * width;
    for (Index row = 0; row < rows; row++) {
        const Index h = shared * heads + row / task.Tq, query = row % task.Tq;
        const T* from = task.query + b * task.query_strides.batch + h * task.query_strides.head +
                        query * task.query_strides.row;
        for (Index x = 0; x < task.D; x++) queries[row * width + x] = from[x] * (task.scale * unit(task));
        T* at = partials + (item * rows + row) * (task.Dv + 2);
        at[0] = -kInfinity<T>, at[1] = 0;
        std::memset(at + 2, 0, sizeof(T) * task.Dv);
    }
    const Head<T> head = head_of(task, b, shared * heads);
    const Interval seen = seen_by_any(task, b, 0, task.Tq - 1);
    const Index end = std::min((piece + 1) * kPiece, seen.end);
    for (Index first = std::max(piece * kPiece, seen.first); first < end; first += kStretch) {
        const Index keys = std::min(kStretch, end - first);
        const T* value = head.value + first * head.value_stride;
        const bool may_fetch = first + kStretch + kAhead <= end;
        bool hides = false;
        for (Index row = 0; row < rows; row++) {
            T* of_row = scores + row * kStretch;
            score_row(head.key + first * head.key_stride, head.key_stride, keys, queries + row * width, task.D,
                      may_fetch && row == 0, of_row);
            hides |= change_row(task, b, shared * heads + row / task.Tq, row % task.Tq, first, keys, of_row);
        }
        const bool careful = hides && has_nonfinite(value, head.value_stride, keys, task.Dv);
        for (Index row = 0; row < rows; row++) {
            Partial<T> part = partial_of(task, partials, item, row);
            T* of_row = scores + row * kStretch;
            weigh_row(task, part, keys, of_row);
            if (careful)
                blend_row_carefully(value, head.value_stride, keys, of_row, task.Dv, part.out);
            else
                blend_row(value, head.value_stride, keys, of_row, task.Dv, part.out);
            part.out[-2] = part.row_max, part.out[-1] = part.row_sum;
        }
    }
}

// The pieces of one query, weighed by their sums, in the order of the keys.
template <class T>
static void merge_row(const Task<T>& task, const T* partials, Index b, Index h, Index query) {
    const Index heads = task.H / task.Hkv, rows = rows_per_shared_head(task), count = pieces(task);
    const Index row = h % heads * task.Tq + query, size = task.Dv + 2;
    const T* first = partials + ((b * task.Hkv + h / heads) * count * rows + row) * size;
    T row_max = task.sink ? task.sink[h] * unit(task) : -kInfinity<T>;
    for (Index piece = 0; piece < count; piece++) {
        const T its = first[piece * rows * size];
        row_max = its > row_max ? its : row_max;
    }
    const T base = std::max(row_max, std::numeric_limits<T>::lowest());
    T row_sum = task.sink ? exp2<T>(all<T>((task.sink[h] * unit(task) - base) * to_log2(task)))[0] : 0;
    T* out = task.out + b * task.out_strides.batch + h * task.out_strides.head + query * task.out_strides.row;
    for (Index c = 0; c < task.Dv; c++) out[c] = 0;
    for (Index piece = 0; piece < count; piece++) {
        const T* part = first + piece * rows * size;
        const T factor = exp2<T>(all<T>((part[0] - base) * to_log2(task)))[0];
        row_sum += factor * part[1];
        for (Index c = 0; c < task.Dv; c++) out[c] += factor * part[2 + c];
    }
    for (Index c = 0; c < task.Dv; c++) out[c] = row_sum == 0 ? 0 : out[c] / row_sum;
    if (task.logsumexp)
        task.logsumexp[(b * task.H + h) * task.Tq + query] =
            row_sum == 0 ? -kInfinity<T> : row_max * to_natural(task) + std::log(row_sum);
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
