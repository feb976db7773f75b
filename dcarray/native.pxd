cdef extern from *:
    """
    #include <string.h>

    static CYTHON_INLINE PyObject* dc_frame(void) {
        PyObject* frame = (PyObject*)PyEval_GetFrame();
        if (frame == NULL) {
            PyErr_SetString(PyExc_ValueError, "no frame of Python");
            return NULL;
        }
        Py_INCREF(frame);
        return frame;
    }

    /* Code, instruction and globals; steals nothing. */
    static CYTHON_INLINE PyObject* dc_place(PyObject* frame) {
        PyFrameObject* f = (PyFrameObject*)frame;
        PyObject* code = (PyObject*)PyFrame_GetCode(f);
        PyObject* line = PyLong_FromLong(PyFrame_GetLasti(f));
        PyObject* space = PyFrame_GetGlobals(f);
        PyObject* found = PyTuple_New(3);
        if (found == NULL || line == NULL) {
            Py_XDECREF(code); Py_XDECREF(line); Py_XDECREF(space); Py_XDECREF(found);
            return NULL;
        }
        PyTuple_SET_ITEM(found, 0, code);
        PyTuple_SET_ITEM(found, 1, line);
        PyTuple_SET_ITEM(found, 2, space);
        return found;
    }

    static CYTHON_INLINE PyObject* dc_new(PyObject* base, PyObject* cls) {
        PyObject* nothing = PyTuple_New(0);  /* there is one */
        PyObject* made = ((PyTypeObject*)base)->tp_new((PyTypeObject*)cls, nothing, NULL);
        Py_DECREF(nothing);
        return made;
    }

    /* Adds one to a total; -1 with an exception. */
    static CYTHON_UNUSED int dc_count(PyObject* totals, PyObject* kind) {
        PyObject *before = PyDict_GetItemWithError(totals, kind), *after;
        int found;
        if (before == NULL && PyErr_Occurred()) return -1;
        after = PyLong_FromLongLong(before == NULL ? 1 : PyLong_AsLongLong(before) + 1);
        if (after == NULL) return -1;
        found = PyDict_SetItem(totals, kind, after);
        Py_DECREF(after);
        return found;
    }

    static CYTHON_INLINE PyObject* dc_identity(PyObject* x) {
        return PyLong_FromVoidPtr(x);
    }

    static CYTHON_INLINE PyObject* dc_reference(PyObject* x) {
        return PyWeakref_NewRef(x, NULL);
    }

    static CYTHON_INLINE PyObject* dc_referent(PyObject* reference) {
    #if PY_VERSION_HEX >= 0x030d0000
        PyObject* found = NULL;
        if (PyWeakref_GetRef(reference, &found) < 0) return NULL;
        if (found == NULL) { found = Py_None; Py_INCREF(found); }
        return found;
    #else
        PyObject* found = PyWeakref_GetObject(reference);
        Py_XINCREF(found);
        return found;
    #endif
    }

    static CYTHON_INLINE long long dc_thread(void) {
        return (long long)PyThread_get_thread_ident();
    }

    /* As the documentation of native.py has it; -1 with an exception. */
    static CYTHON_UNUSED int dc_replaced(PyObject* references, PyObject* reference) {
        Py_ssize_t count = PyList_GET_SIZE(references);
        PyObject* found;
        int alive;
        if (count == 0) return 0;
        found = dc_referent(PyList_GET_ITEM(references, count - 1));
        if (found == NULL) return -1;
        alive = found != Py_None;
        Py_DECREF(found);
        if (alive) return 0;
        Py_INCREF(reference);
        return PyList_SetItem(references, count - 1, reference) < 0 ? -1 : 1;
    }

    static CYTHON_INLINE PyObject* dc_setting(PyObject* variable, PyObject* otherwise) {
        PyObject* found = NULL;
        if (PyContextVar_Get(variable, otherwise, &found) < 0) return NULL;
        return found;
    }

    static CYTHON_INLINE PyObject* dc_item(PyObject* x, Py_ssize_t place) {
        PyObject* found = PyTuple_GET_ITEM(x, place);
        Py_INCREF(found);
        return found;
    }

    static CYTHON_INLINE Py_ssize_t dc_mixed(PyObject* a, PyObject* b, PyObject* c) {
        return (Py_ssize_t)(((size_t)a >> 4) + ((size_t)b >> 3) + ((size_t)c >> 5));
    }

    /* The head of NumPy's arrays, as every extension module that was built for NumPy
       has it (PyArrayObject_fields in ndarraytypes.h). */
    typedef struct {
        PyObject_HEAD
        char* data;
        int nd;
        Py_ssize_t* dimensions;
        Py_ssize_t* strides;
        PyObject* base;
        PyObject* descr;
        int flags;
    } dc_array;

    static CYTHON_INLINE Py_ssize_t dc_address(PyObject* array) {
        return (Py_ssize_t)((dc_array*)array)->data;
    }

    /* As the documentation of native.py has it. */
    static CYTHON_UNUSED PyObject* dc_lie(PyObject* array, Py_ssize_t start) {
        dc_array* a = (dc_array*)array;
        Py_ssize_t words[2 * 64 + 2];
        int axis, count = a->nd < 64 ? a->nd : 64;
        words[0] = (Py_ssize_t)a->data - start;
        words[1] = a->flags & 0x0100;  /* aligned */
        for (axis = 0; axis < count; axis++) {
            words[2 + axis] = a->dimensions[axis];
            words[2 + count + axis] = a->strides[axis];
        }
        return PyBytes_FromStringAndSize((char*)words, (2 + 2 * count) * (int)sizeof *words);
    }

    static CYTHON_INLINE int dc_is_aligned(PyObject* array) {
        return (((dc_array*)array)->flags & 0x0100) != 0;
    }

    typedef long long (*dc_driver)(void*, long long, long long, void*);

    #define DC_WORDS 512

    /* As the documentation of native.py has it; -2 with an exception. */
    static CYTHON_UNUSED long long dc_drive(size_t entry, PyObject* frame, Py_ssize_t place,
                              PyObject* addresses, PyObject* tail, Py_ssize_t watch,
                              long long stop, size_t scratch) {
        long long words[DC_WORDS];
        Py_ssize_t k, count = PyList_GET_SIZE(addresses), nbytes = PyBytes_GET_SIZE(frame);
        long long reached;
        if (nbytes > (Py_ssize_t)sizeof words) return -1;
        memcpy(words, PyBytes_AS_STRING(frame), (size_t)nbytes);
        for (k = 0; k < count; k++) {
            long long address = PyLong_AsLongLong(PyList_GET_ITEM(addresses, k));
            if (address == -1 && PyErr_Occurred()) return -2;
            words[place + k] += address;
        }
        memcpy(words + place + count, PyBytes_AS_STRING(tail), (size_t)PyBytes_GET_SIZE(tail));
        words[1] = watch;
        Py_BEGIN_ALLOW_THREADS
        reached = ((dc_driver)entry)(words, 0, stop, (void*)scratch);
        Py_END_ALLOW_THREADS
        return words[9] ? -3 : reached;
    }

    typedef int (*dc_launcher)(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, void*, void**, void**);

    #define DC_ROOM 4000

    /* Bytes of what a letter of struct stands for. */
    static CYTHON_INLINE Py_ssize_t dc_size(char code) {
        switch (code) {
            case 'b': case 'B': return 1;
            case 'h': case 'H': return 2;
            case 'i': case 'I': case 'f': return 4;
            default: return 8;
        }
    }

    /* The arguments as a C struct has them; its size, -1 if they do not fit, or -2
       with an exception. */
    static CYTHON_UNUSED Py_ssize_t dc_pack(char* room, const char* codes, PyObject* arguments) {
        Py_ssize_t at = 0, place, count = PyList_GET_SIZE(arguments);
        for (place = 0; place < count; place++) {
            PyObject* x = PyList_GET_ITEM(arguments, place);
            union { unsigned long long q; double d; float f; unsigned char c[8]; } value;
            char code = codes[place];
            Py_ssize_t size = dc_size(code);
            if (at > DC_ROOM - 16) return -1;
            if (code == 'f' || code == 'd') {
                double number = PyFloat_AsDouble(x);
                if (number == -1.0 && PyErr_Occurred()) return -2;
                if (code == 'd') value.d = number;
                else value.f = (float)number;
            } else {
                /* Low bytes first: what is narrower takes the first ones. */
                if (PyLong_CheckExact(x)) {
                    value.q = PyLong_AsUnsignedLongLongMask(x);
                } else {
                    PyObject* whole = PyNumber_Index(x);
                    if (whole == NULL) return -2;
                    value.q = PyLong_AsUnsignedLongLongMask(whole);
                    Py_DECREF(whole);
                }
                if (value.q == (unsigned long long)-1 && PyErr_Occurred()) return -2;
            }
            while (at & (size - 1)) room[at++] = 0;
            memcpy(room + at, value.c, (size_t)size);
            at += size;
        }
        return at;
    }

    /* As the documentation of native.py has it; -2 with an exception. */
    static CYTHON_UNUSED int dc_launch(unsigned long long entry, unsigned long long function,
                         PyObject* sizes, unsigned long long stream, PyObject* codes,
                         PyObject* arguments, PyObject* tail) {
        char room[DC_ROOM];
        unsigned side[6];
        int result;
        size_t used;
        Py_ssize_t packed, count = PyList_GET_SIZE(arguments), more = PyBytes_GET_SIZE(tail);
        void* extra[5];
        if (!entry || PyBytes_GET_SIZE(sizes) != sizeof side) return -1;
        if (PyBytes_GET_SIZE(codes) != count + (more > 0)) return -1;
        packed = dc_pack(room, PyBytes_AS_STRING(codes), arguments);
        if (packed < 0) return (int)packed;
        if (more > 0) {
            Py_ssize_t size = dc_size(PyBytes_AS_STRING(codes)[count]);
            while (packed & (size - 1)) room[packed++] = 0;
            if (packed + more > DC_ROOM) return -1;
            memcpy(room + packed, PyBytes_AS_STRING(tail), (size_t)more);
            packed += more;
        }
        memcpy(side, PyBytes_AS_STRING(sizes), sizeof side);
        used = (size_t)packed;
        extra[0] = (void*)1; extra[1] = room;   /* CU_LAUNCH_PARAM_BUFFER_POINTER */
        extra[2] = (void*)2; extra[3] = &used;  /* CU_LAUNCH_PARAM_BUFFER_SIZE */
        extra[4] = (void*)0;                    /* CU_LAUNCH_PARAM_END */
        Py_BEGIN_ALLOW_THREADS
        result = ((dc_launcher)(size_t)entry)(
            (void*)(size_t)function, side[0], side[1], side[2], side[3], side[4],
            side[5], 0, (void*)(size_t)stream, NULL, extra);
        Py_END_ALLOW_THREADS
        return result < 0 ? -1 : result;
    }
    """
    Py_ssize_t address "dc_address" (object array)
    bint is_aligned "dc_is_aligned" (object array)
    object lie "dc_lie" (object array, Py_ssize_t start)
    long long drive "dc_drive" (
        size_t entry, object frame, Py_ssize_t place, object addresses, object tail,
        Py_ssize_t watch, long long stop, size_t scratch,
    ) except -2
    object frame "dc_frame" ()
    int count "dc_count" (object totals, object kind) except -1
    object identity "dc_identity" (object x)
    object item "dc_item" (object x, Py_ssize_t place)
    Py_ssize_t mixed "dc_mixed" (object a, object b, object c)
    object place "dc_place" (object frame)
    object new "dc_new" (object base, object cls)
    object reference "dc_reference" (object x)
    object referent "dc_referent" (object reference)
    long long thread "dc_thread" ()
    bint replaced "dc_replaced" (object references, object reference) except -1
    object setting "dc_setting" (object variable, object otherwise)
    int launch "dc_launch" (
        unsigned long long entry, unsigned long long function, object sizes,
        unsigned long long stream, object codes, object arguments, object tail,
    ) except -2
