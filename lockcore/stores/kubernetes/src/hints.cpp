#include "hints.hpp"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "lockcore/kubernetes/names.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/call_permit.hpp"
#include "record_codec.hpp"

namespace tenure::kubernetes_store {

/// How far the streams have come. Thread-safe.
struct LeaseHints::Progress {
  /// Where the next stream goes on; empty: nobody knows.
  std::string from() {
    const std::lock_guard lock{mutex};
    return resourceVersion;
  }
  void reached(std::string version) {
    const std::lock_guard lock{mutex};
    resourceVersion = std::move(version);
  }
  /// What the next stream is about; it begins anew if that is something else than before.
  std::string select(const std::set<LeaseKey>& watched) {
    const std::lock_guard lock{mutex};
    std::string next = nextFor(watched);
    if (selected != next) resourceVersion.clear();
    selected = next;
    return next;
  }
  /// Whoever has watched two leases may hold one of them, and needs to hear of its loss while it watches the other. So
  /// a stream for all is followed by streams for all, unless the user may not have them.
  std::string nextFor(const std::set<LeaseKey>& watched) const {
    std::string one = watched.size() == 1 ? objectNameOf(*watched.begin()) : std::string{};
    if (!selected || refusedAll) return one;
    return watched.empty() || *selected == one ? *selected : std::string{};
  }
  bool covers(const std::set<LeaseKey>& watched) {
    const std::lock_guard lock{mutex};
    if (!selected || selected->empty() || watched.empty()) return true;
    return watched.size() == 1 && objectNameOf(*watched.begin()) == *selected;
  }
  /// Whether it is to be told: once for each kind of rejection after a success.
  bool refuse(int status) {
    const std::lock_guard lock{mutex};
    refusedAll = refusedAll || (status == 403 && selected && selected->empty());
    return std::exchange(refusedBy, status) != status;
  }
  void accepted() {
    const std::lock_guard lock{mutex};
    refusedBy = 0;
    refusedAll = refusedAll && selected && !selected->empty();
  }
  /// Whether another client has written over a record of ours just now: its holder may not know. Told once, and not
  /// with each of that client's heartbeats.
  bool overwrites(const WatchEvent& event) {
    if (!event.object) return false;
    const bool gone = event.kind == WatchEvent::Kind::deleted;
    const std::lock_guard lock{mutex};
    if (!gone && isOverwritten(*event.object)) return overwritten.insert(event.object->name).second;
    overwritten.erase(event.object->name);
    return false;
  }

  std::mutex mutex{};
  std::string resourceVersion{};
  std::optional<std::string> selected{};  ///< an object's name, or empty for all; not set: there was no stream
  int refusedBy{0};                       ///< the status that was told; 0: none since the last success
  bool refusedAll{false};
  std::set<std::string> overwritten{};  ///< objects
};

/// One stream, from the listing before it. Shared by the handle and by what works for it.
class LeaseHints::Opening : public std::enable_shared_from_this<Opening> {
 public:
  Opening(CorePtr core, std::shared_ptr<Progress> progress, Selection selection, stored::HintHandlers handlers)
      : core_{std::move(core)},
        progress_{std::move(progress)},
        selection_{std::move(selection)},
        handlers_{std::move(handlers)} {}

  void begin() {
    if (const std::string from = progress_->from(); !from.empty()) return stream(from);
    const CallDeadline deadline{core_->scheduler->clock(), patience};
    send(core_, core_->requests.list(selection_, 1, {}), deadline,
         [self = shared_from_this()](const Outcome& outcome) { self->listed(outcome); });
  }

  /// Nothing is called any more. Waits for a handler that runs on another thread.
  void end() {
    permit_.revoke();
    std::shared_ptr<void> stream;
    const std::lock_guard lock{mutex_};
    gone_ = true;
    stream.swap(stream_);
    core_->watched.streamEnds(number_);
  }

 private:
  void listed(const Outcome& outcome) {
    const CallName call{core_->where, "watching leases"};
    if (auto fault = faultIn(call, outcome)) return failed(outcome ? outcome->status : 0, fault->error.message);
    const auto page = pageFrom(outcome->body);
    if (page.has_error()) return failed(0, page.error().what);
    progress_->reached(page->resourceVersion);
    tell({.anew = true});
    stream(page->resourceVersion);
  }

