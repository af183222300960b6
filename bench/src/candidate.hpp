// One candidate process of a bench: the same program, started again with `candidate` as its first argument.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tenure::bench {

struct CandidateSettings {
  std::string board;
  int index{0};
  std::string database;
  std::string ledger{};  ///< empty: the candidate leads and does no work
  std::chrono::milliseconds lease{2000};
  std::chrono::milliseconds heartbeat{500};
  bool deathNotice{true};
  /// Another program that competes in this one's place, with its first arguments: that of tests/etcd/peers.
  std::vector<std::string> peer{};

  /// The command of such a process.
  [[nodiscard]] std::vector<std::string> command() const;
  [[nodiscard]] static CandidateSettings fromArguments(const std::vector<std::string>& arguments);
};

/// Competes until SIGTERM comes (a polite stop). Returns the exit code of the process.
int runCandidate(const CandidateSettings& settings);

}  // namespace tenure::bench
