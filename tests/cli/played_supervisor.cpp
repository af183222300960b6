#include "cli/played_supervisor.hpp"

#include <csignal>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/process/process.hpp"
#include "cli/run/guard.hpp"
#include "cli/run/guard_protocol.hpp"

namespace tenure::test {

PlayedSupervisor::PlayedSupervisor() : life_{{"sleep", "1000"}}, pidfd_{cli::openPidfd(life_.id())} {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair failed");
  ours_.reset(ends[0]);
  theirs_.reset(ends[1]);
}

PlayedSupervisor::~PlayedSupervisor() {
  if (guard_ <= 1) return;
  kill(guard_, SIGKILL);
  waitpid(guard_, nullptr, 0);
}

void PlayedSupervisor::publish(milliseconds leads, milliseconds valid) {
  channel.publish({readClock(), leads, valid, FencingToken{1}});
}

void PlayedSupervisor::startGuard() {
  guard_ = fork();
  if (guard_ == 0) _exit(cli::runGuard({theirs_.get(), channel.descriptor(), pidfd_.get()}));
  if (guard_ < 0) throw std::runtime_error("fork failed");
}

void PlayedSupervisor::die() {
  life_.signal(SIGKILL);
  life_.wait();
}

void PlayedSupervisor::freezeGuard() const {
  kill(guard_, SIGSTOP);
  siginfo_t stopped{};
  waitid(P_PID, static_cast<id_t>(guard_), &stopped, WSTOPPED);
}

void PlayedSupervisor::wakeGuard() const { kill(guard_, SIGCONT); }

int PlayedSupervisor::guardsExitCode() {
  int status = 0;
  if (!eventually([&] { return waitpid(guard_, &status, WNOHANG) == guard_; })) return -1;
  guard_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void PlayedSupervisor::sendWatch(const cli::Job& job, const std::string& identity) const {
  cli::GuardMessage message;
  message.kind = cli::GuardMessage::Kind::watch;
  message.number = 1;
  message.group = job.id();
  identity.copy(message.identity, sizeof message.identity - 1);
  cli::sendMessage(ours_.get(), message, {job.pidfd(), job.reaperPidfd(), job.news(), -1});
}

bool PlayedSupervisor::isWatched() const {
  pollfd entry{ours_.get(), POLLIN, 0};
  bool closed = false;
  return poll(&entry, 1, static_cast<int>(patience.count())) == 1 && cli::receiveMessage(ours_.get(), closed);
}

}  // namespace tenure::test
