// The Python side: reads the arguments into a Task, lets go of the interpreter, and runs the engine.
//
// `attention` is headwork.attention itself. It takes at once what needs no thought: NumPy arrays of float32 or
// float64 with neighbouring numbers in the last axis, and plain options. Whatever else it is given, right or wrong, it
// hands to the Python path (mechanism/calling.py) untouched, which checks it, makes it plain and calls `run`.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "dispatch.hpp"
#include "pool.hpp"

namespace {

using headwork::Index;
using headwork::kUnbounded;
using headwork::MaskStrides;
using headwork::Strides;
using headwork::Task;

constexpr double kWorthLettingGo = 1e5;  // multiplications, some 5 µs: letting go of the interpreter costs 0.1
constexpr double kWorthAsking = 1e9;     // multiplications, some 10 ms: from there on Ctrl-C is looked for
constexpr double kMostWork = 0x1p58;     // multiplications, days: no product of sizes overflows below it
constexpr Index kMostKeys = std::numeric_limits<std::int32_t>::max();  // the engines count them in 32 bits in float
constexpr Index kMostWhole = Index(1) << 53;  // whole numbers beyond it are refused by the Python path

// Every argument, borrowed; null where it was not given.
enum Argument {
    kQuery, kKey, kValue,
    kMask, kCausal, kOffset, kScale, kSoftcap, kWindow, kAlibi, kSink, kLengths, kLayout, kThreads, kOut,
    kReturnLogsumexp, kCotangent, kOutput, kLogsumexp, kArguments
};
const char* const kNames[kArguments] = {"query",   "key",    "value",  "mask",  "causal",  "offset",
                                        "scale",   "softcap", "window", "alibi", "sink",    "lengths",
                                        "layout",  "threads", "out",    "return_logsumexp", "cotangent",
                                        "output", "logsumexp"};
PyObject* interned[kArguments];
int default_threads = 1;

// False: an argument that does not exist, twice, or too many. The Python path says so.
bool read_arguments(PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** found) {
    constexpr Argument kPositional[] = {kQuery, kKey, kValue, kCotangent};
    if (count > 4) return false;
    for (Py_ssize_t i = 0; i < count; i++) found[kPositional[i]] = args[i];
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t n = 0; n < named; n++) {
        PyObject* name = PyTuple_GET_ITEM(names, n);
        int i = 0;
        while (i < kArguments && interned[i] != name) i++;
        if (i == kArguments) {  // names are interned as a rule; compare the text otherwise
            for (i = 0; i < kArguments; i++)
                if (PyUnicode_CompareWithASCIIString(name, kNames[i]) == 0) break;
            if (i == kArguments) return false;
        }
        if (found[i]) return false;
        found[i] = args[count + n];
    }
    for (int i = 0; i < kArguments; i++)
        if (found[i] == Py_None) found[i] = nullptr;
    return found[kQuery] && found[kKey] && found[kValue];
}

// An array as (batch, head, row, column) with strides in numbers.
struct View {
    char* data;
    Index B, H, T, D;
    Strides strides;
};

