// What happens to the scores of a block of keys before softmax: a softcap, and an addend that holds ALiBi, masks and
// the visible interval.

#pragma once

#include "tiles.hpp"
#include "transpose.hpp"
#include "visible.hpp"

namespace headwork {
namespace HEADWORK_ISA {

// Scores are in powers of two: log₂e is in the scale, and what is added is multiplied by it. Not so with a float
// mask, whose numbers may be the largest that there are: there scores stay as they are.
template <class T>
HEADWORK_INLINE T unit(const Task<T>& task) {
    return task.float_mask ? T(1) : T(kLog2E);
}

// What a difference of two scores has to be multiplied by to be a power of two, and to be natural.
template <class T>
HEADWORK_INLINE T to_log2(const Task<T>& task) {
    return task.float_mask ? T(kLog2E) : T(1);
}

template <class T>
HEADWORK_INLINE T to_natural(const Task<T>& task) {
    return task.float_mask ? T(1) : T(kLn2);
}

// A few vectors of queries of one head, and what they need to know about themselves.
template <class T>
struct Rows {
    Index b, h, first, count;                  // queries first … first + count − 1; the lanes beyond repeat the last
    Index position[kQueries<T>];               // where each query stands
    typename Types<T>::Integer begin[kQueries<T>], end[kQueries<T>];  // the keys it may see
};

template <class T>
static void place(const Task<T>& task, Index b, Index h, Index first, Index count, Rows<T>& rows) {
    rows.b = b, rows.h = h, rows.first = first, rows.count = count;
    for (int i = 0; i < kQueries<T>; i++) {
        const Index query = first + std::min<Index>(i, count - 1);
        const Interval seen = seen_by(task, b, query);
        rows.position[i] = query + task.offset[b];
        rows.begin[i] = typename Types<T>::Integer(std::min(seen.first, task.Tk));
        rows.end[i] = typename Types<T>::Integer(seen.end);
    }
}

template <class T, class Change>
HEADWORK_INLINE void change_rows(T* rows, Index keys, const Change& change) {
    for (Index k = 0; k < keys; k++) {
        HEADWORK_UNROLL
        for (int j = 0; j < kQueries<T>; j += kLanes<T>) {
            T* at = rows + k * kQueries<T> + j;
            store(at, change(load(at), k, j));
        }
    }
}

template <class T>
static HEADWORK_APART void cap(T* scores, Index keys, T softcap) {
    const T inverse = T(1) / softcap;
    change_rows(scores, keys, [&](Vector<T> s, Index, int) { return softcap * tanh<T>(s * inverse); });
}

// −inf selects: under it even a score that is NaN is hidden.
template <class T>
HEADWORK_INLINE Vector<T> masked(Vector<T> score, Vector<T> added) {
    return added == -kInfinity<T> ? added : score + added;
}

template <class T>
static void add_distance(T* addend, Index first_key, Index keys, const Rows<T>& rows, T slope) {
    T start[kQueries<T>];  // how far before each query the first key is: positions themselves may be beyond T's digits
    for (int i = 0; i < kQueries<T>; i++) start[i] = T(rows.position[i] - first_key);
    change_rows(addend, keys, [&](Vector<T>, Index k, int j) {
        const Vector<T> away = load(start + j) - T(k);
        return (away < T(0) ? away : -away) * slope;
    });
}

template <class T>
static void hide_unseen(T* addend, Index first_key, Index keys, const Rows<T>& rows) {
    const Vector<T> hidden = all<T>(-kInfinity<T>);
    change_rows(addend, keys, [&](Vector<T> added, Index k, int j) {
        Bits<T> begin, end;
        std::memcpy(&begin, rows.begin + j, sizeof begin);
        std::memcpy(&end, rows.end + j, sizeof end);
        const auto key = typename Types<T>::Integer(first_key + k);
        return ((begin <= key) & (end > key)) ? added : hidden;
    });
}

// One vector of a mask's row, as what is added to the scores: bool is 0 or −inf.
template <class T>
HEADWORK_INLINE Vector<T> mask_row(const T* from) {
    return load(from);
}

// Each lane gets the word that its byte is in, and looks at that byte: GCC makes a conversion one byte at a time.
template <class T>
HEADWORK_INLINE Vector<T> mask_row(const std::uint8_t* from) {
    using Integer = typename Types<T>::Integer;
    constexpr int kBytes = kLanes<T> < 4 ? kLanes<T> : 4;  // of a word
    Bits<T> words{}, place{}, byte{};
    HEADWORK_UNROLL
    for (int i = 0; i < kLanes<T>; i++) place[i] = i / kBytes, byte[i] = Integer(0xFFu << 8 * (i % kBytes));
    HEADWORK_UNROLL
    for (int i = 0; i < kLanes<T> / kBytes; i++) {
        std::uint32_t word = 0;
        std::memcpy(&word, from + i * kBytes, kBytes);
        const Bits<T> here = Bits<T>{} + Integer(word);
        words = i > 0 ? (place >= Integer(i) ? here : words) : here;
    }
    return (words & byte) != 0 ? Vector<T>{} : all<T>(-kInfinity<T>);
}

template <class T>
HEADWORK_INLINE T mask_entry(const T* from) {
    return *from;
}

template <class T>
HEADWORK_INLINE T mask_entry(const std::uint8_t* from) {
    return *from ? T(0) : -kInfinity<T>;
}

// A mask (float or bool) of keys first_key … + keys − 1. It lies with queries in rows, the addend with
// queries in columns: squares are turned over in registers where its keys are neighbours. The first addend is written
// over whatever the memory held.
template <class T, class M>
static void add_mask(T* addend, Index first_key, Index keys, const Rows<T>& rows, const M* mask,
                     const MaskStrides& strides, bool is_first) {
    constexpr int kCount = kLanes<T>;
    const M* from = mask + rows.b * strides.batch + rows.h * strides.head + rows.first * strides.query +
                    first_key * strides.key;
    for (Index q = 0; q < rows.count; q += kCount)
        for (Index k = 0; k < keys; k += kCount) {
            T* to = addend + k * kQueries<T> + q;
            if (strides.key == 1 && q + kCount <= rows.count && k + kCount <= keys) {
                Vector<T> square[kCount];
                HEADWORK_UNROLL
                for (int i = 0; i < kCount; i++) square[i] = mask_row<T>(from + (q + i) * strides.query + k);
                transpose<T>(square);
                HEADWORK_UNROLL
                for (int i = 0; i < kCount; i++) {
                    T* at = to + i * kQueries<T>;
                    store(at, is_first ? square[i] : masked<T>(load(at), square[i]));
                }
            } else {
                for (Index i = q; i < q + kCount && i < rows.count; i++)
                    for (Index j = k; j < k + kCount && j < keys; j++) {
                        T& sum = addend[j * kQueries<T> + i];
                        const T added = mask_entry<T>(from + i * strides.query + j * strides.key);
                        sum = is_first || added == -kInfinity<T> ? added : sum + added;
                    }
            }
        }
}

// How a bool mask lies over a block: nothing to see, everything, or some of it.
enum class Cover { none, some, everything };

template <class T>
static Cover cover(const Task<T>& task, Index first_key, Index keys, const Rows<T>& rows) {
    const MaskStrides& strides = task.bool_strides;
    if (strides.key != 1) return Cover::some;
    const std::uint8_t* from = task.bool_mask + rows.b * strides.batch + rows.h * strides.head +
                               rows.first * strides.query + first_key;
    std::uint8_t either = 0, both = 1;
    const Index count = strides.query == 0 ? 1 : rows.count;
    for (Index q = 0; q < count; q++) {
        const std::uint8_t* row = from + q * strides.query;
        for (Index k = 0; k < keys; k++) {
            either |= row[k];
            both &= std::uint8_t(row[k] != 0);
        }
        if (either && !both) return Cover::some;
    }
    return both ? Cover::everything : either ? Cover::some : Cover::none;
}

// What is added to the scores of keys first … + keys − 1, [key][query]: ALiBi and masks; −inf hides a key.
template <class T>
static void make_addend(const Task<T>& task, const Rows<T>& rows, Index first, Index keys, bool all_seen,
                        Cover covered, T* addend) {
    bool is_first = !task.alibi && rows.count == kQueries<T>;  // a mask has nothing to write for lanes beyond
    if (task.alibi)
        add_distance(addend, first, keys, rows, task.alibi[rows.h] * unit(task));
    else if (!is_first || !(task.float_mask || covered == Cover::some))
        std::memset(addend, 0, sizeof(T) * keys * kQueries<T>);
    if (task.float_mask) {
        add_mask(addend, first, keys, rows, task.float_mask, task.float_strides, is_first);
        is_first = false;
    }
    if (covered == Cover::some)
        add_mask(addend, first, keys, rows, task.bool_mask, task.bool_strides, is_first);
    if (!all_seen) hide_unseen(addend, first, keys, rows);
}

// Whether a block of values holds anything that is not finite. A weight of 0 times NaN is NaN, so such a block
// needs care where some of its keys are hidden.
template <class T>
static bool has_nonfinite(const T* value, Index stride, Index keys, Index Dv) {
    constexpr int kSums = 4;  // one alone would wait for itself
    Vector<T> sums[kSums]{};  // of zeros, unless 0 · inf or 0 · NaN is among them
    T rest = 0;
    for (Index k = 0; k < keys; k++, value += stride) {
        Index c = 0;
        for (; c + kSums * kLanes<T> <= Dv; c += kSums * kLanes<T>)
            HEADWORK_UNROLL
            for (int i = 0; i < kSums; i++) sums[i] += load(value + c + i * kLanes<T>) * T(0);
        for (; c < Dv; c++) rest += value[c] * T(0);
    }
    return total<T>((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest != 0;
}

// blend_block for such a block: a weight of 0 adds nothing, whatever the value is.
template <class T>
static void blend_carefully(const T* value, Index stride, Index keys, const T* weights, Index Dv, T* out_t) {
    for (Index k = 0; k < keys; k++)
        for (Index c = 0; c < Dv; c++)
            for (int i = 0; i < kQueries<T>; i++) {
                const T weight = weights[k * kQueries<T> + i];
                if (weight != 0) out_t[c * kQueries<T> + i] += weight * value[k * stride + c];
            }
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
