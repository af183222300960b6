// Notices that the database was removed, renamed or replaced, for all holders of a store.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/runtime/call_permit.hpp"
#include "lockcore/runtime/watch_thread.hpp"
#include "lockcore/stores/sqlite/src/file_identity.hpp"

namespace tenure::sqlite_store {

/// Watches the file itself, because many other files may come and go in its directory. While there is no file, it
/// checks each second, and hints each time.
class LossWatch final : public Watched {
 public:
  LossWatch(std::string store, std::string path);

  /// Any thread. `hint` is called at each loss for as long as the handle lives, as LeaseStore::watchLoss() says.
  [[nodiscard]] std::shared_ptr<void> add(std::function<void()> hint);

  /// Any thread. Whether the hints were called so recently that a holder which was added since may have written to a
  /// file that is lost.
  [[nodiscard]] bool hintedRecently() const;

  void begin(WatchLoop& loop) override;
  void changed(WatchLoop& loop, bool lost) override;
  void timeOver(WatchLoop& loop) override;

 private:
  struct Hint {
    CallPermit permit;
    std::function<void()> call;
  };
  using Hints = std::list<std::shared_ptr<Hint>>;

  void hintAll();

  const std::string store_;
  const std::string path_;  ///< of the database
  std::optional<FileIdentity> watched_{};
  const std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  const std::shared_ptr<Hints> hints_ =
      std::make_shared<Hints>();       // guarded by *mutex_; handles may outlive the object
  std::optional<Instant> hintedAt_{};  ///< guarded by *mutex_
};

/// Calls a hint once, on the watch thread.
class LateHint final : public Watched {
 public:
  explicit LateHint(std::function<void()> hint) : hint_{std::move(hint)} {}

  void begin(WatchLoop& /*loop*/) override { permit.call(hint_); }
  void changed(WatchLoop& /*loop*/, bool /*lost*/) override {}
  void timeOver(WatchLoop& /*loop*/) override {}

 private:
  const std::function<void()> hint_;
};

}  // namespace tenure::sqlite_store
