#include "candidate.hpp"

#include <filesystem>
#include <signal.h>
#include <stop_token>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sqlite3.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/election/leader_elector.hpp>

#include "bench_store.hpp"
#include "board.hpp"
#include "ledger.hpp"
#include "lockcore/driver/term_cell.hpp"
#include "lockcore/port/extended_store.hpp"

namespace tenure::bench {
namespace {

/// Passes every call on, and notes when writes were sent and acknowledged. So it measures a term's right independently.
class TimedStore final : public ForwardingStore {
 public:
  TimedStore(std::shared_ptr<LeaseStore> behind, Slot& slot) : ForwardingStore{std::move(behind)}, slot_{slot} {}

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    const Instant sentAt = readClock();
    const auto purpose = request.purpose;
    ForwardingStore::write(std::move(request), options,
                           [this, sentAt, purpose, handler = std::move(handler)](auto outcome) {
                             if (std::holds_alternative<Applied>(outcome)) noteApplied(purpose, sentAt);
                             handler(std::move(outcome));
                           });
  }

  /// When the request of the last acknowledged ownership write was sent.
  [[nodiscard]] Instant rightFrom() const noexcept { return right_.load().anchor; }

 private:
  void noteApplied(WriteRequest::Purpose purpose, const Instant& sentAt) {
    if (purpose == WriteRequest::Purpose::release) {
      slot_.releasedAt.store(boottimeNow());
      return;
    }
    TermState state;
    state.anchor = sentAt;
    right_.publish(state);
    slot_.appliedAt.store(boottimeNow());
  }

  Slot& slot_;
  TermCell right_;
};

/// Asks isLeader() all the time and checks the answer against the times of the store's acknowledgements.
void doubtBelief(const std::stop_token& stop, const LeaderElector& elector, const TimedStore& store,
                 const LeaseTiming& timing, Slot& slot) {
  while (!stop.stop_requested()) {
    // The right is read first: a renewal between the two reads can only make the answer look worse than it is.
    const Instant right = store.rightFrom();
    const Instant before = readClock();
    const bool believes = elector.isLeader();
    slot.checks.fetch_add(1);
    const bool renewedMeanwhile = store.rightFrom() != right;
    if (believes && !renewedMeanwhile && elapsedForHolder(right, before) >= timing.validFor()) {
      slot.believedTooLong.fetch_add(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds{500});
  }
}

void onElected(Slot& slot, const Leadership& term) {
  slot.electedAt.store(boottimeNow());
  if (slot.elected.load() != slot.revoked.load()) slot.overlaps.fetch_add(1);
  slot.elected.fetch_add(1);
  slot.token.store(static_cast<std::int64_t>(term.fencingToken().value()));
}

void onRevoked(Slot& slot) {
  slot.revoked.fetch_add(1);
  if (slot.elected.load() != slot.revoked.load()) slot.overlaps.fetch_add(1);
}

void awaitEnd() {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  int which = 0;
  while (sigwait(&end, &which) != 0) {
  }
}

}  // namespace

int runCandidate(const CandidateSettings& settings) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // an interrupted bench leaves no process behind, stopped or not
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_BLOCK, &end, nullptr);

  SharedBoard board{settings.board};
  Slot& slot = board.slot(settings.index);
  slot.pid.store(getpid());
  slot.elected.store(slot.revoked.load());  // the slot's last process may have been killed while it led

  auto store = std::make_shared<TimedStore>(
      storeAt(settings.database, settings.deathNotice, std::filesystem::path{settings.board}.parent_path().string()),
      slot);
  LeaseOptions lease;
  lease.duration = settings.lease;
  lease.heartbeat = settings.heartbeat;
  const Group group = Group::make({"bench", {"candidate-" + std::to_string(settings.index)}, lease}, store).value();

  std::unique_ptr<Ledger> ledger;
  if (!settings.ledger.empty()) ledger = std::make_unique<Ledger>(settings.ledger);
  Listener listener;
  listener.onElected = [&](const Leadership& term) {
    onElected(slot, term);
    if (ledger) ledger->appendUntilRefused(term, slot);
  };
  listener.onRevoked = [&](const TermEnd&) { onRevoked(slot); };
  listener.onLeaderChanged = [&](const std::optional<LeaderInfo>&) { slot.competing.store(1); };
  LeaderElector elector{group, std::move(listener)};
  std::jthread doubter;
  if (ledger) {
    doubter =
        std::jthread{[&](const std::stop_token& stop) { doubtBelief(stop, elector, *store, group.timing(), slot); }};
  }
  elector.start();
  awaitEnd();
  elector.stop();
  return 0;
}

std::vector<std::string> CandidateSettings::command() const {
  if (!peer.empty()) {
    std::vector<std::string> words = peer;
    words.insert(words.end(), {"-endpoints", database, "-ttl", std::to_string(lease.count() / 1000), "-claim", "0",
                               "-board", board, "-index", std::to_string(index)});
    return words;
  }
  return {"/proc/self/exe",
          "candidate",
          board,
          std::to_string(index),
          database,
          ledger,
          std::to_string(lease.count()),
          std::to_string(heartbeat.count()),
          deathNotice ? "1" : "0"};
}

CandidateSettings CandidateSettings::fromArguments(const std::vector<std::string>& arguments) {
  CandidateSettings settings;
  settings.board = arguments.at(0);
  settings.index = std::stoi(arguments.at(1));
  settings.database = arguments.at(2);
  settings.ledger = arguments.at(3);
  settings.lease = std::chrono::milliseconds{std::stoi(arguments.at(4))};
  settings.heartbeat = std::chrono::milliseconds{std::stoi(arguments.at(5))};
  settings.deathNotice = arguments.at(6) == "1";
  return settings;
}

}  // namespace tenure::bench
