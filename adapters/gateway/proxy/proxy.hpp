// The proxy as a whole: one thread, one service.
#pragma once

#include <functional>
#include <string>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/logger.hpp>

#include "proxy_counts.hpp"
#include "settings.hpp"

namespace tenure::gateway {

/// An address in digits, not a name: only there can a proxy listen.
[[nodiscard]] bool isAddress(const std::string& host);

enum class ProxyEnd {
  clean,         ///< no request with a token was under way any more
  cutOff,        ///< requests with a token were under way, and were cut off
  cannotListen,  ///< the reason was logged
};

/// Signals as the program reads them.
struct StopSignals {
  int descriptor;              ///< readable while one is pending
  std::function<bool()> next;  ///< takes a pending one; false: there is none
};

/// Listens until one of the signals `stops` comes. Then it lets the requests under way end (after a second signal: ends
/// them at once), and closes the fence. Every request is counted. `listening` is called with the address once
/// connections are accepted.
[[nodiscard]] ProxyEnd runProxy(const Settings& settings, HttpFence& fence, const Logger& logger, ProxyCounts& counts,
                                const StopSignals& stops,
                                const std::function<void(const std::string& address)>& listening);

}  // namespace tenure::gateway
