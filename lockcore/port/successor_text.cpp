#include "successor_text.hpp"

#include <cstdint>

#include <tenure/lockcore/candidate_id.hpp>

#include "ascii_text.hpp"

namespace tenure {

std::string successorText(const Successor& successor, FencingToken term) {
  if (successor.name.empty()) return {};
  return toString(term) + ' ' + std::to_string(successor.heartbeat.count()) + ' ' + successor.name;
}

Successor successorFrom(std::string_view text, FencingToken term) {
  const auto token = numberFrom<std::uint64_t>(takeUpTo(text, ' '));
  const auto heartbeat = numberFrom<std::uint32_t>(takeUpTo(text, ' '));
  if (!token || FencingToken{*token} != term || !heartbeat || *heartbeat > maxRecordLease.count()) return {};
  if (faultOfCandidateName(text)) return {};
  return {std::string{text}, std::chrono::milliseconds{*heartbeat}};
}

std::map<std::string, std::string> attributesWithSuccessor(const LeaseRecord& record) {
  auto attributes = record.attributes;
  if (std::string text = successorText(record.successor, record.token); !text.empty()) {
    attributes.insert_or_assign(std::string{successorAttribute}, std::move(text));
  }
  return attributes;
}

void takeSuccessor(LeaseRecord& record) {
  const auto found = record.attributes.find(std::string{successorAttribute});
  if (found == record.attributes.end()) return;
  record.successor = successorFrom(found->second, record.token);
  record.attributes.erase(found);
}

}  // namespace tenure
