#include <ostream>
#include <stdexcept>

#include <tenure/lockcore/store_error.hpp>

#include "quoted_text.hpp"

namespace tenure {

std::string_view toString(ErrorClass errorClass) noexcept {
  switch (errorClass) {
    case ErrorClass::transient:
      return "transient";
    case ErrorClass::throttled:
      return "throttled";
    case ErrorClass::credentials:
      return "credentials";
    case ErrorClass::misconfigured:
      return "misconfigured";
    case ErrorClass::corrupt:
      return "corrupt";
  }
  return "invalid";
}

std::ostream& operator<<(std::ostream& out, ErrorClass errorClass) { return out << toString(errorClass); }

bool mayPass(const StoreError& error) noexcept {
  if (error.permanent) return false;
  return error.errorClass == ErrorClass::transient || error.errorClass == ErrorClass::throttled;
}

std::string_view whatHappensNext(const StoreError& error) noexcept {
  if (mayPass(error)) return ", which is tried again: ";
  return error.permanent ? ", and waiting does not help: " : ", until the cause is fixed: ";
}

void throw_exception_from_error(const StoreError& error, const boost::source_location& /*where*/) {
  throw std::runtime_error(shown(error.message));
}

}  // namespace tenure
