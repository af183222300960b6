// The etcd store as it is shipped, in virtual time: the simulation provides the cluster, and members that do not
// answer.
#include "simulation/sim_etcd.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockcore/port/json_text.hpp"
#include "lockcore/stores/etcd/src/keys.hpp"
#include "lockcore/stores/etcd/src/record_codec.hpp"
#include "lockcore/stores/etcd/src/store.hpp"
#include "simulation/etcd/sim_etcd_cluster.hpp"
#include "simulation/sim_clock.hpp"
#include "simulation/sim_store_endpoint.hpp"
#include "simulation/sim_stream.hpp"

namespace tenure::test {
namespace {

using namespace etcd_store;

const LeaseKey leaseKey{"lease"};
const std::string where{"simulated"};
constexpr const char* prefix = "/tenure";

std::string lineWith(const std::string& event) {
  return R"({"result":{"header":{"revision":"7"},"events":[)" + event + "]}}";
}

std::string encoded(const std::string& bytes) {
  std::string out;
  appendBase64(out, bytes);
  return out;
}

/// Somebody took this lease, or gave it back.
std::string changedLine(const LeaseKey& key, std::size_t number) {
  StoredRecord stored{
      {.holder = "nobody", .version = RecordVersion{"invented"}, .leaseDuration = std::chrono::seconds{1}}};
  stored.record.token = FencingToken{number};
  stored.record.released = number % 2 == 0;
  return lineWith(R"({"kv":{"key":")" + encoded(Keys{prefix}.recordOf(key)) + R"(","mod_revision":"7","value":")" +
                  encoded(textOf(stored)) + "\"}}");
}

/// Somebody deleted it by hand.
std::string erasedLine() {
  return lineWith(R"({"type":"DELETE","kv":{"key":")" + encoded(Keys{prefix}.recordOf(leaseKey)) +
                  R"(","mod_revision":"7"}})");
}

const char* const endOfStream = R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}})";

class SimEtcd final : public SimService {
 public:
  explicit SimEtcd(std::uint64_t seed) : random_{seed} {}

  std::unique_ptr<SimEndpoint> connect(SimSurroundings& world, std::size_t process, SimLife& life) override;

  /// `etcdctl del`; once also with --prefix, of a record that nobody holds. The revision is then all that is left to
  /// know of the tokens, so they must not have been lifted above it.
  bool erase() override {
    const bool lifted = static_cast<std::int64_t>(record()->token.value()) > cluster_.revision();
    const bool both = !wiped_ && record()->released && !lifted;
    cluster_.erase(recordKey_);
    if (both) cluster_.erase(counterKey_);
    wiped_ = wiped_ || both;
    refresh();
    return true;
  }
  bool put(const LeaseRecord& /*foreign*/) override { return false; }
  bool loseCounter() override {
    cluster_.erase(counterKey_);
    return true;
  }
  [[nodiscard]] bool counterLost() const override { return !cluster_.keys().contains(counterKey_); }
  void requestStepDown(const Successor& successor) override {
    if (!record()) return;
    StoredRecord asked{*record(), record()->token};
    if (!asked.record.released) asked.record.successor = successor;
    cluster_.put(recordKey_, textOf(asked));
  }

  [[nodiscard]] bool streams() const override { return true; }
  void talk() override {
    const auto open = streams_;
    for (const auto& [number, stream] : open) stream->talk();
  }

