cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
    #define NPY_TARGET_VERSION NPY_2_1_API_VERSION
    #include <fenv.h>
    #include <string.h>
    #include <numpy/arrayobject.h>
    #include <numpy/arrayscalars.h>
    #include <numpy/ufuncobject.h>

    #define DC_KINDS 24
    #define DC_ERRORS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)
    #define DC_WARNS (1 << 31)  /* a flag: NumPy warns of the first write */
    #define DC_BOTH (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)

    /* NumPy's own instances of the dtypes of numbers, by their number. */
    static PyArray_Descr* dc_dtypes[DC_KINDS];
    static int dc_ready = 0;

    static int dc_begin(void) {
        int kind;
        if (_import_array() < 0 || _import_umath() < 0) return -1;
        for (kind = 0; kind < DC_KINDS; kind++) {
            if (kind > NPY_CLONGDOUBLE && kind != NPY_HALF) continue;
            dc_dtypes[kind] = PyArray_DescrFromType(kind);
            if (dc_dtypes[kind] == NULL) return -1;
        }
        dc_ready = 1;
        return 0;
    }

    static CYTHON_INLINE int dc_numpy(void) {
        return dc_ready ? 0 : dc_begin();
    }

    static CYTHON_INLINE Py_ssize_t dc_size_of(PyObject* array) {
        PyArrayObject* x = (PyArrayObject*)array;
        Py_ssize_t count = 1;
        int axis;
        for (axis = 0; axis < PyArray_NDIM(x); axis++) count *= PyArray_DIM(x, axis);
        return count;
    }

    /* The number of an array's dtype, if it is one of numbers as NumPy has it, and its
       elements lie where that asks for; else -1. */
    static CYTHON_INLINE int dc_kind(PyObject* x) {
        PyArray_Descr* dtype;
        int kind;
        if (!PyArray_CheckExact(x)) return -1;
        dtype = PyArray_DESCR((PyArrayObject*)x);
        kind = dtype->type_num;
        if (kind < 0 || kind >= DC_KINDS || dc_dtypes[kind] != dtype) return -1;
        return PyArray_ISALIGNED((PyArrayObject*)x) ? kind : -1;
    }

    /* What NumPy calls for operands of a dtype, and the dtype that this gives: the
       first row of its table. */
    static CYTHON_INLINE PyUFuncGenericFunction dc_loop(
        PyObject* ufunc, int operands, int kind, int* result, void** data
    ) {
        PyUFuncObject* found = (PyUFuncObject*)ufunc;
        const char* row;
        int place;
        if (Py_TYPE(ufunc) != &PyUFunc_Type) return NULL;
        if (found->nin != operands || found->nout != 1 || found->types == NULL) return NULL;
        row = found->types;
        for (place = 0; place < found->ntypes; place++, row += operands + 1) {
            if (row[0] != kind || row[operands - 1] != kind) continue;
            *result = row[operands];
            if (*result < 0 || *result >= DC_KINDS || dc_dtypes[(int)*result] == NULL)
                return NULL;
            *data = found->data == NULL ? NULL : found->data[place];
            return found->functions[place];
        }
        return NULL;
    }

    static CYTHON_INLINE void dc_clear(void) {
        if (fetestexcept(DC_ERRORS)) feclearexcept(DC_ERRORS);
    }

    /* What NumPy says of errors in a function; -1 with an exception. */
    static CYTHON_UNUSED int dc_tell(PyObject* ufunc) {
        int found = fetestexcept(DC_ERRORS), told = 0;
        if (PyErr_Occurred()) return -1;
        if (!found) return 0;
        if (found & FE_DIVBYZERO) told |= NPY_FPE_DIVIDEBYZERO;
        if (found & FE_OVERFLOW) told |= NPY_FPE_OVERFLOW;
        if (found & FE_UNDERFLOW) told |= NPY_FPE_UNDERFLOW;
        if (found & FE_INVALID) told |= NPY_FPE_INVALID;
        feclearexcept(DC_ERRORS);
        return PyUFunc_GiveFloatingpointErrors(((PyUFuncObject*)ufunc)->name, told);
    }

    /* An operand: where it begins, and its step; a number has the step 0. */
    typedef struct { char* data; npy_intp step; double number; } dc_operand;

    /* Whether all elements lie one after another, and NumPy gives the result so. */
    static CYTHON_INLINE int dc_dense(PyArrayObject* x) {
        return (PyArray_FLAGS(x) & DC_BOTH) == NPY_ARRAY_C_CONTIGUOUS;
    }

    static CYTHON_INLINE npy_intp dc_step(PyArrayObject* x) {
        return PyArray_NDIM(x) == 1 ? PyArray_STRIDE(x, 0) : PyArray_ITEMSIZE(x);
    }

    /* A number or an array without axes beside arrays of a dtype. */
    static CYTHON_INLINE int dc_number(PyObject* x, int kind, dc_operand* into) {
        if (kind == NPY_DOUBLE && Py_TYPE(x) == &PyDoubleArrType_Type) {
            into->number = PyArrayScalar_VAL(x, Double);
        } else if (kind == NPY_DOUBLE && PyFloat_CheckExact(x)) {
            into->number = PyFloat_AS_DOUBLE(x);
        } else if (dc_kind(x) == kind && PyArray_NDIM((PyArrayObject*)x) == 0) {
            into->data = PyArray_BYTES((PyArrayObject*)x);
            into->step = 0;
            return 1;
        } else {
            return 0;
        }
        into->data = (char*)&into->number;
        into->step = 0;
        return 1;
    }

    /* Both operands of a loop, and the array that has the result's shape; NULL where
       NumPy's own way decides. */
    static CYTHON_INLINE PyArrayObject* dc_pair(
        PyObject* a, PyObject* b, int* kind, dc_operand* first, dc_operand* second
    ) {
        PyArrayObject *x = (PyArrayObject*)a, *y = (PyArrayObject*)b, *shape = NULL;
        int axes, left = dc_kind(a), right;
        if (left >= 0 && PyArray_NDIM(x) > 0) {
            shape = x;
            *kind = left;
            if (!dc_number(b, left, second)) {
                right = dc_kind(b);
                axes = PyArray_NDIM(x);
                if (right != left || PyArray_NDIM(y) != axes) return NULL;
                if (memcmp(PyArray_DIMS(x), PyArray_DIMS(y), axes * sizeof(npy_intp)))
                    return NULL;
                if (axes > 1 && !dc_dense(y)) return NULL;
                second->data = PyArray_BYTES(y);
                second->step = dc_step(y);
            }
            first->data = PyArray_BYTES(x);
            first->step = dc_step(x);
        } else {
            right = dc_kind(b);
            if (right < 0 || PyArray_NDIM(y) == 0 || !dc_number(a, right, first))
                return NULL;
            shape = y;
            *kind = right;
            second->data = PyArray_BYTES(y);
            second->step = dc_step(y);
        }
        if (PyArray_NDIM(shape) > 1 && !dc_dense(shape)) return NULL;
        return shape;
    }

    static CYTHON_INLINE PyObject* dc_called(PyObject* function, PyObject* a, PyObject* b) {
        PyObject* given[2];
        given[0] = a;
        given[1] = b;
        return PyObject_Vectorcall(function, given, b == NULL ? 1 : 2, NULL);
    }

    static CYTHON_INLINE PyArrayObject* dc_like(PyArrayObject* shape, int kind) {
        Py_INCREF(dc_dtypes[kind]);
        return (PyArrayObject*)PyArray_NewFromDescr(
            &PyArray_Type, dc_dtypes[kind], PyArray_NDIM(shape), PyArray_DIMS(shape),
            NULL, NULL, 0, NULL);
    }

    /* As the documentation of native_arrays.py has it, and so for all that follows. */
    static CYTHON_UNUSED PyObject* dc_applied(
        PyObject* ufunc, PyObject* function, PyObject* a, PyObject* b
    ) {
        dc_operand first, second;
        PyArrayObject *shape, *made;
        PyUFuncGenericFunction loop;
        int kind, result;
        void* data;
        char* given[3];
        npy_intp steps[3], count;
        if (dc_numpy() < 0) return NULL;
        shape = dc_pair(a, b, &kind, &first, &second);
        if (shape == NULL || (count = dc_size_of((PyObject*)shape)) == 0)
            return dc_called(function, a, b);
        loop = dc_loop(ufunc, 2, kind, &result, &data);
        if (loop == NULL) return dc_called(function, a, b);
        made = dc_like(shape, result);
        if (made == NULL) return NULL;
        given[0] = first.data; given[1] = second.data; given[2] = PyArray_BYTES(made);
        steps[0] = first.step; steps[1] = second.step; steps[2] = PyArray_ITEMSIZE(made);
        dc_clear();
        loop(given, &count, steps, data);
        if (fetestexcept(DC_ERRORS) || PyErr_Occurred()) {
            PyErr_Clear();  /* NumPy says it */
            Py_DECREF(made);
            return dc_called(function, a, b);
        }
        return (PyObject*)made;
    }

    /* One of NumPy's numbers. */
    static CYTHON_INLINE PyObject* dc_scalar(char* data, int kind, PyObject* owner) {
        PyObject* made;
        if (kind == NPY_DOUBLE) {
            made = PyDoubleArrType_Type.tp_alloc(&PyDoubleArrType_Type, 0);
            if (made != NULL) memcpy(&PyArrayScalar_VAL(made, Double), data, sizeof(double));
            return made;
        }
        return PyArray_Scalar(data, dc_dtypes[kind], owner);
    }

    /* The same of a number: NULL without an exception where NumPy decides. */
    static CYTHON_INLINE PyObject* dc_applied_to_number(PyObject* ufunc, double number) {
        PyUFuncGenericFunction loop;
        int result;
        void* data;
        double found = 0.0;
        char* given[2];
        npy_intp steps[2] = {sizeof(double), sizeof(double)}, count = 1;
        loop = dc_loop(ufunc, 1, NPY_DOUBLE, &result, &data);
        if (loop == NULL || result != NPY_DOUBLE) return NULL;
        given[0] = (char*)&number; given[1] = (char*)&found;
        dc_clear();
        loop(given, &count, steps, data);
        if (fetestexcept(DC_ERRORS)) return NULL;
        return dc_scalar((char*)&found, NPY_DOUBLE, NULL);
    }

    static CYTHON_UNUSED PyObject* dc_applied_alone(
        PyObject* ufunc, PyObject* function, PyObject* a
    ) {
        PyArrayObject *x = (PyArrayObject*)a, *made;
        PyUFuncGenericFunction loop;
        int kind, result;
        void* data;
        char* given[2];
        npy_intp steps[2], count;
        if (dc_numpy() < 0) return NULL;
        if (Py_TYPE(a) == &PyDoubleArrType_Type || PyFloat_CheckExact(a)) {
            PyObject* found = dc_applied_to_number(ufunc, PyFloat_AS_DOUBLE(a));
            if (found != NULL || PyErr_Occurred()) return found;
            return dc_called(function, a, NULL);
        }
        kind = dc_kind(a);
        if (kind < 0 || PyArray_NDIM(x) == 0 || (count = dc_size_of(a)) == 0)
            return dc_called(function, a, NULL);
        if (PyArray_NDIM(x) > 1 && !dc_dense(x)) return dc_called(function, a, NULL);
        loop = dc_loop(ufunc, 1, kind, &result, &data);
        if (loop == NULL) return dc_called(function, a, NULL);
        made = dc_like(x, result);
        if (made == NULL) return NULL;
        given[0] = PyArray_BYTES(x); given[1] = PyArray_BYTES(made);
        steps[0] = dc_step(x); steps[1] = PyArray_ITEMSIZE(made);
        dc_clear();
        loop(given, &count, steps, data);
        if (fetestexcept(DC_ERRORS) || PyErr_Occurred()) {
            PyErr_Clear();
            Py_DECREF(made);
            return dc_called(function, a, NULL);
        }
        return (PyObject*)made;
    }

    /* Whether elements of an operand may lie where others of the result do. */
    static CYTHON_INLINE int dc_meets(
        char* data, npy_intp step, char* target, npy_intp pace, npy_intp count, npy_intp size
    ) {
        npy_intp length = (count - 1) * step, width = (count - 1) * pace;
        char *low = length < 0 ? data + length : data, *high = length < 0 ? data : data + length;
        char *from = width < 0 ? target + width : target, *to = width < 0 ? target : target + width;
        if (data == target && step == pace) return 0;
        return high + size > from && low < to + size;
    }

    static CYTHON_UNUSED int dc_changed(
        PyObject* ufunc, PyObject* function, PyObject* a, PyObject* b
    ) {
        dc_operand first, second;
        PyArrayObject* x = (PyArrayObject*)a;
        PyUFuncGenericFunction loop;
        PyObject* done;
        int kind, result;
        void* data;
        char* given[3];
        npy_intp steps[3], count, size;
        if (dc_numpy() < 0) return -1;
        if (dc_pair(a, b, &kind, &first, &second) != x) goto called;
        count = dc_size_of(a);
        size = PyArray_ITEMSIZE(x);
        if (count == 0 || (first.step < size && first.step > -size)) goto called;
        if (!PyArray_ISWRITEABLE(x) || PyArray_FLAGS(x) & DC_WARNS) goto called;
        loop = dc_loop(ufunc, 2, kind, &result, &data);
        if (loop == NULL || result != kind) goto called;
        if (dc_meets(second.data, second.step, first.data, first.step, count, size)) goto called;
        given[0] = given[2] = first.data; given[1] = second.data;
        steps[0] = steps[2] = first.step; steps[1] = second.step;
        dc_clear();
        loop(given, &count, steps, data);
        return dc_tell(ufunc);
    called:
        done = dc_called(function, a, b);
        if (done == NULL) return -1;
        Py_DECREF(done);
        return 0;
    }

    /* Whether two vectors of one dtype have a product, and how long they are. */
    static CYTHON_INLINE int dc_vectors(PyObject* a, PyObject* b, npy_intp* count) {
        PyArrayObject *x = (PyArrayObject*)a, *y = (PyArrayObject*)b;
        int kind = dc_kind(a);
        if (kind != NPY_DOUBLE && kind != NPY_FLOAT) return -1;
        if (dc_kind(b) != kind || PyArray_NDIM(x) != 1 || PyArray_NDIM(y) != 1) return -1;
        *count = PyArray_DIM(x, 0);
        return *count == PyArray_DIM(y, 0) ? kind : -1;
    }

    static CYTHON_UNUSED PyObject* dc_product(
        PyObject* ufunc, PyObject* function, PyObject* a, PyObject* b
    ) {
        PyArrayObject *x = (PyArrayObject*)a, *y = (PyArrayObject*)b;
        PyUFuncGenericFunction loop;
        int kind, result;
        void* data;
        double number = 0.0;
        char* given[3];
        npy_intp lengths[4], steps[9] = {0}, count;
        if (dc_numpy() < 0) return NULL;
        kind = dc_vectors(a, b, &count);
        if (kind < 0 || count == 0) return dc_called(function, a, b);
        loop = dc_loop(ufunc, 2, kind, &result, &data);
        if (loop == NULL || result != kind) return dc_called(function, a, b);
        given[0] = PyArray_BYTES(x); given[1] = PyArray_BYTES(y); given[2] = (char*)&number;
        /* Of (n, k) and (k, m): one of these, n, k and m. */
        lengths[0] = lengths[1] = lengths[3] = 1;
        lengths[2] = count;
        steps[4] = PyArray_STRIDE(x, 0);
        steps[5] = PyArray_STRIDE(y, 0);
        dc_clear();
        loop(given, lengths, steps, data);
        if (fetestexcept(DC_ERRORS)) return dc_called(function, a, b);
        return dc_scalar((char*)&number, kind, NULL);
    }

    static CYTHON_INLINE int dc_forwards(PyArrayObject* x) {
        npy_intp step = PyArray_STRIDE(x, 0);
        return step > 0 && step % PyArray_ITEMSIZE(x) == 0;
    }

    static CYTHON_UNUSED PyObject* dc_dotted(PyObject* a, PyObject* b) {
        PyArrayObject *x = (PyArrayObject*)a, *y = (PyArrayObject*)b;
        int kind;
        double number = 0.0;
        npy_intp count;
        if (dc_numpy() < 0) return NULL;
        kind = dc_vectors(a, b, &count);
        /* A vector of one element is a number in NumPy's eyes, and it copies what does not
           lie forwards. */
        if (kind < 0 || count < 2 || !dc_forwards(x) || !dc_forwards(y))
            Py_RETURN_NONE;
        dc_clear();
        PyDataType_GetArrFuncs(dc_dtypes[kind])->dotfunc(
            PyArray_BYTES(x), PyArray_STRIDE(x, 0), PyArray_BYTES(y), PyArray_STRIDE(y, 0),
            &number, count, NULL);
        if (fetestexcept(DC_ERRORS)) Py_RETURN_NONE;
        return dc_scalar((char*)&number, kind, NULL);
    }

    /* A number of a key; 1 where it is one within the bounds. */
    static CYTHON_INLINE int dc_index(PyObject* item, npy_intp length, npy_intp* index) {
        if (PyLong_CheckExact(item)) *index = PyLong_AsSsize_t(item);
        else if (PyArray_IsScalar(item, Integer)) *index = PyNumber_AsSsize_t(item, NULL);
        else return 0;
        if (*index == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        if (*index < 0) *index += length;
        return *index >= 0 && *index < length;
    }

    /* The part of an array that a key of integers, slices and new axes shows: its axes,
       and where it begins; -1 where NumPy decides.  ``whole`` says that it is one
       element. */
    static CYTHON_INLINE int dc_part(
        PyArrayObject* x, PyObject* key, npy_intp* lengths, npy_intp* steps, char** data,
        int* whole
    ) {
        int axes = PyArray_NDIM(x), axis = 0, made = 0;
        Py_ssize_t place, count = 1;
        char* start = PyArray_BYTES(x);
        *whole = 1;
        if (PyTuple_CheckExact(key)) count = PyTuple_GET_SIZE(key);
        if (count > axes + 2) return -1;
        for (place = 0; place < count; place++) {
            PyObject* item = PyTuple_CheckExact(key) ? PyTuple_GET_ITEM(key, place) : key;
            if (item == Py_None) {
                *whole = 0;
                if (made >= NPY_MAXDIMS) return -1;
                lengths[made] = 1;
                steps[made++] = 0;
                continue;
            }
            if (axis >= axes) return -1;
            if (PySlice_Check(item)) {
                Py_ssize_t first, last, step, length;
                *whole = 0;
                if (made >= NPY_MAXDIMS) return -1;
                if (PySlice_Unpack(item, &first, &last, &step) < 0) {
                    PyErr_Clear();
                    return -1;
                }
                length = PySlice_AdjustIndices(PyArray_DIM(x, axis), &first, &last, step);
                if (length <= 0) { length = 0; step = 1; first = 0; }
                start += first * PyArray_STRIDE(x, axis);
                lengths[made] = length;
                steps[made++] = step * PyArray_STRIDE(x, axis);
            } else {
                npy_intp index;
                if (!dc_index(item, PyArray_DIM(x, axis), &index)) return -1;
                start += index * PyArray_STRIDE(x, axis);
            }
            axis++;
        }
        for (; axis < axes; axis++) {
            *whole = 0;
            if (made >= NPY_MAXDIMS) return -1;
            lengths[made] = PyArray_DIM(x, axis);
            steps[made++] = PyArray_STRIDE(x, axis);
        }
        *data = start;
        return made;
    }

    static CYTHON_UNUSED PyObject* dc_item_at(PyObject* array, PyObject* key) {
        PyArrayObject* x = (PyArrayObject*)array;
        npy_intp lengths[NPY_MAXDIMS], steps[NPY_MAXDIMS];
        char* data;
        PyObject* made;
        int axes, kind, whole;
        if (dc_numpy() < 0) return NULL;
        kind = dc_kind(array);
        if (kind < 0) return PyObject_GetItem(array, key);
        axes = dc_part(x, key, lengths, steps, &data, &whole);
        if (axes < 0) return PyObject_GetItem(array, key);
        if (whole && PyArray_NDIM(x) > 0) return dc_scalar(data, kind, array);
        if (axes == 0) return PyObject_GetItem(array, key);
        Py_INCREF(dc_dtypes[kind]);
        made = PyArray_NewFromDescr(
            &PyArray_Type, dc_dtypes[kind], axes, lengths, steps, data, PyArray_FLAGS(x),
            NULL);
        if (made == NULL) return NULL;
        Py_INCREF(array);
        if (PyArray_SetBaseObject((PyArrayObject*)made, array) < 0) {
            Py_DECREF(made);
            return NULL;
        }
        return made;
    }

    static CYTHON_UNUSED int dc_are_same(PyObject* a, PyObject* b) {
        PyArrayObject *x = (PyArrayObject*)a, *y = (PyArrayObject*)b;
        size_t length;
        if (!PyArray_CheckExact(a) || !PyArray_CheckExact(b)) return 0;
        if (PyArray_DATA(x) != PyArray_DATA(y) || PyArray_NDIM(x) != PyArray_NDIM(y)) return 0;
        if (PyArray_DESCR(x) != PyArray_DESCR(y)) return 0;
        length = (size_t)PyArray_NDIM(x) * sizeof(npy_intp);
        if (memcmp(PyArray_DIMS(x), PyArray_DIMS(y), length)) return 0;
        return !memcmp(PyArray_STRIDES(x), PyArray_STRIDES(y), length);
    }

    static CYTHON_UNUSED int dc_put(PyObject* array, PyObject* key, PyObject* value) {
        PyArrayObject *x = (PyArrayObject*)array, *y = (PyArrayObject*)value;
        npy_intp lengths[NPY_MAXDIMS], steps[NPY_MAXDIMS], place, size;
        char* data;
        double number;
        int axes, kind, whole;
        if (dc_numpy() < 0) return -1;
        kind = dc_kind(array);
        if (kind < 0 || !PyArray_ISWRITEABLE(x) || PyArray_NDIM(x) == 0) goto called;
        if (PyArray_FLAGS(x) & DC_WARNS) goto called;
        if (kind == NPY_DOUBLE && PyFloat_Check(value)) {
            if (!PyFloat_CheckExact(value) && Py_TYPE(value) != &PyDoubleArrType_Type)
                goto called;
            number = PyFloat_AS_DOUBLE(value);
            axes = dc_part(x, key, lengths, steps, &data, &whole);
            if (axes < 0 || !whole) goto called;
            memcpy(data, &number, sizeof number);
            return 0;
        }
        if (dc_kind(value) != kind || PyArray_NDIM(y) != 1) goto called;
        axes = dc_part(x, key, lengths, steps, &data, &whole);
        size = PyArray_ITEMSIZE(x);
        if (axes != 1 || lengths[0] != PyArray_DIM(y, 0) || lengths[0] == 0) goto called;
        if (size != 8 || dc_meets(
                PyArray_BYTES(y), PyArray_STRIDE(y, 0), data, steps[0], lengths[0], size))
            goto called;
        if (steps[0] == 8 && PyArray_STRIDE(y, 0) == 8) {
            memmove(data, PyArray_BYTES(y), (size_t)lengths[0] * 8);
        } else {
            char* from = PyArray_BYTES(y);
            for (place = 0; place < lengths[0]; place++) {
                memcpy(data, from, 8);
                data += steps[0];
                from += PyArray_STRIDE(y, 0);
            }
        }
        return 0;
    called:
        return PyObject_SetItem(array, key, value);
    }
    """
    object applied "dc_applied" (object ufunc, object function, object a, object b)
    object applied_alone "dc_applied_alone" (object ufunc, object function, object a)
    int changed "dc_changed" (object ufunc, object function, object a, object b) except -1
    object product "dc_product" (object ufunc, object function, object a, object b)
    Py_ssize_t size_of "dc_size_of" (object array)
    object dotted "dc_dotted" (object a, object b)
    object item_at "dc_item_at" (object array, object key)
    int are_same "dc_are_same" (object a, object b) except -1
    int put "dc_put" (object array, object key, object value) except -1
