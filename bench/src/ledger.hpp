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

  /// Appends rows with the term's token until the term is told to stop, and then tries once more: the write of a
  /// former leader that has not noticed. Counts into `slot` what the fence accepted and refused.
  void appendUntilRefused(const Leadership& term, Slot& slot);

  struct Audit {
    std::int64_t rows{0};
    std::int64_t terms{0};
    std::int64_t staleRows{0};  ///< with a lower token than a row before it, or a token of two holders
  };
  /// Reads the file by itself, in the order in which SQLite accepted the rows.
  [[nodiscard]] static Audit audit(const std::string& path);

 private:
  bool append(const Leadership& term, Slot& slot);
  sqlite3* db_{nullptr};
};

}  // namespace tenure::bench
