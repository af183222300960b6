// The form that a request must have to be forwarded, whatever its token. It must have only one reading, and no way
// round the fence.
#pragma once

#include <optional>

#include "forwarding.hpp"

namespace tenure::cli::fence_proxy {

/// The rules are the table "Which requests are forwarded" in docs/fencing/http.md, in its order. The parser has already
/// refused anything that is not HTTP/1.0 or 1.1, and repeated headers that may come only once.
[[nodiscard]] std::optional<HttpRefusal> refusalOfShape(const RequestHead& request);

/// Changes a target that names its authority (which equals Host, by the rules) into one of path and query (RFC 9112,
/// section 3.2.1).
void useOriginForm(RequestHead& request);

}  // namespace tenure::cli::fence_proxy
