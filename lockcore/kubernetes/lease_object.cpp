#include "lease_object.hpp"

#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "names.hpp"

namespace tenure::kubernetes_store {
namespace {

using boost::json::object;
using boost::json::value;

/// What is absent or null is empty; false: it is no text.
bool takeText(const object& from, std::string_view name, std::string& out) {
  const auto* found = from.if_contains(name);
  if (found == nullptr || found->is_null()) return true;
  const auto* text = found->if_string();
  if (text != nullptr) out.assign(text->data(), text->size());
  return text != nullptr;
}

bool takeNumber(const object& from, std::string_view name, std::optional<std::int64_t>& out) {
  const auto* found = from.if_contains(name);
  if (found == nullptr || found->is_null()) return true;
  if (!found->is_int64()) return false;
  out = found->get_int64();
  return true;
}

std::optional<LeaseSpec> specFrom(const object& from) {
  LeaseSpec spec;
  std::optional<std::int64_t> transitions;
  const bool good = takeText(from, "holderIdentity", spec.holder) && takeText(from, "acquireTime", spec.acquireTime) &&
                    takeText(from, "renewTime", spec.renewTime) && takeText(from, "strategy", spec.strategy) &&
                    takeText(from, "preferredHolder", spec.preferredHolder) &&
                    takeNumber(from, "leaseDurationSeconds", spec.leaseSeconds) &&
                    takeNumber(from, "leaseTransitions", transitions);
  spec.transitions = transitions.value_or(0);
  if (!good || spec.transitions < 0 || spec.leaseSeconds.value_or(1) < 1) return std::nullopt;
  return spec;
}

/// Absent or an object of texts.
bool isTexts(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  if (found == nullptr || found->is_null()) return true;
  if (!found->is_object()) return false;
  for (const auto& one : found->get_object()) {
    if (!one.value().is_string()) return false;
  }
  return true;
}

/// In a listing the kind is said once for all.
bool isOfKind(const object& whole) {
  const auto is = [&](std::string_view name, std::string_view wanted) {
    return !whole.contains(name) || textIn(whole, name) == wanted;
  };
  return is("kind", "Lease") && is("apiVersion", apiVersion);
}

/// In memory each value costs many times the two bytes that it can have in a text. A hundred Leases with thousands of
/// managed fields have fewer.
constexpr std::size_t mostValues = 500'000;

/// The values of a JSON text, or a few more: each begins the text, or stands behind one of these outside of texts.
std::size_t valuesIn(std::string_view text) {
  std::size_t count = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (!quoted && (c == ',' || c == ':' || c == '[' || c == '{')) ++count;
  }
  return count;
}

}  // namespace

boost::json::value jsonFrom(std::string_view text) {
  if (valuesIn(text) > mostValues) return {};
  boost::system::error_code fault;
  boost::json::value out = boost::json::parse(text, fault);
  return fault ? boost::json::value{} : out;
}

const object* objectIn(const object& from, std::string_view name) noexcept {
  const auto* found = from.if_contains(name);
  return found != nullptr ? found->if_object() : nullptr;
}

std::string textIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  const auto* text = found != nullptr ? found->if_string() : nullptr;
  return text != nullptr ? std::string{viewOf(*text)} : std::string{};
}

std::optional<std::uint64_t> revisionFrom(std::string_view text) {
  const auto number = numberFrom<std::uint64_t>(text);
  return number && *number > 0 ? number : std::nullopt;
}

const boost::json::string* LeaseObject::annotation(std::string_view wanted) const noexcept {
  const object* metadata = objectIn(whole, "metadata");
  const object* all = metadata != nullptr ? objectIn(*metadata, "annotations") : nullptr;
  const auto* found = all != nullptr ? all->if_contains(wanted) : nullptr;
  return found != nullptr ? found->if_string() : nullptr;
}

Read<LeaseObject> leaseObjectFrom(value from) {
  if (!from.is_object() || !isOfKind(from.get_object())) return Misunderstood{"the answer is not a Lease"};
  LeaseObject out{std::move(from.get_object())};
  auto* metadata = out.whole.if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return Misunderstood{"the answer is not a Lease"};
  object& meta = metadata->get_object();
  meta.erase("managedFields");
  out.name = textIn(meta, "name");
  out.uid = textIn(meta, "uid");
  out.resourceVersion = textIn(meta, "resourceVersion");
  const auto revision = revisionFrom(out.resourceVersion);
  if (!isObjectName(out.name) || out.uid.empty() || !isTexts(meta, "annotations") || !isTexts(meta, "labels")) {
    return Misunderstood{"the answer is a Lease without a name and a uid, or with labels that are none"};
  }
  if (!revision) return Misunderstood{"the answer is a Lease whose resourceVersion is not a number"};
  out.revision = *revision;
  const auto* spec = out.whole.if_contains("spec");
  if (spec != nullptr && !spec->is_null() && !spec->is_object()) return Misunderstood{"its spec is not an object"};
  if (spec == nullptr || spec->is_null()) return out;
  auto read = specFrom(spec->get_object());
  if (!read) return Misunderstood{"the answer is a Lease with a spec that the server accepts from no client"};
  out.spec = std::move(*read);
  return out;
}

}  // namespace tenure::kubernetes_store