// False unless it is such an array: `heads_last` is layout BTHD. (T, D), and (H, T, D) or (T, H, D), are taken too.
bool view_of(PyObject* object, int type, bool heads_last, View& view) {
    if (!PyArray_CheckExact(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const int axes = PyArray_NDIM(array);
    const int least = heads_last ? 3 : 2;
    if (PyArray_TYPE(array) != type || axes < least || axes > 4 || !PyArray_ISBEHAVED_RO(array)) return false;
    const npy_intp *shape = PyArray_DIMS(array), *bytes = PyArray_STRIDES(array);
    const npy_intp size = PyArray_ITEMSIZE(array);
    if (shape[axes - 1] > 1 && bytes[axes - 1] != size && PyArray_SIZE(array) > 0) return false;
    for (int i = 0; i < axes; i++)
        if (bytes[i] % size) return false;
    const auto length = [&](int axis) { return axis < 0 ? Index(1) : Index(shape[axis]); };
    const auto stride = [&](int axis) { return axis < 0 ? Index(0) : Index(bytes[axis] / size); };
    const int row = heads_last ? axes - 3 : axes - 2, head = heads_last ? axes - 2 : axes - 3;
    view = {PyArray_BYTES(array), length(axes - 4), axes < 3 ? 1 : length(head), length(row), length(axes - 1),
            {stride(axes - 4), axes < 3 ? 0 : stride(head), stride(row)}};
    return true;
}

// A number that T can hold with room for the factors that the engines multiply it by.
template <class T>
bool number(PyObject* object, double& to) {
    if (PyFloat_Check(object))  // numpy.float64 is one
        to = PyFloat_AS_DOUBLE(object);
    else if (PyLong_CheckExact(object))
        to = PyLong_AsDouble(object);
    else
        return false;
    if (PyErr_Occurred()) return PyErr_Clear(), false;
    return std::abs(to) < double(std::numeric_limits<T>::max() / 4);
}

bool whole(PyObject* object, Index& to) {
    if (!PyLong_CheckExact(object)) return false;
    to = PyLong_AsSsize_t(object);
    if (PyErr_Occurred()) return PyErr_Clear(), false;
    return to > -kMostWhole && to < kMostWhole;
}

bool truth(PyObject* object, bool& to) {
    to = object == Py_True;
    return !object || PyBool_Check(object);
}

// A one-dimensional array of that type and length, in one piece.
template <class T>
bool list_of(PyObject* object, int type, Index length, const T*& to) {
    if (!PyArray_CheckExact(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_TYPE(array) != type || PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != length ||
        !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array))
        return false;
    to = static_cast<const T*>(PyArray_DATA(array));
    return true;
}

// NaN and +inf have no meaning in a mask that is added; the Python path says so.
template <class T>
bool all_below_infinity(const T* mask, const npy_intp* shape, const Index* strides, int axes) {
    if (axes == 0) return *mask < std::numeric_limits<T>::infinity();
    bool below = true;
    if (axes == 1 && strides[0] == 1) {
        for (npy_intp i = 0; i < shape[0]; i++) below &= mask[i] < std::numeric_limits<T>::infinity();
        return below;
    }
    const npy_intp length = strides[0] == 0 ? std::min<npy_intp>(shape[0], 1) : shape[0];
    for (npy_intp i = 0; i < length && below; i++)
        below = all_below_infinity(mask + i * strides[0], shape + 1, strides + 1, axes - 1);
    return below;
}

// A mask that broadcasts to (B, H, Tq, Tk); for arrays without those axes it has none of them either.
template <class T>
bool read_mask(PyObject* object, int type, int axes, Task<T>& task) {
    if (!PyArray_CheckExact(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const bool is_bool = PyArray_TYPE(array) == NPY_BOOL;
    if ((!is_bool && PyArray_TYPE(array) != type) || PyArray_NDIM(array) > axes || !PyArray_ISBEHAVED_RO(array))
        return false;
    const Index wanted[4] = {task.B, task.H, task.Tq, task.Tk};
    Index strides[4] = {0, 0, 0, 0};
    const int missing = 4 - PyArray_NDIM(array);
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        const npy_intp length = PyArray_DIM(array, i), bytes = PyArray_STRIDE(array, i);
        if (length != wanted[missing + i] && length != 1) return false;
        if (bytes % PyArray_ITEMSIZE(array)) return false;
        if (length != 1) strides[missing + i] = bytes / PyArray_ITEMSIZE(array);
    }
    const MaskStrides found{strides[0], strides[1], strides[2], strides[3]};
    if (is_bool) {
        task.bool_mask = static_cast<const std::uint8_t*>(PyArray_DATA(array));
        task.bool_strides = found;
    } else {
        task.float_mask = static_cast<const T*>(PyArray_DATA(array));
        task.float_strides = found;
        return all_below_infinity(task.float_mask, PyArray_DIMS(array), strides + missing, PyArray_NDIM(array));
    }
    return true;
}

bool window_side(PyObject* object, Index& to) {
    return object == Py_None || (whole(object, to) && to >= 0);
}

// What a Task needs beside the arguments: its own (B,) arrays.
struct Held {
    std::vector<Index> offset, length;
};

bool read_options(PyObject* const* found, bool& causal, Index& left, Index& right) {
    if (!truth(found[kCausal], causal)) return false;
    left = right = kUnbounded;
    if (PyObject* window = found[kWindow]) {
        if (!PyTuple_CheckExact(window) || PyTuple_GET_SIZE(window) != 2) return false;
        if (!window_side(PyTuple_GET_ITEM(window, 0), left) || !window_side(PyTuple_GET_ITEM(window, 1), right))
            return false;
    }
    if (causal) right = 0;
    return true;
}

bool read_positions(PyObject* const* found, int axes, Index B, Index Tq, Index Tk, Held& held) {
    held.length.assign(B, Tk);
    if (found[kLengths]) {
        const npy_int64* lengths;
        if (axes < 4 || !list_of(found[kLengths], NPY_INT64, B, lengths)) return false;
        for (Index b = 0; b < B; b++) {
            if (lengths[b] < 0 || lengths[b] > Tk) return false;
            held.length[b] = lengths[b];
        }
    }
    held.offset.resize(B);
    Index same;
    const npy_int64* each = nullptr;
    if (!found[kOffset])
        for (Index b = 0; b < B; b++) held.offset[b] = held.length[b] - Tq;
    else if (whole(found[kOffset], same))
        held.offset.assign(B, same);
    else if (axes == 4 && list_of(found[kOffset], NPY_INT64, B, each))
        for (Index b = 0; b < B; b++) held.offset[b] = each[b];
    else
        return false;
    return std::all_of(held.offset.begin(), held.offset.end(),
                       [](Index offset) { return offset > -kMostWhole && offset < kMostWhole; });
}

// Multiplications of a forward call; an axis without entries counts as one, so that the others are bounded too.
template <class T>
double work_of(const Task<T>& task) {
    const auto some = [](Index size) { return double(std::max(size, Index(1))); };
    return some(task.B) * some(task.H) * some(task.Tq) * some(task.Tk) * some(task.D + task.Dv);
}

template <class T>
bool read_task(PyObject* const* found, int type, bool heads_last, Held& held, Task<T>& task, int& axes) {
    View query, key, value;
    if (!view_of(found[kQuery], type, heads_last, query) || !view_of(found[kKey], type, heads_last, key) ||
        !view_of(found[kValue], type, heads_last, value))
        return false;
    axes = PyArray_NDIM(reinterpret_cast<PyArrayObject*>(found[kQuery]));
    if (PyArray_NDIM(reinterpret_cast<PyArrayObject*>(found[kKey])) != axes ||
        PyArray_NDIM(reinterpret_cast<PyArrayObject*>(found[kValue])) != axes)
        return false;
    if (key.B != query.B || value.B != query.B || value.H != key.H || value.T != key.T || key.D != query.D ||
        query.D < 1 || key.T < 1 || value.D < 1 || query.H < 1 || key.H < 1 || query.H % key.H || key.T > kMostKeys)
        return false;  // also what the Python path says is an error
    task = Task<T>{};
    task.B = query.B, task.H = query.H, task.Hkv = key.H, task.Tq = query.T, task.Tk = key.T;
    task.D = query.D, task.Dv = value.D;
    task.query = reinterpret_cast<T*>(query.data), task.query_strides = query.strides;
    task.key = reinterpret_cast<T*>(key.data), task.key_strides = key.strides;
    task.value = reinterpret_cast<T*>(value.data), task.value_strides = value.strides;

    if (work_of(task) > kMostWork) return false;

    double scale = 1 / std::sqrt(double(task.D)), softcap = 0;
    if (found[kScale] && !number<T>(found[kScale], scale)) return false;
    if (found[kSoftcap] &&
        (!number<T>(found[kSoftcap], softcap) || softcap < double(std::numeric_limits<T>::min() * 4)))
        return false;
    task.scale = T(scale), task.softcap = T(softcap);
    bool causal;
    if (!read_options(found, causal, task.left, task.right)) return false;
    if (!read_positions(found, axes, task.B, task.Tq, task.Tk, held)) return false;
    task.offset = held.offset.data(), task.length = held.length.data();
    if (found[kMask] && !read_mask(found[kMask], type, axes, task)) return false;
    const auto is_slope = [](T slope) { return std::abs(slope) < std::numeric_limits<T>::max() / 4; };
    const auto is_logit = [&](T logit) { return is_slope(logit) || logit == -std::numeric_limits<T>::infinity(); };
    if (found[kAlibi] && !(list_of(found[kAlibi], type, task.H, task.alibi) &&
                           std::all_of(task.alibi, task.alibi + task.H, is_slope)))
        return false;
    if (found[kSink] && !(list_of(found[kSink], type, task.H, task.sink) &&
                          std::all_of(task.sink, task.sink + task.H, is_logit)))
        return false;
    Index threads = default_threads;
    if (found[kThreads] && (!whole(found[kThreads], threads) || threads < 1)) return false;
    task.threads = int(std::min<Index>(threads, 1024));
    return true;
}

// A new array in the shape and layout of the query, as wide as the value.
PyObject* new_output(PyObject* query, int type, int axes, Index Dv) {
    npy_intp shape[4];
    std::copy_n(PyArray_DIMS(reinterpret_cast<PyArrayObject*>(query)), axes, shape);
    shape[axes - 1] = Dv;
    return PyArray_SimpleNew(axes, shape, type);
}

// The bytes from an array's first entry to its last.
struct Extent {
    const char *begin, *end;
};

Extent extent_of(PyArrayObject* array) {
    const char* data = PyArray_BYTES(array);
    if (PyArray_SIZE(array) == 0) return {data, data};
    Extent extent{data, data + PyArray_ITEMSIZE(array)};
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        const npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        (reach < 0 ? extent.begin : extent.end) += reach;
    }
    return extent;
}

// Whether `out` can be written while the other arguments are read: it may lie over none of them. In one piece, so that
// none of its own entries lie over each other.
bool is_apart(PyObject* const* found) {
    auto* out = reinterpret_cast<PyArrayObject*>(found[kOut]);
    if (!PyArray_IS_C_CONTIGUOUS(out) || !PyArray_ISWRITEABLE(out)) return false;
    const Extent its = extent_of(out);
    for (int i = 0; i < kArguments; i++) {
        if (i == kOut || !found[i] || !PyArray_Check(found[i])) continue;
        const Extent other = extent_of(reinterpret_cast<PyArrayObject*>(found[i]));
        if (its.begin < other.end && other.begin < its.end) return false;
    }
    return true;
}

// While one exists, other Python threads run. In a long call it comes back now and then, for Ctrl-C.
class LetGo : public headwork::Asked {
public:
    explicit LetGo(bool is_long) : state_(PyEval_SaveThread()), before_(headwork::asked) {
        headwork::asked = is_long ? this : nullptr;
    }
    ~LetGo() {
        headwork::asked = before_;
        PyEval_RestoreThread(state_);
    }
    LetGo(const LetGo&) = delete;

    // Whether a signal's handler raised. It is Python, and may call attention itself, which must not ask here again.
    bool should_stop() override {
        headwork::asked = nullptr;
        PyEval_RestoreThread(state_);
        const bool raised = PyErr_CheckSignals() != 0;
        state_ = PyEval_SaveThread();
        headwork::asked = this;
        return raised;
    }

private:
    PyThreadState* state_;
    headwork::Asked* before_;
};

// Throws std::bad_alloc, or headwork::Stopped with Python's error set.
template <class T>
void run_engine(void (*work)(const Task<T>&), const Task<T>& task) {
    if (task.B == 0) return;
    std::optional<LetGo> let_go;
    if (work_of(task) > kWorthLettingGo) let_go.emplace(work_of(task) > kWorthAsking);
    work(task);
}

// An owned reference that is let go of at the end, unless it is handed on.
class Owned {
public:
    explicit Owned(PyObject* object) : object_(object) {}
    ~Owned() { Py_XDECREF(object_); }
    Owned(const Owned&) = delete;
    PyObject* get() const { return object_; }
    PyObject* hand_on() { return std::exchange(object_, nullptr); }

private:
    PyObject* object_;
};

template <class T>
constexpr int kType = std::is_same_v<T, float> ? NPY_FLOAT32 : NPY_FLOAT64;

template <class T>
auto forward_of(const headwork::Engine& engine) {
    if constexpr (std::is_same_v<T, float>)
        return engine.forward_float;
    else
        return engine.forward_double;
}

template <class T>
auto backward_of(const headwork::Engine& engine) {
    if constexpr (std::is_same_v<T, float>)
        return engine.backward_float;
    else
        return engine.backward_double;
}

bool same_sizes(const View& view, Index B, Index H, Index rows, Index D) {
    return view.B == B && view.H == H && view.T == rows && view.D == D;
}

// Both give null with is_plain false for arguments that need the Python path, and null with an error set otherwise.
template <class T>
PyObject* forward(PyObject* const* found, bool heads_last, const headwork::Engine& engine, bool& is_plain) {
    Held held;
    Task<T> task;
    int axes;
    bool with_logsumexp;
    View out_view;
    is_plain = !found[kCotangent] && !found[kOutput] && !found[kLogsumexp] &&
               read_task(found, kType<T>, heads_last, held, task, axes) &&
               truth(found[kReturnLogsumexp], with_logsumexp);
    if (is_plain && found[kOut])
        is_plain = view_of(found[kOut], kType<T>, heads_last, out_view) && is_apart(found) &&
                   PyArray_NDIM(reinterpret_cast<PyArrayObject*>(found[kOut])) == axes &&
                   same_sizes(out_view, task.B, task.H, task.Tq, task.Dv);
    if (!is_plain) return nullptr;
    Owned out(found[kOut] ? (Py_INCREF(found[kOut]), found[kOut]) : new_output(found[kQuery], kType<T>, axes, task.Dv));
    if (!out.get()) return nullptr;
    view_of(out.get(), kType<T>, heads_last, out_view);
    task.out = reinterpret_cast<T*>(out_view.data), task.out_strides = out_view.strides;
    npy_intp shape[3] = {task.B, task.H, task.Tq};
    Owned logsumexp(with_logsumexp ? PyArray_SimpleNew(axes - 1, shape + 4 - axes, kType<T>) : nullptr);
    if (with_logsumexp) {
        if (!logsumexp.get()) return nullptr;
        task.logsumexp = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(logsumexp.get())));
    }
    if (task.Tq > 0) run_engine(forward_of<T>(engine), task);
    return with_logsumexp ? PyTuple_Pack(2, out.get(), logsumexp.get()) : out.hand_on();
}

