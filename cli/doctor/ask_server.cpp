#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/clock.hpp>

#include "probe.hpp"

#ifdef TENURE_HAS_NET
#include "lockcore/net/http_client.hpp"
#endif
#ifdef TENURE_HAS_AWS
#include "lockcore/aws/service_access.hpp"
#endif
#ifdef TENURE_HAS_STORE_ETCD
#include "lockcore/stores/etcd/src/link/http_gateway.hpp"
#endif
#ifdef TENURE_HAS_STORE_KUBERNETES
#include "lockcore/kubernetes/http_gateway.hpp"
#include "lockcore/kubernetes/pod.hpp"
#endif
#ifdef TENURE_HAS_STORE_POSTGRESQL
#include "lockcore/stores/postgresql/src/link/server_account.hpp"
#endif

namespace tenure::cli::doctor {
namespace {

using std::chrono::milliseconds;

/// The wall clock in the middle of a call. Without a store that has a server nobody asks.
[[maybe_unused]] milliseconds middleOf(std::int64_t sent) {
  return milliseconds{(sent + wallClockMillisForDisplay()) / 2};
}

#ifdef TENURE_HAS_NET

constexpr std::chrono::seconds serverPatience{5};

ServerFacts overHttp(net::HttpClient& client, const net::Url& url) {
  const auto promise = std::make_shared<std::promise<net::HttpOutcome>>();
  auto future = promise->get_future();
  const std::int64_t sent = wallClockMillisForDisplay();
  client.send(url.origin, {.method = "GET", .target = url.target}, serverPatience,
              [promise](net::HttpOutcome outcome) { promise->set_value(std::move(outcome)); });
  const net::HttpOutcome outcome = future.get();
  if (outcome.has_error()) return {.whyNot = outcome.error().message};
  return factsIn(*outcome, middleOf(sent));
}

net::Url below(const std::string& server, const std::string& path) {
  net::Url url = net::parseUrl(server).value();
  while (url.target.ends_with('/')) url.target.pop_back();
  url.target += path;
  return url;
}

#endif

/// Each throws std::exception where there is nobody to ask.
struct Ask {
#ifdef TENURE_HAS_STORE_ETCD
  /// The first member that answers.
  std::optional<ServerFacts> operator()(const EtcdStoreOptions& options) const {
    const auto client = net::HttpClient::make(etcd_store::clientOptions(options, Logger{}));
    ServerFacts facts;
    for (const std::string& endpoint : options.endpoints) {
      facts = overHttp(*client, below(endpoint, "/version"));
      if (facts.whyNot.empty()) break;
    }
    return facts;
  }
#endif
#ifdef TENURE_HAS_STORE_KUBERNETES
  std::optional<ServerFacts> operator()(const KubernetesConfig& config) const {
    const KubernetesStoreOptions options =
        kubernetes_store::completed(kubernetesOptionsOf(config).value(), kubernetes_store::ofProcess).value();
    const auto client = net::HttpClient::make(kubernetes_store::clientOptions(options, Logger{}));
    return overHttp(*client, below(options.server, "/version"));
  }
#endif
#ifdef TENURE_HAS_AWS
  std::optional<ServerFacts> operator()(const DynamoDbStoreOptions& options) const {
    const aws::ServiceAccess access{
        {.region = options.region, .endpoint = options.endpoint, .profile = options.profile, .caFile = options.caFile},
        {.environment = aws::AwsEnvironment::ofProcess(),
         .makeHttp = [](net::HttpClientOptions http) { return net::HttpClient::make(std::move(http)); }},
        Logger{}};
    const auto target = access.target();
    if (!target) throw std::runtime_error{"the endpoint is not known without a call: " + access.describe()};
    ServerFacts facts = overHttp(*target->http, target->place.endpoint);
    facts.signs = true;
    return facts;
  }
#endif
#ifdef TENURE_HAS_STORE_POSTGRESQL
  std::optional<ServerFacts> operator()(const PostgresqlStoreOptions& options) const {
    const std::int64_t sent = wallClockMillisForDisplay();
    const postgresql_store::ServerAccount account = postgresql_store::askServerItself(options);
    ServerFacts facts{.whyNot = account.fault};
    if (!account.version.empty()) facts.version = "PostgreSQL " + account.version;
    if (account.clock) facts.skew = std::chrono::round<std::chrono::seconds>(*account.clock - middleOf(sent));
    return facts;
  }
#endif
  template <class Other>
  std::optional<ServerFacts> operator()(const Other& /*options*/) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<ServerFacts> askServer(const StoreConfig& store) {
  try {
    return std::visit(Ask{}, store);
  } catch (const std::exception& fault) {
    return ServerFacts{.whyNot = fault.what()};
  }
}

}  // namespace tenure::cli::doctor
