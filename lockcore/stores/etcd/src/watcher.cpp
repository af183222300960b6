#include "watcher.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "lockcore/runtime/call_permit.hpp"
#include "record_codec.hpp"
#include "requests.hpp"

namespace tenure::etcd_store {

class Watcher::Listener {
 public:
  explicit Listener(std::function<void()> hint) : hint_{std::move(hint)} {}
  void tell() { permit_.call(hint_); }
  void close() { permit_.revoke(); }

 private:
  const std::function<void()> hint_;
  CallPermit permit_;
};

Watcher::Watcher(std::weak_ptr<Gateway> gateway, Keys keys, std::shared_ptr<Scheduler> scheduler, Logger logger,
                 std::string where)
    : gateway_{std::move(gateway)},
      keys_{std::move(keys)},
      scheduler_{std::move(scheduler)},
      logger_{std::move(logger)},
      where_{std::move(where)} {}

std::shared_ptr<void> Watcher::watch(const LeaseKey& key, std::function<void()> hint) {
  return add(&key, std::move(hint));
}

bool Watcher::watches(const LeaseKey& key) const {
  if (!mark_.isHere()) return false;
  const std::lock_guard lock{mutex_};
  return watched_.contains(key);
}

std::shared_ptr<void> Watcher::watchLoss(std::function<void()> hint) { return add(nullptr, std::move(hint)); }

std::shared_ptr<void> Watcher::add(const LeaseKey* key, std::function<void()> hint) {
  if (!mark_.isHere()) return nullptr;
  auto listener = std::make_shared<Listener>(std::move(hint));
  {
    const std::lock_guard lock{mutex_};
    (key != nullptr ? watched_[*key].listeners : lossListeners_).push_back(listener);
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

void Watcher::remove(const LeaseKey* key, const ListenerPtr& listener) {
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

void Watcher::close() {
  if (!mark_.isHere()) return;
  std::shared_ptr<void> stream;
  const std::lock_guard lock{mutex_};
  closed_ = true;
  ++number_;
  stream = std::move(stream_);
}

/// Opens or ends the stream, as there is somebody who watches or not. It ends on a task of the scheduler, because its
/// destruction waits for what it tells just now, which may be what removed the last listener.
void Watcher::settle() {
  scheduler_->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    std::shared_ptr<void> ending;
    bool opens = false;
    {
      const std::lock_guard lock{self->mutex_};
      const bool wanted = !self->closed_ && (!self->watched_.empty() || !self->lossListeners_.empty());
      opens = wanted && !self->open_;
      self->open_ = wanted;
      if (!wanted) {
        ++self->number_;
        ending = std::move(self->stream_);
      }
    }
    if (opens) self->open();
  });
}

/// On a task of the scheduler.
void Watcher::open() {
  const auto gateway = gateway_.lock();
  if (!gateway) return;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock{mutex_};
    if (!open_) return;
    number = ++number_;
  }
  const auto weak = weak_from_this();
  StreamHandlers handlers{[weak, number](std::string_view line) {
                            if (const auto self = weak.lock()) self->taken(number, line);
                          },
                          [weak, number](const std::string& why) {
                            if (const auto self = weak.lock()) self->ended(number, why);
                          }};
  auto stream = gateway->stream(watchPath, watchRequest(keys_.all()), silence, std::move(handlers));
  const std::lock_guard lock{mutex_};
  if (number == number_) std::swap(stream_, stream);
}

void Watcher::taken(std::uint64_t stream, std::string_view text) {
  const auto line = watchLineFrom(text);
  if (line.has_error()) return ended(stream, line.error().what);
  std::list<ListenerPtr> concerned;
  {
    const std::lock_guard lock{mutex_};
    if (stream != number_) return;
    if (!line->events.empty()) pause_ = firstPause;
    concerned = line->created ? all() : concernedBy(*line);
  }
  for (const ListenerPtr& listener : concerned) listener->tell();
}

void Watcher::ended(std::uint64_t stream, const std::string& why) {
  std::chrono::nanoseconds pause{0};
  {
    const std::lock_guard lock{mutex_};
    if (stream != number_ || closed_) return;
    ++number_;
    pause = pause_;
    pause_ = std::min<std::chrono::nanoseconds>(2 * pause_, longestPause);
  }
  if (logger_.wants(LogLevel::debug)) {
    logger_.log(LogLevel::debug, where_ + ": the watch has ended (" + why + "), and begins anew");
  }
  scheduler_->post([weak = weak_from_this(), pause] {
    const auto self = weak.lock();
    if (!self) return;
    self->reopen();
    self->scheduler_->schedule(pause, [weak] {
      if (const auto again = weak.lock()) again->open();
    });
  });
}

/// Drops the stream that has ended; not where it tells that, because its destruction may wait for that.
void Watcher::reopen() {
  std::shared_ptr<void> old;
  const std::lock_guard lock{mutex_};
  old = std::move(stream_);
}

std::list<Watcher::ListenerPtr> Watcher::all() {
  std::list<ListenerPtr> out;
  for (auto& [key, watched] : watched_) {
    watched.held = {};
    out.insert(out.end(), watched.listeners.begin(), watched.listeners.end());
  }
  return out;
}

std::list<Watcher::ListenerPtr> Watcher::concernedBy(const WatchLine& line) {
  std::list<ListenerPtr> out;
  for (const WatchEvent& event : line.events) take(event, out);
  if (tellsLoss(line)) out.insert(out.end(), lossListeners_.begin(), lossListeners_.end());
  return out;
}

void Watcher::take(const WatchEvent& event, std::list<ListenerPtr>& out) {
  const auto key = keys_.leaseAtRecord(event.entry.key);
  const auto watched = key ? watched_.find(*key) : watched_.end();
  if (watched == watched_.end()) return;
  FencingToken held;
  if (!event.erased) {
    const auto stored = recordFrom({where_, *key, event.entry.key}, event.entry.value);
    if (stored.has_value() && !stored->record.released) held = stored->record.token;
  }
  const bool heartbeat = !held.isNone() && held == watched->second.held;
  watched->second.held = held;
  if (!heartbeat) out.insert(out.end(), watched->second.listeners.begin(), watched->second.listeners.end());
}

/// The store never deletes a counter, and never a record without writing its counter in the same step. All of a step
/// comes in one line.
bool Watcher::tellsLoss(const WatchLine& line) const {
  const auto hasCounter = [&](const LeaseKey& key) {
    return std::any_of(line.events.begin(), line.events.end(), [&](const WatchEvent& event) {
      return !event.erased && keys_.leaseAtCounter(event.entry.key) == key;
    });
  };
  return std::any_of(line.events.begin(), line.events.end(), [&](const WatchEvent& event) {
    if (!event.erased) return false;
    const auto key = keys_.leaseAtRecord(event.entry.key);
    return key ? !hasCounter(*key) : keys_.leaseAtCounter(event.entry.key).has_value();
  });
}

}  // namespace tenure::etcd_store
