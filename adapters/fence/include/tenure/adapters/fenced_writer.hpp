// The common part of all adapters: a resource that compares fencing tokens in the same atomic step in which it writes.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure {

/// Anything that numbers its terms and takes a report that a term is over, such as a Leadership. Adapters know nothing
/// about elections: this concept is their only link to one.
template <class Term>
concept TermOfALease = std::copy_constructible<Term> && requires(const Term& term, FencingToken seen) {
  { term.leaseName() } -> std::convertible_to<std::string>;
  { term.fencingToken() } -> std::same_as<FencingToken>;
  { term.holder() } -> std::convertible_to<std::string>;
  { term.isValid() } -> std::convertible_to<bool>;
  term.reportStaleToken(seen);
};

/// The term under which an adapter writes. It is made implicitly when a Leadership is handed to an adapter's call. It
/// may also be made once and used for every write of the term, which saves some copies. Copyable. It may be used from
/// any thread if the term that it was made from may.
class TENURE_API FencedTerm {
 public:
  template <class Term>
  // A copy is not made by this one: TermOfALease asks whether its term is copied, and so would ask itself.
  requires(!std::same_as<Term, FencedTerm>) && TermOfALease<Term>
      // NOLINTNEXTLINE(google-explicit-constructor): a Leadership is what users have, and what they shall hand in
      FencedTerm(const Term& term)
      : FencedTerm{TermStamp::of(term), [term] { return static_cast<bool>(term.isValid()); },
                   [term](FencingToken seen) { term.reportStaleToken(seen); }} {}

  /// For a term that comes from elsewhere than this library. Without `isValid` (an empty function) the term never
  /// counts as over on this side, and only the resource can refuse a write. Without `reportStaleToken` no report
  /// of a stale token is made. Neither may throw.
  FencedTerm(TermStamp stamp, std::function<bool()> isValid, std::function<void(FencingToken)> reportStaleToken)
      : stamp_{std::move(stamp)}, isValid_{std::move(isValid)}, reportStaleToken_{std::move(reportStaleToken)} {}

  [[nodiscard]] const TermStamp& stamp() const noexcept { return stamp_; }

  /// TermOver once the term's lease is no longer valid, by this process's clock, at this call; about 70 ns. It only
  /// saves a request that would be refused. The process may be paused for longer than a lease right after this check,
  /// and then only the resource can refuse.
  [[nodiscard]] std::optional<FenceError> error() const;

  /// Every adapter passes the resource's error to this. It reports a stale token to the term, which ends the term
  /// (Leadership::reportStaleToken). A term of another lease with the same name (ForeignTerm) is not reported, because
  /// it is not known here which of the two is the right one.
  void settle(const FenceError& error) const;

 private:
  TermStamp stamp_;
  std::function<bool()> isValid_;
  std::function<void(FencingToken)> reportStaleToken_;
};

/// Calls `call(stamp)` unless the term is over, and reports a rejection by the resource to the term. An adapter uses
/// this to build the call that takes a term from the call that takes a stamp, so that all adapters step down in the
/// same way:
///
///     FenceResult<void> write(const FencedTerm& term, std::string_view bytes) {
///       return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, bytes); });
///     }
template <class Call>
[[nodiscard]] auto underTerm(const FencedTerm& term, Call&& call) -> decltype(call(term.stamp())) {
  if (auto over = term.error()) return *std::move(over);
  auto result = call(term.stamp());
  if (result.has_error()) term.settle(result.error());
  return result;
}

namespace detail {

template <class Result>
inline constexpr bool isFenceResult = false;
template <class T>
inline constexpr bool isFenceResult<boost::system::result<T, FenceError>> = true;

}  // namespace detail

template <class Result>
concept FenceAnswer = detail::isFenceResult<Result>;

/// A **fence** is a resource's memory of the highest fencing token it has accepted a write with, for each lease, and
/// the rule that a lower one is refused (termError). Its scope is one lease in one resource: two resources do not
/// know of each other's writes, and two leases over one resource do not fence each other.
///
/// `write(stamp, what...)` promises:
///
/// 1. **Atomic.** The comparison, the remembered token and the write are one step of the resource. A writer that is
///    paused between any two instructions cannot write after a later term has written.
/// 2. **All or nothing.** A refused or failed write leaves neither data nor token behind. WriteError with
///    `mayBeWritten` is the one exception: then the answer was lost.
/// 3. **Durable together.** If the write survives a crash of the resource, so does the token. How durable both are
///    depends on the resource; its documentation says it.
/// 4. **Reported in one vocabulary.** StaleToken for a lower token, ForeignTerm for an equal token of another holder;
///    both name the tokens. Any other failure is WriteError; bad stamps are `misconfigured` before anything is sent.
///
/// FencedFile has no write(); its append() and replace() keep the same promises.
///
/// `write(term, what...)` is the same for callers that have a Leadership: TermOver, without a request, once it is no
/// longer valid; and a stale token ends the term (underTerm).
///
/// tests/adapters/contract tests these promises, for our adapters and for yours.
template <class Writer, class... What>
concept FencedWriter = requires(Writer& writer, const TermStamp& stamp, const FencedTerm& term,
                                std::remove_reference_t<What>&... what) {
  { writer.write(stamp, what...) } -> FenceAnswer;
  { writer.write(term, what...) } -> std::same_as<decltype(writer.write(stamp, what...))>;
};

/// A fence that can be asked what it remembers; empty if it has seen no write of that lease. This is for diagnosis: the
/// answer may be out of date before it is read, and a writer that decides by it is not fenced.
template <class Writer>
concept ReadableFence = requires(Writer& writer, const std::string& lease) {
  { writer.highestSeen(lease) } -> std::same_as<FenceResult<std::optional<TermStamp>>>;
};

/// A table of yours that takes no writes of former leaders: the database refuses them by triggers, which
/// postgresqlFenceSql and sqliteFenceSql write.
struct FencedTable {
  std::string table;  ///< exists; one name, without a schema
  std::string lease;  ///< as in TermStamp
};

}  // namespace tenure
