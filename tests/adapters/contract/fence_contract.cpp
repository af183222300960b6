#include "adapters/contract/fence_contract.hpp"

#include <list>

namespace tenure::contract {
namespace {

std::list<FenceUnderTest>& registry() {
  static std::list<FenceUnderTest> fences;
  return fences;
}

}  // namespace

const FenceUnderTest& registerFence(FenceUnderTest fence) { return registry().emplace_back(std::move(fence)); }

}  // namespace tenure::contract
