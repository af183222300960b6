// What a world provides to the library: queue, executor, clocks and waits.
#include "simulation/clients/world.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tenure::test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

World::World(const ClientOptions& options)
    : load{SeededRandom{options.seed}.split(1)},
      network{SeededRandom{options.seed}.split(2)},
      process{SeededRandom{options.seed}.split(3)},
      options_{options} {
  current() = this;
  drawPlan(options);
}

World::~World() {
  leaving_ = true;
  for (const auto& life : lives_) {
    if (life->alive) crash(*life);
    bury(*life);
    life->actors.clear();
    for (const auto& loop : life->loops) loop->clear();
    life->callbacks.clear();
  }
  handles_.clear();
  queue_ = {};
  lives_.clear();
  current() = nullptr;
}

LeaseOptions World::lease() const {
  LeaseOptions lease;
  lease.duration = plan_.lease;
  if (plan_.rateBound > 500e-6) {
    lease.clockMargin =
        milliseconds{std::lround(std::ceil(2.1 * plan_.rateBound * static_cast<double>(plan_.lease.count()))) + 1};
  }
  return lease;
}

bool World::happens(Disturbance disturbance) {
  const double rate = plan_.rates[static_cast<std::size_t>(disturbance)];
  return rate > 0 && streams_[static_cast<std::size_t>(disturbance)].chance(calm_ ? 0 : rate);
}

TrueTime World::message() {
  const auto spread = static_cast<std::uint64_t>((plan_.mostDelay - plan_.leastDelay).count());
  const TrueTime usual = plan_.leastDelay + TrueTime{network.below(spread + 1)};
  return happens(Disturbance::late)
             ? usual + TrueTime{network.below(static_cast<std::uint64_t>(TrueTime{plan_.lease}.count()) * 2)}
             : usual;
}

void World::in(Life& life, TrueTime delay, const Loop* loop, std::function<void()> task) {
  at(delay, [this, &life, loop, task = std::move(task)]() mutable {
    if (!life.alive) return;
    if (life.pausedUntil > now_) return in(life, life.pausedUntil - now_, loop, std::move(task));
    Life* const life0 = std::exchange(current_, &life);
    const Loop* const loop0 = std::exchange(loop_, loop);
    task();
    current_ = life0;
    loop_ = loop0;
  });
}

/// Callbacks wait in the process, so that they can be run to their end after its death.
Executor World::executor(Life& life, std::shared_ptr<unsigned> open) {
  return [this, &life, open](std::function<void()> task) {
    const bool throws = happens(Disturbance::executorThrows);
    if (throws) met("executorThrew");
    if (throws && load.chance(0.5)) throw std::runtime_error{"the pool of threads is full"};
    const std::uint64_t id = ++lastCallback_;
    ++*open;
    life.callbacks[id] = [task = std::move(task), open] {
      task();
      --*open;
    };
    if (!life.alive) return;
    TrueTime delay = message() / 4;
    if (happens(Disturbance::slowCallback)) delay = upTo(plan_.lease / 2);
    if (happens(Disturbance::hungCallback)) delay = upTo(plan_.lease * 4), met("callbackHung");
    in(life, delay, nullptr, [&life, id] {
      if (const auto found = life.callbacks.extract(id)) found.mapped()();
    });
    if (throws) throw std::runtime_error{"the pool of threads is full, after it took the task"};
  };
}

std::shared_ptr<Loop> World::makeLoop(Life& life) { return life.loops.emplace_back(std::make_shared<Loop>(life)); }

Logger World::logger() {
  if (!options_.trace) return {};
  return Logger{LogLevel::debug, [this](LogLevel, std::string_view line) {
                  report_.trace += std::to_string(now_.count()) + "     log " + std::string{line} + '\n';
                }};
}

void World::runApart(std::function<void()> task) {
  if (current_ == nullptr) return task();
  Life& life = *current_;
  const std::uint64_t id = ++lastCallback_;
  life.callbacks[id] = std::move(task);
  if (!life.alive) return;
  in(life, message(), nullptr, [&life, id] {
    if (const auto found = life.callbacks.extract(id)) found.mapped()();
  });
}

Instant World::processClock() noexcept {
  if (current_ == nullptr) return {now_, now_, now_};
  if (!current_->alive) current_->beyond += std::chrono::minutes{1};
  return current_->now();
}

void World::readTakesTime() {
  if (judging_ || !happens(Disturbance::jumpyClock)) return;
  standStill(upTo(load.below(50) == 0 ? TrueTime{plan_.lease} / 3 : TrueTime{plan_.lease} / 500));
  met("clockJumped");
}

const std::string& World::processBoot() noexcept {
  static const std::string nobody;
  return current_ == nullptr ? nobody : current_->name;
}

void World::interruption() noexcept { standStill(std::exchange(standstill_, TrueTime{0})); }

void World::standStill(TrueTime d) noexcept {
  now_ += d;
  stoodStill_ += d;
}

void World::readInterrupted(const Handle& handle) {
  if (!happens(Disturbance::interrupted)) return;
  judging_ = true;
  for (const auto& reads : {handle.leads, handle.valid}) {
    standstill_ = upTo(plan_.lease * 2);
    const bool said = reads();
    standstill_ = TrueTime{0};
    if (said && !reads()) broke("reader", handle.holder + " believed in a term that had ended before it looked");
    if (!said) met("readerSawTheEnd");
  }
  judging_ = false;
}

TrueTime World::endOf(nanoseconds patience) {
  const nanoseconds most = std::clamp<nanoseconds>(patience, nanoseconds{0}, std::chrono::hours{24 * 365});
  return now_ + (current_ == nullptr ? most : current_->clock.trueTimeFor(most));
}

/// Runs one event for a caller that would wait on its own thread.
bool World::passOne(TrueTime end) {
  Life* const life = current_;
  if (life != nullptr && !life->alive) return false;
  if (depth_ > 0) ++nested_;
  if (loop_ != nullptr) broke("thread", "a task of a scheduler waits");
  if (over_ || !queue_.hasBy(end)) {
    // After a rule was broken only time passes, so that every waiting call ends.
    now_ = std::max(now_, end) + (over_ ? milliseconds{1} : milliseconds{0});
    return false;
  }
  auto frame0 = std::exchange(frame, nullptr);
  const Loop* const loop0 = std::exchange(loop_, nullptr);
  ++depth_;
  step();
  --depth_;
  loop_ = loop0;
  current_ = life;
  frame = std::move(frame0);
  return true;
}

void World::step() {
  auto [when, task] = queue_.pop();
  now_ = std::max(now_, when);
  ++report_.events;
  report_.digest = (report_.digest ^ static_cast<std::uint64_t>(now_.count())) * 0x100000001B3ULL;
  task();
  judge();
}

void World::passTo(TrueTime end) {
  while (!over_ && queue_.hasBy(end)) step();
  now_ = std::max(now_, end);
}

}  // namespace tenure::test
