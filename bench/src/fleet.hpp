// The candidate processes of a bench.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "board.hpp"
#include "candidate.hpp"

namespace tenure::bench {

/// A fresh directory with a store file, a ledger and a board; removed at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + '/' + name; }

 private:
  std::string directory_;
};

class Fleet {
 public:
  Fleet(int size, CandidateSettings settings);
  /// Ends every candidate that still runs.
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Waits until all are competing and one leads.
  void awaitReady();
  /// The candidate with the highest token, which leads or led last; waits for the first.
  [[nodiscard]] int leader();
  /// Waits until a candidate has been elected with a higher token than `token`; returns its index.
  [[nodiscard]] int awaitSuccessor(std::int64_t token);

  void send(int index, int signal);
  /// Waits for the end of a candidate and starts it anew in a clean slot.
  void restart(int index);
  /// Stops all politely and waits. After that the slots do not change any more.
  void quit();

  [[nodiscard]] Slot& slot(int index) { return board_.slot(index); }
  [[nodiscard]] const std::vector<pid_t>& pids() const noexcept { return pids_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(pids_.size()); }

 private:
  void start(int index);

  CandidateSettings settings_;
  SharedBoard board_;
  std::vector<pid_t> pids_;
};

/// Polls until `done` returns true; throws std::runtime_error with `what` if that takes too long.
void await(const std::function<bool()>& done, const std::string& what,
           std::chrono::minutes patience = std::chrono::minutes{1});

/// Prints the progress: on a terminal in one line that changes, elsewhere one line for every ten steps.
void progress(int done, int total, const std::string& what);

}  // namespace tenure::bench
