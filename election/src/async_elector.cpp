#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <tenure/election/async_elector.hpp>

#include "term_handle.hpp"

namespace tenure {
namespace {

/// Where an exception leaves a caller's function the process ends, on whichever thread it is called.
template <class Answer>
void tell(const std::function<void(Answer)>& done, Answer answer) noexcept {
  done(std::move(answer));
}

/// Answers once, whoever is first: the end of the term, or the cancellation. It keeps itself until then.
class RevocationWait : public std::enable_shared_from_this<RevocationWait> {
 public:
  explicit RevocationWait(std::function<void(bool)> done) : done_{std::move(done)} {}

  void begin(const std::stop_token& ended, const std::stop_token& cancel) {
    const auto self = shared_from_this();
    // Made apart from this object: a callback must not be destroyed inside itself by the last reference to it.
    auto onEnd = std::make_shared<Callback>(ended, [self] { self->answer(true); });
    auto onCancel = std::make_shared<Callback>(cancel, [self] { self->answer(false); });
    const std::lock_guard lock{mutex_};
    if (!answered_) callbacks_ = {std::move(onEnd), std::move(onCancel)};
  }

 private:
  using Callback = std::stop_callback<std::function<void()>>;

  void answer(bool revoked) {
    std::pair<std::shared_ptr<void>, std::shared_ptr<void>> over;
    {
      const std::lock_guard lock{mutex_};
      if (std::exchange(answered_, true)) return;
      over.swap(callbacks_);
    }
    tell(done_, revoked);
  }

  const std::function<void(bool)> done_;
  std::mutex mutex_;
  bool answered_{false};
  std::pair<std::shared_ptr<void>, std::shared_ptr<void>> callbacks_{};
};

/// The thread of a term waits here until nobody holds its work any more.
class WorkEnd {
 public:
  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }
  [[nodiscard]] static std::shared_ptr<void> workOf(const std::shared_ptr<WorkEnd>& end) {
    return {end.get(), [end](void*) {
              if (auto* own = inItsProcess(end)) own->tell();
            }};
  }
  void wait() {
    std::unique_lock lock{mutex_};
    told_.wait(lock, [this] { return over_; });
  }

 private:
  void tell() {
    const std::lock_guard lock{mutex_};
    over_ = true;
    told_.notify_all();
  }

  const ProcessMark mark_{};
  std::mutex mutex_;
  std::condition_variable told_{};
  bool over_{false};
};

}  // namespace

AwaitedTerm::AwaitedTerm(Leadership term, std::shared_ptr<void> work) noexcept
    : term_{std::move(term)}, work_{std::move(work)} {}

/// In a forked child the term's token has fired, and `cancel` may be locked for ever.
void whenRevoked(const Leadership& term, std::function<void(bool)> done, const std::stop_token& cancel) {
  if (!handleOf(term).mark.isHere()) return tell(done, true);
  std::make_shared<RevocationWait>(std::move(done))->begin(term.stopToken(), cancel);
}

