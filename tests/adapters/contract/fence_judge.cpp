#include "adapters/contract/fence_judge.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace tenure::contract {
namespace {

constexpr std::size_t mostFaults = 10;

std::string told(const FencedEntry& entry) {
  return '"' + entry.entry + "\" (token " + toString(entry.token) + " of " + entry.holder + ')';
}

}  // namespace

std::vector<FencedEntry> staleAmong(const std::vector<FencedEntry>& entries) {
  std::vector<FencedEntry> stale;
  FencingToken highest;
  for (const FencedEntry& entry : entries) {
    if (entry.token < highest) stale.push_back(entry);
    highest = std::max(highest, entry.token);
  }
  return stale;
}

std::vector<std::string> faultsOf(const std::vector<FencedEntry>& entries) {
  std::vector<std::string> faults;
  for (const FencedEntry& entry : staleAmong(entries)) faults.push_back(told(entry) + " is after a higher token");
  std::map<FencingToken, std::string> holders;
  std::set<std::string> names;
  for (const FencedEntry& entry : entries) {
    const auto& holder = holders.emplace(entry.token, entry.holder).first->second;
    if (holder != entry.holder) faults.push_back(told(entry) + " has a token of " + holder);
    if (!names.insert(entry.entry).second) faults.push_back(told(entry) + " is there twice");
  }
  if (faults.size() > mostFaults) faults.resize(mostFaults);
  return faults;
}

std::vector<std::string> lostOf(const std::vector<std::string>& acknowledged, const std::vector<FencedEntry>& entries) {
  std::set<std::string> there;
  for (const FencedEntry& entry : entries) there.insert(entry.entry);
  std::vector<std::string> lost;
  for (const std::string& name : acknowledged) {
    if (!there.contains(name)) lost.push_back(name);
  }
  return lost;
}

}  // namespace tenure::contract
