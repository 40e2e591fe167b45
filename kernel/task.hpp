// One call of attention, as plain data: shapes, strides, options. Filled by bindings.cpp, which has checked it.
//
// query (B, H, Tq, D)   key (B, Hkv, Tk, D)   value (B, Hkv, Tk, Dv)   out (B, H, Tq, Dv)
// Strides count elements; the last axis of each has stride 1. A mask has four strides, 0 where it is shared.

#pragma once

#include <cstddef>
#include <cstdint>

namespace headwork {

using Index = std::ptrdiff_t;

struct Strides {
    Index batch, head, row;
};

struct MaskStrides {
    Index batch, head, query, key;
};

constexpr Index kUnbounded = Index(1) << 60;  // a window side without an end

template <class T>
struct Task {
    const T *query, *key, *value;
    T* out;
    T* logsumexp;  // (B, H, Tq) natural, or null
    Index B, H, Hkv, Tq, Tk, D, Dv;
    Strides query_strides, key_strides, value_strides, out_strides;
    T scale;
    T softcap;  // 0: none

    const std::uint8_t* bool_mask;  // 1 = may attend; null: none
    const T* float_mask;            // added to the scaled scores; −inf selects
    MaskStrides bool_strides, float_strides;

    // Query i stands at i + offset[b]; it sees keys from position − left to position + right, those below length[b].
    const Index* offset;  // (B,)
    const Index* length;  // (B,)
    Index left, right;    // kUnbounded where there is no end; causal is right = 0

    const T* alibi;  // (H,) slopes, or null
    const T* sink;   // (H,) logits, or null
    int threads;

    // For the backward pass; null in a forward one, where `out` may be null in a backward one.
    const T* cotangent;  // (B, H, Tq, Dv): the gradient of out
    const T* output;     // what the forward pass gave, with its logsumexp; null: it is worked out anew
    T* delta;            // (B, H, Tq): out · cotangent, for each query
    T* row_max;          // (B, H, Tq), or null; where it is written, logsumexp is that of the scores less row_max
    T *query_gradient, *key_gradient, *value_gradient;  // in the shapes of query, key, value
    Strides cotangent_strides, output_strides;
    Strides query_gradient_strides, key_gradient_strides, value_gradient_strides;
};

}  // namespace headwork
