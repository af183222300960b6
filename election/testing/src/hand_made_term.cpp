#include <utility>

#include <tenure/testing/hand_made_term.hpp>

#include "election/src/term_handle.hpp"

namespace tenure::test {

struct HandMadeTerm::State {
  explicit State(const HandMadeTermOptions& options)
      : handle{std::make_shared<TermHandle>(options.leaseName, options.holder, options.token, cell,
                                            std::weak_ptr<LeaseDriver>{}, options.clock, nullptr)} {}

  const std::shared_ptr<TermCell> cell{std::make_shared<TermCell>()};
  const std::shared_ptr<TermHandle> handle;
  bool over{false};
};

HandMadeTerm::HandMadeTerm(HandMadeTermOptions options)
    : options_{std::move(options)}, state_{std::make_shared<State>(options_)}, leadership_{state_->handle} {
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
