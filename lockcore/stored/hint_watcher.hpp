// Tells who watches a lease that it may have changed: one stream of a store's changes for the whole store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "hint_source.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "release_hint.hpp"

namespace tenure::stored {

/// The stream is a hint and no more. However it ends, another one begins after a pause that grows until a stream shows
/// that it works, or lasts as long as the longest pause. What was missed in between is unknown, unless the source knows
/// better, so everybody gets a hint when it begins. There is no stream while nobody watches. Heartbeats free no lease,
/// so they are no hint. Thread-safe. In a forked child there are none.
class TENURE_API HintWatcher : public std::enable_shared_from_this<HintWatcher> {
 public:
  static constexpr std::chrono::milliseconds firstPause{100};
  static constexpr std::chrono::seconds longestPause{10};

  /// `where` describes the store.
  HintWatcher(std::shared_ptr<HintSource> source, std::shared_ptr<Scheduler> scheduler, Logger logger,
              std::string where);

  /// Hints come until the handle is destroyed. Its destruction waits for a hint that runs on another thread.
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint);
  [[nodiscard]] bool watches(const LeaseKey& key) const;
  /// As ReleaseHint::take() and isRefuted(), of a lease that is watched.
  [[nodiscard]] LoadedLease takeRelease(const LeaseKey& key, const StoredLease& loaded);
  void wrote(const LeaseKey& key, const std::string& holder);
  [[nodiscard]] bool isRefuted(const LeaseKey& key, const StoredLease& found);
  /// The same for the loss of all records.
  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint);
  /// Ends the stream for good.
  void close();

 private:
  class Listener;
  using ListenerPtr = std::shared_ptr<Listener>;
  struct Watched {
    std::list<ListenerPtr> listeners{};
    std::string term{};  ///< of which the last event was a heartbeat or an acquisition; empty: it is not known
    ReleaseHint release{};
  };

  [[nodiscard]] std::shared_ptr<void> add(const LeaseKey* key, std::function<void()> hint);
  void remove(const LeaseKey* key, const ListenerPtr& listener);
  void settle();
  void open();
  void taken(std::uint64_t stream, const StreamEvent& streamed);
  void ended(std::uint64_t stream, const StreamEnd& end);
  [[nodiscard]] std::set<LeaseKey> keys() const;
  [[nodiscard]] std::list<ListenerPtr> concernedBy(const StreamEvent& streamed);
  [[nodiscard]] std::list<ListenerPtr> all();
  void take(const LeaseChange& change, std::list<ListenerPtr>& out);

  const ProcessMark mark_{};
  const std::shared_ptr<HintSource> source_;
  const std::shared_ptr<Scheduler> scheduler_;
  const Logger logger_;
  const std::string where_;
  mutable std::mutex mutex_;
  std::map<LeaseKey, Watched> watched_{};  ///< guarded by mutex_, as all that follow
  std::list<ListenerPtr> lossListeners_{};
  std::shared_ptr<void> stream_{};
  std::uint64_t number_{0};  ///< of the stream, so that what an earlier one brings late is told apart
  Instant openedAt_{};       ///< the last stream was asked for then
  bool open_{false};         ///< a stream is there, or a pause before the next one runs
  bool closed_{false};
  std::chrono::nanoseconds pause_{firstPause};
};

}  // namespace tenure::stored
