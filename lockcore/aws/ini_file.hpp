// The file format of AWS's shared config and credentials files.
// https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::aws {

struct IniValue {
  std::string text{};
  std::map<std::string, std::string> nested{};  ///< of `s3 =` and indented lines below it
  int line{0};
};

struct IniSection {
  std::map<std::string, IniValue> values{};  ///< names in lower case
  int line{0};
};

/// Sections by their text between the brackets, with runs of white space made one blank: "profile billing". A section
/// that comes twice is merged; of a value that comes twice the last counts.
using IniFile = std::map<std::string, IniSection>;

/// An error names `path` and the line, and quotes nothing of it: it could be a key.
[[nodiscard]] StoreResult<IniFile> parseIni(const std::string& path, std::string_view text);

/// A file that is not there is an empty one. At most 1 MiB.
[[nodiscard]] StoreResult<IniFile> readIni(const std::string& path);

/// The whole of a small file, or why not: "/x/token: No such file or directory".
[[nodiscard]] StoreResult<std::string> readSmallFile(const std::string& path);

}  // namespace tenure::aws
