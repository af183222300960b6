// A gateway to a cluster in memory, with faults that a test chooses.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/stores/etcd/src/gateway.hpp"
#include "simulation/etcd/sim_etcd_cluster.hpp"

namespace tenure::test {

/// The cluster, shared by the gateways of a test.
struct SharedEtcd {
  std::mutex mutex;
  EtcdCluster cluster;  ///< guarded by mutex
};

/// Answers on the scheduler. Thread-safe.
class MemoryGateway final : public etcd_store::Gateway {
 public:
  explicit MemoryGateway(std::shared_ptr<SharedEtcd> etcd, std::shared_ptr<Scheduler> scheduler = sharedScheduler())
      : etcd_{std::move(etcd)}, scheduler_{std::move(scheduler)} {}

  /// Answers instead of the cluster, or after it: gets the body, and what the cluster says if it is asked.
  using Fault = std::function<etcd_store::Outcome(const std::string& body, const std::function<EtcdAnswer()>& cluster)>;
  void setFault(Fault fault) {
    const std::lock_guard lock{mutex_};
    fault_ = std::move(fault);
  }

  void call(std::string_view /*path*/, std::string body, std::chrono::nanoseconds /*timeout*/, Repeat /*repeat*/,
            etcd_store::OutcomeHandler handler) override {
    Fault fault;
    {
      const std::lock_guard lock{mutex_};
      bodies_.push_back(body);
      fault = fault_;
    }
    scheduler_->post([etcd = etcd_, fault, body = std::move(body), handler = std::move(handler)] {
      const auto ask = [&] {
        const std::lock_guard lock{etcd->mutex};
        return etcd->cluster.txn(body);
      };
      if (fault) return handler(fault(body, ask));
      const EtcdAnswer answer = ask();
      handler(etcd_store::Reply{answer.status, answer.body, "http://member"});
    });
  }

  [[nodiscard]] std::shared_ptr<void> stream(std::string_view /*path*/, std::string body,
                                             std::chrono::nanoseconds /*silence*/,
                                             etcd_store::StreamHandlers handlers) override {
    const auto live = std::make_shared<std::recursive_mutex>();
    const auto shared = std::make_shared<std::optional<etcd_store::StreamHandlers>>(std::move(handlers));
    ++streams_;
    const std::lock_guard lock{etcd_->mutex};
    const std::uint64_t number =
        etcd_->cluster.watch(body, [live, shared, scheduler = scheduler_](const std::string& line) {
          scheduler->post([live, shared, line] {
            const std::lock_guard guard{*live};
            if (*shared) (*shared)->onLine(line);
          });
        });
    return {shared.get(), [etcd = etcd_, number, live, shared](void*) {
              {
                const std::lock_guard guard{etcd->mutex};
                etcd->cluster.unwatch(number);
              }
              const std::lock_guard guard{*live};
              shared->reset();
            }};
  }

  [[nodiscard]] std::string describe() const override { return "http://member"; }

  [[nodiscard]] std::vector<std::string> bodies() {
    const std::lock_guard lock{mutex_};
    return bodies_;
  }
  [[nodiscard]] int streams() const { return streams_; }

 private:
  const std::shared_ptr<SharedEtcd> etcd_;
  const std::shared_ptr<Scheduler> scheduler_;
  std::mutex mutex_;
  std::vector<std::string> bodies_{};  ///< guarded by mutex_, as the next one
  Fault fault_{};
  std::atomic<int> streams_{0};
};

}  // namespace tenure::test
