// Internal: requests as bytes.
#pragma once

#include <string>

#include "http_client.hpp"
#include "proxy.hpp"

namespace tenure::net {

/// Says what would break the framing (a line break in a header, a space in the target), as a sentence without its end.
/// Empty if nothing would. It names the header, never its value.
[[nodiscard]] std::string requestFault(const HttpRequest& request);

/// Appends head and body. The client sets Host, Content-Length and Connection; the caller's own are left out.
void appendRequest(std::string& out, const Route& route, const std::string& userAgent, const HttpRequest& request);

/// Appends the request for a tunnel to the route's origin.
void appendConnect(std::string& out, const Route& route, const std::string& userAgent);

}  // namespace tenure::net
