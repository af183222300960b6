// A bucket of the test's own, accessed without the adapter.
#pragma once

#include <cstdlib>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lockcore/aws/object_client.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::test {

inline std::string s3Endpoint() {
  const char* endpoint = std::getenv("TENURE_TEST_S3");
  return endpoint == nullptr ? "" : endpoint;
}

class BareBucket {
 public:
  explicit BareBucket(std::string name) : name_{std::move(name)} {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Random, because processes of two namespaces can have the same number.
  [[nodiscard]] static std::string freshName() { return "fence-" + std::to_string(SystemRandom{}.next()); }

  void create() { (void)done("PUT", {}, {}, {}); }
  void keepVersions() {
    (void)done("PUT", {}, "versioning=", "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>");
  }
  void put(const std::string& key, const std::string& bytes) { (void)done("PUT", key, {}, bytes); }
  [[nodiscard]] std::string get(const std::string& key, const std::string& query = {}) {
    return done("GET", key, query, {}).body;
  }
  /// Key and version of each in a listing, without the markers of deletions.
  [[nodiscard]] static std::vector<std::pair<std::string, std::string>> versionsIn(const std::string& listing) {
    std::vector<std::pair<std::string, std::string>> out;
    for (std::size_t at = listing.find("<Version>"); at != std::string::npos; at = listing.find("<Version>", at + 1)) {
      const std::string one = listing.substr(at, listing.find("</Version>", at) - at);
      out.emplace_back(textsIn(one, "Key").front(), textsIn(one, "VersionId").front());
    }
    return out;
  }
  [[nodiscard]] static std::vector<std::string> textsIn(const std::string& xml, const std::string& tag) {
    std::vector<std::string> out;
    const std::string open = '<' + tag + '>';
    for (std::size_t at = xml.find(open); at != std::string::npos; at = xml.find(open, at)) {
      at += open.size();
      out.push_back(xml.substr(at, xml.find('<', at) - at));
    }
    return out;
  }

 private:
  net::HttpResponse done(const std::string& method, const std::string& key, const std::string& query,
                         const std::string& body) {
    std::promise<aws::ObjectOutcome> answer;
    client_->call({method, name_, key, query, {}, body}, std::chrono::seconds{60},
                  [&answer](aws::ObjectOutcome outcome) { answer.set_value(std::move(outcome)); });
    auto outcome = answer.get_future().get();
    if (!outcome) throw std::runtime_error{method + ' ' + key + ": " + outcome.error().error.message};
    if (outcome->status / 100 != 2) throw std::runtime_error{method + ' ' + key + ": " + outcome->body};
    return *std::move(outcome);
  }

  static aws::JsonClientOptions options() {
    aws::JsonClientOptions out;
    out.endpoint = s3Endpoint();
    out.maxReply = 64U << 20U;
    return out;
  }

  std::string name_;
  std::shared_ptr<aws::ObjectClient> client_{aws::makeObjectClient(options())};
};

}  // namespace tenure::test
