// The Kubernetes store as it is shipped, in virtual time: the simulation provides the API server, an operator with
// kubectl, and a candidate of client-go.
#include "simulation/sim_kubernetes.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "lockcore/kubernetes/lease_object.hpp"
#include "lockcore/port/successor_text.hpp"
#include "lockcore/stores/kubernetes/src/micro_time.hpp"
#include "lockcore/stores/kubernetes/src/record_codec.hpp"
#include "lockcore/stores/kubernetes/src/store.hpp"
#include "simulation/kubernetes/sim_api_server.hpp"
#include "simulation/sim_clock.hpp"
#include "simulation/sim_store_endpoint.hpp"
#include "simulation/sim_stream.hpp"

namespace tenure::test {
namespace {

using namespace kubernetes_store;
using boost::json::object;

const LeaseKey leaseKey{"lease"};
const std::string server{"simulated"};
constexpr std::int64_t firstMicros = 1'795'680'000'000'000;

std::string changedLine(const std::string& name, std::size_t number) {
  object metadata{{"name", name}, {"uid", "uid-0"}, {"resourceVersion", "7"}};
  metadata["labels"] = object{{"app.kubernetes.io/managed-by", "tenure"}};
  object spec{{"holderIdentity", number % 2 == 0 ? "" : "nobody"}, {"leaseTransitions", number}};
  object lease{{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}, {"metadata", metadata}, {"spec", spec}};
  return boost::json::serialize(object{{"type", "MODIFIED"}, {"object", lease}});
}

std::string erasedLine() {
  std::string line = changedLine(leaseKey.name, 1);
  return line.replace(line.find("MODIFIED"), 8, "DELETED");
}

StreamLines linesOfStreams() {
  return {[](std::size_t number) { return changedLine(leaseKey.name, number); },
          [](std::size_t number) { return changedLine("another", number); }, erasedLine(),
          R"({"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}})"};
}

/// Null: there is none.
object* partOf(object& whole, std::string_view part, std::string_view inner) {
  auto* found = whole.if_contains(part);
  auto* second = found != nullptr && found->is_object() ? found->get_object().if_contains(inner) : nullptr;
  return second != nullptr ? second->if_object() : nullptr;
}

class SimKubernetes final : public SimService {
 public:
  explicit SimKubernetes(std::uint64_t seed) : random_{seed} {}

  std::unique_ptr<SimEndpoint> connect(SimSurroundings& world, std::size_t process, SimLife& life) override;

  /// `kubectl edit` of the spec, or client-go's tryRelease. The Lease itself is deleted of a record that nobody holds:
  /// its resourceVersion is then all that is left to know of the tokens, so they must not have been lifted above it.
  bool erase() override {
    const bool held = !record()->released;
    if (!held && !isLifted()) {
      server_.erase(leaseKey.name);
    } else if (held && !record()->token.isNone() && random_.chance(0.5)) {
      giveBack();
    } else {
      server_.edit(leaseKey.name, [](object& lease) { lease["spec"] = object{}; });
    }
    refresh();
    return true;
  }
  /// As client-go takes a Lease over, and renews it.
  bool put(const LeaseRecord& foreign) override {
    if (!server_.leases().contains(leaseKey.name)) return false;
    server_.edit(leaseKey.name, [&](object& lease) {
      object& spec = lease["spec"].is_object() ? lease["spec"].get_object() : lease["spec"].emplace_object();
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(foreign.leaseDuration).count();
      const bool renews = spec.contains("holderIdentity") && spec.at("holderIdentity") == foreign.holder.c_str();
      const std::int64_t terms = spec.contains("leaseTransitions") ? spec.at("leaseTransitions").as_int64() : 0;
      spec["holderIdentity"] = foreign.holder;
      spec["leaseDurationSeconds"] = seconds;
      spec["leaseTransitions"] = renews ? terms : terms + 1;
      spec["renewTime"] = microTime(micros());
    });
    refresh();
    return true;
  }
  void letGo() override {
    giveBack();
    refresh();
  }
  /// client-go compares the record as it is written, with its times in whole seconds.
  [[nodiscard]] ShownToForeign shownToForeign() const override {
    const auto found = server_.leases().find(leaseKey.name);
    if (found == server_.leases().end()) return {};
    const auto lease = leaseObjectFrom(*found->second);
    const LeaseSpec& spec = lease->spec;
    if (spec.holder.empty()) return {};
    return {spec.holder + ' ' + spec.renewTime.substr(0, 19) + ' ' + std::to_string(spec.transitions),
            std::chrono::seconds{spec.leaseSeconds.value_or(0)}};
  }
  bool loseCounter() override {
    server_.edit(leaseKey.name, [](object& lease) {
      object& annotations = lease["metadata"].get_object()["annotations"].get_object();
      annotations.erase("tenure.dev/counter");
      annotations.erase("tenure.dev/open-lease-ms");
    });
    return true;
  }
  [[nodiscard]] bool counterLost() const override {
    const auto found = server_.leases().find(leaseKey.name);
    if (found == server_.leases().end()) return false;
    const auto lease = leaseObjectFrom(*found->second);
    return !lease->hasAnnotation("tenure.dev/counter");
  }
  void requestStepDown(const Successor& successor) override {
    if (!record() || record()->token.isNone()) return;
    server_.edit(leaseKey.name, [&](object& lease) {
      object& annotations = lease["metadata"].get_object()["annotations"].get_object();
      annotations["tenure.dev/step-down"] = toString(record()->token);
      const std::string text = successorText(successor, record()->token);
      if (!text.empty() && !record()->released) annotations["tenure.dev/successor"] = text;
    });
  }

