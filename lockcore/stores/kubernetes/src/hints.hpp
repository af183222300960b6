// The stream of what happens to Leases, as the store's watch sees it.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "lockcore/kubernetes/replies.hpp"
#include "lockcore/stored/hint_source.hpp"
#include "state.hpp"

namespace tenure::kubernetes_store {

/// A listing tells where to begin, and the stream what follows on that. Where a stream ends, the next one goes on from
/// the last resourceVersion, so nothing is missed; if the server has forgotten that one, a listing comes first again.
///
/// Where one lease is watched, the stream is about its object alone: a right that is restricted to the names of Leases
/// is enough, and it sees the Lease of a client that sets no label. Else it is about all that have the store's label.
///
/// A holder is told that its record may be lost where the object is deleted, and where another client has written over
/// it: client-go gives away Leases that are not its own, and the holder has to learn of it before its next heartbeat.
class LeaseHints final : public stored::HintSource {
 public:
  /// A stream of which nothing is heard for so long is left. The server sends a bookmark each minute.
  static constexpr std::chrono::seconds silence{150};
  /// How long a listing may take, and the server to accept a stream.
  static constexpr std::chrono::seconds patience{10};
  /// The user may not watch: nobody mends that soon.
  static constexpr std::chrono::minutes refusedPause{1};

  explicit LeaseHints(CorePtr core);

  [[nodiscard]] std::shared_ptr<void> open(const std::set<LeaseKey>& watched, stored::HintHandlers handlers) override;
  [[nodiscard]] bool covers(const std::set<LeaseKey>& watched) const override;

 private:
  class Opening;
  struct Progress;

  const CorePtr core_;
  const std::shared_ptr<Progress> progress_;
};

/// What an event tells. Empty changes: it is about an object that keeps no lease.
[[nodiscard]] stored::StreamEvent streamEventIn(const std::string& where, const WatchEvent& event);

}  // namespace tenure::kubernetes_store
