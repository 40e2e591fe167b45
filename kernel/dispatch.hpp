#pragma once

#include "engine.hpp"

namespace headwork {

// The fastest engine that this machine runs; HEADWORK_ENGINE=portable, avx2 or avx512 asks for another one.
const Engine& engine();

}  // namespace headwork
