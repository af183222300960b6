#include "fault_plan.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <pthread.h>
#include <string_view>
#include <utility>

namespace tenure::sqlite_test {
namespace {

std::mutex planMutex;  // guards all but `armed`
FaultPlan plan;
int left = 0;
std::string failed;
std::atomic<bool> armed{false};

bool isMine() {
  if (plan.thread.empty()) return true;
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return plan.thread == name.data();
}

bool isMeant(std::string_view call) {
  if (!plan.call.empty()) return call == plan.call;
  return call == "write" || call == "truncate" || call == "sync" || call == "lock" || call == "shm map" ||
         call == "shm lock" || call == "open";
}

}  // namespace

void armFault(FaultPlan next) {
  const std::lock_guard lock{planMutex};
  left = next.nth;
  plan = std::move(next);
  failed.clear();
  armed = true;
}

std::string disarmFault() {
  const std::lock_guard lock{planMutex};
  armed = false;
  return std::exchange(failed, {});
}

std::optional<Failure> failureOf(const char* call, int usual) {
  if (!armed) return std::nullopt;
  const std::lock_guard lock{planMutex};
  if (!armed || !isMeant(call) || !isMine()) return std::nullopt;
  if (left > 1) {
    --left;
    return std::nullopt;
  }
  if (!plan.sticky) armed = false;
  if (failed.empty()) failed = call;
  return Failure{plan.kind, plan.code != 0 ? plan.code : usual};
}

}  // namespace tenure::sqlite_test
