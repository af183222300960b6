// When a missing database may be created again: not while somebody may hold a term in the database that is gone.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include <tenure/lockcore/clock.hpp>

namespace tenure::sqlite_store {

/// If somebody deletes the database under a leader, its record and its counter are gone as well. What is left are the
/// liveness files: each process states in its own file the longest lease that it may hold (OwnLivenessFile).
///
/// The holder of a term:
///   H1 states its lease in its liveness file, unless a longer one is stated there; the statement only ever rises;
///   H2 commits the acquisition, or the renewal that lengthens the lease;
///   H3 checks whether the path still names the file of H2 (with our tables, in which H2 was written);
///   H4 only then believes that it holds the term, for no longer than its lease, counted from before H2.
///
/// A process that finds no database (no file, or none of our tables in it) does the following at each attempt, under
/// the lock for creating one:
///   N1 reads the mark of the last creation, which is in the lock's file;
///   N2 looks: there is still no database. `since` is the moment *after* the first such look. It is set to the present
///      moment again if the mark differs from the mark at that look, or if a database was seen in between;
///   N3 reads what the locked liveness files of other processes state, and takes the longest lease (the terms of other
///      candidates of its own store count too); a liveness file that cannot be read, or that states no lease, is a
///      rejection;
///   N4 refuses until that lease has passed since `since` by the challenger's clock;
///   N5 writes a new mark, creates file and tables, and releases the lock. Then it is a holder like any other (H1 to
///      H4).
///
/// Why no two processes lead in two databases: say A believes that it holds a term in a database that is gone when B
/// creates another one (N5), and A lives. Take A's last look (H3). First case: it was before B's `since`. Then A's H1
/// was before it as well, so B's N3 read at least A's lease L, B waited L counted from after that look, and by H4 A's
/// belief had ended. Second case: A's look was after B's `since`. Then the path named A's database although B had found
/// none before. So it was created in between. That creation wrote another mark (N5 of another process), so B's `since`
/// is later than that creation. It is also later than all looks that found A's database, because B's N2 came after them
/// and found it gone. If A has died, its liveness file is unlocked, and its term has ended with it.
///
/// So the commit of the tables is the one moment at which a database begins, and a process that finds tables uses them
/// without a wait. What the rule cannot see: a database that was moved away and is put back, and an older copy.
///
/// Pure: the clock's values are arguments. Belongs to one store object; not thread-safe.
class NewDatabaseRule {
 public:
  /// N1 and N2. `now` was read after the look that found no database, because a holder may have looked just before it.
  void sawNone(const Instant& now, const std::string& mark) {
    if (since_ && mark == mark_) return;
    since_ = now;
    mark_ = mark;
  }

  /// A database was seen. The wait so far is lost.
  void sawOne() noexcept { since_.reset(); }

  /// N4: how much of `longest`, the longest lease that may be held, is not over yet; 0: a database may be created.
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
