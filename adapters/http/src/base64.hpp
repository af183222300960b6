// RFC 4648 with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenure::http_fence {

[[nodiscard]] std::string base64(std::string_view bytes);
/// Empty for anything that is not base64 with its padding in its only correct spelling.
[[nodiscard]] std::optional<std::string> bytesFromBase64(std::string_view text);

}  // namespace tenure::http_fence
