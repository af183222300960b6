// Tables that are too large for one page of a listing.
#pragma once

#include <algorithm>
#include <string>

#include "stores/dynamodb/socket_client.hpp"

namespace tenure::test {

/// In the order of the numbers.
[[nodiscard]] inline std::string rowName(const std::string& prefix, int number) {
  return prefix + std::to_string(100'000 + number);
}

/// Held leases as AWS's client for Java writes them, each with an attribute `padding` of that many bytes.
inline void putRows(aws::JsonClient& hand, const std::string& table, const std::string& prefix, int count,
                    std::size_t paddingBytes) {
  constexpr int mostOfARequest = 25;
  const std::string padding(paddingBytes, 'x');
  for (int first = 0; first < count; first += mostOfARequest) {
    std::string puts;
    for (int i = first; i < std::min(first + mostOfARequest, count); ++i) {
      puts += (puts.empty() ? "" : ",");
      puts += R"({"PutRequest":{"Item":{"key":{"S":")" + rowName(prefix, i) +
              R"("},"ownerName":{"S":"java"},"leaseDuration":{"S":"10000"},"recordVersionNumber":{"S":"v"},)"
              R"("padding":{"S":")" +
              padding + R"("}}}})";
    }
    callNow(hand, "BatchWriteItem", R"({"RequestItems":{")" + table + "\":[" + puts + "]}}");
  }
}

}  // namespace tenure::test
