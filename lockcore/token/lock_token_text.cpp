// The text of a lock token: written in only one way, and read strictly.
#include <algorithm>
#include <array>

#include <tenure/lockcore/lease_options.hpp>

#include "lock_token_parts.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/fnv1a.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/port/stored_key.hpp"

namespace tenure {
namespace {

constexpr std::string_view tokenPrefix = "tenure-lock:";
constexpr std::string_view tokenFormat = "1";
constexpr std::string_view sumField = ",sum=";
constexpr std::size_t sumDigits = 16;

/// Inside a word these characters have no meaning for any shell, and most of them end no selection in a terminal.
bool isShellSafe(char c) {
  return isLetter(c) || isDigit(c) || std::string_view{"-_.:/@+"}.find(c) != std::string_view::npos;
}

void appendEscaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (isShellSafe(c)) {
      out += c;
    } else {
      out += '%' + hexOf(c);
    }
  }
}

/// The reverse of appendEscaped; empty if appendEscaped did not write the value.
std::optional<std::string> unescaped(std::string_view value) {
  const auto text = percentDecoded(value);
  std::string again;
  if (text) appendEscaped(again, *text);
  return again == value ? text : std::nullopt;  // each value has only one spelling
}

/// It detects a typing error or a cut; it is no signature, because the token is no secret.
std::string checksumOf(std::string_view text) { return hexOf(fnv1a(text), sumDigits); }

LockError malformed(std::string what) { return {LockErrc::malformed, "the lock token " + std::move(what)}; }

/// Decimal digits without sign and leading zeros, up to `most`.
std::optional<std::int64_t> decimalIn(std::string_view text, std::int64_t most) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  const auto number = isAllDigits(text) ? numberFrom<std::int64_t>(text) : std::nullopt;
  return number && *number <= most ? number : std::nullopt;
}

/// Takes `,name=value` fields from the front, in the order in which they were written.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_{text} {}

  /// The unchanged value; nothing if the next field has another name.
  [[nodiscard]] std::optional<std::string_view> take(std::string_view name) {
    const std::string head = "," + std::string{name} + "=";
    if (!rest_.starts_with(head)) return std::nullopt;
    const std::size_t end = std::min(rest_.find(',', head.size()), rest_.size());
    const std::string_view value = rest_.substr(head.size(), end - head.size());
    rest_.remove_prefix(end);
    return value;
  }
  [[nodiscard]] std::optional<std::string> takeText(std::string_view name) {
    const auto value = take(name);
    return value ? unescaped(*value) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> takeNumber(std::string_view name, std::string_view unit = {}) {
    auto value = take(name);
    if (!value || !value->ends_with(unit)) return std::nullopt;
    value->remove_suffix(unit.size());
    return decimalIn(*value, std::numeric_limits<std::int64_t>::max());
  }
  [[nodiscard]] bool atEnd() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<Instant> instantIn(std::string_view text) {
  std::array<std::int64_t, 3> clocks{};
  const auto parts = split(text, '/');
  if (parts.size() != clocks.size()) return std::nullopt;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const auto number = decimalIn(parts[i], std::numeric_limits<std::int64_t>::max() / 2);
    if (!number) return std::nullopt;
    clocks[i] = *number;
  }
  using std::chrono::nanoseconds;
  return Instant{nanoseconds{clocks[0]}, nanoseconds{clocks[1]}, nanoseconds{clocks[2]}};
}

