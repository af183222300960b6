#include "store_calls.hpp"

#include <future>
#include <memory>
#include <utility>

namespace tenure::cli {
namespace {

/// A store answers exactly once, so there is no need for a bound of our own.
template <class Outcome, class Call>
Outcome answerTo(const Call& call, std::chrono::milliseconds patience = storePatience) {
  const auto promise = std::make_shared<std::promise<Outcome>>();
  std::future<Outcome> answer = promise->get_future();
  call(CallOptions{patience}, [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
  return answer.get();
}

}  // namespace

StoreStatus ensureSchemaNow(LeaseStore& store, std::chrono::milliseconds patience) {
  return answerTo<StoreStatus>(
      [&](CallOptions options, StatusHandler handler) { store.ensureSchema(options, std::move(handler)); }, patience);
}

ReadOutcome readNow(LeaseStore& store, const LeaseKey& key) {
  return answerTo<ReadOutcome>(
      [&](CallOptions options, ReadHandler handler) { store.read(key, options, std::move(handler)); });
}

ListOutcome listNow(LeaseStore& store, const std::string& prefix) {
  return answerTo<ListOutcome>(
      [&](CallOptions options, ListHandler handler) { store.list(prefix, options, std::move(handler)); }, listPatience);
}

WriteOutcome removeNow(LeaseStore& store, const LeaseKey& key, const RecordVersion& version) {
  return answerTo<WriteOutcome>(
      [&](CallOptions options, WriteHandler handler) { store.remove(key, version, options, std::move(handler)); });
}

StoreResult<StoredTokens> readTokensNow(LeaseStore& store, const LeaseKey& key) {
  return answerTo<StoreResult<StoredTokens>>(
      [&](CallOptions options, TokensHandler handler) { store.readTokens(key, options, std::move(handler)); });
}

WriteOutcome setTokensNow(LeaseStore& store, const LeaseKey& key, const StoredTokens& expected, FencingToken token) {
  return answerTo<WriteOutcome>([&](CallOptions options, WriteHandler handler) {
    store.setTokens(key, expected, token, options, std::move(handler));
  });
}

WriteOutcome requestStepDownNow(LeaseStore& store, const LeaseKey& key, FencingToken token) {
  return answerTo<WriteOutcome>([&](CallOptions options, WriteHandler handler) {
    store.requestStepDown(key, token, options, std::move(handler));
  });
}

std::string faultText(const LeaseStore& store, const StoreError& error) {
  const std::string name = store.describe();
  return error.message.starts_with(name) ? error.message : name + ": " + error.message;
}

}  // namespace tenure::cli
