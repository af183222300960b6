#include "core.hpp"

#include <stdexcept>

#include <boost/throw_exception.hpp>

namespace tenure::kubernetes_store {

void throw_exception_from_error(const CallFault& fault, const boost::source_location& where) {
  boost::throw_exception(std::runtime_error{fault.error.message}, where);
}

void send(const CorePtr& core, Request request, const CallDeadline& deadline, OutcomeHandler handler) {
  const std::chrono::nanoseconds left = deadline.left();
  const auto gateway = core->gateway.lock();
  if (gateway && left.count() > 0) return gateway->call(std::move(request), left, std::move(handler));
  const char* why = gateway ? "the time of the call was over before a request was sent" : "the store was closed";
  core->post(std::move(handler), Outcome{CallFault{{ErrorClass::transient, why}, false}});
}

}  // namespace tenure::kubernetes_store
