cimport cython

from ..starting cimport Allocator, Starter
from .calling cimport address

cdef extern from *:
    """
    #if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    #define DC_PAUSE() __builtin_ia32_pause()
    #elif defined(__GNUC__) && defined(__aarch64__)
    #define DC_PAUSE() __asm__ volatile("yield")
    #else
    #define DC_PAUSE()
    #endif

    /* As selecting.py has it; the word's upper bits are the number of the launch. */
    static long long dc_counted(size_t place, unsigned long long number, long patience)
    {
        volatile unsigned long long *word = (volatile unsigned long long *)place;
        unsigned long long found = *word;
        if (found >> 40 != number) {
            Py_BEGIN_ALLOW_THREADS
            while ((found = *word) >> 40 != number && --patience > 0) DC_PAUSE();
            Py_END_ALLOW_THREADS
        }
        return found >> 40 == number ? (long long)(found & 0xffffffffffull) : -1;
    }
    """
    long long counted "dc_counted" (size_t place, unsigned long long number, long patience)

cdef class _State:
    cdef public object lock, seen, words
    cdef public unsigned long long number
    cdef public size_t place

cdef class Selector:
    cdef public object _backend, _raw, _streams
    cdef public Allocator _allocator
    cdef public dict _starts, _states
    @cython.locals(
        room=cython.longlong, used=cython.longlong, found=cython.longlong,
        number=cython.ulonglong, state=_State, starter=Starter, name=tuple,
    )
    cpdef select(
        self, mask, source, cython.longlong count, cython.longlong size,
        cython.longlong begin)
    cdef _clear(self, _State state)

cdef long long _found(size_t place, unsigned long long number, long patience)
