#include "gateway.hpp"

#include <stdexcept>

#include <boost/throw_exception.hpp>

namespace tenure::kubernetes_store {

void throw_exception_from_error(const CallFault& fault, const boost::source_location& where) {
  boost::throw_exception(std::runtime_error{fault.error.message}, where);
}

}  // namespace tenure::kubernetes_store
