// What a Leadership shares with its elector.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <tenure/election/leadership.hpp>

#include "document_writes.hpp"
#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/driver/watchdog.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/stop_signal.hpp"

namespace tenure {

/// Whether the work of a term has begun.
enum class TermWork {
  due,
  begun,  ///< onElected was called
  never,  ///< nothing ran it in time, so neither it nor onRevoked is ever called
};

/// Everything but the work, the stop signal and the watch is constant after construction.
struct TermHandle {
  TermHandle(std::string lease, std::string candidate, FencingToken number, std::shared_ptr<const TermCell> published,
             std::weak_ptr<LeaseDriver> drivenBy, std::shared_ptr<const Clock> electorsClock,
             std::shared_ptr<DocumentWrites> writes)
      : leaseName{std::move(lease)},
        holder{std::move(candidate)},
        token{number},
        cell{std::move(published)},
        driver{std::move(drivenBy)},
        clock{std::move(electorsClock)},
        documents{std::move(writes)} {}

  std::string leaseName;
  std::string holder;
  FencingToken token;
  std::shared_ptr<const TermCell> cell;
  std::weak_ptr<LeaseDriver> driver;  ///< gone when the elector is gone
  std::shared_ptr<const Clock> clock;
  std::shared_ptr<DocumentWrites> documents;  ///< null: this lease's data have another use
  ProcessMark mark{};
  std::atomic<TermWork> work{TermWork::due};
  StopSignal stop{};
  /// For the watchdog, which may use it after this object is gone.
  const std::shared_ptr<std::atomic<bool>> ended{std::make_shared<std::atomic<bool>>(false)};
  std::shared_ptr<TermWatch> watch{};  ///< until the work has ended; used by the one that ends the term

  /// Decides once whether the work begins. False: it was decided before.
  bool settle(TermWork as) noexcept {
    TermWork due = TermWork::due;
    return work.compare_exchange_strong(due, as);
  }

  /// The published state if it is still about this term, else "no term". In a forked child it is always "no term".
  [[nodiscard]] TermState state() const noexcept {
    if (!mark.isHere()) return {};
    const TermState now = cell->load();
    return now.token == token ? now : TermState{};
  }

  /// The document as it is in the record of this term; empty if there is another term.
  [[nodiscard]] std::string document() const {
    return mark.isHere() && documents ? documents->text(token) : std::string{};
  }
  /// Where it comes from.
  [[nodiscard]] DocumentWrites::Origin origin() const {
    return mark.isHere() && documents ? documents->origin(token) : DocumentWrites::Origin{};
  }
  /// Changes it: see DocumentWrites::update. Only in a forked child, which has no threads, and for a lease whose data
  /// have another use, `done` is called inside this call.
  void updateDocument(DocumentWrites::Change change, DocumentWrites::Done done) const {
    using Kind = DocumentAnswer::Kind;
    if (!mark.isHere()) return done({Kind::unknown, "this process is a forked child, and the term is its parent's"});
    if (!documents) return done({Kind::refused, "the data of this lease have another use"});
    documents->update(token, std::move(change), std::move(done));
  }
};

/// For the parts of the library that work under a term.
[[nodiscard]] inline const TermHandle& handleOf(const Leadership& term) noexcept { return *term.term_; }
[[nodiscard]] inline Leadership leadershipUnder(std::shared_ptr<TermHandle> handle) noexcept {
  return Leadership{std::move(handle)};
}

}  // namespace tenure
