#include "store_calls.hpp"

#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include <tenure/lockcore/lease_store.hpp>

#include "config/src/duration.hpp"

namespace tenure::cli {
namespace {

template <class Outcome>
Outcome noAnswer(const LeaseStore& store, std::chrono::milliseconds patience) {
  StoreError error{ErrorClass::transient, store.describe() + ": did not answer within " + durationText(patience)};
  if constexpr (std::is_same_v<Outcome, WriteOutcome>) {
    return Unknown{std::move(error)};
  } else {
    return error;
  }
}

/// A store that hangs (a disk that does not answer, no thread available) must not make the program wait.
template <class Outcome, class Call>
Outcome answerOf(const LeaseStore& store, const Call& call, std::chrono::milliseconds patience = storePatience) {
  const auto promise = std::make_shared<std::promise<Outcome>>();
  std::future<Outcome> answer = promise->get_future();
  call(CallOptions{patience}, [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
  if (answer.wait_for(patience + unansweredTime) == std::future_status::ready) return answer.get();
  return noAnswer<Outcome>(store, patience);
}

}  // namespace

StoreStatus ensureSchemaNow(LeaseStore& store, std::chrono::milliseconds patience) {
  return answerOf<StoreStatus>(
      store, [&](CallOptions options, StatusHandler handler) { store.ensureSchema(options, std::move(handler)); },
      patience);
}

ReadOutcome readNow(LeaseStore& store, const LeaseKey& key, std::chrono::milliseconds patience) {
  return answerOf<ReadOutcome>(
      store, [&](CallOptions options, ReadHandler handler) { store.read(key, options, std::move(handler)); }, patience);
}

StoreResult<LeaseLook> lookNow(LeaseStore& store, const LeaseKey& key) {
  ReadOutcome record = readNow(store, key);
  if (!record) return record.error();
  LeaseLook look{std::move(*record), {}};
  const auto tokens = readTokensNow(store, key);
  if (tokens.has_error()) {
    if (!look.record && tokens.error().errorClass == ErrorClass::misconfigured) return tokens.error();
    look.warning = "its fencing counter could not be read: " + tokens.error().message;
    return look;
  }
  look.warning = disagreementIn(*tokens);
  if (look.warning.empty()) return look;
  // Record and counter may come from two moments, between which a term began. So only a disagreement that a second read
  // confirms is true.
  const auto again = readTokensNow(store, key);
  if (again.has_error() || disagreementIn(*again) != look.warning) look.warning.clear();
  return look;
}

ListOutcome listNow(LeaseStore& store, const std::string& prefix) {
  return answerOf<ListOutcome>(
      store, [&](CallOptions options, ListHandler handler) { store.list(prefix, options, std::move(handler)); },
      listPatience);
}

WriteOutcome writeNow(LeaseStore& store, WriteRequest request, std::chrono::milliseconds patience) {
  return answerOf<WriteOutcome>(
      store,
      [&](CallOptions options, WriteHandler handler) { store.write(std::move(request), options, std::move(handler)); },
      patience);
}

WriteOutcome removeNow(LeaseStore& store, const LeaseKey& key, const RecordVersion& version) {
  return answerOf<WriteOutcome>(store, [&](CallOptions options, WriteHandler handler) {
    store.remove(key, version, options, std::move(handler));
  });
}

StoreResult<StoredTokens> readTokensNow(LeaseStore& store, const LeaseKey& key) {
  return answerOf<StoreResult<StoredTokens>>(store, [&](CallOptions options, TokensHandler handler) {
    extended(store)->readTokens(key, options, std::move(handler));
  });
}

WriteOutcome setTokensNow(LeaseStore& store, const LeaseKey& key, const StoredTokens& expected, FencingToken token) {
  return answerOf<WriteOutcome>(store, [&](CallOptions options, WriteHandler handler) {
    extended(store)->setTokens(key, expected, token, options, std::move(handler));
  });
}

WriteOutcome requestStepDownNow(LeaseStore& store, const LeaseKey& key, const StepDownRequest& request,
                                std::chrono::milliseconds patience) {
  return answerOf<WriteOutcome>(
      store,
      [&](CallOptions options, WriteHandler handler) {
        extended(store)->requestStepDownFor(key, request, options, std::move(handler));
      },
      patience);
}

std::string faultText(const LeaseStore& store, const StoreError& error) {
  const std::string name = store.describe();
  return error.message.starts_with(name) ? error.message : name + ": " + error.message;
}

}  // namespace tenure::cli
