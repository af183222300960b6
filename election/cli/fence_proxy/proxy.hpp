// The proxy as a whole: one thread, one service.
#pragma once

#include <functional>
#include <string>

#include <tenure/adapters/http_fence.hpp>

#include "settings.hpp"

namespace tenure::cli::fence_proxy {

/// Listens until SIGTERM or SIGINT; then lets the requests under way end (a second signal: at once). `listening` is
/// told the address once connections are taken. Throws std::system_error if it cannot listen. True if nothing was under
/// way any more at the end.
[[nodiscard]] bool runProxy(const Settings& settings, HttpFence& fence,
                            const std::function<void(const std::string& address)>& listening);

}  // namespace tenure::cli::fence_proxy
