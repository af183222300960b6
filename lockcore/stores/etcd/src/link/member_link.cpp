#include "member_link.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <tenure/lockcore/clock.hpp>

namespace tenure::etcd_store {
namespace {

/// Takes `token` from the front, and white space before it: the gateway of some builds writes some.
bool take(std::string_view& text, std::string_view token) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (!text.starts_with(token)) return false;
  text.remove_prefix(token.size());
  return true;
}

bool takeName(std::string_view& text, std::string_view quoted) { return take(text, quoted) && take(text, ":"); }

/// As `etcdctl endpoint status` shows it with `-w fields`, without its digits.
std::string hexOf(std::uint64_t number) {
  char digits[16];
  const auto [end, fault] = std::to_chars(std::begin(digits), std::end(digits), number, 16);
  return fault == std::errc{} ? std::string{std::begin(digits), end} : std::string{};
}

}  // namespace

std::chrono::nanoseconds now() { return readClock().boottime; }

/// The gateway writes members in the order of their numbers: the header is the first of every answer, and the cluster
/// the first of every header. A number of 64 bits is a text.
std::optional<std::uint64_t> clusterIn(std::string_view text) {
  if (!take(text, "{")) return std::nullopt;
  if (takeName(text, "\"result\"") && !take(text, "{")) return std::nullopt;
  if (!takeName(text, "\"header\"") || !take(text, "{")) return std::nullopt;
  if (!takeName(text, "\"cluster_id\"") || !take(text, "\"")) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool closed = end != text.data() + text.size() && *end == '"';
  return fault == std::errc{} && closed ? std::optional{number} : std::nullopt;
}

MemberLink::MemberLink(const std::vector<std::string>& endpoints, Logger logger)
    : logger_{std::move(logger)}, members_{endpoints.size()} {
  for (const std::string& endpoint : endpoints) origins_.push_back(net::parseUrl(endpoint)->origin);
}

std::string MemberLink::describe() const {
  std::string text;
  for (const net::Origin& origin : origins_) text += (text.empty() ? "" : ", ") + toString(origin);
  return text;
}

std::optional<std::size_t> MemberLink::next(const std::vector<bool>& tried) {
  const std::lock_guard lock{mutex_};
  return members_.next(tried, now());
}

void MemberLink::answered(std::size_t member) {
  const std::lock_guard lock{mutex_};
  members_.answered(member);
}

void MemberLink::failed(std::size_t member, const std::string& why) {
  {
    const std::lock_guard lock{mutex_};
    members_.failed(member, now());
  }
  if (logger_.wants(LogLevel::debug)) {
    logger_.log(LogLevel::debug,
                "etcd at " + describe() + ": " + nameOf(member) + " is asked last for a while: " + why);
  }
}

std::string MemberLink::whyForeign(std::size_t member, std::uint64_t cluster) {
  std::string why;
  {
    const std::lock_guard lock{mutex_};
    if (!cluster_) first_ = member;
    if (!cluster_) cluster_ = cluster;
    if (*cluster_ == cluster) return {};
    why = nameOf(member) + " belongs to the cluster " + hexOf(cluster) + ", and " + nameOf(first_) +
          ", which answered first, to the cluster " + hexOf(*cluster_) +
          ". Give the members of one cluster as endpoints. If the cluster was restored from a snapshot, start this "
          "program again";
    if (!foreign_.insert(member).second) return why;
  }
  logger_.log(LogLevel::error, "etcd at " + describe() + ": " + why);
  return why;
}

}  // namespace tenure::etcd_store
