// A renewal through the etcd store beside the same transaction, posted by hand to the same member, in turns.
#include <stdexcept>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/core.h>

#include "bench_store.hpp"
#include "benches.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/stores/etcd/src/replies.hpp"
#include "lockcore/stores/etcd/src/requests.hpp"
#include "stats.hpp"
#include "through_store.hpp"

namespace tenure::bench {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

/// The least that it can cost: one connection, on the caller's own thread.
class TransactionByHand {
 public:
  explicit TransactionByHand(const std::string& url) {
    const auto colon = url.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1)));
    stream_.connect(tcp::endpoint{boost::asio::ip::address_v4::loopback(), port});
    stream_.socket().set_option(tcp::no_delay{true});
  }

  void renew(const std::string& to) {
    etcd_store::Txn txn;
    txn.require(key, revision_);
    txn.put(key, R"({"leaseName":"by-hand","holder":"me#0","leaseDuration":10000,"recordVersion":")" + to + "\"}");
    txn.elseRead(key);
    http::request<http::string_body> request{http::verb::post, etcd_store::txnPath, 11, txn.body()};
    request.set(http::field::host, "127.0.0.1");
    request.prepare_payload();
    http::write(stream_, request);
    http::response<http::string_body> reply;
    http::read(stream_, buffer_, reply);
    const auto answer = etcd_store::txnReplyFrom(reply.body());
    if (!answer || !answer->succeeded) throw std::runtime_error("the renewal by hand: " + reply.body());
    revision_ = answer->revision;
  }

 private:
  static constexpr const char* key = "/by-hand";

  boost::asio::io_context io_{};
  boost::beast::tcp_stream stream_{io_};
  boost::beast::flat_buffer buffer_{};
  std::int64_t revision_{0};
};

double millisFor(const std::function<void()>& what) {
  const Instant from = readClock();
  what();
  return static_cast<double>(elapsedForHolder(from, readClock()).count()) / 1e6;
}

}  // namespace

bool benchRenewEtcd(const Options& options) {
  fmt::print("renew: {} renewals of each kind on etcd, taken in turns\n", options.rounds);
  const std::string where = whereFor("etcd", "");
  const std::string member = where.substr(0, where.find(','));
  TransactionByHand hand{member};
  ThroughStore store{storeAt(member, false, "")};
  SystemRandom random;
  Sample byHand, throughStore;
  std::string version = "v0";
  for (int round = 0; round < options.rounds; ++round) {
    const std::string next = uuid4(random);
    const auto measureHand = [&] { byHand.add(millisFor([&] { hand.renew(next); })); };
    if (round % 2 == 0) measureHand();
    throughStore.add(millisFor([&] { store.renew(version, next); }));
    if (round % 2 == 1) measureHand();
    version = next;
  }
  byHand.print("the same transaction by hand, on the caller's thread");
  throughStore.print("through the store, with its own thread");
  return verdict("ratio of the medians", throughStore.percentile(0.5) / byHand.percentile(0.5), 1.25, "x");
}

}  // namespace tenure::bench
