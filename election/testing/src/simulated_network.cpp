#include "simulated_network.hpp"

#include <algorithm>
#include <exception>
#include <future>
#include <thread>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/port/extended_store.hpp"

namespace tenure::test {
namespace {

using std::chrono::milliseconds;

StoreError noAnswer() { return {ErrorClass::transient, "the simulated network brought no answer in time"}; }

std::string named(const WriteOutcome& outcome) {
  if (const auto* applied = std::get_if<Applied>(&outcome))
    return "applied, token " + std::to_string(applied->token.value());
  if (std::holds_alternative<Conflict>(outcome)) return "conflict";
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) return "rejected: " + rejected->error.message;
  return "unknown: " + std::get<Unknown>(outcome).error.message;
}

std::string named(const WriteRequest& request) {
  switch (request.purpose) {
    case WriteRequest::Purpose::acquire:
      return "acquisition";
    case WriteRequest::Purpose::renew:
      return "renewal";
    case WriteRequest::Purpose::release:
      break;
  }
  return "release";
}

/// Calls the handler with the first answer, and not with a later one.
template <class Outcome>
std::function<void(Outcome)> firstOnly(std::function<void(Outcome)> handler) {
  return [kept = std::make_shared<std::function<void(Outcome)>>(std::move(handler))](Outcome outcome) {
    if (const auto once = std::exchange(*kept, nullptr)) once(std::move(outcome));
  };
}

}  // namespace

std::optional<Nanos> SimulatedNetwork::nextEvent() const {
  return events_.empty() ? std::nullopt : std::optional{events_.begin()->first};
}

void SimulatedNetwork::advance(Nanos by) {
  now_ += by;
  while (!events_.empty() && events_.begin()->first <= now_ && !isViolated()) {
    const auto task = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    task();
  }
}

void SimulatedNetwork::join(std::shared_ptr<Link> link) {
  std::erase_if(links_, [](const auto& other) { return other->gone; });
  links_.push_back(std::move(link));
}

void SimulatedNetwork::tell(const std::string& event) {
  constexpr std::size_t kept = 40;
  if (report.lastEvents.size() == kept) report.lastEvents.erase(report.lastEvents.begin());
  const auto millis = std::chrono::duration_cast<milliseconds>(now_).count();
  report.lastEvents.push_back(std::to_string(millis) + " ms: " + event);
}

void SimulatedNetwork::violated(const std::string& what) {
  if (isViolated()) return;
  tell(what);
  report.violation = report.lastEvents.back();
}

void SimulatedNetwork::deliver(const std::shared_ptr<Link>& to, std::function<void()> task) {
  if (to->gone) return;
  if (to->frozen) {
    to->inbox.push_back(std::move(task));
  } else {
    task();
  }
}

bool SimulatedNetwork::loses(const Link& link) {
  if (link.cut || storeIsDown || (faults && chance(5))) {
    ++report.lost;
    return true;
  }
  return false;
}

Nanos SimulatedNetwork::way() {
  const Nanos usual = upTo(milliseconds{5});
  return faults && chance(10) ? usual + upTo(options_.lease / 3) : usual;
}

template <class Outcome>
std::optional<Outcome> SimulatedNetwork::ask(const std::function<void(std::function<void(Outcome)>)>& call) {
  ++report.requests;
  struct Answer {
    Outcome outcome;
    Instant at;  // taken where it is given: a thread that waits may be kept waiting by others
  };
  const auto answer = std::make_shared<std::promise<Answer>>();
  const auto isAnswered = std::make_shared<std::atomic<bool>>(false);
  std::future<Answer> answered = answer->get_future();
  const Instant began = readClock();
  try {
    call([=, misuse = misuse_, caller = std::this_thread::get_id()](Outcome outcome) {
      if (isAnswered->exchange(true)) {
        *misuse = Misuse::answersTwice;
        return;
      }
      if (std::this_thread::get_id() == caller) *misuse = Misuse::answersInside;
      answer->set_value({std::move(outcome), readClock()});
    });
  } catch (const std::exception& fault) {
    violated(std::string{"the store threw an exception: "} + fault.what());
    return std::nullopt;
  } catch (...) {
    violated("the store threw something that is not a std::exception");
    return std::nullopt;
  }
  const Nanos left = options_.patience - elapsedForHolder(began, readClock());  // of what the call itself took
  std::optional<Answer> got;
  if (answered.wait_for(std::max(left, Nanos{0})) == std::future_status::ready) got = answered.get();
  const bool inTime = got && elapsedForHolder(began, got->at) <= options_.patience;
  if (!inTime) violated("the store gave no answer in " + std::to_string(options_.patience.count()) + " ms");
  if (*misuse_ == Misuse::answersTwice) violated("the store answered a call twice");
  if (*misuse_ == Misuse::answersInside) violated("the store answered inside the call");
  return inTime ? std::optional{std::move(got->outcome)} : std::nullopt;
}

