// Store calls that wait for their answer.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <tenure/lockcore/lease_store.hpp>

#include "user_code.hpp"
#include "waiter.hpp"

namespace tenure {

inline StoreError neverAnswered() { return {ErrorClass::transient, "the store did not answer in time"}; }

/// A store is the user's code. It must answer exactly once, with an error when the call's time is over. A store that
/// breaks this rule is not waited for any longer, and only its first answer counts. Its exceptions become the answer
/// that `failed` makes of them.
template <class Outcome, class Failed, class Call>
Outcome answerOf(std::chrono::nanoseconds timeout, const Failed& failed, const Call& call) {
  const auto waiter = std::make_shared<Waiter<Outcome>>();
  const auto error = storeErrorOf(
      [&] { call(CallOptions{timeout}, [waiter](Outcome outcome) { waiter->tell(readable(std::move(outcome))); }); });
  if (error) return failed(*error);
  const auto grace = std::min<std::chrono::nanoseconds>(timeout / 8, std::chrono::milliseconds{20});
  auto answer = waiter->waitFor(timeout + grace + std::chrono::milliseconds{5});
  return answer ? *std::move(answer) : failed(neverAnswered());
}

[[nodiscard]] inline StoreStatus schemaAnswer(LeaseStore& store, std::chrono::nanoseconds timeout) {
  return answerOf<StoreStatus>(
      timeout, [](StoreError error) { return StoreStatus{std::move(error)}; },
      [&](CallOptions options, StatusHandler handler) { store.ensureSchema(options, std::move(handler)); });
}

[[nodiscard]] inline ReadOutcome readAnswer(LeaseStore& store, const LeaseKey& key, std::chrono::nanoseconds timeout,
                                            bool mayBeLate = false) {
  return answerOf<ReadOutcome>(
      timeout, [](StoreError error) { return ReadOutcome{std::move(error)}; },
      [&](CallOptions options, ReadHandler handler) {
        store.read(key, {options.timeout, mayBeLate}, std::move(handler));
      });
}

[[nodiscard]] inline WriteOutcome writeAnswer(LeaseStore& store, WriteRequest request,
                                              std::chrono::nanoseconds timeout) {
  return answerOf<WriteOutcome>(
      timeout, [](StoreError error) { return WriteOutcome{Unknown{std::move(error)}}; },
      [&](CallOptions options, WriteHandler handler) { store.write(std::move(request), options, std::move(handler)); });
}

}  // namespace tenure
