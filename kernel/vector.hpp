// Vectors as wide as the instruction set that this file is compiled for, in the compiler's own vector
// extensions: arithmetic and comparisons are operators, so one source serves every machine.
//
// The kernel is compiled once per instruction set, each time in a namespace of its own (HEADWORK_ISA): two
// versions of one inline function must never meet in the linker, which would keep either of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#define HEADWORK_INLINE static inline __attribute__((always_inline))
#define HEADWORK_APART __attribute__((noinline))  // for loops that want all registers for themselves
#if defined(__clang__)
#define HEADWORK_UNROLL _Pragma("unroll")
#else
#define HEADWORK_UNROLL _Pragma("GCC unroll 16")
#endif

namespace headwork {
namespace HEADWORK_ISA {

using Index = std::ptrdiff_t;

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kQueryVectors = 4;  // 6 keys × 4 vectors of queries: 24 of the 32 registers hold sums
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
constexpr int kQueryVectors = 2;  // 6 × 2: 12 of 16 registers
#elif defined(__aarch64__)
constexpr int kVectorBytes = 16;
constexpr int kQueryVectors = 4;  // 32 registers
#else
constexpr int kVectorBytes = 16;
constexpr int kQueryVectors = 2;
#endif

template <class T>
struct Types;

template <>
struct Types<float> {
    typedef float Vector __attribute__((vector_size(kVectorBytes)));
    typedef float Loose __attribute__((vector_size(kVectorBytes), aligned(alignof(float)), may_alias));
    typedef std::int32_t Bits __attribute__((vector_size(kVectorBytes)));
    using Integer = std::int32_t;
};

template <>
struct Types<double> {
    typedef double Vector __attribute__((vector_size(kVectorBytes)));
    typedef double Loose __attribute__((vector_size(kVectorBytes), aligned(alignof(double)), may_alias));
    typedef std::int64_t Bits __attribute__((vector_size(kVectorBytes)));
    using Integer = std::int64_t;
};

template <class T>
using Vector = typename Types<T>::Vector;
template <class T>
using Bits = typename Types<T>::Bits;

template <class T>
constexpr int kLanes = kVectorBytes / int(sizeof(T));
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

template <class T>
HEADWORK_INLINE Vector<T> load(const T* from) {
    return *reinterpret_cast<const typename Types<T>::Loose*>(from);
}

template <class T>
HEADWORK_INLINE void store(T* to, Vector<T> x) {
    *reinterpret_cast<typename Types<T>::Loose*>(to) = x;
}

template <class T>
HEADWORK_INLINE Vector<T> all(T x) {
    return x - Vector<T>{};  // x − 0 is x also for −0, so this is one broadcast; 0 + x is not
}

// NaN in either: b, so that the caller decides which of the two may be NaN.
template <class T>
HEADWORK_INLINE Vector<T> larger(Vector<T> a, Vector<T> b) {
    return a > b ? a : b;
}

template <class T>
HEADWORK_INLINE bool any(Bits<T> condition) {
#if defined(__AVX512F__)
    // The compiler turns this sum of a comparison into one mask test.
    typename Types<T>::Integer either = 0;
    for (int i = 0; i < kLanes<T>; i++) either |= condition[i];
    return either != 0;
#else
    typedef std::int64_t Words __attribute__((vector_size(kVectorBytes)));
    Words words = reinterpret_cast<Words>(condition);
    std::int64_t either = 0;
    for (int i = 0; i < kVectorBytes / 8; i++) either |= words[i];
    return either != 0;
#endif
}

template <class T>
HEADWORK_INLINE T total(Vector<T> x) {
    T sum = 0;
    for (int i = 0; i < kLanes<T>; i++) sum += x[i];
    return sum;
}

template <class T>
HEADWORK_INLINE T largest(Vector<T> x) {
    T most = x[0];
    for (int i = 1; i < kLanes<T>; i++) most = x[i] > most ? x[i] : most;
    return most;
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
