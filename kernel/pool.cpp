#include "pool.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace headwork {
namespace {

using Index = std::ptrdiff_t;
using Work = void (*)(const void*, Index, void*);

constexpr int kSpins = 2000;       // tries before a waiting thread sleeps: some 20 µs, a gap between two calls
constexpr std::size_t kLine = 64;  // bytes of a cache line

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

    void take_part() {
        try {
            void* scratch = own_scratch.of(scratch_bytes);
            for (Index item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;)
                work(context, item, scratch);
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
        {
            std::lock_guard<std::mutex> lock(mutex_);
            job_ = &job;
            wanted_ = helpers;
            working_.store(helpers, std::memory_order_relaxed);
            round_.fetch_add(1, std::memory_order_release);
        }
        wake_.notify_all();
        job.take_part();
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
                std::thread([this, seen = round_.load()] { wait_for_work(seen); }).detach();
            } catch (const std::system_error&) {
                return;  // no more threads to be had: fewer do the work
            }
            count_++;
        }
    }

    void wait_for_work(unsigned seen) {
        for (;;) {
            for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; spin++) pause();
            Job* job = nullptr;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return round_.load(std::memory_order_relaxed) != seen; });
                seen = round_.load(std::memory_order_relaxed);
                if (wanted_ > 0) wanted_--, job = job_;
            }
            if (!job) continue;
            job->take_part();
            working_.fetch_sub(1, std::memory_order_release);
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<unsigned> round_{0};
    std::atomic<int> working_{0};
    int wanted_ = 0, count_ = 0;
    Job* job_ = nullptr;
};

std::mutex pool_in_use;
Pool* pool = nullptr;  // never deleted: its threads may still look at it when the process ends

// In a forked child the threads are gone and a lock may be held by nobody.
void forget_pool() {
    pool = nullptr;
    new (&pool_in_use) std::mutex;
}

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
    if (threads > 1 && pool_in_use.try_lock()) {
        std::lock_guard<std::mutex> lock(pool_in_use, std::adopt_lock);
        remember_to_forget();
        if (!pool) pool = new Pool;
        pool->run(threads, job);
    } else {
        job.take_part();
    }
    if (job.out_of_memory) throw std::bad_alloc();
}

}  // namespace headwork
