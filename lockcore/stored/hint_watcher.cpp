#include "hint_watcher.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "lockcore/runtime/call_permit.hpp"

namespace tenure::stored {

class HintWatcher::Listener {
 public:
  explicit Listener(std::function<void()> hint) : hint_{std::move(hint)} {}
  void tell() { permit_.call(hint_); }
  void close() { permit_.revoke(); }

 private:
  const std::function<void()> hint_;
  CallPermit permit_;
};

HintWatcher::HintWatcher(std::shared_ptr<HintSource> source, std::shared_ptr<Scheduler> scheduler, Logger logger,
                         std::string where)
    : source_{std::move(source)},
      scheduler_{std::move(scheduler)},
      logger_{std::move(logger)},
      where_{std::move(where)} {}

std::shared_ptr<void> HintWatcher::watch(const LeaseKey& key, std::function<void()> hint) {
  return add(&key, std::move(hint));
}

bool HintWatcher::watches(const LeaseKey& key) const {
  if (!mark_.isHere()) return false;
  const std::lock_guard lock{mutex_};
  return watched_.contains(key);
}

LoadedLease HintWatcher::takeRelease(const LeaseKey& key, const StoredLease& loaded) {
  if (!mark_.isHere()) return nullptr;
  const std::lock_guard lock{mutex_};
  const auto watched = watched_.find(key);
  return watched != watched_.end() ? watched->second.release.take(scheduler_->now(), loaded) : nullptr;
}

void HintWatcher::wrote(const LeaseKey& key, const std::string& holder) {
  if (!mark_.isHere()) return;
  const std::lock_guard lock{mutex_};
  if (const auto watched = watched_.find(key); watched != watched_.end()) watched->second.release.wrote(holder);
}

bool HintWatcher::isRefuted(const LeaseKey& key, const StoredLease& found) {
  if (!mark_.isHere()) return false;
  const std::lock_guard lock{mutex_};
  const auto watched = watched_.find(key);
  return watched != watched_.end() && watched->second.release.isRefuted(scheduler_->now(), found);
}

std::shared_ptr<void> HintWatcher::watchLoss(std::function<void()> hint) { return add(nullptr, std::move(hint)); }

std::shared_ptr<void> HintWatcher::add(const LeaseKey* key, std::function<void()> hint) {
  if (!mark_.isHere()) return nullptr;
  auto listener = std::make_shared<Listener>(std::move(hint));
  {
    const std::lock_guard lock{mutex_};
    if (key == nullptr) {
      lossListeners_.push_back(listener);
    } else {
      Watched& watched = watched_[*key];
      if (watched.listeners.empty()) watched.release.begin(scheduler_->now());
      watched.listeners.push_back(listener);
    }
  }
  settle();
  return {listener.get(),
          [self = shared_from_this(), key = key != nullptr ? std::optional{*key} : std::nullopt, listener](void*) {
            if (!self->mark_.isHere()) return;  // the thread that calls exists only in the parent
            self->remove(key ? &*key : nullptr, listener);
            listener->close();
            self->settle();
          }};
}

void HintWatcher::remove(const LeaseKey* key, const ListenerPtr& listener) {
  const std::lock_guard lock{mutex_};
  if (key == nullptr) {
    lossListeners_.remove(listener);
    return;
  }
  const auto watched = watched_.find(*key);
  if (watched == watched_.end()) return;
  watched->second.listeners.remove(listener);
  if (watched->second.listeners.empty()) watched_.erase(watched);
}

void HintWatcher::close() {
  if (!mark_.isHere()) return;
  std::shared_ptr<void> stream;
  const std::lock_guard lock{mutex_};
  closed_ = true;
  ++number_;
  stream = std::move(stream_);
}

/// Opens or ends the stream, as there is somebody who watches or not, and as it tells what they watch. It ends on a
/// task of the scheduler, because its destruction waits for what it tells just now, which may be what removed the last
/// listener.
void HintWatcher::settle() {
  scheduler_->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    std::shared_ptr<void> ending;
    bool opens = false;
    {
      const std::lock_guard lock{self->mutex_};
      const bool wanted = !self->closed_ && (!self->watched_.empty() || !self->lossListeners_.empty());
      // Without a stream a pause runs, and the next stream will tell of all.
      const bool narrow = wanted && self->stream_ && !self->source_->covers(self->keys());
      opens = wanted && (!self->open_ || narrow);
      self->open_ = wanted;
      if (!wanted || narrow) {
        ++self->number_;
        ending = std::move(self->stream_);
      }
    }
    ending.reset();
    if (opens) self->open();
  });
}

