#include "store_types.hpp"

#include <algorithm>

namespace tenure::config {
namespace {

template <typename... Options>
std::vector<StoreType> rowsOf(const std::variant<Options...>& /*list*/) {
  return {storeType<Options>()...};
}

}  // namespace

const std::vector<StoreType>& storeTypes() {
  static const std::vector<StoreType> types = [] {
    std::vector<StoreType> rows = rowsOf(StoreConfig{});
    std::erase_if(rows, [](const StoreType& type) { return !type.without.empty(); });
    for (StoreType& type : rows) {
      for (KeySpec& spec : type.keys) spec.key.storeType = type.name;
    }
    return rows;
  }();
  return types;
}

std::string whyWithout(std::string_view name) {
  for (const StoreType& type : rowsOf(StoreConfig{})) {
    if (type.name == name) return type.without;
  }
  return {};
}

const StoreType& typeOf(const StoreConfig& store) {
  const auto& types = storeTypes();
  return *std::find_if(types.begin(), types.end(),
                       [&](const StoreType& type) { return type.defaults.index() == store.index(); });
}

}  // namespace tenure::config
