// Which headers are forwarded to the other side. Pure.
#pragma once

#include <string_view>

#include <tenure/adapters/http_fence.hpp>

#include "io.hpp"

namespace tenure::cli::fence_proxy {

using RequestHead = http::request_header<>;
using ResponseHead = http::response_header<>;

/// Removes headers that are meant for one connection only (RFC 9110, section 7.6.1).
void removeHopByHop(http::fields& fields);

[[nodiscard]] HttpRefusal proxyProblem(int status, std::string_view kind, std::string_view title,
                                       std::string_view detail);

/// Whether a second try on another connection does no harm (RFC 9110, section 9.2.2).
[[nodiscard]] bool isIdempotent(http::verb method) noexcept;

/// Whether an answer with this status to this method has no body, whatever its headers say.
[[nodiscard]] bool hasNoBody(http::verb method, unsigned status) noexcept;

}  // namespace tenure::cli::fence_proxy
