// The proof for candidates of this machine that a holder is dead: its liveness file in a directory that they share.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <tenure/lockcore/logger.hpp>

#include "lockcore/liveness/local_death_notice.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/runtime/watch_thread.hpp"

namespace tenure::postgresql_store {

class TermFiles {
 public:
  TermFiles(const std::string& store, const std::string& directory, Logger logger);
  /// Ends the thread that watches.
  ~TermFiles();
  TermFiles(const TermFiles&) = delete;
  TermFiles& operator=(const TermFiles&) = delete;

  [[nodiscard]] DeathNotice& deathNotice() noexcept { return deaths_; }

  /// To be called before a write is sent: while a term is open that names the liveness file, the file stays locked even
  /// if the store is destroyed. The handler that is returned notes the end of the term. An error: the write must not be
  /// sent. The first term of a store also removes the files of processes that died more than an hour ago.
  [[nodiscard]] static StoreResult<WriteHandler> during(const std::shared_ptr<TermFiles>& files,
                                                        const WriteRequest& request, WriteHandler handler);

 private:
  WatchThread watches_;
  liveness::LocalDeathNotice deaths_;
  std::atomic<bool> swept_{false};  ///< dead processes' files were looked through, once in the life of a store
};

}  // namespace tenure::postgresql_store
