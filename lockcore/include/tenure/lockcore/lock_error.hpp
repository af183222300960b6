// What a lock client answers when it could not do its work.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

enum class LockErrc {
  held,              ///< a single attempt (tryAcquire, waitFor 0): another candidate holds it
  heldBySelf,        ///< this client holds, acquires or releases it just now; the store was not asked
  timeout,           ///< waitFor is over, and another still holds it, or this client still releases it
  missing,           ///< mustExist, and there is no record
  invalidOptions,    ///< bad key or options; nothing was done; all faults are named
  storeUnavailable,  ///< the store could not be asked in time: busy, throttling, connection, time-out
  /// waitFor is over, and an acquisition was sent whose outcome is not known. If it won, or still wins, it is released
  /// in the background, within a lease. If this process ends before, the lock ends with its lease.
  unknown,
  accessDenied,        ///< the store does not let this process in
  storeMisconfigured,  ///< missing table, wrong schema, bad path
  recordCorrupt,       ///< the record is not understood, and was left alone
  lost,                ///< the lock is over: expired, taken, gone, closed; Lock::loss() says why
  notHeld,             ///< the handle was released or moved from
  cancelled,           ///< the acquisition was cancelled, or its client closed, before it was decided
  closed,              ///< the client was closed before
  wouldBlock,          ///< called on a thread of the client's own scheduler, where waiting would wait for itself
  forked,              ///< this process is a forked child of the one that made the client
};

/// The enumerator's name.
[[nodiscard]] std::string_view toString(LockErrc code) noexcept;
std::ostream& operator<<(std::ostream& out, LockErrc code);

struct LockError {
  LockErrc code;
  std::string message;                   ///< what was wrong, with which lock, what to do; one sentence or two
  std::optional<HolderInfo> holder{};    ///< who holds it: for held and timeout
  std::optional<StoreError> store{};     ///< what the store said
  OptionFaults faults{};                 ///< for invalidOptions: all of them
  std::optional<RevokeReason> reason{};  ///< for lost
};

/// Makes `result<T, LockError>::value()` throw std::runtime_error with the message.
[[noreturn]] void throw_exception_from_error(const LockError& error, const boost::source_location& where);

template <class T>
using LockResult = boost::system::result<T, LockError>;

}  // namespace tenure
