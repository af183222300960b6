#include "claim_file.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include <tenure/lockcore/lease_record.hpp>

#include "attributes_json.hpp"
#include "beacon_file.hpp"

namespace tenure::sqlite_store {
namespace {

std::string lineOf(const Claim& claim) {
  return *toJson({{"name", claim.key.name},  // refusalOf() has seen that these are UTF-8
                  {"sort_key", claim.key.sortKey},
                  {"holder", claim.holder},
                  {"token", toString(claim.token)},
                  {"lease_ms", std::to_string(claim.lease.count())}}) +
         '\n';
}

UniqueFd openToWrite(const std::string& path, int flags) noexcept {
  return UniqueFd{open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666)};
}

int put(const UniqueFd& file, std::string_view text, off_t at) noexcept {
  const ssize_t written = pwrite(file.get(), text.data(), text.size(), at);
  if (written == static_cast<ssize_t>(text.size())) return 0;
  return written < 0 ? errno : ENOSPC;
}

int writeFile(const std::string& path, int flags, const Claim& claim) {
  const UniqueFd file = openToWrite(path, O_CREAT | flags);
  if (!file) return errno;
  const int fault = put(file, lineOf(claim), 0);
  if (fault != 0) unlink(path.c_str());
  return fault;
}

std::string firstLineOf(const std::string& path) {
  const UniqueFd file = openBeaconToLook(path);
  std::string text;
  if (!file) return text;
  std::array<char, 4096> buffer;
  for (ssize_t size = 1; text.find('\n') == std::string::npos;) {
    size = read(file.get(), buffer.data(), buffer.size());
    if (size <= 0 || (text.empty() && buffer.front() != '{')) return {};
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::optional<std::int64_t> positiveNumber(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || rest != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

int makeClaim(const std::string& path, const Claim& claim) { return writeFile(path, O_EXCL, claim); }

int reviveClaim(const std::string& path, const Claim& claim) {
  const UniqueFd file = openToWrite(path, 0);
  if (!file) return errno;
  const std::string line = lineOf(claim);
  if (const int fault = put(file, std::string_view{line}.substr(1), 1); fault != 0) return fault;
  return put(file, std::string_view{line}.substr(0, 1), 0);
}

int replaceClaim(const std::string& path, const Claim& claim) {
  const std::string draft = std::string{path}.insert(path.rfind('/') + 1, "new-");
  if (const int fault = writeFile(draft, O_TRUNC, claim); fault != 0) return fault;
  return std::rename(draft.c_str(), path.c_str()) == 0 ? 0 : errno;
}

int voidClaim(const std::string& path) noexcept {
  const UniqueFd file = openToWrite(path, 0);
  return file ? put(file, "-", 0) : errno;
}

std::optional<Claim> readClaim(const std::string& path) {
  const auto fields = attributesFromJson(firstLineOf(path));
  if (!fields || fields->size() != 5) return std::nullopt;
  const auto field = [&](const char* name) {
    const auto found = fields->find(name);
    return found == fields->end() ? std::string{} : found->second;
  };
  const auto token = positiveNumber(field("token"));
  const auto lease = positiveNumber(field("lease_ms"));
  if (!token || !lease || *lease > std::int64_t{maxRecordLease.count()} || field("holder").empty()) return std::nullopt;
  return Claim{{field("name"), field("sort_key")},
               field("holder"),
               FencingToken{static_cast<std::uint64_t>(*token)},
               std::chrono::milliseconds{*lease}};
}

}  // namespace tenure::sqlite_store
