// One bucket as a fence needs it: blocking requests, the object at a key, and whether the server honours conditions.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <tenure/adapters/s3_fence.hpp>
#include <tenure/lockcore/clock.hpp>

#include "lockcore/aws/object_client.hpp"
#include "object_answers.hpp"
#include "object_head.hpp"

namespace tenure::s3_fence {

/// The time of one call, and the pauses between its requests.
class CallTime {
 public:
  explicit CallTime(std::chrono::nanoseconds whole) : whole_{whole} {}
  [[nodiscard]] std::chrono::nanoseconds left() const { return whole_ - elapsedForHolder(begin_, readClock()); }
  /// Waits, with jitter, for a time that depends on the error and on the number of waits before. False: there is not
  /// enough time left.
  [[nodiscard]] bool waitAfter(ErrorClass error);
  /// The same after a condition that did not hold: others are writing, so the wait is short.
  [[nodiscard]] bool waitForOthers();

 private:
  [[nodiscard]] bool wait(std::chrono::nanoseconds longest);

  const Instant begin_{readClock()};
  const std::chrono::nanoseconds whole_;
  int waits_{0};
};

/// What is at a key: no object (then no ETag), or a fenced one.
struct FoundObject {
  std::string etag{};
  ObjectHead head{};
  std::string bytes{};  ///< only if the whole object was read; only those after the head
};

/// Thread-safe.
class ObjectStore {
 public:
  ObjectStore(S3FenceOptions options, std::shared_ptr<aws::ObjectClient> client);

  [[nodiscard]] const S3FenceOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::string where(const std::string& key) const;

  /// Sends one request, in what is left of the call's time.
  [[nodiscard]] ObjectAnswer ask(aws::ObjectRequest request, const CallTime& time);
  [[nodiscard]] aws::ObjectRequest putRequest(const std::string& key, std::string bytes) const;
  /// Deletes the object; best effort, without waiting.
  void forget(const std::string& key);

  /// Reads, with repetitions. `whole`: with all bytes.
  [[nodiscard]] FenceResult<FoundObject> look(const std::string& key, bool whole, CallTime& time);
  [[nodiscard]] FenceResult<std::optional<S3Object>> read(const std::string& key);

  /// Empty once the server has refused, on the probe's key, what it must refuse.
  [[nodiscard]] std::optional<FenceError> errorOfServer(CallTime& time);

  /// What this process wrote at the key last. It is a guess, which the condition of the write then tests.
  [[nodiscard]] std::optional<FoundObject> lastWritten(const std::string& key) const;
  void remember(const std::string& key, FoundObject found);
  void unremember(const std::string& key);

 private:
  [[nodiscard]] FenceResult<FoundObject> foundIn(const std::string& key, bool whole, net::HttpResponse response) const;
  [[nodiscard]] FenceResult<bool> probe(const char* condition, const char* etag, CallTime& time);

  const S3FenceOptions options_;
  const std::shared_ptr<aws::ObjectClient> client_;
  const std::string server_;
  mutable std::mutex mutex_{};
  std::map<std::string, FoundObject> written_{};
  std::mutex probing_{};
  bool honoursConditions_{false};
};

}  // namespace tenure::s3_fence
