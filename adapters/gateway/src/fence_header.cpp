#include <algorithm>
#include <stdexcept>

#include <tenure/lockcore/lease_record.hpp>

#include "fence_claims.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/store_checks.hpp"
#include "structured_field.hpp"

namespace tenure {

using http_fence::FieldReader;

namespace {

constexpr std::size_t mostIntegerDigits = 15;  // RFC 9651, section 3.3.1
constexpr std::size_t mostTokenDigits = 16;    // of maxFencingToken
constexpr std::size_t signatureBytes = 32;
constexpr std::size_t maxTextBytes = maxLeaseNameBytes;

/// Names that are keys already, except those whose first character says that the name is in a parameter.
bool isItsOwnKey(std::string_view lease) { return http_fence::isKey(lease) && lease.front() != '*'; }

FenceHeaderFault fault(std::string message) { return {std::move(message)}; }

std::optional<FencingToken> tokenOf(std::string_view digits) {
  const FencingToken token{numberFrom<std::uint64_t>(digits).value_or(0)};
  if (token.isNone() || token > maxFencingToken) return std::nullopt;
  return token;
}

/// Reads one member. Each step returns what is wrong, or nothing.
class MemberReader {
 public:
  explicit MemberReader(FieldReader& reader) noexcept : reader_{reader} {}

  [[nodiscard]] std::optional<FenceHeaderFault> read() {
    const auto key = reader_.key();
    if (!key) return fault("a lease's key is missing or longer than 64 characters");
    key_ = *key;
    if (!reader_.take('=')) return fault("\"" + key_ + "\" has no token");
    if (auto wrong = readToken()) return wrong;
    while (reader_.take(';')) {
      if (auto wrong = readParameter()) return wrong;
    }
    return finish();
  }
  [[nodiscard]] FenceClaim& claim() noexcept { return claim_; }

 private:
  [[nodiscard]] std::optional<FenceHeaderFault> readToken() {
    std::string digits;
    if (const auto number = reader_.numberText(mostIntegerDigits + 1)) {
      if (number->size() > mostIntegerDigits || !isAllDigits(*number)) return badToken();
      digits = *number;
    } else if (const auto text = reader_.text()) {
      const bool canonical =
          text->size() > mostIntegerDigits && text->size() <= mostTokenDigits && text->front() != '0';
      if (!canonical) return badToken();
      digits = *text;
    } else {
      return badToken();
    }
    const auto token = tokenOf(digits);
    if (!token) return badToken();
    claim_.stamp.token = *token;
    return std::nullopt;
  }

  [[nodiscard]] FenceHeaderFault badToken() const {
    return fault("the token of \"" + key_ + "\" is not an integer from 1 to " + toString(maxFencingToken) +
                 " (a token of 16 digits is written in quotes)");
  }

  [[nodiscard]] std::optional<FenceHeaderFault> readParameter() {
    reader_.skipSpaces();
    const auto name = reader_.key();
    if (!name) return fault("a parameter of \"" + key_ + "\" has no name");
    if (std::find(seen_.begin(), seen_.end(), *name) != seen_.end()) {
      return fault("the parameter " + *name + " of \"" + key_ + "\" comes twice");
    }
    seen_.push_back(*name);
    if (*name != "lease" && *name != "holder" && *name != "kid" && *name != "sig") {
      return fault("\"" + key_ + "\" has a parameter " + *name + ", which is not known here");
    }
    const auto value = reader_.take('=') ? (*name == "sig" ? reader_.bytes() : reader_.text()) : std::nullopt;
    const bool isText = *name != "sig";
    if (!value || value->empty() || value->size() > maxTextBytes ||
        (isText && value->find('\0') != std::string::npos)) {
      return fault("the parameter " + *name + " of \"" + key_ + "\" is not understood");
    }
    member(*name) = *value;
    return std::nullopt;
  }

  [[nodiscard]] std::string& member(std::string_view parameter) {
    if (parameter == "lease") return claim_.stamp.lease;
    if (parameter == "holder") return claim_.stamp.holder;
    return parameter == "kid" ? claim_.keyId : claim_.signature;
  }