/// The mutex is held.
std::set<LeaseKey> HintWatcher::keys() const {
  std::set<LeaseKey> keys;
  for (const auto& [key, watched] : watched_) keys.insert(keys.end(), key);
  return keys;
}

/// On a task of the scheduler.
void HintWatcher::open() {
  std::uint64_t number = 0;
  std::set<LeaseKey> watched;
  {
    const std::lock_guard lock{mutex_};
    if (!open_ || closed_) return;
    number = ++number_;
    openedAt_ = scheduler_->now();
    watched = keys();
  }
  const auto weak = weak_from_this();
  HintHandlers handlers{[weak, number](const StreamEvent& streamed) {
                          if (const auto self = weak.lock()) self->taken(number, streamed);
                        },
                        [weak, number](const StreamEnd& end) {
                          if (const auto self = weak.lock()) self->ended(number, end);
                        }};
  auto stream = source_->open(watched, std::move(handlers));
  const std::lock_guard lock{mutex_};
  if (number == number_) std::swap(stream_, stream);
}

void HintWatcher::taken(std::uint64_t stream, const StreamEvent& streamed) {
  std::list<ListenerPtr> concerned;
  {
    const std::lock_guard lock{mutex_};
    if (stream != number_) return;
    if (streamed.alive) pause_ = firstPause;
    concerned = streamed.anew ? all() : concernedBy(streamed);
  }
  for (const ListenerPtr& listener : concerned) listener->tell();
}

/// The stream that has ended is destroyed by a task, because its destruction may wait for this call.
void HintWatcher::ended(std::uint64_t stream, const StreamEnd& end) {
  std::chrono::nanoseconds pause{0};
  std::shared_ptr<void> ending;
  {
    const std::lock_guard lock{mutex_};
    if (stream != number_ || closed_) return;
    ++number_;
    ending = std::move(stream_);
    if (elapsedForHolder(openedAt_, scheduler_->now()) >= longestPause) pause_ = firstPause;
    pause = std::max(pause_, end.pause);
    pause_ = std::min<std::chrono::nanoseconds>(2 * pause_, longestPause);
  }
  if (logger_.wants(LogLevel::debug)) {
    logger_.log(LogLevel::debug, where_ + ": the watch has ended (" + end.why + "), and starts again");
  }
  scheduler_->post([weak = weak_from_this(), ending = std::move(ending), pause]() mutable {
    ending.reset();
    const auto self = weak.lock();
    if (!self) return;
    self->scheduler_->schedule(pause, [weak] {
      if (const auto again = weak.lock()) again->open();
    });
  });
}

std::list<HintWatcher::ListenerPtr> HintWatcher::all() {
  std::list<ListenerPtr> out;
  for (auto& [key, watched] : watched_) {
    watched.term = {};
    watched.release.begin(scheduler_->now());
    out.insert(out.end(), watched.listeners.begin(), watched.listeners.end());
  }
  return out;
}

std::list<HintWatcher::ListenerPtr> HintWatcher::concernedBy(const StreamEvent& streamed) {
  std::list<ListenerPtr> out;
  for (const LeaseChange& change : streamed.changes) take(change, out);
  if (streamed.loss) out.insert(out.end(), lossListeners_.begin(), lossListeners_.end());
  return out;
}

void HintWatcher::take(const LeaseChange& change, std::list<ListenerPtr>& out) {
  const auto watched = watched_.find(change.key);
  if (watched == watched_.end()) return;
  const bool heartbeat = !change.term.empty() && change.term == watched->second.term;
  watched->second.term = change.term;
  watched->second.release.tell(change.release);
  if (!heartbeat) out.insert(out.end(), watched->second.listeners.begin(), watched->second.listeners.end());
}

}  // namespace tenure::stored
