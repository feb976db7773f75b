// Atomics on 32 bits, relaxed, as all Apple GPUs have them.
#pragma once

namespace metal {

enum memory_order { memory_order_relaxed };

template <class T>
struct msl_atomic {
    T value;
    msl_atomic() = default;
    msl_atomic(const msl_atomic&) = delete;
    msl_atomic& operator=(const msl_atomic&) = delete;
};
typedef msl_atomic<int> atomic_int;
typedef msl_atomic<uint> atomic_uint;
typedef msl_atomic<float> atomic_float;
typedef msl_atomic<bool> atomic_bool;

template <class T>
struct msl_same {
    typedef T type;
};
template <class T>
using msl_plain = typename msl_same<T>::type;  // not deduced

template <class T>
T atomic_load_explicit(const volatile msl_atomic<T>* object, memory_order) {
    T found;
    __atomic_load(&object->value, &found, __ATOMIC_RELAXED);
    return found;
}
template <class T>
void atomic_store_explicit(volatile msl_atomic<T>* object, msl_plain<T> value, memory_order) {
    __atomic_store(&object->value, &value, __ATOMIC_RELAXED);
}
template <class T>
T atomic_exchange_explicit(volatile msl_atomic<T>* object, msl_plain<T> value, memory_order) {
    T before;
    __atomic_exchange(&object->value, &value, &before, __ATOMIC_RELAXED);
    return before;
}

// It fails now and then although the value is the expected one, as it may on a GPU.
template <class T>
bool atomic_compare_exchange_weak_explicit(volatile msl_atomic<T>* object, T* expected,
                                           msl_plain<T> value, memory_order, memory_order) {
    static thread_local unsigned calls = 0;
    if (++calls % 5 == 0) {
        *expected = atomic_load_explicit(object, memory_order_relaxed);
        return false;
    }
    return __atomic_compare_exchange(&object->value, expected, &value, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

template <class T, class Function>
T msl_atomic_update(volatile msl_atomic<T>* object, Function function) {
    T before;
    __atomic_load(&object->value, &before, __ATOMIC_RELAXED);
    for (;;) {
        T after = function(before);
        if (__atomic_compare_exchange(&object->value, &before, &after, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return before;
    }
}

#define MSL_FETCH(name, expression)                                                 \
    template <class T>                                                              \
    T atomic_fetch_##name##_explicit(volatile msl_atomic<T>* object, msl_plain<T> y,\
                                     memory_order) {                                \
        return msl_atomic_update(object, [y](T x) { return T(expression); });       \
    }
MSL_FETCH(add, x + y)
MSL_FETCH(sub, x - y)
#undef MSL_FETCH
#define MSL_FETCH(name, expression)                                                 \
    template <class T>                                                              \
    T atomic_fetch_##name##_explicit(volatile msl_atomic<T>* object, msl_plain<T> y,\
                                     memory_order) {                                \
        static_assert(!msl_kind<T>::is_float, "no such atomic on float");           \
        return msl_atomic_update(object, [y](T x) { return T(expression); });       \
    }
MSL_FETCH(and, x & y)
MSL_FETCH(or, x | y)
MSL_FETCH(xor, x ^ y)
MSL_FETCH(min, y < x ? y : x)
MSL_FETCH(max, x < y ? y : x)
#undef MSL_FETCH

}  // namespace metal
