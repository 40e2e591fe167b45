#include "dispatch.hpp"

#include <cstdlib>
#include <cstring>

namespace headwork {

namespace portable {
extern const Engine engine;
}
#if defined(HEADWORK_X86)
namespace avx2 {
extern const Engine engine;
}
namespace avx512 {
extern const Engine engine;
}
#endif

namespace {

const Engine& fastest(const char* asked) {
#if defined(HEADWORK_X86)
    const auto may = [&](const char* name) { return !asked || !*asked || !std::strcmp(asked, name); };
    if (may("avx512") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return avx512::engine;
    if ((may("avx2") || may("avx512")) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return avx2::engine;
#endif
    (void)asked;
    return portable::engine;
}

}  // namespace

const Engine& engine() {
    static const Engine& chosen = fastest(std::getenv("HEADWORK_ENGINE"));
    return chosen;
}

}  // namespace headwork
