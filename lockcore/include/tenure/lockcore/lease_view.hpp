// A lease as one who does not hold it may see it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

enum class LeaseViewState {
  absent,    ///< there is no record
  released,  ///< the last holder gave it up
  held,      ///< a record says that somebody holds it; whether he lives shows itself by the next versions
};

/// A copy of what the store had at one moment. It has no power: it releases nothing, renews nothing, and its numbers
/// are for people (the term's number is no fencing token: whoever stamps writes with it passes himself off as the
/// holder, which is why it has another type).
class LeaseView {
 public:
  LeaseView(LeaseKey key, std::optional<LeaseRecord> record) : key_{std::move(key)}, record_{std::move(record)} {
    if (record_ && record_->vanished) record_.reset();
  }

  [[nodiscard]] const LeaseKey& key() const noexcept { return key_; }
  [[nodiscard]] LeaseViewState state() const noexcept {
    if (!record_) return LeaseViewState::absent;
    return record_->released ? LeaseViewState::released : LeaseViewState::held;
  }
  [[nodiscard]] bool isHeld() const noexcept { return state() == LeaseViewState::held; }

  // Of the present or last holder; empty, zero, if there is no record.
  [[nodiscard]] std::string holder() const { return record_ ? record_->holder : std::string{}; }
  [[nodiscard]] std::uint64_t termNumber() const noexcept { return record_ ? record_->token.value() : 0; }
  /// The record version number: new at each heartbeat. It orders nothing and proves nothing.
  [[nodiscard]] std::string version() const { return record_ ? record_->version.text() : std::string{}; }
  [[nodiscard]] std::chrono::milliseconds lease() const noexcept {
    return record_ ? record_->leaseDuration : std::chrono::milliseconds{0};
  }
  [[nodiscard]] std::string data() const { return record_ ? record_->data : std::string{}; }
  [[nodiscard]] std::map<std::string, std::string> attributes() const {
    return record_ ? record_->attributes : std::map<std::string, std::string>{};
  }
  /// Wall-clock milliseconds since 1970 as the holder's machine has them; 0: not known.
  [[nodiscard]] std::int64_t acquiredAtMillis() const noexcept { return record_ ? record_->acquiredAtMillis : 0; }
  [[nodiscard]] std::int64_t renewedAtMillis() const noexcept { return record_ ? record_->renewedAtMillis : 0; }

 private:
  LeaseKey key_;
  std::optional<LeaseRecord> record_;
};

/// One of a listing: a record that is not understood is reported beside the good ones.
struct ListedView {
  LeaseKey key;
  StoreResult<LeaseView> view;
};

}  // namespace tenure
