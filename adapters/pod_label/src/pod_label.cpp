// The thread of a PodLabel, and its log.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <tenure/adapters/pod_label.hpp>

#include "lockcore/kubernetes/http_gateway.hpp"
#include "lockcore/kubernetes/label_selector.hpp"
#include "lockcore/kubernetes/names.hpp"
#include "lockcore/kubernetes/pod.hpp"
#include "lockcore/port/file_access.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/thread.hpp"
#include "lockcore/runtime/waiter.hpp"
#include "pod_keeper.hpp"
#include "routing_log.hpp"

namespace tenure {
namespace {

using kubernetes_store::CallFault;
using kubernetes_store::Gateway;
using kubernetes_store::Outcome;
using kubernetes_store::Request;
using pod_label::PodKeeper;
using pod_label::Report;
using pod_label::RoutingLog;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The process ends, and nobody must wait for a server that is not there.
constexpr milliseconds endsWithin{1'000};
constexpr milliseconds firstPause{1'000};

void checkRange(const char* field, milliseconds value, milliseconds least, milliseconds most, const char* allowed,
                OptionFaults& faults) {
  if (value < least || value > most) faults.push_back({field, std::string{"must be "} + allowed, true});
}

/// The options with what they leave to the pod.
KubernetesStoreOptions wholeCluster(const PodLabelOptions& options) {
  throwIfFaulty("pod label", faultsOf(options));
  auto whole = kubernetes_store::completed(options.cluster, kubernetes_store::ofProcess);
  if (whole.has_error()) throw UnusableHere{"pod label: " + whole.error().message};
  kubernetes_store::checkOptions(*whole);
  return *std::move(whole);
}

}  // namespace

OptionFaults faultsOf(const PodLabelOptions& options) {
  OptionFaults faults;
  for (OptionFault& fault : faultsOf(options.cluster)) {
    fault.field = "cluster." + fault.field;
    faults.push_back(std::move(fault));
  }
  if (!kubernetes_store::isObjectName(options.pod))
    faults.push_back({"pod", inQuotes(options.pod) + " is not a pod name; metadata.name of the downward API has it"});
  if (std::string fault = kubernetes_store::faultOfSelector(options.selector); !fault.empty())
    faults.push_back({"selector", std::move(fault)});
  checkRange("lookEvery", options.lookEvery, minLeaseDuration, maxLeaseDuration, "100 ms to 24 h", faults);
  checkRange("timeout", options.timeout, milliseconds{10}, std::chrono::hours{1}, "10 ms to 1 h", faults);
  return faults;
}

/// Shared with the thread, so that a label may be destroyed on any thread.
class PodLabel::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(const PodLabelOptions& options, const KubernetesStoreOptions& cluster, Logger logger)
      : lookEvery_{options.lookEvery},
        timeout_{options.timeout},
        gateway_{kubernetes_store::makeHttpGateway(cluster, logger)},
        keeper_{{"Kubernetes at " + gateway_->describe() + ", namespace " + cluster.inNamespace, cluster.inNamespace,
                 options.pod, options.selector},
                [this](const Request& request) { return ask(request); }},
        log_{std::move(logger)} {}

  void start() {
    thread_ = detail::startThread("tenure-pod", [self = shared_from_this()] { self->run(); });
  }

  void elected(const FencedTerm& lease, std::stop_token stop) {
    auto term = std::make_shared<Term>(lease);
    {
      const std::lock_guard lock{mutex_};
      term_ = term;
      poked_ = true;
    }
    changed_.notify_all();
    // Made and destroyed outside of the mutex, because it may run at once, and its end waits for a run.
    auto onStop = std::make_unique<StopCallback>(std::move(stop), [weak = weak_from_this(), term] {
      term->stopped = true;
      if (const auto self = weak.lock()) self->poke();
    });
    const std::lock_guard lock{stopMutex_};
    onStop_ = std::move(onStop);
  }

  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }
  [[nodiscard]] StoreStatus checkRights() const { return keeper_.checkRights(); }

  void close() {
    std::shared_ptr<Gateway> gateway;
    {
      std::unique_lock lock{mutex_};
      ending_ = true;
      changed_.notify_all();
      changed_.wait_for(lock, endsWithin, [this] { return ended_; });
      gateway = std::move(gateway_);
    }
    gateway.reset();  // answers what is under way
    {
      const std::lock_guard lock{stopMutex_};
      onStop_.reset();
    }
    detail::leaveThread(thread_);
  }

