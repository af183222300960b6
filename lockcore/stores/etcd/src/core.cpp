#include "core.hpp"

#include <stdexcept>

#include <boost/throw_exception.hpp>

#include "requests.hpp"

namespace tenure::etcd_store {

void throw_exception_from_error(const CallFault& fault, const boost::source_location& where) {
  boost::throw_exception(std::runtime_error{fault.error.message}, where);
}

void send(const CorePtr& core, std::string body, const CallDeadline& deadline, Gateway::Repeat repeat,
          OutcomeHandler handler) {
  const std::chrono::nanoseconds left = deadline.left();
  const auto gateway = core->gateway.lock();
  if (gateway && left.count() > 0) return gateway->call(txnPath, std::move(body), left, repeat, std::move(handler));
  const char* why = gateway ? "the time of the call was over before a request was sent" : "the store was closed";
  core->post(std::move(handler), Outcome{CallFault{{ErrorClass::transient, why}, false}});
}

}  // namespace tenure::etcd_store
