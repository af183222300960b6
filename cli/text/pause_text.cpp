#include "pause_text.hpp"

#include <algorithm>
#include <array>
#include <pwd.h>
#include <unistd.h>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "environment.hpp"
#include "lease_view.hpp"
#include "lockcore/port/name_text.hpp"

namespace tenure::cli {
namespace {

constexpr std::size_t mostNameBytes = 64;
constexpr std::size_t mostOwnerBytes = 200;

/// A name as a part of Pause::by: short, and nothing in it separates parts.
std::string asPart(std::string name) {
  name.resize(std::min(name.size(), mostNameBytes));
  for (char& c : name) {
    const bool plain = c > ' ' && c <= '~' && c != ':' && c != '#' && c != '@';
    if (!plain) c = '_';
  }
  return name;
}

std::string userHere() {
  const uid_t user = getuid();
  if (std::string caller = environmentText("SUDO_USER"); user == 0 && !caller.empty()) return caller;
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known = getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? found->pw_name : "uid" + std::to_string(user);
}

}  // namespace

std::string whoPauses() { return asPart(userHere()) + '@' + asPart(hostNameAsCandidate()); }

std::string faultOf(const Pause& pause) {
  if (pause.why.empty()) return "--why is empty; say why, for those who find the group paused";
  const std::size_t room = mostOwnerBytes - pauseOwner({pause.by, {}}).size();
  if (pause.why.size() > room) {
    return "--why has " + std::to_string(pause.why.size()) + " bytes, and " + std::to_string(room) +
           " fit into the record with \"" + pauseOwner({pause.by, {}}) + "\"";
  }
  if (!faultOfCandidateName(pauseOwner(pause))) return {};
  if (const auto fault = isUtf8(pause.why) ? faultOfNameText(pause.why) : std::nullopt) return "--why " + *fault;
  return "--why must be one line of UTF-8 text without control characters and without '#'";
}

std::optional<Pause> pauseOf(const std::optional<LeaseRecord>& record) {
  return isHeld(record) ? pauseIn(record->holder) : std::nullopt;
}

std::string whoHas(const std::string& lease, const std::string& holder, FencingToken token) {
  if (const auto pause = pauseIn(holder)) return lease + " is " + toString(*pause);
  return personOf(holder) + " leads " + lease + ' ' + withToken(token);
}

}  // namespace tenure::cli
