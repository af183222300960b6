// What the reply of a store's server tells, whatever its status.
#pragma once

#include <chrono>

#include "facts.hpp"
#include "lockcore/net/http_client.hpp"

namespace tenure::cli::doctor {

/// `now`: the wall clock in the middle of the call, since 1970.
[[nodiscard]] ServerFacts factsIn(const net::HttpResponse& reply, std::chrono::milliseconds now);

}  // namespace tenure::cli::doctor
