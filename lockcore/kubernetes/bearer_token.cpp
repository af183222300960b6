#include "bearer_token.hpp"

#include <algorithm>
#include <utility>

#include "pod.hpp"

namespace tenure::kubernetes_store {

BearerToken::BearerToken(std::string file, std::string constant, std::shared_ptr<const Clock> clock)
    : file_{std::move(file)}, constant_{std::move(constant)}, clock_{std::move(clock)} {}

StoreResult<std::string> BearerToken::show() {
  if (file_.empty()) return constant_;
  const Instant now = clock_->now();
  const std::lock_guard lock{mutex_};
  if (readAt_ && elapsedForHolder(*readAt_, now) < readEvery) return token_;
  return renewed(now);
}

bool BearerToken::replaced(const std::string& refused) {
  if (file_.empty()) return false;
  const Instant now = clock_->now();
  const std::lock_guard lock{mutex_};
  if (token_ != refused) return true;
  const auto token = renewed(now);
  return token.has_value() && *token != refused;
}

/// The mutex is held.
StoreResult<std::string> BearerToken::renewed(const Instant& now) {
  auto read = readFile();
  if (read.has_error() && !readAt_) {
    if (constant_.empty()) return read.error();
    token_ = constant_;
  }
  readAt_ = now;
  if (read.has_value()) token_ = std::move(*read);
  return token_;
}

StoreResult<std::string> BearerToken::readFile() const {
  auto text = smallFile("token file", file_);
  if (text.has_error()) return text.error();
  const bool plain = std::all_of(text->begin(), text->end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (text->empty() || !plain) {
    return StoreError{ErrorClass::credentials, "the token file " + file_ + " has no token, or more than one line",
                      true};
  }
  return text;
}

}  // namespace tenure::kubernetes_store
