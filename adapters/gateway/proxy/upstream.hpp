// Connections to the service, kept alive between requests.
#pragma once

#include <memory>
#include <vector>

#include <tenure/lockcore/clock.hpp>

#include "io.hpp"
#include "name_lookup.hpp"
#include "settings.hpp"

namespace tenure::gateway {

struct Connection {
  explicit Connection(const Executor& executor) : stream{executor} {}
  Stream stream;
  beast::flat_buffer buffer{mostServiceHeaderBytes + beyondHeader};
  bool used{false};  ///< has carried a request before
  Instant idleSince{};
};
using ConnectionPtr = std::unique_ptr<Connection>;

/// Used on the one thread only.
class Upstream {
 public:
  Upstream(const Executor& executor, const Settings& settings)
      : executor_{executor},
        settings_{settings},
        lookup_{executor, settings.upstream, settings.limits.connect},
        drop_{executor} {}

  /// An idle connection, or a new one; null if there is none.
  [[nodiscard]] Task<ConnectionPtr> connection();
  [[nodiscard]] Task<ConnectionPtr> newConnection();
  /// For a connection that is ready for the next request.
  void giveBack(ConnectionPtr connection);
  void close();

 private:
  static constexpr std::size_t mostIdle = 256;
  static constexpr std::chrono::seconds longestIdle{30};

  void dropOldLater();
  [[nodiscard]] static bool isQuiet(Connection& connection);

  Executor executor_;
  const Settings& settings_;
  NameLookup lookup_;
  Timer drop_;
  std::vector<ConnectionPtr> idle_{};
};

}  // namespace tenure::gateway