  [[nodiscard]] bool streams() const override { return true; }
  void talk() override {
    // A label that somebody writes changes the object and means nothing. On another client's record it postpones a
    // takeover, for ever if it is written again and again.
    if (record() && !record()->token.isNone() && random_.chance(0.1)) {
      server_.edit(leaseKey.name, [this](object& lease) {
        lease["metadata"].get_object()["labels"].get_object()["touched"] = std::to_string(server_.revision());
      });
      refresh();
    }
    if (random_.chance(0.05)) server_.forgetHistory();
    const auto open = streams_;
    for (const auto& [number, stream] : open) stream->talk();
  }

  ApiAnswer serve(SimSurroundings& world, SimLife& life, const Request& request, const AnswerFate& fate);
  std::uint64_t open(const std::string& target, const std::shared_ptr<SimStream>& stream) {
    const std::uint64_t number = server_.watch(target, [stream](const std::string& line) { stream->take(line); });
    streams_[number] = stream;
    return number;
  }
  void close(std::uint64_t stream) {
    server_.unwatch(stream);
    streams_.erase(stream);
  }

 private:
  /// Whether a token is above the server's revision.
  [[nodiscard]] bool isLifted() const {
    const stored::StoredLease lease =
        storedIn({server, leaseKey}, *leaseObjectFrom(*server_.leases().at(leaseKey.name)));
    const FencingToken counter = lease.counter.has_value() ? lease.counter->token : FencingToken{};
    return std::max(counter, record()->token).value() > server_.revision();
  }
  ApiAnswer carryOut(SimSurroundings& world, SimLife& life, const Request& request);
  [[nodiscard]] ApiAnswer notUnderstood(const Request& request);
  /// Another one for each write. What it says is nobody's concern.
  [[nodiscard]] std::int64_t micros() const {
    return firstMicros + static_cast<std::int64_t>(server_.revision()) * 1'000;
  }
  void giveBack() {
    server_.edit(leaseKey.name, [this](object& lease) {
      object& spec = lease["spec"].get_object();
      spec["holderIdentity"] = "";
      spec["leaseDurationSeconds"] = 1;
      spec["renewTime"] = microTime(micros());
    });
  }
  void refresh();

  SeededRandom random_;
  ApiServer server_{"default"};
  std::map<std::uint64_t, std::shared_ptr<SimStream>> streams_{};
};

/// The connections of one process.
class SimApiGateway final : public Gateway {
 public:
  SimApiGateway(SimSurroundings& world, std::size_t process, SimLife& life, SimKubernetes& service)
      : world_{world}, process_{process}, life_{life}, service_{service} {}

  void call(Request request, std::chrono::nanoseconds timeout, OutcomeHandler handler) override {
    const auto waiting = std::make_shared<OutcomeHandler>(std::move(handler));
    const auto answer = [waiting](Outcome outcome) {
      if (*waiting) std::exchange(*waiting, nullptr)(std::move(outcome));
    };
    world_.exchange(
        process_, life_, timeout,
        [world = &world_, life = &life_, service = &service_, request = std::move(request),
         answer](const AnswerFate& fate) -> SimSurroundings::Task {
          ApiAnswer reply = service->serve(*world, *life, request, fate);
          return [answer, reply = std::move(reply)] { answer(Reply{reply.status, reply.body}); };
        },
        [answer] {
          answer(CallFault{{ErrorClass::transient, "timed out"}, true});
        });
  }

