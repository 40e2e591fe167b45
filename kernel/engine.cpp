// Compiled once per instruction set, with HEADWORK_ISA naming it; dispatch.cpp chooses at run time.

#include "engine.hpp"

#include <cmath>
#include <cstdlib>
#include <new>

#include "backward.hpp"
#include "few.hpp"
#include "forward.hpp"
#include "pool.hpp"

namespace headwork {
namespace HEADWORK_ISA {
namespace {

constexpr double kWorthThreads = 2e5;  // multiplications: about 10 µs of work, as much as waking a thread costs

template <class T>
int threads_for(const Task<T>& task) {
    const double work = double(task.B) * task.H * task.Tq * task.Tk * (task.D + task.Dv);
    return work < kWorthThreads ? 1 : task.threads;
}

template <class T>
void forward_many(const Task<T>& task) {
    run_items(
        threads_for(task), forward_items(task), sizeof(T) * forward_scratch(task),
        [](const void* context, Index item, void* scratch) {
            forward_item(*static_cast<const Task<T>*>(context), item, static_cast<T*>(scratch));
        },
        &task);
}

// A buffer of one call, in numbers.
template <class T>
class Buffer {
public:
    explicit Buffer(Index size) : numbers(static_cast<T*>(std::malloc(sizeof(T) * (size > 0 ? size : 1)))) {
        if (!numbers) throw std::bad_alloc();
    }
    ~Buffer() { std::free(numbers); }
    Buffer(const Buffer&) = delete;
    T* const numbers;
};

// A task and the buffer that its items share.
template <class T>
struct Shared {
    const Task<T>& task;
    T* numbers;
};

template <class T>
void forward_few(const Task<T>& task) {
    const Buffer<T> partials(partial_size(task));
    const Shared<T> shared{task, partials.numbers};
    run_items(
        threads_for(task), few_items(task), sizeof(T) * few_scratch(task),
        [](const void* context, Index item, void* scratch) {
            const auto& shared = *static_cast<const Shared<T>*>(context);
            few_item(shared.task, item, shared.numbers, static_cast<T*>(scratch));
        },
        &shared);
    for (Index b = 0; b < task.B; b++)
        for (Index h = 0; h < task.H; h++)
            for (Index query = 0; query < task.Tq; query++) merge_row(task, partials.numbers, b, h, query);
}

template <class T>
void forward(const Task<T>& task) {
    has_few_queries(task) ? forward_few(task) : forward_many(task);
}

// Whether what the forward pass gave is enough for the gradients. A logsumexp far from 0 is not: its last digits say
// nothing any more of how many keys share the weight, as in a row that a mask of −1e9 hides.
template <class T>
bool has_kept_enough(const Task<T>& task) {
    constexpr T kFar = 1e4;
    for (Index row = 0; row < task.B * task.H * task.Tq && task.output; row++)
        if (std::abs(task.logsumexp[row]) > kFar && task.logsumexp[row] != -kInfinity<T>) return false;
    return task.output;
}

// The forward pass without its output, unless the caller kept what it gave; then the gradients.
template <class T>
void backward(const Task<T>& given) {
    const bool is_kept = has_kept_enough(given);
    const Index rows = given.B * given.H * given.Tq, anew = is_kept ? 0 : rows;
    const Buffer<T> row_max(anew), logsumexp(anew), delta(rows), second_half(backward_buffer(given));
    Task<T> task = given;
    task.delta = delta.numbers;
    if (is_kept) {
        for (Index head = 0; head < task.B * task.H; head++) delta_of_output(task, head);
    } else {
        task.row_max = row_max.numbers, task.logsumexp = logsumexp.numbers;
        forward_many(task);
    }
    const Shared<T> shared{task, second_half.numbers};
    run_items(
        threads_for(task), backward_items(task), sizeof(T) * backward_scratch(task),
        [](const void* context, Index item, void* scratch) {
            const auto& shared = *static_cast<const Shared<T>*>(context);
            backward_item(shared.task, item, shared.numbers, static_cast<T*>(scratch));
        },
        &shared);
    run_items(
        threads_for(task), task.B * task.H, 0,
        [](const void* context, Index item, void*) {
            const auto& shared = *static_cast<const Shared<T>*>(context);
            add_buffer(shared.task, item, shared.numbers);
        },
        &shared);
}

}  // namespace

#define HEADWORK_TEXT_(x) #x
#define HEADWORK_TEXT(x) HEADWORK_TEXT_(x)

extern const Engine engine;
const Engine engine = {HEADWORK_TEXT(HEADWORK_ISA), forward<float>, forward<double>, backward<float>,
                       backward<double>};

}  // namespace HEADWORK_ISA
}  // namespace headwork
