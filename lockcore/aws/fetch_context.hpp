// What the search for credentials works with, on a thread that may block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <tenure/lockcore/logger.hpp>

#include "aws_environment.hpp"
#include "credentials.hpp"
#include "lockcore/net/http_client.hpp"
#include "shared_config.hpp"
#include "signing_clock.hpp"

namespace tenure::aws {

/// The time limits, so that tests need not wait for them.
struct FetchLimits {
  std::chrono::milliseconds service{5'000};   ///< one request to STS
  std::chrono::milliseconds metadata{1'000};  ///< one request to the container's or instance's metadata
  std::chrono::milliseconds process{60'000};  ///< one run of credential_process
};

using HttpClientFactory = std::function<std::shared_ptr<net::HttpClient>(net::HttpClientOptions)>;

/// One search. Not thread-safe; lives on the fetching thread. All that blocks ends early when `stop` is requested.
struct FetchContext {
  const AwsEnvironment& environment;
  const SharedConfig& config;
  std::shared_ptr<net::HttpClient> http;  ///< with proxy and the trusted certificates of the service
  HttpClientFactory makeHttp;             ///< for metadata: these never go through a proxy
  SigningClock& clock;
  std::stop_token stop;
  Logger logger{};
  FetchLimits limits{};
  std::string region{};  ///< for STS; may be empty
  std::shared_ptr<net::HttpClient> metadataHttp{};

  /// Sends and waits. `cancelled` when `stop` was requested.
  [[nodiscard]] net::HttpOutcome exchange(net::HttpClient& client, const net::Origin& origin, net::HttpRequest request,
                                          std::chrono::milliseconds timeout) const;
  /// To a metadata service, with a second try after a lost connection or a status of 500 and above.
  [[nodiscard]] net::HttpOutcome askMetadata(const net::Origin& origin, const net::HttpRequest& request);

  /// How long credentials live that their issuer says expire at `expiration`. `dateHeader` of his answer, if there is
  /// one, saves the result from an own clock that is wrong.
  [[nodiscard]] std::chrono::seconds lifetimeUntil(std::chrono::seconds expiration, std::string_view dateHeader) const;
};

}  // namespace tenure::aws
