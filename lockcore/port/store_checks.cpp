#include "lockcore/port/store_checks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenure/lockcore/candidate_id.hpp>

#include "quoted_text.hpp"
#include "stored_key.hpp"
#include "successor_text.hpp"

namespace tenure {
namespace {

using Faults = std::vector<std::string>;

std::optional<StoreError> errorFrom(const LeaseKey& key, const Faults& faults) {
  if (faults.empty()) return std::nullopt;
  std::string message = "lease \"" + toString(key) + "\": ";
  for (std::size_t i = 0; i < faults.size(); ++i) message += (i == 0 ? "" : "; ") + faults[i];
  return StoreError{ErrorClass::misconfigured, std::move(message)};
}

void checkSuccessor(const Successor& successor, Faults& faults) {
  if (successor.name.empty()) return;
  if (const auto fault = faultOfCandidateName(successor.name)) faults.push_back("the successor's name " + *fault);
  if (successor.heartbeat < std::chrono::milliseconds{0} || successor.heartbeat > maxRecordLease) {
    faults.push_back("the successor's heartbeat is " + std::to_string(successor.heartbeat.count()) +
                     " ms; it must be 0 to " + std::to_string(maxRecordLease.count()) + " ms");
  }
}

void checkRecord(const LeaseRecord& record, Faults& faults) {
  if (record.holder.empty()) faults.emplace_back("the record has no holder");
  if (record.version.isNone()) faults.emplace_back("the record has no version (RVN)");
  if (record.leaseDuration < std::chrono::milliseconds{1} || record.leaseDuration > maxRecordLease) {
    faults.push_back("the record's lease duration is " + std::to_string(record.leaseDuration.count()) +
                     " ms; it must be 1 ms to " + std::to_string(maxRecordLease.count()) + " ms");
  }
  const auto& attributes = record.attributes;
  const bool attributesAreText = std::all_of(attributes.begin(), attributes.end(), [](const auto& attribute) {
    return !attribute.first.empty() && isPlainText(attribute.first) && isPlainText(attribute.second);
  });
  if (!isPlainText(record.holder) || !isPlainText(record.version.text()) || !attributesAreText) {
    faults.emplace_back(
        "the record's holder, version or attributes are not UTF-8 text without NUL, or an attribute has no name");
  }
  if (attributes.contains(std::string{successorAttribute})) {
    faults.push_back("an attribute named \"" + std::string{successorAttribute} +
                     "\" would be taken for a part of the record itself; give it another name");
  }
  checkSuccessor(record.successor, faults);
}

}  // namespace

std::optional<StoreError> errorOf(const LeaseKey& key) { return errorFrom(key, faultsOfStored(key)); }

std::optional<StoreError> errorOf(const WriteRequest& request) {
  Faults faults = faultsOfStored(request.key);
  checkRecord(request.record, faults);
  const auto& expected = request.expected;
  if (std::any_of(expected.begin(), expected.end(), [](const RecordVersion& version) { return version.isNone(); })) {
    faults.emplace_back("an expected version (RVN) is empty");
  }
  if (request.tokenFloor > maxFencingToken) {
    faults.push_back("the token floor " + toString(request.tokenFloor) + " is above the largest possible token, " +
                     toString(maxFencingToken));
  }
  return errorFrom(request.key, faults);
}

std::optional<StoreError> errorOf(const LeaseKey& key, const StepDownRequest& request) {
  Faults faults = faultsOfStored(key);
  checkSuccessor(request.successor, faults);
  return errorFrom(key, faults);
}

std::optional<StoreError> errorOfFloor(const WriteRequest& request, FencingToken known) {
  if (request.tokenFloor <= FencingToken{known.value() + maxReportedStep}) return std::nullopt;
  return StoreError{ErrorClass::misconfigured,
                    "lease \"" + toString(request.key) + "\": this candidate asks for a token above " +
                        toString(request.tokenFloor) + ", but the highest one here is " + toString(known) +
                        ", and tokens do not rise so far in one step. Either a resource reported a forged token, or an "
                        "old copy of the store was put back. If the token is forged, restart the candidate; if it is "
                        "real, correct the counter with `tenure fence recover`"};
}

std::optional<StoreError> errorOfRecovery(const LeaseKey& key, FencingToken token) {
  Faults faults = faultsOfStored(key);
  if (token.isNone() || token >= maxFencingToken) {
    faults.push_back("the counter cannot be set to " + toString(token) + "; give a token from 1 to " +
                     toString(FencingToken{maxFencingToken.value() - 1}) + ", above all that were in use");
  }
  return errorFrom(key, faults);
}

void throwIfFaulty(std::string_view what, const OptionFaults& faults) {
  std::string all;
  for (const OptionFault& fault : faults) all += (all.empty() ? ": " : "; ") + fault.field + " " + fault.message;
  if (!all.empty()) throw std::invalid_argument{std::string{what} + all};
}

StoreError tokensExhausted(const LeaseKey& key) {
  return {
      ErrorClass::misconfigured,
      "lease \"" + toString(key) + "\": the fencing counter has reached the largest possible token, " +
          toString(maxFencingToken) +
          ", and cannot rise further. Real terms never get that far: find the resource or the tool that forged such "
          "a token, then correct the counter with `tenure fence recover`"};
}

}  // namespace tenure
