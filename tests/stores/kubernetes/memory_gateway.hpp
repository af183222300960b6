// A gateway to an API server in memory, with faults that a test chooses.
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

#include "lockcore/kubernetes/gateway.hpp"
#include "simulation/kubernetes/sim_api_server.hpp"

namespace tenure::test {

/// The server, shared by the gateways of a test.
struct SharedApiServer {
  std::mutex mutex;
  ApiServer server;  ///< guarded by mutex
};

/// Answers on the scheduler. Thread-safe.
class MemoryApiGateway final : public kubernetes_store::Gateway {
 public:
  explicit MemoryApiGateway(std::shared_ptr<SharedApiServer> api,
                            std::shared_ptr<Scheduler> scheduler = sharedScheduler())
      : api_{std::move(api)}, scheduler_{std::move(scheduler)} {}

  /// Answers instead of the server, or after it: gets the request, and what the server says if it is asked.
  using Fault = std::function<kubernetes_store::Outcome(const kubernetes_store::Request& request,
                                                        const std::function<ApiAnswer()>& server)>;
  void setFault(Fault fault) {
    const std::lock_guard lock{mutex_};
    fault_ = std::move(fault);
  }

  void call(kubernetes_store::Request request, std::chrono::nanoseconds /*timeout*/,
            kubernetes_store::OutcomeHandler handler) override {
    Fault fault;
    {
      const std::lock_guard lock{mutex_};
      requests_.push_back(request);
      fault = fault_;
    }
    scheduler_->post([api = api_, fault, request = std::move(request), handler = std::move(handler)] {
      const auto ask = [&] {
        const std::lock_guard lock{api->mutex};
        return api->server.handle(request.method, request.target, request.body);
      };
      if (fault) return handler(fault(request, ask));
      const ApiAnswer answer = ask();
      handler(kubernetes_store::Reply{answer.status, answer.body});
    });
  }

  [[nodiscard]] std::shared_ptr<void> stream(std::string target, std::chrono::nanoseconds /*silence*/,
                                             kubernetes_store::StreamHandlers handlers) override {
    const auto live = std::make_shared<std::recursive_mutex>();
    const auto shared = std::make_shared<std::optional<kubernetes_store::StreamHandlers>>(std::move(handlers));
    ++streams_;
    const std::lock_guard lock{api_->mutex};
    const std::uint64_t number =
        api_->server.watch(target, [live, shared, scheduler = scheduler_](const std::string& line) {
          scheduler->post([live, shared, line] {
            const std::lock_guard guard{*live};
            if (*shared) (*shared)->onLine(line);
          });
        });
    return {shared.get(), [api = api_, number, live, shared](void*) {
              {
                const std::lock_guard guard{api->mutex};
                api->server.unwatch(number);
              }
              const std::lock_guard guard{*live};
              shared->reset();
            }};
  }

  [[nodiscard]] std::string describe() const override { return "https://server"; }

  [[nodiscard]] std::vector<kubernetes_store::Request> requests() {
    const std::lock_guard lock{mutex_};
    return requests_;
  }
  [[nodiscard]] int streams() const { return streams_; }

 private:
  const std::shared_ptr<SharedApiServer> api_;
  const std::shared_ptr<Scheduler> scheduler_;
  std::mutex mutex_;
  std::vector<kubernetes_store::Request> requests_{};  ///< guarded by mutex_, as the next one
  Fault fault_{};
  std::atomic<int> streams_{0};
};

}  // namespace tenure::test
