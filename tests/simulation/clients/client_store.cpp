// The store of one process: a network with faults, and the shared table behind it.
#include <stdexcept>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/store_checks.hpp"
#include "simulation/clients/world.hpp"

namespace tenure::test {
namespace {

StoreError passing(const char* what) { return {ErrorClass::transient, what}; }

class ClientStore final : public ExtendedStore {
 public:
  ClientStore(World& world, Life& life) : world_{world}, life_{life} {}

  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& /*key*/, const std::string& data,
                                             const std::map<std::string, std::string>& /*attributes*/) const override {
    if (data.empty() || !world_.happens(Disturbance::refusePayload)) return {};
    world_.met("payloadRefused");
    return {{"data", "is too long"}};
  }
  [[nodiscard]] std::string describe() const override { return "the store of " + life_.name; }
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    call<StoreStatus>(
        options, std::move(handler), [] { return StoreStatus{}; }, unanswered<StoreStatus>);
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    call<ReadOutcome>(
        options, std::move(handler), [this, key] { return ReadOutcome{world_.recordOf(key)}; },
        unanswered<ReadOutcome>);
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (auto error = errorOf(request)) world_.broke("request", error->message);
    if (life_.alive) {
      for (const auto& actor : life_.actors) actor->sent(request);
    }
    call<WriteOutcome>(
        options, std::move(handler),
        [this, request = std::move(request), allowed = world_.frame] {
          return world_.apply(life_, request, allowed.get());
        },
        [](const char* what, bool certain) -> WriteOutcome {
          if (certain) return Rejected{passing(what)};
          return Unknown{passing(what)};
        });
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    call<ListOutcome>(
        options, std::move(handler),
        [this, prefix = std::move(prefix)] { return ListOutcome{world_.table().list(prefix)}; },
        unanswered<ListOutcome>);
  }
  void listName(std::string name, CallOptions options, ListHandler handler) override {
    call<ListOutcome>(
        options, std::move(handler),
        [this, name = std::move(name)] {
          std::vector<ListedLease> found = world_.table().list(name);
          std::erase_if(found, [&](const ListedLease& lease) { return lease.key.name != name; });
          return ListOutcome{std::move(found)};
        },
        unanswered<ListOutcome>);
  }
  [[nodiscard]] bool keepsGroupsTogether() const noexcept override { return world_.plan().together; }
  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                          WriteHandler handler) override {
    call<WriteOutcome>(
        options, std::move(handler),
        [this, key, request = std::move(request)] { return world_.requestStepDown(key, request); },
        [](const char* what, bool) { return WriteOutcome{Unknown{passing(what)}}; });
  }

 private:
  template <class Outcome>
  static Outcome unanswered(const char* what, bool /*certain*/) {
    return Outcome{passing(what)};
  }

  template <class Outcome, class Apply, class Failed>
  void call(CallOptions options, std::function<void(Outcome)> handler, Apply apply, Failed failed) {
    if (!life_.alive) return;  // requests that a dead process's threads may still make go nowhere
    if (world_.happens(Disturbance::throwBefore)) throw std::runtime_error{"the store has no connection"};
    if (world_.happens(Disturbance::throwAfter)) {
      world_.met("threwAfterItWasApplied");
      apply();
      throw std::runtime_error{"the store lost its connection"};
    }
    if (world_.happens(Disturbance::inside)) return handler(apply());
    const auto told = std::make_shared<std::function<void(Outcome)>>(std::move(handler));
    const auto answer = [this, told](TrueTime delay, Outcome outcome) {
      world_.in(life_, delay, nullptr, [told, outcome = std::move(outcome)]() mutable {
        if (const auto first = std::exchange(*told, nullptr)) first(std::move(outcome));
      });
    };
    const bool isSilent = world_.happens(Disturbance::silent);
    if (!isSilent) answer(options.timeout, failed("no answer in time", false));
    if (world_.now() < life_.outageUntil || world_.happens(Disturbance::loseRequest)) return;
    const TrueTime there = world_.message(), back = world_.message();
    if (world_.happens(Disturbance::refuse)) return answer(there + back, failed("busy", true));
    const bool unsure = world_.happens(Disturbance::unsure), lost = world_.happens(Disturbance::loseReply);
    // A request in flight arrives, whatever happens to its sender.
    world_.at(there, [answer, apply, failed, back, unsure, lost, &world = world_] {
      Outcome outcome = apply();
      if (unsure) outcome = failed("a gateway lost the answer", false);
      if (lost) world.met("replyLost");
      if (!lost) answer(back, std::move(outcome));
    });
  }

  World& world_;
  Life& life_;
};

}  // namespace

std::shared_ptr<LeaseStore> makeClientStore(World& world, Life& life) {
  return std::make_shared<ClientStore>(world, life);
}

}  // namespace tenure::test
