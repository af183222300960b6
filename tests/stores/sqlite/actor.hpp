// Another process that does what a test tells it, line by line; see sqlite_actor.cpp for what it understands.
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

  /// Sends a command and gives its answer, one line; empty if the process ended.
  std::string ask(const std::string& command);
  void tell(const std::string& command);
  [[nodiscard]] std::string hear();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  /// Waits until it is stopped by SIGSTOP.
  void stop() const;
  /// SIGKILL, and waits for the end.
  void kill();
  /// Ends its input and waits until it left by itself; the exit code.
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
