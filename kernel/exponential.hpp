// 2^x and tanh of whole vectors. Softmax works in powers of two: the factor log₂e is folded into the scale.

#pragma once

#include "vector.hpp"

namespace headwork {
namespace HEADWORK_ISA {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;

// Constants of exp2: 2^f on [−½, ½] as a polynomial, highest power first.
template <class T>
struct Exp2;

template <>
struct Exp2<float> {
    // minimax of degree 5 with the constant term 1, relative error 2.4e-8 before rounding
    static constexpr float kPolynomial[] = {0.001327647129073739f, 0.009675541892647743f,
                                            0.05550713092088699f,  0.24022120237350464f,
                                            0.6931469440460205f,   1.0f};
    static constexpr float kRounder = 12583039.0f;  // 1.5·2²³ + bias: adding it leaves whole + bias in the low bits
    static constexpr float kLeast = -127.0f;        // the exponent whose bits are those of 0
    static constexpr int kMantissa = 23;
};

template <>
struct Exp2<double> {
    // Taylor series of e^(f·ln 2) to degree 12: the next term is 1.7e-16 at f = ½
    static constexpr double kPolynomial[] = {
        2.5678435993488196e-11, 4.44553827187081e-10, 7.054911620801121e-09, 1.0178086009239696e-07,
        1.3215486790144305e-06, 1.5252733804059838e-05, 0.00015403530393381606, 0.0013333558146428441,
        0.009618129107628477, 0.055504108664821576, 0.2402265069591007, 0.6931471805599453, 1.0};
    static constexpr double kRounder = 6755399441056767.0;  // 1.5·2⁵² + bias
    static constexpr double kLeast = -1023.0;
    static constexpr int kMantissa = 52;
};

// 2^x for x ≤ 126; NaN stays NaN; 0 below −126½ (float) or −1022½, −inf among them. float: 2e-7, double: 4e-16
// relative error.
template <class T>
HEADWORK_INLINE Vector<T> exp2(Vector<T> x) {
    using C = Exp2<T>;
    const Vector<T> clamped = larger<T>(all<T>(C::kLeast), x);  // this way round NaN is kept
    const Vector<T> shifted = clamped + C::kRounder;
    const Vector<T> f = clamped - (shifted - C::kRounder);
    Vector<T> power = all<T>(C::kPolynomial[0]);
    HEADWORK_UNROLL
    for (unsigned i = 1; i < sizeof(C::kPolynomial) / sizeof(T); i++) power = power * f + C::kPolynomial[i];
    // Times 2^whole as a product: adding to the exponent's bits would turn a NaN into a number.
    const Bits<T> exponent = reinterpret_cast<Bits<T>>(shifted) << C::kMantissa;
    return power * reinterpret_cast<Vector<T>>(exponent);
}

// The Taylor series of tanh(x)/x in x², highest power first: what is left out is below rounding up to x = ¼.
template <class T>
struct Tanh;

template <>
struct Tanh<float> {
    static constexpr float kPolynomial[] = {
        0.0218694885f, -0.053968254f, 0.133333333f, -0.333333333f, 1.0f};
};

template <>
struct Tanh<double> {
    static constexpr double kPolynomial[] = {
        9.691537956929451e-05, -0.00023912911424355248, 0.000590027440945586, -0.0014558343870513183,
        0.003592128036572481, -0.008863235529902197, 0.021869488536155203, -0.05396825396825397,
        0.13333333333333333, -0.3333333333333333, 1.0};
};

// tanh(x), relative error a few units of the last place; NaN stays NaN.
template <class T>
HEADWORK_INLINE Vector<T> tanh(Vector<T> x) {
    // From ¼ on, 1 − 2/(e^2x + 1) loses two bits; below it would lose ever more, and the series takes over.
    const Vector<T> size = x < T(0) ? -x : x;
    const Vector<T> most = all<T>(T(22));  // tanh is 1 in double from there on
    const Vector<T> clamped = size > most ? most : size;
    const Vector<T> far = T(1) - T(2) / (exp2<T>(clamped * T(2 * kLog2E)) + T(1));
    const Vector<T> square = x * x;
    Vector<T> near = all<T>(Tanh<T>::kPolynomial[0]);
    HEADWORK_UNROLL
    for (unsigned i = 1; i < sizeof(Tanh<T>::kPolynomial) / sizeof(T); i++)
        near = near * square + Tanh<T>::kPolynomial[i];
    return size < T(0.25) ? near * x : (x < T(0) ? -far : far);
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
