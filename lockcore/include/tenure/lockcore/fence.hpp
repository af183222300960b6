// The rule of a fence, and what a fenced resource answers: shared by all adapters.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// The term under which a write is made. Every downstream write carries one.
struct TermStamp {
  std::string lease;   ///< the lease's name; one fence keeps the tokens of each lease apart
  FencingToken token;  ///< the term's number
  std::string holder;  ///< the candidate's unique text, as in the lease record

  friend bool operator==(const TermStamp&, const TermStamp&) = default;

  /// The stamp of anything that has a leaseName(), a fencingToken() and a holder(), such as a Leadership.
  template <class Term>
  [[nodiscard]] static TermStamp of(const Term& term) {
    return {term.leaseName(), term.fencingToken(), term.holder()};
  }
};

/// The resource has seen a write of a later term: the writer's term is over, whatever its clock says. Hand
/// `highestSeen` to Leadership::reportStaleToken, so that the next term's token is above it.
struct StaleToken {
  FencingToken mine;
  FencingToken highestSeen;

  friend bool operator==(const StaleToken&, const StaleToken&) = default;
};

/// Another holder has written with the same token. A lease hands out each token once, so two leases (two
/// databases, a restored copy) use one name here. Only an operator can find out which one is right.
struct ForeignTerm {
  FencingToken token;
  std::string holder;  ///< who has written with it

  friend bool operator==(const ForeignTerm&, const ForeignTerm&) = default;
};

/// The term's lease is no longer valid, though no later term is known. Either the writer's own clock says so; then
/// the resource was not asked, and nothing was sent. Or the resource has the lease's row, which shows that the term has
/// ended (PostgresqlFenceOptions::leaseTable); then nothing was written.
struct TermOver {
  FencingToken mine;

  friend bool operator==(const TermOver&, const TermOver&) = default;
};

/// The resource could not do the write, for a reason that has nothing to do with the term.
struct WriteError {
  StoreError error;
  /// False: certainly nothing was written. True: it may have been written; read back before you repeat it.
  bool mayBeWritten{false};

  friend bool operator==(const WriteError&, const WriteError&) = default;
};

/// Why a fenced write was not done.
struct FenceError {
  std::variant<StaleToken, ForeignTerm, TermOver, WriteError> why;
  std::string message;  ///< one sentence or two for people

  /// Null if the reason is another one.
  [[nodiscard]] const StaleToken* stale() const noexcept { return std::get_if<StaleToken>(&why); }
  [[nodiscard]] const ForeignTerm* foreign() const noexcept { return std::get_if<ForeignTerm>(&why); }
  [[nodiscard]] const TermOver* over() const noexcept { return std::get_if<TermOver>(&why); }
  [[nodiscard]] const WriteError* writeError() const noexcept { return std::get_if<WriteError>(&why); }
};

/// Makes `result<T, FenceError>::value()` throw std::runtime_error with the message.
[[noreturn]] TENURE_API void throw_exception_from_error(const FenceError& error, const boost::source_location& where);

template <class T>
using FenceResult = boost::system::result<T, FenceError>;

/// The rule: a token lower than the highest seen is stale; an equal one must come from the same holder; a higher one is
/// a new term. `seen` is the highest that the resource has seen for this lease, with an empty holder if the resource
/// does not know who wrote with it. An empty result means: admitted. Ask this where the write happens, in one atomic
/// step with the write. Asked at any other place it proves nothing, because a process may be paused between the
/// question and the write.
[[nodiscard]] TENURE_API std::optional<FenceError> termError(const TermStamp& mine,
                                                             const std::optional<TermStamp>& seen);

/// The `misconfigured` error of a stamp that is never admitted, naming all faults: a stamp without lease, token or
/// holder, with a token above maxFencingToken, or with texts that are not UTF-8 or hold a NUL. Empty if it has none of
/// them.
[[nodiscard]] TENURE_API std::optional<FenceError> errorOf(const TermStamp& stamp);

/// The rejection by the writer's own side, with its message: the resource has seen nothing of the write.
[[nodiscard]] TENURE_API FenceError termOver(const TermStamp& stamp);

[[nodiscard]] TENURE_API FenceError fenceError(StoreError error, bool mayBeWritten = false);

}  // namespace tenure
