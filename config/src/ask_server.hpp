// Asks a server over HTTP what it is, for the stores that speak HTTP.
#pragma once

#include <chrono>
#include <string>

#include <tenure/lockcore/export.hpp>

#include "lockcore/net/http_client.hpp"
#include "store_types.hpp"

namespace tenure::config {

/// Where a server's answer, a flat JSON object, has its version.
struct VersionMember {
  std::string product{};  ///< "etcd"
  std::string name{};     ///< "etcdserver"; empty: nowhere
};

/// Blocking, for a few seconds. `path` is below the one of `url`.
[[nodiscard]] ServerFacts askServer(net::HttpClient& client, net::Url url, const std::string& path = {},
                                    const VersionMember& version = {});

/// `now`: the wall clock in the middle of the call, since 1970.
[[nodiscard]] TENURE_API ServerFacts factsIn(const net::HttpResponse& reply, std::chrono::milliseconds now,
                                             const VersionMember& version);

}  // namespace tenure::config