  [[nodiscard]] std::shared_ptr<void> stream(std::string target, std::chrono::nanoseconds silence,
                                             StreamHandlers handlers) override {
    SimStream::Handlers of{handlers.onLine, [onEnd = handlers.onEnd] {
                             onEnd({0, {}, "nothing was heard for too long"});
                           }};
    const auto stream = std::make_shared<SimStream>(world_, process_, life_, silence, linesOfStreams(), std::move(of));
    const std::uint64_t number = service_.open(target, stream);
    return {stream.get(), [service = &service_, stream, number](void*) {
              stream->close();
              service->close(number);
            }};
  }
  [[nodiscard]] std::string describe() const override { return server; }

 private:
  SimSurroundings& world_;
  std::size_t process_;
  SimLife& life_;
  SimKubernetes& service_;
};

std::unique_ptr<SimEndpoint> SimKubernetes::connect(SimSurroundings& world, std::size_t process, SimLife& life) {
  StoreParts parts;
  parts.gateway = std::make_shared<SimApiGateway>(world, process, life, *this);
  parts.scheduler = std::make_shared<LocalScheduler>(world, process, life);
  return std::make_unique<StoreEndpoint>(leaseKey, makeStore({"default"}, std::move(parts)));
}

ApiAnswer SimKubernetes::serve(SimSurroundings& world, SimLife& life, const Request& request, const AnswerFate& fate) {
  using Rejection = AnswerFate::Rejection;
  if (fate.deferred) return ApiServer::failure(504, "Timeout", "etcdserver: request timed out");
  switch (fate.error) {
    case Rejection::credentials:
      return random_.chance(0.5) ? ApiServer::failure(401, "Unauthorized", "Unauthorized")
                                 : ApiServer::failure(403, "Forbidden", "leases is forbidden");
    case Rejection::misconfigured:
      return {404, "404 page not found\n"};
    case Rejection::throttled:
    case Rejection::transient:
      return {429, "Too many requests, please try again later.\n"};
    case Rejection::corrupt:
      return notUnderstood(request);
    case Rejection::none:
      break;
  }
  // What an old or another server might say: 200, and the object as it was.
  if (fate.lie) return request.method == "GET" ? ApiAnswer{200, "{}"} : server_.handle("GET", request.target, {});
  if (!fate.unknown) return carryOut(world, life, request);
  if (random_.chance(0.5)) static_cast<void>(carryOut(world, life, request));
  return random_.chance(0.5) ? ApiServer::failure(500, "InternalError", "rpc error: transport is closing")
                             : ApiAnswer{504, "upstream request timeout"};
}

/// What another program wrote, or what is no answer of an API server at all. Nothing is carried out.
ApiAnswer SimKubernetes::notUnderstood(const Request& request) {
  if (request.method != "GET" || random_.chance(0.5)) return {200, "<html>"};
  ApiAnswer answer = server_.handle(request.method, request.target, {});
  object shown = boost::json::parse(answer.body).get_object();
  object* annotations = partOf(shown, "metadata", "annotations");
  if (annotations != nullptr) (*annotations)["tenure.dev/lease-ms"] = "-5";
  return {answer.status, boost::json::serialize(shown)};
}

ApiAnswer SimKubernetes::carryOut(SimSurroundings& world, SimLife& life, const Request& request) {
  const FencingToken before = record() ? record()->token : FencingToken{};
  const std::uint64_t revision = server_.revision();
  ApiAnswer answer = server_.handle(request.method, request.target, request.body);
  if (server_.revision() == revision) return answer;
  refresh();
  if (record() && record()->token > before) world.taken();
  if (record()) world.stored(life, record()->version);
  return answer;
}

void SimKubernetes::refresh() {
  const auto found = server_.leases().find(leaseKey.name);
  if (found == server_.leases().end()) return now(std::nullopt, std::nullopt);
  const stored::StoredLease lease = storedIn({server, leaseKey}, *leaseObjectFrom(*found->second));
  std::optional<LeaseRecord> stored;
  if (const auto& held = *lease.record) stored = held->record;
  now(std::move(stored), *lease.answer());
}

}  // namespace

bool hasKubernetes() noexcept { return true; }

std::unique_ptr<SimService> makeSimKubernetes(std::uint64_t seed) { return std::make_unique<SimKubernetes>(seed); }

}  // namespace tenure::test