// What the forward pass gave, where the caller kept it: both or neither.
template <class T>
bool read_forward_results(PyObject* const* found, bool heads_last, int axes, Task<T>& task) {
    if (!found[kOutput] && !found[kLogsumexp]) return true;
    View output;
    if (!found[kOutput] || !found[kLogsumexp] || !view_of(found[kOutput], kType<T>, heads_last, output) ||
        !PyArray_CheckExact(found[kLogsumexp]))
        return false;
    auto* logsumexp = reinterpret_cast<PyArrayObject*>(found[kLogsumexp]);
    if (PyArray_TYPE(logsumexp) != kType<T> || PyArray_SIZE(logsumexp) != task.B * task.H * task.Tq ||
        PyArray_NDIM(logsumexp) != axes - 1 || PyArray_DIM(logsumexp, axes - 2) != task.Tq ||
        !PyArray_IS_C_CONTIGUOUS(logsumexp) || !PyArray_ISALIGNED(logsumexp) ||
        PyArray_NDIM(reinterpret_cast<PyArrayObject*>(found[kOutput])) != axes ||
        !same_sizes(output, task.B, task.H, task.Tq, task.Dv))
        return false;
    task.output = reinterpret_cast<const T*>(output.data), task.output_strides = output.strides;
    task.logsumexp = static_cast<T*>(PyArray_DATA(logsumexp));
    return true;
}

