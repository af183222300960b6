// The error of a store that could not do its work.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <system_error>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// The kind of an error, which decides how the library continues.
enum class ErrorClass {
  transient,      ///< may pass without action: busy, time-out, connection; retried with backoff
  throttled,      ///< the store asks clients to slow down; retried with a longer backoff
  credentials,    ///< not allowed or no longer allowed; retried slowly, shown loudly
  misconfigured,  ///< missing table, wrong schema, bad path; retried slowly, shown loudly
  corrupt,        ///< a record that is not understood; fails closed: never taken over
};

[[nodiscard]] TENURE_API std::string_view toString(ErrorClass errorClass) noexcept;
TENURE_API std::ostream& operator<<(std::ostream& out, ErrorClass errorClass);

/// `message` says what was wrong, where (store, lease, file), and what to do. It never holds a secret.
struct StoreError {
  ErrorClass errorClass{ErrorClass::transient};
  std::string message;
  /// Waiting does not help: the options name something that is not a lease store, or not this library's (a network
  /// file system, another program's tables, a malformed endpoint). False for errors that operators fix while candidates
  /// wait: missing files, permissions, credentials, names that do not resolve. The candidacy continues in both cases.
  bool permanent{false};
  /// The store's table, or a right on it, is missing, and an administrator's SQL gives it (`tenure store sql`).
  bool lacksSchema{false};

  friend bool operator==(const StoreError&, const StoreError&) = default;
};

/// An error that may pass without action, so an early retry is worth it; other errors need an operator.
[[nodiscard]] TENURE_API bool mayPass(const StoreError& error) noexcept;

/// Text for a log line, between what failed and the message: that it is tried again, or that an operator has to act.
[[nodiscard]] TENURE_API std::string_view whatHappensNext(const StoreError& error) noexcept;

/// Makes `result<T, StoreError>::value()` throw std::runtime_error with the message.
[[noreturn]] TENURE_API void throw_exception_from_error(const StoreError& error, const boost::source_location& where);

template <class T>
using StoreResult = boost::system::result<T, StoreError>;

}  // namespace tenure
