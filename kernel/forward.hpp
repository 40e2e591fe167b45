// The forward pass: blocks of queries walk over blocks of keys once, with a running maximum and sum.
//
// After the keys seen so far, for each query (lane):
//   out = Σ 2^(s_j − m) · value_j      row_sum = Σ 2^(s_j − m)      m: a maximum that may be stale by up to 8
// (e instead of 2 with a float mask, see masking.hpp).
// A stale maximum is still exact, since it cancels in out / row_sum; following it only when it grows by more than
// a factor of 2⁸ makes rescaling rare.

#pragma once

#include <cmath>
#include <type_traits>

#include "masking.hpp"

namespace headwork {
namespace HEADWORK_ISA {

constexpr Index kKeys = 96;     // keys of a block: 48 to 192 are within 3 % of each other
constexpr int kStale = 8;       // in powers of two, or of e
constexpr Index kBlock = 64;    // queries of an item at least: keys and values of a block are used by all of them

template <class T>
constexpr Index kGroups = kBlock > kQueries<T> ? kBlock / kQueries<T> : 1;

// What one group of queries carries from block to block.
template <class T>
struct Group {
    Rows<T> rows;
    T* query_t;  // [D][kQueries], times scale · log₂e
    T* out_t;    // [Dv][kQueries]
    T row_max[kQueries<T>], row_sum[kQueries<T>];
};

// The scratch memory of one thread, in numbers.
template <class T>
Index forward_scratch(const Task<T>& task) {
    return kQueries<T> * (kGroups<T> * (task.D + task.Dv) + 2 * kKeys);
}

template <class T>
HEADWORK_INLINE Vector<T> finite(Vector<T> row_max) {  // −inf − −inf would be NaN
    const Vector<T> lowest = all<T>(std::numeric_limits<T>::lowest());
    return row_max < lowest ? lowest : row_max;
}

// Follow a maximum that has grown: what was summed so far, and `keys` rows of weights, shrink with it.
template <class T>
static HEADWORK_APART void follow(const Task<T>& task, Group<T>& group, const Vector<T>* grown, T* weights,
                                  Index keys) {
    for (int j = 0; j < kQueryVectors; j++) {
        const int lane = j * kLanes<T>;
        const Vector<T> old = load(group.row_max + lane);
        const Vector<T> row_max = larger<T>(old, grown[j]);
        const Vector<T> factor = exp2<T>((old - finite<T>(row_max)) * to_log2(task));
        store(group.row_max + lane, row_max);
        store(group.row_sum + lane, load(group.row_sum + lane) * factor);
        for (Index k = 0; k < keys; k++) {
            T* at = weights + k * kQueries<T> + lane;
            store(at, load(at) * factor);
        }
        for (Index c = 0; c < task.Dv; c++) {
            T* at = group.out_t + c * kQueries<T> + lane;
            store(at, load(at) * factor);
        }
    }
}

template <class T>
HEADWORK_INLINE bool has_grown(const Group<T>& group, const Vector<T>* tile_max) {
    Bits<T> grown{};
    HEADWORK_UNROLL
    for (int j = 0; j < kQueryVectors; j++)
        grown |= tile_max[j] > load(group.row_max + j * kLanes<T>) + T(kStale);
    return any<T>(grown);
}

// Softcap and addend, on a tile of scores in registers; `at` is memory for the tile.
template <class T, int kRows>
HEADWORK_INLINE void change_tile(Vector<T> (&sums)[kRows][kQueryVectors], T softcap, const T* addend, T* at) {
    if (softcap != 0) {
        each_of_tile<T, kRows>([&](int r, int j, Index lane) { store(at + lane, sums[r][j]); });
        cap(at, kRows, softcap);
        each_of_tile<T, kRows>([&](int r, int j, Index lane) { sums[r][j] = load(at + lane); });
    }
    if (addend)
        each_of_tile<T, kRows>(
            [&](int r, int j, Index lane) { sums[r][j] = masked<T>(sums[r][j], load(addend + lane)); });
}

// Scores and weights of a tile of keys, without leaving the registers.
// `before`: rows of weights of this block that are there already; kChanges: there is a softcap, or an addend.
template <class T, int kRows, bool kChanges>
static HEADWORK_APART void weigh_tile(const T* key, Index stride, const Task<T>& task, Group<T>& group,
                                      const T* addend, T* weights, Index before) {
    Vector<T> sums[kRows][kQueryVectors];
    clear<T>(sums);
    multiply<T>(key + before * stride, stride, group.query_t, Index(kQueries<T>), task.D, sums);
    if constexpr (kChanges)
        change_tile<T>(sums, task.softcap * unit(task), addend ? addend + before * kQueries<T> : nullptr,
                       weights + before * kQueries<T>);
    Vector<T> tile_max[kQueryVectors];
    HEADWORK_UNROLL
    for (int j = 0; j < kQueryVectors; j++) {
        tile_max[j] = sums[0][j];
        HEADWORK_UNROLL
        for (int r = 1; r < kRows; r++) tile_max[j] = larger<T>(tile_max[j], sums[r][j]);
    }
    if (__builtin_expect(has_grown(group, tile_max), 0)) follow(task, group, tile_max, weights, before);
    HEADWORK_UNROLL
    for (int j = 0; j < kQueryVectors; j++) {
        const int lane = j * kLanes<T>;
        const Vector<T> row_max = finite<T>(load(group.row_max + lane));
        Vector<T> sum{};
        HEADWORK_UNROLL
        for (int r = 0; r < kRows; r++) {
            const Vector<T> more = sums[r][j] - row_max;
            const Vector<T> weight = exp2<T>(kChanges ? more * to_log2(task) : more);
            store(weights + (before + r) * kQueries<T> + lane, weight);
            sum += weight;
        }
        store(group.row_sum + lane, load(group.row_sum + lane) + sum);
    }
}

// One head of one batch element: where its key and value begin.
template <class T>
struct Head {
    const T *key, *value;
    Index key_stride, value_stride;
};

template <class T>
Head<T> head_of(const Task<T>& task, Index b, Index h) {
    const Index shared = h / (task.H / task.Hkv);
    return {task.key + b * task.key_strides.batch + shared * task.key_strides.head,
            task.value + b * task.value_strides.batch + shared * task.value_strides.head,
            task.key_strides.row, task.value_strides.row};
}

// Keys first … end − 1 for one group: weights, and what they blend. `careful`: their values may not be finite.
template <class T>
static void attend(const Task<T>& task, const Head<T>& head, Group<T>& group, Index first, Index end, bool all_seen,
                   bool careful, T* weights, T* addend) {
    const Index keys = end - first;
    const T* key = head.key + first * head.key_stride;
    const T* value = head.value + first * head.value_stride;
    const Cover covered = task.bool_mask ? cover(task, first, keys, group.rows) : Cover::everything;
    if (covered == Cover::none) return;
    const bool hides = !all_seen || covered == Cover::some || task.float_mask;
    const bool adds = hides || task.alibi;
    if (adds) make_addend(task, group.rows, first, keys, all_seen, covered, addend);
    const auto weigh = [&](auto changes) {
        in_tiles(keys, [&](auto rows, Index before) {
            weigh_tile<T, decltype(rows)::value, decltype(changes)::value>(
                key, head.key_stride, task, group, adds ? addend : nullptr, weights, before);
        });
    };
    adds || task.softcap != 0 ? weigh(std::true_type{}) : weigh(std::false_type{});
    if (hides && careful)
        blend_carefully(value, head.value_stride, keys, weights, task.Dv, group.out_t);
    else
        blend_block(value, head.value_stride, keys, weights, task.Dv, group.out_t);
}

// The part of a block of keys that a group sees, in at most three pieces: the middle one is seen by all its queries.
template <class T>
static void attend_block(const Task<T>& task, const Head<T>& head, Group<T>& group, Index first, Index end,
                         bool careful, T* weights, T* addend) {
    const Rows<T>& rows = group.rows;
    const Index last_query = rows.first + rows.count - 1;
    const Interval some = seen_by_any(task, rows.b, rows.first, last_query);
    const Interval every = seen_by_all(task, rows.b, rows.first, last_query);
    first = std::max(first, some.first), end = std::min(end, some.end);
    if (first >= end) return;
    const Index middle = std::min(std::max(every.first, first), end);
    const Index middle_end = every.empty() ? middle : std::max(middle, std::min(every.end, end));
    if (first < middle) attend(task, head, group, first, middle, false, careful, weights, addend);
    if (middle < middle_end) attend(task, head, group, middle, middle_end, true, careful, weights, addend);
    if (middle_end < end) attend(task, head, group, middle_end, end, false, careful, weights, addend);
}

template <class T>
static void begin_group(const Task<T>& task, Index b, Index h, Index first, Index count, Group<T>& group) {
    place(task, b, h, first, count, group.rows);
    const T* query = task.query + b * task.query_strides.batch + h * task.query_strides.head +
                     first * task.query_strides.row;
    if (count < kQueries<T>) std::memset(group.query_t, 0, sizeof(T) * task.D * kQueries<T>);
    transposed(query, task.query_strides.row, count, task.D, task.scale * unit(task), group.query_t,
               Index(kQueries<T>));
    std::memset(group.out_t, 0, sizeof(T) * task.Dv * kQueries<T>);
    for (int i = 0; i < kQueries<T>; i++) group.row_max[i] = -kInfinity<T>, group.row_sum[i] = 0;
}

// A sink is one more logit without a value: only the sum knows of it.
template <class T>
static void add_sink(const Task<T>& task, Group<T>& group, T sink) {
    Vector<T> sinks[kQueryVectors];
    for (int j = 0; j < kQueryVectors; j++) sinks[j] = all<T>(sink * unit(task));
    follow(task, group, sinks, static_cast<T*>(nullptr), 0);
    for (int j = 0; j < kQueryVectors; j++) {
        const int lane = j * kLanes<T>;
        const Vector<T> row_max = finite<T>(load(group.row_max + lane));
        store(group.row_sum + lane, load(group.row_sum + lane) + exp2<T>((sinks[j] - row_max) * to_log2(task)));
    }
}

// delta_i = out_i · cotangent_i, which is all that the backward pass needs of the output.
template <class T>
static void add_up_delta(const Task<T>& task, const Group<T>& group) {
    const Rows<T>& rows = group.rows;
    const T* cotangent = task.cotangent + rows.b * task.cotangent_strides.batch +
                         rows.h * task.cotangent_strides.head + rows.first * task.cotangent_strides.row;
    T* delta = task.delta + (rows.b * task.H + rows.h) * task.Tq + rows.first;
    for (Index i = 0; i < rows.count; i++) {
        T sum = 0;
        for (Index c = 0; c < task.Dv; c++)
            sum += group.out_t[c * kQueries<T> + i] * cotangent[i * task.cotangent_strides.row + c];
        delta[i] = sum;
    }
}

// Divide by the sums and write. A row that saw nothing has the sum 0: output 0, logsumexp −inf.
template <class T>
static void finish_group(const Task<T>& task, Group<T>& group) {
    const Rows<T>& rows = group.rows;
    if (task.sink) add_sink(task, group, task.sink[rows.h]);
    if (task.logsumexp) {
        const Index row = (rows.b * task.H + rows.h) * task.Tq + rows.first;
        for (Index i = 0; i < rows.count; i++) {
            const T most = task.row_max ? 0 : group.row_max[i] * to_natural(task);
            task.logsumexp[row + i] = group.row_sum[i] == 0 ? -kInfinity<T> : most + std::log(group.row_sum[i]);
            if (task.row_max) task.row_max[row + i] = group.row_max[i];
        }
    }
    for (int j = 0; j < kQueryVectors; j++) {
        const int lane = j * kLanes<T>;
        const Vector<T> sum = load(group.row_sum + lane);
        const Vector<T> inverse = sum == T(0) ? Vector<T>{} : T(1) / sum;
        for (Index c = 0; c < task.Dv; c++) {
            T* at = group.out_t + c * kQueries<T> + lane;
            store(at, load(at) * inverse);
        }
    }
    if (task.delta) add_up_delta(task, group);
    if (!task.out) return;
    T* out = task.out + rows.b * task.out_strides.batch + rows.h * task.out_strides.head +
             rows.first * task.out_strides.row;
    transposed(group.out_t, Index(kQueries<T>), task.Dv, rows.count, T(1), out, task.out_strides.row);
}

// An item is a block of queries of one head.
template <class T>
Index blocks_of_queries(const Task<T>& task) {
    return (task.Tq + kGroups<T> * kQueries<T> - 1) / (kGroups<T> * kQueries<T>);
}

template <class T>
Index forward_items(const Task<T>& task) {
    return task.B * task.H * blocks_of_queries(task);
}

struct Place {
    Index b, h, block;
};

// The blocks of a head follow each other and find its keys in the cache. Under a causal mask later blocks are longer:
// the longest of a head goes first, so that no thread is left with one at the end.
template <class T>
Place place_of(const Task<T>& task, Index item) {
    const Index blocks = blocks_of_queries(task), head = item / blocks, at = item % blocks;
    const bool is_causal = task.right != kUnbounded && task.left == kUnbounded;
    return {head / task.H, head % task.H, is_causal ? blocks - 1 - at : at};
}

template <class T>
static void forward_item(const Task<T>& task, Index item, T* scratch) {
    const auto [b, h, block] = place_of(task, item);
    Group<T> groups[kGroups<T>];
    T *weights = scratch, *addend = weights + kKeys * kQueries<T>;
    scratch = addend + kKeys * kQueries<T>;
    const Index first = block * kGroups<T> * kQueries<T>;
    const Index last = std::min(first + kGroups<T> * kQueries<T>, task.Tq);
    int used = 0;
    for (Index query = first; query < last; query += kQueries<T>, used++) {
        groups[used].query_t = scratch;
        groups[used].out_t = scratch + task.D * kQueries<T>;
        scratch += (task.D + task.Dv) * kQueries<T>;
        begin_group(task, b, h, query, std::min<Index>(kQueries<T>, last - query), groups[used]);
    }
    const Head<T> head = head_of(task, b, h);
    const Interval seen = seen_by_any(task, b, first, last - 1), every = seen_by_all(task, b, first, last - 1);
    for (Index key = seen.first; key < seen.end; key += kKeys) {
        const Index end = std::min(key + kKeys, seen.end);
        const bool hides = task.bool_mask || task.float_mask || key < every.first || end > every.end;
        const bool careful =
            hides && has_nonfinite(head.value + key * head.value_stride, head.value_stride, end - key, task.Dv);
        for (int g = 0; g < used; g++) attend_block(task, head, groups[g], key, end, careful, weights, addend);
    }
    for (int g = 0; g < used; g++) finish_group(task, groups[g]);
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
