// The stream of a cluster's changes, as the store's watch sees it.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "gateway.hpp"
#include "keys.hpp"
#include "lockcore/stored/hint_source.hpp"
#include "replies.hpp"

namespace tenure::etcd_store {

/// It ends when the member went away or lost its leader, by a compaction, by a line that is not understood, or by
/// silence.
class EtcdHints final : public stored::HintSource {
 public:
  /// A stream of which nothing is heard for so long is left: another one costs one request.
  static constexpr std::chrono::seconds silence{60};

  /// `where` describes the store.
  EtcdHints(std::weak_ptr<Gateway> gateway, Keys keys, std::string where);

  [[nodiscard]] std::shared_ptr<void> open(const std::set<LeaseKey>& watched, stored::HintHandlers handlers) override;

 private:
  const std::weak_ptr<Gateway> gateway_;
  const Keys keys_;
  const std::string where_;
};

/// What a line tells.
[[nodiscard]] stored::StreamEvent streamEventIn(const Keys& keys, const std::string& where, const WatchLine& line);

}  // namespace tenure::etcd_store
