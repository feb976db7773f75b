// Mathematical, relational and integer functions.  float is computed by the C library
// under names of our own, half by way of float; there is no double.
#pragma once

#define MSL_C1(name) extern "C" float msl_c_##name(float) __asm__(#name "f");
#define MSL_C2(name) extern "C" float msl_c_##name(float, float) __asm__(#name "f");
MSL_C1(acos) MSL_C1(acosh) MSL_C1(asin) MSL_C1(asinh) MSL_C1(atan) MSL_C1(atanh)
MSL_C1(cos) MSL_C1(cosh) MSL_C1(sin) MSL_C1(sinh) MSL_C1(tan) MSL_C1(tanh)
MSL_C1(exp) MSL_C1(exp2) MSL_C1(exp10) MSL_C1(log) MSL_C1(log2) MSL_C1(log10)
MSL_C1(ceil) MSL_C1(floor) MSL_C1(round) MSL_C1(rint) MSL_C1(trunc)
MSL_C2(atan2) MSL_C2(fmod) MSL_C2(nextafter) MSL_C2(pow)
#undef MSL_C1
#undef MSL_C2
extern "C" float msl_c_frexp(float, int*) __asm__("frexpf");
extern "C" float msl_c_ldexp(float, int) __asm__("ldexpf");
extern "C" float msl_c_fma(float, float, float) __asm__("fmaf");
extern "C" int msl_c_ilogb(float) __asm__("ilogbf");

namespace metal {

template <class To, class From>
To as_type(From x) {
    static_assert(sizeof(To) == sizeof(From), "as_type: the sizes differ");
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}

// ------------------------------------------------------------------- floating point
#define MSL_F1(name, expression)                                        \
    inline float name(float x) { return expression; }                   \
    inline half name(half h) { float x = h; return half(expression); }
#define MSL_F2(name, expression)                                        \
    inline float name(float x, float y) { return expression; }          \
    inline half name(half a, half b) {                                  \
        float x = a, y = b;                                             \
        return half(expression);                                        \
    }
#define MSL_BOTH                                                        \
    MSL_F1(acos, msl_c_acos(x))                                         \
    MSL_F1(acosh, msl_c_acosh(x))                                       \
    MSL_F1(asin, msl_c_asin(x))                                         \
    MSL_F1(asinh, msl_c_asinh(x))                                       \
    MSL_F1(atan, msl_c_atan(x))                                         \
    MSL_F1(atanh, msl_c_atanh(x))                                       \
    MSL_F1(ceil, msl_c_ceil(x))                                         \
    MSL_F1(cos, msl_c_cos(x))                                           \
    MSL_F1(cosh, msl_c_cosh(x))                                         \
    MSL_F1(cospi, msl_c_cos(3.14159265f * x))                           \
    MSL_F1(exp, msl_c_exp(x))                                           \
    MSL_F1(exp10, msl_c_exp10(x))                                       \
    MSL_F1(exp2, msl_c_exp2(x))                                         \
    MSL_F1(fabs, __builtin_fabsf(x))                                    \
    MSL_F1(floor, msl_c_floor(x))                                       \
    MSL_F1(log, msl_c_log(x))                                           \
    MSL_F1(log10, msl_c_log10(x))                                       \
    MSL_F1(log2, msl_c_log2(x))                                         \
    MSL_F1(rint, msl_c_rint(x))                                         \
    MSL_F1(round, msl_c_round(x))                                       \
    MSL_F1(rsqrt, 1.0f / __builtin_sqrtf(x))                            \
    MSL_F1(sin, msl_c_sin(x))                                           \
    MSL_F1(sinh, msl_c_sinh(x))                                         \
    MSL_F1(sinpi, msl_c_sin(3.14159265f * x))                           \
    MSL_F1(sqrt, __builtin_sqrtf(x))                                    \
    MSL_F1(tan, msl_c_tan(x))                                           \
    MSL_F1(tanh, msl_c_tanh(x))                                         \
    MSL_F1(trunc, msl_c_trunc(x))                                       \
    MSL_F1(fract, __builtin_fminf(x - msl_c_floor(x), 0.99999994f))     \
    MSL_F2(atan2, msl_c_atan2(x, y))                                    \
    MSL_F2(fmod, msl_c_fmod(x, y))                                      \
    MSL_F2(pow, msl_c_pow(x, y))                                        \
    MSL_F2(powr, msl_c_pow(x, y))                                       \
    MSL_F2(divide, x / y)                                               \
    MSL_F2(fmax, __builtin_fmaxf(x, y))                                 \
    MSL_F2(fmin, __builtin_fminf(x, y))                                 \
    MSL_F2(fdim, x > y ? x - y : (x <= y ? 0.0f : x + y))

MSL_BOTH
namespace precise {
MSL_BOTH
}
namespace fast {
MSL_BOTH
}
#undef MSL_BOTH
MSL_F1(sign, x > 0 ? 1.0f : (x < 0 ? -1.0f : (x == 0 ? x : 0.0f)))
MSL_F1(saturate, __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f))
MSL_F2(step, y < x ? 0.0f : 1.0f)
MSL_F2(copysign, __builtin_copysignf(x, y))
#undef MSL_F1
#undef MSL_F2
inline float nextafter(float x, float y) { return msl_c_nextafter(x, y); }
inline half nextafter(half x, half y) {
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    ushort bits = as_type<ushort>(x);
    if (!(bits & 0x7fff)) return as_type<half>(ushort((as_type<ushort>(y) & 0x8000) | 1));
    return as_type<half>(ushort((x < y) == !(bits & 0x8000) ? bits + 1 : bits - 1));
}
inline float ldexp(float x, int k) { return msl_c_ldexp(x, k); }
inline half ldexp(half x, int k) { return half(msl_c_ldexp(x, k)); }
inline float fma(float x, float y, float z) { return msl_c_fma(x, y, z); }
inline half fma(half x, half y, half z) { return half(msl_c_fma(x, y, z)); }
inline int ilogb(float x) { return msl_c_ilogb(x); }
inline float frexp(float x, int& exponent) { return msl_c_frexp(x, &exponent); }
inline half frexp(half x, int& exponent) { return half(msl_c_frexp(x, &exponent)); }
inline float modf(float x, float& whole) {
    whole = msl_c_trunc(x);
    return __builtin_copysignf(__builtin_isinf(x) ? 0.0f : x - whole, x);
}
inline float sincos(float x, float& cosine) {
    cosine = msl_c_cos(x);
    return msl_c_sin(x);
}
inline float mix(float x, float y, float a) { return x + (y - x) * a; }
inline float smoothstep(float low, float high, float x) {
    float t = saturate((x - low) / (high - low));
    return t * t * (3 - 2 * t);
}

