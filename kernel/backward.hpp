// The backward pass, for a cotangent dO of the output and with weights P = 2^(s − logsumexp) computed anew:
//
//   dV = Pᵀ dO     dP = dO Vᵀ     dS = P ∘ (dP − delta), delta_i = dO_i · O_i     dQ = scale · dS K     dK = scale · dSᵀ Q
//
// With a softcap c, dS is multiplied by 1 − tanh²(s/c) before it reaches the scores. Source: Dao 2023, section 3.1.2.
// Blocks of queries are outside, blocks of keys inside. The keys of a head are cut in two halves, each with its own
// key and value gradients; the query gradient of the second half goes to a buffer and is added at the end. So two
// threads can share a head, and the result does not depend on how many there are.

#pragma once

#include "forward.hpp"

namespace headwork {
namespace HEADWORK_ISA {

constexpr Index kGradientKeys = 48;  // keys of a block: its weights and dS, for 64 queries, are 24 KiB in float
constexpr Index kHalves = 2;

// What a group of queries needs here; all [·][kQueries] but the last line.
template <class T>
struct GradientGroup {
    Rows<T> rows;
    T *query_t, *cotangent_t, *query_gradient_t;
    T *weights, *score_gradient;  // [kGradientKeys][kQueries]
    T row_max[kQueries<T>], logsumexp[kQueries<T>], delta[kQueries<T>];  // the logsumexp less row_max, in powers of two
};

template <class T>
Index backward_scratch(const Task<T>& task) {
    return kQueries<T> * (kGroups<T> * (2 * task.D + task.Dv + 2 * kGradientKeys) + 2 * kGradientKeys);
}

template <class T>
Index backward_items(const Task<T>& task) {
    return task.B * task.Hkv * kHalves;
}

// Numbers of the buffer for the second half's query gradient, laid out (B, H, Tq, D).
template <class T>
Index backward_buffer(const Task<T>& task) {
    return task.B * task.H * task.Tq * task.D;
}

// delta of one head, from the output that the forward pass gave.
template <class T>
static void delta_of_output(const Task<T>& task, Index head) {
    const auto row_of = [&](const T* array, const Strides& strides, Index i) {
        return array + head / task.H * strides.batch + head % task.H * strides.head + i * strides.row;
    };
    for (Index i = 0; i < task.Tq; i++) {
        const T* output = row_of(task.output, task.output_strides, i);
        const T* cotangent = row_of(task.cotangent, task.cotangent_strides, i);
        T sum = 0;
        for (Index c = 0; c < task.Dv; c++) sum += output[c] * cotangent[c];
        task.delta[head * task.Tq + i] = sum;
    }
}

template <class T>
static void begin_gradient_group(const Task<T>& task, Index b, Index h, Index first, Index count,
                                 GradientGroup<T>& group) {
    place(task, b, h, first, count, group.rows);
    const auto turned = [&](const T* from, const Strides& strides, Index width, T factor, T* to) {
        if (count < kQueries<T>) std::memset(to, 0, sizeof(T) * width * kQueries<T>);
        transposed(from + b * strides.batch + h * strides.head + first * strides.row, strides.row, count, width,
                   factor, to, Index(kQueries<T>));
    };
    turned(task.query, task.query_strides, task.D, task.scale * unit(task), group.query_t);
    turned(task.cotangent, task.cotangent_strides, task.Dv, T(1), group.cotangent_t);
    std::memset(group.query_gradient_t, 0, sizeof(T) * task.D * kQueries<T>);
    const Index row = (b * task.H + h) * task.Tq + first;
    for (Index i = 0; i < kQueries<T>; i++) {
        const T logsumexp = i < count ? task.logsumexp[row + i] : -kInfinity<T>;
        const T row_max = task.row_max && i < count ? task.row_max[row + i] : logsumexp * unit(task);
        // A row that sees nothing: +inf makes all its weights 0, where −inf − −inf would be NaN.
        const bool sees_nothing = logsumexp == -kInfinity<T>;
        group.row_max[i] = sees_nothing ? kInfinity<T> : row_max;
        group.logsumexp[i] = task.row_max && !sees_nothing ? logsumexp * T(kLog2E) : 0;
        group.delta[i] = i < count ? task.delta[row + i] : 0;
    }
}

// weights and score_gradient of keys first … end − 1 of one group; `at` is where they lie in the block.
template <class T>
static void differentiate(const Task<T>& task, const Head<T>& head, GradientGroup<T>& group, Index first, Index end,
                          Index at, Cover covered, T* slope, T* addend) {
    const Rows<T>& rows = group.rows;
    const Index keys = end - first;
    const T* key = head.key + first * head.key_stride;
    const T* value = head.value + first * head.value_stride;
    T* weights = group.weights + at * kQueries<T>;
    const Interval every = seen_by_all(task, rows.b, rows.first, rows.first + rows.count - 1);
    const bool all_seen = every.first <= first && end <= every.end;
    const auto weight = [&](Vector<T> score, Index, int lane) {
        return exp2<T>((score - load(group.row_max + lane)) * to_log2(task) - load(group.logsumexp + lane));
    };
    const auto weight_with_addend = [&](Vector<T> score, Index k, int lane) {
        return weight(masked<T>(score, load(addend + k * kQueries<T> + lane)), k, lane);
    };
    const bool adds = !all_seen || covered == Cover::some || task.alibi || task.float_mask;
    if (adds) make_addend(task, rows, first, keys, all_seen, covered, addend);
    if (task.softcap != 0) {
        score_block(key, head.key_stride, keys, group.query_t, task.D, weights);
        const T softcap = task.softcap * unit(task), inverse = T(1) / softcap;
        cap(weights, keys, softcap);
        change_rows(weights, keys, [&](Vector<T> s, Index k, int lane) {
            const Vector<T> tanh = s * inverse;
            store(slope + k * kQueries<T> + lane, T(1) - tanh * tanh);
            return adds ? weight_with_addend(s, k, lane) : weight(s, k, lane);
        });
    } else if (adds) {
        product_block(key, head.key_stride, keys, group.query_t, task.D, weights, weight_with_addend);
    } else {
        product_block(key, head.key_stride, keys, group.query_t, task.D, weights, weight);
    }
    product_block(value, head.value_stride, keys, group.cotangent_t, task.Dv,
                  group.score_gradient + at * kQueries<T>, [&](Vector<T> sum, Index k, int lane) {
                      const Vector<T> p = load(weights + k * kQueries<T> + lane);
                      const Vector<T> gradient = p * (sum - load(group.delta + lane)) * task.scale;
                      // A hidden key's value may be NaN, and so may the sum.
                      return p == T(0) ? Vector<T>{} : gradient;
                  });
    if (task.softcap != 0)
        change_rows(group.score_gradient + at * kQueries<T>, keys, [&](Vector<T> gradient, Index k, int lane) {
            return gradient * load(slope + k * kQueries<T> + lane);
        });
}

// to[r][·] += Σ over groups and their queries q of numbers[r][q] · rows[q][·], for a tile of keys r.
template <class T, int kRows, int kVectors>
static HEADWORK_APART void gather_tile(const T* numbers, Index group_stride, Index queries, const T* rows,
                                       Index stride, T* to, Index to_stride) {
    Vector<T> sums[kRows][kVectors];
    clear<T>(sums);
    for (Index q = 0; q < queries; q += kQueries<T>, numbers += group_stride)
        multiply<T>(numbers, Index(kQueries<T>), rows + q * stride, stride, std::min<Index>(kQueries<T>, queries - q),
                    sums);
    HEADWORK_UNROLL
    for (int r = 0; r < kRows; r++) {
        HEADWORK_UNROLL
        for (int j = 0; j < kVectors; j++) {
            T* at = to + r * to_stride + j * kLanes<T>;
            store(at, load(at) + sums[r][j]);
        }
    }
}

// The same for all keys of a block and `width` columns.
template <class T>
static void gather_block(const T* numbers, Index group_stride, Index queries, const T* rows, Index stride,
                         Index keys, Index width, T* to, Index to_stride) {
    Index c = 0;
    const auto columns = [&](auto vectors) {
        constexpr int kVectors = decltype(vectors)::value;
        for (; c + kVectors * kLanes<T> <= width; c += kVectors * kLanes<T>)
            in_tiles(keys, [&](auto tile, Index k) {
                gather_tile<T, decltype(tile)::value, kVectors>(numbers + k * kQueries<T>, group_stride, queries,
                                                                rows + c, stride, to + k * to_stride + c, to_stride);
            });
    };
    columns(Size<kQueryVectors>{});
    columns(Size<1>{});
    for (; c < width; c++)
        for (Index k = 0; k < keys; k++)
            for (Index q = 0; q < queries; q++)
                to[k * to_stride + c] +=
                    numbers[q / kQueries<T> * group_stride + k * kQueries<T> + q % kQueries<T>] *
                    rows[q * stride + c];
}

// gather_block where a query or cotangent is not finite: a number of 0 adds nothing, whatever the row holds.
template <class T>
static void gather_carefully(const T* numbers, Index group_stride, Index queries, const T* rows, Index stride,
                             Index keys, Index width, T* to, Index to_stride) {
    for (Index k = 0; k < keys; k++)
        for (Index q = 0; q < queries; q++) {
            const T number = numbers[q / kQueries<T> * group_stride + k * kQueries<T> + q % kQueries<T>];
            for (Index c = 0; c < width && number != 0; c++) to[k * to_stride + c] += number * rows[q * stride + c];
        }
}

// One block of queries of head h against keys first … end − 1 of its key/value head.
template <class T>
static void differentiate_queries(const Task<T>& task, Index b, Index h, Index block, Interval keys,
                                  T* query_gradient, const Strides& gradient_strides, T* scratch) {
    GradientGroup<T> groups[kGroups<T>];
    const Index size = kGradientKeys * kQueries<T>;
    T *weights = scratch, *score_gradient = weights + kGroups<T> * size, *slope = score_gradient + kGroups<T> * size;
    T* addend = slope + size;
    scratch = addend + size;
    const Index first = block * kGroups<T> * kQueries<T>;
    const Index last = std::min(first + kGroups<T> * kQueries<T>, task.Tq);
    int used = 0;
    for (Index query = first; query < last; query += kQueries<T>, used++) {
        GradientGroup<T>& group = groups[used];
        group.query_t = scratch, group.cotangent_t = scratch + task.D * kQueries<T>;
        group.query_gradient_t = group.cotangent_t + task.Dv * kQueries<T>;
        scratch = group.query_gradient_t + task.D * kQueries<T>;
        group.weights = weights + used * size, group.score_gradient = score_gradient + used * size;
        begin_gradient_group(task, b, h, query, std::min<Index>(kQueries<T>, last - query), group);
    }
    const Head<T> head = head_of(task, b, h);
    const Index shared = h / (task.H / task.Hkv);
    const auto row_of = [&](auto* array, const Strides& strides, Index head_index, Index row) {
        return array + b * strides.batch + head_index * strides.head + row * strides.row;
    };
    const T* query = row_of(task.query, task.query_strides, h, first);
    const T* cotangent = row_of(task.cotangent, task.cotangent_strides, h, first);
    const bool careful_rows = has_nonfinite(query, task.query_strides.row, last - first, task.D) ||
                              has_nonfinite(cotangent, task.cotangent_strides.row, last - first, task.Dv);
    const Interval seen = seen_by_any(task, b, first, last - 1);
    const Index end = std::min(keys.end, seen.end);
    for (Index key = std::max(keys.first, seen.first); key < end; key += kGradientKeys) {
        const Index count = std::min(kGradientKeys, end - key);
        const T* from = head.key + key * head.key_stride;
        const bool careful_keys = has_nonfinite(from, head.key_stride, count, task.D);
        for (int g = 0; g < used; g++) {
            GradientGroup<T>& group = groups[g];
            const Rows<T>& rows = group.rows;
            const Interval any = seen_by_any(task, b, rows.first, rows.first + rows.count - 1);
            const Index begin = std::max(key, any.first), stop = std::min(key + count, any.end);
            const Cover covered =
                begin >= stop ? Cover::none
                : task.bool_mask ? cover(task, begin, stop - begin, rows) : Cover::everything;
            if (covered == Cover::none || begin > key || stop < key + count) {  // what is not seen has no weight
                std::memset(group.weights, 0, sizeof(T) * size);
                std::memset(group.score_gradient, 0, sizeof(T) * size);
            }
            if (covered == Cover::none) continue;
            differentiate(task, head, group, begin, stop, begin - key, covered, slope, addend);
            if (careful_keys)
                blend_carefully(from, head.key_stride, count, group.score_gradient, task.D, group.query_gradient_t);
            else
                blend_block(from, head.key_stride, count, group.score_gradient, task.D, group.query_gradient_t);
        }
        const auto gather = careful_rows ? gather_carefully<T> : gather_block<T>;
        gather(score_gradient, size, last - first, query, task.query_strides.row, count, task.D,
               row_of(task.key_gradient, task.key_gradient_strides, shared, key), task.key_gradient_strides.row);
        gather(weights, size, last - first, cotangent, task.cotangent_strides.row, count, task.Dv,
               row_of(task.value_gradient, task.value_gradient_strides, shared, key),
               task.value_gradient_strides.row);
    }
    for (int g = 0; g < used; g++)
        transposed(groups[g].query_gradient_t, Index(kQueries<T>), task.D, groups[g].rows.count, T(1),
                   row_of(query_gradient, gradient_strides, h, groups[g].rows.first), gradient_strides.row);
}

// Where the keys are cut, so that both halves are as much work: under a causal mask the first keys are seen by more.
template <class T>
static Index middle_key(const Task<T>& task, Index b) {
    const auto work_below = [&](Index key) {
        Index pairs = 0;
        for (Index query = 0; query < task.Tq; query++) {
            const Interval seen = seen_by(task, b, query);
            pairs += std::max(Index(0), std::min(seen.end, key) - seen.first);
        }
        return pairs;
    };
    const Index whole = work_below(task.Tk);
    Index below = 0, above = task.Tk;
    while (above - below > 1) {
        const Index key = (below + above) / 2;
        (2 * work_below(key) < whole ? below : above) = key;
    }
    return above;
}

// One half of the keys of one key/value head, for all queries of the heads that share it.
template <class T>
static void backward_item(const Task<T>& task, Index item, T* buffer, T* scratch) {
    const Index half = item % kHalves, shared = item / kHalves % task.Hkv, b = item / kHalves / task.Hkv;
    const Index middle = middle_key(task, b);
    const Interval keys = half == 0 ? Interval{0, middle} : Interval{middle, task.Tk};
    for (Index key = keys.first; key < keys.end; key++) {
        const auto clear_row = [&](T* array, const Strides& strides, Index width) {
            std::memset(array + b * strides.batch + shared * strides.head + key * strides.row, 0, sizeof(T) * width);
        };
        clear_row(task.key_gradient, task.key_gradient_strides, task.D);
        clear_row(task.value_gradient, task.value_gradient_strides, task.Dv);
    }
    const Index heads = task.H / task.Hkv;
    const Strides buffer_strides{task.H * task.Tq * task.D, task.Tq * task.D, task.D};
    for (Index h = shared * heads; h < (shared + 1) * heads; h++)
        for (Index block = 0; block < blocks_of_queries(task); block++)
            differentiate_queries(task, b, h, block, keys, half == 0 ? task.query_gradient : buffer,
                                  half == 0 ? task.query_gradient_strides : buffer_strides, scratch);
}

// The second half's query gradient joins the first's, for one head.
template <class T>
static void add_buffer(const Task<T>& task, Index item, const T* buffer) {
    const Index b = item / task.H, h = item % task.H;
    const Strides& strides = task.query_gradient_strides;
    for (Index i = 0; i < task.Tq; i++) {
        T* to = task.query_gradient + b * strides.batch + h * strides.head + i * strides.row;
        const T* from = buffer + (item * task.Tq + i) * task.D;
        for (Index x = 0; x < task.D; x++) to[x] += from[x];
    }
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