template <class Outcome>
void SimulatedNetwork::roundTrip(const std::shared_ptr<Link>& from, Nanos timeout, std::function<void(Outcome)> handler,
                                 const std::function<std::optional<Outcome>()>& carriedOut) {
  const auto answer = firstOnly(std::move(handler));
  at(now_ + timeout, [=, this] { deliver(from, [=] { answer(noAnswer()); }); });
  if (loses(*from)) return;
  at(now_ + way(), [=, this] {
    auto outcome = carriedOut();
    if (!outcome || loses(*from)) return;
    at(now_ + way(), [=, this, outcome = std::move(*outcome)] { deliver(from, [=] { answer(outcome); }); });
  });
}

void SimulatedNetwork::ensureSchema(const std::shared_ptr<Link>& from, const std::shared_ptr<LeaseStore>& store,
                                    Nanos timeout, StatusHandler handler) {
  roundTrip<StoreStatus>(from, timeout, std::move(handler), [=, this] {
    return ask<StoreStatus>([&](StatusHandler done) { store->ensureSchema({mayTake()}, std::move(done)); });
  });
}

void SimulatedNetwork::read(const std::shared_ptr<Link>& from, const std::shared_ptr<LeaseStore>& store,
                            const LeaseKey& key, Nanos timeout, ReadHandler handler) {
  roundTrip<ReadOutcome>(from, timeout, std::move(handler), [=, this] {
    auto outcome = ask<ReadOutcome>([&](ReadHandler done) { store->read(key, {mayTake()}, std::move(done)); });
    const std::string fault = outcome ? model_.judge(*outcome) : std::string{};
    if (!fault.empty()) violated(fault);
    return outcome;
  });
}

std::optional<WriteOutcome> SimulatedNetwork::carryOut(LeaseStore& store, const Link& from,
                                                       const WriteRequest& request) {
  auto outcome = ask<WriteOutcome>([&](WriteHandler done) { store.write(request, {mayTake()}, std::move(done)); });
  if (!outcome) return outcome;
  tell(named(request) + " of " + from.name + ": " + named(*outcome));
  if (const std::string fault = model_.judge(request, *outcome); !fault.empty()) violated(fault);
  if (std::holds_alternative<Applied>(*outcome)) hint(from);
  return outcome;
}

void SimulatedNetwork::write(const std::shared_ptr<Link>& from, const std::shared_ptr<LeaseStore>& store,
                             const WriteRequest& request, Nanos timeout, WriteHandler handler) {
  const auto answer = firstOnly(std::move(handler));
  at(now_ + timeout, [=, this] { deliver(from, [=] { answer(Unknown{noAnswer()}); }); });
  if (faults && chance(5)) {  // a copy of it comes late; often nothing else does
    ++report.late;
    at(now_ + timeout + upTo(3 * options_.lease), [=, this] { static_cast<void>(carryOut(*store, *from, request)); });
    if (chance(70)) return;
  }
  if (loses(*from)) return;
  at(now_ + way(), [=, this] {
    auto outcome = carryOut(*store, *from, request);
    if (!outcome || loses(*from)) return;
    at(now_ + way(), [=, this, outcome = std::move(*outcome)] { deliver(from, [=] { answer(outcome); }); });
  });
}

void SimulatedNetwork::hint(const Link& writer) {
  for (const std::shared_ptr<Link>& link : links_) {
    if (link.get() == &writer || chance(50)) continue;
    at(now_ + way(), [=, this] {
      deliver(link, [=] {
        for (const auto& hint : link->hints) {
          if (const auto call = hint.lock()) (*call)();
        }
      });
    });
  }
}

namespace {

class ThroughNetwork final : public ForwardingStore {
 public:
  ThroughNetwork(std::shared_ptr<LeaseStore> behind, std::shared_ptr<Link> link, SimulatedNetwork& network)
      : ForwardingStore{std::move(behind)}, link_{std::move(link)}, network_{network} {}

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    if (link_->gone) return;
    network_.ensureSchema(link_, behind_, options.timeout, std::move(handler));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    if (link_->gone) return;
    network_.read(link_, behind_, key, options.timeout, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (link_->gone) return;
    network_.write(link_, behind_, request, options.timeout, std::move(handler));
  }
  std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> hint) override {
    auto kept = std::make_shared<std::function<void()>>(std::move(hint));
    link_->hints.emplace_back(kept);
    return kept;
  }
  std::shared_ptr<void> watchLoss(std::function<void()> /*hint*/) override { return nullptr; }
  std::shared_ptr<DeathNotice> deathNotice() override { return nullptr; }

 private:
  const std::shared_ptr<Link> link_;
  SimulatedNetwork& network_;
};

}  // namespace

std::shared_ptr<LeaseStore> throughNetwork(std::shared_ptr<LeaseStore> store, std::shared_ptr<Link> link,
                                           SimulatedNetwork& network) {
  return std::make_shared<ThroughNetwork>(std::move(store), std::move(link), network);
}

}  // namespace tenure::test
