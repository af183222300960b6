#include "document_writes.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {
namespace {

constexpr const char* termIsOver = "the term is over";

}  // namespace

DocumentWrites::DocumentWrites(LeaseKey key, std::weak_ptr<LeaseStore> store, std::weak_ptr<LeaseDriver> driver)
    : key_{std::move(key)}, store_{std::move(store)}, driver_{std::move(driver)} {}

void DocumentWrites::begin(FencingToken term, std::string text) {
  const std::lock_guard lock{mutex_};
  term_ = term;
  text_ = std::move(text);
}

std::string DocumentWrites::text(FencingToken term) const {
  const std::lock_guard lock{mutex_};
  return term == term_ ? text_ : std::string{};
}

/// A write that the store can never accept would end the term, because each later renewal would carry it too.
std::optional<std::string> DocumentWrites::write(FencingToken term, std::string text, Done done) {
  const std::shared_ptr<LeaseStore> store = store_.lock();
  const std::shared_ptr<LeaseDriver> driver = driver_.lock();
  if (!store || !driver) return termIsOver;
  OptionFaults faults;
  if (const auto error = storeErrorOf([&] { faults = store->faultsOfPayload(key_, text, {}); })) return error->message;
  if (!faults.empty()) return faults.front().message;
  const std::lock_guard lock{mutex_};
  if (term.isNone() || term != term_) return termIsOver;
  text_ = text;
  waiting_.push_back({++lastTicket_, std::move(done)});
  // This posts; under the lock, so that tickets rise in the order of submission. The machine itself refuses what comes
  // after the term.
  driver->submit(event::Renew{lastTicket_, {}, std::move(text), term});
  return std::nullopt;
}

void DocumentWrites::answer(std::uint64_t first, std::uint64_t last, bool recorded) {
  std::vector<Write> answered;
  {
    const std::lock_guard lock{mutex_};
    if (waiting_.empty()) return;
    const auto isMeant = [&](const Write& write) { return write.ticket >= first && write.ticket <= last; };
    const auto from =
        std::stable_partition(waiting_.begin(), waiting_.end(), [&](const Write& write) { return !isMeant(write); });
    std::move(from, waiting_.end(), std::back_inserter(answered));
    waiting_.erase(from, waiting_.end());
  }
  for (const Write& write : answered) write.done(recorded);
}

void DocumentWrites::close() {
  {
    const std::lock_guard lock{mutex_};
    term_ = FencingToken{};
    text_.clear();
  }
  answer(0, std::numeric_limits<std::uint64_t>::max(), false);
}

}  // namespace tenure