template <class T>
PyObject* backward(PyObject* const* found, bool heads_last, const headwork::Engine& engine, bool& is_plain) {
    Held held;
    Task<T> task;
    int axes;
    View cotangent;
    is_plain = found[kCotangent] && !found[kOut] && !found[kReturnLogsumexp] &&
               read_task(found, kType<T>, heads_last, held, task, axes) &&
               view_of(found[kCotangent], kType<T>, heads_last, cotangent) &&
               PyArray_NDIM(reinterpret_cast<PyArrayObject*>(found[kCotangent])) == axes &&
               same_sizes(cotangent, task.B, task.H, task.Tq, task.Dv);
    if (!is_plain) return nullptr;
    task.cotangent = reinterpret_cast<T*>(cotangent.data), task.cotangent_strides = cotangent.strides;
    is_plain = read_forward_results<T>(found, heads_last, axes, task);
    if (!is_plain) return nullptr;
    Owned gradients(PyTuple_New(3));
    if (!gradients.get()) return nullptr;
    T** const places[] = {&task.query_gradient, &task.key_gradient, &task.value_gradient};
    Strides* const strides[] = {&task.query_gradient_strides, &task.key_gradient_strides,
                                &task.value_gradient_strides};
    for (int i = 0; i < 3; i++) {
        auto* like = reinterpret_cast<PyArrayObject*>(found[kQuery + i]);
        PyObject* gradient = PyArray_SimpleNew(axes, PyArray_DIMS(like), kType<T>);
        if (!gradient) return nullptr;
        PyTuple_SET_ITEM(gradients.get(), i, gradient);
        View view;
        view_of(gradient, kType<T>, heads_last, view);
        *places[i] = reinterpret_cast<T*>(view.data), *strides[i] = view.strides;
    }
    run_engine(backward_of<T>(engine), task);
    return gradients.hand_on();
}

