// What is wrong with a configuration file, and where.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <boost/assert/source_location.hpp>

namespace tenure {

/// One fault of a configuration file. `toString` gives `group.yaml:4:13: lease.heartbeat: ...`.
struct ConfigFault {
  std::string file;     ///< as it was given; "group.yaml"
  int line{0};          ///< from 1; 0: the file as a whole
  int column{0};        ///< from 1, in characters (not bytes); 0: the line as a whole
  std::string key;      ///< path of the key, "lease.heartbeat"; may be empty
  std::string message;  ///< what is wrong, what is allowed, and a suggestion for a misspelt key

  friend bool operator==(const ConfigFault&, const ConfigFault&) = default;
};

[[nodiscard]] std::string toString(const ConfigFault& fault);
std::ostream& operator<<(std::ostream& out, const ConfigFault& fault);

/// Every fault of a file, in the order of its lines; never only the first.
using ConfigFaults = std::vector<ConfigFault>;

/// The faults, one a line, without a line break at the end: the first 20, and how many more there are.
[[nodiscard]] std::string toString(const ConfigFaults& faults);

/// Makes `value()` throw std::runtime_error with all faults, one a line.
[[noreturn]] void throw_exception_from_error(const ConfigFaults& faults, const boost::source_location& where);

}  // namespace tenure
