// The document in a leader's record, as its elector writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/logger.hpp>

#include "lockcore/lease/lease_action.hpp"

namespace tenure {

class LeaseDriver;

/// What became of a change of the document.
struct DocumentAnswer {
  /// recorded: the record had this document, or a later one of the same term. The store acknowledged it, or a read
  /// showed it. The answer may come after the lease was released: a caller that must still lead asks
  /// Leadership::leads().
  /// refused: it is certainly not in the record, and the term does not end because of that.
  /// unknown: the term is over, and nobody knows.
  using Kind = action::Recorded::Outcome;

  Kind kind{Kind::unknown};
  std::string why{};  ///< for people, if it is not recorded
};

/// One for each elector that has led. Each write is the elector's next renewal, at once, or a part of its release. So
/// it is conditioned on the term's own versions of the record: no write of another term, or of another process, is lost
/// by it. At most one write is under way; what is asked for meanwhile goes together with the next one. Thread-safe.
class TENURE_API DocumentWrites : public std::enable_shared_from_this<DocumentWrites> {
 public:
  /// Gets the document as it is in the record, with the changes that were asked for before it, and returns the new one,
  /// or why it changes nothing. Called on the scheduler, with no lock held: it must return at once. If it throws, that
  /// is logged and counts as a rejection.
  using Change = std::function<StoreResult<std::string>(const std::string&)>;
  /// Called exactly once, on a thread of the library or by the thread that destroys the elector, never inside update().
  /// It must return at once and must not throw; if it does, that is logged.
  using Done = std::function<void(const DocumentAnswer&)>;

  /// Where this term's document comes from.
  struct Origin {
    TermOrigin term{};
    std::string known{};  ///< the document of this elector's last term before it, as its record had it; may be empty
    FencingToken last{};  ///< of that term; none: there was none
  };

  /// `before`: what the elector has left that this one replaces.
  DocumentWrites(LeaseKey key, Logger logger, std::weak_ptr<LeaseStore> store, std::weak_ptr<LeaseDriver> driver,
                 Origin before);

  /// A term begins; `text` is what its record contains. No effect after close().
  void begin(FencingToken term, std::string text, TermOrigin origin = {});
  /// The document of this term as it is in the record. Empty: another term is the present one.
  [[nodiscard]] std::string text(FencingToken term) const;
  [[nodiscard]] Origin origin(FencingToken term) const;
  /// For the elector that replaces this one, if it is one of the same lease. A term that still ends counts as the last.
  [[nodiscard]] Origin left(const LeaseKey& key) const;
  /// Atomic: two callers of one term lose nothing. Also while the work of the term ends, until onRevoked has returned.
  /// Changes that go together into one write are recorded or refused together by the store.
  void update(FencingToken term, Change change, Done done);

  // On the scheduler.
  /// The work of the term has ended: what waits for the write under way goes together with it, into the release.
  void finish();
  void answer(std::uint64_t first, std::uint64_t last, const DocumentAnswer& answer);

  /// No more answers come.
  void close();

 private:
  struct Queued {
    FencingToken term;
    Change change;
    Done done;
  };
  struct Write {
    std::uint64_t ticket{0};
    std::string text{};
    std::vector<Done> dones{};
    /// Of the write before, which was under way when this one joined it. If this one is refused, that one may have
    /// arrived all the same.
    std::vector<Done> joined{};
  };

  void writeNext(bool joinsUnderWay);
  [[nodiscard]] StoreResult<std::string> changed(const Queued& queued, const std::string& text) const;
  void submit(FencingToken term, Write write);
  void answerLater(Done done) const;
  void leave();
  [[nodiscard]] std::vector<Done> takeAll();
  void tell(const Done& done, const DocumentAnswer& answer) const;

  const LeaseKey key_;
  const Logger logger_;
  const std::weak_ptr<LeaseStore> store_;  ///< these are gone when the elector is, and a term may live on
  const std::weak_ptr<LeaseDriver> driver_;

  mutable std::mutex mutex_;  ///< guards what follows; never held while user code runs
  FencingToken term_{};       ///< none: closed, or before the first
  std::string text_{};
  Origin origin_{};
  std::uint64_t lastTicket_{0};
  std::vector<Queued> queue_{};
  Write underWay_{};  ///< ticket 0: none
  bool closed_{false};
};

}  // namespace tenure