// ------------------------------------------------------------------------ relational
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isnormal(float x) { return __builtin_isnormal(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool isnan(half x) { return __builtin_isnan(float(x)); }
inline bool isinf(half x) { return __builtin_isinf(float(x)); }
inline bool isfinite(half x) { return __builtin_isfinite(float(x)); }
inline bool signbit(half x) { return __builtin_signbit(float(x)); }
inline bool any(bool x) { return x; }
inline bool all(bool x) { return x; }
template <class T>
T select(T a, T b, bool c) {
    return c ? b : a;
}
template <class T, int N>
vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
    for (int k = 0; k < N; ++k) a[k] = c[k] ? b[k] : a[k];
    return a;
}

// --------------------------------------------------------------------------- numbers
template <class T>
struct msl_kind {
    static constexpr bool is_float = false;
};
template <>
struct msl_kind<float> {
    static constexpr bool is_float = true;
};
template <>
struct msl_kind<half> {
    static constexpr bool is_float = true;
};

template <class T>
T max(T x, T y) {
    if constexpr (msl_kind<T>::is_float) return fmax(x, y);
    else return x < y ? y : x;
}
template <class T>
T min(T x, T y) {
    if constexpr (msl_kind<T>::is_float) return fmin(x, y);
    else return y < x ? y : x;
}
template <class T>
T abs(T x) {
    if constexpr (msl_kind<T>::is_float) return fabs(x);
    else return x < 0 ? T(0) - x : x;
}
template <class T>
T clamp(T x, T low, T high) {
    return min(max(x, low), high);
}

template <int size>
struct msl_word;
template <>
struct msl_word<1> { typedef uchar type; };
template <>
struct msl_word<2> { typedef ushort type; };
template <>
struct msl_word<4> { typedef uint type; };
template <>
struct msl_word<8> { typedef ulong type; };
template <class T>
using msl_unsigned = typename msl_word<sizeof(T)>::type;

template <class T>
T popcount(T x) {
    return T(__builtin_popcountl(msl_unsigned<T>(x)));
}
template <class T>
T clz(T x) {
    constexpr int bits = 8 * sizeof(T);
    return x ? T(__builtin_clzl(msl_unsigned<T>(x)) - (64 - bits)) : T(bits);
}
template <class T>
T ctz(T x) {
    return x ? T(__builtin_ctzl(msl_unsigned<T>(x))) : T(8 * sizeof(T));
}
template <class T>
T rotate(T x, T count) {
    constexpr int bits = 8 * sizeof(T);
    auto u = msl_unsigned<T>(x);
    int n = int(count) & (bits - 1);
    return T(n ? msl_unsigned<T>(u << n | u >> (bits - n)) : u);
}
template <class T>
T reverse_bits(T x) {
    msl_unsigned<T> u = x, y = 0;
    for (unsigned k = 0; k < 8 * sizeof(T); ++k, u >>= 1) y = y << 1 | (u & 1);
    return T(y);
}
template <class T>
T mulhi(T x, T y) {
    if constexpr (T(-1) < T(0)) return T((__int128(x) * __int128(y)) >> (8 * sizeof(T)));
    else return T(((unsigned __int128)x * y) >> (8 * sizeof(T)));
}
template <class T>
T absdiff(T x, T y) {
    return x < y ? y - x : x - y;
}
template <class T>
T addsat(T x, T y) {
    T sum;
    if (!__builtin_add_overflow(x, y, &sum)) return sum;
    T least = T(-1) < T(0) ? T(T(1) << (8 * sizeof(T) - 1)) : T(0);
    return y < 0 ? least : T(~least);
}
template <class T>
T subsat(T x, T y) {
    T difference;
    if (!__builtin_sub_overflow(x, y, &difference)) return difference;
    T least = T(-1) < T(0) ? T(T(1) << (8 * sizeof(T) - 1)) : T(0);
    return y < 0 ? T(~least) : least;
}

}  // namespace metal

using metal::as_type;
