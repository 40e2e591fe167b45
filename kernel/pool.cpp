#include "pool.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#if !defined(_WIN32)
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#include <vector>

namespace headwork {

thread_local Asked* asked = nullptr;

namespace {

using Clock = std::chrono::steady_clock;
using Index = std::ptrdiff_t;
using Work = void (*)(const void*, Index, void*);

constexpr int kSpins = 2000;       // tries before a waiting thread sleeps: some 20 µs, a gap between two calls
constexpr std::size_t kLine = 64;  // bytes of a cache line
constexpr auto kBetweenQuestions = std::chrono::milliseconds(100);

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Grows only, and goes with its thread.
class Scratch {
public:
    void* of(std::size_t bytes) {
        if (bytes > size_) {
            std::free(memory_);
            size_ = (bytes + kLine - 1) / kLine * kLine;
            memory_ = std::aligned_alloc(kLine, size_);
            if (!memory_) {
                size_ = 0;
                throw std::bad_alloc();
            }
        }
        return memory_;
    }
    ~Scratch() { std::free(memory_); }

private:
    void* memory_ = nullptr;
    std::size_t size_ = 0;
};

thread_local Scratch own_scratch;

struct Job {
    Work work;
    const void* context;
    Index items;
    std::size_t scratch_bytes;
    std::atomic<Index> next{0};
    std::atomic<bool> out_of_memory{false};
    bool stopped = false;

    // Whoever is asked may use this thread's scratch memory meanwhile, so it is looked up for each item.
    void take_part(Asked* who) {
        auto before = who ? Clock::now() : Clock::time_point();
        try {
            for (Index item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;) {
                work(context, item, own_scratch.of(scratch_bytes));
                if (!who || Clock::now() - before < kBetweenQuestions) continue;
                if (who->should_stop()) stopped = true, next = items;
                before = Clock::now();
            }
        } catch (const std::bad_alloc&) {
            out_of_memory = true;
        }
    }
};

class Pool {
public:
    void run(int threads, Job& job) {
        grow(threads - 1);
        const int helpers = threads - 1 < count_ ? threads - 1 : count_;
        if (asleep_.load(std::memory_order_relaxed) > 0) keep_off_this_processor();
        {
            std::lock_guard<std::mutex> lock(mutex_);
            job_ = &job;
            wanted_ = helpers;
            working_.store(helpers, std::memory_order_relaxed);
            round_.fetch_add(1, std::memory_order_release);
        }
        wake_.notify_all();
        job.take_part(asked);
        for (int spin = 0; working_.load(std::memory_order_acquire) != 0; spin++)
            if (spin < kSpins)
                pause();
            else
                std::this_thread::yield();
    }

private:
    // Threads are detached: they wait for work until the process ends.
    void grow(int count) {
        while (count_ < count) {
            try {
                std::thread thread([this, seen = round_.load()] { wait_for_work(seen); });
                threads_.push_back(thread.native_handle());
                thread.detach();
            } catch (const std::system_error&) {
                return;  // no more threads to be had: fewer do the work
            }
            count_++;
        }
    }

    // Linux likes to wake a thread on the processor of the one that wakes it, and to leave it there for some
    // milliseconds, behind the very thread that it is to help.
    void keep_off_this_processor() {
#if defined(__linux__)
        cpu_set_t allowed;
        const int here = sched_getcpu();
        if (here < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
        CPU_CLR(here, &allowed);
        if (CPU_COUNT(&allowed) == 0) return;
        for (const auto thread : threads_) pthread_setaffinity_np(thread, sizeof allowed, &allowed);
#endif
    }

    void wait_for_work(unsigned seen) {
        for (;;) {
            for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; spin++) pause();
            Job* job = nullptr;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                asleep_++;
                wake_.wait(lock, [&] { return round_.load(std::memory_order_relaxed) != seen; });
                asleep_--;
                seen = round_.load(std::memory_order_relaxed);
                if (wanted_ > 0) wanted_--, job = job_;
            }
            if (!job) continue;
            job->take_part(nullptr);
            working_.fetch_sub(1, std::memory_order_release);
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<unsigned> round_{0};
    std::atomic<int> working_{0}, asleep_{0};
    std::vector<std::thread::native_handle_type> threads_;
    int wanted_ = 0, count_ = 0;
    Job* job_ = nullptr;
};

std::atomic<bool> pool_in_use{false};
Pool* pool = nullptr;  // never deleted: its threads may still look at it when the process ends

// In a forked child the threads are gone, and nobody is left who uses the pool.
void forget_pool() {
    pool = nullptr;
    pool_in_use = false;
}

// Lets go of the pool at the end.
struct Turn {
    ~Turn() { pool_in_use.store(false, std::memory_order_release); }
};

void remember_to_forget() {
#if !defined(_WIN32)
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_pool); });
#endif
}

}  // namespace

void run_items(int threads, std::ptrdiff_t items, std::size_t scratch_bytes, Work work, const void* context) {
    Job job{work, context, items, scratch_bytes};
    if (threads > items) threads = int(items);
    if (threads > 1 && !pool_in_use.exchange(true, std::memory_order_acquire)) {
        const Turn turn;
        remember_to_forget();
        if (!pool) pool = new Pool;
        pool->run(threads, job);
    } else {
        job.take_part(asked);
    }
    if (job.stopped) throw Stopped();
    if (job.out_of_memory) throw std::bad_alloc();
}

}  // namespace headwork