bool is_layout(PyObject* object, const char* name) {
    return PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, name) == 0;
}

using Plain = PyObject* (*)(PyObject* const*, bool, const headwork::Engine&, bool&);

// What came of trying at once. is_plain is false for arguments that need the Python path.
PyObject* try_plain(PyObject* const* args, Py_ssize_t count, PyObject* names, Plain of_float, Plain of_double,
                    bool& is_plain) {
    PyObject* found[kArguments] = {};
    is_plain = read_arguments(args, count, names, found) && PyArray_CheckExact(found[kQuery]);
    if (!is_plain) return nullptr;
    const bool heads_last = found[kLayout] && is_layout(found[kLayout], "BTHD");
    is_plain = !found[kLayout] || heads_last || is_layout(found[kLayout], "BHTD");
    if (!is_plain) return nullptr;
    try {
        switch (PyArray_TYPE(reinterpret_cast<PyArrayObject*>(found[kQuery]))) {
            case NPY_FLOAT32: return of_float(found, heads_last, headwork::engine(), is_plain);
            case NPY_FLOAT64: return of_double(found, heads_last, headwork::engine(), is_plain);
            default: return is_plain = false, nullptr;
        }
    } catch (const headwork::Stopped&) {
        return nullptr;  // by a signal, whose handler has raised
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    } catch (const std::exception& error) {
        return PyErr_SetString(PyExc_RuntimeError, error.what()), nullptr;
    }
}

