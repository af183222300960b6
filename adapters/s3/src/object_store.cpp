#include "object_store.hpp"

#include <algorithm>
#include <ctime>
#include <future>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::s3_fence {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Kind = ObjectAnswer::Kind;

constexpr std::size_t mostRemembered = 1'024;  // keys; a forgotten key costs one read

FenceError foreignObject(const std::string& where, std::string_view object = {}) {
  if (const auto damage = damageIn(object)) return damagedFence(where, damage->lease, damage->token);
  return fenceError(
      {ErrorClass::corrupt,
       where +
           ": the object there does not begin with a fence's head; find out what writes it, and move it away if this "
           "key is to be fenced from now on"});
}

}  // namespace

bool CallTime::waitAfter(ErrorClass error) {
  const nanoseconds first = error == ErrorClass::throttled ? 200ms : 20ms;
  return wait(first * (1 << std::min(waits_, 5)));
}

bool CallTime::waitForOthers() { return wait(1ms * (1 << std::min(waits_, 6))); }

bool CallTime::wait(nanoseconds longest) {
  SystemRandom random;
  const nanoseconds chosen = jittered(random, longest);
  ++waits_;
  if (left() <= chosen) return false;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(chosen);
  timespec wanted{};
  wanted.tv_sec = static_cast<time_t>(seconds.count());
  wanted.tv_nsec = static_cast<long>((chosen - seconds).count());
  nanosleep(&wanted, nullptr);  // lint-allow(sleep): a call that blocks; the server offers nothing to wait on
  return true;
}

namespace {

S3FenceOptions withinADay(S3FenceOptions options) {
  for (auto* time : {&options.timeout, &options.requestTimeout})
    *time = std::min<std::chrono::milliseconds>(*time, 24h);
  return options;
}

}  // namespace

ObjectStore::ObjectStore(S3FenceOptions options, std::shared_ptr<aws::ObjectClient> client)
    : options_{withinADay(std::move(options))}, client_{std::move(client)}, server_{client_->describe()} {}

std::string ObjectStore::where(const std::string& key) const {
  return server_ + ", bucket " + options_.bucket + ", key " + key;
}

ObjectAnswer ObjectStore::ask(aws::ObjectRequest request, const CallTime& time) {
  const std::string place = where(request.key);
  const nanoseconds left = std::min<nanoseconds>(time.left(), options_.requestTimeout);
  if (left <= 0ns) return {Kind::failed, 0, {}, {ErrorClass::transient, place + ": the call timed out"}, false};
  std::promise<aws::ObjectOutcome> answer;
  client_->call(std::move(request), left,
                [&answer](aws::ObjectOutcome outcome) { answer.set_value(std::move(outcome)); });
  return answerOf(place, answer.get_future().get());
}

aws::ObjectRequest ObjectStore::putRequest(const std::string& key, std::string bytes) const {
  return {"PUT", options_.bucket, key, {}, {{"Content-Type", "application/octet-stream"}}, std::move(bytes)};
}

void ObjectStore::forget(const std::string& key) {
  client_->call({"DELETE", options_.bucket, key, {}, {}, {}}, options_.requestTimeout,
                [](const aws::ObjectOutcome&) {});
}

FenceResult<FoundObject> ObjectStore::look(const std::string& key, bool whole, CallTime& time) {
  for (;;) {
    aws::ObjectRequest request{"GET", options_.bucket, key, {}, {}, {}};
    if (!whole) request.headers.push_back({"Range", "bytes=0-" + std::to_string(longestHead - 1)});
    ObjectAnswer answer = ask(std::move(request), time);
    switch (answer.kind) {
      case Kind::done:
        return foundIn(key, whole, std::move(answer.response));
      case Kind::absent:
        return FoundObject{};
      case Kind::empty:
        return foreignObject(where(key));
      case Kind::failed:
        return fenceError(std::move(answer.error));
      case Kind::refused:
      case Kind::again:
        if (!time.waitAfter(answer.error.errorClass)) return fenceError(std::move(answer.error));
    }
  }
}

