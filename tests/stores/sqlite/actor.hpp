// Another process that follows a test's commands, line by line; sqlite_actor.cpp lists the commands.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <sys/types.h>

namespace tenure::sqlite_test {

class Actor {
 public:
  /// Starts the program with a store on `database`.
  explicit Actor(const std::string& database);
  /// Kills it if it still runs.
  ~Actor();
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  /// Sends a command and returns its answer, one line; empty if the process ended.
  std::string ask(const std::string& command);
  void tell(const std::string& command);
  [[nodiscard]] std::string hear();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  /// Waits until SIGSTOP has stopped it.
  void stop() const;
  /// SIGKILL, and waits for the end.
  void kill();
  /// Closes its input and waits until it has ended by itself; returns the exit code.
  int finish();

 private:
  struct CloseFile {
    void operator()(FILE* file) const noexcept { std::fclose(file); }
  };
  int reap();

  pid_t pid_{-1};
  bool reaped_{false};
  std::unique_ptr<FILE, CloseFile> input_;
  std::unique_ptr<FILE, CloseFile> output_;
};

}  // namespace tenure::sqlite_test
