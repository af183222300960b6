// Which pods a selector of a user's finds.
#pragma once

#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure::kubernetes_store {

/// What is wrong with the text as a selector by equality, such as `app=scheduler,tier!=test`; empty: nothing. At least
/// one part has `=`, because all others find the pods of everybody else too. The label of the role is not in it.
[[nodiscard]] TENURE_API std::string faultOfSelector(std::string_view text);

}  // namespace tenure::kubernetes_store
