// Internal: one request on its way.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "alarm_queue.hpp"
#include "http_client.hpp"

namespace tenure::net {

struct Call;
class Connection;
using CallList = std::list<std::unique_ptr<Call>>;

class CallKeeper {
 public:
  /// The call's time is over, or a copy is due. Afterwards the call may be gone.
  virtual void due(Call& call) = 0;

 protected:
  ~CallKeeper() = default;
};

struct Call final : Alarm {
  Call(HttpRequest asked, HttpHandler answer, std::chrono::nanoseconds allowed, std::chrono::nanoseconds until)
      : request{std::move(asked)}, handler{std::move(answer)}, timeout{allowed}, deadline{until} {}

  void onAlarm() override { keeper->due(*this); }

  HttpRequest request;
  HttpHandler handler;
  std::chrono::nanoseconds timeout;
  std::chrono::nanoseconds deadline;
  CallKeeper* keeper{nullptr};
  std::uint64_t number{0};              ///< counts the calls of a pool
  std::vector<Connection*> carriers{};  ///< connections that carry a copy of it; none: it waits
  CallList::iterator place{};           ///< its place among the waiting or the carried calls
  bool maybeSent{false};                ///< a copy may have left this process on a connection that is gone
};

}  // namespace tenure::net
