#include "adapters/contract/fence_contract.hpp"

#include <list>
#include <stdexcept>
#include <utility>

#include "adapters/contract/writer_process.hpp"

namespace tenure::contract {
namespace {

std::list<FenceUnderTest>& registry() {
  static std::list<FenceUnderTest> fences;
  return fences;
}

}  // namespace

FenceUnderTest registerFence(FenceUnderTest fence) { return registry().emplace_back(std::move(fence)); }

const FenceUnderTest& registeredFence(const std::string& name) {
  for (const FenceUnderTest& fence : registry()) {
    if (fence.name == name) return fence;
  }
  throw std::out_of_range{"no fence is registered by the name " + name};
}

}  // namespace tenure::contract
