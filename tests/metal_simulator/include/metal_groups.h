// What threads of a threadgroup, and of a simdgroup of 32, do together.
#pragma once

namespace metal {

enum class mem_flags : unsigned {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
};
inline mem_flags operator|(mem_flags a, mem_flags b) {
    return mem_flags(unsigned(a) | unsigned(b));
}

// Where in the text a call stands: threads meet only those that make the same call.
#define MSL_SITE uint site = __builtin_LINE()

inline void threadgroup_barrier(mem_flags, MSL_SITE) { msl_barrier(site); }
inline void simdgroup_barrier(mem_flags, MSL_SITE) {
    char nothing = 0, shown[32];
    msl_exchange(&nothing, 1, shown, site);
}

struct simd_vote {
    typedef ulong vote_t;
    vote_t bits;
    explicit operator vote_t() const { return bits; }
};

template <class T>
struct msl_shown {
    T value[32];
    ulong active;
    msl_shown(T x, uint site) { active = msl_exchange(&x, sizeof x, value, site); }
    bool has(uint lane) const { return lane < 32 && (active >> lane & 1); }
    T at(uint lane, T otherwise) const { return has(lane) ? value[lane] : otherwise; }
};

template <class T>
T simd_shuffle(T x, ushort lane, MSL_SITE) {
    return msl_shown<T>(x, site).at(lane, x);
}
template <class T>
T simd_broadcast(T x, ushort lane, MSL_SITE) {
    return msl_shown<T>(x, site).at(lane, x);
}
template <class T>
T simd_broadcast_first(T x, MSL_SITE) {
    msl_shown<T> shown(x, site);
    return shown.value[__builtin_ctzl(shown.active)];
}
template <class T>
T simd_shuffle_xor(T x, ushort mask, MSL_SITE) {
    return msl_shown<T>(x, site).at(msl_lane() ^ mask, x);
}
template <class T>
T simd_shuffle_down(T x, ushort delta, MSL_SITE) {
    return msl_shown<T>(x, site).at(msl_lane() + delta, x);
}
template <class T>
T simd_shuffle_up(T x, ushort delta, MSL_SITE) {
    return msl_shown<T>(x, site).at(msl_lane() - delta, x);
}

#define MSL_SIMD(name, expression)                                      \
    template <class T>                                                  \
    T simd_##name(T mine, MSL_SITE) {                                             \
        msl_shown<T> shown(mine, site);                                       \
        uint lane = __builtin_ctzl(shown.active);                       \
        T x = shown.value[lane];                                        \
        for (++lane; lane < 32; ++lane)                                 \
            if (shown.has(lane)) {                                      \
                T y = shown.value[lane];                                \
                x = T(expression);                                      \
            }                                                           \
        return x;                                                       \
    }
MSL_SIMD(sum, x + y)
MSL_SIMD(product, x * y)
MSL_SIMD(min, metal::min(x, y))
MSL_SIMD(max, metal::max(x, y))
MSL_SIMD(and, x & y)
MSL_SIMD(or, x | y)
MSL_SIMD(xor, x ^ y)
#undef MSL_SIMD

template <class T>
T msl_prefix(T x, uint end, T start, bool times, uint site) {
    msl_shown<T> shown(x, site);
    T total = start;
    for (uint lane = 0; lane < end; ++lane)
        if (shown.has(lane)) total = times ? total * shown.value[lane] : total + shown.value[lane];
    return total;
}
template <class T>
T simd_prefix_inclusive_sum(T x, MSL_SITE) {
    return msl_prefix(x, msl_lane() + 1, T(0), false, site);
}
template <class T>
T simd_prefix_exclusive_sum(T x, MSL_SITE) {
    return msl_prefix(x, msl_lane(), T(0), false, site);
}
template <class T>
T simd_prefix_inclusive_product(T x, MSL_SITE) {
    return msl_prefix(x, msl_lane() + 1, T(1), true, site);
}
template <class T>
T simd_prefix_exclusive_product(T x, MSL_SITE) {
    return msl_prefix(x, msl_lane(), T(1), true, site);
}

inline simd_vote simd_ballot(bool x, MSL_SITE) {
    msl_shown<bool> shown(x, site);
    ulong bits = 0;
    for (uint lane = 0; lane < 32; ++lane)
        if (shown.has(lane) && shown.value[lane]) bits |= 1ul << lane;
    return {bits};
}
inline simd_vote simd_active_threads_mask(MSL_SITE) { return {msl_shown<bool>(true, site).active}; }
inline bool simd_any(bool x, MSL_SITE) { return simd_ballot(x, site).bits != 0; }
inline bool simd_all(bool x, MSL_SITE) {
    msl_shown<bool> shown(x, site);
    for (uint lane = 0; lane < 32; ++lane)
        if (shown.has(lane) && !shown.value[lane]) return false;
    return true;
}
inline bool simd_is_first(MSL_SITE) {
    return uint(__builtin_ctzl(msl_shown<bool>(true, site).active)) == msl_lane();
}

#undef MSL_SITE

}  // namespace metal
