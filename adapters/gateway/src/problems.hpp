// What the fence answers instead of the service. problems.cpp also has the side of clients: httpFenceError and
// HttpFenceClient.
#pragma once

#include <string_view>

#include <tenure/adapters/http_fence.hpp>

namespace tenure::http_fence {

/// `kind`: the last part of the problem's type.
[[nodiscard]] HttpProblem problem(int status, std::string_view kind, std::string_view title, std::string_view detail);

/// `seen`: the highest term of the lease.
[[nodiscard]] HttpProblem problemFor(const FenceError& error, const TermStamp& mine,
                                     const std::optional<TermStamp>& seen, int staleStatus);

}  // namespace tenure::http_fence
