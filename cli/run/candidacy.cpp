#include "candidacy.hpp"

#include <utility>

namespace tenure::cli {

Candidacy::Candidacy(const Group& group, CandidacyEvents events, MainTasks& tasks, TermPublisher& publisher,
                     const ElectorView& continues, Routing routing, bool ready)
    : events_{std::move(events)}, routing_{std::move(routing)}, tasks_{tasks}, publisher_{publisher} {
  Listener listener;
  listener.onElected = [this](const Leadership& term) {
    if (routing_) routing_(term);
    work(term);
  };
  listener.onInDoubt = [this](const Doubt&) { tasks_.post([doubted = events_.doubted] { doubted(true); }); };
  listener.onRenewed = [this](const Renewal& renewal) {
    {
      const std::lock_guard lock{mutex_};
      if (term_) publisher_.publish(*term_);
    }
    if (renewal.afterDoubt) tasks_.post([doubted = events_.doubted] { doubted(false); });
    if (events_.renewed) tasks_.post([renewed = events_.renewed, token = renewal.token] { renewed(token); });
  };
  listener.onLeaderChanged = [this](const std::optional<LeaderInfo>& leader) {
    tasks_.post([seen = events_.leaderSeen, leader] { seen(leader); });
  };
  elector_ = std::make_unique<LeaderElector>(group, std::move(listener));
  view_ = elector_->view(continues);
  if (!ready) elector_->setReady(false);
  stopper_ = std::thread{[this, wish = wish_.get_future()]() mutable {
    if (!wish.get()) return;
    const ReleaseResult result = elector_->stop();
    tasks_.post([stopped = events_.stopped, result] { stopped(result); });
  }};
  try {
    elector_->start();
  } catch (...) {
    wish_.set_value(false);
    stopper_.join();
    throw;
  }
}

Candidacy::~Candidacy() {
  if (!std::exchange(wished_, true)) wish_.set_value(false);
  stopper_.join();
  elector_.reset();
}

/// Runs on a callback thread for as long as the job runs. The stop callback must not depend on the main thread, which
/// may be busy, so it tells the guard the new state itself.
void Candidacy::work(const Leadership& term) {
  auto handle = std::make_shared<std::promise<void>>();
  std::future<void> done = handle->get_future();
  {
    const std::lock_guard lock{mutex_};
    term_ = term;
  }
  // The task owns the only handle: if nobody takes the task, the promise is broken and the wait below ends as well.
  tasks_.post([began = events_.termBegan, term, handle = std::move(handle)] { began(term, handle); });
  const std::stop_callback onStop{term.stopToken(), [this, term] {
                                    publisher_.publish(term);
                                    tasks_.post([ends = events_.termEnds, term] { ends(term.fencingToken()); });
                                  }};
  done.wait();
  const std::lock_guard lock{mutex_};
  term_.reset();
}

void Candidacy::stop() {
  if (!std::exchange(wished_, true)) wish_.set_value(true);
}

}  // namespace tenure::cli
