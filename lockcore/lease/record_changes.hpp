// The changes of the record that Renew and Release asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

#include "lease_event.hpp"
#include "own_writes.hpp"

namespace tenure {

class RecordChanges {
 public:
  void ask(const event::Renew& event);
  void ask(const event::Release& event);

  /// Each write carries them until one is acknowledged: an earlier write that is in doubt may or may not have carried
  /// them.
  void putInto(WriteRequest& write) const;
  /// The same for what the write proves once it is known to be in the record.
  void stateIn(WrittenRight& right) const;
  /// A write with this right is in the record: the changes in it need not be carried any more.
  void written(const WrittenRight& right);
  /// The store has refused the write with this right for good. If it carried data, they are dropped, and until a write
  /// without any is in the record, newer ones are held back: whoever asks for bad data again and again must not end the
  /// lease. False: it carried none.
  [[nodiscard]] bool leaveOut(const WrittenRight& right, const StoreError& why);
  /// The release is the last write: it carries whatever is wanted.
  void holdNothingBack() noexcept;
  /// The Renews up to this ticket are answered now. Returns the first that was not answered before; empty: all were.
  [[nodiscard]] std::optional<std::uint64_t> answer(std::uint64_t ticket) noexcept;
  /// The term that they belong to has ended.
  void forget() noexcept { wanted_.reset(); }
  /// A term begins; its record has some payload or none.
  void recordHasPayload(bool some) noexcept { hasPayload_ = some; }

  [[nodiscard]] bool waiting() const noexcept { return wanted_ != nullptr; }
  [[nodiscard]] bool leavesOut() const noexcept { return wanted_ && wanted_->leftOut; }
  /// Why data are left out.
  [[nodiscard]] std::optional<StoreError> error() const;
  /// This record has the data that were asked for last.
  [[nodiscard]] bool areIn(const LeaseRecord& record) const { return wanted_ && wanted_->data == record.data; }
  [[nodiscard]] std::uint64_t ticket() const noexcept { return ticket_; }
  [[nodiscard]] bool hasPayload() const noexcept { return hasPayload_; }

 private:
  /// Kept until a write that carries it was acknowledged.
  struct Wanted {
    std::uint64_t ticket{0};
    std::optional<std::string> data{};
    std::optional<StoreError> error{};  ///< of the data before these
    std::uint64_t refused{0};           ///< the ticket of the write that was refused
    bool leftOut{false};                ///< data, until the record is known to be without those that were refused
  };

  Wanted& wanted();
  void want(const std::optional<std::string>& data);

  std::uint64_t ticket_{0};           ///< of the last Renew that was accepted
  std::uint64_t answered_{0};         ///< of the last one that was answered
  std::uint64_t dataNumber_{0};       ///< of the data that were asked for last
  std::unique_ptr<Wanted> wanted_{};  ///< usually null
  bool hasPayload_{false};            ///< this term's record may have some
};

}  // namespace tenure
