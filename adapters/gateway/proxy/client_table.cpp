#include "client_table.hpp"

#include <algorithm>

namespace tenure::gateway {

std::string ClientTable::groupOf(const asio::ip::address& address) {
  if (!address.is_v6() || address.to_v6().is_v4_mapped()) return address.to_string();
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return asio::ip::address_v6{bytes}.to_string();
}

bool ClientTable::makeRoom(const std::string& group) {
  const auto size = sizes_.find(group);
  const std::size_t mostOfOne = std::max<std::size_t>(limit_ / 2, 1);
  if (size != sizes_.end() && size->second >= mostOfOne) return endLongestSilent(&group);
  return groups_.size() < limit_ || endLongestSilent(nullptr);
}

/// Among this group's connections, or among all.
bool ClientTable::endLongestSilent(const std::string* group) const {
  Session* longest = nullptr;
  for (const auto& [session, of] : groups_) {
    if ((group != nullptr && of != *group) || !session->silentSince()) continue;
    const bool isLonger = longest == nullptr || session->silentSince()->boottime < longest->silentSince()->boottime;
    if (isLonger) longest = session.get();
  }
  if (longest != nullptr) longest->makeRoom();
  return longest != nullptr;
}

void ClientTable::add(const std::shared_ptr<Session>& session, const std::string& group) {
  groups_.emplace(session, group);
  ++sizes_[group];
}

void ClientTable::remove(const std::shared_ptr<Session>& session) {
  const auto at = groups_.find(session);
  if (at == groups_.end()) return;
  if (const auto size = sizes_.find(at->second); --size->second == 0) sizes_.erase(size);
  groups_.erase(at);
}

/// A copy, because the functions called may end sessions, and these then leave the table.
std::vector<std::shared_ptr<Session>> ClientTable::all() const {
  std::vector<std::shared_ptr<Session>> out;
  for (const auto& [session, group] : groups_) out.push_back(session);
  return out;
}

void ClientTable::stopAll() const {
  for (const auto& session : all()) session->stop();
}

void ClientTable::endUnfenced() const {
  for (const auto& session : all()) session->endIfUnfenced();
}

bool ClientTable::hasFenced() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const auto& one) { return one.first->isFenced(); });
}

}  // namespace tenure::gateway