  [[nodiscard]] StreamLines linesOfStreams() const {
    return {[this](std::size_t number) {
              const bool held = record() && !record()->released && cluster_.keys().contains(recordKey_);
              return held && number % 6 > 3 ? releasedLine(number % 6 == 4 ? 0 : 1'000) : changedLine(leaseKey, number);
            },
            [](std::size_t number) { return changedLine(LeaseKey{"another"}, number); }, erasedLine(), endOfStream};
  }

  EtcdAnswer serve(SimSurroundings& world, SimLife& life, const std::string& body, const AnswerFate& fate);
  /// Until the number is given back.
  std::uint64_t open(const std::string& body, const std::shared_ptr<SimStream>& stream) {
    const std::uint64_t number = cluster_.watch(body, [stream](const std::string& line) { stream->take(line); });
    streams_[number] = stream;
    return number;
  }
  void close(std::uint64_t stream) {
    cluster_.unwatch(stream);
    streams_.erase(stream);
  }

 private:
  /// The holder has released the lease, by the revision that its last write has; or `ahead` of it, as where the
  /// cluster has gone on in another way.
  [[nodiscard]] std::string releasedLine(std::int64_t ahead) const {
    StoredRecord stored{*record()};
    stored.record.released = true;
    const std::string revision = std::to_string(cluster_.keys().at(recordKey_).changed + ahead);
    const auto event = [&](const std::string& key, const std::string& text) {
      return R"({"kv":{"key":")" + encoded(key) + R"(","mod_revision":")" + revision + R"(","value":")" +
             encoded(text) + "\"}}";
    };
    return lineWith(event(recordKey_, textOf(stored)) + ',' +
                    event(counterKey_, textOf(stored::Counter{stored.record.token})));
  }
  EtcdAnswer carryOut(SimSurroundings& world, SimLife& life, const std::string& body);
  [[nodiscard]] EtcdAnswer notUnderstood(const std::string& body);
  void refresh();

  SeededRandom random_;
  EtcdCluster cluster_{};
  std::map<std::uint64_t, std::shared_ptr<SimStream>> streams_{};
  const std::string recordKey_{Keys{prefix}.recordOf(leaseKey)};
  const std::string counterKey_{Keys{prefix}.counterOf(leaseKey)};
  bool wiped_{false};
};

/// The connections of one process. A member that has not answered within a third of the call's time is left for another
/// one.
class SimGateway final : public Gateway {
 public:
  SimGateway(SimSurroundings& world, std::size_t process, SimLife& life, SimEtcd& service)
      : world_{world}, process_{process}, life_{life}, service_{service} {}

  void call(std::string_view /*path*/, std::string body, std::chrono::nanoseconds timeout, Repeat repeat,
            OutcomeHandler handler) override {
    const auto waiting = std::make_shared<Waiting>(Waiting{std::move(handler)});
    ask(waiting, body, timeout, false);
    if (repeat == Repeat::no) return;
    world_.runFor(process_, life_, timeout / 3, [this, waiting, body = std::move(body), timeout] {
      if (waiting->handler) ask(waiting, body, timeout - timeout / 3, true);
    });
  }

  [[nodiscard]] std::shared_ptr<void> stream(std::string_view /*path*/, std::string body,
                                             std::chrono::nanoseconds silence, StreamHandlers handlers) override {
    SimStream::Handlers of{handlers.onLine, [onEnd = handlers.onEnd] { onEnd("nothing was heard for too long"); }};
    const auto stream =
        std::make_shared<SimStream>(world_, process_, life_, silence, service_.linesOfStreams(), std::move(of));
    const std::uint64_t number = service_.open(body, stream);
    return {stream.get(), [service = &service_, stream, number](void*) {
              stream->close();
              service->close(number);
            }};
  }
  [[nodiscard]] std::string describe() const override { return where; }

 private:
  struct Waiting {
    OutcomeHandler handler;
    int copies{0};
  };

  void ask(const std::shared_ptr<Waiting>& waiting, const std::string& body, std::chrono::nanoseconds timeout,
           bool second) {
    ++waiting->copies;
    const auto answer = [waiting](Outcome outcome) {
      if (!waiting->handler) return;
      if (outcome) outcome->copiesOut = waiting->copies > 1;
      std::exchange(waiting->handler, nullptr)(std::move(outcome));
    };
    world_.exchange(
        process_, life_, timeout,
        [world = &world_, life = &life_, service = &service_, body,
         answer](const AnswerFate& fate) -> SimSurroundings::Task {
          EtcdAnswer reply = service->serve(*world, *life, body, fate);
          return [answer, reply = std::move(reply)] { answer(Reply{reply.status, reply.body, "member"}); };
        },
        second ? SimSurroundings::Task{} : [answer] { answer(CallFault{{ErrorClass::transient, "timed out"}, true}); });
  }

