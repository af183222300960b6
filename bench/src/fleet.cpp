#include "fleet.hpp"

#include <cstdlib>
#include <filesystem>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

namespace tenure::bench {

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tenure-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
  directory_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void await(const std::function<bool()>& done, const std::string& what, std::chrono::minutes patience) {
  const Instant from = readClock();
  while (!done()) {
    if (elapsedForHolder(from, readClock()) > patience) {
      throw std::runtime_error(fmt::format("waited {} min for {}", patience.count(), what));
    }
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
}

void progress(int done, int total, const std::string& what) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  if (terminal) {
    fmt::print("\r  {} {}/{}{}", what, done, total, done == total ? "\n" : "");
  } else if (done % 10 == 0 || done == total) {
    fmt::print("  {} {}/{}\n", what, done, total);
  }
  std::fflush(stdout);
}

Fleet::Fleet(int size, CandidateSettings settings)
    : settings_{std::move(settings)}, board_{settings_.board}, pids_(static_cast<std::size_t>(size), -1) {
  for (int i = 0; i < size; ++i) start(i);
}

Fleet::~Fleet() {
  for (const pid_t pid : pids_) {
    if (pid <= 0) continue;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

void Fleet::start(int index) {
  CandidateSettings settings = settings_;
  settings.index = index;
  std::vector<std::string> arguments = settings.command();
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv.front(), nullptr, nullptr, argv.data(), environ);
  if (error != 0) throw std::system_error(error, std::generic_category(), "starting a candidate");
  pids_.at(static_cast<std::size_t>(index)) = pid;
}

void Fleet::awaitReady() {
  for (int i = 0; i < size(); ++i) {
    await([&] { return slot(i).competing.load() != 0; }, fmt::format("candidate {} to compete", i));
  }
  await([&] { return slot(leader()).token.load() != 0; }, "the first leader");
}

int Fleet::leader() {
  int best = 0;
  for (int i = 1; i < size(); ++i) {
    if (slot(i).token.load() > slot(best).token.load()) best = i;
  }
  return best;
}

int Fleet::awaitSuccessor(std::int64_t token) {
  await([&] { return slot(leader()).token.load() > token; }, fmt::format("a successor of term {}", token));
  return leader();
}

void Fleet::send(int index, int signal) {
  if (kill(pids_.at(static_cast<std::size_t>(index)), signal) != 0) {
    throw std::system_error(errno, std::generic_category(), "signalling a candidate");
  }
}

void Fleet::restart(int index) {
  pid_t& pid = pids_.at(static_cast<std::size_t>(index));
  waitpid(pid, nullptr, 0);
  pid = -1;
  slot(index).competing.store(0);
  start(index);
  await([&] { return slot(index).competing.load() != 0; }, "the new candidate to compete");
}

void Fleet::quit() {
  for (const pid_t pid : pids_) {
    kill(pid, SIGTERM);
    kill(pid, SIGCONT);
  }
  for (pid_t& pid : pids_) waitpid(std::exchange(pid, -1), nullptr, 0);
}

}  // namespace tenure::bench
