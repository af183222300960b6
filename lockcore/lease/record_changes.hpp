// The changes of the record that Renew and Release asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

#include "lease_event.hpp"

namespace tenure {

class RecordChanges {
 public:
  void ask(const event::Renew& event);
  void ask(const event::Release& event);

  /// Each write carries them until one is acknowledged: an earlier write that is in doubt may or may not have carried
  /// them.
  void putInto(WriteRequest& write) const;
  /// A write that carries the changes up to this ticket is in the record: they need not be carried any more.
  void written(std::uint64_t ticket);
  /// The Renews up to this ticket are answered now. Returns the first that was not answered before; empty: all were.
  [[nodiscard]] std::optional<std::uint64_t> answer(std::uint64_t ticket) noexcept;
  /// The term that they belong to has ended.
  void forget() noexcept { wanted_.reset(); }
  /// A term begins; its record has some payload or none.
  void recordHasPayload(bool some) noexcept { hasPayload_ = some; }

  [[nodiscard]] bool waiting() const noexcept { return wanted_ != nullptr; }
  /// This record has the data that were asked for last.
  [[nodiscard]] bool areIn(const LeaseRecord& record) const { return wanted_ && wanted_->data == record.data; }
  [[nodiscard]] std::uint64_t ticket() const noexcept { return ticket_; }
  [[nodiscard]] bool hasPayload() const noexcept { return hasPayload_; }

 private:
  /// Kept until a write that carries it was acknowledged.
  struct Wanted {
    std::uint64_t ticket{0};
    std::optional<std::string> data{};
  };

  Wanted& wanted();

  std::uint64_t ticket_{0};           ///< of the last Renew that was accepted
  std::uint64_t answered_{0};         ///< of the last one that was answered
  std::unique_ptr<Wanted> wanted_{};  ///< usually null
  bool hasPayload_{false};            ///< this term's record may have some
};

}  // namespace tenure
