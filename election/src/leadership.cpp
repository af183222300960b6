#include <utility>

#include <tenure/election/leadership.hpp>

#include "term_handle.hpp"

namespace tenure {

Leadership::Leadership(std::shared_ptr<TermHandle> term) noexcept : term_{std::move(term)} {}

FencingToken Leadership::fencingToken() const noexcept { return term_->token; }

std::stop_token Leadership::stopToken() const noexcept {
  return term_->mark.isHere() ? term_->stop.token() : term_->stop.tokenInChild();
}

bool Leadership::leads() const noexcept {
  return !term_->stop.requested() && term_->state().leadsAt(term_->clock->now());
}

bool Leadership::isValid() const noexcept { return term_->state().validAt(term_->clock->now()); }

std::chrono::nanoseconds Leadership::remaining() const noexcept {
  if (term_->stop.requested()) return std::chrono::nanoseconds{0};
  return term_->state().remainingAt(term_->clock->now());
}

TermState Leadership::state() const noexcept { return term_->state(); }

void Leadership::reportProgress(std::chrono::nanoseconds ago) const noexcept {
  if (term_->state().token.isNone()) return;  // work of an ended term is no sign of life for the next term
  if (const auto driver = term_->driver.lock()) driver->reportProgress(term_->clock->now() + -ago);
}

void Leadership::reportEffective() const {
  if (const auto driver = term_->driver.lock()) driver->reportEffective(term_->token);
}

void Leadership::reportStaleToken(FencingToken seen) const {
  if (const auto driver = term_->driver.lock()) driver->submit(event::TokenSeen{seen});
}

const std::string& Leadership::leaseName() const noexcept { return term_->leaseName; }

const std::string& Leadership::holder() const noexcept { return term_->holder; }

}  // namespace tenure
