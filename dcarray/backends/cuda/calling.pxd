cimport cython

cdef extern from *:
    """
    typedef int (*dc_matmul)(
        void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
        void *, void *, void *, void *, size_t, void *);
    typedef int (*dc_change)(void *, int, const void *, size_t);
    #define DC_AT(x) ((void *)(x))

    static int dc_invoke(
        size_t function, size_t change, size_t handle, size_t description,
        size_t one, size_t x, size_t first, size_t y, size_t second, size_t zero,
        size_t out, size_t result, size_t choice, size_t room, size_t size,
        size_t stream, size_t bias)
    {
        if (change) {
            void *value = DC_AT(bias);
            int status = ((dc_change)DC_AT(change))(
                DC_AT(description), 8, &value, sizeof value);
            if (status) return status;
        }
        return ((dc_matmul)DC_AT(function))(
            DC_AT(handle), DC_AT(description), DC_AT(one), DC_AT(x), DC_AT(first),
            DC_AT(y), DC_AT(second), DC_AT(zero), DC_AT(out), DC_AT(result), DC_AT(out),
            DC_AT(result), DC_AT(choice), DC_AT(room), size, DC_AT(stream));
    }
    """
    int invoke "dc_invoke"(
        size_t function, size_t change, size_t handle, size_t description,
        size_t one, size_t x, size_t first, size_t y, size_t second, size_t zero,
        size_t out, size_t result, size_t choice, size_t room, size_t size,
        size_t stream, size_t bias)

cdef class Call:
    cdef object __weakref__
    cdef public size_t function, change, handle, description, one, zero
    cdef public size_t first, second, result, choice, workspace
    cdef public object kept
    cpdef int run(
        self, size_t x, size_t y, size_t out, size_t bias, size_t room, size_t stream
    ) except? -1

cdef class Prepared:
    cdef object _allocate, _backend, _check, _nbytes, _streams, _threads, _usual
    cdef Call _call
    cdef list _starts

cdef class Launch:
    cdef object _allocate, _nbytes, _run
    cdef list _places
