#include "member_link.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <boost/json/parse.hpp>

#include <tenure/lockcore/clock.hpp>

namespace tenure::etcd_store {
namespace {

/// The number of the cluster, as the gateway writes it; empty: there is none. The header comes first, and the texts of
/// all that follows are base64, so the first one is the header's.
std::optional<std::uint64_t> clusterIn(std::string_view text) {
  constexpr std::string_view opening = "\"cluster_id\":\"";
  const auto found = text.find(opening);
  if (found == std::string_view::npos) return std::nullopt;
  text.remove_prefix(found + opening.size());
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool closed = end != text.data() + text.size() && *end == '"';
  return fault == std::errc{} && closed ? std::optional{number} : std::nullopt;
}

/// As `etcdctl endpoint status` shows it with `-w fields`, without its digits.
std::string hexOf(std::uint64_t number) {
  char digits[16];
  const auto [end, fault] = std::to_chars(std::begin(digits), std::end(digits), number, 16);
  return fault == std::errc{} ? std::string{std::begin(digits), end} : std::string{};
}

}  // namespace

std::chrono::nanoseconds now() { return readClock().boottime; }

int codeIn(std::string_view body) {
  boost::system::error_code ec;
  const boost::json::value parsed = boost::json::parse(body, ec);
  if (ec || !parsed.is_object()) return 0;
  const boost::json::value* code = parsed.get_object().if_contains("code");
  if (code == nullptr || !code->is_int64()) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(code->get_int64(), -1, 1000));
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

std::string MemberLink::foreignIn(std::size_t member, std::string_view text) {
  const auto cluster = clusterIn(text);
  if (!cluster) return {};
  std::string why;
  {
    const std::lock_guard lock{mutex_};
    if (!cluster_) first_ = member;
    if (!cluster_) cluster_ = cluster;
    if (*cluster_ == *cluster) return {};
    why = nameOf(member) + " belongs to the cluster " + hexOf(*cluster) + ", and " + nameOf(first_) +
          ", which answered first, to the cluster " + hexOf(*cluster_) +
          ". Give the members of one cluster as endpoints. If the cluster was restored from a snapshot, start this "
          "program again";
    if (!foreign_.insert(member).second) return why;
  }
  logger_.log(LogLevel::error, "etcd at " + describe() + ": " + why);
  return why;
}

}  // namespace tenure::etcd_store
