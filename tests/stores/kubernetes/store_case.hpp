// A store over an API server in memory, with a hand that writes as others do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "contract/store_calls.hpp"
#include "lockcore/stores/kubernetes/src/store.hpp"
#include "stores/kubernetes/memory_gateway.hpp"

namespace tenure::kubernetes_store {

using contract::acquire;
using contract::release;
using contract::renew;
using test::ApiAnswer;
using test::ApiServer;

class KubernetesStoreCase : public testing::Test {
 protected:
  [[nodiscard]] static Outcome replied(const ApiAnswer& answer) { return Reply{answer.status, answer.body}; }
  /// Each request of this method is answered so, and carried out before if `applied`.
  void answer(const std::string& method, ApiAnswer with, bool applied = false) {
    gateway_->setFault([=](const Request& request, const auto& server) -> Outcome {
      if (request.method != method) return replied(server());
      if (applied) static_cast<void>(server());
      return replied(with);
    });
  }
  [[nodiscard]] contract::StoreCalls storeOn(const std::shared_ptr<Gateway>& gateway) const {
    return contract::StoreCalls{makeStore({"default"}, {gateway, {}, sharedScheduler()}), ledger_};
  }
  [[nodiscard]] contract::StoreCalls another() const { return storeOn(std::make_shared<test::MemoryApiGateway>(api_)); }
  RecordVersion take() {
    store_.apply(acquire(key_, "a"));
    return store_.record(key_).version;
  }
  void edit(const std::function<void(boost::json::object&)>& change) {
    const std::lock_guard lock{api_->mutex};
    api_->server.edit("lease", change);
  }
  void label(const std::string& text) {
    edit([&](auto& lease) { lease["metadata"].get_object()["labels"].get_object()["seen"] = text; });
  }
  void erase() {
    const std::lock_guard lock{api_->mutex};
    api_->server.erase("lease");
  }
  /// As client-go writes the object that it has fetched; an empty holder gives it back.
  void takeAsClientGo(const std::string& holder, const std::string& renewTime) {
    edit([&](auto& lease) {
      boost::json::object spec;
      spec["holderIdentity"] = holder;
      spec["leaseDurationSeconds"] = holder.empty() ? 1 : 15;
      spec["acquireTime"] = "2026-11-26T08:00:00.000000Z";
      spec["renewTime"] = renewTime;
      spec["leaseTransitions"] = 40;
      lease["spec"] = spec;
    });
  }
  [[nodiscard]] std::size_t requests() const { return gateway_->requests().size(); }
  [[nodiscard]] std::vector<std::string> methodsSince(std::size_t first) const {
    std::vector<std::string> methods;
    const auto all = gateway_->requests();
    for (std::size_t i = first; i < all.size(); ++i) methods.push_back(all[i].method);
    return methods;
  }

  using Methods = std::vector<std::string>;
  const LeaseKey key_{"lease"};
  const std::shared_ptr<test::SharedApiServer> api_ = std::make_shared<test::SharedApiServer>();
  const std::shared_ptr<test::MemoryApiGateway> gateway_ = std::make_shared<test::MemoryApiGateway>(api_);
  const std::shared_ptr<contract::CallLedger> ledger_ = std::make_shared<contract::CallLedger>();
  const contract::StoreCalls store_ = storeOn(gateway_);
};

}  // namespace tenure::kubernetes_store
