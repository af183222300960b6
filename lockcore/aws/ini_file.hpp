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
  std::map<std::string, std::string> nested{};  ///< the indented lines below `s3 =`
  int line{0};
};

struct IniSection {
  std::map<std::string, IniValue> values{};  ///< names in lower case
  int line{0};
};

/// Sections by the text between their brackets, in which each run of white space is one blank: "profile billing".
/// Sections with the same text are merged; of a value that comes twice the last one counts.
using IniFile = std::map<std::string, IniSection>;

/// An error names `path` and the line, and quotes nothing of the line, because it could be a key.
[[nodiscard]] StoreResult<IniFile> parseIni(const std::string& path, std::string_view text);

/// A missing file counts as an empty one. At most 1 MiB.
[[nodiscard]] StoreResult<IniFile> readIni(const std::string& path);

/// The whole content of a small file, or why it cannot be read: "/x/token: No such file or directory".
[[nodiscard]] StoreResult<std::string> readSmallFile(const std::string& path);

}  // namespace tenure::aws
