// Real machines with one store, in an order that a seed decides, checked by the model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockcore/lease/lease_machine.hpp"
#include "model/conformance.hpp"
#include "simulation/sim_clock.hpp"
#include "simulation/sim_store.hpp"

namespace tenure::test {

struct SmallWorldOptions {
  std::uint64_t seed{0};
  LeaseOptions machine{};  // the timing of the machines
  LeaseOptions model{};    // the timing that the model assumes
};

class SmallWorld {
 public:
  explicit SmallWorld(const SmallWorldOptions& options);

  /// Stops at the first step that the model refuses.
  void run(int moves);

  [[nodiscard]] const std::string& disagreement() const noexcept { return disagreement_; }
  [[nodiscard]] int steps() const noexcept { return steps_; }
  /// How often the machines used each rule of the model.
  [[nodiscard]] const std::map<std::string, int>& used() const noexcept { return used_; }

 private:
  struct Message {
    std::uint64_t life;
    Attempt attempt;
    std::optional<WriteRequest> write;
    std::optional<LeaseEvent> reply{};  // set once the store has handled it
  };
  struct Process {
    std::string holder;
    std::uint64_t life{0};
    std::unique_ptr<SeededRandom> random;
    std::unique_ptr<LeaseMachine> machine;
    std::unique_ptr<Conformance> model;
    std::unique_ptr<SimClock> clock;
    TrueTime pausedUntil{0};
  };

  void move();
  void pass(TrueTime d);
  void start(std::size_t index);
  void befall();
  void anotherMake();
  void network();
  void serve(Message& message);
  void step(Process& process, const LeaseEvent& event);

  SmallWorldOptions options_;
  SeededRandom chance_;
  std::unique_ptr<SimStore> store_{makeModelStore(Sabotage::none, false, FencingToken{})};
  TrueTime now_{0};
  std::uint64_t lives_{0};
  std::vector<Process> processes_;
  std::vector<Message> messages_;
  std::map<std::string, int> used_;
  std::string disagreement_;
  int steps_{0};
};

}  // namespace tenure::test
