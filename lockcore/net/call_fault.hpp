// What stores over HTTP say of calls that failed.
#pragma once

#include <stdexcept>
#include <string>

#include <boost/throw_exception.hpp>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::net {

/// No answer came in time, or the request was not sent.
struct CallFault {
  StoreError error;
  bool maybeSent{true};  ///< false: no server can have seen the request
};
[[noreturn]] inline void throw_exception_from_error(const CallFault& fault, const boost::source_location& where) {
  boost::throw_exception(std::runtime_error{fault.error.message}, where);
}

/// Why an answer is not understood, for people.
struct Misunderstood {
  std::string what;
};
[[noreturn]] inline void throw_exception_from_error(const Misunderstood& fault, const boost::source_location& where) {
  boost::throw_exception(std::runtime_error{fault.what}, where);
}

/// What a message is about.
struct CallName {
  const std::string& where;  ///< the store's description
  std::string doing;         ///< `renewing lease billing`

  /// `etcd at http://...: renewing lease billing`
  [[nodiscard]] std::string text() const { return where + ": " + doing; }
};

/// A request that was not carried out, or whose outcome is unknown.
struct Fault {
  StoreError error;
  bool maybeApplied{true};
};

}  // namespace tenure::net
