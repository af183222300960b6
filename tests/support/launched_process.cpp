#include "support/launched_process.hpp"

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenure::test {

LaunchedProcess::LaunchedProcess(const std::vector<std::string>& command, const std::function<void()>& prepare) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  id_ = fork();
  if (id_ < 0) throw std::runtime_error{"fork failed"};
  if (id_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(99);  // it has ended before that call
  prepare();
  execvp(argv[0], argv.data());
  _exit(99);
}

LaunchedProcess::~LaunchedProcess() {
  signal(SIGKILL);
  static_cast<void>(wait());
}

void LaunchedProcess::signal(int number) const {
  if (!result_) kill(id_, number);
}

std::optional<int> LaunchedProcess::result() {
  reap(WNOHANG);
  return result_;
}

int LaunchedProcess::wait() {
  reap(0);
  return result_.value_or(-1);
}

void LaunchedProcess::reap(int options) {
  if (result_) return;
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(id_, &status, options);
  } while (ended < 0 && errno == EINTR);
  if (ended == id_) result_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tenure::test
