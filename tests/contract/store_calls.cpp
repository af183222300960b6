#include "contract/store_calls.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <unistd.h>

namespace tenure::contract {
namespace {

struct Describer {
  std::string operator()(const Applied& applied) const {
    return "Applied with token " + toString(applied.token) + (applied.stepDownRequested ? ", step down" : "") +
           (applied.warning.empty() ? "" : ", warning: " + applied.warning);
  }
  std::string operator()(const Conflict& conflict) const {
    if (!conflict.current) return "Conflict";
    return *conflict.current ? "Conflict with " + describe(**conflict.current) : "Conflict: there is no record";
  }
  std::string operator()(const Rejected& rejected) const { return "Rejected: " + text(rejected.error); }
  std::string operator()(const Unknown& unknown) const { return "Unknown: " + text(unknown.error); }

  static std::string text(const StoreError& error) {
    return std::string{toString(error.errorClass)} + ", " + error.message;
  }
};

template <class Outcome>
auto valueOf(const std::string& what, Outcome outcome) {
  if (outcome.has_error()) throw std::runtime_error{what + " failed: " + Describer::text(outcome.error())};
  return std::move(outcome).value();
}

WriteRequest request(WriteRequest::Purpose purpose, LeaseKey key, std::string holder,
                     std::vector<RecordVersion> expected) {
  WriteRequest made{std::move(key), purpose, std::move(expected), recordOf(std::move(holder))};
  made.record.released = purpose == WriteRequest::Purpose::release;
  return made;
}

std::string nameOfWrite(const WriteRequest& request) {
  static constexpr const char* purposes[] = {"acquire", "renew", "release"};
  return purposes[static_cast<std::size_t>(request.purpose)] + (" of " + toString(request.key));
}

}  // namespace

std::string describe(const LeaseRecord& record) {
  std::ostringstream out;
  out << "{holder " << record.holder << ", version " << record.version.text() << ", " << record.leaseDuration.count()
      << " ms, token " << record.token << (record.released ? ", released" : ", held");
  if (record.livenessFile) {
    out << ", livenessFile " << record.livenessFile->id << '/' << record.livenessFile->bootId << '/'
        << record.livenessFile->device << '/' << record.livenessFile->inode;
  }
  out << ", " << record.data.size() << " bytes of data";
  for (const auto& [name, value] : record.attributes) out << ", " << name << '=' << value;
  out << ", acquired " << record.acquiredAtMillis << ", renewed " << record.renewedAtMillis << '}';
  return out.str();
}

std::string describe(const WriteOutcome& outcome) { return std::visit(Describer{}, outcome); }

std::size_t Call::answers() const {
  const std::lock_guard lock{mutex_};
  return answers_;
}

bool Call::waitAnswered() const {
  std::unique_lock lock{mutex_};
  return answered_.wait_for(lock, patience, [this] { return answers_ > 0; });
}

void Call::countAnswer(const std::function<void()>& keepFirst) {
  if (caller_.load() == std::this_thread::get_id()) inline_ = true;
  const std::lock_guard lock{mutex_};
  if (answers_++ == 0) keepFirst();
  answered_.notify_all();
}

void CallLedger::add(std::shared_ptr<const Call> call) {
  const std::lock_guard lock{mutex_};
  calls_.push_back(std::move(call));
}

std::vector<std::string> CallLedger::faults() const {
  const std::lock_guard lock{mutex_};
  std::vector<std::string> found;
  for (const auto& call : calls_) {
    if (!call->waitAnswered()) {
      found.push_back(call->what() + " was never answered");
      break;  // each further call would be waited for equally long
    }
  }
  for (const auto& call : calls_) {
    if (call->answers() > 1)
      found.push_back(call->what() + " was answered " + std::to_string(call->answers()) + " times");
    if (call->answeredInline()) found.push_back(call->what() + " was answered inside the call");
  }
  return found;
}

template <class Outcome, class Start>
Pending<Outcome> StoreCalls::start(std::string what, const Start& call) const {
  auto reply = std::make_shared<Reply<Outcome>>(std::move(what));
  ledger_->add(reply);
  reply->enter();
  call([reply](Outcome outcome) { reply->answer(std::move(outcome)); });
  reply->leave();
  return reply;
}

Pending<StoreStatus> StoreCalls::startEnsureSchema(Timeout timeout) const {
  return start<StoreStatus>("ensureSchema",
                            [&](StatusHandler handler) { store_->ensureSchema({timeout}, std::move(handler)); });
}

Pending<ReadOutcome> StoreCalls::startRead(const LeaseKey& key, Timeout timeout) const {
  return start<ReadOutcome>("read of " + toString(key),
                            [&](ReadHandler handler) { store_->read(key, {timeout}, std::move(handler)); });
}

Pending<WriteOutcome> StoreCalls::startWrite(WriteRequest request, Timeout timeout) const {
  return start<WriteOutcome>(nameOfWrite(request), [&](WriteHandler handler) {
    store_->write(std::move(request), {timeout}, std::move(handler));
  });
}

Pending<ListOutcome> StoreCalls::startList(std::string prefix, Timeout timeout) const {
  return start<ListOutcome>("list of " + prefix, [&](ListHandler handler) {
    store_->list(std::move(prefix), {timeout}, std::move(handler));
  });
}

Pending<ListOutcome> StoreCalls::startListName(std::string name, Timeout timeout) const {
  return start<ListOutcome>("listName of " + name, [&](ListHandler handler) {
    store_->listName(std::move(name), {timeout}, std::move(handler));
  });
}

Pending<PageOutcome> StoreCalls::startListPage(std::string prefix, std::string from, Timeout timeout) const {
  return start<PageOutcome>("listPage of " + prefix, [&](PageHandler handler) {
    store_->listPage(std::move(prefix), std::move(from), {timeout}, std::move(handler));
  });
}

Pending<WriteOutcome> StoreCalls::startStepDown(const LeaseKey& key, StepDownRequest request, Timeout timeout) const {
  return start<WriteOutcome>("requestStepDown of " + toString(key), [&](WriteHandler handler) {
    store_->requestStepDownFor(key, std::move(request), {timeout}, std::move(handler));
  });
}

StoredTokens StoreCalls::tokens(const LeaseKey& key) const {
  const auto found = start<StoreResult<StoredTokens>>("readTokens of " + toString(key), [&](TokensHandler handler) {
    store_->readTokens(key, {patience}, std::move(handler));
  });
  return found->get().value();
}

WriteOutcome StoreCalls::setTokens(const LeaseKey& key, const StoredTokens& expected, std::uint64_t token) const {
  return start<WriteOutcome>("setTokens of " + toString(key),
                             [&](WriteHandler handler) {
                               store_->setTokens(key, expected, FencingToken{token}, {patience}, std::move(handler));
                             })
      ->get();
}

Pending<WriteOutcome> StoreCalls::startRemove(const LeaseKey& key, RecordVersion version, Timeout timeout) const {
  return start<WriteOutcome>("remove of " + toString(key), [&](WriteHandler handler) {
    store_->remove(key, std::move(version), {timeout}, std::move(handler));
  });
}

void StoreCalls::ensureSchema() const {
  const StoreStatus status = startEnsureSchema()->get();
  if (status.has_error()) throw std::runtime_error{"ensureSchema failed: " + Describer::text(status.error())};
}

std::optional<LeaseRecord> StoreCalls::read(const LeaseKey& key) const {
  return valueOf("read of " + toString(key), startRead(key)->get());
}

LeaseRecord StoreCalls::record(const LeaseKey& key) const {
  auto found = read(key);
  if (!found) throw std::runtime_error{"there is no record of " + toString(key)};
  return *std::move(found);
}

Applied StoreCalls::apply(WriteRequest request) const {
  const std::string what = nameOfWrite(request);
  const WriteOutcome outcome = write(std::move(request));
  if (const auto* applied = std::get_if<Applied>(&outcome)) return *applied;
  throw std::runtime_error{what + " was not applied: " + describe(outcome)};
}

std::vector<ListedLease> StoreCalls::list(const std::string& prefix) const {
  return valueOf("list of " + prefix, startList(prefix)->get());
}

std::vector<ListedLease> StoreCalls::listName(const std::string& name) const {
  return valueOf("listName of " + name, startListName(name)->get());
}

std::vector<ListPage> StoreCalls::listPages(const std::string& prefix) const {
  std::vector<ListPage> pages;
  do {
    const std::string from = pages.empty() ? "" : pages.back().next;
    pages.push_back(valueOf("listPage of " + prefix, startListPage(prefix, from)->get()));
  } while (!pages.back().next.empty());
  return pages;
}

std::vector<LeaseKey> StoreCalls::listKeys(const std::string& prefix) const {
  std::vector<LeaseKey> keys;
  for (auto& lease : list(prefix)) keys.push_back(std::move(lease.key));
  return keys;
}

WriteOutcome StoreCalls::requestStepDown(const LeaseKey& key, FencingToken token, Successor successor) const {
  return startStepDown(key, {token, std::move(successor)})->get();
}

RecordVersion newVersion() {
  static std::atomic<std::uint64_t> last{0};
  std::array<char, 37> text{};
  std::snprintf(text.data(), text.size(), "%08x-0000-4000-8000-%012llu", static_cast<unsigned>(getpid()),
                static_cast<unsigned long long>(++last));
  return RecordVersion{text.data()};
}

LeaseRecord recordOf(std::string holder) {
  LeaseRecord record;
  record.holder = std::move(holder);
  record.version = newVersion();
  record.leaseDuration = std::chrono::milliseconds{10'000};
  record.livenessFile =
      LivenessFile{"0123456789abcdef0123456789abcdef", "6a3c1f0e-1111-4222-8333-abcdefabcdef", 66, 1234567};
  record.acquiredAtMillis = 1'794'000'000'000;
  record.renewedAtMillis = 1'794'000'000'500;
  return record;
}

WriteRequest acquire(LeaseKey key, std::string holder, std::vector<RecordVersion> expected) {
  return request(WriteRequest::Purpose::acquire, std::move(key), std::move(holder), std::move(expected));
}

WriteRequest renew(LeaseKey key, std::string holder, std::vector<RecordVersion> expected) {
  return request(WriteRequest::Purpose::renew, std::move(key), std::move(holder), std::move(expected));
}

WriteRequest release(LeaseKey key, std::string holder, std::vector<RecordVersion> expected) {
  return request(WriteRequest::Purpose::release, std::move(key), std::move(holder), std::move(expected));
}

testing::AssertionResult sameRecord(const LeaseRecord& actual, const LeaseRecord& expected) {
  if (actual == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "stored:   " << describe(actual) << "\nexpected: " << describe(expected);
}

testing::AssertionResult isConflictWith(const WriteOutcome& outcome, const std::optional<LeaseRecord>& current) {
  const auto* conflict = std::get_if<Conflict>(&outcome);
  if (conflict == nullptr) return testing::AssertionFailure() << "no conflict but " << describe(outcome);
  // A store need not know the stored state; but the state that it reports must be true.
  if (!conflict->current || *conflict->current == current) return testing::AssertionSuccess();
  return testing::AssertionFailure() << describe(outcome)
                                     << "\nstored: " << (current ? describe(*current) : std::string{"no record"});
}

}  // namespace tenure::contract
