// Store calls that wait for their answer.
#pragma once

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure {

/// A store answers exactly once, with an error when the call's time is over. One that does not keep to that is not
/// waited for any longer: `late`.
template <class Outcome, class Call>
Outcome answerOf(std::chrono::nanoseconds timeout, Outcome late, const Call& call) {
  const auto promise = std::make_shared<std::promise<Outcome>>();
  std::future<Outcome> answer = promise->get_future();
  call(CallOptions{timeout}, [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
  const auto grace = std::min<std::chrono::nanoseconds>(timeout / 8, std::chrono::milliseconds{20});
  if (answer.wait_for(timeout + grace + std::chrono::milliseconds{5}) != std::future_status::ready) return late;
  return answer.get();
}

inline StoreError neverAnswered() { return {ErrorClass::transient, "the store did not answer in time"}; }

[[nodiscard]] inline ReadOutcome readAnswer(LeaseStore& store, const LeaseKey& key, std::chrono::nanoseconds timeout) {
  return answerOf<ReadOutcome>(timeout, ReadOutcome{neverAnswered()}, [&](CallOptions options, ReadHandler handler) {
    store.read(key, options, std::move(handler));
  });
}

[[nodiscard]] inline WriteOutcome writeAnswer(LeaseStore& store, WriteRequest request,
                                              std::chrono::nanoseconds timeout) {
  return answerOf<WriteOutcome>(
      timeout, WriteOutcome{Unknown{neverAnswered()}},
      [&](CallOptions options, WriteHandler handler) { store.write(std::move(request), options, std::move(handler)); });
}

}  // namespace tenure
