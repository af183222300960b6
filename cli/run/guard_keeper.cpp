#include "guard_keeper.hpp"

#include <csignal>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "cli/process/adopted.hpp"
#include "cli/process/first_process.hpp"

namespace tenure::cli {
namespace {

/// More deaths than this within the time cannot be accidents.
constexpr std::size_t maxReplacements = 5;
constexpr std::chrono::seconds replacementWindow{10};

}  // namespace

GuardKeeper::GuardKeeper(const GuardChannel& channel, std::string program)
    : channel_{channel}, program_{std::move(program)}, self_{openPidfd(getpid())} {
  if (access(program_.c_str(), X_OK) != 0) throwErrno("the guard cannot be started (is /proc mounted?): " + program_);
  start();
}

GuardKeeper::~GuardKeeper() {
  // Nothing is left to guard, and a guard that somebody stopped must not delay the supervisor's end.
  if (id_ > 0) kill(id_, SIGKILL);
  reap();
}

void GuardKeeper::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throwErrno("socketpair for the guard");
  UniqueFd ours{ends[0]};
  const UniqueFd theirs{ends[1]};
  const int inherited[] = {theirs.get(), channel_.descriptor(), self_.get(), firstProcessWaitsFor()};
  std::string numbers[std::size(inherited)];
  for (std::size_t i = 0; i < std::size(inherited); ++i) numbers[i] = std::to_string(inherited[i]);
  std::string subcommand = guardSubcommand;
  // The name that ps shows: people who look for stray processes must see to whom it belongs.
  std::string title = "tenure: guard of process " + std::to_string(getpid());
  char* const argv[] = {
      title.data(), subcommand.data(), numbers[0].data(), numbers[1].data(), numbers[2].data(), numbers[3].data(),
      nullptr};
  const pid_t child = forkFor("the guard");
  if (child == 0) {  // from here on only async-signal-safe calls
    for (const int fd : inherited) fcntl(fd, F_SETFD, 0);
    execv(program_.c_str(), argv);
    _exit(127);
  }
  id_ = child;
  control_ = std::move(ours);
  try {
    pidfd_ = openPidfd(child);
  } catch (...) {
    kill(child, SIGKILL);
    reap();
    throw;
  }
}

void GuardKeeper::reap() noexcept {
  if (id_ < 0) return;
  reapOwnChild(id_);
  id_ = -1;
}

void GuardKeeper::watch(const Job& job, const std::string& identity, int livenessFile) {
  job_.emplace();
  job_->kind = GuardMessage::Kind::watch;
  job_->number = ++number_;
  job_->group = job.id();
  identity.copy(job_->identity, sizeof job_->identity - 1);
  descriptors_ = {job.pidfd(), job.reaperPidfd(), job.news(), livenessFile, job.cgroup()};
  watching_ = false;
  sendMessage(control_.get(), *job_, descriptors_);  // if it fails, the guard is dead, and its successor gets the job
}

void GuardKeeper::forget() noexcept {
  job_.reset();
  watching_ = false;
  sendMessage(control_.get(), GuardMessage{});
}

void GuardKeeper::takeAnswers() noexcept {
  bool closed = false;
  while (const auto received = receiveMessage(control_.get(), closed)) {
    if (job_ && received->message.number == job_->number) watching_ = true;
  }
  // The pidfd reports the guard's death. A closed socket would only wake poll again and again.
  if (closed) control_.reset();
}

bool GuardKeeper::replace(std::string& why) noexcept {
  watching_ = false;
  reap();
  const Instant now = readClock();
  replacements_.push_back(now);
  while (elapsedForHolder(replacements_.front(), now) > replacementWindow) replacements_.pop_front();
  if (replacements_.size() > maxReplacements) {
    why = "its guard process ended " + std::to_string(replacements_.size()) + " times in a few seconds";
    pidfd_.reset();
    return false;
  }
  try {
    start();
  } catch (const std::exception& error) {
    why = std::string{"its guard process cannot be started: "} + error.what();
    pidfd_.reset();
    return false;
  }
  if (job_) sendMessage(control_.get(), *job_, descriptors_);
  return true;
}

}  // namespace tenure::cli
