#include "store_types.hpp"

#include <algorithm>

namespace tenure::config {

const std::vector<StoreType>& storeTypes() {
  static const std::vector<StoreType> types = [] {
    std::vector<StoreType> rows{sqliteStoreType()};
#ifdef TENURE_WITH_DYNAMODB
    rows.push_back(dynamodbStoreType());
#endif
    rows.push_back(memoryStoreType());
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
