// What the search for credentials uses, on a thread that may block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include <tenure/lockcore/logger.hpp>

#include "credentials.hpp"
#include "lockcore/net/http_client.hpp"
#include "shared_config.hpp"
#include "signing_clock.hpp"

namespace tenure::aws {

/// How often a metadata service is asked until it answers with status 200.
struct Attempts {
  int most{1};
  std::chrono::milliseconds timeout{1'000};  ///< of each
  std::chrono::milliseconds pause{0};        ///< between two
};

/// The limits; tests set shorter ones.
struct FetchLimits {
  std::chrono::milliseconds service{5'000};  ///< one request to STS
  Attempts container{.most = 3, .timeout = std::chrono::seconds{2}, .pause = std::chrono::seconds{1}};  ///< botocore's
  std::chrono::milliseconds process{60'000};  ///< one run of credential_process
};

using HttpClientFactory = std::function<std::shared_ptr<net::HttpClient>(net::HttpClientOptions)>;

/// One search. Not thread-safe; it lives on the fetching thread. Every blocking step ends early when `stop` is
/// requested.
struct FetchContext {
  const AwsEnvironment& environment;
  const SharedConfig& config;
  std::shared_ptr<net::HttpClient> http;  ///< with proxy and the trusted certificates of the service
  HttpClientFactory makeHttp;             ///< for metadata: these never go through a proxy
  SigningClock& clock;
  std::stop_token stop;
  Logger logger{};
  FetchLimits limits{};
  std::string region{};   ///< for STS; may be empty
  std::string profile{};  ///< that the program names; also the endpoint of STS may stand there
  std::shared_ptr<net::HttpClient> metadataHttp{};

  /// Sends and waits for the answer. `cancelled` if `stop` was requested.
  [[nodiscard]] net::HttpOutcome exchange(net::HttpClient& client, const net::Origin& origin, net::HttpRequest request,
                                          std::chrono::milliseconds timeout) const;
  /// Sends to a metadata service. The outcome of the last attempt.
  [[nodiscard]] net::HttpOutcome askMetadata(const net::Origin& origin, const net::HttpRequest& request,
                                             const Attempts& attempts);

  /// How long credentials live if their issuer says that they expire at `expiration`. If the issuer's answer has a
  /// `dateHeader`, the result is correct even if this machine's clock is wrong.
  [[nodiscard]] std::chrono::seconds lifetimeUntil(std::chrono::seconds expiration, std::string_view dateHeader) const;
};

}  // namespace tenure::aws
