#include "document_writes.hpp"

#include <iterator>
#include <utility>

#include <boost/json/object.hpp>

#include "leader_document.hpp"
#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/runtime/thread_pool.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {
namespace {

constexpr const char* termIsOver = "the term is over";

DocumentAnswer refusedFor(std::string why) { return {DocumentAnswer::Kind::refused, std::move(why)}; }

}  // namespace

DocumentWrites::DocumentWrites(LeaseKey key, Logger logger, std::weak_ptr<LeaseStore> store,
                               std::weak_ptr<LeaseDriver> driver, Origin before)
    : key_{std::move(key)},
      logger_{std::move(logger)},
      store_{std::move(store)},
      driver_{std::move(driver)},
      origin_{std::move(before)} {}

void DocumentWrites::begin(FencingToken term, std::string text, TermOrigin origin) {
  std::vector<Done> old;
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return;
    old = takeAll();
    leave();
    term_ = term;
    origin_.term = std::move(origin);
    text_ = std::move(text);
  }
  for (const Done& done : old) tell(done, {DocumentAnswer::Kind::unknown, termIsOver});
}

std::string DocumentWrites::text(FencingToken term) const {
  const std::lock_guard lock{mutex_};
  return term == term_ ? text_ : std::string{};
}

DocumentWrites::Origin DocumentWrites::left(const LeaseKey& key) const {
  const std::lock_guard lock{mutex_};
  if (key != key_) return {};
  return term_.isNone() ? origin_ : Origin{{}, membersOfDocument(text_) ? text_ : origin_.known, term_};
}

DocumentWrites::Origin DocumentWrites::origin(FencingToken term) const {
  const std::lock_guard lock{mutex_};
  return term == term_ ? origin_ : Origin{};
}

void DocumentWrites::update(FencingToken term, Change change, Done done) {
  {
    std::unique_lock lock{mutex_};
    if (term.isNone() || term != term_) {
      lock.unlock();
      return answerLater(std::move(done));
    }
    queue_.push_back({term, std::move(change), std::move(done)});
  }
  const auto turn = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->writeNext(false);
  };
  // If the driver is closed, close() answers.
  if (const auto driver = driver_.lock()) static_cast<void>(driver->schedule(std::chrono::nanoseconds{0}, turn));
}

void DocumentWrites::finish() { writeNext(true); }

/// The scheduler may be gone, so a thread of the library answers. The task keeps the pool until it has run.
void DocumentWrites::answerLater(Done done) const {
  const auto answer = [self = shared_from_this(), done = std::move(done)] {
    self->tell(done, {DocumentAnswer::Kind::unknown, termIsOver});
  };
  const auto noThread = whatThrown([&] {
    const auto pool = ThreadPool::forCallbacks();
    pool->post([pool, answer] { answer(); });
  });
  if (noThread) answer();  // better inside the call than never
}

/// On the scheduler, and so never twice at a time.
void DocumentWrites::writeNext(bool joinsUnderWay) {
  std::vector<Queued> queue;
  Write write;
  {
    const std::lock_guard lock{mutex_};
    const bool isFree = underWay_.ticket == 0;
    if (queue_.empty() || !(isFree || joinsUnderWay)) return;
    queue.swap(queue_);
    write.text = isFree ? text_ : underWay_.text;
  }
  const FencingToken term = queue.front().term;  // begin() has answered those of other terms
  for (Queued& queued : queue) {
    auto text = changed(queued, write.text);
    if (text.has_error()) {
      tell(queued.done, refusedFor(text.error().message));
      continue;
    }
    write.text = *std::move(text);
    write.dones.push_back(std::move(queued.done));
  }
  if (!write.dones.empty()) submit(term, std::move(write));
}

/// A document that the store can never keep is not sent to it.
StoreResult<std::string> DocumentWrites::changed(const Queued& queued, const std::string& text) const {
  StoreResult<std::string> result = std::string{};
  if (const auto what = whatThrown([&] { result = queued.change(text); })) {
    logger_.log(LogLevel::error, toString(key_) + ": a change of the document threw: " + *what);
    return StoreError{ErrorClass::transient, "the change of the document threw: " + *what};
  }
  if (result.has_error()) return result;
  const auto store = store_.lock();
  const OptionFaults faults = store ? payloadFaults(*store, key_, *result, {}) : OptionFaults{};
  if (faults.empty()) return result;
  return StoreError{ErrorClass::misconfigured, faults.front().field + ' ' + faults.front().message};
}

void DocumentWrites::submit(FencingToken term, Write write) {
  const auto driver = driver_.lock();
  std::unique_lock lock{mutex_};
  if (driver && term == term_) {
    write.ticket = ++lastTicket_;
    write.joined = std::move(underWay_.dones);
    std::move(underWay_.joined.begin(), underWay_.joined.end(), std::back_inserter(write.joined));
    // This posts. The machine itself refuses what comes after the term.
    driver->submit(event::Renew{write.ticket, {}, write.text, term});
    underWay_ = std::move(write);
    return;
  }
  lock.unlock();
  for (const Done& done : write.dones) tell(done, {DocumentAnswer::Kind::unknown, termIsOver});
}

void DocumentWrites::answer(std::uint64_t first, std::uint64_t last, const DocumentAnswer& answer) {
  Write answered;
  {
    const std::lock_guard lock{mutex_};
    const bool isMeant = underWay_.ticket != 0 && underWay_.ticket >= first && underWay_.ticket <= last;
    if (!isMeant) return;
    answered = std::exchange(underWay_, {});
    if (answer.kind == DocumentAnswer::Kind::recorded) text_ = std::move(answered.text);
  }
  DocumentAnswer ofJoined = answer;
  if (answer.kind == DocumentAnswer::Kind::refused) ofJoined.kind = DocumentAnswer::Kind::unknown;
  for (const Done& done : answered.joined) tell(done, ofJoined);
  for (const Done& done : answered.dones) tell(done, answer);
  writeNext(false);
}

void DocumentWrites::close() {
  std::vector<Done> left;
  {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    left = takeAll();
    leave();
  }
  for (const Done& done : left) tell(done, {DocumentAnswer::Kind::unknown, termIsOver});
}

/// With the lock held: the term is over. Data of somebody else are not what its work wrote.
void DocumentWrites::leave() {
  if (term_.isNone()) return;
  origin_.last = std::exchange(term_, FencingToken{});
  if (!text_.empty() && membersOfDocument(text_)) origin_.known = std::move(text_);
  text_.clear();
}

std::vector<DocumentWrites::Done> DocumentWrites::takeAll() {
  Write write = std::exchange(underWay_, {});
  std::vector<Done> all = std::move(write.joined);
  std::move(write.dones.begin(), write.dones.end(), std::back_inserter(all));
  for (Queued& queued : std::exchange(queue_, {})) all.push_back(std::move(queued.done));
  return all;
}

void DocumentWrites::tell(const Done& done, const DocumentAnswer& answer) const {
  if (const auto what = whatThrown([&] { done(answer); })) {
    logger_.log(LogLevel::error, toString(key_) + ": a handler of a document's answer threw: " + *what);
  }
}

}  // namespace tenure