// At once, or by the function of that name in Python, which is looked up once. It also finds the words where memory
// is not enough.
PyObject* at_once_or_carefully(PyObject* const* args, Py_ssize_t count, PyObject* names, Plain of_float,
                               Plain of_double, PyObject*& careful, const char* name) {
    bool is_plain;
    PyObject* result = try_plain(args, count, names, of_float, of_double, is_plain);
    if (result || (is_plain && !PyErr_ExceptionMatches(PyExc_MemoryError))) return result;
    PyErr_Clear();
    if (!careful) {
        Owned module(PyImport_ImportModule("headwork.mechanism.calling"));
        careful = module.get() ? PyObject_GetAttrString(module.get(), name) : nullptr;
    }
    return careful ? PyObject_Vectorcall(careful, args, count, names) : nullptr;
}

PyObject* attention(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    static PyObject* careful = nullptr;
    return at_once_or_carefully(args, count, names, forward<float>, forward<double>, careful, "attention");
}

PyObject* attention_vjp(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    static PyObject* careful = nullptr;
    return at_once_or_carefully(args, count, names, backward<float>, backward<double>, careful, "attention_vjp");
}

PyObject* at_once(PyObject* const* args, Py_ssize_t count, PyObject* names, Plain of_float, Plain of_double) {
    bool is_plain;
    PyObject* result = try_plain(args, count, names, of_float, of_double, is_plain);
    if (!is_plain) PyErr_SetString(PyExc_ValueError, "arguments that the kernel does not take as they are");
    return result;
}

