#include "store_types.hpp"

#include <algorithm>

namespace tenure::config {
namespace {

template <typename... Options>
std::vector<StoreType> rowsOf(const std::variant<Options...>& /*list*/) {
  std::vector<StoreType> rows{storeType<Options>()...};
  rows.erase(std::remove_if(rows.begin(), rows.end(), [](const StoreType& type) { return type.name.empty(); }),
             rows.end());
  return rows;
}

}  // namespace

const std::vector<StoreType>& storeTypes() {
  static const std::vector<StoreType> types = [] {
    std::vector<StoreType> rows = rowsOf(StoreConfig{});
    for (StoreType& type : rows) {
      for (KeySpec& spec : type.keys) spec.key.storeType = type.name;
    }
    return rows;
  }();
  return types;
}

const StoreType& typeOf(const StoreConfig& store) {
  const auto& types = storeTypes();
  return *std::find_if(types.begin(), types.end(),
                       [&](const StoreType& type) { return type.defaults.index() == store.index(); });
}

}  // namespace tenure::config