  void stream(const std::string& from) {
    const auto gateway = core_->gateway.lock();
    if (!gateway) return;
    StreamHandlers handlers{[self = shared_from_this()](std::string_view line) { self->line(line); },
                            [self = shared_from_this()](const Ending& ending) { self->ended(ending); }};
    auto stream = gateway->stream(core_->requests.watch(selection_, from), silence, std::move(handlers));
    const std::lock_guard lock{mutex_};
    if (gone_) return;
    stream_.swap(stream);
    number_ = core_->watched.streamBegins();
  }

  void line(std::string_view text) {
    const auto event = eventFrom(text);
    if (event.has_error()) return forget(event.error().what);
    if (event->kind == WatchEvent::Kind::failed)
      return forget("the server says: " + inQuotes(event->status.message, 300));
    progress_->reached(event->resourceVersion);
    progress_->accepted();
    stored::StreamEvent streamed = streamEventIn(core_->where, *event);
    noteShown(*event, streamed);
    streamed.loss = progress_->overwrites(*event) || streamed.loss;
    tell(streamed);
  }

  /// Heartbeats need not be asked for.
  void noteShown(const WatchEvent& event, const stored::StreamEvent& streamed) {
    for (const stored::LeaseChange& change : streamed.changes) {
      const bool held = !change.term.empty();
      held ? core_->watched.shown(change.key, *event.object) : core_->watched.forget(change.key);
    }
  }

  void ended(const Ending& ending) {
    if (ending.lineTooLong || saysGone(ending.status, statusFrom(ending.body))) return forget(ending.why);
    failed(ending.status, ending.why);
  }

  /// What follows on the last resourceVersion is not to be had.
  void forget(const std::string& why) {
    progress_->reached({});
    failed(0, why);
  }

  void failed(int status, const std::string& why) {
    endStream();
    const bool lacksRight = status == 403;
    const bool refused = lacksRight || status == 401;
    if (refused && progress_->refuse(status)) {
      core_->logger.log(LogLevel::warn,
                        core_->where + ": Leases cannot be watched, so a hand-over is seen only by polling. " +
                            (lacksRight ? "Grant list and watch on leases" : "Check the token or the certificate") +
                            " (" + why + ")");
    }
    const stored::StreamEnd end{why, refused ? refusedPause : std::chrono::minutes{0}};
    permit_.call([&] { handlers_.onEnd(end); });
  }

  void endStream() {
    const std::lock_guard lock{mutex_};
    core_->watched.streamEnds(number_);
  }

  void tell(const stored::StreamEvent& streamed) {
    permit_.call([&] { handlers_.onEvent(streamed); });
  }

  const CorePtr core_;
  const std::shared_ptr<Progress> progress_;
  const Selection selection_;
  const stored::HintHandlers handlers_;
  CallPermit permit_{};
  std::mutex mutex_{};
  bool gone_{false};                ///< guarded by the mutex, as all that follow
  std::uint64_t number_{0};         ///< of the stream, as the watched objects know it; 0: there was none
  std::shared_ptr<void> stream_{};  ///< keeps this object; end() breaks the circle
};

LeaseHints::LeaseHints(CorePtr core) : core_{std::move(core)}, progress_{std::make_shared<Progress>()} {}

std::shared_ptr<void> LeaseHints::open(const std::set<LeaseKey>& watched, stored::HintHandlers handlers) {
  const Selection selection{progress_->select(watched)};
  auto opening = std::make_shared<Opening>(core_, progress_, selection, std::move(handlers));
  opening->begin();
  return {opening.get(), [opening, mark = ProcessMark{}](void*) mutable {
            if (mark.isHere()) return opening->end();
            leaveToParent(std::move(opening));  // the thread that could end a call exists only there
          }};
}

bool LeaseHints::covers(const std::set<LeaseKey>& watched) const { return progress_->covers(watched); }

stored::StreamEvent streamEventIn(const std::string& where, const WatchEvent& event) {
  stored::StreamEvent streamed{.alive = true};
  const auto key = event.object ? leaseIn(*event.object) : std::nullopt;
  if (!key) return streamed;
  // The store deletes no object. (One that loses the store's label looks as if it were deleted; a read tells.)
  streamed.loss = event.kind == WatchEvent::Kind::deleted;
  stored::LeaseChange change{*key};
  if (!streamed.loss) {
    State state = stateOf(where, *key, *event.object);
    change.term = termIn(*event.object, state);
    if (change.term.empty()) change.release = std::make_shared<const State>(std::move(state));
  }
  streamed.changes.push_back(std::move(change));
  return streamed;
}

}  // namespace tenure::kubernetes_store
