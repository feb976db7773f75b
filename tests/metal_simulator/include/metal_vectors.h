// Vectors of two to four elements, with x, y, z, w, subscripts and arithmetic.
#pragma once

namespace metal {

template <class T, int N>
struct vec;

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> {
    T x, y;
    vec() = default;
    vec(T a) : x(a), y(a) {}
    vec(T a, T b) : x(a), y(b) {}
    template <class U>
    explicit vec(vec<U, 2> a) : x(a.x), y(a.y) {}
    T& operator[](uint k) { return (&x)[k]; }
    const T& operator[](uint k) const { return (&x)[k]; }
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> {
    T x, y, z;
    vec() = default;
    vec(T a) : x(a), y(a), z(a) {}
    vec(T a, T b, T c) : x(a), y(b), z(c) {}
    template <class U>
    explicit vec(vec<U, 3> a) : x(a.x), y(a.y), z(a.z) {}
    T& operator[](uint k) { return (&x)[k]; }
    const T& operator[](uint k) const { return (&x)[k]; }
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
    T x, y, z, w;
    vec() = default;
    vec(T a) : x(a), y(a), z(a), w(a) {}
    vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
    template <class U>
    explicit vec(vec<U, 4> a) : x(a.x), y(a.y), z(a.z), w(a.w) {}
    T& operator[](uint k) { return (&x)[k]; }
    const T& operator[](uint k) const { return (&x)[k]; }
};

#define MSL_OPERATOR(op)                                      \
    template <class T, int N>                                 \
    vec<T, N> operator op(vec<T, N> a, vec<T, N> b) {         \
        for (int k = 0; k < N; ++k) a[k] = a[k] op b[k];      \
        return a;                                             \
    }                                                         \
    template <class T, int N>                                 \
    vec<T, N> operator op(vec<T, N> a, T b) {                 \
        for (int k = 0; k < N; ++k) a[k] = a[k] op b;         \
        return a;                                             \
    }                                                         \
    template <class T, int N>                                 \
    vec<T, N> operator op(T a, vec<T, N> b) {                 \
        for (int k = 0; k < N; ++k) b[k] = a op b[k];         \
        return b;                                             \
    }                                                         \
    template <class T, int N>                                 \
    vec<T, N>& operator op##=(vec<T, N>& a, vec<T, N> b) {    \
        for (int k = 0; k < N; ++k) a[k] = a[k] op b[k];      \
        return a;                                             \
    }
MSL_OPERATOR(+)
MSL_OPERATOR(-)
MSL_OPERATOR(*)
MSL_OPERATOR(/)
#undef MSL_OPERATOR

template <class T, int N>
vec<T, N> operator-(vec<T, N> a) {
    for (int k = 0; k < N; ++k) a[k] = -a[k];
    return a;
}

template <class T, int N>
T dot(vec<T, N> a, vec<T, N> b) {
    T sum = 0;
    for (int k = 0; k < N; ++k) sum += a[k] * b[k];
    return sum;
}

}  // namespace metal

#define MSL_VECTORS(T)                \
    typedef metal::vec<T, 2> T##2;    \
    typedef metal::vec<T, 3> T##3;    \
    typedef metal::vec<T, 4> T##4;
MSL_VECTORS(char)
MSL_VECTORS(uchar)
MSL_VECTORS(short)
MSL_VECTORS(ushort)
MSL_VECTORS(int)
MSL_VECTORS(uint)
MSL_VECTORS(long)
MSL_VECTORS(ulong)
MSL_VECTORS(half)
MSL_VECTORS(float)
MSL_VECTORS(bool)
#undef MSL_VECTORS

// The ids of a thread, as the type that a kernel asks for.
template <class T>
struct msl_ids {
    static T of(const unsigned* v) { return T(v[0]); }
};
template <class T>
struct msl_ids<metal::vec<T, 2>> {
    static metal::vec<T, 2> of(const unsigned* v) { return {T(v[0]), T(v[1])}; }
};
template <class T>
struct msl_ids<metal::vec<T, 3>> {
    static metal::vec<T, 3> of(const unsigned* v) { return {T(v[0]), T(v[1]), T(v[2])}; }
};
