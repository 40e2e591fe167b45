// Threads that wait for work. One call uses them at a time; another that comes meanwhile works alone.
// A long call can be stopped between two items: see Asked.

#pragma once

#include <cstddef>

namespace headwork {

// Asked by the thread that called run_items, ten times a second and between two items, whether no other item is to be
// begun. The answer may take a call of run_items itself.
class Asked {
public:
    virtual bool should_stop() = 0;

protected:
    ~Asked() = default;
};
extern thread_local Asked* asked;  // null: nobody is

struct Stopped {};  // what run_items throws after a yes, once no thread is at work any more

// work(context, item, scratch) for items 0 … items − 1, each once, on up to `threads` threads, the caller's among
// them. Each has its own scratch memory of that many bytes, aligned to 64. Which thread does which item is chance;
// an item's result must not depend on it. Safe in a forked child, which starts threads of its own.
void run_items(int threads, std::ptrdiff_t items, std::size_t scratch_bytes,
               void (*work)(const void* context, std::ptrdiff_t item, void* scratch), const void* context);

}  // namespace headwork
