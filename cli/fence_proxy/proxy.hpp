// The proxy as a whole: one thread, one service.
#pragma once

#include <functional>
#include <string>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/logger.hpp>

#include "settings.hpp"

namespace tenure::cli::fence_proxy {

enum class ProxyEnd {
  clean,         ///< nothing was under way any more
  cutOff,        ///< requests that were under way were cut off
  cannotListen,  ///< which was logged
};

/// Listens until SIGTERM, SIGINT or SIGHUP; then lets the requests under way end (a second signal: at once), and closes
/// the fence.
/// `listening` is told the address once connections are taken.
[[nodiscard]] ProxyEnd runProxy(const Settings& settings, HttpFence& fence, const Logger& logger,
                                const std::function<void(const std::string& address)>& listening);

}  // namespace tenure::cli::fence_proxy