/// Where the callback thread of a term and who waits for it meet.
class AsyncElector::Terms : public std::enable_shared_from_this<Terms> {
 public:
  using Done = std::function<void(std::optional<AwaitedTerm>)>;

  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }

  /// On a callback thread: returns when the work of the term has ended. Work that ends before its term gives the term
  /// up: nobody would take it any more, and no other candidate could lead.
  void lead(const Leadership& term) {
    const auto end = std::make_shared<WorkEnd>();
    offer(AwaitedTerm{term, WorkEnd::workOf(end)});
    // A term that nobody took ends without work. It fires inside the constructor if that was before.
    const std::stop_callback untaken{term.stopToken(), [this] { drop(); }};
    end->wait();
    if (term.stopToken().stop_requested()) return;
    if (const auto driver = handleOf(term).driver.lock()) driver->submit(event::StepDown{"its work has ended"});
  }

  void wait(Done done, const std::stop_token& cancel) {
    std::optional<AwaitedTerm> taken;
    std::uint64_t mine = 0;
    {
      const std::lock_guard lock{mutex_};
      const bool over = stopped_ || cancel.stop_requested();
      if (!over) taken.swap(offered_);
      if (!taken && !over) {
        mine = ++lastWait_;
        waits_[mine].done = std::exchange(done, nullptr);
      }
    }
    if (done) return tell(done, std::move(taken));
    arm(mine, cancel);
  }

  void stop() {
    Waits over;
    {
      const std::lock_guard lock{mutex_};
      stopped_ = true;
      over.swap(waits_);
    }
    for (auto& [number, wait] : over) tell<std::optional<AwaitedTerm>>(wait.done, std::nullopt);
  }

 private:
  using Callback = std::stop_callback<std::function<void()>>;
  struct Wait {
    Done done{};
    std::shared_ptr<Callback> onCancel{};
  };
  using Waits = std::map<std::uint64_t, Wait>;  // by their numbers, which grow

  void offer(std::optional<AwaitedTerm> term) {
    Waits::node_type first;
    {
      const std::lock_guard lock{mutex_};
      if (waits_.empty()) return offered_.swap(term);
      first = waits_.extract(waits_.begin());
    }
    tell(first.mapped().done, std::move(term));
  }

  void drop() {
    std::optional<AwaitedTerm> over;
    const std::lock_guard lock{mutex_};
    over.swap(offered_);
  }

  /// The wait may be over before this is reached.
  void arm(std::uint64_t mine, const std::stop_token& cancel) {
    if (!cancel.stop_possible()) return;
    auto callback = std::make_shared<Callback>(cancel, [weak = weak_from_this(), mine] {
      if (const auto self = weak.lock()) self->cancel(mine);
    });
    const std::lock_guard lock{mutex_};
    if (const auto wait = waits_.find(mine); wait != waits_.end()) wait->second.onCancel = std::move(callback);
  }

  void cancel(std::uint64_t which) {
    Waits::node_type over;
    {
      const std::lock_guard lock{mutex_};
      over = waits_.extract(which);
    }
    if (over) tell<std::optional<AwaitedTerm>>(over.mapped().done, std::nullopt);
  }

  const ProcessMark mark_{};
  std::mutex mutex_;
  std::optional<AwaitedTerm> offered_{};
  Waits waits_{};
  std::uint64_t lastWait_{0};
  bool stopped_{false};
};

AsyncElector::AsyncElector(Group group, Runtime runtime) : terms_{std::make_shared<Terms>()} {
  runtime.executor = {};
  Listener listener;
  listener.onElected = [terms = terms_](const Leadership& term) { terms->lead(term); };
  elector_ = std::make_unique<LeaderElector>(std::move(group), std::move(listener), std::move(runtime));
}

AsyncElector::~AsyncElector() {
  if (!elector_) return;
  terms_->isHere() ? requestStop() : leaveToParent(std::move(terms_));
}

AsyncElector::AsyncElector(AsyncElector&&) noexcept = default;

AsyncElector& AsyncElector::operator=(AsyncElector&& other) noexcept {
  AsyncElector gone{std::move(other)};  // swapped, so that a move to itself changes nothing
  terms_.swap(gone.terms_);
  elector_.swap(gone.elector_);
  return *this;
}

void AsyncElector::start() { elector_->start(); }

void AsyncElector::requestStop(std::function<void(ReleaseResult)> done) {
  const std::shared_ptr<Terms> terms = terms_;  // `done` may destroy this
  elector_->requestStop(std::move(done));
  if (auto* own = inItsProcess(terms)) own->stop();
}

ReleaseResult AsyncElector::stop() {
  if (auto* own = inItsProcess(terms_)) own->stop();
  return elector_->stop();
}

LeaderElector& AsyncElector::elector() noexcept { return *elector_; }

void AsyncElector::whenElected(std::function<void(std::optional<AwaitedTerm>)> done, const std::stop_token& cancel) {
  const std::shared_ptr<Terms> terms = terms_;  // `done` may destroy this
  auto* own = inItsProcess(terms);
  return own != nullptr ? own->wait(std::move(done), cancel) : tell<std::optional<AwaitedTerm>>(done, std::nullopt);
}

}  // namespace tenure
