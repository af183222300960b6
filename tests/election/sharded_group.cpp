#include "election/sharded_group.hpp"

#include <algorithm>
#include <future>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "support/seeded_random.hpp"

namespace tenure::test {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {
const StoreError noConnection{ErrorClass::transient, "no connection"};
}  // namespace

void Link::read(const LeaseKey& key, CallOptions options, ReadHandler handler) {
  ++reads;
  if (cut) return scheduler_->post([handler] { handler(noConnection); });
  behind_->read(key, options, std::move(handler));
}

void Link::write(WriteRequest request, CallOptions options, WriteHandler handler) {
  ++writes;
  const bool take = request.purpose == WriteRequest::Purpose::acquire;
  const bool refused = refusesTakes && take && toString(request.key).find("/member/") == std::string::npos;
  if (cut || refused) return scheduler_->post([handler] { handler(Rejected{noConnection}); });
  const bool ofSlot = toString(request.key).find("/member/") != std::string::npos;
  if (holdsSlotReleases && ofSlot && request.purpose == WriteRequest::Purpose::release) {
    late = [this, request, options, handler] { behind_->write(request, options, handler); };
    return;
  }
  behind_->write(std::move(request), options, std::move(handler));
}

void Link::list(std::string prefix, CallOptions options, ListHandler handler) {
  if (together_) ADD_FAILURE() << "a listing by prefix, where it costs a scan";
  listBy([&](ListHandler answer) { behind_->list(std::move(prefix), options, std::move(answer)); }, std::move(handler));
}

void Link::listName(std::string name, CallOptions options, ListHandler handler) {
  listBy([&](ListHandler answer) { behind_->listName(std::move(name), options, std::move(answer)); },
         std::move(handler));
}

void Link::listBy(const std::function<void(ListHandler)>& listing, ListHandler handler) {
  ++lists;
  if (cut) return scheduler_->post([handler] { handler(noConnection); });
  if (!holdsNextList.exchange(false)) return listing(std::move(handler));
  listing(
      [this, handler](ListOutcome outcome) { late = [handler, outcome = std::move(outcome)] { handler(outcome); }; });
}

ShardedGroup::ShardedGroup(std::size_t shards, bool together)
    : memory_{makeMemoryStore(clock_)}, shards_{shards}, together_{together} {}

ShardedGroup::~ShardedGroup() {
  for (auto& candidate : candidates_) {
    if (candidate->elector) destroy(std::move(candidate->elector));
  }
  settle();
}

Group ShardedGroup::group(const std::string& name, std::shared_ptr<LeaseStore> store, const Adjust& adjust) {
  GroupOptions options{.group = "g", .candidate = {.id = name}};
  options.lease = {.duration = 3s, .heartbeat = 1s};
  options.shards.count = static_cast<unsigned>(shards_);
  if (adjust) adjust(options);
  return Group::make(std::move(options), std::move(store)).value();
}

Runtime ShardedGroup::runtime() {
  Runtime runtime;
  runtime.scheduler = clock_;
  runtime.executor = [run = executor_](std::function<void()> task) { run->post(std::move(task)); };
  runtime.random = std::make_unique<SeededRandom>(++seed_);
  return runtime;
}

ShardedGroup::Candidate& ShardedGroup::join(const std::string& name, const Adjust& adjust) {
  auto link = std::make_shared<Link>(memory_, clock_, together_);
  ShardListener listener;
  listener.onShardElected = [this, name](const Shard& shard, const Leadership& term) {
    tell("elected " + name + ' ' + shard.name + ' ' + toString(term.fencingToken()));
  };
  listener.onShardRevoked = [this, name](const Shard& shard, const TermEnd& why) {
    tell("revoked " + name + ' ' + shard.name + ' ' + toString(why.token) + ' ' + std::string{toString(why.reason)});
  };
  auto elector = std::make_unique<ShardedElector>(group(name, link, adjust), std::move(listener), runtime());
  elector->start();
  candidates_.push_back(std::make_unique<Candidate>(Candidate{name, std::move(link), std::move(elector)}));
  return *candidates_.back();
}

void ShardedGroup::crash(Candidate& candidate) {
  candidate.link->cut = true;
  candidate.crashed = true;
}

void ShardedGroup::destroy(std::unique_ptr<ShardedElector> elector) {
  auto gone = std::async(std::launch::async, [&elector] { elector.reset(); });
  while (gone.wait_for(1ms) != std::future_status::ready) advance(10ms);
}

void ShardedGroup::leave(Candidate& candidate) {
  auto stopped = std::async(std::launch::async, [&candidate] { return candidate.elector->stop(); });
  while (stopped.wait_for(1ms) != std::future_status::ready) advance(10ms);
  EXPECT_EQ(stopped.get(), ReleaseResult::released);
  candidate.crashed = true;
}

void ShardedGroup::settle() {
  for (;;) {
    const std::size_t ran = clock_->runReady();
    if (executor_->run() == 0 && ran == 0 && clock_->postedTasks() == 0) return;
  }
}

void ShardedGroup::advance(nanoseconds by) {
  settle();
  while (by.count() > 0) {
    const nanoseconds step = std::clamp(clock_->untilNextTimer().value_or(by), nanoseconds{1}, by);
    clock_->advance(step);
    by -= step;
    settle();
    judge();
  }
}

bool ShardedGroup::advanceUntil(const std::function<bool()>& done, nanoseconds limit) {
  settle();
  for (nanoseconds left = limit; !done() && left.count() > 0; left -= 10ms) advance(10ms);
  return done();
}

void ShardedGroup::judge() const {
  std::vector<int> owners(shards_);
  for (const auto& candidate : candidates_) {
    if (!candidate->elector) continue;
    for (const OwnedShard& owned : candidate->elector->owned()) ++owners.at(owned.shard.index);
  }
  for (std::size_t shard = 0; shard < shards_; ++shard) ASSERT_LE(owners[shard], 1) << "shard " << shard;
}

std::vector<std::size_t> ShardedGroup::spread() const {
  std::vector<std::size_t> out;
  for (const auto& candidate : candidates_) {
    if (!candidate->crashed) out.push_back(candidate->elector->owned().size());
  }
  return out;
}

std::size_t ShardedGroup::unowned() const {
  std::size_t left = shards_;
  for (const std::size_t owned : spread()) left -= owned;
  return left;
}

bool ShardedGroup::isEven() const {
  const std::vector<std::size_t> all = spread();
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  return unowned() == 0 && *most - *least <= 1;
}

int ShardedGroup::count(const std::string& prefix) const {
  const std::lock_guard lock{mutex_};
  return static_cast<int>(
      std::count_if(lines_.begin(), lines_.end(), [&](const std::string& line) { return line.starts_with(prefix); }));
}

std::vector<std::string> ShardedGroup::lines() const {
  const std::lock_guard lock{mutex_};
  return lines_;
}

void ShardedGroup::tell(std::string line) {
  const std::lock_guard lock{mutex_};
  lines_.push_back(std::move(line));
}

}  // namespace tenure::test