  [[nodiscard]] std::optional<FenceHeaderFault> finish() {
    const bool elsewhere = key_.front() == '*';
    if (elsewhere && claim_.stamp.lease.empty()) return fault("\"" + key_ + "\" needs the parameter lease");
    if (!elsewhere && !claim_.stamp.lease.empty()) {
      return fault("\"" + key_ + "\" names its lease twice: by its key and by the parameter lease");
    }
    if (elsewhere && isItsOwnKey(claim_.stamp.lease)) {
      return fault("the lease of \"" + key_ + "\" can be a key itself; write it as the key");
    }
    if (!elsewhere) claim_.stamp.lease = key_;
    if (claim_.keyId.empty() != claim_.signature.empty()) return fault("kid and sig come together or not at all");
    if (!claim_.signature.empty() && claim_.signature.size() != signatureBytes) {
      return fault("the signature of \"" + key_ + "\" does not have 32 bytes");
    }
    return std::nullopt;
  }

  FieldReader& reader_;
  std::string key_{};
  FenceClaim claim_{};
  std::vector<std::string> seen_{};
};

std::string member(const FenceClaim& claim, std::size_t odd) {
  const TermStamp& stamp = claim.stamp;
  const bool ownKey = isItsOwnKey(stamp.lease);
  std::string out = ownKey ? stamp.lease : odd == 0 ? std::string{"*"} : '*' + std::to_string(odd);
  const std::string digits = toString(stamp.token);
  out += '=' + (digits.size() > mostIntegerDigits ? '"' + digits + '"' : digits);
  if (!ownKey) out += ";lease=" + http_fence::quotedField(stamp.lease);
  if (!stamp.holder.empty()) out += ";holder=" + http_fence::quotedField(stamp.holder);
  if (!claim.signature.empty()) {
    out += ";kid=" + http_fence::quotedField(claim.keyId) + ";sig=" + http_fence::bytesField(claim.signature);
  }
  return out;
}

void requireSound(TermStamp stamp) {
  if (stamp.holder.empty()) stamp.holder = "-";  // the holder is the only part that a header may lack
  if (const auto problem = errorOf(stamp)) throw std::invalid_argument{problem->message};
}

}  // namespace

void throw_exception_from_error(const FenceHeaderFault& fault, const boost::source_location& /*where*/) {
  throw std::runtime_error(fault.message);
}

FenceClaims parseFenceHeader(std::string_view value) {
  if (value.size() > maxFenceHeaderBytes) {
    return fault("the header is longer than " + std::to_string(maxFenceHeaderBytes) + " bytes");
  }
  std::vector<FenceClaim> claims;
  FieldReader reader{value};
  reader.skipSpaces();
  do {
    reader.skipBlanks();
    if (claims.size() == maxFenceHeaderMembers) {
      return fault("the header names more than " + std::to_string(maxFenceHeaderMembers) + " leases");
    }
    MemberReader one{reader};
    if (auto wrong = one.read()) return *std::move(wrong);
    const auto same = [&](const FenceClaim& other) { return other.stamp.lease == one.claim().stamp.lease; };
    if (std::any_of(claims.begin(), claims.end(), same)) return fault("the header names a lease twice");
    claims.push_back(std::move(one.claim()));
    reader.skipBlanks();
  } while (reader.take(','));
  if (!reader.done()) return fault("after the end of the header there is more text, which is not understood");
  return claims;
}

std::string formatFenceHeader(const std::vector<FenceClaim>& claims) {
  std::string out;
  std::size_t odd = 0;
  for (const FenceClaim& claim : claims) {
    requireSound(claim.stamp);
    if (!out.empty()) out += ", ";
    out += member(claim, odd);
    if (!isItsOwnKey(claim.stamp.lease)) ++odd;
  }
  if (out.size() > maxFenceHeaderBytes) throw std::invalid_argument{"the Fencing-Token header would be too long"};
  return out;
}

std::string formatFenceHeader(const TermStamp& stamp) { return formatFenceHeader({FenceClaim{stamp}}); }

}  // namespace tenure