FenceResult<FoundObject> ObjectStore::foundIn(const std::string& key, bool whole, net::HttpResponse response) const {
  auto found = parseHead(response.body);
  if (!found) return foreignObject(where(key), response.body);
  FoundObject out{std::string{response.header("ETag")}, std::move(found->head), {}};
  if (!isStrongEtag(out.etag)) {
    return fenceError(
        {ErrorClass::misconfigured, where(key) + ": the server, or a proxy in front of it, gives no strong ETag, which "
                                                 "conditional writes need"});
  }
  if (!whole || !out.head.data.empty()) return out;
  response.body.erase(0, found->length);
  out.bytes = std::move(response.body);
  if (out.bytes.size() != out.head.size) {
    return fenceError({ErrorClass::corrupt, where(key) + ": " + std::to_string(out.bytes.size()) +
                                                " bytes follow the head, which says " + std::to_string(out.head.size)});
  }
  return out;
}

FenceResult<std::optional<S3Object>> ObjectStore::read(const std::string& key) {
  CallTime time{options_.timeout};
  for (;;) {
    auto found = look(key, true, time);
    if (!found) return found.error();
    if (found->etag.empty()) return std::optional<S3Object>{};
    if (found->head.data.empty()) return std::optional{S3Object{std::move(found->bytes), std::move(found->head.terms)}};
    ObjectAnswer answer = ask({"GET", options_.bucket, found->head.data, {}, {}, {}}, time);
    if (answer.kind == Kind::done && answer.response.body.size() != found->head.size) {
      const std::string there = std::to_string(answer.response.body.size());
      answer = {Kind::again,
                answer.status,
                {},
                {ErrorClass::corrupt, where(found->head.data) + ": " + there + " bytes, but the head of " + key +
                                          " says " + std::to_string(found->head.size)},
                false};
    }
    if (answer.kind == Kind::done) {
      return std::optional{S3Object{std::move(answer.response.body), std::move(found->head.terms)}};
    }
    // Absent: the next writer removed these bytes between the two requests.
    if (answer.kind == Kind::failed || !time.waitAfter(answer.error.errorClass)) {
      return fenceError(std::move(answer.error));
    }
  }
}

/// True if the server refused, as it must.
FenceResult<bool> ObjectStore::probe(const char* condition, const char* etag, CallTime& time) {
  for (;;) {
    auto request =
        putRequest(options_.probeKey, "With this object a fence finds out whether conditions are honoured.\n");
    request.headers.push_back({condition, etag});
    ObjectAnswer answer = ask(std::move(request), time);
    if (answer.kind == Kind::done) return false;
    if (answer.kind == Kind::refused && answer.status == 412) return true;
    if (answer.kind == Kind::failed || !time.waitAfter(answer.error.errorClass)) {
      answer.error.message += "; the fence was checking whether the server honours " + std::string{condition};
      return fenceError(std::move(answer.error));
    }
  }
}

std::optional<FenceError> ObjectStore::errorOfServer(CallTime& time) {
  const std::lock_guard lock{probing_};
  if (honoursConditions_) return std::nullopt;
  const auto ignored = [this](const char* condition) {
    return fenceError({ErrorClass::misconfigured,
                       where(options_.probeKey) + ": the server ignores " + condition +
                           " on PUT, so it cannot refuse a former leader's write; use one with conditional writes"});
  };
  const auto created = probe("If-None-Match", "*", time);
  if (!created) return created.error();
  if (!*created) {
    const auto refused = probe("If-None-Match", "*", time);
    if (!refused) return refused.error();
    if (!*refused) return ignored("If-None-Match");
  }
  const auto refused = probe("If-Match", "\"00000000000000000000000000000000\"", time);
  if (!refused) return refused.error();
  if (!*refused) return ignored("If-Match");
  honoursConditions_ = true;
  return std::nullopt;
}

std::optional<FoundObject> ObjectStore::lastWritten(const std::string& key) const {
  const std::lock_guard lock{mutex_};
  const auto found = written_.find(key);
  if (found == written_.end()) return std::nullopt;
  return found->second;
}

void ObjectStore::remember(const std::string& key, FoundObject found) {
  const std::lock_guard lock{mutex_};
  if (written_.size() >= mostRemembered) written_.clear();
  written_.insert_or_assign(key, std::move(found));
}

void ObjectStore::unremember(const std::string& key) {
  const std::lock_guard lock{mutex_};
  written_.erase(key);
}

}  // namespace tenure::s3_fence
