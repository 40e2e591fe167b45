// Which keys a query may see by its position: causal, window and lengths together are one interval of keys per
// query, and both its ends only grow from one query to the next. Boolean masks are another matter (masking.hpp).

#pragma once

#include <algorithm>

#include "task.hpp"

namespace headwork {
namespace HEADWORK_ISA {

struct Interval {
    Index first, end;  // keys first … end − 1
    bool empty() const { return first >= end; }
};

template <class T>
Interval seen_by(const Task<T>& task, Index b, Index query) {
    const Index position = query + task.offset[b];
    const Index end = std::min(std::min(task.length[b], task.Tk), position + task.right + 1);
    return {std::max(Index(0), position - task.left), std::max(Index(0), end)};
}

// Keys that any of the queries first … last may see.
template <class T>
Interval seen_by_any(const Task<T>& task, Index b, Index first, Index last) {
    return {seen_by(task, b, first).first, seen_by(task, b, last).end};
}

// Keys that all of them may see.
template <class T>
Interval seen_by_all(const Task<T>& task, Index b, Index first, Index last) {
    return {seen_by(task, b, last).first, seen_by(task, b, first).end};
}

}  // namespace HEADWORK_ISA
}  // namespace headwork
