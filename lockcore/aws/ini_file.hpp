// The file format of AWS's shared config and credentials files, as botocore reads it (Python's RawConfigParser).
// https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
// https://docs.python.org/3/library/configparser.html#supported-ini-file-structure
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::aws {

/// A value that goes on in lines that are indented deeper than its name has a '\n' before each of them.
struct IniValue {
  std::string text{};
  int line{0};
};

struct IniSection {
  std::map<std::string, IniValue> values{};  ///< names in lower case
  int line{0};
  /// "FILE:LINE: what is wrong" of its first line that is not understood. It could say anything, also which store is
  /// meant, so whoever needs the section must not go on without it.
  std::string fault{};
};

/// Sections by the text between their brackets, without white space at its ends. Sections with the same text are
/// merged; of a value that comes twice the last one counts. Those of [DEFAULT] are in every section that lacks them.
using IniFile = std::map<std::string, IniSection>;

/// A fault names `path` and the line, and quotes nothing of the line, because it could be a key. It belongs to the
/// section in which its line is; lines before the first section belong to [default], where they were probably meant to
/// be.
[[nodiscard]] IniFile parseIni(const std::string& path, std::string_view text);

/// The names and values in the indented lines below `s3 =`. An error: the value is no such block. It says what is wrong
/// after the value's name.
[[nodiscard]] StoreResult<std::map<std::string, std::string>> nestedIn(const IniValue& value);

/// The whole content of a small file (at most 1 MiB), or why it cannot be read: "/x/token: No such file or directory".
[[nodiscard]] StoreResult<std::string> readSmallFile(const std::string& path);
/// `systemErrno` is of the failure; 0: there was none, or the file is too long.
[[nodiscard]] StoreResult<std::string> readSmallFile(const std::string& path, int& systemErrno);

}  // namespace tenure::aws
