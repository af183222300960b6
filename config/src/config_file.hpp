// Reads the files that people write.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <boost/system/result.hpp>

#include "duration.hpp"

namespace tenure::config {

inline constexpr std::size_t maxFileBytes = std::size_t{1} << 20U;

/// Reads only regular files (nothing that could block or never end), of at most `most` bytes. `cure`: what to do where
/// there is none.
[[nodiscard]] boost::system::result<std::string, ValueFault> readSmallFile(const std::filesystem::path& file,
                                                                           const std::string& cure,
                                                                           std::size_t most = maxFileBytes);

}  // namespace tenure::config
