// The errors of a lock client and of LockTokens.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

enum class LockErrc {
  held,        ///< another candidate holds it: a single attempt (tryAcquire, waitFor 0), and any of LockTokens
  heldBySelf,  ///< this client holds, acquires or releases it just now; the store was not asked
  /// waitFor is over, and another still holds it, or this client still releases it. Of LockTokens: no holder was seen
  /// at the end.
  timeout,
  missing,           ///< mustExist, and there is no record
  invalidOptions,    ///< bad key or options; nothing was done; all faults are named
  storeUnavailable,  ///< the store could not be asked in time: busy, throttling, connection, time-out
  /// waitFor is over, and an acquisition was sent whose outcome is not known. If it won, or still wins, it is released
  /// in the background, within a lease. If this process ends before, the lock ends with its lease. Of a token also: a
  /// renewal or release was sent whose outcome is not known.
  unknown,
  accessDenied,        ///< the store does not let this process in
  storeMisconfigured,  ///< missing table, wrong schema, bad path
  recordCorrupt,       ///< the record is not understood, and was left alone
  lost,                ///< the lock is over: expired, taken, gone, closed; `reason` and Lock::loss() say why
  notHeld,             ///< the handle was released or moved from; the term of the token was released
  cancelled,           ///< the acquisition was cancelled, or its client closed, before it was decided
  closed,              ///< the client was closed before
  wouldBlock,          ///< called on a thread of the client's own scheduler, where waiting would wait for itself
  forked,              ///< this process is a forked child of the one that made the client
  malformed,           ///< the text is no token: foreign, truncated, edited, or of another version; nothing was sent
  superseded,          ///< the lock was renewed with this token elsewhere; only the newer token counts
};

/// The enumerator's name.
[[nodiscard]] TENURE_API std::string_view toString(LockErrc code) noexcept;
TENURE_API std::ostream& operator<<(std::ostream& out, LockErrc code);

/// For programs that carry error codes: `name()` is "tenure.lock", a message is the enumerator's name. Values are those
/// of LockErrc and one, because zero would be no failure.
[[nodiscard]] TENURE_API const boost::system::error_category& lockCategory() noexcept;
// NOLINTNEXTLINE(readability-identifier-naming): Boost's name
[[nodiscard]] TENURE_API boost::system::error_code make_error_code(LockErrc code) noexcept;

struct LockError {
  LockErrc code;
  std::string message;                   ///< what was wrong, with which lock, what to do; for people: escaped
  std::optional<HolderInfo> holder{};    ///< who holds it, if that is known: for held, timeout, lost and superseded
  std::optional<StoreError> store{};     ///< what the store said, escaped as well
  OptionFaults faults{};                 ///< for invalidOptions: all of them
  std::optional<RevokeReason> reason{};  ///< for lost

  friend bool operator==(const LockError&, const LockError&) = default;
};

/// Makes `result<T, LockError>::value()` throw std::runtime_error with the message.
[[noreturn]] TENURE_API void throw_exception_from_error(const LockError& error, const boost::source_location& where);

template <class T>
using LockResult = boost::system::result<T, LockError>;

}  // namespace tenure

template <>
struct boost::system::is_error_code_enum<tenure::LockErrc> : std::true_type {};