 private:
  /// A term for which the label is kept.
  struct Term {
    explicit Term(FencedTerm of) : lease{std::move(of)} {}

    [[nodiscard]] bool leads() const { return !stopped && !lease.error(); }
    [[nodiscard]] FencingToken token() const { return lease.stamp().token; }

    const FencedTerm lease;
    std::atomic<bool> stopped{false};
  };
  using StopCallback = std::stop_callback<std::function<void()>>;

  void poke() {
    {
      const std::lock_guard lock{mutex_};
      poked_ = true;
    }
    changed_.notify_all();
  }

  void run() {
    std::unique_lock lock{mutex_};
    while (term_ || !ending_) {
      poked_ = false;
      const std::shared_ptr<Term> term = term_;
      const bool leads = term && !ending_ && term->leads();
      nanoseconds pause = nanoseconds::max();
      if (term) {
        lock.unlock();
        pause = act(*term, leads);
        lock.lock();
        // The end of a term is tried again while it may succeed, for the label would stay with a pod that does not
        // lead.
        const bool isOver = !leads && (pause_ == nanoseconds{0} || ending_);
        if (isOver) pause = nanoseconds::max();
        if (isOver && term_ == term) term_.reset();
      }
      waitFor(lock, pause);
    }
    ended_ = true;
    changed_.notify_all();
  }

  /// The mutex is held. Returns at once if there is something to do.
  void waitFor(std::unique_lock<std::mutex>& lock, nanoseconds pause) {
    const auto due = [this] { return poked_ || ending_; };
    if (pause == nanoseconds::max()) {
      changed_.wait(lock, due);
    } else {
      changed_.wait_for(lock, pause, due);
    }
  }

  /// Returns when the next look is due.
  nanoseconds act(const Term& term, bool leads) {
    const Report report =
        leads ? keeper_.keep(term.token(), [&] { return term.leads(); }) : keeper_.withdraw(term.token());
    log_.take(report, term.token());
    const bool soon = report.error && mayPass(*report.error);
    pause_ = soon ? std::min<nanoseconds>(std::max<nanoseconds>(2 * pause_, firstPause), lookEvery_) : nanoseconds{0};
    return soon ? pause_ : lookEvery_;
  }

  /// Blocks.
  Outcome ask(const Request& request) const {
    const auto answer = std::make_shared<Waiter<Outcome>>();
    {
      std::shared_ptr<Gateway> gateway;
      {
        const std::lock_guard lock{mutex_};
        gateway = gateway_;
      }
      if (!gateway) return CallFault{{ErrorClass::transient, "the program ends"}, false};
      gateway->call(request, timeout_, [answer](Outcome outcome) { answer->tell(std::move(outcome)); });
    }
    return answer->wait();  // without a reference to the gateway, whose end answers it
  }

  const nanoseconds lookEvery_;
  const nanoseconds timeout_;
  const ProcessMark mark_{};
  mutable std::mutex mutex_{};  ///< guards what follows, up to the thread's own; never held during a request
  std::condition_variable changed_{};
  std::shared_ptr<Gateway> gateway_;
  std::shared_ptr<Term> term_{};
  bool poked_{false};
  bool ending_{false};
  bool ended_{false};
  const PodKeeper keeper_;
  RoutingLog log_;        ///< of the thread, as the next one
  nanoseconds pause_{0};  ///< after an error that may pass; it doubles
  std::mutex stopMutex_{};
  std::unique_ptr<StopCallback> onStop_{};  ///< guarded by stopMutex_
  std::thread thread_{};
};

PodLabel::PodLabel(const PodLabelOptions& options, Logger logger)
    : impl_{std::make_shared<Impl>(options, wholeCluster(options), std::move(logger))} {
  impl_->start();
}

PodLabel::~PodLabel() {
  if (impl_->isHere()) {
    impl_->close();
  } else {
    leaveToParent(std::move(impl_));
  }
}

void PodLabel::elected(const FencedTerm& term, std::stop_token stop) {
  if (auto* own = inItsProcess(impl_)) own->elected(term, std::move(stop));
}

StoreStatus PodLabel::checkRights() const {
  if (auto* own = inItsProcess(impl_)) return own->checkRights();
  return StoreError{ErrorClass::misconfigured,
                    "this process is a forked child of the one that made the pod label; make one here"};
}

}  // namespace tenure
