// What all adapters have in common: a resource that compares fencing tokens in the same atomic step as it writes.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <tenure/lockcore/fence.hpp>

namespace tenure {

/// Whatever numbers its terms and can be told that one is over, such as a Leadership. Adapters know no election, and
/// need none: this is all that passes between them.
template <class Term>
concept TermOfALease = std::copy_constructible<Term> && requires(const Term& term, FencingToken seen) {
  { term.leaseName() } -> std::convertible_to<std::string>;
  { term.fencingToken() } -> std::same_as<FencingToken>;
  { term.holder() } -> std::convertible_to<std::string>;
  { term.isValid() } -> std::convertible_to<bool>;
  term.reportStaleToken(seen);
};

/// Made from a Leadership by handing that to an adapter's call; or once, and used for every write of the term, which
/// saves some copies. Copyable. As safe to use from any thread as the term is that it was made from.
class FencedTerm {
 public:
  template <TermOfALease Term>
  // NOLINTNEXTLINE(google-explicit-constructor): a Leadership is what users have, and what they shall hand in
  FencedTerm(const Term& term)
      : FencedTerm{TermStamp::of(term), [term] { return static_cast<bool>(term.isValid()); },
                   [term](FencingToken seen) { term.reportStaleToken(seen); }} {}

  /// For terms of other programs. `isValid` may be empty: the term then never counts as over here, only at the
  /// resource. `reportStaleToken` may be empty: then nobody is told. Neither may throw.
  FencedTerm(TermStamp stamp, std::function<bool()> isValid, std::function<void(FencingToken)> reportStaleToken)
      : stamp_{std::move(stamp)}, isValid_{std::move(isValid)}, reportStaleToken_{std::move(reportStaleToken)} {}

  [[nodiscard]] const TermStamp& stamp() const noexcept { return stamp_; }

  /// TermOver once the term's lease is not valid any more, by this process's clock, at this call; about 70 ns. It
  /// saves a request that would be refused, and nothing more: the process may be paused for longer than a lease right
  /// after the question, and only the resource can refuse then.
  [[nodiscard]] std::optional<FenceError> refusal() const;

  /// What every adapter does with what the resource answered: a stale token is reported to the term, which ends it
  /// (Leadership::reportStaleToken). A term of another lease by the same name (ForeignTerm) is not: there is no telling
  /// here which of the two is the right one.
  void settle(const FenceError& error) const;

 private:
  TermStamp stamp_;
  std::function<bool()> isValid_;
  std::function<void(FencingToken)> reportStaleToken_;
};

/// `call(stamp)` unless the term is over; a refusal of the resource is reported to the term. With this an adapter makes
/// the call that takes a term from the one that takes a stamp, so that all adapters step down alike:
///
///     FenceResult<void> write(const FencedTerm& term, std::string_view bytes) {
///       return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, bytes); });
///     }
template <class Call>
[[nodiscard]] auto underTerm(const FencedTerm& term, Call&& call) -> decltype(call(term.stamp())) {
  if (auto over = term.refusal()) return *std::move(over);
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
/// the rule that a lower one is refused (fenceRefusal). Its scope is one lease in one resource: two resources do not
/// know of each other's writes, and two leases over one resource do not fence each other.
///
/// `write(stamp, what...)` promises:
///
/// 1. **Atomic.** The comparison, the remembered token and the write are one step of the resource. Whoever is paused
///    between any two instructions cannot write after a later term has.
/// 2. **All or nothing.** A refused or failed write leaves neither data nor token behind. WriteTrouble with
///    `mayBeWritten` is the one exception: then the answer was lost.
/// 3. **Durable together.** If the write survives a crash of the resource, so does the token. How durable that is, is
///    the resource's affair, and stands in its documentation.
/// 4. **Told in one vocabulary.** StaleToken for a lower token, ForeignTerm for an equal one of another holder; both
///    name the tokens. Everything else is WriteTrouble; bad stamps are `misconfigured` before anything is sent.
///
/// `write(term, what...)` is the same for those who have a Leadership: TermOver without a request once it is not valid
/// any more, and a stale token ends the term (underTerm).
///
/// What stands behind it is tested by tests/adapters/contract, for our adapters and for yours.
template <class Writer, class... What>
concept FencedWriter = requires(Writer& writer, const TermStamp& stamp, const FencedTerm& term,
                                std::remove_reference_t<What>&... what) {
  { writer.write(stamp, what...) } -> FenceAnswer;
  { writer.write(term, what...) } -> std::same_as<decltype(writer.write(stamp, what...))>;
};

/// A fence that can be asked what it remembers; empty if it has seen no write of that lease. For diagnoses: what it
/// answered may be out of date before it is read, and a writer that decides by it is not fenced.
template <class Writer>
concept ReadableFence = requires(Writer& writer, const std::string& lease) {
  { writer.highestSeen(lease) } -> std::same_as<FenceResult<std::optional<TermStamp>>>;
};

}  // namespace tenure
