// An S3 in memory that applies conditions atomically. The test can make single answers fail.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockcore/aws/object_client.hpp"

namespace tenure::test {

class ScriptedS3 final : public aws::ObjectClient {
 public:
  /// What happens to one request instead of normal service, or in addition to it. `lost`: no answer comes.
  enum class Fate { served, servedButLost, lost, error };
  struct Turn {
    Fate fate{Fate::served};
    int status{0};
    std::string code{};
  };

  /// Called for each request, in order, before it is served.
  std::function<Turn(const aws::ObjectRequest&)> turn{};
  /// An answer that something in between invents; empty: none.
  std::function<std::optional<net::HttpResponse>(const aws::ObjectRequest&)> lie{};
  bool honoursIfMatch{true};
  bool honoursIfNoneMatch{true};
  bool tellsEtagOfWrites{true};

  void call(aws::ObjectRequest request, std::chrono::nanoseconds /*timeout*/, aws::ObjectHandler handler) override {
    handler(answer(request));
  }
  [[nodiscard]] std::string describe() const override { return "scripted"; }

  [[nodiscard]] std::string at(const std::string& key) const {
    const std::lock_guard lock{mutex_};
    const auto found = objects_.find(key);
    return found == objects_.end() ? std::string{} : found->second;
  }
  [[nodiscard]] std::vector<std::string> keys() const {
    const std::lock_guard lock{mutex_};
    std::vector<std::string> out;
    for (const auto& [key, bytes] : objects_) out.push_back(key);
    return out;
  }
  void put(const std::string& key, const std::string& bytes) {
    const std::lock_guard lock{mutex_};
    objects_[key] = bytes;
  }
  void remove(const std::string& key) {
    const std::lock_guard lock{mutex_};
    objects_.erase(key);
  }
  /// "PUT key If-Match", in order, without the requests of the probe.
  [[nodiscard]] std::vector<std::string> log() const {
    const std::lock_guard lock{mutex_};
    return log_;
  }

 private:
  static std::string headerOf(const aws::ObjectRequest& request, const std::string& name) {
    for (const auto& header : request.headers) {
      if (header.name == name) return header.value;
    }
    return {};
  }
  /// As S3 computes it: from the bytes alone.
  static std::string etagOf(const std::string& bytes) {
    return '"' + std::to_string(std::hash<std::string>{}(bytes)) + '"';
  }
  static net::HttpResponse error(int status, const std::string& code) {
    return {status, {}, code.empty() ? "" : "<Error><Code>" + code + "</Code><Message>as scripted</Message></Error>"};
  }

  aws::ObjectOutcome answer(const aws::ObjectRequest& request) {
    if (const auto lied = lie ? lie(request) : std::nullopt) return *lied;
    const Turn now = turn ? turn(request) : Turn{};
    const bool probes = request.key == ".tenure-fence-probe";
    if (!probes) {
      const bool match = !headerOf(request, "If-Match").empty();
      const bool none = !headerOf(request, "If-None-Match").empty();
      const std::lock_guard lock{mutex_};
      log_.push_back(request.method + ' ' + request.key + (match ? " If-Match" : none ? " If-None-Match" : ""));
    }
    const aws::JsonCallError noAnswer{{ErrorClass::transient, "the connection broke"}, true};
    if (now.fate == Fate::error) return error(now.status, now.code);
    if (now.fate == Fate::lost) return noAnswer;
    net::HttpResponse served = serve(request);
    if (now.fate == Fate::servedButLost) {
      if (now.status != 0) return error(now.status, now.code);
      return noAnswer;
    }
    return served;
  }

  net::HttpResponse serve(const aws::ObjectRequest& request) {
    const std::lock_guard lock{mutex_};
    const auto found = objects_.find(request.key);
    const bool there = found != objects_.end();
    if (request.method == "DELETE") {
      objects_.erase(request.key);
      return {204, {}, {}};
    }
    if (request.method == "GET") {
      if (!there) return error(404, "NoSuchKey");
      if (found->second.empty() && !headerOf(request, "Range").empty()) return error(416, "InvalidRange");
      return {200, {{"ETag", etagOf(found->second)}}, found->second};
    }
    const std::string match = headerOf(request, "If-Match");
    if (honoursIfMatch && !match.empty()) {
      if (!there) return error(404, "NoSuchKey");
      if (match != etagOf(found->second)) return error(412, "PreconditionFailed");
    }
    if (honoursIfNoneMatch && there && headerOf(request, "If-None-Match") == "*") {
      return error(412, "PreconditionFailed");
    }
    objects_[request.key] = request.body;
    if (!tellsEtagOfWrites) return {200, {}, {}};
    return {200, {{"ETag", etagOf(request.body)}}, {}};
  }

  mutable std::mutex mutex_{};
  std::map<std::string, std::string> objects_{};
  std::vector<std::string> log_{};
};

}  // namespace tenure::test
