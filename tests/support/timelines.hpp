// A store whose history changes when a standby is promoted.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "lockcore/port/extended_store.hpp"

namespace tenure::test {

/// The store behind, as a server that tells its timeline.
class Timelines : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  /// A standby is promoted. What the store behind has is what that standby had.
  void promote() { ++present_; }
  [[nodiscard]] std::string history() const { return "7/" + std::to_string(present_); }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    ForwardingStore::read(key, options, [this, handler = std::move(handler)](ReadOutcome outcome) {
      if (outcome) *outcome = told(*std::move(outcome));
      handler(std::move(outcome));
    });
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    for (RecordVersion& version : request.expected) {
      const bool isStale = !version.history().empty() && version.history() != history();
      version = RecordVersion{isStale ? "of another history" : version.text()};  // the store behind has none
    }
    ForwardingStore::write(std::move(request), options,
                           [this, acquires, handler = std::move(handler)](WriteOutcome outcome) {
                             if (acquires && std::holds_alternative<Applied>(outcome)) acquiredIn_ = present_.load();
                             if (auto* conflict = std::get_if<Conflict>(&outcome); conflict && conflict->current)
                               conflict->current = told(*std::move(conflict->current));
                             handler(std::move(outcome));
                           });
  }

 private:
  [[nodiscard]] std::optional<LeaseRecord> told(std::optional<LeaseRecord> record) const {
    if (!record) return record;
    record->version = RecordVersion{record->version.text(), history()};
    record->inherited = acquiredIn_ != present_;
    return record;
  }

  std::atomic<int> present_{1}, acquiredIn_{1};
};

}  // namespace tenure::test