  SimSurroundings& world_;
  std::size_t process_;
  SimLife& life_;
  SimEtcd& service_;
};

std::unique_ptr<SimEndpoint> SimEtcd::connect(SimSurroundings& world, std::size_t process, SimLife& life) {
  StoreParts parts;
  parts.gateway = std::make_shared<SimGateway>(world, process, life, *this);
  parts.scheduler = std::make_shared<LocalScheduler>(world, process, life);
  return std::make_unique<StoreEndpoint>(leaseKey, makeStore(prefix, std::move(parts)));
}

EtcdAnswer SimEtcd::serve(SimSurroundings& world, SimLife& life, const std::string& body, const AnswerFate& fate) {
  using Rejection = AnswerFate::Rejection;
  if (fate.deferred) return EtcdCluster::error(503, 14, "etcdserver: request timed out");
  switch (fate.error) {
    case Rejection::credentials:
      return random_.chance(0.5) ? EtcdCluster::error(401, 16, "etcdserver: invalid auth token")
                                 : EtcdCluster::error(403, 7, "etcdserver: permission denied");
    case Rejection::misconfigured:
      return {404, "Not Found\n"};
    case Rejection::throttled:
    case Rejection::transient:
      return EtcdCluster::error(429, 8, "etcdserver: too many requests");
    case Rejection::corrupt:
      return notUnderstood(body);
    case Rejection::none:
      break;
  }
  if (fate.lie) {
    return {200, R"({"header":{"revision":")" + std::to_string(cluster_.revision() + 9) + R"("},"succeeded":true})"};
  }
  if (!fate.unknown) return carryOut(world, life, body);
  if (random_.chance(0.5)) static_cast<void>(carryOut(world, life, body));
  return random_.chance(0.5) ? EtcdCluster::error(503, 14, "etcdserver: leader changed") : EtcdAnswer{504, ""};
}

/// What another program wrote, or what is no answer of etcd at all.
EtcdAnswer SimEtcd::notUnderstood(const std::string& body) {
  EtcdCluster copy = cluster_;
  if (copy.keys().contains(recordKey_) && random_.chance(0.5)) copy.put(recordKey_, "{}");
  EtcdAnswer answer = copy.txn(body);
  // A transaction that would have been carried out was not, so its answer is none.
  return answer.body.find("response_range") == std::string::npos ? EtcdAnswer{200, "<html>"} : answer;
}

EtcdAnswer SimEtcd::carryOut(SimSurroundings& world, SimLife& life, const std::string& body) {
  const FencingToken before = record() ? record()->token : FencingToken{};
  const std::int64_t revision = cluster_.revision();
  EtcdAnswer answer = cluster_.txn(body, world.weakReadIsStale() ? world.staleness() : 0);
  if (cluster_.revision() == revision) return answer;
  if (random_.chance(0.05)) cluster_.compact();
  refresh();
  if (record() && record()->token > before) world.taken();
  if (record()) world.stored(life, record()->version);
  return answer;
}

void SimEtcd::refresh() {
  const auto valueOf = [&](const std::string& key) {
    const auto found = cluster_.keys().find(key);
    return found != cluster_.keys().end() ? std::optional{found->second.value} : std::nullopt;
  };
  std::optional<LeaseRecord> stored;
  if (const auto text = valueOf(recordKey_)) stored = recordFrom({where, leaseKey, recordKey_}, *text)->record;
  std::optional<LeaseRecord> told = stored;
  if (const auto text = valueOf(counterKey_); text && !told) {
    const auto counter = counterFrom({where, leaseKey, counterKey_}, *text);
    if (counter->openLease.count() > 0) told = vanishedRecord(counter->token, counter->openLease);
  }
  now(std::move(stored), std::move(told));
}

}  // namespace

bool hasEtcd() noexcept { return true; }

std::unique_ptr<SimService> makeSimEtcd(std::uint64_t seed) { return std::make_unique<SimEtcd>(seed); }

}  // namespace tenure::test
