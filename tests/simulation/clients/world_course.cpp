// The course of a run: processes start, crash and pause.
#include <algorithm>

#include "simulation/clients/world.hpp"

namespace tenure::test {

ClientReport World::run() {
  for (unsigned i = 0; i < plan_.processes; ++i) {
    present_.push_back(nullptr);
    at(upTo(plan_.lease), [this, i] { start(i); });
  }
  disturbLater();
  const bool isLong = plan_.jobs && options_.leases == ClientOptions{}.leases;
  passTo(isLong ? TrueTime{std::chrono::hours{36}} : TrueTime{plan_.lease} * options_.leases);
  awaitCalm();
  checkCalm();
  leave();
  if (options_.canary && options_.seed % 100 == 0) broke("canary", "this seed was to fail");
  report_.hours = std::chrono::duration<double, std::ratio<3600>>(now_).count();
  return std::move(report_);
}

void World::actLater(Life& life, Actor& actor) {
  in(life, upTo(plan_.lease * 2 / 3), nullptr, [this, &life, &actor] {
    if (leaving_) return;
    actor.act();
    if (life.alive) actLater(life, actor);
  });
}

void World::start(unsigned number) {
  Life* const before = present_[number];
  if (leaving_ || (before != nullptr && before->alive)) return;
  Life& life = *lives_.emplace_back(std::make_unique<Life>(*this, number, static_cast<unsigned>(lives_.size())));
  present_[number] = &life;
  note(life.name, "starts");
  Life* const outer = std::exchange(current_, &life);
  for (unsigned i = 0; i < plan_.electors; ++i)
    life.actors.push_back(makeElectorActor(life, "lead" + std::to_string(i)));
  for (unsigned i = 0; i < plan_.clients; ++i) life.actors.push_back(makeLockActor(life, "c" + std::to_string(i)));
  for (unsigned i = 0; i < plan_.tokens; ++i) life.actors.push_back(makeTokenActor(life));
  for (unsigned i = 0; i < plan_.sharded; ++i) life.actors.push_back(makeShardActor(life));
  if (plan_.jobs) life.actors.push_back(makeJobActor(life));
  for (const auto& actor : life.actors) actLater(life, *actor);
  current_ = outer;
}

void World::disturbLater() {
  at(upTo(plan_.lease), [this] {
    if (calm_) return;
    disturb();
    disturbLater();
  });
}

void World::disturb() {
  for (Life* const life : present_) {
    if (life == nullptr || !life->alive) continue;
    if (happens(Disturbance::outage)) life->outageUntil = now_ + upTo(plan_.lease * 3);
    if (happens(Disturbance::pause)) {
      const TrueTime until = now_ + upTo(plan_.lease * 3);
      life->paused += std::max(until - std::max(now_, life->pausedUntil), TrueTime{0});
      life->pausedUntil = std::max(until, life->pausedUntil);
      note(life->name, "paused");
    }
    if (happens(Disturbance::wallStep)) setWall(*life);
    if (!happens(Disturbance::crash)) continue;
    crash(*life);
    at(upTo(plan_.lease * 3), [this, number = life->process] { start(number); });
  }
  const auto leases = table_.list("");
  if (leases.empty()) return;
  const LeaseRecord record = *leases[load.below(leases.size())].record;
  const LeaseKey key = leases[load.below(leases.size())].key;
  if (happens(Disturbance::operatorStepDown)) {
    if (const auto seen = recordOf(key)) static_cast<void>(requestStepDown(key, {seen->token}));
  }
  if (happens(Disturbance::erase)) {
    if (const auto seen = recordOf(key)) {
      static_cast<void>(table_.change(
          key, [&](const stored::StoredLease& lease) { return stored::decideRemoval(seen->version, lease); }));
    }
    note("operator", "erases " + key.name);
  }
}

/// From this moment on, nothing of the process acts any more. Its objects then run to their end in a world of their
/// own, so that their resources are freed.
void World::crash(Life& life) {
  note(life.name, "crashes");
  met("crashed");
  life.alive = false;
  bury(life);
}

void World::bury(Life& life) {
  Life* const outer = std::exchange(current_, &life);
  const Loop* const loop0 = std::exchange(loop_, nullptr);
  for (const auto& actor : life.actors) actor->drop();
  bool any = true;
  for (int i = 0; i < 100'000 && any; ++i) {
    any = false;
    if (!life.callbacks.empty()) {
      const auto next = life.callbacks.extract(life.callbacks.begin());
      next.mapped()();
      any = true;
    }
    for (const auto& loop : life.loops) any = loop->runOne() || any;
  }
  current_ = outer;
  loop_ = loop0;
}

/// Faults that are under way end, and processes are started again.
void World::awaitCalm() {
  calm_ = true;
  for (Life* const life : present_) {
    if (life != nullptr) life->outageUntil = now_, life->pausedUntil = std::min(life->pausedUntil, now_ + plan_.lease);
  }
  for (unsigned i = 0; i < plan_.processes; ++i) start(i);
  passTo(now_ + TrueTime{plan_.lease} * 14 + std::chrono::seconds{6});
  if (plan_.jobs) awaitJobs();
}

/// Clocks that were wrong by an hour may have begun the periods of the next hour. What follows that hour is judged.
void World::awaitJobs() {
  wallAhead_.fill(std::chrono::seconds{0});
  passTo(now_ + std::chrono::minutes{70});
  const auto right = trueWall();
  passTo(now_ + std::chrono::minutes{30});
  const bool alwaysRight = !draws(Disturbance::wallStep);
  std::string missing;
  for (int look = 0; look < 12 && !over_; ++look) {  // a catch-up may take long
    missing = judgeOfJobs_.missing(right, trueWall(), alwaysRight);
    if (missing.empty()) return;
    passTo(now_ + std::chrono::minutes{10});
  }
  if (!over_) broke("missing", missing);
}

/// Half of the runs cross the night in which the clocks go forward in Berlin, the others that in which they go back.
std::chrono::sys_seconds World::trueWall() const {
  using namespace std::chrono;
  const sys_days day = options_.seed % 2 == 0 ? 2026y / March / 28 : 2026y / October / 24;
  return floor<seconds>(day + hours{12} + now_);
}

void World::setWall(Life& life) {
  using namespace std::chrono;
  constexpr std::array<seconds, 6> errors{seconds{0}, seconds{0}, hours{1}, -hours{1}, days{365}, -days{365}};
  wallAhead_[life.process] = errors[load.below(errors.size())];
  wallSet_[life.process] = now_;
  met("wallStepped");
  note(life.name, "its wall clock is wrong by " + std::to_string(wallAhead_[life.process].count()) + " s");
}

WallReading World::wallReading(const Life& life) const {
  const TrueTime slack = TrueTime{plan_.lease} * 8;  // three for the write, and executors hang for up to four
  const bool wasSet = wallSet_[life.process] > TrueTime{0} && now_ - wallSet_[life.process] < slack;
  return {wall(life), std::chrono::ceil<std::chrono::seconds>(slack), wasSet};
}

void World::leave() {
  leaving_ = false;
  if (over_) return;
  const TrueTime bound = now_ + TrueTime{plan_.lease} * 10 + std::chrono::seconds{8};
  for (Life* const life : present_) {
    in(*life, TrueTime{0}, nullptr, [life] {
      for (const auto& actor : life->actors) actor->leave();
    });
  }
  leaving_ = true;
  passTo(bound);
  leaving_ = false;
  for (const Life* const life : present_) {
    for (const auto& actor : life->actors) {
      if (!over_ && !actor->ended()) broke("end", life->name + " has not ended: a callback or an answer never came");
    }
  }
}

}  // namespace tenure::test
