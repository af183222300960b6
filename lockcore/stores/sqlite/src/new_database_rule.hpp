// When a missing database may be made again: not while somebody may hold a term in the one that is gone.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <tenure/lockcore/clock.hpp>

namespace tenure::sqlite_store {

/// If somebody deletes the database under a leader, its record and its counter are gone as well. What is left are the
/// beacons: each process states in its own the longest lease that it may hold (OwnBeacon).
///
/// The holder of a term:
///   H1 states its lease in its beacon, unless a longer one stands there; the statement only ever rises;
///   H2 commits the acquisition, or the renewal that lengthens the lease;
///   H3 looks whether the path still names the file of H2 (with our tables, in which H2 was written);
///   H4 only then believes, and for no longer than its lease, counted from before H2.
///
/// Who finds no database (no file, or none of our tables in it) does at each attempt, under the lock for making one:
///   N1 reads the mark of the last making, which stands in the lock's file;
///   N2 looks: there is still none. The moment *after* the first such look is `since`; it is the present one again if
///   the
///      mark is another than at that look, or if a database was seen in between;
///   N3 reads what the locked beacons of others state, and takes the longest lease (the terms of other candidates of
///   its
///      own store count alike); a beacon that cannot be read, or states none, is a refusal;
///   N4 refuses until that lease has passed since `since` by the challenger's clock;
///   N5 writes a new mark, makes file and tables, and lets the lock go. Then it is a holder like any other (H1 to H4).
///
/// Why no two lead in two databases. Say A believes in one that is gone when B makes another (N5), and A lives. Take
/// A's last look (H3). Either it was before B's `since`: then H1 was as well, so B's N3 read at least A's lease L, B
/// waited L from after that look, and by H4 A's belief had ended. Or it was after: then the path named A's database
/// though B had found none before. It was made in between, which wrote another mark (N5 of somebody else), so B's
/// `since` is later than that making; and it is later than all looks that found A's database, because B's N2 came after
/// them and found it gone. Should A have died, its beacon is unlocked, and its term ended with it.
///
/// So the commit of the tables is the one moment at which a database begins, and whoever finds tables uses them without
/// a wait. What the rule cannot see: a database that was moved away and is put back, and an older copy.
///
/// Pure: the clock's values are arguments. Of one store object; not thread-safe.
class NewDatabaseRule {
 public:
  /// N1 and N2. `now` was read after the look that found no database: a holder may have looked just before it.
  void sawNone(const Instant& now, const std::string& mark) {
    if (since_ && mark == mark_) return;
    since_ = now;
    mark_ = mark;
  }

  /// There is one. It costs the wait so far.
  void sawOne() noexcept { since_.reset(); }

  /// N4: how much of `longest`, the longest lease that may be held, is not over yet; 0: a database may be made.
  [[nodiscard]] std::chrono::nanoseconds left(const Instant& now, std::chrono::milliseconds longest) const noexcept {
    const std::chrono::nanoseconds whole{longest};
    if (!since_) return whole;
    return std::max(whole - elapsedForChallenger(*since_, now), std::chrono::nanoseconds{0});
  }

 private:
  std::optional<Instant> since_{};
  std::string mark_{};
};

}  // namespace tenure::sqlite_store
