cimport cython

from ... cimport native
from ..starting cimport Allocator, Starter
from .memory cimport Block, Room
from .streams cimport Stream, Streams

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

    typedef int (*dc_transform)(int, void *, void *, int);

    static int dc_execute(size_t function, int handle, size_t source, size_t target, int turn)
    {
        int status;
        Py_BEGIN_ALLOW_THREADS
        status = ((dc_transform)DC_AT(function))(handle, DC_AT(source), DC_AT(target), turn);
        Py_END_ALLOW_THREADS
        return status;
    }
    """
    int transform "dc_execute"(
        size_t function, int handle, size_t source, size_t target, int turn)
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

cdef class Prepared(Starter):
    cdef public object _backend, _check
    cdef public Room _room
    cdef public Allocator _allocator
    cdef public bint _is_only
    cdef public size_t _nbytes
    cdef public Call _call
    cdef public list _starts
    cdef public Streams _streams
    @cython.locals(
        target=size_t, first=size_t, second=size_t, place=size_t, bias=size_t, x=size_t,
        y=size_t, here=size_t, there=size_t, pointer=size_t, status=int, call=Call,
        streams=Streams, stream=Stream,
    )
    cpdef start(self, list memories, scalars)

cdef class FourierPlan:
    cdef object __weakref__
    cdef public object destroy
    cdef public int handle
    cdef public size_t execute, nbytes
    cdef public long long area, stream

cdef class Transform(Starter):
    cdef public object _backend, _find, _known, _library, _lock
    cdef public Allocator _allocator
    cdef public bint _is_only
    cdef public size_t _begin
    cdef public int _turn
    cdef public Streams _streams
    @cython.locals(plan=FourierPlan, status=int)
    cpdef start(self, list memories, scalars)
    @cython.locals(
        streams=Streams, stream=Stream, status=int, pointer=size_t, place=size_t,
        source=size_t, target=size_t,
    )
    cpdef int _run(self, FourierPlan plan, list memories) except? -1

cdef class Again:
    cdef public object _counting
    cdef public Allocator _allocator
    cdef public list _results, _sizes, _steps
    @cython.locals(
        nbytes=cython.longlong, step=Starter, places=list, k=Py_ssize_t,
    )
    cpdef list run(self, list memories)

@cython.locals(block=Block)
cpdef size_t address(memory) except? 1

cdef object _is_ending
