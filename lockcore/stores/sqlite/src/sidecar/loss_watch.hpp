// Notices that the database was removed, renamed or replaced, for all holders of a store.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "lockcore/runtime/call_permit.hpp"
#include "lockcore/runtime/watch_thread.hpp"
#include "lockcore/stores/sqlite/src/file_identity.hpp"

namespace tenure::sqlite_store {

/// Watches the file itself, because many other files may come and go in its directory. While there is no file, it
/// checks each second, and hints each time.
class LossWatch final : public Watched {
 public:
  LossWatch(std::string store, std::string path);

  /// Any thread. `hint` is called at each loss for as long as the handle lives, as LeaseStore::watchLoss() says. Hints
  /// that the others got before are not repeated for it.
  [[nodiscard]] std::shared_ptr<void> add(std::function<void()> hint);

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
      std::make_shared<Hints>();  // guarded by *mutex_; handles may outlive the object
};

}  // namespace tenure::sqlite_store
