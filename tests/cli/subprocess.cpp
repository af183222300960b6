#include "cli/subprocess.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace tenure::test {
namespace {

/// In the child.
void prepare(const SubprocessOptions& options, int out, int err) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const auto& [name, value] : options.environment)
    setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): after fork
  if (!options.workingDirectory.empty() && chdir(options.workingDirectory.c_str()) != 0) _exit(99);
}

void takeAvailable(int fd, std::string& into) {
  char chunk[4096];
  for (ssize_t got = 0; (got = read(fd, chunk, sizeof chunk)) > 0;) into.append(chunk, static_cast<std::size_t>(got));
}

}  // namespace

Subprocess::Subprocess(const std::vector<std::string>& command, const SubprocessOptions& options) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0 || pipe2(err, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::runtime_error("pipe2 failed");
  }
  // Only our ends are non-blocking: each end has its own file description, and the flag belongs to that.
  fcntl(out[1], F_SETFL, 0);
  fcntl(err[1], F_SETFL, 0);
  process_.emplace(command, [&] { prepare(options, out[1], err[1]); });
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Subprocess::~Subprocess() {
  process_.reset();
  close(out_);
  close(err_);
}

void Subprocess::drain() {
  takeAvailable(out_, output_);
  takeAvailable(err_, errors_);
}

const std::string& Subprocess::output() {
  drain();
  return output_;
}

const std::string& Subprocess::errors() {
  drain();
  return errors_;
}

std::optional<std::string> Subprocess::lineAfter(const std::string& prefix, milliseconds bound) {
  std::optional<std::string> found;
  const auto look = [&] {
    const std::string text = '\n' + output();
    const std::size_t at = text.rfind('\n' + prefix);
    const std::size_t end = at == std::string::npos ? at : text.find('\n', at + 1);
    if (end == std::string::npos) return false;  // a line that is not complete yet does not count
    found = text.substr(at + 1 + prefix.size(), end - at - 1 - prefix.size());
    return true;
  };
  // The last such line may be incomplete while an earlier one is complete; the next check finds it complete.
  static_cast<void>(eventually(look, bound));
  return found;
}

bool Subprocess::saysOnStderr(const std::string& text, milliseconds bound) {
  return eventually([&] { return errors().find(text) != std::string::npos; }, bound);
}

int Subprocess::wait(milliseconds bound) {
  static_cast<void>(eventually([this] { return !running(); }, bound));
  const int code = process_->result().value_or(-1);
  drain();
  return code;
}

bool Subprocess::running() {
  drain();  // a full pipe would block the process
  return !process_->result();
}

Finished runToEnd(const std::vector<std::string>& command, const SubprocessOptions& options, milliseconds bound) {
  Subprocess process{command, options};
  Finished out;
  out.code = process.wait(bound);
  out.output = process.output();
  out.errors = process.errors();
  return out;
}

Witness::Witness(pid_t process) : pidfd_{static_cast<int>(syscall(SYS_pidfd_open, process, 0U))} {
  if (pidfd_ < 0) throw std::runtime_error("no process " + std::to_string(process));
}

Witness::Witness(Witness&& other) noexcept : pidfd_{std::exchange(other.pidfd_, -1)} {}

Witness::~Witness() {
  if (pidfd_ < 0) return;
  syscall(SYS_pidfd_send_signal, pidfd_, SIGKILL, nullptr, 0U);  // for a test that failed before the end
  close(pidfd_);
}

bool Witness::ended(milliseconds bound) const {
  pollfd entry{pidfd_, POLLIN, 0};
  int got = 0;
  do {
    got = poll(&entry, 1, static_cast<int>(bound.count()));
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

void Witness::signal(int signal) const { syscall(SYS_pidfd_send_signal, pidfd_, signal, nullptr, 0U); }

long long monotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace tenure::test
