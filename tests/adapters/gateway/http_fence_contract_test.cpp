// The fence's contract on an HTTP service that knows nothing about it, behind `tenure fence proxy`.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/adapters/http_fence.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/gateway/http_connection.hpp"
#include "adapters/gateway/ledger_service.hpp"
#include "adapters/gateway/proxy_process.hpp"
#include "adapters/test_database.hpp"
#include "support/temp_dir.hpp"

namespace tenure::contract {
namespace {

static_assert(FencedWriter<HttpFenceClient, const HttpCall>);

std::string lineOf(const TermStamp& stamp, const std::string& entry) {
  return toString(stamp.token) + ' ' + entry + ' ' + stamp.holder;
}

class HttpHandle final : public FenceHandle {
 public:
  explicit HttpHandle(const std::string& address) {
    std::istringstream parts{address};
    unsigned short proxy = 0;
    unsigned short service = 0;
    char colon = 0;
    parts >> proxy >> colon >> service >> colon >> memory_;
    proxy_ = std::make_unique<test::HttpConnection>(proxy);
    service_ = std::make_unique<test::HttpConnection>(service);
  }

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry, const std::function<void()>&) override {
    return told(client_.write(stamp, {"POST", "/entries", lineOf(stamp, entry)}));
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    return told(client_.write(term, {"POST", "/entries", lineOf(term.stamp(), entry)}));
  }
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    return service_->send({"POST", "/entries", lineOf(stamp, entry)}, {}).has_value();
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    const test::TestDatabase database{memory_};
    database.waitForLocks(std::chrono::seconds{10});
    std::string name;
    for (const char c : lease) name += c == '\'' ? "''" : std::string{c};
    const std::string where = " FROM tenure_fence_guard WHERE lease = '" + name + '\'';
    if (database.number("SELECT count(*)" + where) == 0) return std::optional<TermStamp>{};
    return std::optional{TermStamp{lease, FencingToken{std::stoull(database.text("SELECT token" + where))},
                                   database.text("SELECT holder" + where)}};
  }

 private:
  static FenceResult<void> told(const FenceResult<HttpReply>& reply) {
    if (!reply) return reply.error();
    if (reply->status != 200) return fenceError({ErrorClass::transient, std::to_string(reply->status) + reply->body});
    return {};
  }

  std::string memory_;
  std::unique_ptr<test::HttpConnection> proxy_, service_;
  HttpFenceClient client_{
      [this](const HttpCall& call, const HeaderLines& headers) { return proxy_->send(call, headers); }};
};

class HttpResource final : public FencedResource {
 public:
  std::string address() const override {
    return std::to_string(proxy_.port()) + ':' + std::to_string(service_.port()) + ':' + memory_;
  }
  std::vector<FencedEntry> entries() override {
    std::vector<FencedEntry> found;
    for (const std::string& body : service_.bodies()) {
      const std::size_t first = body.find(' ');
      const std::size_t second = body.find(' ', first + 1);
      found.push_back(
          {FencingToken{std::stoull(body)}, body.substr(second + 1), body.substr(first + 1, second - first - 1)});
    }
    return found;
  }

 private:
  const test::TempDir directory_;
  const std::string memory_ = directory_.file("fence.db");
  test::LedgerService service_{};
  test::ProxyProcess proxy_{service_.port(),
                            {"--memory", memory_, "--lease", contractLease, "--lease", "Contract", "--lease",
                             "it's \"odd\"\\; DROP TABLE x; -- %s {0}\xF0\x9F\x98\x80=,:"}};
};

const FenceUnderTest http =
    registerFence({.name = "Http",
                   .make = [] { return std::make_unique<HttpResource>(); },
                   .open = [](const std::string& address) { return std::make_unique<HttpHandle>(address); }});

INSTANTIATE_TEST_SUITE_P(Http, FenceContract, testing::Values(http), fenceName);
INSTANTIATE_TEST_SUITE_P(Http, FenceRaceContract, testing::Values(http), fenceName);
INSTANTIATE_TEST_SUITE_P(Http, FenceFreezeContract, testing::Values(http), fenceName);

}  // namespace
}  // namespace tenure::contract
