// What a request must be like to be forwarded, whatever its token: one reading of it, and no way round the fence.
#pragma once

#include <optional>

#include "forwarding.hpp"

namespace tenure::cli::fence_proxy {

/// The rules are the table "Which requests are forwarded" in docs/fencing/http.md, in its order. The parser has refused
/// before what is no HTTP/1.0 or 1.1, and headers of which it allows one only.
[[nodiscard]] std::optional<HttpRefusal> refusalOfShape(const RequestHead& request);

/// Makes a target that names its authority, which is Host's by the rules, one of path and query (RFC 9112, section
/// 3.2.1).
void useOriginForm(RequestHead& request);

}  // namespace tenure::cli::fence_proxy
