#include "opener.hpp"

#include <utility>

namespace tenure::postgresql_store {

void Opener::begin(std::chrono::nanoseconds time, Done done) {
  done_ = std::move(done);
  time_ = time;
  tried_ = 0;
  failure_.reset();
  destination_ = destinationOf(settings_, passwordFile_);
  if (!destination_.fault.empty()) {
    return finish(ConnectFailure{destination_.fault, {}, JobReply::Cause::misconfigured});
  }
  if (!destination_.passwordFault.empty()) {
    return finish(ConnectFailure{destination_.passwordFault, {}, JobReply::Cause::credentials});
  }
  first_ %= destination_.hosts.size();
  tryHost();
}

void Opener::stop() {
  around_.alarms.clear(*this);
  step_ = std::make_shared<int>();
  dial_.reset();
  done_ = nullptr;
}

void Opener::tryHost() {
  host_ = destination_.hosts[(first_ + tried_) % destination_.hosts.size()];
  addresses_.clear();
  step_ = std::make_shared<int>();
  if (host_.needsLookup()) {
    lookUp(host_);
  } else {
    tryAddress();
  }
}

void Opener::wait(bool isLast) {
  waiting_ = isLast ? time_ : time_ / 2;
  around_.alarms.set(*this, around_.now() + waiting_);
}

/// libpq would look the name up itself, and block.
void Opener::lookUp(const Host& host) {
  wait(tried_ + 1 == destination_.hosts.size());
  around_.book.find(host.name, [this, weak = std::weak_ptr{step_}, host](const net::LookupResult& result) {
    if (!weak.expired()) found(host, result);
  });
}

void Opener::found(const Host& host, const net::LookupResult& result) {
  step_ = std::make_shared<int>();
  if (!result) {
    note({result.error().why, {}, JobReply::Cause::misconfigured});
    return nextHost();
  }
  host_ = host;
  addresses_ = *result;
  tryAddress();
}

void Opener::tryAddress() {
  if (!addresses_.empty()) host_.address = net::toString(addresses_.front());
  step_ = std::make_shared<int>();
  wait(tried_ + 1 == destination_.hosts.size() && addresses_.size() <= 1);
  dial_ = std::make_shared<Dial>(around_, [this, weak = std::weak_ptr{step_}](Connected connected) {
    if (!weak.expired()) answered(std::move(connected));
  });
  dial_->begin(settingsFor(destination_, host_));
}

void Opener::answered(Connected connected) {
  step_ = std::make_shared<int>();
  if (std::holds_alternative<ConnectionHandle>(connected)) {
    first_ = (first_ + tried_) % destination_.hosts.size();
    return finish(std::move(connected));
  }
  auto& failure = std::get<ConnectFailure>(connected);
  const bool lacksPassword = failure.cause == JobReply::Cause::credentials && failure.complaint.sqlState.empty();
  if (lacksPassword && !destination_.passfileFault.empty()) {
    failure.text += "; " + std::exchange(destination_.passfileFault, {});  // once is enough for several hosts
  }
  note(std::move(failure));
  nextAddress();
}

void Opener::onAlarm() {
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(waiting_).count();
  const std::string where = toString(std::vector<Host>{host_});
  note({(dial_ ? "no answer from " + where : "no answer to the lookup of the name " + host_.name) + " within " +
            std::to_string(waited) + " ms",
        {},
        JobReply::Cause::transient});
  nextAddress();
}

void Opener::nextAddress() {
  dial_.reset();
  if (!addresses_.empty()) {
    around_.book.putLast(host_.name, addresses_.front());
    addresses_.erase(addresses_.begin());
    if (!addresses_.empty()) return tryAddress();
    around_.book.doubt(host_.name);
  }
  nextHost();
}

void Opener::nextHost() {
  dial_.reset();
  if (++tried_ < destination_.hosts.size()) return tryHost();
  finish(std::move(*failure_));
}

/// Trouble that may pass at one server makes the whole attempt worth repeating soon.
void Opener::note(ConnectFailure failure) {
  failure.text = inOneLine(failure.text.c_str());
  if (failure_) {
    failure.text = failure_->text + "; " + failure.text;
    if (failure_->cause == JobReply::Cause::transient) failure.cause = JobReply::Cause::transient;
    if (failure.complaint.sqlState.empty()) failure.complaint = failure_->complaint;
  }
  failure_ = std::move(failure);
}

void Opener::finish(Connected connected) {
  const Done done = std::exchange(done_, nullptr);
  stop();
  done(std::move(connected));
}

}  // namespace tenure::postgresql_store
