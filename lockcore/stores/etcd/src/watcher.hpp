// Tells who watches a lease that it may have changed: one stream of the cluster's changes for the whole store.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "gateway.hpp"
#include "keys.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "replies.hpp"

namespace tenure::etcd_store {

/// The stream is a hint and no more. However it ends (the member went away or lost its leader, a compaction, a line
/// that is not understood, silence), another one begins after a pause that grows until a stream shows an event. What
/// was missed in between is unknown, so everybody gets a hint when it begins. There is no stream while nobody watches.
/// Heartbeats free no lease, so they are no hint. Thread-safe. In a forked child there are none.
class Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  /// A stream of which nothing is heard for so long is left: another one costs one request.
  static constexpr std::chrono::seconds silence{60};
  static constexpr std::chrono::milliseconds firstPause{100};
  static constexpr std::chrono::seconds longestPause{10};

  Watcher(std::weak_ptr<Gateway> gateway, Keys keys, std::shared_ptr<Scheduler> scheduler, Logger logger,
          std::string where);

  /// Hints come until the handle is destroyed. Its destruction waits for a hint that runs on another thread.
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint);
  [[nodiscard]] bool watches(const LeaseKey& key) const;
  /// The same for the loss of all records.
  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint);
  /// Ends the stream for good.
  void close();

 private:
  class Listener;
  using ListenerPtr = std::shared_ptr<Listener>;
  struct Watched {
    std::list<ListenerPtr> listeners{};
    FencingToken held{};  ///< the term of which the last event was a heartbeat or an acquisition; none: it is not known
  };

  [[nodiscard]] std::shared_ptr<void> add(const LeaseKey* key, std::function<void()> hint);
  void remove(const LeaseKey* key, const ListenerPtr& listener);
  void settle();
  void open();
  void taken(std::uint64_t stream, std::string_view line);
  void ended(std::uint64_t stream, const std::string& why);
  void reopen();
  [[nodiscard]] std::list<ListenerPtr> concernedBy(const WatchLine& line);
  [[nodiscard]] std::list<ListenerPtr> all();
  void take(const WatchEvent& event, std::list<ListenerPtr>& out);
  [[nodiscard]] bool tellsLoss(const WatchLine& line) const;

  const ProcessMark mark_{};
  const std::weak_ptr<Gateway> gateway_;
  const Keys keys_;
  const std::shared_ptr<Scheduler> scheduler_;
  const Logger logger_;
  const std::string where_;
  mutable std::mutex mutex_;
  std::map<LeaseKey, Watched> watched_{};  ///< guarded by mutex_, as all that follow
  std::list<ListenerPtr> lossListeners_{};
  std::shared_ptr<void> stream_{};
  std::uint64_t number_{0};  ///< of the stream, so that what an earlier one brings late is told apart
  bool open_{false};         ///< a stream is there, or a pause before the next one runs
  bool closed_{false};
  std::chrono::nanoseconds pause_{firstPause};
};

}  // namespace tenure::etcd_store
