// What all adapters have in common: a resource that compares fencing tokens in the same atomic step as it writes.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <tenure/adapters/fenced_term.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure {

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
