#include "adapters/contract/writer_process.hpp"

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace tenure::contract {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error{what + ": " + std::to_string(errno)}; }

constexpr std::string_view nameOf(Pause pause) {
  switch (pause) {
    case Pause::no:
      return "no";
    case Pause::beforeWrite:
      return "before";
    case Pause::insideWrite:
      return "inside";
    case Pause::bareWrite:
      return "bare";
  }
  return "";
}

}  // namespace

SharedBoard::SharedBoard(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(RaceBoard)) != 0) fail(file);
  void* memory = mmap(nullptr, sizeof(RaceBoard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) fail(file);
  board_ = static_cast<RaceBoard*>(memory);  // its constructor would write zeros too
}

SharedBoard::~SharedBoard() { munmap(board_, sizeof(RaceBoard)); }

std::unique_ptr<WriterProcess> WriterProcess::racing(const FenceUnderTest& fence, const std::string& address,
                                                     const std::string& holder, const std::string& board,
                                                     const std::string& acknowledged) {
  return std::unique_ptr<WriterProcess>{
      new WriterProcess{{"--fence-writer", fence.name, address, holder, "race", board, acknowledged}}};
}

std::unique_ptr<WriterProcess> WriterProcess::obeying(const FenceUnderTest& fence, const std::string& address,
                                                      const std::string& holder) {
  return std::unique_ptr<WriterProcess>{new WriterProcess{{"--fence-writer", fence.name, address, holder, "obey"}}};
}

WriterProcess::WriterProcess(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "/proc/self/exe");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int down[2] = {-1, -1};
  int up[2] = {-1, -1};
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) fail("pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
  const int failed = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(down[0]);
  ::close(up[1]);
  commands_ = down[1];
  answers_ = up[0];
  if (failed != 0) throw std::runtime_error{"posix_spawn: " + std::to_string(failed)};
}

void WriterProcess::begin(FencingToken token, const std::string& entry, Pause pause) {
  const std::string line = toString(token) + ' ' + entry + ' ' + std::string{nameOf(pause)} + '\n';
  if (::write(commands_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) fail("telling a writer");
}

bool WriterProcess::waitForStop() {
  int status = 0;
  if (waitpid(pid_, &status, WUNTRACED) != pid_) fail("waitpid");
  if (WIFSTOPPED(status)) return true;
  pid_ = -1;
  return false;
}

void WriterProcess::wake() { ::kill(pid_, SIGCONT); }

std::string WriterProcess::answer() {
  std::string line;
  for (char c = 0; ::read(answers_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

bool WriterProcess::kill() {
  if (commands_ >= 0) ::close(std::exchange(commands_, -1));
  if (answers_ >= 0) ::close(std::exchange(answers_, -1));
  if (pid_ < 0) return true;
  ::kill(pid_, SIGKILL);
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0;
}

bool WriterProcess::waitForEnd() {
  if (pid_ < 0) return false;
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tenure::contract
