#include "model/small_world.hpp"

#include <algorithm>

#include "lockcore/port/random_draws.hpp"

namespace tenure::test {

namespace {

const StoreError busy{ErrorClass::transient, "busy"};

}  // namespace

SmallWorld::SmallWorld(const SmallWorldOptions& options) : options_{options}, chance_{options.seed}, processes_(2) {
  for (std::size_t i = 0; i < processes_.size(); ++i) start(i);
}

void SmallWorld::run(int moves) {
  for (int i = 0; i < moves && disagreement_.empty(); ++i) move();
}

/// A process starts under a new name; the process that was there before is gone.
void SmallWorld::start(std::size_t index) {
  Process& process = processes_[index];
  process.life = ++lives_;
  process.holder = "p" + std::to_string(index) + "#" + std::to_string(process.life);
  process.random = std::make_unique<SeededRandom>(chance_.next());
  process.clock = std::make_unique<SimClock>(*process.random, now_, ClockRates::draw(*process.random, 500e-6, false));
  process.machine = std::make_unique<LeaseMachine>(
      MachineOptions{LeaseKey{"lease"}, process.holder, LeaseTiming::from(options_.machine).value()}, *process.random);
  process.model = std::make_unique<Conformance>(process.holder, LeaseTiming::from(options_.model).value(), &used_);
  process.pausedUntil = now_;
  step(process, event::Start{});
}

void SmallWorld::move() {
  const std::uint64_t dice = chance_.below(100);
  if (dice < 34) {
    const TrueTime lease = options_.machine.duration;
    pass(TrueTime{static_cast<std::int64_t>(chance_.below(static_cast<std::uint64_t>((lease / 6).count())))});
  } else if (dice < 92) {
    network();
  } else {
    befall();
  }
}

/// Time passes. Each machine that asked to be woken by then is woken, unless it is paused.
void SmallWorld::pass(TrueTime d) {
  now_ += d;
  for (Process& process : processes_) {
    if (now_ < process.pausedUntil) continue;
    const auto until = process.machine->untilWakeup(process.clock->at(now_));
    if (until && *until <= TrueTime{0}) step(process, event::Wakeup{});
  }
}

void SmallWorld::befall() {
  const std::size_t index = chance_.below(processes_.size());
  Process& process = processes_[index];
  const auto lease = static_cast<std::uint64_t>(TrueTime{options_.machine.duration}.count());
  switch (chance_.below(20)) {
    case 0:
      return start(index);
    case 1:
      store_->erase();
      return;
    case 2:
      step(process, event::StepDown{"for a test"});
      // Work that ends at once, often while a renewal is under way. Now and then the record is deleted as well.
      if (chance_.chance(0.3)) store_->erase();
      return step(process, event::WorkEnded{});
    case 3:
      return step(process, event::StepDown{"for a test"});
    case 8:
      return step(process, event::WorkFailed{"for a test"});
    case 4:
      return step(process, event::StoreHint{});
    case 9:
      return anotherMake();
    case 5:
      process.clock->suspend(now_, TrueTime{static_cast<std::int64_t>(chance_.below(lease))});
      return;
    case 6:
    case 7:
      process.pausedUntil = now_ + TrueTime{static_cast<std::int64_t>(chance_.below(3 * lease))};
      return;
    default:
      return step(process, event::WorkEnded{});
  }
}

/// A foreign client takes the lease, without a token, or releases by deleting. It is responsible for its own wait.
void SmallWorld::anotherMake() {
  if (store_->record() && store_->record()->token.isNone()) {
    store_->erase();
    return;
  }
  LeaseRecord record;
  record.holder = "another-make";
  record.version = RecordVersion{uuid4(chance_)};
  record.leaseDuration = options_.machine.duration;
  store_->put(record);
}

/// Any one message makes its next step: to the store, or back. Each may be lost, and takes as long as it takes.
void SmallWorld::network() {
  if (messages_.empty()) return;
  const std::size_t index = chance_.below(messages_.size());
  Message& chosen = messages_[index];
  if (!chosen.reply && !chance_.chance(0.12)) return serve(chosen);
  const Message message = chosen;
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!message.reply || chance_.chance(0.12)) return;
  for (Process& process : processes_) {
    if (process.life != message.life) continue;
    if (now_ < process.pausedUntil) return messages_.push_back(message);
    step(process, *message.reply);
  }
}

void SmallWorld::serve(Message& message) {
  if (!message.write) {
    const ReadOutcome read = chance_.chance(0.1) ? ReadOutcome{busy} : ReadOutcome{store_->told()};
    message.reply = event::ReadReply{message.attempt, read};
    return;
  }
  message.reply = event::WriteReply{message.attempt, Rejected{busy}};
  if (chance_.chance(0.05)) return;
  WriteOutcome outcome = store_->write(*message.write);
  if (chance_.chance(0.1)) outcome = Unknown{busy};
  if (std::holds_alternative<Conflict>(outcome) && chance_.chance(0.2)) outcome = Conflict{};
  message.reply = event::WriteReply{message.attempt, outcome};
}

void SmallWorld::step(Process& process, const LeaseEvent& event) {
  if (!disagreement_.empty()) return;
  ++steps_;
  const Instant local = process.clock->at(now_);
  const LeaseActions actions = process.machine->step(local, event);
  for (const LeaseAction& a : actions) {
    if (const auto* read = std::get_if<action::SendRead>(&a)) {
      messages_.push_back({process.life, read->attempt, std::nullopt});
    } else if (const auto* write = std::get_if<action::SendWrite>(&a)) {
      messages_.push_back({process.life, write->attempt, write->request});
    }
  }
  disagreement_ = process.model->disagreement(local, event, actions, Seen::of(*process.machine));
  if (!disagreement_.empty())
    disagreement_ = process.holder + " at " + std::to_string(now_.count()) + " ns, " + disagreement_;
}

}  // namespace tenure::test
