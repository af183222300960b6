// The work of a paused leader: rows appended through the fence, and the reader that judges them.
#pragma once

#include <cstdint>
#include <string>

#include <tenure/election/leadership.hpp>

#include "board.hpp"

struct sqlite3;

namespace tenure::bench {

class Ledger {
 public:
  /// Makes the file with its table.
  static void create(const std::string& path);
  explicit Ledger(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Appends rows with the term's token until the term is told to stop. Then it tries once more, as a former leader
  /// does that has not noticed the end of its term. Counts in `slot` what the fence accepted and refused.
  void appendUntilRefused(const Leadership& term, Slot& slot);

  struct Audit {
    std::int64_t rows{0};
    std::int64_t terms{0};
    std::int64_t staleRows{0};  ///< rows with a lower token than an earlier row, or with a token of two holders
  };
  /// Reads the file without the fence, in the order in which SQLite accepted the rows.
  [[nodiscard]] static Audit audit(const std::string& path);

 private:
  bool append(const Leadership& term, Slot& slot);
  sqlite3* db_{nullptr};
};

}  // namespace tenure::bench
