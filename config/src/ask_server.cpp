#include "ask_server.hpp"

#include <future>
#include <memory>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#ifdef TENURE_HAS_AWS
#include "lockcore/aws/text.hpp"
#endif

namespace tenure::config {
namespace {

constexpr std::chrono::seconds serverPatience{5};

/// The text of a member of a flat JSON object that holds no escapes; empty: it is not there.
std::string memberOf(const std::string& json, const std::string& name) {
  const std::size_t at = json.find('"' + name + '"');
  const std::size_t begin = at == std::string::npos ? at : json.find('"', at + name.size() + 2);
  const std::size_t end = begin == std::string::npos ? begin : json.find('"', begin + 1);
  return end == std::string::npos ? std::string{} : json.substr(begin + 1, end - begin - 1);
}

}  // namespace

ServerFacts factsIn(const net::HttpResponse& reply, std::chrono::milliseconds now, const VersionMember& version) {
  ServerFacts facts;
#ifdef TENURE_HAS_AWS
  // A Date says whole seconds, so on average it is half a second behind.
  if (const auto date = aws::parseHttpDate(reply.header("Date"))) {
    facts.skew = std::chrono::round<std::chrono::seconds>(*date + std::chrono::milliseconds{500} - now);
  }
#else
  static_cast<void>(now);
#endif
  if (reply.status != 200 || version.name.empty()) return facts;
  if (const std::string text = memberOf(reply.body, version.name); !text.empty())
    facts.version = version.product + ' ' + text;
  return facts;
}

ServerFacts askServer(net::HttpClient& client, net::Url url, const std::string& path, const VersionMember& version) {
  while (!path.empty() && url.target.ends_with('/')) url.target.pop_back();
  url.target += path;
  const auto promise = std::make_shared<std::promise<net::HttpOutcome>>();
  auto future = promise->get_future();
  const std::int64_t sent = wallClockMillisForDisplay();
  client.send(url.origin, {.method = "GET", .target = url.target}, serverPatience,
              [promise](net::HttpOutcome outcome) { promise->set_value(std::move(outcome)); });
  const net::HttpOutcome outcome = future.get();
  if (outcome.has_error()) return {.whyNot = outcome.error().message};
  return factsIn(*outcome, std::chrono::milliseconds{(sent + wallClockMillisForDisplay()) / 2}, version);
}

}  // namespace tenure::config
