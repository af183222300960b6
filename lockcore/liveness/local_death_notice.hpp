// The death notice of a store whose processes keep their liveness files in one directory of this machine.
#pragma once

#include <functional>
#include <memory>

#include <tenure/lockcore/export.hpp>

#include "liveness_file.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/runtime/watch_thread.hpp"

namespace tenure::liveness {

/// `opened`: the term was not open before this write.
[[nodiscard]] inline bool endsTerm(const WriteRequest& request, bool opened, const WriteOutcome& outcome) {
  const bool releases = request.purpose == WriteRequest::Purpose::release;
  const auto* lost = std::get_if<Conflict>(&outcome);
  const bool tells = lost != nullptr && lost->current && *lost->current;
  // The stored record may come from an earlier acquisition whose answer was lost: then the term is this holder's after
  // all.
  const bool isOwn = tells && (*lost->current)->holder == request.record.holder && !(*lost->current)->released;
  const bool released = releases && std::holds_alternative<Applied>(outcome);
  const bool neverBegan = opened && std::holds_alternative<Rejected>(outcome);
  return released || neverBegan || (lost != nullptr && !isOwn);
}

/// Thread-safe. Only livenessFile() blocks, for some file operations at its first call.
class TENURE_API LocalDeathNotice final : public DeathNotice {
 public:
  /// `watches` must outlive it.
  LocalDeathNotice(LivenessFilePlace place, WatchThread& watches);

  [[nodiscard]] StoreResult<LivenessFile> livenessFile() override { return own_.get(); }
  [[nodiscard]] int descriptor() const noexcept override { return own_.descriptor(); }
  [[nodiscard]] std::shared_ptr<void> follow(const LeaseRecord& record,
                                             std::function<void(RecordVersion)> proven) override;

  [[nodiscard]] const LivenessFilePlace& place() const noexcept { return place_; }
  /// For the store, which says which terms are open.
  [[nodiscard]] OwnLivenessFile& own() noexcept { return own_; }
  [[nodiscard]] const OwnLivenessFile& own() const noexcept { return own_; }

 private:
  const LivenessFilePlace place_;
  OwnLivenessFile own_;
  WatchThread& watches_;
};

}  // namespace tenure::liveness
