// Finds where a service is and which keys to use for it; runs on the fetching thread.
#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>

#include "endpoint.hpp"
#include "fetch_context.hpp"
#include "json_signer.hpp"
#include "lockcore/aws/providers/providers.hpp"
#include "lockcore/net/http_client.hpp"
#include "make_json_client.hpp"

namespace tenure::aws {

/// What tests supply instead of the process's environment and the network.
struct ClientParts {
  AwsEnvironment environment{};
  HttpClientFactory makeHttp{};
  FetchLimits limits{};
};

/// Where requests go, and what signs them.
struct Target {
  Target(Place where, std::shared_ptr<net::HttpClient> over, const JsonClientOptions& options)
      : place{std::move(where)},
        http{std::move(over)},
        signer{place.endpoint.origin, place.endpoint.target, place.region, options.service, options.contentType} {}

  const Place place;
  const std::shared_ptr<net::HttpClient> http;
  const JsonSigner signer;
};

class TENURE_API ServiceAccess {
 public:
  /// Throws as makeJsonClient() does.
  ServiceAccess(JsonClientOptions options, ClientParts parts, Logger logger);

  /// Blocking. Finds the target first, if it is not known yet, so code that has credentials has a target too.
  [[nodiscard]] StoreResult<Credentials> fetch(const std::stop_token& stop);

  /// Null until it is known.
  [[nodiscard]] std::shared_ptr<const Target> target() const;
  [[nodiscard]] SigningClock& clock() { return clock_; }
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] PlaceWishes wishes() const;
  [[nodiscard]] StoreResult<SharedConfig> loadConfig() const;
  [[nodiscard]] bool needsNoFile() const;
  void warnOf(const SharedConfig& config) const;
  [[nodiscard]] StoreResult<Place> find(FetchContext& context) const;
  /// Throws std::runtime_error if the file of trusted certificates is not usable.
  void makeHttp(const SharedConfig& config);
  void setTarget(Place place);

  JsonClientOptions options_;
  ClientParts parts_;
  Logger logger_;
  SigningClock clock_;
  std::shared_ptr<net::HttpClient> http_{};  ///< for the constructor and the fetching thread; null: no profile read yet
  mutable std::mutex mutex_{};
  std::shared_ptr<const Target> target_{};
};

/// makeJsonClient() with parts that the caller supplies.
[[nodiscard]] TENURE_API std::shared_ptr<JsonClient> makeJsonClient(JsonClientOptions options, ClientParts parts,
                                                                    Logger logger);

}  // namespace tenure::aws
