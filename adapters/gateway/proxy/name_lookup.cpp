#include "name_lookup.hpp"

#include <cstring>
#include <mutex>
#include <netdb.h>
#include <system_error>
#include <utility>

#include "lockcore/runtime/thread.hpp"

namespace tenure::gateway {
namespace {

/// Empty: there is no address, or it could not be found out.
Endpoints lookUp(const Address& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (getaddrinfo(name.host.c_str(), std::to_string(name.port).c_str(), &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner{list, &freeaddrinfo};
  Endpoints found;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    tcp::endpoint endpoint;
    if (one->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
    endpoint.resize(one->ai_addrlen);
    found.push_back(endpoint);
  }
  return found;
}

}  // namespace

/// What a look-up's thread knows about the object that asked. That object may be gone when the thread answers.
struct NameLookup::Link {
  std::mutex mutex;
  NameLookup* asker;  ///< guarded by mutex
};

NameLookup::NameLookup(const Executor& executor, Address name, std::chrono::milliseconds patience)
    : executor_{executor}, name_{std::move(name)}, patience_{patience}, link_{std::make_shared<Link>()} {
  link_->asker = this;
}

NameLookup::~NameLookup() {
  const std::lock_guard lock{link_->mutex};
  link_->asker = nullptr;
}

Task<Endpoints> NameLookup::find() {
  error_code noAddress;
  const auto address = asio::ip::make_address(name_.host, noAddress);
  if (!noAddress) co_return Endpoints{tcp::endpoint{address, name_.port}};
  const bool fresh = !known_.empty() && elapsedForChallenger(knownSince_, readClock()) < kept;
  if (fresh) co_return known_;
  const bool hangs = running_ > 0 && elapsedForHolder(startedAt_, readClock()) >= patience_;
  if (running_ == 0 || (hangs && running_ < mostHanging)) start();
  Timer timer{executor_, patience_};
  waiting_.insert(&timer);
  co_await timer.async_wait(quietly);  // until take() cancels it, or until the time is over
  waiting_.erase(&timer);
  co_return known_;
}

void NameLookup::start() {
  startedAt_ = readClock();
  ++running_;
  const auto answer = [link = link_, name = name_] {
    Endpoints found = lookUp(name);
    const std::lock_guard lock{link->mutex};
    if (link->asker == nullptr) return;
    asio::post(link->asker->executor_, [link, found = std::move(found)]() mutable {
      if (link->asker != nullptr) link->asker->take(std::move(found));  // the asker ends on this thread too
    });
  };
  try {
    tenure::detail::startDetachedThread("tenure-lookup", answer);
  } catch (const std::system_error&) {
    --running_;  // no thread is available: treated as an unknown name
  }
}

void NameLookup::take(Endpoints found) {
  --running_;
  if (!found.empty()) {
    known_ = std::move(found);
    knownSince_ = readClock();
  }
  for (Timer* timer : waiting_) timer->cancel();
}

}  // namespace tenure::gateway
