#include "requests.hpp"

#include <utility>

#include "annotations.hpp"
#include "lockcore/port/json_text.hpp"

namespace tenure::kubernetes_store {
namespace {

bool isUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view{"-._~"}.find(c) != std::string_view::npos;
}

std::string selectorOf(const Selection& selection) {
  if (!selection.name.empty()) return "fieldSelector=" + escaped("metadata.name=" + selection.name);
  return "labelSelector=" + escaped(std::string{managedBy} + '=' + std::string{ourselves});
}

}  // namespace

std::string escaped(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (isUnreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 0xFU];
  }
  return out;
}

Requests::Requests(std::string inNamespace)
    : namespace_{std::move(inNamespace)},
      leases_{"/apis/coordination.k8s.io/v1/namespaces/" + namespace_ + "/leases"} {}

Request Requests::get(std::string_view name) const { return {"GET", leases_ + '/' + std::string{name}}; }

Request Requests::create(std::string body) const { return {"POST", leases_, std::move(body)}; }

Request Requests::update(std::string_view name, std::string body) const {
  return {"PUT", leases_ + '/' + std::string{name}, std::move(body)};
}

Request Requests::list(const Selection& selection, std::size_t most, std::string_view next) const {
  std::string target = leases_ + '?' + selectorOf(selection) + "&limit=" + std::to_string(most);
  if (!next.empty()) target += "&continue=" + escaped(next);
  return {.method = "GET", .target = std::move(target), .yields = true, .lists = true};
}

std::string Requests::watch(const Selection& selection, std::string_view resourceVersion) const {
  return leases_ + "?watch=1&" + selectorOf(selection) + "&resourceVersion=" + escaped(resourceVersion) +
         "&allowWatchBookmarks=true&timeoutSeconds=300";
}

Request Requests::rules() const {
  std::string body = R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":)";
  appendQuoted(body, namespace_);
  return {"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body + "}}", true};
}

}  // namespace tenure::kubernetes_store
