// The kernel for one instruction set, as a table of functions.

#pragma once

#include "task.hpp"

namespace headwork {

struct Engine {
    const char* name;
    void (*forward_float)(const Task<float>&);
    void (*forward_double)(const Task<double>&);
    void (*backward_float)(const Task<float>&);
    void (*backward_double)(const Task<double>&);
};

}  // namespace headwork
