#include "shutdown.hpp"

#include <csignal>

#include "cli/group/store_calls.hpp"
#include "cli/process/process.hpp"

namespace tenure::cli {
namespace {

/// timeout(1) sends its signal to the program and then to the group, so it comes twice within milliseconds. A user who
/// wants to hurry is not that quick.
constexpr std::chrono::milliseconds sameStopRequest{500};

}  // namespace

Shutdown::Request Shutdown::take(int signal, const Instant& now) noexcept {
  const bool first = !askedAt_;
  const bool again = !first && elapsedForHolder(*askedAt_, now) >= sameStopRequest;
  if (first) askedAt_ = now;
  return {first || signal == SIGQUIT, again || signal == SIGQUIT};
}

/// To be stopped is how a service ends. But what follows `run --once ... &&` must not go on without it.
int Shutdown::codeOfStop(int signal, const std::optional<int>& lastRun) const noexcept {
  if (!once_) return exitOk;
  return lastRun.value_or(ExitStatus{true, signal}.shellCode());
}

void Shutdown::leave(int code) noexcept {
  if (!code_) code_ = code;
}

void Shutdown::giveUpWaiting(const Instant& now, bool mayHaveAcquired) noexcept {
  gaveUpAt_ = now;
  mayHaveAcquired_ = mayHaveAcquired;
}

void Shutdown::electorStopped(ReleaseResult result) noexcept {
  if (gaveUpAt_ && result == ReleaseResult::unknown) code_ = exitUnknown;
}

std::optional<std::chrono::nanoseconds> Shutdown::untilQuit(const Instant& now) const noexcept {
  if (!gaveUpAt_) return std::nullopt;
  return unansweredTime - elapsedForHolder(*gaveUpAt_, now);
}

}  // namespace tenure::cli
