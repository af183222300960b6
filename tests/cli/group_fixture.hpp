// Real candidates of one group over one real SQLite file: `tenure run` processes whose jobs record when they act.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/subprocess.hpp"
#include "cli/temporary_directory.hpp"

namespace tenure::test {

class GroupFixture : public ::testing::Test {
 protected:
  /// A lease of two seconds, and the given text at the top level or (indented) in `lease`.
  void configure(const std::string& lease = {}, const std::string& others = {}) const;
  /// A minute in place of the two seconds: for a judgement that depends on how quick this machine is at the moment.
  void lengthenLease() const;
  [[nodiscard]] std::string config() const { return directory_.file("group.yaml"); }
  [[nodiscard]] std::string database() const { return directory_.file("leases.db"); }

  /// `tenure <words>` with NAME, the candidate's id, in the environment.
  [[nodiscard]] SubprocessOptions as(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> tenure(const std::vector<std::string>& words) const;
  [[nodiscard]] std::vector<std::string> run(const std::vector<std::string>& options,
                                             const std::vector<std::string>& command) const;
  [[nodiscard]] Finished finish(const std::vector<std::string>& words, const std::string& name = "tester") const;
  /// Milliseconds that starting the program takes at this moment.
  [[nodiscard]] double startOfProgram() const;

  /// With a wall clock that is ahead. The others are right.
  [[nodiscard]] SubprocessOptions ahead(std::chrono::seconds time, const std::string& name) const;
  [[nodiscard]] Finished finishAhead(std::chrono::seconds time, const std::vector<std::string>& words) const {
    return runToEnd(tenure(words), ahead(time, "tester"));
  }

  /// A job that acts: it writes its acts to `acts.<fencing token>`.
  [[nodiscard]] std::vector<std::string> actingJob(const std::string& options = {}) const;
  [[nodiscard]] std::string actsOf(int token) const { return directory_.file("acts." + std::to_string(token)); }
  [[nodiscard]] bool begins(int token, milliseconds bound = patience) const;
  [[nodiscard]] bool goesOn(int token) const;
  /// CLOCK_MONOTONIC nanoseconds; zero: it has not acted.
  [[nodiscard]] long long firstAct(int token) const;
  [[nodiscard]] long long lastAct(int token) const;
  /// The process that has written its id into acts.<token>.pid.
  [[nodiscard]] pid_t jobOf(int token) const;

  /// Changes the database as somebody from outside the group would.
  void sql(const std::string& text) const;

  /// SIGSTOP, but not during a transaction: that would keep all others from the leases for as long as it stands still.
  [[nodiscard]] bool freezeOutsideOfTransactions(const Subprocess& process) const;

  TemporaryDirectory directory_;
};

}  // namespace tenure::test