PyObject* run(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return at_once(args, count, names, forward<float>, forward<double>);
}

PyObject* run_vjp(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return at_once(args, count, names, backward<float>, backward<double>);
}

PyObject* engine_name(PyObject*, PyObject*) { return PyUnicode_FromString(headwork::engine().name); }

PyObject* set_default_threads(PyObject*, PyObject* count) {
    const long threads = PyLong_AsLong(count);
    if (PyErr_Occurred()) return nullptr;
    default_threads = int(std::clamp(threads, 1L, 1024L));
    Py_RETURN_NONE;
}

#define METHOD(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))

// The signatures; the text below them is Python's (mechanism/documentation.py), so that both engines share it.
const char kAttention[] =
    "attention(query, key, value, *, mask=None, causal=False, offset=None, scale=None, softcap=None, window=None, "
    "alibi=None, sink=None, lengths=None, layout='BHTD', threads=None, out=None, return_logsumexp=False)\n--\n\n";
const char kAttentionVjp[] =
    "attention_vjp(query, key, value, cotangent, *, mask=None, causal=False, offset=None, scale=None, softcap=None, "
    "window=None, alibi=None, sink=None, lengths=None, layout='BHTD', threads=None, output=None, logsumexp=None)"
    "\n--\n\n";

PyMethodDef methods[] = {
    {"attention", METHOD(attention), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"attention_vjp", METHOD(attention_vjp), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"run_vjp", METHOD(run_vjp), METH_FASTCALL | METH_KEYWORDS,
     "attention_vjp of plain arguments only; ValueError otherwise."},
    {"run", METHOD(run), METH_FASTCALL | METH_KEYWORDS, "attention of plain arguments only; ValueError otherwise."},
    {"engine_name", engine_name, METH_NOARGS, "The instruction set in use: portable, avx2 or avx512."},
    {"set_default_threads", set_default_threads, METH_O, "How many threads a call uses that does not say."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "The compiled kernel; see kernel/.", -1, methods,
                          nullptr, nullptr, nullptr, nullptr};

// Gives a method its docstring. False with an error set.
bool document(PyMethodDef& method, const char* signature, const char* name) {
    Owned module(PyImport_ImportModule("headwork.mechanism.documentation"));
    Owned text(module.get() ? PyObject_GetAttrString(module.get(), name) : nullptr);
    // Kept for good: a method's docstring lives as long as the process.
    PyObject* whole = text.get() ? PyUnicode_FromFormat("%s%U", signature, text.get()) : nullptr;
    method.ml_doc = whole ? PyUnicode_AsUTF8(whole) : nullptr;
    return method.ml_doc;
}

}  // namespace

PyMODINIT_FUNC PyInit__kernel() {
    import_array();
    if (!document(methods[0], kAttention, "ATTENTION") || !document(methods[1], kAttentionVjp, "ATTENTION_VJP"))
        return nullptr;
    for (int i = 0; i < kArguments; i++) {
        interned[i] = PyUnicode_InternFromString(kNames[i]);
        if (!interned[i]) return nullptr;
    }
    return PyModule_Create(&definition);
}
