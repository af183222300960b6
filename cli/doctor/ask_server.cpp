#include "ask_server.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#ifdef TENURE_HAS_NET
#include <tenure/config/kubeconfig.hpp>
#include <tenure/lockcore/clock.hpp>

#include "lockcore/net/http_client.hpp"
#include "server_reply.hpp"
#ifdef TENURE_HAS_AWS
#include "lockcore/aws/service_access.hpp"
#endif
#ifdef TENURE_HAS_STORE_KUBERNETES
#include "lockcore/stores/kubernetes/src/link/pod.hpp"
#endif
#endif

namespace tenure::cli::doctor {

#ifndef TENURE_HAS_NET

std::optional<ServerFacts> askServer(const StoreConfig&) { return std::nullopt; }

#else

namespace {

constexpr std::chrono::seconds serverPatience{5};

struct Question {
  std::shared_ptr<net::HttpClient> client{};
  net::Url url{};
  bool signs{false};
};

ServerFacts answerTo(const Question& question) {
  const auto promise = std::make_shared<std::promise<net::HttpOutcome>>();
  auto future = promise->get_future();
  const std::int64_t sent = wallClockMillisForDisplay();
  question.client->send(question.url.origin, {.method = "GET", .target = question.url.target}, serverPatience,
                        [promise](net::HttpOutcome outcome) { promise->set_value(std::move(outcome)); });
  const net::HttpOutcome outcome = future.get();
  if (outcome.has_error()) return {.signs = question.signs, .whyNot = outcome.error().message};
  const std::int64_t middle = (sent + wallClockMillisForDisplay()) / 2;
  ServerFacts facts = factsIn(*outcome, std::chrono::milliseconds{middle});
  facts.signs = question.signs;
  return facts;
}

net::Url below(const std::string& server, const std::string& path) {
  net::Url url = net::parseUrl(server).value();
  while (url.target.ends_with('/')) url.target.pop_back();
  url.target += path;
  return url;
}

/// Each throws std::exception where there is nobody to ask.
struct QuestionFor {
  std::optional<Question> operator()(const EtcdStoreOptions& options) const {
    return Question{
        net::HttpClient::make(
            {.caFile = options.caFile, .certificate = options.certificate, .key = options.key, .proxy = {}}),
        below(options.endpoints.front(), "/version")};
  }
#ifdef TENURE_HAS_STORE_KUBERNETES
  std::optional<Question> operator()(const KubernetesConfig& config) const {
    KubernetesStoreOptions given = config;
    if (!config.kubeconfig.empty()) given = kubernetesOptionsFrom(config.kubeconfig, config.context, given).value();
    const KubernetesStoreOptions options = kubernetes_store::completed(given, kubernetes_store::ofProcess).value();
    return Question{net::HttpClient::make({.caFile = options.caFile,
                                           .certificate = options.certificate,
                                           .key = options.key,
                                           .caText = options.caCertificates,
                                           .certificateText = options.certificateText,
                                           .keyText = options.keyText,
                                           .proxy = {}}),
                    below(options.server, "/version")};
  }
#endif
#ifdef TENURE_HAS_AWS
  std::optional<Question> operator()(const DynamoDbStoreOptions& options) const {
    const aws::ServiceAccess access{
        {.region = options.region, .endpoint = options.endpoint, .profile = options.profile, .caFile = options.caFile},
        {.environment = aws::AwsEnvironment::ofProcess(),
         .makeHttp = [](net::HttpClientOptions http) { return net::HttpClient::make(std::move(http)); }},
        Logger{}};
    const auto target = access.target();
    if (!target) throw std::runtime_error{"region and endpoint are not known here: " + access.describe()};
    net::Url url = target->place.endpoint;
    return Question{target->http, std::move(url), true};
  }
#endif
  template <class Other>
  std::optional<Question> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<ServerFacts> askServer(const StoreConfig& store) {
  try {
    const auto question = std::visit(QuestionFor{}, store);
    return question ? std::optional{answerTo(*question)} : std::nullopt;
  } catch (const std::exception& fault) {
    return ServerFacts{.whyNot = fault.what()};
  }
}

#endif

}  // namespace tenure::cli::doctor
