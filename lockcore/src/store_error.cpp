#include <ostream>
#include <stdexcept>

#include <tenure/lockcore/store_error.hpp>

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

void throw_exception_from_error(const StoreError& error, const boost::source_location& /*where*/) {
  throw std::runtime_error(error.message);
}

}  // namespace tenure
