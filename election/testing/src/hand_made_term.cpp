#include <algorithm>
#include <stdexcept>
#include <utility>

#include <tenure/testing/hand_made_term.hpp>

#include "election/src/term_handle.hpp"

namespace tenure::test {
namespace {

HandMadeTermOptions checked(HandMadeTermOptions options) {
  constexpr std::chrono::nanoseconds zero{0};
  if (!options.clock) throw std::invalid_argument{"HandMadeTermOptions::clock is null"};
  if (options.leadsFor < zero || options.stopMargin < zero) {
    throw std::invalid_argument{"HandMadeTermOptions: leadsFor and stopMargin may not be negative"};
  }
  // For ever is some 73 years, so that no sum with it overflows.
  const auto longest = std::chrono::nanoseconds::max() / 4;
  options.leadsFor = std::min(options.leadsFor, longest);
  options.stopMargin = std::min(options.stopMargin, longest);
  return options;
}

}  // namespace

struct HandMadeTerm::State {
  explicit State(const HandMadeTermOptions& options)
      : handle{std::make_shared<TermHandle>(options.leaseName, options.holder, options.token, cell,
                                            std::weak_ptr<LeaseDriver>{}, options.clock, nullptr)} {}

  const std::shared_ptr<TermCell> cell{std::make_shared<TermCell>()};
  const std::shared_ptr<TermHandle> handle;
  bool over{false};
};

HandMadeTerm::HandMadeTerm(HandMadeTermOptions options)
    : options_{checked(std::move(options))},
      state_{std::make_shared<State>(options_)},
      leadership_{leadershipUnder(state_->handle)} {
  renew();
}

HandMadeTerm::~HandMadeTerm() { lose(); }

void HandMadeTerm::publish(std::chrono::nanoseconds leadsFor, std::chrono::nanoseconds validFor) {
  state_->cell->publish({options_.clock->now(), leadsFor, validFor, options_.token});
}

void HandMadeTerm::renew() {
  if (!state_->over) publish(options_.leadsFor, options_.leadsFor + options_.stopMargin);
}

void HandMadeTerm::stop() {
  if (std::exchange(state_->over, true)) return;
  TermState now = state_->cell->load();
  now.leadsFor = std::chrono::nanoseconds{0};
  state_->cell->publish(now);
  state_->handle->stop.fire();
}

void HandMadeTerm::lose() {
  state_->cell->publish({});
  if (!std::exchange(state_->over, true)) state_->handle->stop.fire();
}

}  // namespace tenure::test
