#include "service_notifier.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "cli/process/wakeups.hpp"
#include "cli/text/environment.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr const char* socketVariable = "NOTIFY_SOCKET";
constexpr const char* periodVariable = "WATCHDOG_USEC";
constexpr const char* processVariable = "WATCHDOG_PID";

constexpr nanoseconds retryAfter = std::chrono::seconds{1};

/// Zero: not a number, or too great to be one of nanoseconds.
std::int64_t numberIn(const std::string& text) noexcept {
  const auto number = numberFrom<std::int64_t>(text).value_or(0);
  return number > 0 && number < INT64_MAX / 1000 ? number : 0;
}

/// Line breaks would begin another assignment. Names may hold any byte.
std::string oneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

}  // namespace

ServiceEnvironment ServiceEnvironment::take() {
  ServiceEnvironment out;
  for (const char* name : {socketVariable, periodVariable, processVariable}) {
    if (std::string value = environmentText(name); !value.empty()) out.variables[name] = std::move(value);
    unsetenv(name);  // NOLINT(concurrency-mt-unsafe): there is no other thread yet
  }
  return out;
}

std::string ServiceEnvironment::text(const char* name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string{} : found->second;
}

NotifySocket::NotifySocket(std::string address)
    : address_{std::move(address)}, socket_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)} {}

/// By address each time: a service manager that was restarted has bound another socket to it.
int NotifySocket::send(std::string_view lines) const noexcept {
  sockaddr_un to{};
  if (address_.size() < 2 || (address_.front() != '/' && address_.front() != '@')) return EAFNOSUPPORT;
  if (address_.size() >= sizeof to.sun_path) return ENAMETOOLONG;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  if (address_.front() == '@') to.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const auto* address = reinterpret_cast<const sockaddr*>(&to);
  const ssize_t sent = sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL, address, length);
  return sent < 0 ? errno : 0;
}

ServiceNotifier::ServiceNotifier(const ServiceEnvironment& environment,
                                 const std::function<std::shared_ptr<Scheduler>()>& renewals, Logger logger)
    : logger_{std::move(logger)}, address_{environment.text(socketVariable)} {
  if (address_.empty()) return;
  socket_ = std::make_shared<const NotifySocket>(address_);
  const std::string period = environment.text(periodVariable);
  const std::string process = environment.text(processVariable);
  if (period.empty() || (!process.empty() && process != std::to_string(getpid()))) return;
  period_ = nanoseconds{microseconds{numberIn(period)}} / 2;
  if (period_.count() == 0) {
    logger_.log(LogLevel::warn, std::string{periodVariable} + " is " + inQuotes(period) +
                                    ", no number of microseconds; the service manager's watchdog is not served");
    return;
  }
  renewals_ = renewals();
  beating_ = std::make_shared<std::atomic<bool>>(false);
}

void ServiceNotifier::ready() {
  if (!std::exchange(ready_, true)) add("READY=1");
}

void ServiceNotifier::status(const std::string& text) {
  if (text == status_) return;
  status_ = text;
  add("STATUS=" + oneLine(text));
}

void ServiceNotifier::stopping(nanoseconds atMost) {
  if (std::exchange(stopping_, true)) return;
  add("STOPPING=1");
  add("EXTEND_TIMEOUT_USEC=" + std::to_string(std::chrono::ceil<microseconds>(atMost).count()));
}

void ServiceNotifier::add(const std::string& line) {
  if (!socket_) return;
  // An assignment replaces an earlier one of the same name, also within one datagram; only the last is worth keeping.
  const std::string name = line.substr(0, line.find('=') + 1);
  if (const std::size_t at = ('\n' + pending_).find('\n' + name); at != std::string::npos) {
    pending_.erase(at, pending_.find('\n', at) - at + 1);
  }
  pending_ += line + '\n';
}

void ServiceNotifier::act(const Instant& now) {
  flush(now);
  beat(now);
}

void ServiceNotifier::flush(const Instant& now) {
  if (pending_.empty() || (failedAt_ && elapsedForHolder(*failedAt_, now) < retryAfter)) return;
  const int error = socket_->send(pending_);
  failedAt_ = error == 0 ? std::nullopt : std::optional{now};
  if (error == 0) return pending_.clear();
  if (std::exchange(failureTold_, true)) return;
  logger_.log(LogLevel::warn, "the state cannot be reported to the service manager (NOTIFY_SOCKET=" + address_ +
                                  "): " + errnoText(error) + "; tries again each second");
}

void ServiceNotifier::beat(const Instant& now) {
  if (!renewals_ || (askedAt_ && elapsedForHolder(*askedAt_, now) < period_)) return;
  askedAt_ = now;
  if (beating_->exchange(true)) return;  // the thread has not come to the last one
  renewals_->post([socket = socket_, beating = beating_] {
    beating->store(false);
    [[maybe_unused]] const int lost = socket->send("WATCHDOG=1\n");  // the next one comes in time
  });
}

std::optional<nanoseconds> ServiceNotifier::untilAct(const Instant& now) const {
  std::optional<nanoseconds> left;
  if (!pending_.empty() && failedAt_) left = retryAfter - elapsedForHolder(*failedAt_, now);
  if (renewals_ && askedAt_) left = earlier(left, period_ - elapsedForHolder(*askedAt_, now));
  return left;
}

}  // namespace tenure::cli
