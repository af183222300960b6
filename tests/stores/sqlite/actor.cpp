#include "actor.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tenure::sqlite_test {

Actor::Actor(const std::string& database) {
  std::array<int, 2> toChild{};
  std::array<int, 2> fromChild{};
  if (pipe2(toChild.data(), O_CLOEXEC) != 0 || pipe2(fromChild.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error{"no pipes"};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO);
  std::string program = TENURE_SQLITE_ACTOR;
  std::string path = database;
  std::array<char*, 3> arguments{program.data(), path.data(), nullptr};
  const int fault = posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(toChild[0]);
  close(fromChild[1]);
  input_.reset(fdopen(toChild[1], "w"));
  output_.reset(fdopen(fromChild[0], "r"));
  if (fault != 0) throw std::runtime_error{"cannot start " + program};
}

Actor::~Actor() {
  if (!reaped_) kill();
}

void Actor::tell(const std::string& command) {
  std::fputs((command + '\n').c_str(), input_.get());
  std::fflush(input_.get());
}

std::string Actor::hear() {
  std::string line;
  for (int c = std::fgetc(output_.get()); c != EOF; c = std::fgetc(output_.get())) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  return {};
}

std::string Actor::ask(const std::string& command) {
  tell(command);
  return hear();
}

void Actor::signal(int number) const { ::kill(pid_, number); }

void Actor::stop() const {
  signal(SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void Actor::kill() {
  signal(SIGKILL);
  reap();
}

int Actor::finish() {
  input_.reset();
  return reap();
}

int Actor::reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace tenure::sqlite_test
