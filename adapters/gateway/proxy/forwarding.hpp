// Which requests are forwarded, and which of the headers on both sides. Pure.
#pragma once

#include <optional>
#include <string_view>

#include <tenure/adapters/http_fence.hpp>

#include "io.hpp"

namespace tenure::gateway {

using RequestHead = http::request_header<>;
using ResponseHead = http::response_header<>;

/// Removes headers that are meant for one connection only (RFC 9110, section 7.6.1).
void removeHopByHop(http::fields& fields);

[[nodiscard]] HttpProblem proxyProblem(int status, std::string_view kind, std::string_view title,
                                       std::string_view detail);

/// Whether there is a client left to answer: a time-out has already closed the connection, and a client that has closed
/// its sending side in the middle of a request has given it up.
[[nodiscard]] bool isFaultOfRequest(const error_code& error);

inline constexpr std::string_view bodyNotUnderstood = "its body is not in the chunks of HTTP/1.1";

/// For a request that isFaultOfRequest. `detail`: what is wrong, unless its header is too large.
[[nodiscard]] HttpProblem badRequest(const error_code& error, std::string_view detail);

/// Whether a second try on another connection does no harm (RFC 9110, section 9.2.2).
[[nodiscard]] bool isIdempotent(http::verb method) noexcept;

/// Whether an answer with this status to this method has no body, whatever its headers say.
[[nodiscard]] bool hasNoBody(http::verb method, unsigned status) noexcept;

/// The rules are the table "Which requests are forwarded" in docs/fencing/http.md, in its order. The parser has already
/// refused anything that is not HTTP/1.0 or 1.1, and repeated headers that may come only once.
[[nodiscard]] std::optional<HttpProblem> problemOfShape(const RequestHead& request);

/// Changes a target that names its authority (which equals Host, by the rules) into one of path and query (RFC 9112,
/// section 3.2.1).
void useOriginForm(RequestHead& request);

}  // namespace tenure::gateway