/// The body without tokenPrefix, version and sum. A fault is reported with the name of its field. The checksum is right
/// at this point, so only a user who makes tokens by hand can see such a fault.
LockResult<LockTokenParts> partsIn(std::string_view body) {
  Fields fields{body};
  LockTokenParts parts;
  const auto bad = [](const char* name) { return malformed(std::string{"has no usable field "} + name); };
  auto key = fields.takeText("key");
  if (!key) return bad("key");
  parts.key.name = std::move(*key);
  if (const auto sort = fields.take("sort")) {
    auto text = unescaped(*sort);
    if (!text || text->empty()) return bad("sort");
    parts.key.sortKey = std::move(*text);
  }
  if (const auto faults = faultsOfStored(parts.key); !faults.empty())
    return malformed("has a key that " + faults.front());
  auto owner = fields.takeText("owner");
  if (!owner || owner->empty() || !isUtf8(*owner) || owner->find('\0') != std::string::npos) return bad("owner");
  parts.owner = std::move(*owner);
  auto version = fields.takeText("version");
  if (!version || version->empty() || !isUtf8(*version) || version->find('\0') != std::string::npos)
    return bad("version");
  parts.version = RecordVersion{std::move(*version)};
  const auto lease = fields.takeNumber("lease", "ms");
  if (!lease || *lease < minLeaseDuration.count() || *lease > maxLeaseDuration.count()) return bad("lease");
  parts.lease = std::chrono::milliseconds{*lease};
  const auto token = fields.takeNumber("token");
  if (!token || *token == 0 || FencingToken{static_cast<std::uint64_t>(*token)} > maxFencingToken) return bad("token");
  parts.token = FencingToken{static_cast<std::uint64_t>(*token)};
  auto boot = fields.takeText("boot");
  if (!boot) return bad("boot");
  parts.clockDomain = std::move(*boot);
  const auto clock = fields.take("clock");
  const auto sentAt = clock ? instantIn(*clock) : std::nullopt;
  if (!sentAt) return bad("clock");
  parts.sentAt = *sentAt;
  const auto since = fields.takeNumber("since");
  if (!since) return bad("since");
  parts.acquiredAtMillis = *since;
  auto store = fields.takeText("store");
  if (!store) return bad("store");
  parts.store = std::move(*store);
  if (!fields.atEnd()) return malformed("has a field that this version does not know");
  return parts;
}

}  // namespace

std::string lockTokenText(const LockTokenParts& parts) {
  std::string out{tokenPrefix};
  out += tokenFormat;
  const auto add = [&out](std::string_view name, std::string_view value) {
    out.append(",").append(name).append("=");
    appendEscaped(out, value);
  };
  add("key", parts.key.name);
  if (!parts.key.sortKey.empty()) add("sort", parts.key.sortKey);
  add("owner", parts.owner);
  add("version", parts.version.text());
  add("lease", std::to_string(parts.lease.count()) + "ms");
  add("token", toString(parts.token));
  add("boot", parts.clockDomain);
  add("clock", std::to_string(parts.sentAt.raw.count()) + '/' + std::to_string(parts.sentAt.monotonic.count()) + '/' +
                   std::to_string(parts.sentAt.boottime.count()));
  add("since", std::to_string(std::max<std::int64_t>(parts.acquiredAtMillis, 0)));
  add("store", parts.store);
  const std::string sum = checksumOf(out);
  return out.append(sumField) += sum;
}

LockResult<LockTokenParts> lockTokenFrom(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) return malformed("is empty");
  if (text.size() > LockToken::maxTextBytes) {
    return malformed("is longer than " + std::to_string(LockToken::maxTextBytes) + " bytes");
  }
  if (!text.starts_with(tokenPrefix)) {
    const bool cut = tokenPrefix.starts_with(text);
    return malformed(cut ? "is cut off at its beginning"
                         : "is not a lock token: it does not begin with " + std::string{tokenPrefix});
  }
  const std::string_view body = text.substr(tokenPrefix.size());
  const std::string_view version = body.substr(0, std::min(body.find(','), body.size()));
  if (version != tokenFormat) {
    const bool number = version.size() < 10 && decimalIn(version, std::numeric_limits<std::int64_t>::max()).has_value();
    return malformed(number && body.size() > version.size()
                         ? "has format " + std::string{version} + ", and this version of tenure reads format 1"
                         : "has no format number; it was cut off or changed");
  }
  const std::size_t sum = text.rfind(sumField);
  if (sum == std::string_view::npos || text.size() < sum + sumField.size() + sumDigits) {
    return malformed("is cut off: it does not end with its checksum");
  }
  if (text.substr(sum + sumField.size()) != checksumOf(text.substr(0, sum))) {
    return malformed("was changed or damaged: its checksum is wrong");
  }
  return partsIn(body.substr(version.size(), sum - tokenPrefix.size() - version.size()));
}

}  // namespace tenure
