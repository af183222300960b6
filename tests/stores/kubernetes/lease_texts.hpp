// Lease objects as tests write them down.
#pragma once

#include <map>
#include <string>

#include <boost/json/parse.hpp>

#include "lockcore/kubernetes/lease_object.hpp"
#include "lockcore/port/json_text.hpp"

namespace tenure::kubernetes_store {

/// As the server shows it. `spec` is JSON.
inline LeaseObject leaseOf(const std::string& name, const std::string& spec,
                           const std::map<std::string, std::string>& annotations = {},
                           const std::string& resourceVersion = "221") {
  std::string text = R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":")" + name +
                     R"(","namespace":"default","uid":"u-1","resourceVersion":")" + resourceVersion + '"';
  if (!annotations.empty()) {
    std::string all;
    for (const auto& [key, value] : annotations) {
      appendQuoted(all += all.empty() ? "" : ",", key);
      appendQuoted(all += ':', value);
    }
    text += R"(,"annotations":{)" + all + '}';
  }
  return leaseObjectFrom(boost::json::parse(text + R"(},"spec":)" + spec + '}')).value();
}

}  // namespace tenure::kubernetes_store
