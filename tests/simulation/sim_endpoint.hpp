// How a simulated process uses a store that needs a conversation of several requests.
#pragma once

#include <functional>
#include <memory>

#include "simulation/sim_life.hpp"
#include "simulation/sim_store.hpp"

namespace tenure::test {

/// What happens to the store's answer.
struct AnswerFate {
  enum class Rejection { none, transient, throttled, credentials, misconfigured, corrupt };
  Rejection error{Rejection::none};
  bool unknown{false}, hideImage{false}, stale{false};
  bool deferred{false};     ///< not applied yet, and the answer says neither yes nor no
  bool lie{false};          ///< not applied, and the answer is a success that proves nothing
  bool unconfirmed{false};  ///< applied, and the answer says that the synchronous standby may not have it

  [[nodiscard]] bool failed() const {
    return error != Rejection::none || unknown || stale || hideImage || deferred || lie || unconfirmed;
  }
};

/// What a stream of changes does beside bringing what there is.
enum class StreamLie {
  none,
  keepsBack,  ///< the next line, for ever
  repeats,    ///< an earlier line
  invents,    ///< a change of the lease that never was
  elsewhere,  ///< a change of another lease
  standsStill,
  ends,
};

/// The world as a client in one of its processes sees it.
class SimSurroundings {
 public:
  using Task = std::function<void()>;
  using Nanos = std::chrono::nanoseconds;
  /// Runs when a copy of the request arrives; returns the task that the reply runs at the process.
  using AtStore = std::function<Task(const AnswerFate&)>;

  virtual ~SimSurroundings() = default;
  [[nodiscard]] virtual Instant localNow(const SimLife& life) const = 0;
  [[nodiscard]] virtual std::int64_t trueSeconds() const = 0;
  [[nodiscard]] virtual TrueTime trueTime() const = 0;
  /// Runs the task in that process after this time on its clock, if that life still exists.
  virtual void runFor(std::size_t process, const SimLife& life, Nanos localDelay, Task task) = 0;
  /// A request, with all its possible faults. `gaveUp` (may be empty) runs after `timeout`, even if a reply came.
  virtual void exchange(std::size_t process, SimLife& life, Nanos timeout, AtStore atStore, Task gaveUp) = 0;
  /// Runs the task in that process after the way from the store, but not before `notBefore`. Returns when.
  virtual TrueTime deliver(std::size_t process, const SimLife& life, TrueTime notBefore, Task task) = 0;
  /// Also when the other faults have ended: a stream is a hint and no more.
  [[nodiscard]] virtual StreamLie streamLie() = 0;
  /// A write of this life gave the record this version.
  virtual void stored(SimLife& writer, const RecordVersion& version) = 0;
  /// The same at a primary that lives on beside the promoted one.
  virtual void storedAtOldPrimary(SimLife& writer, const RecordVersion& version, FencingToken token) = 0;
  [[nodiscard]] virtual bool isAtOldPrimary(std::size_t process) const = 0;
  /// How many writes old the state is that a stale read shows.
  [[nodiscard]] virtual std::size_t staleness() = 0;
  /// A read that did not ask for consistency shows an old state.
  [[nodiscard]] virtual bool weakReadIsStale() = 0;
  /// This life was shown an old state although it asked for the newest.
  virtual void misled(SimLife& life) = 0;
  /// It has announced that the term of this token is over, and that it takes the lease.
  virtual void announced(const SimLife& challenger, FencingToken token) = 0;
  /// It has renewed a term after its takeover was announced, so those who have waited begin anew.
  virtual void renewedAfterAnnouncement(const SimLife& holder) = 0;
  /// An acquisition is about to take the record.
  virtual void taken() = 0;
};

/// The store object of one process.
class SimEndpoint {
 public:
  virtual ~SimEndpoint() = default;
  virtual void read(std::chrono::nanoseconds timeout, ReadHandler handler) = 0;
  virtual void write(WriteRequest request, std::chrono::nanoseconds timeout, WriteHandler handler) = 0;
  /// From now on the store's own stream tells of changes, and of the loss of records.
  virtual void watch(std::function<void(bool isLoss)> /*hint*/) {}
};

/// The side of the service that the endpoints talk to.
class SimService : public SimTruth {
 public:
  [[nodiscard]] virtual std::unique_ptr<SimEndpoint> connect(SimSurroundings& world, std::size_t process,
                                                             SimLife& life) = 0;
  /// The hints come from the store's own stream, and not from the simulation.
  [[nodiscard]] virtual bool streams() const { return false; }
  /// Now and then, for what streams tell although nothing has changed.
  virtual void talk() {}
};

/// The DynamoDB store as it is shipped, over a simulated table.
[[nodiscard]] std::unique_ptr<SimService> makeSimDynamoDb();

}  // namespace tenure::test
